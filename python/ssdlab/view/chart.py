"""A chart: what a figure shows, as data. A page lets its reader explore it, and matplotlib draws it for papers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ssdlab import text
from ssdlab.lazy import Counts, Numbers, np, npt

Form = Literal[
    "number", "count", "short count", "duration", "size", "decimal size", "bandwidth", "ratio", "percent", "significant"
]
"""How an axis writes its values."""

FORMS: Mapping[Form, Callable[[float], str]] = {
    "number": lambda value: f"{value:.4g}",
    "count": text.count,
    "short count": text.short_count,
    "duration": text.duration,
    "size": text.size,
    "decimal size": text.size_decimal,
    "bandwidth": text.bandwidth,
    "ratio": text.ratio,
    "percent": text.percent,
    "significant": text.significant,
}
"""What writes a value that is not negative; `explore/options.js` has the same."""

LONGEST_NAME = 40
"""Letters of a name that are shown where it is long; charts hold it whole, for tables and pointers."""

Dash = Literal["solid", "dashed", "dotted"]


@dataclass(frozen=True)
class Axis:
    """An axis; one whose `low` is above its `high` runs backwards."""

    title: str = ""
    form: Form = "number"
    low: float | None = None
    high: float | None = None
    log: bool = False
    """Whether it is logarithmic; sizes are marked at powers of two."""
    whole: bool = False
    """Whether only whole numbers are marked."""
    ticks: Sequence[tuple[float, str]] = ()
    """The values that are marked, with their names, however long; all others are not."""
    percentiles: bool = False
    """Whether a value is the decimal logarithm of one by the share beyond it: 2 at 99 %."""
    over_time: bool = False
    """Whether it is the simulated time of the run: such axes of one page are zoomed together."""

    @property
    def is_backwards(self) -> bool:
        """Whether it counts rows, the first on top."""
        return self.low is not None and self.high is not None and self.low > self.high


@dataclass(frozen=True)
class Intervals:
    """Histograms of times by intervals of simulated time, of which a page draws the stretch that is chosen."""

    edges: Numbers
    """Of the intervals, on the axis of simulated time."""
    unit: str
    """Of these."""
    first: Counts
    """Where the entries of each interval begin; behind these, where the last ends."""
    longest: Counts
    """The longest time of each bucket, in ns."""
    bucket: Counts
    """Of each entry."""
    requests: Counts
    """Of each entry."""


@dataclass(frozen=True)
class Line:
    """Points in a line, which is broken where `y` is no number."""

    name: str
    x: Numbers
    y: Numbers
    colour: str
    width: float = 1.6
    opacity: float = 1.0
    dash: Dash = "solid"
    step: bool = False
    """Whether a value holds until the next."""
    dots: bool = False
    """Whether each point is marked."""
    intervals: Intervals | None = None
    """For a line by percentile, what it is drawn from while a stretch of time is chosen."""


@dataclass(frozen=True)
class Points:
    """Dots."""

    name: str
    x: Numbers
    y: Numbers
    colour: str
    size: float = 4.0
    notes: Sequence[str] = ()
    """What a page says of each beside its values."""


@dataclass(frozen=True)
class Band:
    """What lies between two heights, filled."""

    name: str
    x: Numbers
    low: Numbers
    high: Numbers
    colour: str


@dataclass(frozen=True)
class Whiskers:
    """Ranges, upright at places of the axis across or, where they belong to rows, along these."""

    name: str
    at: Numbers
    low: Numbers
    high: Numbers
    colour: str
    along: bool = False


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
    stacked: bool = False
    """Whether it stands on the stacked areas before it, which have the same edges."""


@dataclass(frozen=True)
class Columns:
    """Upright bars between successive edges."""

    edges: Numbers
    heights: Numbers
    colour: str


@dataclass(frozen=True)
class Level:
    """A line across at one height or, upright, at one place of the axis across."""

    name: str
    height: float
    colour: str
    dash: Dash = "dashed"
    upright: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars from zero along rows."""

    name: str
    rows: Numbers
    lengths: Numbers
    colour: str
    thickness: float = 0.6
    """As a share of a row."""


