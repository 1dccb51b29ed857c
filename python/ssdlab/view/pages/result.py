"""The page of one run."""

from collections.abc import Callable, Iterator
from functools import partial

from ssdlab import text
from ssdlab.model.remarks import remarks_on, sized_by_trace
from ssdlab.model.result import Result
from ssdlab.model.source import chosen, is_generated, source_text
from ssdlab.view.page import Beside, Facts, Figure, Page, Paragraph, Section, Table
from ssdlab.view.pages import diagnosis
from ssdlab.view.pages.configuration import table
from ssdlab.view.pages.quantities import (
    CAUSES,
    MERGE_COUNTS,
    QUANTILES,
    STREAM_COLUMNS,
    Quantity,
    below,
    captures,
    merges,
    operations,
    response_times,
    sections,
    stream_times,
    waiting_times,
)
from ssdlab.view.pages.remarks import clock_remark
from ssdlab.view.times import name_of_times, served_alone, title_of_times

HEADLINES = (
    Quantity("", "write amplification (WAF)", "write_amplification", text.ratio),
    Quantity("", "full merges per page written", "log.full_merges_per_page", text.significant),
    Quantity("", "look-ups served from RAM", "map.all.hit_ratio", text.percent),
    Quantity("", "host data until worn out", "lifetime.host_tbw_bytes", text.size_decimal),
)
OF_A_DRIVE = (
    Quantity("", "requests per second", "time.iops", text.short_count),
    Quantity("", "99 % of reads within", "latency.read.p99_ns", text.duration),
    Quantity("", "99 % of writes within", "latency.write.p99_ns", text.duration),
)
"""Headlines that say nothing of a drive where one chip serves one request after the other."""
PERCENTILES = (
    "Where a line bends up its tail begins; where the dashed line nears it, slow requests were slow because they "
    "waited. Choose a stretch of time in a figure over the run: the lines are those of the requests that ended in it."
)
"""How to read the curves of response times by percentile, where it is known when and how long requests waited."""
CAPTURE_COLUMNS = ("sub-streams", "random pages", "hit ratio", "hit quality", "error capture")


def page(result: Result) -> Page:
    """The page of one run."""
    lead = [sized_by_trace([(result.config, result.summary)]), clock_remark(result.config)]
    return Page(
        title=source_text(result.source),
        chosen=chosen(result.source),
        lead=[Paragraph(line, "soft") for line in lead if line],
        partial=stopped(result),
        remarks=[one.text for one in remarks_on(result)],
        sections=[
            _overview(result),
            *_diagnosis(result),
            *_waits(result),
            _summary(result),
            *_flash(result),
            *_merges(result),
            *_times(result),
            *_drive(result),
            Section("Erases per block", [Figure(result.plot_erase_counts.chart)], terminal=False),
            _configuration(result),
        ],
        conclusion=[Paragraph(line) for line in diagnosis.top(result.summary["diagnosis"])],
        footer="Sizes in binary units (1 KiB = 1,024 B) except bandwidth and endurance, which are decimal. "
        "Quantiles are exact to 1.6 %.",
    )


def _in_events(result: Result) -> bool:
    """Whether dies and channels worked side by side. Their columns would say so too, but load NumPy for a terminal."""
    return result.summary["drive"] is not None


def stopped(result: Result) -> str:
    """That it was stopped, if it was."""
    return "the run was stopped before its end" if result.partial else ""


def _overview(result: Result) -> Section:
    """What a person looks for first."""
    headlines = HEADLINES if served_alone(result.config) else (*HEADLINES, *OF_A_DRIVE)
    tiles = [(one.label, one.text(result.summary)) for one in headlines if one.value(result.summary)]
    figures = []
    if _in_events(result):
        figures.append(
            Figure(
                result.plot_latency_percentiles.chart,
                "Response time by percentile",
                PERCENTILES if result.summary["cache"] is None else "Where a line bends up its tail begins.",
            )
        )
        figures.append(
            Figure(
                result.plot_response_time.chart,
                "Response time over the run",
                "Peaks where the shading rises coincide with internal work, such as garbage collection, that kept dies "
                "from the host.",
            )
        )
    else:
        figures.append(Figure(result.plot_write_amplification.chart, "Write amplification over time"))
    return Section("Overview", [Facts(tiles, tiles=True), *figures], terminal=False)


def _diagnosis(result: Result) -> Iterator[Section]:
    if result.summary["diagnosis"]:
        yield Section("Diagnosis", diagnosis.findings(result.diagnose()), terminal=False)


def _summary(result: Result) -> Section:
    return Section("Summary", [Beside([Facts(rows, title) for title, rows in sections(result.summary).items()])])


def _counted(title: str, headers: "tuple[str, ...]", rows: "list[tuple[str, list[str]]]", note: str = "") -> Table:
    return Table(("", *headers), [(name, *cells) for name, cells in rows], title, note=note)


