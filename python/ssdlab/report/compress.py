"""The report of a measurement of codecs."""

from typing import TYPE_CHECKING

from ssdlab import compress_tables
from ssdlab.plot_compress import FIGURES, size_text
from ssdlab.report.page import inline, page

if TYPE_CHECKING:
    from ssdlab.compress import CompressBench

HEADINGS = {
    "overall": "Ratio of all files",
    "files": "Ratio of each file",
    "ratio": "Ratio by size of a page",
    "compress": "Time to compress a page",
    "decompress": "Time to restore a page",
    "rate": "Rate by threads",
}
MOST_FILES = 1000
"""Files with a row of their own; `compress.csv` has all."""


def render(found: "CompressBench") -> str:
    """The report. Equal results give equal pages."""
    return page(
        "compress.html.jinja",
        found=found,
        charts=[(heading, inline(FIGURES[name](found), name)) for name, heading in HEADINGS.items()],
        headers=compress_tables.HEADERS,
        tables=compress_tables.tables(found),
        files=compress_tables.files(found, MOST_FILES),
        first_size=size_text(found.page_sizes[0]),
        legend=compress_tables.LEGEND,
    )
