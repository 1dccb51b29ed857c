"""Results that were saved, as they were."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError, TraceError
from ssdlab.lazy import np, npt, pa, pq
from ssdlab.model.columns import (
    ActivityColumns,
    LatencyColumns,
    LogColumns,
    bins_of,
    course_of,
    gantt_of,
    histograms_of,
)
from ssdlab.model.config import recorded
from ssdlab.model.envelope import check_version, of_another_version, read
from ssdlab.model.result import Result
from ssdlab.model.source import ingest_of
from ssdlab.model.trace import Trace


class LoadedResult(Result):
    """A result whose columns are in files, and are read when they are first asked for.

    Args:
        path: The directory where it was saved, or its JSON file.

    Raises:
        ConfigError: If it is no result of a run, or one that this version does not understand.
    """

    def __init__(self, path: Path) -> None:
        file = path / self._json if path.is_dir() else path
        found = read(file)
        if found["kind"] != "result":
            raise ConfigError(
                f"{text.path(file)}: kind: is {found['kind']!r}, not the result of a run; give what 'ssdlab run --out' "
                "named"
            )
        check_version(file, found)
        config = recorded(found["configuration"])
        if config is None:
            raise of_another_version(file, found["version"])
        self._folder, self._version = file.parent, found["version"]
        self.summary = dict(found["result"])
        self.ingest = ingest_of(self.summary.pop("ingest"))
        self.config, self.source = config, found["source"]

    def envelope(self) -> dict[str, Any]:
        """As it was saved: the version is that which simulated."""
        return {**super().envelope(), "version": self._version}

    def __getattr__(self, name: str) -> object:
        # Python asks here for what is not there yet.
        if name not in _COLUMNS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        try:
            value = _COLUMNS[name](self)
        except (KeyError, TypeError, ValueError, TraceError) as error:
            raise ConfigError(
                f"{text.path(self._folder)}: {name}: the Parquet files hold something else than 'ssdlab run' saves "
                f"({error}); copy them again, or run it again with --out"
            ) from None
        setattr(self, name, value)
        return value

    def _table(self, name: str) -> "pa.Table":
        """A table that was saved.

        Raises:
            ConfigError: If it cannot be read.
        """
        path = self._folder / f"{name}.parquet"
        remedy = "copy it to the JSON file of the run, or run it again with --out"
        try:
            with pq.ParquetFile(path) as file:
                return file.read()
        except FileNotFoundError:
            raise ConfigError(f"{text.path(path)}: is not there; {remedy}") from None
        except (OSError, pa.ArrowException) as error:
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0].rstrip(".")
            raise ConfigError(f"{text.path(path)}: cannot be read as Parquet: {reason}; {remedy}") from None


def _series(result: LoadedResult) -> "dict[str, npt.NDArray[np.uint64]]":
    table = result._table("series")
    return {name: table[name].to_numpy() for name in table.column_names}


def _erase_counts(result: LoadedResult) -> "npt.NDArray[np.uint32]":
    counts: npt.NDArray[np.uint32] = result._table("erase_counts")["erases"].to_numpy()
    return counts


def _latency(result: LoadedResult) -> dict[str, LatencyColumns]:
    return histograms_of(result._table("latency"))


def _log(result: LoadedResult) -> LogColumns | None:
    if result.summary["log"] is None:
        return None
    reclaims = result._table("log_reclaims")
    return LogColumns(
        associativity=result._table("log_associativity")["reclaims"].to_numpy(),
        utilisation=result._table("log_utilisation")["log_blocks"].to_numpy(),
        **{f"reclaim_{name}": reclaims[name].to_numpy() for name in reclaims.column_names},
    )


def _activity(result: LoadedResult) -> ActivityColumns | None:
    drive: Mapping[str, Any] | None = result.summary["drive"]
    if drive is None:
        return None
    dies, channels = (bins_of(result._table(f"activity_{rows}"), drive[rows]) for rows in ("dies", "channels"))
    internal, queue = (bins_of(result._table(f"activity_{name}")) for name in ("internal", "queue"))
    course = None
    if drive["response"] is not None:
        course = course_of(*(result._table(f"activity_{name}") for name in ("intervals", "slowest", "parts")))
    gantt = result._table("activity_gantt")
    return ActivityColumns(
        *dies,
        *channels,
        *internal,
        *queue,
        waiting=histograms_of(result._table("activity_waiting")),
        course=course,
        gantt=gantt_of(gantt),
        gantt_truncated=gantt.schema.metadata[b"truncated"] == b"true",
    )


def _dispatched(result: LoadedResult) -> Trace | None:
    block = result.summary["drive"] and result.summary["drive"]["block"]
    if not block or not result.config["block.record"]:
        return None
    return Trace.from_arrow(result._table("dispatched"))


_COLUMNS: dict[str, Callable[[LoadedResult], object]] = {
    "series": _series,
    "erase_counts": _erase_counts,
    "latency": _latency,
    "log": _log,
    "activity": _activity,
    "dispatched": _dispatched,
}
