"""The look of all figures."""

import functools
import io
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from ssdlab import text
from ssdlab.view.colours import AMBER, BLUE, GREEN, GREY, GRID, INK, ORANGE, PURPLE, SKY

P = ParamSpec("P")

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER, GREY)
"""Of what has no colour of its own, in turns."""
DASHES = ("-", "--", ":")
"""Of lines, changed when the colours are used up."""

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    # Ids in the SVG are random otherwise, and equal runs must give equal reports.
    "svg.hashsalt": "ssdlab",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.linewidth": 0.8,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """A function that draws in the style of all figures."""

    @functools.wraps(draw)
    def in_style(*arguments: P.args, **options: P.kwargs) -> Figure:
        with matplotlib.rc_context(STYLE):
            return draw(*arguments, **options)

    return in_style


WIDTH = 7.6
"""Of figures, in inches."""


class Canvas(Figure):
    """A matplotlib figure that notebooks show without pyplot."""

    def _repr_svg_(self) -> str:
        return svg(self)


def svg(figure: Figure) -> str:
    """The figure as an SVG element; equal figures give equal text."""
    buffer = io.StringIO()
    layout = figure.get_layout_engine()
    with matplotlib.rc_context(STYLE):
        # Laid out here, a figure is drawn once; saving would draw it twice, for the sake of the layout.
        if layout is not None:
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    figure.set_layout_engine(layout)
    whole = buffer.getvalue()
    return whole[whole.index("<svg") :]


def canvas(height: float = 3.2) -> tuple[Canvas, Axes]:
    """A new figure of the common width, `height` inches high."""
    figure = Canvas(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.add_subplot()


def nothing(axes: Axes, why: str) -> None:
    """Says why there is nothing to draw."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes)


def colour(index: int) -> str:
    """The colour of what comes at this place."""
    return COLOURS[index % len(COLOURS)]


def dash(index: int) -> str:
    """The dash of what comes at this place."""
    return DASHES[index // len(COLOURS) % len(DASHES)]


def written(axis: Axis, form: Callable[[float], str], *, whole: bool = False) -> None:
    """Has an axis write its numbers in a form of `ssdlab.text`; at whole numbers only, if asked for."""
    if whole and axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
    # Minor ticks of logarithmic axes take a quarter of the time of a report.
    axis.set_minor_locator(NullLocator())


def at_values(axis: Axis, values: Sequence[float], form: Callable[[float], str]) -> None:
    """Has an axis name these values and no others."""
    axis.set_major_locator(FixedLocator(values))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))


def power(bytes: float) -> str:
    """A power of two of bytes, as an axis names it."""
    number, unit = text.size(bytes).split()
    return f"{float(number.replace(',', '')):g} {unit}"


def on_the_right(axes: Axes, title: str | None = None) -> None:
    """A legend beside the axes, where it hides nothing."""
    axes.legend(title=title, loc="center left", bbox_to_anchor=(1.01, 0.5))
