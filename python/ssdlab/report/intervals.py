"""The page about the write intervals of a trace."""

from typing import TYPE_CHECKING

from ssdlab import text
from ssdlab.figures import ingest_remarks, window_rows
from ssdlab.report.page import about_requests

if TYPE_CHECKING:
    from ssdlab.intervals import WriteIntervals


def render(intervals: "WriteIntervals") -> str:
    """The page about one trace. Equal intervals give equal pages."""
    headers, rows = window_rows(intervals.to_dict())
    return about_requests(
        "intervals.html.jinja",
        source=intervals.source,
        charts={
            "intervals": intervals.plot_intervals(),
            "invalidated": intervals.plot_invalidated(),
            "time_address": intervals.plot_time_address(),
            "frequency": intervals.plot_frequency(),
            "concentration": intervals.plot_concentration(),
        },
        tiles=[
            ("page writes", text.count(intervals.page_writes)),
            ("pages written", text.count(intervals.written_pages)),
            ("written footprint", text.size(intervals.written_pages * intervals.page_bytes)),
            ("writes of a page, mean", text.decimal(intervals.page_writes / intervals.written_pages)),
            ("page", text.size(intervals.page_bytes)),
        ],
        remarks=ingest_remarks(intervals.ingest),
        headers=headers,
        rows=rows,
    )
