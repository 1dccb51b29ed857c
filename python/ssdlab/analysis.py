"""What a workload is like: where, how far apart, how large, how much at a time, in which order, when."""

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab import _ssdlab
from ssdlab._ssdlab import TraceError
from ssdlab.figures import source_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.figure import Figure

RANGE = "16MiB"
"""Size of an address range unless another is asked for: that of the map cache document."""

SECTOR = 512
"""Bytes of a sector."""

PAGE = 4096
"""Bytes of a page of footprints and working sets."""

KINDS = ("read", "write", "trim")
"""Operations that address something."""

TOP_SIZES = 10
"""Most frequent sizes in `TraceAnalysis.to_dict`."""

ALIGNMENTS = tuple(512 << power for power in range(8))
"""Alignments of which `TraceAnalysis.to_dict` gives shares: 512 B to 64 KiB."""


class RangeColumns(NamedTuple):
    """Requests by the range of addresses that they begin in, ranges without any left out; uint64 arrays."""

    first_byte: "npt.NDArray[np.uint64]"
    """First byte of the range."""
    reads: "npt.NDArray[np.uint64]"
    """Reads."""
    writes: "npt.NDArray[np.uint64]"
    """Writes."""
    trims: "npt.NDArray[np.uint64]"
    """Trims."""


class DeviationColumns(NamedTuple):
    """Requests by how far they begin from where the one before began, in ranges; steps that hold any."""

    lower: "npt.NDArray[np.int64]"
    """Smallest deviation of the step: number of the own range less that of the range before."""
    upper: "npt.NDArray[np.int64]"
    """First deviation of the next step: `lower` + 1 within 65,535 ranges, steps of 1.6 % beyond."""
    reads: "npt.NDArray[np.uint64]"
    """Reads."""
    writes: "npt.NDArray[np.uint64]"
    """Writes."""
    trims: "npt.NDArray[np.uint64]"
    """Trims."""


class SizeColumns(NamedTuple):
    """Requests by size in sectors of 512 bytes, a part of a sector counting whole; uint64 arrays."""

    lower: "npt.NDArray[np.uint64]"
    """Smallest size of the step."""
    upper: "npt.NDArray[np.uint64]"
    """First size of the next step: `lower` + 1 up to 65,536 sectors (32 MiB), steps of 1.6 % beyond."""
    reads: "npt.NDArray[np.uint64]"
    """Reads."""
    writes: "npt.NDArray[np.uint64]"
    """Writes."""
    trims: "npt.NDArray[np.uint64]"
    """Trims."""


class AlignmentColumns(NamedTuple):
    """Requests by the largest power of two that divides them; uint64 arrays."""

    bytes: "npt.NDArray[np.uint64]"
    """The power of two; 1 MiB stands for all larger ones too."""
    reads: "npt.NDArray[np.uint64]"
    """Reads by their address."""
    writes: "npt.NDArray[np.uint64]"
    """Writes by their address."""
    trims: "npt.NDArray[np.uint64]"
    """Trims by their address."""
    whole_reads: "npt.NDArray[np.uint64]"
    """Reads by address and size together."""
    whole_writes: "npt.NDArray[np.uint64]"
    """Writes by address and size together."""
    whole_trims: "npt.NDArray[np.uint64]"
    """Trims by address and size together."""


class RunColumns(NamedTuple):
    """Sequential runs by their length in requests, 1 where nothing continues a request; uint64 arrays."""

    lower: "npt.NDArray[np.uint64]"
    """Shortest run of the step."""
    upper: "npt.NDArray[np.uint64]"
    """First length of the next step: `lower` + 1 below 128, steps of 1.6 % beyond."""
    reads: "npt.NDArray[np.uint64]"
    """Runs of reads."""
    writes: "npt.NDArray[np.uint64]"
    """Runs of writes."""
    trims: "npt.NDArray[np.uint64]"
    """Runs of trims."""


class GapColumns(NamedTuple):
    """Requests by the time since the one before, in steps of 1.6 %; uint64 arrays."""

    lower_ns: "npt.NDArray[np.uint64]"
    """Shortest time of the step."""
    upper_ns: "npt.NDArray[np.uint64]"
    """First time of the next step."""
    all: "npt.NDArray[np.uint64]"
    """Requests of any operation, since the one before of any."""
    reads: "npt.NDArray[np.uint64]"
    """Reads, since the read before; so for the others."""
    writes: "npt.NDArray[np.uint64]"
    """Writes."""
    trims: "npt.NDArray[np.uint64]"
    """Trims."""
    flushes: "npt.NDArray[np.uint64]"
    """Flushes."""


