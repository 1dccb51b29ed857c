"""Runs a single simulation."""

import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import room
from ssdlab.model.arguments import takes
from ssdlab.model.columns import ActivityColumns, Columns, LatencyColumns, LogColumns
from ssdlab.model.config import PLUGIN, Config, Overrides, config_of
from ssdlab.model.files import naming, try_filling
from ssdlab.model.kept import keeping
from ssdlab.model.notebook import following
from ssdlab.model.requests import Monitor
from ssdlab.model.result import Result
from ssdlab.model.trace import Trace, Workload
from ssdlab.model.trace_file import Given, job_file, source_of

if TYPE_CHECKING:
    from ssdlab.model.plugin_run import Plugin

_LOG = logging.getLogger("ssdlab")


@takes(state="drive.state", save_state="drive.state")
def simulate(
    config: Config | Overrides | None = None,
    trace: Given | None = None,
    *,
    plugins: "Sequence[Plugin | type[Plugin]]" = (),
    monitor: Monitor | None = None,
    watch: Callable[[Mapping[str, Any]], object] | None = None,
    state: str | os.PathLike[str] | None = None,
    save_state: str | os.PathLike[str] | None = None,
    keep: bool = True,
    diagnose: bool = True,
) -> Result:
    """Runs one simulation: preconditions the device, replays the warm-up, then replays and measures the rest.

    With `host.repeat` the trace is replayed several times, or until write amplification is steady; the last replay is
    measured. With `host.fit` `compact` the addresses of the trace are packed. `compact` is the default if neither
    `host.fit` nor `device.capacity` is set; the trace then sizes the drive. If `time` is `event`, requests with
    timestamps are replayed at these times by default (`host.replay` is `open`).

    Releases the interpreter lock, so that simulations can run on several threads. The result depends only on the
    configuration and the requests. Ctrl-C raises KeyboardInterrupt within a fraction of a second.

    Args:
        config: A configuration, or settings on top of the defaults; all defaults if omitted.
        trace: A trace in memory, a file (streamed), or None for the workload in `config`.
        plugins: Components written in Python (see `ssdlab.plugin`); the run uses copies of the objects.
        monitor: Progress callback, called about twenty times a second. If it returns a true value, the run ends and
            `Result.partial` is set. In a notebook, progress is shown below the cell by default.
        watch: Called before the monitor, during replays, with metrics since the start of the measured phase: `requests`
            (including earlier phases), `elapsed_ns`, `busy_ns` (mean over the dies), `write_amplification`, `latency`
            (by operation, as in `Result.summary`), `free_blocks` of `blocks`.
        state: File of a drive saved with `save_state` to start from, instead of preconditioning; settings of
            `precondition` are ignored. Capacity, geometry, FTL and `check` must match the saved drive.
        save_state: File in which to save the drive after a clean shutdown. Nothing is saved if the run is stopped.
        keep: True to cache the preconditioned drive for later runs, in the directory that `ssdlab cache-dir` names;
            results do not change.
        diagnose: True to attribute response times to their parts if `time` is `event`, see `Result.diagnose`. The run
            takes a few percent longer.

    Raises:
        ConfigError: If settings contradict each other or the trace.
        TraceError: If the trace cannot be read.
        SimulationError: If a request exceeds the device and `host.fit` is `error`, or a check fails.
        InternalError: If ssdlab has a bug; the error contains the resolved configuration.
    """
    config = config_of(config)
    if plugins:
        config = cast(Config, room("model.plugins").with_plugins(config, plugins))
    own = room("model.plugins") if config.plugins else None
    saved = None if save_state is None else savable(Path(save_state), "save_state")
    if trace is not None:
        config = config.for_trace()
    has_times = Workload(config).has_times() or config["workload.queues"] != "none"
    if trace is None and config["host.replay"] == "open" and not has_times:
        raise ConfigError(
            "host.replay: open replay needs arrival times, but workload.arrival is closed; "
            'set workload.arrival.poisson.rate="1k/s"'
        )
    job = job_file(trace)
    source: Any = source_of(trace, config) if job is None else room("model.fio.source").FioJob(job)
    if job is not None:
        config = cast(Config, source.configured(config))
    # Workloads are generated in Rust, and in-memory traces are replayed without copying them.
    reader = None if isinstance(source, Trace | Workload) else source.open()
    if trace is not None:
        source.refuse_objects(source.report_of(reader or source.open()))
    config = cast(Config, source.at_times(config))
    # Addresses need no packing, because a generated workload fits the device.
    space = None if trace is None else source.address_space(config, monitor)
    requests = source._requests if isinstance(source, Trace) else reader
    from_state = None if state is None else Path(state)
    # A drive with a plug-in in any setting of the FTL is not cached, because the key of a cached drive does not include
    # the plug-in's source code.
    is_own = any(key.startswith("ftl") for key in config.plugins)
    keeps = keeping(config, space) if keep and state is None and not is_own else nullcontext()
    given = nullcontext() if own is None else own.giving(plugins)
    began = time.perf_counter()
    with keeps as kept, following(monitor) as shown, source.placing(), given:
        outcome = _ssdlab.simulate(
            config._inner, requests, space, shown, watch=watch and _decoded(watch), state=from_state, kept=kept,
            save_state=saved, attribution=diagnose,
        )  # fmt: skip
    run_seconds = time.perf_counter() - began
    for note in outcome.notes:
        _LOG.warning(note)

    summary: dict[str, Any] = json.loads(outcome.summary)
    if job is not None and reader is not None:
        summary["jobs"] = reader.results()
    ingest = source.report_of(reader or source.open()) if trace is not None else None
    reads = ingest is not None and str(ingest.get("format")).startswith(PLUGIN)
    used = room("model.plugins").uses(config, outcome.calls, run_seconds, ingest) if own is not None or reads else []
    if used:
        summary["plugins"] = [use.to_dict() for use in used]
    captures = (summary["log"] or {}).get("capture_by_stream", [])
    by_stream = [*captures, *(summary["drive"] or {}).get("streams", [])]
    names: Sequence[str] = ()
    if by_stream or outcome.dispatched is not None:
        names = (reader or source.open()).streams()
        for row in by_stream:
            number = row["stream"]
            # A stream without a name, or with an empty name, is shown by its number. After the first few hundred
            # streams, one row combines all others; it has no stream number.
            if number is not None:
                row["stream"] = (names[number] if number < len(names) else "") or str(number)
        # Sorts streams by name. Their numbers depend on the order of appearance, which may differ in a run that starts
        # from a saved drive.
        captures.sort(key=lambda row: _in_order(row["stream"]))
    return Result(
        config=config,
        source=source.about,
        summary=summary,
        ingest=ingest,
        columns=_columns(outcome, None if outcome.dispatched is None else Trace(outcome.dispatched, names)),
        plugins=used,
    )


