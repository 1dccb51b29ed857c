"""Loads results that were saved to files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ssdlab import text
from ssdlab._ssdlab import ConfigError, TraceError
from ssdlab.lazy import np, npt, pa, pq
from ssdlab.model.columns import (
    ActivityColumns,
    Columns,
    CourseColumns,
    GanttColumns,
    LatencyColumns,
    LogColumns,
    SlowColumns,
    bins_arrow,
    bins_of,
    columns_of,
    course_arrow,
    course_of,
    histograms_of,
)
from ssdlab.model.config import Config, recorded
from ssdlab.model.envelope import check_version, of_another_version, read
from ssdlab.model.parquet import requests_of, stream_names
from ssdlab.model.requests import OPS
from ssdlab.model.result import Result
from ssdlab.model.shape import SAVED, SOURCES, Part, check
from ssdlab.model.source import ingest_of
from ssdlab.model.trace import Trace

Column = TypeVar("Column")
_Bins: TypeAlias = "tuple[int, npt.NDArray[np.uint64]]"

BEGIN_END = ("begin_ns", "end_ns")
TABLES: Mapping[str, Sequence[str]] = {
    "series": (
        *("requests", "time_ns", "host_pages_written", "flash_pages_programmed", "pages_copied", "blocks_erased"),
        *("read_requests", "read_latency_sum_ns", "write_requests", "write_latency_sum_ns"),
        *("read_latency_max_ns", "write_latency_max_ns"),
    ),
    "erase_counts": ("erases",),
    "latency": ("op", *LatencyColumns._fields),
    "log_reclaims": ("copies", "erases", "ns", "times"),
    "log_associativity": ("logical_blocks", "reclaims"),
    "log_utilisation": ("pages_programmed", "log_blocks"),
    "activity_dies": ("die", *BEGIN_END, "busy_ns"),
    "activity_channels": ("channel", *BEGIN_END, "busy_ns"),
    "activity_internal": (*BEGIN_END, "busy_ns"),
    "activity_queue": (*BEGIN_END, "outstanding_ns"),
    "activity_waiting": ("op", *LatencyColumns._fields),
    "activity_intervals": ("op", "time", *BEGIN_END, *LatencyColumns._fields),
    "activity_slowest": SlowColumns._fields,
    "activity_parts": ("op", "part", *BEGIN_END, "sum_ns"),
    "activity_gantt": GanttColumns._fields,
}
"""Column names of each table. The table `dispatched` is missing here, because it is checked as a trace."""
TYPES = {**dict.fromkeys(("op", "time", "part", "kind", "cause"), "string"), "bus": "bool"}
"""Data types of the columns that are not uint64, by column name."""


class LoadedResult(Result):
    """A saved result whose columns are read on first use. `path` is its directory or its JSON file."""

    def __init__(self, path: Path) -> None:
        file = path / self._json if path.is_dir() else path
        found = Part(f"{text.path(file)}: ", read(file))
        if found["kind"] != "result":
            raise ConfigError(
                f"{text.path(file)}: kind: is {found['kind']!r}, not the result of a run; pass the --out directory of "
                "'ssdlab run'"
            )
        check_version(file, found)
        for key, kind in SAVED.items():
            check(f"{text.path(file)}: {key}", found[key], kind)
        kind = found["source"]["kind"]
        check(f"{text.path(file)}: source", found["source"], SOURCES[kind])
        config = recorded(found["configuration"])
        if config is None:
            raise of_another_version(file, found["version"])
        summary = dict(found["result"])
        try:
            ingest = ingest_of(summary.pop("ingest"))
        except KeyError:
            raise of_another_version(file, found["version"]) from None
        saved = _Saved(file.parent, summary, config)
        columns = Columns(*(getattr(saved, field.name) for field in fields(Columns)))
        super().__init__(config=config, source=found["source"], summary=summary, ingest=ingest, columns=columns)
        self._made_by = {key: found[key] for key in ("version", "plugins") if key in found}

    def check(self) -> None:
        """Checks that all saved columns can be read, because the report page needs all of them."""
        self._columns.all()

    def envelope(self) -> dict[str, Any]:
        """Returns the JSON envelope as saved, with the version and plug-ins of ssdlab that ran the simulation."""
        made_now = {key: value for key, value in super().envelope().items() if key not in ("version", "plugins")}
        return {**self._made_by, **made_now}


def _sound(read: Callable[["_Saved"], Column]) -> Callable[["_Saved"], Column]:
    """Makes a function that reads columns raise an error that names the folder if they are malformed."""

    @wraps(read)
    def column(saved: "_Saved") -> Column:
        try:
            return read(saved)
        except (LookupError, TypeError, ValueError, pa.ArrowException, TraceError) as error:
            raise ConfigError(
                f"{text.path(saved.folder)}: {read.__name__}: the Parquet files differ from the output of 'ssdlab run' "
                f"({error}); copy the files again, or repeat the run with --out"
            ) from None

    return column


def _fault(name: str, table: "pa.Table") -> str | None:
    """Describes how column names and types differ from the table that ssdlab saves; None if they match."""
    if table.column_names != [*TABLES[name]]:
        return f"has the columns {', '.join(table.column_names)} instead of {', '.join(TABLES[name])}"
    for field, column in zip(table.schema, table.columns, strict=True):
        kind = "uint32" if name == "erase_counts" else TYPES.get(field.name, "uint64")
        if str(field.type) != kind:
            return f"{field.name}: has type {field.type} instead of {kind}"
        if column.null_count:
            return f"{field.name}: lacks {text.count(column.null_count)} of {text.count(len(column))} values"
    return None


def _same(table: "pa.Table", again: "pa.Table") -> None:
    """Checks that a table read from a file equals the table that ssdlab would save for the same columns."""
    if not table.equals(again):
        raise ValueError("rows are missing or misplaced")


class _Saved:
    """Reads the columns of a saved result; see `Columns`."""

    def __init__(self, folder: Path, summary: Mapping[str, Any], config: Config) -> None:
        self.folder, self._summary, self._config = folder, summary, config

    def _table(self, name: str) -> "pa.Table":
        """Reads a table of the result from its file."""
        path = self.folder / f"{name}.parquet"
        remedy = "copy it into the folder of the run's JSON file, or repeat the run with --out"
        try:
            with pq.ParquetFile(path) as file:
                table = file.read()
        except FileNotFoundError:
            raise ConfigError(f"{text.path(path)}: not found; {remedy}") from None
        except (OSError, pa.ArrowException) as error:
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0].rstrip(".")
            raise ConfigError(f"{text.path(path)}: cannot be read as Parquet: {reason}; {remedy}") from None
        if name in TABLES and (fault := _fault(name, table)):
            raise ConfigError(f"{text.path(path)}: {fault}; {remedy}")
        return table

    def _bins(self, name: str, value: str, row: str | None = None, rows: int | None = None) -> _Bins:
        table = self._table(name)
        found = bins_of(table, rows)
        _same(table, bins_arrow(*found, value, row))
        return found

    def _counts(self, name: str) -> "npt.NDArray[np.uint64]":
        """Reads the counts from a table whose rows are numbered consecutively from 0."""
        numbers, counts = (column.to_numpy() for column in self._table(name).columns)
        if not np.array_equal(numbers, np.arange(len(numbers))):
            raise ValueError("rows are missing")
        found: npt.NDArray[np.uint64] = counts
        return found

    def _course(self) -> CourseColumns:
        tables = {name: self._table(f"activity_{name}") for name in ("intervals", "slowest", "parts")}
        course = course_of(**tables)
        for table, again in zip(tables.values(), course_arrow(course).values(), strict=True):
            _same(table, again)
        lengths = {len(sums) for sums in course.parts_ns.values()}
        ends = [1 + int(times.interval[-1]) for times in course.times.values() if len(times.interval)]
        if len(lengths) != 1 or max(ends, default=0) > max(lengths):
            raise ValueError("intervals are missing")
        return course

    def _requests(self, op: str) -> int:
        """Returns the number of requests; if time is not modelled, only the number for `all` is known."""
        if self._summary["latency"] is not None:
            found = self._summary["latency"][op]
            return 0 if found is None else found["count"]
        host = self._summary["host"]
        return sum(host[f"{kind}_requests"] for kind in OPS) if op == "all" else 0

    @_sound
    def series(self) -> "dict[str, npt.NDArray[np.uint64]]":
        table = self._table("series")
        found = {name: table[name].to_numpy() for name in table.column_names}
        # All epochs have the same number of requests, except that the last may have fewer.
        ends, served = found["requests"], self._requests("all")
        step = int(ends[0]) if len(ends) else 1
        if not np.array_equal(ends, np.minimum(np.arange(step, served + step, step), served)):
            raise ValueError("rows are missing")
        return found

    @_sound
    def erase_counts(self) -> "npt.NDArray[np.uint32]":
        counts: npt.NDArray[np.uint32] = self._table("erase_counts")["erases"].to_numpy()
        if len(counts) != self._summary["device"]["blocks"]:
            raise ValueError(f"{len(counts)} of {self._summary['device']['blocks']} blocks")
        return counts

    @_sound
    def latency(self) -> dict[str, LatencyColumns]:
        found = histograms_of(self._table("latency"))
        if any(columns.requests.sum() != self._requests(op) for op, columns in found.items()):
            raise ValueError("rows are missing")
        return found

    @_sound
    def log(self) -> LogColumns | None:
        if self._summary["log"] is None:
            return None
        reclaims = self._table("log_reclaims")
        return LogColumns(
            associativity=self._counts("log_associativity"),
            utilisation=self._counts("log_utilisation"),
            **{f"reclaim_{name}": reclaims[name].to_numpy() for name in reclaims.column_names},
        )

    @_sound
    def activity(self) -> ActivityColumns | None:
        drive: Mapping[str, Any] | None = self._summary["drive"]
        if drive is None:
            return None
        gantt = self._table("activity_gantt")
        return ActivityColumns(
            *self._bins("activity_dies", "busy_ns", "die", drive["dies"]),
            *self._bins("activity_channels", "busy_ns", "channel", drive["channels"]),
            *self._bins("activity_internal", "busy_ns"),
            *self._bins("activity_queue", "outstanding_ns"),
            waiting=histograms_of(self._table("activity_waiting")),
            course=None if drive["response"] is None else self._course(),
            gantt=GanttColumns(**columns_of(gantt, GanttColumns._fields)),
            gantt_truncated=gantt.schema.metadata[b"truncated"] == b"true",
        )

    @_sound
    def dispatched(self) -> Trace | None:
        block = self._summary["drive"] and self._summary["drive"]["block"]
        if not block or not self._config["block.record"]:
            return None
        table = self._table("dispatched")
        return Trace(requests_of(table), stream_names(table.schema.metadata))
