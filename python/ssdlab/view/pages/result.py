"""Builds the page of one simulation run."""

from collections.abc import Callable, Iterator

from ssdlab import text
from ssdlab.model.metrics import QUANTILES
from ssdlab.model.remarks import remarks_on
from ssdlab.model.replayed import replay_text
from ssdlab.model.result import Result
from ssdlab.model.sizing import sizing
from ssdlab.model.source import chosen, is_generated
from ssdlab.view.page import Beside, Facts, Figure, Item, Page, Paragraph, Section, Table
from ssdlab.view.pages import diagnosis, summary
from ssdlab.view.pages.configuration import table
from ssdlab.view.pages.remarks import clock_remark
from ssdlab.view.pages.tables import (
    CAPTURE_COLUMNS,
    MERGE_COUNTS,
    STREAM_COLUMNS,
    below,
    captures,
    merges,
    operation_cells,
    response_times,
    sections,
    stream_times,
    waiting_times,
)
from ssdlab.view.times import name_of_times, title_of_times

PERCENTILES = "The latency tail starts where a curve bends upward."
WAITING = (
    " Where a curve nears its dashed line, most of the response time is waiting. Select a time range in a chart over "
    "the run to see the requests completed in this range."
)


def page(result: Result) -> Page:
    """Builds the page of one simulation run."""
    lead = [summary.drive(result), *sizing([(result.config, result.summary)]), clock_remark(result.config)]
    findings = [Paragraph(line) for line in diagnosis.top(result.summary["diagnosis"])]
    metrics = [Facts(rows, title) for title, rows in sections(result.summary).items()]
    return Page(
        title=replay_text(result.source, result.config, result.summary),
        chosen=chosen(result.source),
        lead=[Paragraph(line, "soft") for line in lead if line],
        partial="the run was stopped before its end" if result.partial else "",
        remarks=[remark.text for remark in remarks_on(result)],
        sections=[
            Section("Summary", summary.items(result)),
            *([Section("Findings", findings)] if findings else []),
            _overview(result),
            *_diagnosis(result),
            Section("Metrics", [Beside(metrics)], detail=True),
            *_flash(result),
            *_merges(result),
            *_times(result),
            *_drive(result),
            Section("Erases per block", [Figure(result.plot_erase_counts.chart)], terminal=False),
            _configuration(result),
        ],
        more="--all shows all tables; --out DIR draws charts in report.html",
        footer="Sizes in binary units (1 KiB = 1,024 B) except bandwidth and endurance, which are decimal. "
        "Quantiles are exact to 1.6 %.",
    )


def _in_events(result: Result) -> bool:
    # The activity columns show this too, but reading them would load NumPy.
    return result.summary["drive"] is not None


def _overview(result: Result) -> Section:
    if not _in_events(result):
        figures = [Figure(result.plot_write_amplification.chart, "Write amplification over time")]
    else:
        note = PERCENTILES + ("" if result.summary["cache"] else WAITING)
        peaks = "Peaks that coincide with shading occur during internal work, such as garbage collection."
        figures = [
            Figure(result.plot_latency_percentiles.chart, "Response time by percentile", note),
            Figure(result.plot_response_time.chart, "Response time over the run", peaks),
        ]
    return Section("Charts", figures, terminal=False)


def _diagnosis(result: Result) -> Iterator[Section]:
    if result.summary["diagnosis"]:
        yield Section("Diagnosis", diagnosis.findings(result.diagnose()), terminal=False)
    response = (result.summary["drive"] or {}).get("response")
    if response is not None and diagnosis.has_parts(response):
        title = below("Parts of response times over the run", result.summary)
        figure = Figure(result.plot_response_parts.chart, title)
        items = (diagnosis.parts_table(response, result.summary), figure)
        yield Section(below("What requests wait for", result.summary), items, terminal=False)


def _flash(result: Result) -> Iterator[Section]:
    if _in_events(result):
        yield Section("Write amplification over time", [Figure(result.plot_write_amplification.chart)], terminal=False)
    headers, rows = operation_cells(result.summary)
    tables = [Table.named(headers, rows, "Flash operations")] if rows else []
    yield Section("Operations by cause", [*tables, Figure(result.plot_operations.chart)], detail=True)