class TraceWindowColumns(NamedTuple):
    """The trace in windows of equal numbers of requests, at most 512, the last one shorter; uint64 arrays."""

    first_request: "npt.NDArray[np.uint64]"
    """Requests before the window."""
    first_ns: "npt.NDArray[np.uint64]"
    """Arrival of its first request."""
    reads: "npt.NDArray[np.uint64]"
    """Reads."""
    writes: "npt.NDArray[np.uint64]"
    """Writes."""
    trims: "npt.NDArray[np.uint64]"
    """Trims."""
    flushes: "npt.NDArray[np.uint64]"
    """Flushes."""
    bytes_read: "npt.NDArray[np.uint64]"
    """Bytes read."""
    bytes_written: "npt.NDArray[np.uint64]"
    """Bytes written."""
    bytes_trimmed: "npt.NDArray[np.uint64]"
    """Bytes trimmed."""
    pages: "npt.NDArray[np.uint64]"
    """Distinct pages of 4 KiB that reads and writes touch: the working set of the window."""
    new_pages: "npt.NDArray[np.uint64]"
    """Of these, pages that nothing touched before."""
    pages_so_far: "npt.NDArray[np.uint64]"
    """Distinct pages touched up to its end."""


class TraceAnalysis:
    """What a workload is like. Equal requests give equal analyses, byte for byte when saved.

    Counts are exact, but for pages once the trace has touched more than 3,145,728 groups of 16 neighbouring ones
    (192 GiB if densely, 12 GiB if one of each): then they are estimates from a sample, see `sampling`.
    """

    def __init__(
        self, *, source: Mapping[str, Any], ingest: Mapping[str, Any] | None, counted: _ssdlab.Analysis
    ) -> None:
        import numpy as np

        self._figures = counted.figures()
        self.source = dict(source)
        """Where the requests came from: `kind` is `trace` or `memory`, with its particulars."""
        self.ingest = ingest
        """What was met while reading the trace (None without a file)."""
        self.requests: dict[str, int] = self._figures["requests"]
        """Requests by operation: `read`, `write`, `trim`, `flush`."""
        self.bytes: dict[str, int] = self._figures["bytes"]
        """Bytes by operation."""
        self.duration_ns: int = self._figures["duration_ns"]
        """From the first to the last request."""
        self.extent: tuple[int, int] = self._figures["extent"]
        """Lowest first byte addressed, and the first byte after the highest."""
        self.range_bytes: int = self._figures["range_bytes"][0]
        """Bytes of a range as asked; the unit of `deviations`."""
        self.counted_range_bytes: int = self._figures["range_bytes"][1]
        """Bytes of a range of `ranges`: more than asked where addresses go beyond 1,048,576 ranges."""
        self.window_requests: int = self._figures["window_requests"]
        """Requests of a window."""
        self.sampling: int = self._figures["sampling"]
        """Pages that each page looked at stands for. At 1 footprints and working sets are exact; else the standard
        error of an estimate of n pages is at most 4 sqrt(sampling / n) of it, below 0.4 % for the footprint."""
        ranges = counted.ranges()
        first_byte = ranges.pop("range") * np.uint64(self.counted_range_bytes)
        self.ranges = RangeColumns(first_byte=first_byte, **ranges)
        """Requests by range of addresses."""
        self.deviations = DeviationColumns(**counted.deviations())
        """Requests, by their own kind, by how far they begin from the one before of any kind."""
        self.sizes = SizeColumns(**counted.sizes())
        """Requests by size."""
        self.alignments = AlignmentColumns(**counted.alignments())
        """Requests by alignment."""
        self.runs = RunColumns(**counted.runs())
        """Sequential runs by length: of the latest 32 runs of a kind and those continued meanwhile, a request takes on
        the one that ended where it begins."""
        self.gaps = GapColumns(**counted.gaps())
        """Times between requests."""
        self.windows = TraceWindowColumns(**counted.windows())
        """The trace over time."""

    @property
    def footprint_bytes(self) -> int:
        """Bytes that reads and writes touch, in whole pages of 4 KiB."""
        return int(self._figures["footprints"][2])

    def alignment_shares(self, bytes: int) -> dict[str, float | None]:
        """Shares of the reads, writes and trims whose address and size are both multiples of `bytes`.

        Args:
            bytes: A power of two up to 1 MiB.
        """
        at_least = self.alignments.bytes >= bytes
        wholes = (self.alignments.whole_reads, self.alignments.whole_writes, self.alignments.whole_trims)
        return {
            kind: _share(int(counts[at_least].sum()), self.requests[kind])
            for kind, counts in zip(KINDS, wholes, strict=True)
        }

    def to_dict(self) -> dict[str, Any]:
        """The figures without the columns, ready for JSON; shares are those of 1, and what is not there is None.

        The page `docs/analysis.md` explains every key.
        """
        requests = sum(self.requests.values())
        read, written, both = self._figures["footprints"]
        return {
            "ssdlab": _ssdlab.__version__,
            "source": self.source,
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
        # The last window is shorter and would make the mean smaller.
        whole = self.windows.pages[:-1] if len(self.windows.pages) > 1 else self.windows.pages
        return {
            "window_requests": self.window_requests,
            "windows": len(self.windows.pages),
            "mean_bytes": float(whole.mean()) * PAGE,
            "max_bytes": int(whole.max()) * PAGE,
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
        # Stable, so that of equals the smaller comes first.
        order = (-counts.astype("int64")).argsort(kind="stable")[:TOP_SIZES]
        return {
            "mean_bytes": self.bytes[kind] / self.requests[kind],
            "most_frequent": [
                {"sectors": int(self.sizes.lower[row]), "requests": int(counts[row])} for row in order if counts[row]
            ],
        }

    def to_json(self) -> str:
        """`to_dict` as indented JSON text."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes the analysis into a directory, which is made if need be.

        Files: `analysis.html`, `analysis.json`, and as Parquet `ranges`, `deviations`, `sizes`, `alignments`, `runs`,
        `gaps` and `windows`, each with the columns of the attribute of that name. Each appears whole or not at all.

        Raises:
            OSError: If the directory cannot be written.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        from ssdlab.store import filling

        with filling(Path(directory)) as hidden:
            (hidden / "analysis.html").write_text(self.report_html(), encoding="utf-8")
            (hidden / "analysis.json").write_text(self.to_json(), encoding="utf-8")
            for name in ("ranges", "deviations", "sizes", "alignments", "runs", "gaps", "windows"):
                pq.write_table(pa.table(getattr(self, name)._asdict()), hidden / f"{name}.parquet")

    def report_html(self) -> str:
        """The report as one HTML page that needs nothing else."""
        from ssdlab.report.analysis import render

        return render(self)

    def plot_ranges(self) -> "Figure":
        """Requests by address, by operation on top of one another."""
        from ssdlab import plot_analysis

        return plot_analysis.ranges(self)

    def plot_deviations(self, *, log: bool = True) -> "Figure":
        """Requests by how far they begin from the one before.

        Args:
            log: Whether the counts are on a logarithmic axis; then operations stand beside, not on, one another.
        """
        from ssdlab import plot_analysis

        return plot_analysis.deviations(self, log)

    def plot_sizes(self) -> "Figure":
        """Requests by size."""
        from ssdlab import plot_analysis

        return plot_analysis.sizes(self)

    def plot_working_set(self) -> "Figure":
        """Working set of each window and footprint so far, over the requests."""
        from ssdlab import plot_analysis

        return plot_analysis.working_set(self)

    def plot_mix(self) -> "Figure":
        """Share of each operation in the requests of each window."""
        from ssdlab import plot_analysis

        return plot_analysis.mix(self)

    def plot_runs(self) -> "Figure":
        """Share of the requests in sequential runs of at least some length."""
        from ssdlab import plot_analysis

        return plot_analysis.runs(self)

    def plot_gaps(self) -> "Figure":
        """Requests by the time since the one before of the same operation."""
        from ssdlab import plot_analysis

        return plot_analysis.gaps(self)

    def plot_alignments(self) -> "Figure":
        """Share of the requests aligned to each power of two."""
        from ssdlab import plot_analysis

        return plot_analysis.alignments(self)

    def __repr__(self) -> str:
        return f"<ssdlab.TraceAnalysis of {source_text(self.source)}: {sum(self.requests.values()):,} requests>"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def measure(
    batches: Iterable[_ssdlab.Requests],
    *,
    range: str,
    source: Mapping[str, Any],
    ingest: Callable[[], Mapping[str, Any] | None],
) -> TraceAnalysis:
    """The analysis of requests in one pass.

    Args:
        batches: The requests.
        range: Size of a range of addresses.
        source: Where the requests come from.
        ingest: What was met while reading them; asked at the end.

    Raises:
        TraceError: If no request addresses anything, or the range cannot be.
    """
    counted = _ssdlab.Analysis(range)
    for batch in batches:
        counted.add(batch)
    figures = counted.figures()
    if figures["extent"] is None:
        flushes = figures["requests"]["flush"]
        what = f"holds nothing but flushes ({flushes:,})" if flushes else "holds no request"
        raise TraceError(f"the trace {what}: there is nothing to analyse; give one with reads or writes")
    return TraceAnalysis(source=source, ingest=ingest(), counted=counted)
