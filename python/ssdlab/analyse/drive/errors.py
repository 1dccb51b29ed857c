"""Errors raised when measuring real drives."""

from ssdlab._ssdlab import SsdlabError


class CalibrationError(SsdlabError):
    """Raised if a file or device cannot be measured, or if fio fails."""
