"""Columns of a workload analysis; those of counts are uint64 arrays."""

from typing import NamedTuple

from ssdlab.lazy import Counts, np, npt


class RangeColumns(NamedTuple):
    """Requests by the address range in which they begin; empty ranges are omitted."""

    first_byte: Counts
    reads: Counts
    writes: Counts
    trims: Counts


class DeviationColumns(NamedTuple):
    """Requests by the distance of their first byte from the previous request's, in ranges; empty steps are omitted."""

    lower: "npt.NDArray[np.int64]"
    """Smallest deviation of the step: the request's range number minus the previous request's."""
    upper: "npt.NDArray[np.int64]"
    """First deviation of the next step: `lower` + 1 within 65,535 ranges, steps of 1.6 % beyond."""
    reads: Counts
    writes: Counts
    trims: Counts


class SizeColumns(NamedTuple):
    """Requests by size in sectors of 512 bytes, rounded up."""

    lower: Counts
    upper: Counts
    """First size of the next step: `lower` + 1 up to 65,536 sectors (32 MiB), steps of 1.6 % beyond."""
    reads: Counts
    writes: Counts
    trims: Counts


class AlignmentColumns(NamedTuple):
    """Requests by the largest power of two that divides their address."""

    bytes: Counts
    """The power of two; 1 MiB includes all larger ones."""
    reads: Counts
    writes: Counts
    trims: Counts
    whole_reads: Counts
    """Reads, by the power of two that divides address and size; likewise for the others."""
    whole_writes: Counts
    whole_trims: Counts


class RunColumns(NamedTuple):
    """Sequential runs by their length in requests; 1 for a request that nothing continues."""

    lower: Counts
    upper: Counts
    """First length of the next step: `lower` + 1 below 128, steps of 1.6 % beyond."""
    reads: Counts
    writes: Counts
    trims: Counts


class GapColumns(NamedTuple):
    """Requests by the time since the previous request, in steps of 1.6 %."""

    lower_ns: Counts
    upper_ns: Counts
    all: Counts
    """Requests of any operation, by the time since the previous request."""
    reads: Counts
    """Reads, by the time since the previous read; likewise for the others."""
    writes: Counts
    trims: Counts
    flushes: Counts


class TraceWindowColumns(NamedTuple):
    """The trace in at most 512 windows of equally many requests; the last may be shorter."""

    first_request: Counts
    first_ns: Counts
    """Arrival of the window's first request."""
    reads: Counts
    writes: Counts
    trims: Counts
    flushes: Counts
    bytes_read: Counts
    bytes_written: Counts
    bytes_trimmed: Counts
    pages: Counts
    """Distinct pages of 4 KiB read or written: the working set of the window."""
    new_pages: Counts
    """Pages touched for the first time."""
    pages_so_far: Counts
    """Distinct pages touched up to the window's end."""
