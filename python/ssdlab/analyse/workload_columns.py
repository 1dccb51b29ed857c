"""Columns of a workload analysis; counts are uint64 arrays."""

from typing import NamedTuple

from ssdlab.lazy import Counts, np, npt


class RangeColumns(NamedTuple):
    """Histogram of requests by the address range in which they begin. Empty ranges are omitted."""

    first_byte: Counts
    reads: Counts
    writes: Counts
    trims: Counts


class DeviationColumns(NamedTuple):
    """Histogram of requests by distance from the first byte of the previous request; empty buckets are omitted."""

    lower: "npt.NDArray[np.int64]"
    """Lower bound of the bucket, in address ranges; negative for backward jumps."""
    upper: "npt.NDArray[np.int64]"
    """Lower bound of the next bucket: `lower` + 1 up to 65,535 ranges, then about 1.6 % above `lower`."""
    reads: Counts
    writes: Counts
    trims: Counts


class SizeColumns(NamedTuple):
    """Histogram of requests by size in sectors of 512 bytes, rounded up."""

    lower: Counts
    upper: Counts
    """Lower bound of the next bucket: `lower` + 1 up to 65,536 sectors (32 MiB), then about 1.6 % above `lower`."""
    reads: Counts
    writes: Counts
    trims: Counts


class AlignmentColumns(NamedTuple):
    """Histogram of requests by the largest power of two that divides their address."""

    bytes: Counts
    """Largest power of two that divides the address, at most 1 MiB."""
    reads: Counts
    writes: Counts
    trims: Counts
    whole_reads: Counts
    """Number of reads, by the largest power of two that divides both address and size; likewise for the others."""
    whole_writes: Counts
    whole_trims: Counts


class RunColumns(NamedTuple):
    """Histogram of sequential runs by their length in requests. An isolated request is a run of length 1."""

    lower: Counts
    upper: Counts
    """Lower bound of the next bucket: `lower` + 1 below 128, then about 1.6 % above `lower`."""
    reads: Counts
    writes: Counts
    trims: Counts


class GapColumns(NamedTuple):
    """Histogram of requests by the time since the previous request, with bucket bounds in steps of 1.6 %."""

    lower_ns: Counts
    upper_ns: Counts
    all: Counts
    """Number of requests of any operation, by the time since the previous request."""
    reads: Counts
    """Number of reads, by the time since the previous read; likewise for the other operations."""
    writes: Counts
    trims: Counts
    flushes: Counts


class TraceWindowColumns(NamedTuple):
    """Metrics of the trace in at most 512 windows with equal numbers of requests; the last window may be shorter."""

    first_request: Counts
    first_ns: Counts
    """Arrival time of the window's first request, in nanoseconds."""
    reads: Counts
    writes: Counts
    trims: Counts
    flushes: Counts
    bytes_read: Counts
    bytes_written: Counts
    bytes_trimmed: Counts
    pages: Counts
    """Number of distinct pages of 4 KiB read or written in the window, which is its working set."""
    new_pages: Counts
    """Number of pages that this window touches for the first time in the trace."""
    pages_so_far: Counts
    """Number of distinct pages touched up to the window's end."""
