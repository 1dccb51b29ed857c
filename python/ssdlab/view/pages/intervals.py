"""Builds the report page on write intervals."""

from ssdlab import text
from ssdlab.analyse.intervals import WriteIntervals
from ssdlab.model.source import chosen, ingest_remarks, source_text
from ssdlab.view.page import Facts, Figure, Page, Section, Table


def page(intervals: WriteIntervals) -> Page:
    """Returns the report page on write intervals."""
    figures = (
        ("Page writes invalidated, by log size", intervals.plot_invalidated.chart),
        ("Write intervals", intervals.plot_intervals.chart),
        ("Writes over time and address", intervals.plot_time_address.chart),
        ("Writes per page", intervals.plot_frequency.chart),
        ("Writes on the most written pages", intervals.plot_concentration.chart),
    )
    tiles = [
        ("page writes", text.count(intervals.page_writes)),
        ("pages written", text.count(intervals.written_pages)),
        ("written footprint", text.size(intervals.written_pages * intervals.page_bytes)),
        ("writes per page, mean", text.decimal(intervals.page_writes / intervals.written_pages)),
        ("page", text.size(intervals.page_bytes)),
    ]
    return Page(
        title=source_text(intervals.source),
        chosen=chosen(intervals.source),
        remarks=ingest_remarks(intervals.ingest),
        sections=[
            Section("", [Facts(tiles, tiles=True)]),
            Section(
                "Logs",
                [_logs(intervals)],
                note="Write interval: number of page writes since the previous write of the same page. Hot: interval "
                "up to the log size. Warm: up to twice the log size. Cold: longer, or a first write. Pages are "
                "classified by their mean interval. Invalidated: written again before a FIFO log evicts the page, "
                "without and with a second chance.",
            ),
            *(Section(title, [Figure(draw)], terminal=False) for title, draw in figures),
        ],
        footer="Sizes in binary units (1 KiB = 1,024 B). The table is exact; the distribution of intervals is exact to "
        "1.6 %.",
    )


def _logs(intervals: WriteIntervals) -> Table:
    """Returns a table with a row for each log size."""
    classes = [f"{name} {of}" for of in ("writes", "pages") for name in ("hot", "warm", "cold")]
    shares = [f"{name.replace(' ', '_')}_share" for name in classes]
    shares += ["invalidated_share", "invalidated_second_chance_share"]
    return Table(
        ["log", "log pages", *classes, "invalidated", "second chance"],
        [
            [log["log"], text.count(log["log_pages"]), *(text.percent(log[share]) for share in shares)]
            for log in intervals.to_dict()["logs"]
        ],
    )
