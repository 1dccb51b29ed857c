"""Charts of a plan for a compressed cache."""

from ssdlab.analyse.cache.planning.model import MODELS
from ssdlab.analyse.cache.planning.result import SHARES, CachePlan
from ssdlab.lazy import np
from ssdlab.view.chart import Axis, Chart, Dash, Level, Line, Mark, Panel
from ssdlab.view.colours import GREY, colour

DASHES: dict[str, Dash] = dict(zip(MODELS, ("dotted", "solid"), strict=True))


def curves(plan: CachePlan) -> Chart:
    """Draws the time per page against the compressed share of memory; dotted lines show the model of Harper 2018."""
    shares = np.asarray(SHARES, float)
    marks: list[Mark] = []
    for number, compressor in enumerate(plan.compressors):
        for model in MODELS:
            curve = np.asarray(plan.curve(compressor.name, model), float)
            name = f"{compressor.name}, {model}"
            marks.append(Line(name, shares, curve, colour(number), 1.4, dash=DASHES[model]))
    marks.append(Level("raw", plan.raw_us, GREY, "solid"))
    panel = Panel(marks, Axis("memory compressed (%)", low=0, high=100), Axis("us per page", low=0))
    return Chart([panel], 3.8)
