"""A laboratory for the flash storage stack: exact, fast simulation of SSDs from block traces.

    >>> import ssdlab
    >>> result = ssdlab.simulate(ssdlab.Config(overrides={"device.capacity": "256MiB"}))
    >>> result.write_amplification  # doctest: +SKIP

The package has rooms, and imports lead down only; `tests/test_rooms.py` keeps that:

    cli       one file for each command: parse, call, hand over
    view      how findings look: `page` is what is shown, `terminal` and `html` show it, `plots` draw
    study     many simulations: experiments, calibration, validation, comparison, the executor
    analyse   what is computed and found: workloads, write intervals, caches, codecs, real drives
    model     what a user holds: configurations, traces, simulations, results, the two-pool cache

A finding hands over to `view` by name (`lazy.room`, `model.finding.Plot`), as traces do to `analyse`. NumPy, pyarrow
and matplotlib are loaded when they are first used (`lazy`), so importing ssdlab is quick.
"""

from ssdlab._ssdlab import (
    ConfigError,
    InternalError,
    SimulationError,
    SsdlabError,
    TraceError,
    __version__,
)
from ssdlab.analyse import cache, compress, corpus
from ssdlab.analyse import map_cache as advise
from ssdlab.analyse.drive.errors import CalibrationError
from ssdlab.analyse.intervals import FrequencyColumns, IntervalColumns, WindowColumns, WriteIntervals
from ssdlab.analyse.workload import TraceAnalysis
from ssdlab.model.columns import LatencyColumns
from ssdlab.model.config import Config, Preset, Setting, config_schema, presets
from ssdlab.model.pool import Loader, Pool, PoolStatistics
from ssdlab.model.requests import Monitor
from ssdlab.model.result import Result
from ssdlab.model.simulation import simulate
from ssdlab.model.trace import Trace, generate
from ssdlab.model.trace_file import TraceFile, read_trace
from ssdlab.study import experiments
from ssdlab.study.calibration import Calibration, calibrate, calibrate_target
from ssdlab.study.compare import Comparison, compare

__all__ = [
    "Calibration",
    "CalibrationError",
    "Comparison",
    "Config",
    "ConfigError",
    "FrequencyColumns",
    "InternalError",
    "IntervalColumns",
    "LatencyColumns",
    "Loader",
    "Monitor",
    "Pool",
    "PoolStatistics",
    "Preset",
    "Result",
    "Setting",
    "SimulationError",
    "SsdlabError",
    "Trace",
    "TraceAnalysis",
    "TraceError",
    "TraceFile",
    "WindowColumns",
    "WriteIntervals",
    "__version__",
    "advise",
    "cache",
    "calibrate",
    "calibrate_target",
    "compare",
    "compress",
    "config_schema",
    "corpus",
    "experiments",
    "generate",
    "presets",
    "read_trace",
    "simulate",
]
