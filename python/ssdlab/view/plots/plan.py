"""Figures of a plan."""

from matplotlib.figure import Figure

from ssdlab.analyse.cache.planning.model import MODELS
from ssdlab.analyse.cache.planning.result import SHARES, CachePlan
from ssdlab.view.colours import GREY
from ssdlab.view.plots.style import canvas, colour, on_the_right, styled

DASHES = dict(zip(MODELS, (":", "-"), strict=True))


@styled
def curves(plan: CachePlan) -> Figure:
    """Microseconds for a page against the share of the memory that is compressed; dotted by the document's model."""
    figure, axes = canvas(3.8)
    for number, one in enumerate(plan.compressors):
        for model in MODELS:
            axes.plot(
                SHARES, plan.curve(one.name, model), color=colour(number), linestyle=DASHES[model],
                linewidth=1.4, label=f"{one.name}, {model}",
            )  # fmt: skip
    axes.axhline(plan.raw_us, color=GREY, linewidth=1.2, label="raw")
    axes.set_xlim(0, 100)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("memory compressed (%)")
    axes.set_ylabel("us a page")
    on_the_right(axes)
    return figure
