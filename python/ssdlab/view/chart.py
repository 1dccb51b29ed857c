"""Charts as data. Pages draw them interactively, and matplotlib draws them for papers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ssdlab import text
from ssdlab.lazy import Counts, Numbers

Form = Literal[
    "number", "count", "short count", "duration", "size", "decimal size", "bandwidth", "ratio", "percent", "significant"
]
"""Formats in which a chart axis can show values."""

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
"""Formatters of non-negative values, by format; `explore/options.js` has the same formatters."""

LONGEST_NAME = 40
"""Maximum length in characters of names drawn in charts; tables and tooltips show whole names."""

Dash = Literal["solid", "dashed", "dotted"]


@dataclass(frozen=True)
class Axis:
    """An axis of a chart; the axis runs backwards if `low` is above `high`."""

    title: str = ""
    form: Form = "number"
    low: float | None = None
    high: float | None = None
    log: bool = False
    """True if the axis is logarithmic. A logarithmic axis of sizes has ticks at powers of two."""
    whole: bool = False
    """True if only whole numbers get ticks."""
    ticks: Sequence[tuple[float, str]] = ()
    """Positions of the ticks, each with its label; empty for automatic ticks."""
    percentiles: bool = False
    """True for percentiles: values are -log10 of the share above the percentile, so 2 means the 99th percentile."""
    over_time: bool = False
    """True if the axis shows simulated time; all such axes of a page zoom together."""

    @property
    def is_backwards(self) -> bool:
        """True if the axis shows numbered rows, with the first row on top."""
        return self.low is not None and self.high is not None and self.low > self.high


@dataclass(frozen=True)
class Intervals:
    """Histograms of response times by interval of simulated time, for the range that the reader of a page selects."""

    edges: Numbers
    """Edges of the intervals, on the axis of simulated time."""
    unit: str
    """Time unit of the edges, as on the time axis."""
    first: Counts
    """Index of each interval's first entry in `bucket` and `requests`; the last element is the number of entries."""
    longest: Counts
    """Longest response time in each histogram bucket, in nanoseconds."""
    bucket: Counts
    """Bucket number of each histogram entry."""
    requests: Counts
    """Number of requests in each histogram entry."""


@dataclass(frozen=True)
class Line:
    """A line through points, broken where `y` is NaN."""

    name: str
    x: Numbers
    y: Numbers
    colour: str
    width: float = 1.6
    opacity: float = 1.0
    dash: Dash = "solid"
    step: bool = False
    """True for a step line, in which each value holds until the next point."""
    dots: bool = False
    """True to draw a dot at each point of the line."""
    intervals: Intervals | None = None
    """Histograms by time interval, from which the page computes the percentiles of a selected time range."""


@dataclass(frozen=True)
class Points:
    """Dots at points, without a line."""

    name: str
    x: Numbers
    y: Numbers
    colour: str
    size: float = 4.0
    notes: Sequence[str] = ()
    """Additional text for each point, shown in its tooltip."""


@dataclass(frozen=True)
class Band:
    """Area between a lower and an upper height at each point."""

    name: str
    x: Numbers
    low: Numbers
    high: Numbers
    colour: str


@dataclass(frozen=True)
class Whiskers:
    """Error bars of points. They are vertical, or horizontal if the chart has a row per value."""

    name: str
    at: Numbers
    low: Numbers
    high: Numbers
    colour: str
    along: bool = False


@dataclass(frozen=True)
class Area:
    """Filled steps: each height applies from one edge to the next."""

    name: str
    edges: Numbers
    heights: Numbers
    colour: str
    opacity: float = 0.25
    outlined: bool = True
    right: bool = False
    """True if the heights refer to the right axis."""
    stacked: bool = False
    """True if the area is drawn on top of the stacked areas before it. All stacked areas must have the same edges."""


@dataclass(frozen=True)
class Columns:
    """Vertical bars between successive edges."""

    edges: Numbers
    heights: Numbers
    colour: str


@dataclass(frozen=True)
class Level:
    """A straight line across the panel: horizontal at a height, or vertical at a position."""

    name: str
    height: float
    colour: str
    dash: Dash = "dashed"
    upright: bool = False


@dataclass(frozen=True)
class Bars:
    """Horizontal bars that start at zero, one per row."""

    name: str
    rows: Numbers
    lengths: Numbers
    colour: str
    thickness: float = 0.6
    """Thickness of each bar as a share of the row's height."""


@dataclass(frozen=True)
class Share:
    """One series of a stacked bar chart: the length of its segment in each row."""

    name: str
    lengths: Numbers
    colour: str


