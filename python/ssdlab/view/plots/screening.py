"""Figures of screenings."""

from matplotlib.figure import Figure

from ssdlab import text
from ssdlab.study.screening.contrast import Contrast
from ssdlab.study.screening.result import Screened
from ssdlab.view.colours import INK
from ssdlab.view.plots.style import Canvas, colour, nothing, styled


@styled
def effects(found: Screened) -> Figure:
    """The main effects of all factors on the gains over the mean of the others, with their confidence intervals."""
    first, figures = found.parts[0], found.screening.figures
    factors = first.factors
    canvas = Canvas(figsize=(7.6, 0.9 + 0.24 * len(factors)), layout="constrained")
    panels = canvas.subplots(1, len(figures), sharey=True, squeeze=False)[0]
    for number, (axes, figure) in enumerate(zip(panels, figures, strict=True)):
        its = {one.term: one for one in first.effects.get(Contrast(figure.name, "mean"), ())}
        if not its:
            nothing(axes, "points are missing")
            continue
        at = [place for place, name in enumerate(factors) if name in its]
        known = [its[name] for name in factors if name in its]
        axes.errorbar(
            [one.size for one in known], at, xerr=[one.half_width or 0.0 for one in known], fmt="o", markersize=4,
            color=colour(number), elinewidth=1.0, capsize=2,
        )  # fmt: skip
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.set_xlabel(f"points of {figure.gain}")
        axes.set_yticks(range(len(factors)), [text.path(name)[:32] for name in factors], fontsize=8)
        axes.set_ylim(len(factors) - 0.5, -0.5)
    return canvas
