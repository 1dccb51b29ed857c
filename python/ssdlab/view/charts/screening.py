"""Charts of the result of a screening."""

from ssdlab import text
from ssdlab.lazy import np
from ssdlab.study.screening.contrast import Contrast
from ssdlab.study.screening.result import Screened
from ssdlab.view.chart import Axis, Bars, Chart, Panel, Whiskers, rows
from ssdlab.view.colours import INK, colour


def effects(screened: Screened) -> Chart:
    """Draws how factors change the tested scheduler's gain over the mean of the others, with confidence intervals."""
    first = screened.parts[0]
    names = rows([text.path(name) for name in first.factors])
    panels = []
    for number, figure in enumerate(screened.screening.figures):
        by_term = {effect.term: effect for effect in first.effects.get(Contrast(figure.name, "mean"), ())}
        known = [(row, by_term[name]) for row, name in enumerate(first.factors) if name in by_term]
        if not known:
            panels.append(Panel([], empty="points are missing"))
            continue
        at = np.array([row for row, _ in known], float)
        sizes = np.array([effect.size for _, effect in known], float)
        half = np.array([effect.half_width or 0.0 for _, effect in known], float)
        bars = Bars("", at, sizes, colour(number), 0.7)
        whiskers = Whiskers("", at, sizes - half, sizes + half, INK, along=True)
        panels.append(Panel([bars, whiskers], Axis(f"points of {figure.gain}"), names))
    return Chart(panels, 0.9 + 0.2 * len(first.factors) * len(panels), shared=False)
