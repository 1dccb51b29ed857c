"""Figures of a calibration."""

from matplotlib.figure import Figure

from ssdlab import text
from ssdlab.study.calibration import knee
from ssdlab.study.calibration.result import Calibration
from ssdlab.view.plots.style import at_values, canvas, colour, dash, nothing, on_the_right, styled, written


@styled
def throughput(found: Calibration, op: str = "read") -> Figure:
    """Requests per second against requests in flight, by region; the knee of each curve is a larger dot."""
    figure, axes = canvas(3.8)
    measured = False
    for row, region in enumerate(found.regions):
        curve = found.iops[op][row]
        if (curve != curve).all():
            continue
        measured = True
        axes.plot(
            found.in_flight, curve, color=colour(row), linestyle=dash(row), linewidth=1.2,
            marker="o", markersize=2.5, label=text.size(region),
        )  # fmt: skip
        if not (curve != curve).any():
            at = knee.first_close(curve)
            axes.plot(found.in_flight[at], curve[at], "o", color=colour(row), markersize=6.5)
    if not measured:
        nothing(axes, "No region was measured.")
        return figure
    axes.set_xscale("log", base=2)
    at_values(axes.xaxis, found.in_flight, text.count)
    written(axes.yaxis, text.short_count)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("requests in flight")
    axes.set_ylabel(f"{op}s per second")
    on_the_right(axes, "region")
    return figure
