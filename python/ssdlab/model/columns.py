"""Columns of a result: histograms, distributions of a log, what dies and channels did."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ssdlab.lazy import np, npt, pa
from ssdlab.model.arrow import table
from ssdlab.model.requests import OPS

if TYPE_CHECKING:
    from ssdlab.model.trace import Trace

MOVING = OPS[:2]
"""Operations that move data: columns by interval are of these."""


class LatencyColumns(NamedTuple):
    """A histogram of times of requests, one entry per bucket that holds anything; uint64 arrays of equal length."""

    lower_ns: "npt.NDArray[np.uint64]"
    """Smallest value of the bucket in nanoseconds."""
    upper_ns: "npt.NDArray[np.uint64]"
    """First value of the next bucket; at most 1.6 % above `lower_ns`."""
    requests: "npt.NDArray[np.uint64]"
    """Requests in the bucket."""


class IntervalColumns(NamedTuple):
    """Histograms of times of requests by the interval in which these were complete; uint64 arrays of equal length."""

    interval: "npt.NDArray[np.uint64]"
    """Number of the interval, ascending; the first begins with measuring."""
    lower_ns: "npt.NDArray[np.uint64]"
    """Smallest value of the bucket, as of `LatencyColumns`, in nanoseconds; ascending within an interval."""
    upper_ns: "npt.NDArray[np.uint64]"
    """First value of the next bucket."""
    requests: "npt.NDArray[np.uint64]"
    """Requests in the bucket."""


class SlowColumns(NamedTuple):
    """The slowest read and the slowest write complete in each interval, of equal length; uint64 but for names."""

    op: list[str]
    """`read` or `write`."""
    offset: "npt.NDArray[np.uint64]"
    """Its first byte."""
    bytes: "npt.NDArray[np.uint64]"
    """Its length."""
    ended_ns: "npt.NDArray[np.uint64]"
    """When it was complete, from the start of measuring."""
    response_ns: "npt.NDArray[np.uint64]"
    """Its response time."""
    waiting_ns: "npt.NDArray[np.uint64]"
    """How long it waited of that."""
    part: list[str]
    """The largest part of its response time; empty unless that was found out."""
    part_ns: "npt.NDArray[np.uint64]"
    """How large that is."""


class CourseColumns(NamedTuple):
    """Times of reads and writes by intervals of simulated time, of which there are at most 128."""

    interval_ns: int
    """Length of an interval in nanoseconds."""
    times: "dict[tuple[str, str], IntervalColumns]"
    """Histograms by interval, of `read` and `write`, of their `response` and `waiting` times."""
    slowest: SlowColumns
    """The slowest requests of each interval."""
    parts_ns: "dict[tuple[str, str], npt.NDArray[np.uint64]]"
    """What the response times of `read` and `write` are made of: a sum for each interval, by operation and part."""

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> "CourseColumns":
        """From the dictionary that the extension yields."""
        times = {of: IntervalColumns(**its) for of, its in columns["times"].items()}
        return cls(**{**columns, "times": times, "slowest": SlowColumns(**columns["slowest"])})


class LogColumns(NamedTuple):
    """Distributions of a log-block FTL during the measured phase; uint64 arrays."""

    associativity: "npt.NDArray[np.uint64]"
    """Reclaims of log space by the number of logical blocks they merged: entry i counts those that merged i."""
    utilisation: "npt.NDArray[np.uint64]"
    """Log blocks that left the log by the number of their pages programmed: entry i counts those with i."""
    reclaim_copies: "npt.NDArray[np.uint64]"
    """Pages copied by a reclaim, one entry for each cost that occurred, as in the three columns below."""
    reclaim_erases: "npt.NDArray[np.uint64]"
    """Blocks erased by it."""
    reclaim_ns: "npt.NDArray[np.uint64]"
    """Its duration in nanoseconds; 0 where time is not modelled."""
    reclaim_times: "npt.NDArray[np.uint64]"
    """Reclaims of that cost."""


class GanttColumns(NamedTuple):
    """Every flash operation and every transfer in the recorded window, in the order of their ends; equally long."""

    die: "npt.NDArray[np.uint64]"
    """Die among all dies, numbered channel by channel."""
    plane: "npt.NDArray[np.uint64]"
    """Plane in the die."""
    bus: "npt.NDArray[np.bool_]"
    """Whether the channel moved data; otherwise the cells of the plane worked."""
    begin_ns: "npt.NDArray[np.uint64]"
    """Start in nanoseconds from the start of measuring."""
    end_ns: "npt.NDArray[np.uint64]"
    """End, likewise."""
    request: "npt.NDArray[np.uint64]"
    """Number of the request that it was done for, among those that the drive was given, from 1 and with the warm-up; 0
    for collection ahead of need, and for what was emitted before measuring began."""
    arrived_ns: "npt.NDArray[np.uint64]"
    """When the drive was given that request, from the start of measuring; 0 if that was before, or there is none."""
    kind: list[str]
    """`read`, `program`, `erase` or `copyback`."""
    cause: list[str]
    """What it was done for; a cause of flash operations, as in the summary."""


class ActivityColumns(NamedTuple):
    """What dies and channels did when, during the measured phase.

    Sums are by bins of equal simulated time from the start of measuring, uint64. Bins double when time goes on, so
    each column has a length of bin of its own; a column ends with the last bin in which anything happened.
    """

    die_bin_ns: int
    """Length of a bin of the next column in nanoseconds."""
    dies_busy_ns: "npt.NDArray[np.uint64]"
    """Busy time of the cells of each die, shape (dies, bins); dies are numbered channel by channel."""
    channel_bin_ns: int
    """Length of a bin of the next column in nanoseconds."""
    channels_busy_ns: "npt.NDArray[np.uint64]"
    """Busy time of each channel, shape (channels, bins)."""
    internal_bin_ns: int
    """Length of a bin of the next column in nanoseconds."""
    internal_busy_ns: "npt.NDArray[np.uint64]"
    """Work of the cells that was not for the host's data, such as garbage collection, summed over the dies."""
    queue_bin_ns: int
    """Length of a bin of the next column in nanoseconds."""
    outstanding_ns: "npt.NDArray[np.uint64]"
    """Requests outstanding times nanoseconds: divided by the length of the bin, their mean number."""
    waiting: dict[str, LatencyColumns]
    """Histograms of the time that requests waited, by operation."""
    course: CourseColumns | None
    """Times of requests over the run; none unless it was found out what they are made of."""
    gantt: GanttColumns
    """Operations one by one, in the window that was to be recorded; empty without one."""
    gantt_truncated: bool
    """Whether there were more of them than are kept."""

    @classmethod
    def of(cls, columns: Mapping[str, Any]) -> "ActivityColumns":
        """From the dictionary that the extension yields."""
        waiting = {op: LatencyColumns(*histogram) for op, histogram in columns["waiting"].items()}
        course = None if columns["course"] is None else CourseColumns.of(columns["course"])
        return cls(**{**columns, "waiting": waiting, "course": course, "gantt": GanttColumns(**columns["gantt"])})


