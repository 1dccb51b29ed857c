"""The report: one HTML page with everything in it, readable offline, in light and in dark, on screen and paper."""

from typing import TYPE_CHECKING

from ssdlab import text
from ssdlab.figures import (
    CAUSES,
    MERGE_COUNTS,
    QUANTILES,
    STREAM_COLUMNS,
    captures,
    clock_remark,
    merges,
    operations,
    remarks,
    response_times,
    sections,
    stream_times,
    waiting_times,
)
from ssdlab.report.page import about_requests

if TYPE_CHECKING:
    from ssdlab.result import Result

HEADLINES = (
    ("write amplification", "write_amplification", text.ratio),
    ("full merges per page written", "log.full_merges_per_page", text.significant),
    ("look-ups served from RAM", "map.all.hit_ratio", text.percent),
    ("requests per second", "time.iops", text.short_count),
    ("99 % of reads within", "latency.read.p99_ns", text.duration),
    ("99 % of writes within", "latency.write.p99_ns", text.duration),
    ("host data until worn out", "lifetime.host_tbw_bytes", text.size_decimal),
)


def render(result: "Result") -> str:
    """The report of one run. Equal results give equal pages."""
    from ssdlab.figures import Figure as FigureRow

    tiles = []
    for label, path, form in HEADLINES:
        row = FigureRow("", label, path, form)
        if row.value(result.summary):
            tiles.append((label, row.text(result.summary)))
    causes, rows = operations(result.summary)
    charts = {"write_amplification": result.plot_write_amplification(), "erases": result.plot_erase_counts(),
              "operations": result.plot_operations()}  # fmt: skip
    # A trace was replayed: what the workload would have been is of no interest.
    unused = "workload." if result.source["kind"] != "workload" else None
    settings = [one for one in result.config.settings if unused is None or not one.key.startswith(unused)]
    times = response_times(result.summary)
    if times:
        charts["latency"] = result.plot_latency()
        charts["response_time"] = result.plot_response_time()
    if result.activity is not None:
        charts["percentiles"] = result.plot_latency_percentiles()
        charts["die_utilisation"] = result.plot_utilisation()
        charts["queue_depth"] = result.plot_queue_depth()
        if result.activity.gantt.die.size:
            charts["gantt"] = result.plot_gantt()
    if result.log is not None:
        charts["reclaim_cost"] = result.plot_reclaim_cost()
        # A chart of one bar tells what the summary tells: BAST merges one block, and FAST fills all log blocks.
        if (result.log.associativity > 0).sum() > 1:
            charts["associativity"] = result.plot_associativity()
        if (result.log.utilisation > 0).sum() > 1:
            charts["utilisation"] = result.plot_log_utilisation()
    streams, more_streams = captures(result.summary)
    timed_streams, more_timed_streams = stream_times(result.summary)
    return about_requests(
        "report.html.jinja",
        source=result.source,
        charts=charts,
        partial=result.partial,
        tiles=tiles,
        remarks=remarks(result.summary, result.ingest),
        sections=sections(result.summary),
        causes=[CAUSES.get(cause, cause) for cause in causes],
        operations=[(kind, [text.count(n) for n in counts], text.count(sum(counts))) for kind, counts in rows],
        merge_counts=list(MERGE_COUNTS.values()),
        merges=[(kind, [text.count(n) for n in counts]) for kind, counts in merges(result.summary)],
        streams=streams,
        more_streams=more_streams,
        quantiles=list(QUANTILES),
        response_times=times,
        waiting_times=waiting_times(result.summary),
        stream_columns=STREAM_COLUMNS,
        timed_streams=timed_streams,
        more_timed_streams=more_timed_streams,
        clock_remark=clock_remark(result.config["time"]),
        settings=[(key, value.strip('"'), origin) for key, value, origin in settings],
    )
