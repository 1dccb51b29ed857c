"""A laboratory for the flash storage stack: exact, fast simulation of SSDs from block traces.

    >>> import ssdlab
    >>> result = ssdlab.simulate(ssdlab.Config(overrides={"device.capacity": "256MiB"}))
    >>> result.write_amplification  # doctest: +SKIP

NumPy, pyarrow and matplotlib are imported by the functions that need them, so importing ssdlab is quick.
"""

from ssdlab import advise, cache, compress, experiments
from ssdlab._ssdlab import (
    ConfigError,
    InternalError,
    SimulationError,
    SsdlabError,
    TraceError,
    __version__,
)
from ssdlab.analysis import TraceAnalysis
from ssdlab.calibration import Calibration, CalibrationError, calibrate, calibrate_target
from ssdlab.config import Config, Preset, Setting, config_schema, presets
from ssdlab.intervals import FrequencyColumns, IntervalColumns, WindowColumns, WriteIntervals
from ssdlab.pool import Loader, Pool, PoolStatistics
from ssdlab.result import LatencyColumns, Result
from ssdlab.simulation import Monitor, simulate
from ssdlab.trace import Trace, TraceFile, generate, read_trace

__all__ = [
    "Calibration",
    "CalibrationError",
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
    "compress",
    "config_schema",
    "experiments",
    "generate",
    "presets",
    "read_trace",
    "simulate",
]
