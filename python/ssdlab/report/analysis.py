"""The page about the workload of a trace."""

from typing import TYPE_CHECKING

from ssdlab import text
from ssdlab.analysis_tables import headlines, remarks, tables
from ssdlab.figures import ingest_remarks
from ssdlab.report.page import about_requests

if TYPE_CHECKING:
    from ssdlab.analysis import TraceAnalysis


def render(analysis: "TraceAnalysis") -> str:
    """The page about one trace. Equal analyses give equal pages."""
    return about_requests(
        "analysis.html.jinja",
        source=analysis.source,
        charts={
            "ranges": analysis.plot_ranges(),
            "deviations": analysis.plot_deviations(),
            "sizes": analysis.plot_sizes(),
            "working_set": analysis.plot_working_set(),
            "mix": analysis.plot_mix(),
            "runs": analysis.plot_runs(),
            "gaps": analysis.plot_gaps(),
            "alignments": analysis.plot_alignments(),
        },
        tiles=headlines(analysis),
        remarks=[*ingest_remarks(analysis.ingest), *remarks(analysis)],
        tables=tables(analysis),
        range_size=text.size(analysis.range_bytes),
    )
