"""When written pages are written again, and how much of that a log of some pages sees."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab import _ssdlab
from ssdlab._ssdlab import TraceError
from ssdlab.lazy import np, npt
from ssdlab.model.arrow import table
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.model.requests import Monitor
from ssdlab.model.several import several
from ssdlab.model.source import Source, source_text


class WindowColumns(NamedTuple):
    """What each log sees, one entry per log in the order asked; uint64 arrays of equal length.

    A write is hot if its interval is at most the log, warm if it is at most twice the log, and cold otherwise or if
    its page was not written before. A page is classed by the mean of its intervals, and cold if written once.
    """

    log_pages: "npt.NDArray[np.uint64]"
    """Pages of the log."""
    hot_writes: "npt.NDArray[np.uint64]"
    """Hot page writes. As many are invalidated before their eviction from a first-in first-out log."""
    warm_writes: "npt.NDArray[np.uint64]"
    """Warm page writes. As many more are invalidated in time if a second chance doubles their stay in the log."""
    cold_writes: "npt.NDArray[np.uint64]"
    """Cold page writes."""
    hot_pages: "npt.NDArray[np.uint64]"
    """Hot pages."""
    warm_pages: "npt.NDArray[np.uint64]"
    """Warm pages."""
    cold_pages: "npt.NDArray[np.uint64]"
    """Cold pages."""


class IntervalColumns(NamedTuple):
    """A histogram of write intervals, one entry per step that holds any; uint64 arrays of equal length."""

    lower: "npt.NDArray[np.uint64]"
    """Shortest interval of the step in page writes."""
    upper: "npt.NDArray[np.uint64]"
    """First interval of the next step: `lower` + 1 below 128, at most 1.6 % above `lower` from there on."""
    writes: "npt.NDArray[np.uint64]"
    """Page writes in the step."""


class FrequencyColumns(NamedTuple):
    """How many pages were written how often, by number of writes; uint64 arrays of equal length."""

    writes: "npt.NDArray[np.uint64]"
    """Writes of a page."""
    pages: "npt.NDArray[np.uint64]"
    """Pages written so often."""


class WriteIntervals(Finding):
    """Write intervals of a trace.

    The write interval of a page write is the number of page writes, of any page, since the previous write of the same
    page, itself included. A request counts once for each page that it writes, wholly or in part; nothing but writes
    counts. Equal requests give equal intervals, byte for byte when saved.

    Saved are `report.html`, `intervals.json`, and as Parquet `windows`, `intervals`, `frequency` and `time_address`
    (a row for each step of time and address: `page_writes` before it, its `first_page`, its `writes`).
    """

    _page = "intervals"
    _json = "intervals.json"
    saved = "report.html, intervals.json and Parquet columns"

    def __init__(
        self,
        *,
        source: Mapping[str, Any],
        ingest: Mapping[str, Any] | None,
        logs: Sequence[str],
        written: _ssdlab.WrittenPages,
        counted: _ssdlab.Intervals,
    ) -> None:
        self.source = dict(source)
        """Where the requests came from: `kind` is `trace` or `memory`, with its particulars."""
        self.ingest = ingest
        """What was met while reading the trace (None without a file)."""
        self.page_bytes = written.page_bytes()
        """Bytes of a page."""
        self.page_writes = written.page_writes()
        """Page writes in all."""
        self.written_pages = written.pages()
        """Different pages written."""
        self.extent_pages = written.extent()
        """Number of the lowest page written, and of the one behind the highest."""
        self.logs = tuple(logs)
        """The sizes of logs as asked."""
        self.windows = WindowColumns(**counted.windows())
        """Exact counts of writes and pages against each log."""
        self.histogram = IntervalColumns(**counted.histogram())
        """Page writes by interval; the first writes of pages have none and are left out."""
        self.frequency = FrequencyColumns(**counted.frequencies())
        """Pages by how often they were written."""
        counts, steps = counted.time_address()
        self.time_address = counts.reshape(steps)
        """Page writes by time (rows, at most 256) and address (columns, at most 128), uint64. Rows are equal steps of
        page writes, columns equal steps of `extent_pages`."""

    def curve(self) -> "tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]]":
        """The share of page writes invalidated before their eviction as a first-in first-out log grows.

        Returns:
            Pages of the log, and the shares of 1; exact at each of these sizes.
        """
        log_pages = np.concatenate(([0], self.histogram.upper - 1)).astype(np.uint64)
        writes = np.concatenate(([0], np.cumsum(self.histogram.writes)))
        return log_pages, writes / self.page_writes

    def concentration(self) -> "tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]":
        """How writes gather on few pages.

        Returns:
            Shares of the written pages, the most written first, and the shares of page writes that go to them.
        """
        pages = np.cumsum(self.frequency.pages[::-1]) / self.written_pages
        writes = np.cumsum((self.frequency.pages * self.frequency.writes)[::-1]) / self.page_writes
        return np.concatenate(([0.0], pages)), np.concatenate(([0.0], writes))

    def to_dict(self) -> dict[str, Any]:
        """The figures without the columns, ready for JSON; shares are those of 1."""
        return {
            "page_bytes": self.page_bytes,
            "page_writes": self.page_writes,
            "written_pages": self.written_pages,
            "logs": [self._log(index, log) for index, log in enumerate(self.logs)],
        }

    def _source(self) -> Mapping[str, Any]:
        return self.source

    def _log(self, index: int, log: str) -> dict[str, Any]:
        row = {name: int(column[index]) for name, column in self.windows._asdict().items()}
        log_pages = row.pop("log_pages")
        shares = {
            f"{name}_share": count / (self.page_writes if name.endswith("_writes") else self.written_pages)
            for name, count in row.items()
        }
        invalidated = shares["hot_writes_share"]
        return {
            "log": log,
            "log_pages": log_pages,
            "log_bytes": log_pages * self.page_bytes,
            "log_share": log_pages / self.written_pages,
            **row,
            **shares,
            "invalidated_share": invalidated,
            "invalidated_second_chance_share": (row["hot_writes"] + row["warm_writes"]) / self.page_writes,
        }

    def _tables(self) -> Contents:
        rows, columns = self.time_address.shape
        low, high = self.extent_pages
        # The first whole number of each step.
        times = [-(-row * self.page_writes // rows) for row in range(rows)]
        pages = [low + -(-column * (high - low) // columns) for column in range(columns)]
        return {
            "windows.parquet": table({"log": list(self.logs), **self.windows._asdict()}),
            "intervals.parquet": table(self.histogram._asdict()),
            "frequency.parquet": table(self.frequency._asdict()),
            "time_address.parquet": table(
                {
                    "page_writes": np.repeat(np.array(times, np.uint64), columns),
                    "first_page": np.tile(np.array(pages, np.uint64), rows),
                    "writes": self.time_address.ravel(),
                }
            ),
        }

    plot_intervals = Plot("intervals.intervals")
    plot_invalidated = Plot("intervals.invalidated")
    plot_time_address = Plot("intervals.time_address")
    plot_frequency = Plot("intervals.frequency")
    plot_concentration = Plot("intervals.concentration")

    def __repr__(self) -> str:
        return f"<ssdlab.WriteIntervals of {source_text(self.source)}: {self.page_writes:,} page writes>"


def measure(source: Source, page: str, logs: Sequence[str], monitor: Monitor | None) -> WriteIntervals:
    """See `Source.intervals`."""
    # Wrong sizes are told before a long pass; whether a share comes to a page is known only after it.
    written = _ssdlab.WrittenPages(page)
    logs = several(logs)
    for log in logs:
        _ssdlab.check_log_size(log)
    source.open_addresses()
    source.read(written, monitor)
    if written.page_writes() == 0:
        its = source_text(source.about)
        raise TraceError(f"{its}: writes nothing, so that there are no write intervals; give one with writes")
    counted = _ssdlab.Intervals(written, logs)
    ingest = source.read(counted, monitor, "count")
    return WriteIntervals(source=source.about, ingest=ingest, logs=logs, written=written, counted=counted)
