"""Figures of a plan, drawn as those of a result."""

from typing import TYPE_CHECKING

import matplotlib
from matplotlib.figure import Figure

from ssdlab.cache.planning.model import MODELS
from ssdlab.cache.planning.result import SHARES
from ssdlab.plot import AMBER, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, STYLE, canvas

if TYPE_CHECKING:
    from ssdlab.cache.planning import CachePlan

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER)
"""Of the compressors, in turns."""

DASHES = dict(zip(MODELS, (":", "-"), strict=True))


def curves(plan: "CachePlan") -> Figure:
    """Microseconds for a page against the share of the memory that is compressed; dotted by the document's model."""
    with matplotlib.rc_context(STYLE):
        figure, axes = canvas(3.8)
        for number, one in enumerate(plan.compressors):
            for model in MODELS:
                axes.plot(
                    SHARES, plan.curve(one.name, model), color=COLOURS[number % len(COLOURS)], linestyle=DASHES[model],
                    linewidth=1.4, label=f"{one.name}, {model}",
                )  # fmt: skip
        axes.axhline(plan.raw_us, color=GREY, linewidth=1.2, label="raw")
        axes.set_xlim(0, 100)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("memory compressed (%)")
        axes.set_ylabel("us a page")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
        return figure
