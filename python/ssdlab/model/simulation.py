"""Running simulations."""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import np, npt
from ssdlab.model.arguments import takes
from ssdlab.model.columns import ActivityColumns, LatencyColumns, LogColumns
from ssdlab.model.config import Config, Overrides, config_of
from ssdlab.model.files import naming, try_filling
from ssdlab.model.kept import keeping
from ssdlab.model.notebook import following
from ssdlab.model.requests import Monitor
from ssdlab.model.result import Result
from ssdlab.model.trace import Trace
from ssdlab.model.trace_file import Given, TraceFile, source_of

_LOG = logging.getLogger("ssdlab")


@takes(state="drive.state", save_state="drive.state")
def simulate(
    config: Config | Overrides | None = None,
    trace: Given | None = None,
    *,
    monitor: Monitor | None = None,
    watch: Callable[[Mapping[str, Any]], object] | None = None,
    state: str | os.PathLike[str] | None = None,
    save_state: str | os.PathLike[str] | None = None,
    keep: bool = True,
    diagnose: bool = True,
) -> Result:
    """Runs one simulation: preconditions the device, replays the warm-up, replays and measures the rest.

    With `host.repeat` the trace is replayed so often, or until write amplification is steady; the last replay is
    measured. With `host.fit` `compact` the addresses that the trace uses are packed; so they are, and size the default
    drive, where neither `host.fit` nor `device.capacity` is set.

    Other Python threads run meanwhile, several simulations side by side included. The result depends on the
    configuration and the requests alone. Ctrl-C raises KeyboardInterrupt within a fraction of a second.

    Args:
        config: What to simulate: a configuration, or settings on top of the defaults; the defaults if left out.
        trace: A trace in memory, a file (streamed), or None for the workload that `config` describes.
        monitor: Told some twenty times a second how far the run is. If it returns something true, the run ends
            and `Result.partial` is set. Where a notebook gives none, progress is shown below the cell.
        watch: Told each time before that, once requests are replayed, what the drive has done since measuring began:
            `requests` (from the first on), `elapsed_ns`, `busy_ns` (mean over the dies), `write_amplification`,
            `latency` (by operation, as in `Result.summary`), `free_blocks` of `blocks`.
        state: A drive that was saved with `save_state`, to go on from instead of preconditioning one; settings of
            `precondition` then do nothing. Capacity, geometry, FTL and `check` must be those that it was saved with.
        save_state: File to save the drive in after the run, shut down in good order. Nothing is saved if the run is
            stopped.
        keep: Whether the preconditioned drive is kept for the next run in the directory that `ssdlab cache-dir` names;
            results are the same either way.
        diagnose: Whether it is found out what response times are made of, where `time` is `event`: see
            `Result.diagnose`. The run takes some percent longer.

    Raises:
        ConfigError: If the configuration does not fit together, or not with the trace.
        TraceError: If the trace cannot be read.
        SimulationError: If a request lies beyond the device and `host.fit` is `error`, or a check fails.
        InternalError: On a defect of ssdlab; carries the resolved configuration.
    """
    config = config_of(config)
    saved = None if save_state is None else savable(Path(save_state), "save_state")
    if trace is not None:
        config = config.for_trace()
    if trace is None and config["host.replay"] == "open" and config["workload.arrival"] == "closed":
        raise ConfigError(
            "host.replay: open replay needs arrival times, and workload.arrival is closed; "
            'set workload.arrival.poisson.rate="1k/s" or workload.arrival.fixed.rate, or leave host.replay closed'
        )
    source = source_of(trace, config)
    # The workload is generated below Python, and a trace in memory is replayed where it is.
    reader = source.open() if isinstance(source, TraceFile) else None
    if trace is not None:
        source.refuse_objects(source.report_of(reader or source.open()))
    # A generated workload lies within the device.
    space = None if trace is None else source.address_space(config, monitor)
    requests = source._requests if isinstance(source, Trace) else reader
    from_state = None if state is None else Path(state)
    keeps = keeping(config, space) if keep and state is None else nullcontext()
    with keeps as kept, following(monitor) as shown, source.placing():
        outcome = _ssdlab.simulate(
            config._inner, requests, space, shown, watch=watch and _decoded(watch), state=from_state, kept=kept,
            save_state=saved, attribution=diagnose,
        )  # fmt: skip
    for note in outcome.notes:
        _LOG.warning(note)

    summary: dict[str, Any] = json.loads(outcome.summary)
    captures = (summary["log"] or {}).get("capture_by_stream", [])
    by_stream = [*captures, *(summary["drive"] or {}).get("streams", [])]
    names: Sequence[str] = ()
    if by_stream or outcome.dispatched is not None:
        names = (reader or source.open()).streams()
        for one in by_stream:
            number = one["stream"]
            # Requests given as columns may point beyond the names given with them, and a name may be empty; all streams
            # beyond the first few hundred have no number.
            if number is not None:
                one["stream"] = (names[number] if number < len(names) else "") or str(number)
        # Numbers are given by who comes first, which a run that goes on from a state may see in another order.
        captures.sort(key=lambda one: _in_order(one["stream"]))
    return Result(
        config=config,
        source=source.about,
        summary=summary,
        ingest=source.report_of(reader or source.open()) if trace is not None else None,
        columns=_Simulated(outcome, None if outcome.dispatched is None else Trace(outcome.dispatched, names)),
    )


