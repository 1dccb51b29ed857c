"""Results that were saved, as they were."""

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

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
from ssdlab.model.config import Config, recorded
from ssdlab.model.envelope import check_version, of_another_version, read
from ssdlab.model.parts import Part
from ssdlab.model.result import Result
from ssdlab.model.source import ingest_of
from ssdlab.model.trace import Trace

Column = TypeVar("Column")

OBJECT, OPTIONAL, NUMBER = (dict,), (dict, type(None)), (int, float)
ENVELOPE: dict[str, tuple[type, ...]] = {"source": OBJECT, "configuration": OBJECT, "result": OBJECT}
FIGURES: dict[str, tuple[type, ...]] = {
    "partial": (bool,),
    **dict.fromkeys(("device", "precondition", "host", "flash", "wear", "lifetime"), OBJECT),
    **dict.fromkeys(("ingest", "repeat", "cache", "time", "latency", "drive", "log", "map", "check"), OPTIONAL),
    "write_amplification": (*NUMBER, type(None)),
    "capacities_written": NUMBER,
    "diagnosis": (list,),
}
"""What a summary holds, and of which kinds; what may be None not every run has."""
SOURCES: dict[str, dict[str, tuple[type, ...]]] = {"trace": {"paths": (list,)}, "memory": {"requests": (int,)}}
"""What is said of sources that are no workload."""


class LoadedResult(Result):
    """A result whose columns are in files, and are read when they are first asked for.

    Args:
        path: The directory where it was saved, or its JSON file.

    Raises:
        ConfigError: If it is no result of a run, or one that this version does not understand.
    """

    def __init__(self, path: Path) -> None:
        file = path / self._json if path.is_dir() else path
        found = Part(f"{text.path(file)}: ", read(file))
        if found["kind"] != "result":
            raise ConfigError(
                f"{text.path(file)}: kind: is {found['kind']!r}, not the result of a run; give what 'ssdlab run --out' "
                "named"
            )
        check_version(file, found)
        found.check(ENVELOPE)
        found["source"].check({"kind": (str,)})
        found["source"].check(SOURCES.get(found["source"]["kind"], {"pattern": (str,), "requests": (int,)}))
        found["result"].check(FIGURES)
        found["configuration"].check(dict.fromkeys(found["configuration"], OBJECT))
        for setting in found["configuration"].values():
            setting.check({"value": (object,), "origin": (str,)})
        config = recorded(found["configuration"])
        if config is None:
            raise of_another_version(file, found["version"])
        self._version = found["version"]
        self.summary = dict(found["result"])
        try:
            self.ingest = ingest_of(self.summary.pop("ingest"))
        except KeyError:
            raise of_another_version(file, found["version"]) from None
        self.config, self.source = config, found["source"]
        self._columns = _Saved(file.parent, self.summary, config)

    def envelope(self) -> dict[str, Any]:
        """As it was saved: the version is that which simulated."""
        return {**super().envelope(), "version": self._version}


def _sound(read: Callable[["_Saved"], Column]) -> Callable[["_Saved"], Column]:
    """Columns of another shape than ours are the file's fault."""

    @wraps(read)
    def column(saved: "_Saved") -> Column:
        try:
            return read(saved)
        except (KeyError, TypeError, ValueError, TraceError) as error:
            raise ConfigError(
                f"{text.path(saved.folder)}: {read.__name__}: the Parquet files hold something else than 'ssdlab run' "
                f"saves ({error}); copy them again, or run it again with --out"
            ) from None

    return column


class _Saved:
    """The columns of a result that was saved, from its files; implements `Columns`.

    Each raises ConfigError if its files cannot be read, or hold something else.
    """

    def __init__(self, folder: Path, summary: Mapping[str, Any], config: Config) -> None:
        self.folder, self._summary, self._config = folder, summary, config

    def _table(self, name: str) -> "pa.Table":
        """A table that was saved.

        Raises:
            ConfigError: If it cannot be read.
        """
        path = self.folder / f"{name}.parquet"
        remedy = "copy it to the JSON file of the run, or run it again with --out"
        try:
            with pq.ParquetFile(path) as file:
                return file.read()
        except FileNotFoundError:
            raise ConfigError(f"{text.path(path)}: is not there; {remedy}") from None
        except (OSError, pa.ArrowException) as error:
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0].rstrip(".")
            raise ConfigError(f"{text.path(path)}: cannot be read as Parquet: {reason}; {remedy}") from None

    @_sound
    def series(self) -> "dict[str, npt.NDArray[np.uint64]]":
        table = self._table("series")
        return {name: table[name].to_numpy() for name in table.column_names}

    @_sound
    def erase_counts(self) -> "npt.NDArray[np.uint32]":
        counts: npt.NDArray[np.uint32] = self._table("erase_counts")["erases"].to_numpy()
        return counts

    @_sound
    def latency(self) -> dict[str, LatencyColumns]:
        return histograms_of(self._table("latency"))

    @_sound
    def log(self) -> LogColumns | None:
        if self._summary["log"] is None:
            return None
        reclaims = self._table("log_reclaims")
        return LogColumns(
            associativity=self._table("log_associativity")["reclaims"].to_numpy(),
            utilisation=self._table("log_utilisation")["log_blocks"].to_numpy(),
            **{f"reclaim_{name}": reclaims[name].to_numpy() for name in reclaims.column_names},
        )

    @_sound
    def activity(self) -> ActivityColumns | None:
        drive: Mapping[str, Any] | None = self._summary["drive"]
        if drive is None:
            return None
        dies, channels = (bins_of(self._table(f"activity_{rows}"), drive[rows]) for rows in ("dies", "channels"))
        internal, queue = (bins_of(self._table(f"activity_{name}")) for name in ("internal", "queue"))
        course = None
        if drive["response"] is not None:
            course = course_of(*(self._table(f"activity_{name}") for name in ("intervals", "slowest", "parts")))
        gantt = self._table("activity_gantt")
        return ActivityColumns(
            *dies,
            *channels,
            *internal,
            *queue,
            waiting=histograms_of(self._table("activity_waiting")),
            course=course,
            gantt=gantt_of(gantt),
            gantt_truncated=gantt.schema.metadata[b"truncated"] == b"true",
        )

    @_sound
    def dispatched(self) -> Trace | None:
        block = self._summary["drive"] and self._summary["drive"]["block"]
        if not block or not self._config["block.record"]:
            return None
        return Trace.from_arrow(self._table("dispatched"))
