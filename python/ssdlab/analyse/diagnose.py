"""Diagnosing a run, and trying what would change it."""

import re

from ssdlab._ssdlab import ConfigError, SimulationError
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, config_of
from ssdlab.model.diagnosis import Diagnosis, WhatIf
from ssdlab.model.requests import Monitor
from ssdlab.model.simulation import simulate
from ssdlab.model.trace_file import Given

SAME_DRIVE = "the drive is the same, as blocks are whole; make it larger"
"""Why more spare was not tried."""

_PLACE = re.compile(r"^(?:configuration:\d+|change): ", re.MULTILINE)
"""Where `Config.changed` has a setting from, which nobody but it has seen."""

MOST = 6
"""Changes that are tried: those of the weightiest findings."""


@takes()
def diagnose(
    config: Config | Overrides | None = None,
    trace: Given | None = None,
    *,
    what_ifs: bool = True,
    monitor: Monitor | None = None,
) -> Diagnosis:
    """Runs a simulation and says what is the matter.

    Args:
        config: What to simulate, as of `simulate`.
        trace: What to replay, as of `simulate`.
        what_ifs: Whether the changes that findings name are tried, up to six, each by another run.
        monitor: Told how far each run is. If it returns something true, the rest is left out.

    Raises:
        ConfigError: As of `simulate`.
        TraceError: If the trace cannot be read.
        SimulationError: If a request lies beyond the device and `host.fit` is `error`, or a check fails.
    """
    result = simulate(config_of(config), trace, monitor=monitor)
    found, config = result.diagnose(), result.config
    names = dict.fromkeys(name for finding in found.findings for name in finding["what_ifs"])
    for name in [*names][:MOST] if what_ifs and not found.partial else []:
        settings = config.what_if(name)
        try:
            changed = simulate(config.changed(settings), trace, monitor=monitor, keep=False)
        except (ConfigError, SimulationError) as error:
            found.what_ifs.append(WhatIf(name, settings, None, _PLACE.sub("", str(error))))
            continue
        if changed.partial:
            break
        if changed.summary["device"] == result.summary["device"] and name == "spare":
            found.what_ifs.append(WhatIf(name, settings, None, SAME_DRIVE))
            continue
        found.what_ifs.append(WhatIf(name, settings, changed.summary))
    return found
