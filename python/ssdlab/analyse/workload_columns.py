"""Columns of an analysis of a workload."""

from typing import NamedTuple

from ssdlab.lazy import np, npt


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
