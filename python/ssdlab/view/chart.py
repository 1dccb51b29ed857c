"""A chart: what a figure shows, as data. A page lets its reader explore it, and matplotlib draws it for papers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ssdlab.lazy import Numbers, np, npt

Form = Literal["number", "count", "short count", "duration"]
"""How an axis writes its values: `duration` takes nanoseconds, the counts are those of `ssdlab.text`."""


@dataclass(frozen=True)
class Axis:
    """An axis; one whose `low` is above its `high` runs backwards."""

    title: str = ""
    form: Form = "number"
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False
    """Whether only whole numbers are marked."""
    ticks: Sequence[tuple[float, str]] = ()
    """The values that are marked, with their names; all others are not."""
    over_time: bool = False
    """Whether it is the simulated time of the run: such axes of one page are zoomed together."""

    @property
    def is_backwards(self) -> bool:
        """Whether it counts rows, the first on top."""
        return self.low is not None and self.high is not None and self.low > self.high


@dataclass(frozen=True)
class Line:
    """Points in a line, which is broken where `y` is no number."""

    name: str
    x: Numbers
    y: Numbers
    colour: str
    width: float = 1.6
    opacity: float = 1.0
    dashed: bool = False
    step: bool = False
    """Whether a value holds until the next."""


@dataclass(frozen=True)
class Area:
    """Heights that hold between successive edges, filled."""

    name: str
    edges: Numbers
    heights: Numbers
    colour: str
    opacity: float = 0.25
    outlined: bool = True
    right: bool = False
    """Whether its heights are those of the axis on the right."""


@dataclass(frozen=True)
class Columns:
    """Upright bars between successive edges."""

    edges: Numbers
    heights: Numbers
    colour: str


@dataclass(frozen=True)
class Level:
    """A line across, at one height."""

    name: str
    height: float
    colour: str
    dashed: bool = True


@dataclass(frozen=True)
class Share:
    """What one part has of each row; the parts of a row stand end to end."""

    name: str
    lengths: Numbers
    colour: str


@dataclass(frozen=True)
class Heat:
    """Rows of cells over successive edges: the stronger the colour, the more of 100 %."""

    edges: Numbers
    percent: Numbers
    """Shape (rows, cells)."""
    colour: str
    row: str
    """What a row is, such as `die`."""


@dataclass(frozen=True)
class Spans:
    """Bars from a beginning to an end, each in a row."""

    name: str
    rows: Numbers
    begin: Numbers
    end: Numbers
    heights: Numbers
    """As shares of a row."""
    colour: str
    hatched: bool = False

    def only(self, chosen: "npt.NDArray[np.bool_]") -> "Spans":
        """Those of the bars that are chosen."""
        columns = (self.rows[chosen], self.begin[chosen], self.end[chosen], self.heights[chosen])
        return Spans(self.name, *columns, self.colour, self.hatched)


Mark = Line | Area | Columns | Level | Share | Heat | Spans


@dataclass(frozen=True)
class Panel:
    """Marks over two axes, or three. Without marks it says `empty`."""

    marks: Sequence[Mark]
    x: Axis = Axis()
    y: Axis = Axis()
    right: Axis | None = None
    title: str = ""
    note: str = ""
    """What the panel leaves out."""
    dividers: Sequence[float] = ()
    """Heights of thin lines across that part groups of rows."""
    empty: str = ""
    height: float = 1.0
    """Its share of the height of the chart, in any unit."""


@dataclass(frozen=True)
class Chart:
    """Panels below each other, which share the axis across."""

    panels: Sequence[Panel]
    height: float = 3.2
    """In inches; the width is `WIDTH` of the style of figures."""
    hatching: str = ""
    """What hatched bars are."""

    @property
    def is_empty(self) -> bool:
        """Whether it only says why there is nothing to draw."""
        return not any(panel.marks for panel in self.panels)


def nothing(why: str, height: float = 3.2) -> Chart:
    """A chart that says why there is nothing to draw."""
    return Chart([Panel([], empty=why)], height)
