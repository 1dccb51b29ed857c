"""Errors of measuring real drives."""

from ssdlab._ssdlab import SsdlabError


class CalibrationError(SsdlabError):
    """A file or device cannot be measured, or fio fails."""
