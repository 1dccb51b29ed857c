"""Workload analysis: addresses, distances, sizes, working sets, order and arrivals of requests."""

import math
from collections.abc import Mapping
from typing import Any

from ssdlab import _ssdlab
from ssdlab._ssdlab import TraceError
from ssdlab.analyse.workload_columns import (
    AlignmentColumns,
    DeviationColumns,
    GapColumns,
    RangeColumns,
    RunColumns,
    SizeColumns,
    TraceWindowColumns,
)
from ssdlab.lazy import np
from ssdlab.model.arrow import table
from ssdlab.model.finding import Contents, Plot, TraceFinding
from ssdlab.model.requests import Ending, Monitor, batches
from ssdlab.model.source import Source, source_text

SECTOR = 512
"""Bytes of a sector."""

PAGE = 4096
"""Page size in bytes for footprints and working sets."""

KINDS = ("read", "write", "trim")
"""Operations whose requests have an address."""

TOP_SIZES = 10
"""Maximum number of request sizes in `TraceAnalysis.to_dict`, which lists the most frequent sizes."""

ALIGNMENTS = tuple(512 << power for power in range(8))
"""Alignments in bytes that `TraceAnalysis.to_dict` lists: 512 B to 64 KiB."""


class TraceAnalysis(TraceFinding):
    """Analysis of a workload. Identical requests give identical analyses, and identical bytes when saved.

    Counts are exact, with one exception. If the trace touches more than 3,145,728 groups of 16 neighbouring pages,
    counts of pages are estimates from a sample; see `sampling`. This limit is 192 GiB if all pages of each group are
    touched, and 12 GiB if one page of each group is touched.

    Saves `report.html` and `analysis.json`, and the Parquet files `ranges`, `deviations`, `sizes`, `alignments`,
    `runs`, `gaps` and `windows`. Each Parquet file has the columns of the attribute of the same name.
    """

    _page = "workload"
    _json = "analysis.json"
    saved = "report.html, analysis.json and Parquet files"

    def __init__(
        self, *, source: Mapping[str, Any], ingest: Mapping[str, Any] | None, counted: _ssdlab.Analysis, partial: bool
    ) -> None:
        super().__init__(source, ingest, partial=partial)
        self._figures = counted.figures()
        self.requests: dict[str, int] = self._figures["requests"]
        """Number of requests by operation: `read`, `write`, `trim`, `flush`."""
        self.bytes: dict[str, int] = self._figures["bytes"]
        """Bytes requested, by operation."""
        self.duration_ns: int = self._figures["duration_ns"]
        """Time from the first to the last request, in nanoseconds."""
        self.extent: tuple[int, int] = self._figures["extent"]
        """First addressed byte, and the first byte past the last addressed byte."""
        self.range_bytes: int = self._figures["range_bytes"][0]
        """Requested size of an address range; the unit of `deviations`."""
        self.counted_range_bytes: int = self._figures["range_bytes"][1]
        """Size of each address range in `ranges`; larger than requested if addresses exceed 1,048,576 ranges."""
        self.window_requests: int = self._figures["window_requests"]
        """Number of requests per window, that is, per row of `windows`."""
        self.sampling: int = self._figures["sampling"]
        """Number of pages that each sampled page represents; 1 if footprints and working sets are exact. The relative
        standard error of an estimate of n pages is at most 4 sqrt(sampling / n), below 0.4 % for the footprint.
        """
        ranges = counted.ranges()
        first_byte = ranges.pop("range") * np.uint64(self.counted_range_bytes)
        self.ranges = RangeColumns(first_byte=first_byte, **ranges)
        """Histogram of requests by address range."""
        self.deviations = DeviationColumns(**counted.deviations())
        """Histogram of requests by operation and by distance from the previous request (of any operation)."""
        self.sizes = SizeColumns(**counted.sizes())
        """Histogram of requests by size in sectors."""
        self.alignments = AlignmentColumns(**counted.alignments())
        """Histogram of requests by the alignment of their address."""
        self.runs = RunColumns(**counted.runs())
        """Histogram of sequential runs by length. A request may continue any of the latest 32 runs of its operation."""
        self.gaps = GapColumns(**counted.gaps())
        """Histogram of requests by the time since the previous request."""
        self.windows = TraceWindowColumns(**counted.windows())
        """Requests and working sets over the trace, in windows with equal numbers of requests."""

    @property
    def footprint_bytes(self) -> int:
        """Bytes read or written at least once, counted in whole pages of 4 KiB."""
        return int(self._figures["footprints"][2])

    def alignment_shares(self, bytes: int) -> dict[str, float | None]:
        """Returns the shares of reads, writes and trims whose address and size are both multiples of `bytes`.

        Args:
            bytes: A power of two up to 1 MiB.
        """
        at_least = self.alignments.bytes >= bytes
        wholes = {kind: int(getattr(self.alignments, f"whole_{kind}s")[at_least].sum()) for kind in KINDS}
        return {kind: part / self.requests[kind] if self.requests[kind] else None for kind, part in wholes.items()}

    def to_dict(self) -> dict[str, Any]:
        """Returns all results except the columns in a form ready for JSON; `docs/analysis.md` explains every key.

        Shares are fractions from 0 to 1; missing values are None.
        """
        requests = sum(self.requests.values())
        read, written, both = self._figures["footprints"]
        return {
            "range_bytes": self.range_bytes,
            "counted_range_bytes": self.counted_range_bytes,
            "requests": self.requests,
            "bytes": self.bytes,
            "duration_ns": self.duration_ns,
            "requests_per_s": requests / (self.duration_ns / 1e9) if self.duration_ns else None,
            "extent": {"first_byte": self.extent[0], "end_byte": self.extent[1]},
            "footprint": {
                "bytes": both,
                "read_bytes": read,
                "written_bytes": written,
                "exact": self.sampling == 1,
                "sampling": self.sampling,
                "standard_error": 0.0 if self.sampling == 1 else 4 * math.sqrt(self.sampling * PAGE / both),
            },
            "working_set": self._working_set(),
            "streams": self._figures["streams"],
            "sequential": {kind: self._sequential(kind) for kind in KINDS},
            "deviation": {kind: self._deviation(kind) for kind in KINDS},
            "sizes": {kind: self._sizes(kind) for kind in KINDS},
            "alignment": {str(size): self.alignment_shares(size) for size in ALIGNMENTS},
            "arrivals": {
                op: gaps and {name if name in ("count", "cv") else f"{name}_ns": value for name, value in gaps.items()}
                for op, gaps in self._figures["gaps"].items()
            },
            "dispersion": [
                {"scale_ns": scale, "stretches": stretches, "index": index}
                for scale, stretches, index in self._figures["dispersion"]
            ],
        }

    def _working_set(self) -> dict[str, Any]:
        pages = self.windows.pages
        # A shorter last window is omitted, because it would bias the mean.
        last = sum(self.requests.values()) - int(self.windows.first_request[-1])
        whole = pages[:-1] if last < self.window_requests and len(pages) > 1 else pages
        return {
            "window_requests": self.window_requests,
            "windows": len(pages),
            "mean_bytes": float(whole.mean()) * PAGE,
            "max_bytes": int(pages.max()) * PAGE,
        }

    def _sequential(self, kind: str) -> dict[str, Any] | None:
        requests = self.requests[kind]
        if not requests:
            return None
        figures = self._figures["sequential"][kind]
        runs = figures["runs"]
        return {
            "after_kind_share": figures["after_kind"] / requests,
            "after_stream_share": figures["after_stream"] / requests,
            "continuing_share": figures["continuing"] / requests,
            "concurrent_runs": figures["concurrent"],
            "runs": runs["count"],
            "mean_run": runs["mean"],
            "longest_run": runs["max"],
        }

    def _deviation(self, kind: str) -> dict[str, Any] | None:
        columns = self.deviations
        counts = getattr(columns, f"{kind}s")
        whole = int(counts.sum())
        if not whole:
            return None

        def share(within: int) -> float:
            return int(counts[(columns.lower >= -within) & (columns.upper <= within + 1)].sum()) / whole

        return {
            "same_share": share(0),
            "within_1_share": share(1),
            "within_16_share": share(16),
            "ahead_share": int(counts[columns.lower > 0].sum()) / whole,
            "behind_share": int(counts[columns.upper <= 0].sum()) / whole,
        }

    def _sizes(self, kind: str) -> dict[str, Any] | None:
        if not self.requests[kind]:
            return None
        counts = getattr(self.sizes, f"{kind}s")
        # The sort is stable, so smaller sizes come first among equally frequent sizes.
        order = (-counts.astype("int64")).argsort(kind="stable")[:TOP_SIZES]
        return {
            "mean_bytes": self.bytes[kind] / self.requests[kind],
            "most_frequent": [
                {"sectors": int(self.sizes.lower[row]), "requests": int(counts[row])} for row in order if counts[row]
            ],
        }

    def _tables(self) -> Contents:
        names = ("ranges", "deviations", "sizes", "alignments", "runs", "gaps", "windows")
        return {f"{name}.parquet": table(getattr(self, name)._asdict()) for name in names}

    plot_ranges = Plot("workload.ranges")
    plot_deviations = Plot("workload.deviations")
    plot_sizes = Plot("workload.sizes")
    plot_working_set = Plot("workload.working_set")
    plot_mix = Plot("workload.mix")
    plot_runs = Plot("workload.runs")
    plot_gaps = Plot("workload.gaps")
    plot_alignments = Plot("workload.alignments")

    def __repr__(self) -> str:
        return f"<ssdlab.TraceAnalysis of {source_text(self.source)}: {sum(self.requests.values()):,} requests>"


def measure(source: Source, range: str, monitor: Monitor | None) -> TraceAnalysis:
    """Analyses a trace; see `Source.analyze`."""
    counted = _ssdlab.Analysis(range)
    reader, ending = source.open(), Ending(monitor)
    try:
        for batch in batches(reader, ending, ahead=True):
            counted.add(batch)
    except KeyboardInterrupt:
        if not ending.stopped or counted.figures()["extent"] is None:
            raise
    ingest = source.report_of(reader)
    figures = counted.figures()
    if figures["extent"] is None:
        flushes = figures["requests"]["flush"]
        what = f"contains only flushes ({flushes:,})" if flushes else "contains no requests"
        raise TraceError(f"{source_text(source.about)}: {what}; use a trace with reads or writes")
    return TraceAnalysis(source=source.about, ingest=ingest, counted=counted, partial=ending.stopped)