class Columns(Protocol):
    """The columns of a result, each made when it is asked for, and asked for once; `Result` says what they hold."""

    def series(self) -> "dict[str, npt.NDArray[np.uint64]]":
        """`Result.series`."""

    def erase_counts(self) -> "npt.NDArray[np.uint32]":
        """`Result.erase_counts`."""

    def latency(self) -> dict[str, LatencyColumns]:
        """`Result.latency`."""

    def log(self) -> LogColumns | None:
        """`Result.log`."""

    def activity(self) -> ActivityColumns | None:
        """`Result.activity`."""

    def dispatched(self) -> "Trace | None":
        """`Result.dispatched`."""


def histograms_arrow(histograms: Mapping[str, LatencyColumns]) -> "pa.Table":
    """Histograms by operation as one table: op, lower_ns, upper_ns, requests."""
    return pa.concat_tables(
        table({"op": [op] * len(columns.requests), **columns._asdict()}) for op, columns in histograms.items()
    )


def histograms_of(table: "pa.Table") -> dict[str, LatencyColumns]:
    """What `histograms_arrow` made a table of; an operation without rows has an empty histogram."""
    of = table["op"].to_numpy()
    columns = [table[name].to_numpy() for name in LatencyColumns._fields]
    return {op: LatencyColumns(*(column[of == op] for column in columns)) for op in OPS}


