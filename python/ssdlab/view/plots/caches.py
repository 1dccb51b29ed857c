"""Figures of simulated caches."""

from matplotlib.figure import Figure

from ssdlab.analyse.cache.result import CacheSimulation, MissRatioCurves
from ssdlab.view.plots.style import canvas, colour, dash, styled, written


@styled
def miss_ratios(found: CacheSimulation | MissRatioCurves) -> Figure:
    """Miss ratios in percent against the size of the cache, by policy, with the standard errors of estimates."""
    figure, axes = canvas(3.6)
    bytes_per_unit = found.unit_bytes or 1
    sizes = found.capacities * bytes_per_unit
    errors = getattr(found, "standard_error", None)
    for row, policy in enumerate(found.policies):
        error = None if errors is None or not errors[row].any() else 100 * errors[row]
        axes.errorbar(
            sizes, 100 * found.miss_ratio[row], yerr=error, marker="o", markersize=3, linewidth=1.4, capsize=2,
            color=colour(row), linestyle=dash(row), label=policy,
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    written(axes.xaxis, lambda value: found.size_text(round(value / bytes_per_unit)))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("size of the cache" if found.unit_bytes else "size of the cache (objects)")
    axes.set_ylabel("miss ratio (%)")
    axes.legend(loc="best", ncols=1 + len(found.policies) // 7)
    return figure
