"""Measures how many concurrent requests a region of a drive needs for full throughput, and how large a region must be.

This is the micro-test of the ParDispatcher document (Wang et al., "A Novel I/O Scheduler for SSD with Improved
Performance and Lifetime", section II.A): requests into one region, "with varying region size and the number of
concurrently issued requests". `knee.py` has the rule for "the optimal point on the performance curve". `simulated.py`
measures a simulated drive, `target.py` a real drive.

>>> import ssdlab
>>> found = ssdlab.calibrate(ssdlab.Config("sata-mlc", overrides={"device.capacity": "8GiB"}))  # doctest: +SKIP
>>> found.settings  # doctest: +SKIP
"""

from ssdlab.analyse.drive.errors import CalibrationError
from ssdlab.study.calibration.result import Calibration
from ssdlab.study.calibration.simulated import calibrate
from ssdlab.study.calibration.target import calibrate_target

__all__ = ["Calibration", "CalibrationError", "calibrate", "calibrate_target"]
