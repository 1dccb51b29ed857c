"""The look of all figures."""

import io
import math
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from ssdlab.model.finding import FigureFormat
from ssdlab.view.colours import GRID, INK

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    # Ids in the SVG are random otherwise, and equal runs must give equal reports.
    "svg.hashsalt": "ssdlab",
    # Embeds outlines that publishers accept; type 3, the default, they do not.
    "pdf.fonttype": 42,
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


WIDTH = 7.6
"""Of figures, in inches."""
SMALLEST_TEXT = 0.75
"""Of a narrow figure, in sizes of that of a wide one."""

STATELESS: dict[FigureFormat, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
"""What keeps times and versions out of a file, so that equal figures give equal bytes."""


def shrunk(width: float) -> float:
    """What a figure of this width is high, in heights of one of full width: less than in proportion, for its rows."""
    return math.sqrt(width / WIDTH)


class Canvas(Figure):
    """A matplotlib figure that notebooks show without pyplot."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(figsize=(width, height * shrunk(width)), layout="constrained")
        self.look = {**STYLE, "font.size": STYLE["font.size"] * max(shrunk(width), SMALLEST_TEXT)}
        """What matplotlib is set to where it is drawn and where it is saved: ticks are made as late as that."""

    def _repr_svg_(self) -> str:
        whole = self.saved("svg", transparent=True).decode()
        return whole[whole.index("<svg") :]

    def saved(self, format: FigureFormat, **options: Any) -> bytes:
        """The figure as a file; equal figures give equal bytes."""
        buffer = io.BytesIO()
        layout = self.get_layout_engine()
        with matplotlib.rc_context(self.look):
            # Laid out here, a figure is drawn once; saving would draw it twice, for the sake of the layout.
            if layout is not None:
                layout.execute(self)
                self.set_layout_engine(None)
            self.savefig(buffer, format=format, metadata=STATELESS[format], **options)
        self.set_layout_engine(layout)
        return buffer.getvalue()


def nothing(axes: Axes, why: str) -> None:
    """Says why there is nothing to draw."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes)


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
