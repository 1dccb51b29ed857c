"""A page: what a person is shown of a finding, whatever shows it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from ssdlab.view.chart import Chart

Style = Literal["", "strong", "soft", "code", "best", "gap", "bad"]
"""How text stands out: `best` wins a comparison, `gap` is odd, `bad` is wrong."""


class Cell(NamedTuple):
    """A cell of a table that stands out."""

    text: str
    style: Style = ""


Row = Sequence[str | Cell]


class Paragraph(NamedTuple):
    """A paragraph, or a line of its own."""

    text: str
    style: Style = ""
    belongs: bool = False
    """Whether it goes on with what the numbered paragraph above it says."""


@dataclass(frozen=True)
class Facts:
    """Labels with their values; as tiles, those that a person looks for first."""

    rows: Sequence[tuple[str, str]]
    title: str = ""
    tiles: bool = False


@dataclass(frozen=True)
class Table:
    """A table. Its first `left` columns are text, the others numbers."""

    headers: Sequence[str]
    rows: Sequence[Row]
    title: str = ""
    left: int = 1
    note: str = ""
    """What a reader of the page should know; too long for a terminal."""
    wide: bool = False
    """Whether it is too wide for a terminal, which then shows rows as columns."""
    most: int | None = None
    """Most rows on a terminal."""


@dataclass(frozen=True)
class Figure:
    """A figure, drawn where it can be shown."""

    draw: "Callable[[], Chart]"
    title: str = ""
    note: str = ""
    tells: Callable[[], bool] = lambda: True
    """Whether it tells more than the rest of the page; asked where it would be drawn."""


@dataclass(frozen=True)
class Beside:
    """Items that stand side by side where there is room."""

    items: "Sequence[Facts | Figure]"


Item = Paragraph | Facts | Table | Figure | Beside


@dataclass(frozen=True)
class Section:
    """Items under a heading."""

    title: str
    items: Sequence[Item]
    note: str = ""
    """What a reader of the page should know."""
    terminal: bool = True
    """Whether a terminal shows it, too."""


@dataclass(frozen=True)
class Page:
    """What is shown of one finding."""

    title: str
    chosen: str = ""
    """How what was read was chosen; the reader of a terminal has just typed it."""
    lead: Sequence[Paragraph] = ()
    """What stands below the title."""
    partial: str = ""
    """What was stopped before its end, if anything was."""
    remarks: Sequence[str] = ()
    """What a person should know before reading figures."""
    sections: Sequence[Section] = ()
    legend: str = ""
    """What marks and headers mean."""
    conclusion: Sequence[Paragraph] = ()
    """What follows: first on a page, last on a terminal, where that stays in sight."""
    footer: str = ""
    """What a page says at its foot."""
