"""Columns of a result: histograms, distributions of a log-block FTL, and activity of dies and channels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab.lazy import np, npt, pa
from ssdlab.model.arrow import table
from ssdlab.model.requests import OPS

if TYPE_CHECKING:
    from ssdlab.model.trace import Trace

MOVING = OPS[:2]
"""Operations that transfer data: reads and writes. Only these operations have per-interval columns."""


class LatencyColumns(NamedTuple):
    """Histogram of request times, with empty buckets omitted; uint64 arrays of equal length."""

    lower_ns: "npt.NDArray[np.uint64]"
    """Lower bound of the bucket in nanoseconds (inclusive)."""
    upper_ns: "npt.NDArray[np.uint64]"
    """Upper bound of the bucket in nanoseconds (exclusive); at most 1.6 % above `lower_ns`."""
    requests: "npt.NDArray[np.uint64]"


class IntervalColumns(NamedTuple):
    """Histograms of request times by interval of completion; uint64 arrays of equal length."""

    interval: "npt.NDArray[np.uint64]"
    """Index of the time interval, in ascending order; interval 0 starts at the beginning of the measured phase."""
    lower_ns: "npt.NDArray[np.uint64]"
    """Lower bound of the bucket in nanoseconds (inclusive); ascending within an interval."""
    upper_ns: "npt.NDArray[np.uint64]"
    requests: "npt.NDArray[np.uint64]"


class SlowColumns(NamedTuple):
    """Slowest read and slowest write of each interval; uint64 arrays and lists of equal length."""

    op: list[str]
    """Operation of the slow request: `read` or `write`."""
    offset: "npt.NDArray[np.uint64]"
    bytes: "npt.NDArray[np.uint64]"
    ended_ns: "npt.NDArray[np.uint64]"
    """Time when the request completed, from the start of the measured phase."""
    response_ns: "npt.NDArray[np.uint64]"
    waiting_ns: "npt.NDArray[np.uint64]"
    """Waiting time in nanoseconds; included in the response time."""
    part: list[str]
    """Name of the largest part of the response time; empty if response times were not attributed to parts."""
    part_ns: "npt.NDArray[np.uint64]"
    """Duration of the largest part of the response time, in nanoseconds."""


class CourseColumns(NamedTuple):
    """Histograms of response and waiting times for each interval of simulated time; at most 128 intervals."""

    interval_ns: int
    """Length of each time interval in nanoseconds."""
    times: "dict[tuple[str, str], IntervalColumns]"
    """Histograms by interval; keys are operation (`read`, `write`) and kind (`response`, `waiting`)."""
    slowest: SlowColumns
    """Slowest read and slowest write of each interval."""
    parts_ns: "dict[tuple[str, str], npt.NDArray[np.uint64]]"
    """Total time of parts of the response times, by operation (`read`, `write`) and part; one entry per interval."""

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> "CourseColumns":
        """Builds the columns from the dictionary that the Rust extension returns."""
        times = {key: IntervalColumns(**histograms) for key, histograms in columns["times"].items()}
        return cls(**{**columns, "times": times, "slowest": SlowColumns(**columns["slowest"])})


class LogColumns(NamedTuple):
    """Distributions of the reclaims and log blocks of a log-block FTL during the measured phase; uint64 arrays."""

    associativity: "npt.NDArray[np.uint64]"
    """Entry i counts reclaims of log space that merged i logical blocks."""
    utilisation: "npt.NDArray[np.uint64]"
    """Entry i counts log blocks that left the log with i programmed pages."""
    reclaim_copies: "npt.NDArray[np.uint64]"
    """Pages copied by a reclaim. `reclaim_` columns have a row per combination of copies, erases and duration."""
    reclaim_erases: "npt.NDArray[np.uint64]"
    reclaim_ns: "npt.NDArray[np.uint64]"
    """Duration of the reclaim in nanoseconds; 0 if time is not modelled."""
    reclaim_times: "npt.NDArray[np.uint64]"
    """Number of reclaims that had this combination of copies, erases and duration."""


class GanttColumns(NamedTuple):
    """Flash operations and transfers in the recorded window, sorted by end time. Columns have equal length."""

    die: "npt.NDArray[np.uint64]"
    """Index of the die in the drive; dies are numbered channel by channel."""
    plane: "npt.NDArray[np.uint64]"
    bus: "npt.NDArray[np.bool_]"
    """True for a transfer on the channel; false for an operation in the plane's cells."""
    begin_ns: "npt.NDArray[np.uint64]"
    """Start of the operation in nanoseconds, from the start of the measured phase."""
    end_ns: "npt.NDArray[np.uint64]"
    """End of the operation in nanoseconds, from the start of the measured phase."""
    request: "npt.NDArray[np.uint64]"
    """Number of the request that caused the operation, counted from 1 at the start of the warm-up. 0 for background
    garbage collection, and for operations issued before the measured phase.
    """
    arrived_ns: "npt.NDArray[np.uint64]"
    """Time when the request arrived at the drive, in nanoseconds from the start of the measured phase; 0 if it arrived
    earlier, or if no request caused the operation.
    """
    kind: list[str]
    """Kind of operation: `read`, `program`, `erase` or `copyback`."""
    cause: list[str]
    """Cause of the operation, named as in `Result.summary`."""


