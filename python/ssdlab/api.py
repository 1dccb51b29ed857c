"""Public names of `ssdlab`. This module is loaded when one of the names is first used."""

from ssdlab import cache, plugin
from ssdlab._ssdlab import (
    ConfigError,
    InternalError,
    SimulationError,
    SsdlabError,
    TraceError,
    __version__,
)
from ssdlab.analyse import compress, corpus
from ssdlab.analyse import map_cache as advise
from ssdlab.analyse.diagnose import diagnose
from ssdlab.analyse.drive.errors import CalibrationError
from ssdlab.analyse.intervals import FrequencyColumns, IntervalColumns, WindowColumns, WriteIntervals
from ssdlab.analyse.steps import Explanation, explain
from ssdlab.analyse.workload import TraceAnalysis
from ssdlab.model.columns import LatencyColumns
from ssdlab.model.config import Config, Preset, Setting, config_schema, presets
from ssdlab.model.diagnosis import Diagnosis
from ssdlab.model.drive import Drive, Faults, MountReport
from ssdlab.model.pool import Loader, Pool, PoolStatistics
from ssdlab.model.requests import Monitor
from ssdlab.model.result import Result
from ssdlab.model.service import DriveServer, Service
from ssdlab.model.simulation import simulate
from ssdlab.model.trace import Trace, generate
from ssdlab.model.trace_file import TraceFile, read_trace
from ssdlab.study import experiments, screening
from ssdlab.study.cache_advice import CacheAdvice, advise_cache
from ssdlab.study.calibration import Calibration, calibrate, calibrate_target
from ssdlab.study.compare import Comparison, compare
from ssdlab.study.drive_advice import DriveAdvice, advise_drive
from ssdlab.study.fleet.result import Fleet
from ssdlab.study.fleet.running import fleet, open_fleet
from ssdlab.study.fleet.synthetic import generate_fleet
from ssdlab.study.store.study import Study
from ssdlab.study.sweep.running import open_study, sweep
from ssdlab.study.tuning.result import Tuned
from ssdlab.study.tuning.running import tune

__all__ = [
    "CacheAdvice",
    "Calibration",
    "CalibrationError",
    "Comparison",
    "Config",
    "ConfigError",
    "Diagnosis",
    "Drive",
    "DriveAdvice",
    "DriveServer",
    "Explanation",
    "Faults",
    "Fleet",
    "FrequencyColumns",
    "InternalError",
    "IntervalColumns",
    "LatencyColumns",
    "Loader",
    "Monitor",
    "MountReport",
    "Pool",
    "PoolStatistics",
    "Preset",
    "Result",
    "Service",
    "Setting",
    "SimulationError",
    "SsdlabError",
    "Study",
    "Trace",
    "TraceAnalysis",
    "TraceError",
    "TraceFile",
    "Tuned",
    "WindowColumns",
    "WriteIntervals",
    "__version__",
    "advise",
    "advise_cache",
    "advise_drive",
    "cache",
    "calibrate",
    "calibrate_target",
    "compare",
    "compress",
    "config_schema",
    "corpus",
    "diagnose",
    "experiments",
    "explain",
    "fleet",
    "generate",
    "generate_fleet",
    "open_fleet",
    "open_study",
    "plugin",
    "presets",
    "read_trace",
    "screening",
    "simulate",
    "sweep",
    "tune",
]
