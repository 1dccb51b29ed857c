"""The page of write intervals."""

from ssdlab import text
from ssdlab.analyse.intervals import WriteIntervals
from ssdlab.model.source import chosen, ingest_remarks, source_text
from ssdlab.view.page import Facts, Figure, Page, Section, Table


def page(found: WriteIntervals) -> Page:
    """The page of write intervals."""
    figures = (
        ("Page writes invalidated as the log grows", found.plot_invalidated.chart),
        ("Write intervals", found.plot_intervals.chart),
        ("Writes over time and address", found.plot_time_address.chart),
        ("Writes of a page", found.plot_frequency.chart),
        ("Writes on the most written pages", found.plot_concentration.chart),
    )
    tiles = [
        ("page writes", text.count(found.page_writes)),
        ("pages written", text.count(found.written_pages)),
        ("written footprint", text.size(found.written_pages * found.page_bytes)),
        ("writes of a page, mean", text.decimal(found.page_writes / found.written_pages)),
        ("page", text.size(found.page_bytes)),
    ]
    return Page(
        title=source_text(found.source),
        chosen=chosen(found.source),
        remarks=ingest_remarks(found.ingest),
        sections=[
            Section("", [Facts(tiles, tiles=True)]),
            Section(
                "Logs",
                [_logs(found)],
                note="The write interval of a page write is the number of page writes, of any page, since the previous "
                "write of the same page. Hot: at most the pages of the log. Warm: at most twice as many. Cold: longer, "
                "or no previous write; a page is classed by the mean of its intervals. Invalidated: written again "
                "before a first-in first-out log evicts the page, and before it does so after a second chance, which "
                "doubles the stay.",
            ),
            *(Section(title, [Figure(draw)], terminal=False) for title, draw in figures),
        ],
        footer="Sizes in binary units (1 KiB = 1,024 B). The table is exact; the distribution of intervals is exact to "
        "1.6 %.",
    )


def _logs(found: WriteIntervals) -> Table:
    """A row for each log."""
    classes = [f"{name} {of}" for of in ("writes", "pages") for name in ("hot", "warm", "cold")]
    shares = [f"{name.replace(' ', '_')}_share" for name in classes]
    shares += ["invalidated_share", "invalidated_second_chance_share"]
    return Table(
        ["log", "log pages", *classes, "invalidated", "second chance"],
        [
            [log["log"], text.count(log["log_pages"]), *(text.percent(log[share]) for share in shares)]
            for log in found.to_dict()["logs"]
        ],
    )
