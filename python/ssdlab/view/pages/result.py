"""The page of one run."""

from collections.abc import Iterator
from functools import partial

from ssdlab import text
from ssdlab.model.result import Result
from ssdlab.model.source import chosen, source_text
from ssdlab.view.charts import activity, latency, log
from ssdlab.view.charts import result as run
from ssdlab.view.page import Beside, Facts, Figure, Page, Paragraph, Section, Table
from ssdlab.view.pages import diagnosis
from ssdlab.view.pages.configuration import table
from ssdlab.view.pages.quantities import (
    CAUSES,
    MERGE_COUNTS,
    QUANTILES,
    STREAM_COLUMNS,
    Quantity,
    captures,
    merges,
    operations,
    response_times,
    sections,
    stream_times,
    waiting_times,
)
from ssdlab.view.pages.remarks import clock_remark, remarks, sized_by_trace
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
CAPTURE_COLUMNS = ("sub-streams", "random pages", "hit ratio", "hit quality", "error capture")


def page(result: Result) -> Page:
    """The page of one run."""
    lead = [sized_by_trace(result.config, result.summary), clock_remark(result.config)]
    return Page(
        title=source_text(result.source),
        chosen=chosen(result.source),
        lead=[Paragraph(line, "soft") for line in lead if line],
        partial=stopped(result),
        remarks=remarks(result.summary, result.ingest),
        sections=[
            _headlines(result),
            *_waits(result),
            _summary(result),
            *_flash(result),
            *_merges(result),
            *_times(result),
            *_drive(result),
            Section("Erases per block", [Figure(partial(run.erase_counts, result))], terminal=False),
            _configuration(result),
        ],
        conclusion=_conclusion(result),
        footer="Sizes in binary units (1 KiB = 1,024 B) except bandwidth and endurance, which are decimal. "
        "Quantiles are exact to 1.6 %.",
    )


def _conclusion(result: Result) -> list[Paragraph]:
    """What is the matter, where time is modelled well enough to know it."""
    lines = diagnosis.top(result.summary["diagnosis"]) if result.activity is not None else []
    return [Paragraph(line) for line in lines]


def stopped(result: Result) -> str:
    """That it was stopped, if it was."""
    return "the run was stopped before its end" if result.partial else ""


def _headlines(result: Result) -> Section:
    headlines = HEADLINES if served_alone(result.config) else (*HEADLINES, *OF_A_DRIVE)
    tiles = [(one.label, one.text(result.summary)) for one in headlines if one.value(result.summary)]
    return Section("", [Facts(tiles, tiles=True)], terminal=False)


def _summary(result: Result) -> Section:
    return Section("Summary", [Beside([Facts(rows, title) for title, rows in sections(result.summary).items()])])


def _counted(title: str, headers: "tuple[str, ...]", rows: "list[tuple[str, list[str]]]", note: str = "") -> Table:
    return Table(("", *headers), [(name, *cells) for name, cells in rows], title, note=note)


def _waits(result: Result) -> Iterator[Section]:
    response = (result.summary["drive"] or {}).get("response")
    if response is None:
        return
    course = Figure(partial(latency.parts, result), "Parts of response times over the run")
    yield Section("What requests wait for", [diagnosis.parts_table(response), course], terminal=False)


def _flash(result: Result) -> Iterator[Section]:
    yield Section("Write amplification over time", [Figure(partial(run.write_amplification, result))], terminal=False)
    causes, counts = operations(result.summary)
    rows = [(kind, [*map(text.count, of), text.count(sum(of))]) for kind, of in counts]
    headers = (*(CAUSES.get(cause, cause) for cause in causes), "total")
    tables = [_counted("Flash operations", headers, rows)] if causes else []
    yield Section("Operations by cause", [*tables, Figure(partial(run.operations, result))])


def _merges(result: Result) -> Iterator[Section]:
    if result.log is None:
        return
    rows = [(kind, [text.count(count) for count in counts]) for kind, counts in merges(result.summary)]
    figures = [Figure(partial(log.reclaim_cost, result), "What one reclaim of log space costs, cumulative")]
    # A chart of one bar tells what the summary tells: BAST merges one block, and FAST fills all log blocks.
    if (result.log.associativity > 0).sum() > 1:
        figures.append(Figure(partial(log.associativity, result), "Logical blocks merged in one reclaim"))
    if (result.log.utilisation > 0).sum() > 1:
        figures.append(Figure(partial(log.utilisation, result), "How full log blocks are when they leave"))
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
    # With dies and channels it is known how long requests waited.
    waited = result.activity is not None
    rows = [(name, *cells) for name, cells in times]
    items: list[Table | Figure | Paragraph] = [
        Table(("", "requests", *QUANTILES), rows, title_of_times(result.config), wide=True),
        Figure(partial(latency.histogram, result)),
    ]
    if waited:
        items.append(
            Figure(
                partial(latency.percentiles, result),
                "Response time by percentile",
                "Where a line bends up its tail begins; where the dashed line nears it, slow requests were slow "
                "because they waited. Choose a stretch of time in a figure over the run: the lines are those of the "
                "requests that ended in it.",
            )
        )
    parts = [(name, *cells) for name, cells in waiting_times(result.summary)]
    if parts:
        note = "A response time is waiting, until work on the request begins, and service, the rest; a percentile is "
        note += "that of each by itself."
        items.append(Table(("", *QUANTILES), parts, "Waiting and service", note=note, wide=True))
    streams, more = stream_times(result.summary)
    if streams:
        note = "Streams with most requests first."
        items.append(_counted("Response times by stream", STREAM_COLUMNS, streams, note))
        if more:
            items.append(Paragraph(f"further streams: {text.count(more)}, in result.json", "soft"))
    name = name_of_times(result.config).capitalize()
    yield Section(f"{name}s", items)
    why = (
        "Peaks where the shading rises coincide with internal work, such as garbage collection, that kept dies from "
        "the host."
    )
    course = Figure(partial(latency.response_time, result), note=why if waited else "")
    single = Figure(
        partial(latency.slowest, result),
        "The slowest requests",
        "The slowest read and the slowest write that ended in each hundredth of the run; whoever points at one is told "
        "where it was, how long it waited and what took most of its time.",
    )
    over_the_run = None if result.activity is None else result.activity.course
    # A dot or two tell nothing that the table does not.
    several = over_the_run is not None and len(over_the_run.slowest.op) > 2
    yield Section(f"{name} over the run", [course, *([single] if several else [])], terminal=False)


def _drive(result: Result) -> Iterator[Section]:
    if result.activity is None:
        return
    figures = [
        Figure(
            partial(activity.utilisation, result),
            "Utilisation over time",
            "The stronger the colour, the busier. Rows that stand out are hot spots; pale dies on a strong channel "
            "wait for the bus.",
        ),
        Figure(
            partial(activity.queue_depth, result),
            "Requests outstanding",
            "Where more are outstanding than there are dies, requests wait for one another.",
        ),
    ]
    if result.activity.gantt.die.size:
        note = "Gaps in the lanes of dies while their channel is busy tell of waiting for the bus; hatched bars stand "
        figures.append(
            Figure(partial(activity.gantt, result), "Operation by operation", note + "in the way of the host.")
        )
    yield Section("Channels and dies", figures, terminal=False)


def _configuration(result: Result) -> Section:
    # A trace was replayed: what the workload would have been is of no interest.
    generated = result.source["kind"] == "workload"
    settings = [one for one in result.config.settings if generated or not one.key.startswith("workload.")]
    return Section("Configuration", [table(settings)], terminal=False)
