"""Write intervals of a trace, and the number of page writes that logs of the requested sizes would absorb."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab import _ssdlab
from ssdlab._ssdlab import TraceError
from ssdlab.lazy import Counts, Numbers, np
from ssdlab.model.arrow import table
from ssdlab.model.finding import Contents, Plot, TraceFinding
from ssdlab.model.requests import Monitor
from ssdlab.model.several import several
from ssdlab.model.source import Source, source_text


class WindowColumns(NamedTuple):
    """Numbers of hot, warm and cold page writes and pages: uint64 arrays with one entry per log size.

    A write is hot if its interval is at most the log size, and warm if at most twice the log size. All other writes,
    and first writes of a page, are cold. A page is classified by its mean interval; a page written once is cold.
    """

    log_pages: Counts
    hot_writes: Counts
    """Number of hot page writes, which equals the number of pages invalidated before a FIFO log evicts them."""
    warm_writes: Counts
    """Number of warm page writes, which equals the number of further pages invalidated with a second chance."""
    cold_writes: Counts
    hot_pages: Counts
    warm_pages: Counts
    cold_pages: Counts


class IntervalColumns(NamedTuple):
    """Histogram of write intervals without empty buckets; uint64 arrays of equal length."""

    lower: Counts
    upper: Counts
    """Lower bound of the next bucket: `lower` + 1 below 128, then at most 1.6 % above `lower`."""
    writes: Counts


class FrequencyColumns(NamedTuple):
    """Histogram of pages by how often they were written; uint64 arrays of equal length."""

    writes: Counts
    """Number of writes per page."""
    pages: Counts
    """Number of pages that were written `writes` times."""


class WriteIntervals(TraceFinding):
    """Write intervals of a trace.

    The write interval of a page write is the number of page writes (of any page) since the previous write of the same
    page, including itself. A request counts once for each page that it writes completely or in part. Identical requests
    give identical intervals, and identical bytes when saved.

    Saves `report.html` and `intervals.json`, and the Parquet files `windows`, `intervals`, `frequency` and
    `time_address`. The last file has one row per bin of time and address, with the number of page writes before the bin
    (`page_writes`), the first page of the bin (`first_page`) and the writes to the bin (`writes`).
    """

    _page = "intervals"
    _json = "intervals.json"
    saved = "report.html, intervals.json and Parquet files"

    def __init__(
        self,
        *,
        source: Mapping[str, Any],
        ingest: Mapping[str, Any] | None,
        logs: Sequence[str],
        written: _ssdlab.WrittenPages,
        counted: _ssdlab.Intervals,
    ) -> None:
        super().__init__(source, ingest)
        self.page_bytes = written.page_bytes()
        """Size of a page in bytes."""
        self.page_writes = written.page_writes()
        """Total number of page writes."""
        self.written_pages = written.pages()
        """Number of different pages written."""
        self.extent_pages = written.extent()
        """Range of page numbers written: the lowest number, and the highest number plus one."""
        self.logs = tuple(logs)
        """Requested sizes of the logs."""
        self.windows = WindowColumns(**counted.windows())
        """Exact counts of hot, warm and cold writes and pages for each log size."""
        self.histogram = IntervalColumns(**counted.histogram())
        """Histogram of page writes by write interval. It omits the first write of each page, which has no interval."""
        self.frequency = FrequencyColumns(**counted.frequencies())
        """Histogram of pages by number of writes."""
        counts, steps = counted.time_address()
        self.time_address = counts.reshape(steps)
        """Page writes in rows (at most 256) of equally many writes and columns (at most 128) of equally many pages."""

    def curve(self) -> "tuple[Counts, Numbers]":
        """Returns FIFO log sizes in pages, and for each the exact share of page writes invalidated before eviction."""
        log_pages = np.concatenate(([0], self.histogram.upper - 1)).astype(np.uint64)
        writes = np.concatenate(([0], np.cumsum(self.histogram.writes)))
        return log_pages, writes / self.page_writes

    def concentration(self) -> "tuple[Numbers, Numbers]":
        """Returns growing shares of the written pages, most written first, and the shares of writes to them."""
        pages = np.cumsum(self.frequency.pages[::-1]) / self.written_pages
        writes = np.cumsum((self.frequency.pages * self.frequency.writes)[::-1]) / self.page_writes
        return np.concatenate(([0.0], pages)), np.concatenate(([0.0], writes))

    def to_dict(self) -> dict[str, Any]:
        """Returns all results except the columns in a form ready for JSON; shares are fractions from 0 to 1."""
        return {
            "page_bytes": self.page_bytes,
            "page_writes": self.page_writes,
            "written_pages": self.written_pages,
            "logs": [self._log(index, log) for index, log in enumerate(self.logs)],
        }

    def _log(self, index: int, log: str) -> dict[str, Any]:
        row = {name: int(column[index]) for name, column in self.windows._asdict().items()}
        log_pages = row.pop("log_pages")
        shares = {
            f"{name}_share": count / (self.page_writes if name.endswith("_writes") else self.written_pages)
            for name, count in row.items()
        }
        return {
            "log": log,
            "log_pages": log_pages,
            "log_bytes": log_pages * self.page_bytes,
            "log_share": log_pages / self.written_pages,
            **row,
            **shares,
            "invalidated_share": shares["hot_writes_share"],
            "invalidated_second_chance_share": (row["hot_writes"] + row["warm_writes"]) / self.page_writes,
        }

    def _tables(self) -> Contents:
        rows, columns = self.time_address.shape
        low, high = self.extent_pages
        # Each bin is labelled with its lower bounds in time and address, rounded up.
        times = [-(-row * self.page_writes // rows) for row in range(rows)]
        pages = [low + -(-column * (high - low) // columns) for column in range(columns)]
        bins = {
            "page_writes": np.repeat(np.array(times, np.uint64), columns),
            "first_page": np.tile(np.array(pages, np.uint64), rows),
            "writes": self.time_address.ravel(),
        }
        return {
            "windows.parquet": table({"log": list(self.logs), **self.windows._asdict()}),
            "intervals.parquet": table(self.histogram._asdict()),
            "frequency.parquet": table(self.frequency._asdict()),
            "time_address.parquet": table(bins),
        }

    plot_intervals = Plot("intervals.intervals")
    plot_invalidated = Plot("intervals.invalidated")
    plot_time_address = Plot("intervals.time_address")
    plot_frequency = Plot("intervals.frequency")
    plot_concentration = Plot("intervals.concentration")

    def __repr__(self) -> str:
        return f"<ssdlab.WriteIntervals of {source_text(self.source)}: {self.page_writes:,} page writes>"


def measure(source: Source, page: str, logs: Sequence[str], monitor: Monitor | None) -> WriteIntervals:
    """Measures write intervals; see `Source.intervals`."""
    # Rejects invalid log sizes before the long pass over the trace.
    written = _ssdlab.WrittenPages(page)
    logs = several(logs)
    for log in logs:
        _ssdlab.check_log_size(log)
    source.open_addresses()
    source.read(written.add, monitor)
    if written.page_writes() == 0:
        why = "has no write intervals, because it contains no writes; use a trace with writes"
        raise TraceError(f"{source_text(source.about)}: {why}")
    counted = _ssdlab.Intervals(written, logs)
    ingest = source.read(counted.add, monitor, "count")
    return WriteIntervals(source=source.about, ingest=ingest, logs=logs, written=written, counted=counted)