class _Simulated:
    """The columns of a run, by what the extension yields; implements `Columns`."""

    def __init__(self, outcome: _ssdlab.Outcome, dispatched: Trace | None) -> None:
        self._outcome, self._dispatched = outcome, dispatched

    def series(self) -> "dict[str, npt.NDArray[np.uint64]]":
        return self._outcome.series()

    def erase_counts(self) -> "npt.NDArray[np.uint32]":
        return self._outcome.erase_counts()

    def latency(self) -> dict[str, LatencyColumns]:
        return {op: LatencyColumns(*columns) for op, columns in self._outcome.latency().items()}

    def log(self) -> LogColumns | None:
        columns = self._outcome.log()
        return None if columns is None else LogColumns(**columns)

    def activity(self) -> ActivityColumns | None:
        columns = self._outcome.activity()
        return None if columns is None else ActivityColumns.of(columns)

    def dispatched(self) -> Trace | None:
        return self._dispatched

    def __reduce__(self) -> Any:
        made = (self.series(), self.erase_counts(), self.latency(), self.log(), self.activity(), self.dispatched())
        return _Copied, made


class _Copied:
    """The columns of a run that have been made, for a copy of it or another process; implements `Columns`."""

    def __init__(self, *made: Any) -> None:
        self._made = made
        self.series, self.erase_counts, self.latency, self.log, self.activity, self.dispatched = (
            partial(self._made.__getitem__, place) for place in range(len(made))
        )


def _decoded(watch: Callable[[Mapping[str, Any]], object]) -> Callable[[str], None]:
    """`watch` as the extension calls it."""

    def told(figures: str) -> None:
        watch(json.loads(figures))

    return told


def savable(path: Path, given: str) -> Path:
    """The file to write, behind any link; fails now rather than after a long run, and names what was `given`.

    Raises:
        ConfigError: If no file can be made there, or a drive of bytes is there.
    """
    # Unlike Path.resolve it raises nothing for links in a circle, and gives one of them.
    target = Path(os.path.realpath(path))
    folder = target.parent
    if target.is_dir():
        raise ConfigError(f"{given} {text.path(path)}: is a directory; name a file")
    if os.path.lexists(target) and not target.is_file():
        raise ConfigError(f"{given} {text.path(path)}: exists and is no ordinary file; name another file")
    if not folder.is_dir():
        raise ConfigError(f"{given} {text.path(path)}: there is no directory {text.path(folder)}; make it first")
    with naming(path):
        there = _ssdlab.drive_file(target)
    if there == "bytes":
        raise ConfigError(f"{given} {text.path(path)}: holds what programs wrote to a drive; name another file")
    try:
        try_filling(folder)
    except OSError as error:
        raise ConfigError(
            f"{given} {text.path(path)}: {text.path(folder)} cannot be written: {error.strerror}; name another "
            "directory"
        ) from None
    return target


def _in_order(stream: str) -> tuple[int, int, str]:
    """Names of streams in order: numbers by their value, then all others."""
    return (0, int(stream), stream) if stream.isdecimal() else (1, 0, stream)