class ActivityColumns(NamedTuple):
    """Activity of dies and channels over the measured phase.

    Each column has uint64 sums over bins of equal simulated time. The bins of a column double in length as time
    advances, so columns may differ in bin length. The field before each column contains the bin length of the column in
    nanoseconds. A column ends with the last non-zero bin.
    """

    die_bin_ns: int
    dies_busy_ns: "npt.NDArray[np.uint64]"
    """Time during which the cells of each die were busy, shape (dies, bins); dies are numbered channel by channel."""
    channel_bin_ns: int
    channels_busy_ns: "npt.NDArray[np.uint64]"
    """Busy time of each channel, shape (channels, bins)."""
    internal_bin_ns: int
    internal_busy_ns: "npt.NDArray[np.uint64]"
    """Time during which cells were busy with internal work, such as garbage collection, summed over the dies."""
    queue_bin_ns: int
    outstanding_ns: "npt.NDArray[np.uint64]"
    """Request-nanoseconds outstanding in each bin; divided by the bin length, this is the mean queue depth."""
    waiting: dict[str, LatencyColumns]
    """Histograms of waiting times, by operation."""
    course: CourseColumns | None
    """Latencies of reads and writes over the course of the run; None if response times were not attributed to parts."""
    gantt: GanttColumns
    """Flash operations in the recorded window; empty if no window was set."""
    gantt_truncated: bool
    """True if the window had more operations than the recording can hold, so that some are missing."""

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> "ActivityColumns":
        """Builds the columns from the dictionary that the Rust extension returns."""
        waiting = {op: LatencyColumns(*histogram) for op, histogram in columns["waiting"].items()}
        course = None if columns["course"] is None else CourseColumns.of(columns["course"])
        return cls(**{**columns, "waiting": waiting, "course": course, "gantt": GanttColumns(**columns["gantt"])})


@dataclass(frozen=True)
class Columns:
    """Functions that compute the columns of a `Result` on demand."""

    series: "Callable[[], dict[str, npt.NDArray[np.uint64]]]"
    erase_counts: "Callable[[], npt.NDArray[np.uint32]]"
    latency: Callable[[], dict[str, LatencyColumns]]
    log: Callable[[], LogColumns | None]
    activity: Callable[[], ActivityColumns | None]
    dispatched: "Callable[[], Trace | None]"

    def all(self) -> tuple[Any, ...]:
        """Computes all columns of the result."""
        return tuple(getattr(self, field.name)() for field in fields(self))

    def __reduce__(self) -> Any:
        return _computed, self.all()


def _computed(*columns: Any) -> Columns:
    def held(column: Any) -> Callable[[], Any]:
        return lambda: column

    return Columns(*map(held, columns))


def histograms_arrow(histograms: Mapping[str, LatencyColumns]) -> "pa.Table":
    """Returns the histograms by operation as a table with the columns op, lower_ns, upper_ns, requests."""
    return pa.concat_tables(
        table({"op": [op] * len(columns.requests), **columns._asdict()}) for op, columns in histograms.items()
    )


def histograms_of(table: "pa.Table") -> dict[str, LatencyColumns]:
    """Converts the table of `histograms_arrow` back. An operation without rows gets an empty histogram."""
    ops = table["op"].to_numpy()
    columns = [table[name].to_numpy() for name in LatencyColumns._fields]
    return {op: LatencyColumns(*(column[ops == op] for column in columns)) for op in OPS}


def course_arrow(course: CourseColumns) -> "dict[str, pa.Table]":
    """Returns the time series of a run as tables: `intervals`, `slowest`, `parts`."""
    return {
        "intervals": _intervals_arrow(course.interval_ns, course.times),
        "slowest": table(course.slowest._asdict()),
        "parts": _parts_arrow(course.interval_ns, course.parts_ns),
    }


def course_of(intervals: "pa.Table", slowest: "pa.Table", parts: "pa.Table") -> CourseColumns:
    """Converts the Arrow tables that `course_arrow` returns back to columns."""
    interval_ns, times = _intervals_of(intervals)
    return CourseColumns(interval_ns, times, SlowColumns(**columns_of(slowest, SlowColumns._fields)), _parts_of(parts))


