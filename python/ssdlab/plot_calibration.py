"""Figures of a calibration, drawn as those of a result."""

from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ssdlab import text
from ssdlab.calibration import knee
from ssdlab.plot import AMBER, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, STYLE, canvas, nothing

if TYPE_CHECKING:
    from ssdlab.calibration import Calibration

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER, GREY)
DASHES = ("-", "--", ":")
"""Colours of the regions, in turns; each turn has another dash, as there may be more regions than colours."""


def throughput(found: "Calibration", op: str) -> Figure:
    """Requests per second against requests in flight, by region; the knee of each curve is a larger dot."""
    with matplotlib.rc_context(STYLE):
        figure, axes = canvas(3.8)
        measured = False
        for row, region in enumerate(found.regions):
            curve = found.iops[op][row]
            if (curve != curve).all():
                continue
            measured = True
            turn, colour = divmod(row, len(COLOURS))
            axes.plot(
                found.in_flight, curve, color=COLOURS[colour], linestyle=DASHES[turn % len(DASHES)], linewidth=1.2,
                marker="o", markersize=2.5, label=text.size(region),
            )  # fmt: skip
            if not (curve != curve).any():
                at = knee.first_close(curve)
                axes.plot(found.in_flight[at], curve[at], "o", color=COLOURS[colour], markersize=6.5)
        if not measured:
            nothing(axes, "No region was measured.")
            return figure
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(found.in_flight))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: text.count(value)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: text.short_count(value)))
        axes.set_ylim(bottom=0)
        axes.set_xlabel("requests in flight")
        axes.set_ylabel(f"{op}s per second")
        axes.legend(title="region", loc="center left", bbox_to_anchor=(1.01, 0.5))
        return figure