def course_arrow(course: CourseColumns) -> "dict[str, pa.Table]":
    """Times over the run as tables: `intervals`, `slowest`, `parts`."""
    return {
        "intervals": _intervals_arrow(course.interval_ns, course.times),
        "slowest": table(course.slowest._asdict()),
        "parts": _parts_arrow(course.interval_ns, course.parts_ns),
    }


def course_of(intervals: "pa.Table", slowest: "pa.Table", parts: "pa.Table") -> CourseColumns:
    """What `course_arrow` made tables of."""
    interval_ns, times = _intervals_of(intervals)
    return CourseColumns(interval_ns, times, SlowColumns(**_columns(slowest, SlowColumns._fields)), _parts_of(parts))


def _intervals_arrow(interval_ns: int, by_interval: "Mapping[tuple[str, str], IntervalColumns]") -> "pa.Table":
    """Histograms by interval as one table: op, time, begin_ns, end_ns, lower_ns, upper_ns, requests.

    `interval_ns` is in the metadata of the schema.
    """
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
    """What `_intervals_arrow` made a table of."""
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
    """Parts of response times by interval as one table: op, part, begin_ns, end_ns, sum_ns.

    The names of parts are in the metadata of the schema: without an interval no row tells them.
    """
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
    """What `_parts_arrow` made a table of."""
    ops, parts = (table[name].to_numpy(zero_copy_only=False) for name in ("op", "part"))
    names = table.schema.metadata[b"parts"].decode().split()
    return {(op, part): table["sum_ns"].to_numpy()[(ops == op) & (parts == part)] for op in MOVING for part in names}


def bins_arrow(bin_ns: int, sums: "npt.NDArray[np.uint64]", value: str, row: str | None = None) -> "pa.Table":
    """Sums by bin, or by row and bin, as a table: `row` if there are rows, begin_ns, end_ns, `value`.

    `bin_ns` is in the metadata of the schema: without a bin no column tells it.
    """
    edges = np.arange(sums.shape[-1] + 1, dtype=np.uint64) * np.uint64(bin_ns)
    begin, end = (np.broadcast_to(edge, sums.shape).ravel() for edge in (edges[:-1], edges[1:]))
    rows = {} if row is None else {row: np.repeat(np.arange(len(sums), dtype=np.uint64), sums.shape[1])}
    return table({**rows, "begin_ns": begin, "end_ns": end, value: sums.ravel()}, {"bin_ns": str(bin_ns)})


def bins_of(table: "pa.Table", rows: int | None = None) -> "tuple[int, npt.NDArray[np.uint64]]":
    """What `bins_arrow` made a table of: the length of a bin, and the sums."""
    sums = table.columns[-1].to_numpy()
    return int(table.schema.metadata[b"bin_ns"]), sums if rows is None else sums.reshape(rows, -1)


def gantt_of(table: "pa.Table") -> GanttColumns:
    """The operations in a table of them."""
    return GanttColumns(**_columns(table, GanttColumns._fields))


def _columns(table: "pa.Table", names: Sequence[str]) -> dict[str, Any]:
    """Columns by name: of texts lists, of numbers arrays."""
    columns = {name: table[name] for name in names}
    return {
        name: column.to_pylist() if pa.types.is_string(column.type) else column.to_numpy()
        for name, column in columns.items()
    }
