"""What was computed or found: every finding is shown, drawn and saved the same way."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from ssdlab.lazy import pa, room
from ssdlab.model.arguments import takes
from ssdlab.model.envelope import envelope, written
from ssdlab.model.files import filling, naming, write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ssdlab.view.chart import Chart
    from ssdlab.view.page import Page

FigureFormat = Literal["pdf", "svg", "png"]
"""How figures for papers are saved."""

Contents = Mapping[str, "str | pa.Table | Sequence[Sequence[object]]"]
"""Names of files to what they hold: text, a table, or rows of cells."""


class Drawable:
    """What a finding shows in one figure: called, it draws it with matplotlib, for papers."""

    def __init__(self, load: "Callable[[], Callable[..., Chart]]", found: object) -> None:
        self._load, self._found = load, found

    def chart(self, *arguments: Any, **options: Any) -> "Chart":
        """Its data, which a page lets its reader explore."""
        return self._load()(self._found, *arguments, **options)

    def __call__(self, *arguments: Any, **options: Any) -> "Figure":
        """The figure."""
        title = self._load().__name__.replace("_", " ")
        figure: Figure = room("view.plots.drawing").drawn(self.chart(*arguments, **options), title)
        return figure


class Plot:
    """A method that draws a figure: a function of a module below `ssdlab.view.charts` makes its data.

    The module is loaded when a figure is drawn, and for help on the method of the class; a page that no one draws names
    its figures as well.
    """

    def __init__(self, function: str) -> None:
        self._module, self._function = function.split(".")

    @overload
    def __get__(self, found: None, owner: type) -> "Callable[..., Figure]": ...

    @overload
    def __get__(self, found: object, owner: type | None = None) -> Drawable: ...

    def __get__(self, found: object, owner: type | None = None) -> "Callable[..., Figure]":
        if found is not None:
            return Drawable(self._load, found)

        of_chart = self._load()

        @wraps(of_chart)
        def draw(found: object, *arguments: Any, **options: Any) -> "Figure":
            return Drawable(self._load, found)(*arguments, **options)

        vars(draw)["__signature__"] = signature(of_chart).replace(return_annotation="Figure")
        return draw

    def _load(self) -> "Callable[..., Chart]":
        chart: Callable[..., Chart] = getattr(room(f"view.charts.{self._module}"), self._function)
        return chart


REPORT = "report.html"
"""Name of the file with the page."""


class Finding(ABC):
    """The base of all findings.

    A class declares where its page is, what its files are called, its data (`to_dict`, `_tables`) and its figures
    (a `Plot` each).
    """

    _page: ClassVar[str]
    """Module below `ssdlab.view.pages` whose function `page` lays it out."""
    _json: ClassVar[str]
    """Name of the file with `to_json`."""
    _optional: ClassVar[tuple[str, ...]] = ()
    """Patterns of the files that not every finding of a class has."""
    saved: ClassVar[str]
    """What `save` writes, in words."""

    @property
    def _kind(self) -> str:
        """What the envelope calls it."""
        return self._json.removesuffix(".json")

    @property
    def written(self) -> str:
        """What `save` writes of this finding, in words."""
        return self.saved

    @property
    def partial(self) -> bool:
        """Whether it was stopped before its end."""
        return False

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All figures, ready for JSON: `result` of the envelope."""

    def _source(self) -> Mapping[str, Any] | None:
        """What was read; None if nothing was."""
        return None

    def _configuration(self) -> dict[str, Any] | None:
        """The resolved configuration that it is of, as `Config.to_dict` gives it; None if there is none."""
        return None

    def envelope(self) -> dict[str, Any]:
        """`to_dict` as `result`, beside version, source, configuration and notes: what `to_json` writes."""
        return envelope(
            self._kind,
            self.to_dict(),
            source=self._source(),
            configuration=self._configuration(),
            notes=self.page().remarks,
            partial=self.partial,
        )

    def to_json(self) -> str:
        """`envelope` as JSON text."""
        return written(self.envelope())

    def page(self) -> "Page":
        """What a person is shown of it, on the terminal and in the report."""
        page: Page = room(f"view.pages.{self._page}").page(self)
        return page

    def report_html(self) -> str:
        """The report as one HTML page that needs nothing else. Equal findings give equal pages."""
        html: str = room("view.html").render(self.page(), self._kind)
        return html

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables; figures are those of the methods that plot."""
        html: str = room("view.html").in_notebook(self.page())
        return html

    def _tables(self) -> Contents:
        """What is saved beside report and JSON."""
        return {}

    @takes(figures="pdf")
    def save(self, directory: str | os.PathLike[str], figures: FigureFormat | None = None) -> None:
        """Writes it into a directory, which is made if need be: report, JSON, tables.

        Each file appears whole or not at all, and equal findings give equal bytes.

        Args:
            directory: Where to.
            figures: A format in which each figure of the report is written as well, drawn by matplotlib for papers:
                `figure-NAME` one column wide (3.5 inches), `figure-NAME-wide` two (7.16 inches).

        Raises:
            OSError: If the directory or a file in it cannot be written; what was there before stays as it was.
        """
        folder = Path(directory)
        # What an earlier finding left would pass for part of this one.
        earlier = [path for pattern in (*self._optional, "figure-*") for path in folder.glob(pattern)]
        if not (folder / self._json).exists():
            earlier = []
        with filling(folder) as hidden:
            contents = {REPORT: self.report_html(), self._json: self.to_json(), **self._tables()}
            for name, content in contents.items():
                with naming(folder / name):
                    write(hidden / name, content)
            drawn = room("view.plots.paper").papers(self.page(), figures) if figures else {}
            for name, figure in drawn.items():
                with naming(folder / name):
                    (hidden / name).write_bytes(figure)
        for path in earlier:
            if path.name not in {*contents, *drawn}:
                path.unlink()
