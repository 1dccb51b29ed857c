"""What a calibration of a real drive can fail of."""

from ssdlab._ssdlab import SsdlabError


class CalibrationError(SsdlabError):
    """A file or device cannot be measured, or fio fails: what is wrong, and the remedy, in one line."""
