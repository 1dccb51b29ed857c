"""Running simulations."""

import json
from collections.abc import Sequence
from typing import Any

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.model.config import Config, Overrides, config_of
from ssdlab.model.requests import Monitor
from ssdlab.model.result import Result
from ssdlab.model.trace import Trace
from ssdlab.model.trace_file import Given, TraceFile, source_of


def simulate(
    config: Config | Overrides | None = None,
    trace: Given | None = None,
    *,
    monitor: Monitor | None = None,
) -> Result:
    """Runs one simulation: preconditions the device, replays the warm-up, replays and measures the rest.

    With `host.repeat` the trace is replayed so often, or until write amplification is steady; the last replay is
    measured. With `host.fit` `compact` the addresses that the trace uses are packed.

    Other Python threads run meanwhile, several simulations side by side included. The result depends on the
    configuration and the requests alone. Ctrl-C raises KeyboardInterrupt within a fraction of a second.

    Args:
        config: What to simulate: a configuration, or settings on top of the defaults; the defaults if left out.
        trace: A trace in memory, a file (streamed), or None for the workload that `config` describes.
        monitor: Told some twenty times a second how far the run is. If it returns something true, the run ends
            and `Result.partial` is set.

    Raises:
        ConfigError: If the configuration does not fit together, or not with the trace.
        TraceError: If the trace cannot be read.
        SimulationError: If a request lies beyond the device and `host.fit` is `error`, or a check fails.
        InternalError: On a defect of ssdlab; carries the resolved configuration.
    """
    config = config_of(config)
    if trace is None and config["host.replay"] == "open" and config["workload.arrival"] == "closed":
        raise ConfigError(
            "host.replay: open replay needs arrival times, and workload.arrival is closed; "
            'set workload.arrival.poisson.rate="1k/s" or workload.arrival.fixed.rate, or leave host.replay closed'
        )
    source = source_of(trace, config)
    # A generated workload lies within the device.
    space = None if trace is None else source.address_space(config, monitor)
    # The workload is generated below Python, and a trace in memory is replayed where it is.
    reader = source.open() if isinstance(source, TraceFile) else None
    requests = source._requests if isinstance(source, Trace) else reader
    outcome = _ssdlab.simulate(config._inner, requests, space, monitor)

    summary: dict[str, Any] = json.loads(outcome.summary)
    by_stream = [*(summary["log"] or {}).get("capture_by_stream", []), *(summary["drive"] or {}).get("streams", [])]
    names: Sequence[str] = ()
    if by_stream or outcome.dispatched is not None:
        names = (reader or source.open()).streams()
        for one in by_stream:
            number = one["stream"]
            # Requests given as columns may point beyond the names given with them; all streams beyond the first few
            # hundred have no number.
            if number is not None:
                one["stream"] = names[number] if number < len(names) else str(number)
    return Result(
        config=config,
        source=source.about,
        summary=summary,
        ingest=source.report_of(reader or source.open()) if trace is not None else None,
        series=outcome.series,
        erase_counts=outcome.erase_counts,
        latency=outcome.latency,
        log=outcome.log,
        activity=outcome.activity,
        dispatched=None if outcome.dispatched is None else Trace(outcome.dispatched, names),
    )
