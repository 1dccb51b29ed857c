"""Running simulations."""

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.config import Config
from ssdlab.result import Result
from ssdlab.trace import RequestSource, Trace, TraceFile, TraceSource, batches

Monitor = Callable[[str, int, int | None, int], object]
"""`monitor(phase, done, total, requests)`: `phase` is `scan`, `fill`, `overwrite`, `warm-up` or `measure`; `done` of
`total` (None where unknown) is in a unit of its own; `requests` counts those replayed. Something true ends the run."""


def _extent_of(source: RequestSource, monitor: Monitor | None) -> int:
    """The first byte after the last one that `source` addresses."""
    profile = _ssdlab.Profile()
    for batch in batches(source):
        profile.add(batch)
        if monitor is not None and monitor("scan", *source.progress(), profile.requests()):
            raise KeyboardInterrupt("stopped while looking for the end of the trace")
    return profile.extent()


def simulate(
    config: Config | None = None,
    trace: Trace | TraceFile | str | os.PathLike[str] | None = None,
    *,
    monitor: Monitor | None = None,
) -> Result:
    """Runs one simulation: preconditions the device, replays the warm-up, replays and measures the rest.

    Other Python threads run meanwhile, several simulations side by side included. The result depends on the
    configuration and the requests alone. Ctrl-C raises KeyboardInterrupt within a fraction of a second.

    Args:
        config: What to simulate; the defaults if left out.
        trace: A trace in memory, a file (streamed), or None for the workload that `config` describes.
        monitor: Told some twenty times a second how far the run is. If it returns something true, the run ends
            and `Result.partial` is set.

    Raises:
        ConfigError: If the configuration does not fit together, or not with the trace.
        TraceError: If the trace cannot be read.
        SimulationError: If a request lies beyond the device and `host.fit` is `error`, or a check fails.
        InternalError: On a defect of ssdlab; carries the resolved configuration.
    """
    config = config or Config()
    if trace is None and config["host.replay"] == "open" and config["workload.arrival"] == "closed":
        raise ConfigError(
            "host.replay: open replay needs arrival times, and workload.arrival is closed; "
            'set workload.arrival.poisson.rate="1k/s" or workload.arrival.fixed.rate, or leave host.replay closed'
        )
    if hasattr(trace, "__arrow_c_stream__") and not isinstance(trace, Trace):
        trace = Trace.from_frame(trace)
    if trace is not None and not isinstance(trace, Trace | TraceFile):
        trace = TraceFile(trace)
    file = trace if isinstance(trace, TraceFile) else None

    extent = None
    if config._inner.needs_extent() and trace is not None:
        extent = trace.profile()["extent_bytes"] if isinstance(trace, Trace) else _extent_of(trace.open(), monitor)

    source: RequestSource | _ssdlab.Requests | None = None
    reader: TraceSource | None = None
    if isinstance(trace, Trace):
        source = trace._requests
    elif file is not None:
        source = reader = file.open()
    outcome = _ssdlab.simulate(config._inner, source, extent, monitor)

    summary: dict[str, Any] = json.loads(outcome.summary)
    by_stream = [*(summary["log"] or {}).get("capture_by_stream", []), *(summary["drive"] or {}).get("streams", [])]
    names: Sequence[str] = ()
    if by_stream or outcome.dispatched is not None:
        names = trace.streams if isinstance(trace, Trace) else (reader or _ssdlab.Generator(config._inner)).streams()
        for one in by_stream:
            number = one["stream"]
            # Requests given as columns may point beyond the names given with them; all streams beyond the first few
            # hundred have no number.
            if number is not None:
                one["stream"] = names[number] if number < len(names) else str(number)
    ingest = reader.report() if reader else trace.ingest if isinstance(trace, Trace) else None
    return Result(
        config=config,
        source=_describe(config, trace),
        summary=summary,
        ingest=ingest,
        series=outcome.series,
        erase_counts=outcome.erase_counts,
        latency=outcome.latency,
        log=outcome.log,
        activity=outcome.activity,
        dispatched=None if outcome.dispatched is None else Trace(outcome.dispatched, names),
    )


def _describe(config: Config, trace: Trace | TraceFile | None) -> dict[str, Any]:
    """Where the requests came from, for the result."""
    if isinstance(trace, TraceFile):
        return {"kind": "trace", **trace.describe()}
    if isinstance(trace, Trace):
        return {"kind": "memory", "requests": len(trace)}
    prefix = "workload."
    settings = {key.removeprefix(prefix): config[key] for key, *_ in config.settings if key.startswith(prefix)}
    return {"kind": "workload", **settings}
