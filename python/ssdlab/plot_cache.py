"""Figures of simulated caches, drawn as those of a result."""

from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ssdlab.plot import AMBER, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, STYLE, canvas

if TYPE_CHECKING:
    from ssdlab.cache.result import CacheSimulation, MissRatioCurves

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER, GREY)
"""Of the policies, in turns."""

DASHES = ("-", "--", ":")
"""Of the policies, changed when the colours are used up."""


def miss_ratios(found: "CacheSimulation | MissRatioCurves") -> Figure:
    """Miss ratios in percent against the size of the cache, by policy, with the standard errors of estimates."""
    with matplotlib.rc_context(STYLE):
        figure, axes = canvas(3.6)
        bytes_per_unit = found.unit_bytes or 1
        sizes = found.capacities * bytes_per_unit
        errors = getattr(found, "standard_error", None)
        for row, policy in enumerate(found.policies):
            error = None if errors is None or not errors[row].any() else 100 * errors[row]
            axes.errorbar(
                sizes, 100 * found.miss_ratio[row], yerr=error, marker="o", markersize=3, linewidth=1.4, capsize=2,
                color=COLOURS[row % len(COLOURS)], linestyle=DASHES[row // len(COLOURS) % len(DASHES)], label=policy,
            )  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: found.size_text(round(value / bytes_per_unit))))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(bottom=0)
        axes.set_xlabel("size of the cache" if found.unit_bytes else "size of the cache (objects)")
        axes.set_ylabel("miss ratio (%)")
        axes.legend(loc="best", ncols=1 + len(found.policies) // 7)
        return figure
