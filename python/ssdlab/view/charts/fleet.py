"""Charts of a fleet's drives."""

from ssdlab.lazy import np
from ssdlab.study.fleet.result import Fleet
from ssdlab.view.chart import Axis, Chart, Line, Panel, is_wide
from ssdlab.view.colours import BLUE
from ssdlab.view.pages.figures import form_name


def cdfs(fleet: Fleet) -> Chart:
    """Draws the cumulative distribution of each metric over the drives of a fleet."""
    panels = []
    for cdf in (fleet.cdf(outcome.figure) for outcome in fleet.outcomes()):
        line = Line("", np.asarray(cdf.values, float), np.asarray(cdf.shares, float), BLUE, 1.4, step=True, dots=True)
        across = Axis(cdf.figure, form_name(cdf.figure), log=is_wide(cdf.values[0], cdf.values[-1]))
        panels.append(Panel([line], across, Axis("share of drives", low=0, high=1.02)))
    return Chart(panels, 0.4 + 2.3 * len(panels), shared=False)