def _waits(result: Result) -> Iterator[Section]:
    response = (result.summary["drive"] or {}).get("response")
    if response is None or not diagnosis.has_parts(response):
        return
    course = Figure(result.plot_response_parts.chart, below("Parts of response times over the run", result.summary))
    parts = diagnosis.parts_table(response, result.summary)
    yield Section(below("What requests wait for", result.summary), [parts, course], terminal=False)


def _flash(result: Result) -> Iterator[Section]:
    if _in_events(result):
        yield Section("Write amplification over time", [Figure(result.plot_write_amplification.chart)], terminal=False)
    causes, counts = operations(result.summary)
    rows = [(kind, [*map(text.count, of), text.count(sum(of))]) for kind, of in counts]
    headers = (*(CAUSES.get(cause, cause) for cause in causes), "total")
    tables = [_counted("Flash operations", headers, rows)] if causes else []
    yield Section("Operations by cause", [*tables, Figure(result.plot_operations.chart)])


def _merges(result: Result) -> Iterator[Section]:
    if result.summary["log"] is None:
        return
    rows = [(kind, [text.count(count) for count in counts]) for kind, counts in merges(result.summary)]

    # A chart of one bar tells what the summary tells: BAST merges one block, and FAST fills all log blocks.
    def bars(column: str) -> Callable[[], bool]:
        return lambda: int((getattr(result.log, column) > 0).sum()) > 1

    figures = [
        Figure(result.plot_reclaim_cost.chart, "What one reclaim of log space costs, cumulative"),
        Figure(result.plot_associativity.chart, "Logical blocks merged in one reclaim", tells=bars("associativity")),
        Figure(result.plot_log_utilisation.chart, "How full log blocks are when they leave", tells=bars("utilisation")),
    ]
    yield Section("Merges", [_counted("Merges", tuple(MERGE_COUNTS.values()), rows), *figures])
    streams, more = captures(result.summary)
    if streams:
        yield Section(
            "Captures by stream",
            [Table(("stream", *CAPTURE_COLUMNS), [(name, *cells) for name, cells in streams])],
            note=f"What sequential log blocks captured of the runs of pages that each stream wrote{_further(more)}.",
            terminal=False,
        )


def _further(more: int) -> str:
    return f"; further streams: {more}, in result.json" if more else ""


def _times(result: Result) -> Iterator[Section]:
    times = response_times(result.summary)
    if not times:
        return
    rows = [(name, *cells) for name, cells in times]
    items: list[Table | Figure | Paragraph] = [
        Table(("", "requests", *QUANTILES), rows, title_of_times(result.config), wide=True),
        Figure(result.plot_latency.chart),
    ]
    parts = [(name, *cells) for name, cells in waiting_times(result.summary)]
    if parts:
        note = "A response time is waiting, until work on the request begins or the write buffer has room for it, and "
        note += "service, the rest; a percentile is that of each by itself."
        title = below("Waiting and service", result.summary)
        items.append(Table(("", *QUANTILES), parts, title, note=note, wide=True))
    streams, more = stream_times(result.summary)
    if streams:
        note = "Streams with most requests first."
        if result.summary["cache"] is not None and any(name == "0" for name, _ in streams):
            note += " What the cache writes back is of stream 0, which is that of nobody."
        title = below("Response times by stream", result.summary)
        items.append(_counted(title, STREAM_COLUMNS, streams, note))
        if more:
            items.append(Paragraph(f"further streams: {text.count(more)}, in result.json", "soft"))
    name = name_of_times(result.config).capitalize()
    yield Section(f"{name}s", items)
    if not _in_events(result):
        yield Section(f"{name} over the run", [Figure(result.plot_response_time.chart)], terminal=False)
    single = Figure(
        result.plot_slowest.chart,
        below("The slowest requests", result.summary),
        "The slowest read and the slowest write that ended in each hundredth of the run; whoever points at one is told "
        "where it was, how long it waited and what took most of its time.",
        tells=partial(_several_slow, result),
    )
    yield Section(below("The slowest requests", result.summary), [single], terminal=False)


def _several_slow(result: Result) -> bool:
    """A dot or two tell nothing that the table does not."""
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
            "The stronger the colour, the busier. Rows that stand out are hot spots; pale dies on a strong channel "
            "wait for the bus.",
        ),
        Figure(
            result.plot_queue_depth.chart,
            below("Requests outstanding", result.summary),
            "Where more are outstanding than there are dies, requests wait for one another.",
        ),
        Figure(
            result.plot_gantt.chart,
            "Operation by operation",
            "Gaps in the lanes of dies while their channel is busy tell of waiting for the bus; hatched bars stand in "
            "the way of the host.",
            tells=partial(_has_operations, result),
        ),
    ]
    yield Section("Channels and dies", figures, terminal=False)


def _configuration(result: Result) -> Section:
    # A trace was replayed: what the workload would have been is of no interest.
    generated = is_generated(result.source)
    settings = [one for one in result.config.settings if generated or not one.key.startswith("workload.")]
    return Section("Configuration", [table(settings)], terminal=False)
