"""Findings: results of analyses. All findings are shown, drawn and saved in the same way."""

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
"""Formats of figures for papers."""
TableFormat = Literal["markdown", "latex", "csv"]
"""Formats of tables for papers and spreadsheets."""

Contents = Mapping[str, "str | pa.Table | Sequence[Sequence[object]]"]
"""Contents of files, keyed by file name: text, a table, or rows of cells."""


class Drawable:
    """A figure of a finding. Call the object to draw the figure with matplotlib, for use in a paper."""

    def __init__(self, load: "Callable[[], Callable[..., Chart]]", found: object) -> None:
        self._load, self._found = load, found

    def chart(self, *arguments: Any, **options: Any) -> "Chart":
        """Returns the figure's data, for an interactive page."""
        return self._load()(self._found, *arguments, **options)

    def __call__(self, *arguments: Any, **options: Any) -> "Figure":
        """Draws the figure with matplotlib."""
        title = self._load().__name__.replace("_", " ")
        figure: Figure = room("view.plots.drawing").drawn(self.chart(*arguments, **options), title)
        return figure


class Plot:
    """A plot method of a finding; a function in `ssdlab.view.charts` supplies the data. Its module is loaded only when
    the figure is drawn, or Python's help for the method is requested.
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
"""File name of the report page."""


class Finding(ABC):
    """Base class of all findings. A subclass defines its report page, its output files, its data (`to_dict`, `_tables`)
    and its figures (one `Plot` per figure).
    """

    _page: ClassVar[str]
    """Module of `ssdlab.view.pages`; its function `page` builds the finding's report page."""
    _json: ClassVar[str]
    """File name of the JSON that `to_json` returns."""
    _optional: ClassVar[tuple[str, ...]] = ()
    """Glob patterns of files that only some findings of this class save."""
    saved: ClassVar[str]
    """Description of the files that `save` writes for every finding of this class."""

    @property
    def _kind(self) -> str:
        """Kind of result, such as `result` or `comparison`, as named in the JSON envelope."""
        return self._json.removesuffix(".json")

    @property
    def written(self) -> str:
        """Description of the files that `save` writes for this finding."""
        return self.saved

    _is_partial: bool = False

    @property
    def partial(self) -> bool:
        """True if the work was stopped early, so that the finding covers only part of it."""
        return self._is_partial

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Returns all results of the finding, ready for JSON: the key `result` of the envelope."""

    def _source(self) -> Mapping[str, Any] | None:
        """Returns the source of the requests; None for a finding without requests."""
        return None

    def _configuration(self) -> dict[str, Any] | None:
        """Returns the resolved configuration, from `Config.to_dict`; None for a finding without a configuration."""
        return None

    def envelope(self) -> dict[str, Any]:
        """Returns the JSON envelope: `to_dict` as `result`, with version, source, configuration and notes."""
        return envelope(
            self._kind,
            self.to_dict(),
            source=self._source(),
            configuration=self._configuration(),
            notes=self.page().remarks,
            partial=self.partial,
        )

    def to_json(self) -> str:
        """Returns the JSON envelope of the finding as text."""
        return written(self.envelope())

    def page(self) -> "Page":
        """Returns the report page shown on the terminal and in `report.html`."""
        page: Page = room(f"view.pages.{self._page}").page(self)
        return page

    def report_html(self) -> str:
        """Returns the report as one self-contained HTML page. Identical findings produce identical pages."""
        return str(room("view.html").render(self.page(), self._kind))

    def _repr_html_(self) -> str:
        """Returns the tables that a notebook shows for the finding. Figures are drawn by the plot methods."""
        return str(room("view.html").in_notebook(self.page()))

    def _tables(self) -> Contents:
        """Returns the tables that `save` writes next to report and JSON, by file name."""
        return {}

    @takes(figures="pdf")
    def save(
        self, directory: str | os.PathLike[str], figures: FigureFormat | None = None, only: Sequence[str] = ()
    ) -> None:
        """Writes the report, the JSON and the tables to a directory, which is created if missing.

        Files are written atomically; identical findings produce identical files.

        Args:
            directory: Directory to write to.
            figures: Format of additional figures for papers, which matplotlib draws in two widths: `figure-NAME` is one
                column wide (3.5 inches), `figure-NAME-wide` is two columns wide (7.16 inches).
            only: Names of the figures to write, such as `latency` or `waf`; all figures if empty.

        Raises:
            ConfigError: If `only` contains a name that no figure of the finding has.
            OSError: If the directory or a file in it cannot be written; earlier files stay unchanged.
        """
        folder = Path(directory)
        # Files saved here for an earlier finding. Files that this finding does not replace are removed at the end.
        earlier = [path for pattern in (*self._optional, "figure-*") for path in folder.glob(pattern)]
        if not (folder / self._json).exists():
            earlier = []
        with filling(folder) as hidden:
            contents = {REPORT: self.report_html(), self._json: self.to_json(), **self._tables()}
            for name, content in contents.items():
                with naming(folder / name):
                    write(hidden / name, content)
            drawn = room("view.plots.paper").papers(self.page(), figures, only) if figures else {}
            for name, figure in drawn.items():
                with naming(folder / name):
                    (hidden / name).write_bytes(figure)
        for path in earlier:
            if path.name not in {*contents, *drawn}:
                path.unlink()


class TraceFinding(Finding):
    """A finding about the requests of a trace or workload."""

    def __init__(self, source: Mapping[str, Any], ingest: Mapping[str, Any] | None, *, partial: bool = False) -> None:
        self.source = dict(source)
        """Source of the requests: `kind` is `trace`, `memory` or `workload`, with further keys."""
        self.ingest = ingest
        """Report on reading the trace: `counts`, `notes`, `other_devices` and so on; None if no file was read."""
        self._is_partial = partial

    def _source(self) -> Mapping[str, Any]:
        return self.source