@dataclass(frozen=True)
class Share:
    """What one part has of each row; the parts of a row stand end to end."""

    name: str
    lengths: Numbers
    colour: str


@dataclass(frozen=True)
class Heat:
    """Rows of cells over successive edges: the stronger the colour, the more of `most`."""

    edges: Numbers
    values: Numbers
    """Shape (rows, cells)."""
    colour: str
    names: Sequence[str]
    """Of the rows."""
    most: float = 100.0
    unit: str = "%"
    log: bool = False
    """Whether the colour grows with the logarithm of one more."""


@dataclass(frozen=True)
class Cells:
    """A table of values, the first row on top: coloured by how far each is from zero, either way, and written."""

    strengths: Numbers
    """Shape (rows, columns), from -1 to 1."""
    texts: Sequence[Sequence[str]]
    colour: str
    below: str
    """The colour of what is below zero."""


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
    requests: Counts | None = None
    """The numbers of the requests that they serve, 0 for none; who reads a page picks one."""
    causes: Sequence[str] = ()
    """What each is done for."""
    ready: Numbers | None = None
    """When the operation before of the same request was over, or else when the request came; no number for what is done
    for none."""

    def only(self, chosen: "npt.NDArray[np.bool_]") -> "Spans":
        """Those of the bars that are chosen."""
        columns = (self.rows[chosen], self.begin[chosen], self.end[chosen], self.heights[chosen])
        requests = None if self.requests is None else self.requests[chosen]
        ready = None if self.ready is None else self.ready[chosen]
        causes = [self.causes[at] for at in np.flatnonzero(chosen).tolist()] if self.causes else []
        return Spans(self.name, *columns, self.colour, self.hatched, requests, causes, ready)


Mark = Line | Points | Band | Whiskers | Area | Columns | Level | Bars | Share | Heat | Cells | Spans


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
    """Panels below each other."""

    panels: Sequence[Panel]
    height: float = 3.2
    """In inches; the width is `WIDTH` of the style of figures."""
    hatching: str = ""
    """What hatched bars are."""
    dashes: str = ""
    """What dashed lines are, where they have the names of others."""
    shared: bool = True
    """Whether the panels share the axis across; else each has its own."""
    legend: str = ""
    """What the names of its marks are values of."""
    following: int = 0
    """Number of the first operation that it has no room for, 0 if there is none; `ssdlab view --serve` has it."""
    complete: tuple[float, float] | None = None
    """Of operations: those that begin from then until then are all there, others only of the same requests."""

    @property
    def is_empty(self) -> bool:
        """Whether it only says why there is nothing to draw."""
        return not any(panel.marks for panel in self.panels)


def nothing(why: str, height: float = 3.2) -> Chart:
    """A chart that says why there is nothing to draw."""
    return Chart([Panel([], empty=why)], height)


def rows(names: Sequence[str], title: str = "") -> Axis:
    """The axis of rows with names, the first on top."""
    return Axis(title, low=len(names) - 0.5, high=-0.5, ticks=[*enumerate(names)])


def places(names: Sequence[str], title: str = "") -> Axis:
    """The axis across of places with names, from the left."""
    return Axis(title, low=-0.5, high=len(names) - 0.5, ticks=[*enumerate(names)])


def beside(number: int, of: int) -> tuple[float, float]:
    """How far the bar of one of some groups lies from the middle of its row, and how thick it is."""
    thickness = 0.8 / of
    return (number - (of - 1) / 2) * thickness, thickness * 0.95


def is_wide(least: float, largest: float) -> bool:
    """Whether values reach so far that their axis is to be logarithmic."""
    # Values of NumPy are compared to what is no bool of Python.
    return bool(least > 0 and largest / least > 30)


def scale_of(values: Sequence[float]) -> tuple[str, float]:
    """The binary unit that suits an axis up to the highest of some bytes, and its length in bytes."""
    _, unit = text.size(max(values, default=0.0)).split()
    return unit, 1024.0 ** text.BINARY.index(unit)