def _columns(outcome: _ssdlab.Outcome, dispatched: Trace | None) -> Columns:
    return Columns(
        series=outcome.series,
        erase_counts=outcome.erase_counts,
        latency=lambda: {op: LatencyColumns(*columns) for op, columns in outcome.latency().items()},
        log=lambda: None if (columns := outcome.log()) is None else LogColumns(**columns),
        activity=lambda: None if (columns := outcome.activity()) is None else ActivityColumns.of(columns),
        dispatched=lambda: dispatched,
    )


def _decoded(watch: Callable[[Mapping[str, Any]], object]) -> Callable[[str], object]:
    """Wraps `watch` for the Rust extension, which passes metrics as JSON text."""
    return lambda figures: watch(json.loads(figures))


def savable(path: Path, given: str) -> Path:
    """Resolves a file to write; rejects it, naming the option `given`, before a long run if it cannot be written."""
    # os.path.realpath is used, because Path.resolve fails on circular links.
    target = Path(os.path.realpath(path))
    folder = target.parent
    if target.is_dir():
        raise ConfigError(f"{given} {text.path(path)}: is a directory; pass the path of a file")
    if os.path.lexists(target) and not target.is_file():
        raise ConfigError(f"{given} {text.path(path)}: exists and is not a regular file; choose another file")
    if not folder.is_dir():
        raise ConfigError(f"{given} {text.path(path)}: directory {text.path(folder)} does not exist; create it first")
    with naming(path):
        content = _ssdlab.drive_file(target)
    if content == "bytes":
        raise ConfigError(f"{given} {text.path(path)}: contains the data of a served drive; choose another file")
    try:
        try_filling(folder)
    except OSError as error:
        raise ConfigError(
            f"{given} {text.path(path)}: {text.path(folder)} cannot be written: {error.strerror}; choose another "
            "directory"
        ) from None
    return target


def _in_order(stream: str) -> tuple[int, int, str]:
    """Sort key of stream names: numeric names by value, then all other names."""
    return (0, int(stream), stream) if stream.isdecimal() else (1, 0, stream)