def _intervals_arrow(interval_ns: int, by_interval: "Mapping[tuple[str, str], IntervalColumns]") -> "pa.Table":
    """Returns op, time, begin_ns, end_ns, lower_ns, upper_ns, requests; `interval_ns` is in the metadata."""
    tables = [
        table(
            {
                "op": [op] * len(times.interval),
                "time": [kind] * len(times.interval),
                "begin_ns": times.interval * np.uint64(interval_ns),
                "end_ns": (times.interval + np.uint64(1)) * np.uint64(interval_ns),
                "lower_ns": times.lower_ns,
                "upper_ns": times.upper_ns,
                "requests": times.requests,
            }
        )
        for (op, kind), times in by_interval.items()
    ]
    return pa.concat_tables(tables).replace_schema_metadata({"interval_ns": str(interval_ns)})


def _intervals_of(table: "pa.Table") -> "tuple[int, dict[tuple[str, str], IntervalColumns]]":
    """Converts the Arrow table that `_intervals_arrow` returns back to histograms."""
    interval_ns = int(table.schema.metadata[b"interval_ns"])
    ops, kinds = (table[name].to_numpy(zero_copy_only=False) for name in ("op", "time"))
    interval = table["begin_ns"].to_numpy() // np.uint64(interval_ns)
    columns = [interval, *(table[name].to_numpy() for name in IntervalColumns._fields[1:])]
    return interval_ns, {
        (op, kind): IntervalColumns(*(column[(ops == op) & (kinds == kind)] for column in columns))
        for kind in ("response", "waiting")
        for op in MOVING
    }


def _parts_arrow(interval_ns: int, parts_ns: "Mapping[tuple[str, str], npt.NDArray[np.uint64]]") -> "pa.Table":
    """Returns op, part, begin_ns, end_ns, sum_ns; the names of all parts are in the metadata."""
    begin = [np.arange(len(sums), dtype=np.uint64) * np.uint64(interval_ns) for sums in parts_ns.values()]
    nothing = np.zeros(0, np.uint64)
    return table(
        {
            "op": [op for (op, _), sums in parts_ns.items() for _ in sums],
            "part": [part for (_, part), sums in parts_ns.items() for _ in sums],
            "begin_ns": np.concatenate([nothing, *begin]),
            "end_ns": np.concatenate([nothing, *begin]) + np.uint64(interval_ns),
            "sum_ns": np.concatenate([nothing, *parts_ns.values()]),
        },
        {"parts": " ".join(dict.fromkeys(part for _, part in parts_ns))},
    )


def _parts_of(table: "pa.Table") -> "dict[tuple[str, str], npt.NDArray[np.uint64]]":
    """Converts the Arrow table that `_parts_arrow` returns back to sums."""
    ops, parts = (table[name].to_numpy(zero_copy_only=False) for name in ("op", "part"))
    names = table.schema.metadata[b"parts"].decode().split()
    return {(op, part): table["sum_ns"].to_numpy()[(ops == op) & (parts == part)] for op in MOVING for part in names}


def bins_arrow(bin_ns: int, sums: "npt.NDArray[np.uint64]", value: str, row: str | None = None) -> "pa.Table":
    """Converts sums per bin, or per row and bin, to a table with begin_ns, end_ns and the sums, in a column named
    `value`. `row`, if given, is the name of a first column with the row numbers. `bin_ns` is in the metadata.
    """
    edges = np.arange(sums.shape[-1] + 1, dtype=np.uint64) * np.uint64(bin_ns)
    begin, end = (np.broadcast_to(edge, sums.shape).ravel() for edge in (edges[:-1], edges[1:]))
    rows = {} if row is None else {row: np.repeat(np.arange(len(sums), dtype=np.uint64), sums.shape[1])}
    return table({**rows, "begin_ns": begin, "end_ns": end, value: sums.ravel()}, {"bin_ns": str(bin_ns)})


def bins_of(table: "pa.Table", rows: int | None = None) -> "tuple[int, npt.NDArray[np.uint64]]":
    """Converts the Arrow table that `bins_arrow` returns back to the bin length and the sums."""
    sums = table.columns[-1].to_numpy()
    return int(table.schema.metadata[b"bin_ns"]), sums if rows is None else sums.reshape(rows, -1)


def columns_of(table: "pa.Table", names: Sequence[str]) -> dict[str, Any]:
    """Returns the named columns of an Arrow table: text columns as lists, numeric columns as arrays."""
    columns = {name: table[name] for name in names}
    return {
        name: column.to_pylist() if pa.types.is_string(column.type) else column.to_numpy()
        for name, column in columns.items()
    }
