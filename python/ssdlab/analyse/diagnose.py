"""Diagnoses a simulation run, and tries changes that could improve it."""

import re

from ssdlab._ssdlab import ConfigError, SimulationError
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, config_of
from ssdlab.model.diagnosis import Diagnosis, WhatIf
from ssdlab.model.requests import Monitor
from ssdlab.model.simulation import simulate
from ssdlab.model.trace_file import Given

SAME_DRIVE = "rounded to whole blocks, the additional over-provisioning adds no block; use a larger drive"
"""Reason shown to the user, instead of a result, if more over-provisioning gives the same drive."""

_PLACE = re.compile(r"^(?:configuration:\d+|change): ", re.MULTILINE)
"""Prefix of error lines that names the origin of a setting; removed from settings that the user did not write."""

MOST = 6
"""Maximum number of changes to try; changes for the most important findings are tried first."""


@takes()
def diagnose(
    config: Config | Overrides | None = None,
    trace: Given | None = None,
    *,
    what_ifs: bool = True,
    monitor: Monitor | None = None,
) -> Diagnosis:
    """Runs a simulation and diagnoses it.

    Args:
        config: Configuration, as in `simulate`.
        trace: Trace to replay, as in `simulate`.
        what_ifs: True to try up to six changes that findings suggest, each in a further run.
        monitor: Progress callback for each run. If it returns a true value, the remaining runs are skipped.

    Raises:
        ConfigError: As for `simulate`.
        TraceError: If the trace cannot be read.
        SimulationError: If a request exceeds the device and `host.fit` is `error`, or a check fails.
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
        is_same = name == "spare" and changed.summary["device"] == result.summary["device"]
        tried = WhatIf(name, settings, None, SAME_DRIVE) if is_same else WhatIf(name, settings, changed.summary)
        found.what_ifs.append(tried)
    return found