@dataclass(frozen=True)
class Heat:
    """A heat map: rows of cells between successive edges, coloured by their value relative to `most`."""

    edges: Numbers
    values: Numbers
    """Values of the cells by row and column."""
    colour: str
    names: Sequence[str]
    """Names of the heat map's rows."""
    most: float = 100.0
    unit: str = "%"
    log: bool = False
    """True if the strength of the colour grows with log(1 + value)."""


@dataclass(frozen=True)
class Cells:
    """A table of cells with text, the first row on top; cells are coloured by the distance of their value from zero."""

    strengths: Numbers
    """Colour strength of each cell, by row and column, from -1 to 1."""
    texts: Sequence[Sequence[str]]
    colour: str
    below: str
    """Colour of cells with negative strength."""


@dataclass(frozen=True)
class Spans:
    """Horizontal bars at given positions in rows, such as flash operations in the lanes of a Gantt chart."""

    name: str
    rows: Numbers
    begin: Numbers
    end: Numbers
    heights: Numbers
    """Height of each bar as a fraction of its row's height."""
    colour: str
    hatched: bool = False
    requests: Counts | None = None
    """For each bar, the number of the request that its operation serves; 0 without a request."""
    causes: Sequence[str] = ()
    """For each bar, the cause of its flash operation."""
    ready: Numbers | None = None
    """Earliest start of each bar: end of the request's previous operation on the die, or arrival; NaN without one."""


Mark = Line | Points | Band | Whiskers | Area | Columns | Level | Bars | Share | Heat | Cells | Spans


@dataclass(frozen=True)
class Panel:
    """Marks such as lines and bars, with two or three axes. A panel without marks shows the text `empty`."""

    marks: Sequence[Mark]
    x: Axis = Axis()
    y: Axis = Axis()
    right: Axis | None = None
    title: str = ""
    note: str = ""
    """Remark on data that the panel does not show."""
    dividers: Sequence[float] = ()
    """Vertical positions of the thin lines that separate groups of rows."""
    empty: str = ""
    height: float = 1.0
    """Height of the panel relative to the other panels of the chart."""


@dataclass(frozen=True)
class Chart:
    """A chart: one or more panels, one below the other."""

    panels: Sequence[Panel]
    height: float = 3.2
    """Height of the chart in inches at the default figure width."""
    hatching: str = ""
    """Meaning of hatched bars in the chart."""
    dashes: str = ""
    """Meaning of the dashed lines. Each dashed line shares its name with a solid line."""
    shared: bool = True
    """True if the panels share the horizontal axis."""
    legend: str = ""
    """Title of the chart's legend."""
    following: int = 0
    """Number of the first operation that a Gantt chart omits, because it would have too many; 0 if it omits none."""
    complete: tuple[float, float] | None = None
    """Interval on the time axis of a Gantt chart in which all operations are shown; None for other charts. Outside it,
    the chart shows only operations of requests that also have operations inside.
    """

    @property
    def is_empty(self) -> bool:
        """True if the chart only states why there is nothing to draw."""
        return not any(panel.marks for panel in self.panels)


def nothing(why: str, height: float = 3.2) -> Chart:
    """Returns a chart that states why there is nothing to draw."""
    return Chart([Panel([], empty=why)], height)


def rows(names: Sequence[str], title: str = "") -> Axis:
    """Returns a vertical axis of named rows, the first row on top."""
    return Axis(title, low=len(names) - 0.5, high=-0.5, ticks=[*enumerate(names)])


def places(names: Sequence[str], title: str = "") -> Axis:
    """Returns a horizontal axis of named positions, numbered from the left."""
    return Axis(title, low=-0.5, high=len(names) - 0.5, ticks=[*enumerate(names)])


def beside(number: int, of: int) -> tuple[float, float]:
    """Returns a bar's offset from the middle of its row, and its thickness, if `of` groups of bars share the row."""
    thickness = 0.8 / of
    return (number - (of - 1) / 2) * thickness, thickness * 0.95


def is_wide(least: float, largest: float) -> bool:
    """True if the values vary so widely that their axis should be logarithmic."""
    # Converts to bool, because comparisons of NumPy values return NumPy's own type.
    return bool(least > 0 and largest / least > 30)


def scale_of(values: Sequence[float]) -> tuple[str, float]:
    """Returns the binary unit in which an axis shows the given sizes, and the unit's size in bytes."""
    _, unit = text.size(max(values, default=0.0)).split()
    return unit, 1024.0 ** text.BINARY.index(unit)
