"""A page that shows a finding (any kind of result) on a terminal or as HTML."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from ssdlab import text

if TYPE_CHECKING:
    from ssdlab.view.chart import Chart

T = TypeVar("T")

Style = Literal["", "strong", "soft", "code", "best", "gap", "bad"]
"""Emphasis of text: `best` marks the winner of a comparison, `gap` a known deviation, and `bad` an error."""


class Cell(NamedTuple):
    """A table cell with emphasis."""

    text: str
    style: Style = ""


Row = Sequence[str | Cell]


def known(write: Callable[[T], str], value: T | None) -> str:
    """Formats a value that may be missing."""
    return text.MISSING if value is None else write(value)


def verdict(passed: bool) -> str | Cell:
    """Returns the cell that states if a row of a validation passed."""
    return "pass" if passed else Cell("MISS", "bad")


class Paragraph(NamedTuple):
    """A paragraph of text on a page, or a separate line."""

    text: str
    style: Style = ""
    belongs: bool = False
    """True if the paragraph continues the numbered paragraph before it."""


@dataclass(frozen=True)
class Facts:
    """Labels with their values. With `tiles`, HTML shows tiles, and a terminal shows one row if they fit."""

    rows: Sequence[tuple[str, str]]
    title: str = ""
    tiles: bool = False


@dataclass(frozen=True)
class Table:
    """A table. Its first `left` columns are text; all other columns are numbers."""

    headers: Sequence[str]
    rows: Sequence[Row]
    title: str = ""
    left: int = 1
    note: str = ""
    """Explanation of the table. It is too long for a terminal, so only HTML pages show it."""
    wide: bool = False
    """True if the terminal shows the table transposed."""
    most: int | None = None
    """Maximum number of rows of the table on a terminal without `--all`."""

    @classmethod
    def named(
        cls,
        headers: Iterable[str],
        rows: Iterable[tuple[str, Sequence[str]]],
        title: str = "",
        *,
        header: str = "",
        note: str = "",
        wide: bool = False,
    ) -> "Table":
        """Returns a table whose first column contains the names of the rows."""
        return cls((header, *headers), [(name, *cells) for name, cells in rows], title, note=note, wide=wide)


@dataclass(frozen=True)
class Figure:
    """A figure, which only HTML pages show."""

    draw: "Callable[[], Chart]"
    title: str = ""
    note: str = ""
    is_useful: Callable[[], bool] = lambda: True
    """Returns false if the figure adds nothing to the page. The function is called only when the page is drawn."""


@dataclass(frozen=True)
class Beside:
    """Page items that are placed side by side if the page is wide enough."""

    items: "Sequence[Facts | Figure]"


Item = Paragraph | Facts | Table | Figure | Beside


@dataclass(frozen=True)
class Section:
    """Items of a page under a common heading."""

    title: str
    items: Sequence[Item]
    note: str = ""
    """Explanation shown below the heading of the section."""
    terminal: bool = True
    """False if only HTML pages show the section."""
    detail: bool = False
    """True if a terminal shows the section only with `--all`."""


@dataclass(frozen=True)
class Page:
    """Contents of a report page."""

    title: str
    chosen: str = ""
    """Options with which the user chose the input. A terminal, where the user has just typed them, omits them."""
    lead: Sequence[Paragraph] = ()
    """Paragraphs below the title of the page."""
    partial: str = ""
    """Notice that the work was interrupted; empty if the work was completed."""
    remarks: Sequence[str] = ()
    """Warnings to read before the results."""
    sections: Sequence[Section] = ()
    legend: str = ""
    """Explanation of the marks and headers that the page uses."""
    conclusion: Sequence[Paragraph] = ()
    """Conclusions of the page. HTML shows them first; a terminal shows them last, where they stay visible."""
    more: str = ""
    """Line that states what `--all` would add on a terminal; printed last."""
    footer: str = ""