def _merges(result: Result) -> Iterator[Section]:
    if result.summary["log"] is None:
        return

    # Omits charts with a single bar, which would only repeat the summary: BAST always merges one block per reclaim, and
    # FAST always fills its log blocks.
    def bars(column: str) -> Callable[[], bool]:
        return lambda: int((getattr(result.log, column) > 0).sum()) > 1

    figures = [
        Figure(result.plot_reclaim_cost.chart, "Cost per reclaim of log space, cumulative distribution"),
        Figure(result.plot_associativity.chart, "Logical blocks merged per reclaim", is_useful=bars("associativity")),
        Figure(result.plot_log_utilisation.chart, "Utilisation of retired log blocks", is_useful=bars("utilisation")),
    ]
    table = Table.named(MERGE_COUNTS.values(), merges(result.summary), "Merges")
    yield Section("Merges", [table, *figures], detail=True)
    streams, more = captures(result.summary)
    if streams:
        note = f"Sequential runs of each stream that were captured by sequential log blocks.{_further(more)}"
        items = [Table.named(CAPTURE_COLUMNS, streams, header="stream")]
        yield Section("Captures by stream", items, note=note, terminal=False)


def _further(more: int) -> str:
    return f" result.json has {text.count(more)} more streams." if more else ""


def _times(result: Result) -> Iterator[Section]:
    times = response_times(result.summary)
    if not times:
        return
    columns = ("requests", *QUANTILES)
    items: list[Item] = [
        Table.named(columns, times, title_of_times(result.config), wide=True),
        Figure(result.plot_latency.chart),
    ]
    parts = waiting_times(result.summary)
    if parts:
        note = "Waiting ends when work on the request begins or the write buffer has room; the rest is service. "
        note += "Percentiles of waiting and service are computed separately."
        items.append(Table.named(QUANTILES, parts, below("Waiting and service", result.summary), note=note, wide=True))
    streams, more = stream_times(result.summary)
    if streams:
        note = "Streams with the most requests first."
        if result.summary["cache"] is not None and any(name == "0" for name, _ in streams):
            note += " Stream 0 contains write-backs of the cache."
        title = below("Response times by stream", result.summary)
        items.append(Table.named(STREAM_COLUMNS, streams, title, note=note))
        if more:
            items.append(Paragraph(_further(more).strip(), "soft"))
    name = name_of_times(result.config).capitalize()
    yield Section(f"{name}s", items, detail=True)
    if not _in_events(result):
        yield Section(f"{name} over the run", [Figure(result.plot_response_time.chart)], terminal=False)
    title = below("The slowest requests", result.summary)
    note = "The slowest read and write completed in each 1 % of the run. Point at a request to see its address, "
    note += "waiting time and the largest part of its response time."
    slowest = Figure(result.plot_slowest.chart, title, note, is_useful=lambda: _several_slow(result))
    yield Section(title, [slowest], terminal=False)


def _several_slow(result: Result) -> bool:
    """True if the chart of slow requests has more than two dots; otherwise, the table of times suffices."""
    course = result.activity and result.activity.course
    return course is not None and len(course.slowest.op) > 2


def _has_operations(result: Result) -> bool:
    return result.activity is not None and result.activity.gantt.die.size > 0


def _drive(result: Result) -> Iterator[Section]:
    if not _in_events(result):
        return
    figures = [
        Figure(
            result.plot_utilisation.chart,
            "Utilisation over time",
            "Stronger colours mean higher utilisation. Rows in strong colours are hot spots; pale dies wait for their "
            "busy channel.",
        ),
        Figure(
            result.plot_queue_depth.chart,
            below("Requests outstanding", result.summary),
            "If more requests are outstanding than there are dies, requests wait for each other.",
        ),
        Figure(
            result.plot_gantt.chart,
            "Operation by operation",
            "A die with a gap while its channel is busy is waiting for the channel; hatched bars are internal work.",
            is_useful=lambda: _has_operations(result),
        ),
    ]
    yield Section("Channels and dies", figures, terminal=False)


def _configuration(result: Result) -> Section:
    # If a trace is replayed, the settings of the workload have no effect.
    generated = is_generated(result.source)
    settings = [setting for setting in result.config.settings if generated or not setting.key.startswith("workload.")]
    return Section("Configuration", [table(settings)], terminal=False)
