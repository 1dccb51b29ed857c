"""The report of a calibration."""

from typing import TYPE_CHECKING

from ssdlab.calibration import words
from ssdlab.report.page import inline, page

if TYPE_CHECKING:
    from ssdlab.calibration import Calibration


def render(found: "Calibration") -> str:
    """The report of a calibration. Equal results give equal pages."""
    return page(
        "calibration.html.jinja",
        found=found,
        title=words.title(found),
        how=words.how(found),
        sentences=words.sentences(found),
        settings=words.settings(found),
        headers=words.headers(found),
        tables=[(words.HEADINGS[op], inline(found.plot(op), op), words.rows(found, op)) for op in found.iops],
        legend=words.LEGEND,
    )
