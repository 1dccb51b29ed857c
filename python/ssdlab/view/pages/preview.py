"""Builds the report page that previews a sweep."""

from ssdlab import text
from ssdlab.study.sweep.pilots import SECONDS
from ssdlab.study.sweep.preview import Preview
from ssdlab.view.page import Facts, Page, Paragraph, Section, Table

MOST_ROWS = 20
"""Maximum number of runs shown on a terminal."""


def page(preview: Preview) -> Page:
    """Returns the report page that previews a sweep."""
    planned = preview.planned
    rows = [[*row.values.values(), str(row.seed)] for row in planned.rows]
    facts = [
        ("rows", text.count(len(planned.rows))),
        ("distinct runs", text.count(len(planned.runs))),
        ("runs to do", text.count(preview.left)),
        ("parallel runs", text.count(preview.jobs)),
        ("memory of the largest run", text.size(preview.memory_bytes)),
        *_times(preview),
    ]
    remarks = []
    if preview.too_large:
        remarks.append(
            f"{text.counted(preview.too_large, 'runs')} will fail: they need more than {text.size(preview.most_bytes)} "
            "of memory; use a machine with more memory or smaller drives"
        )
    return Page(
        title=f"{planned.design.name} over {', '.join(planned.columns)}",
        remarks=remarks,
        sections=[
            Section("", [Facts(facts), *([Paragraph(_method(preview), "soft")] if preview.pilots else [])]),
            Section("", [Table((*planned.columns, "seed"), rows, left=len(planned.columns), most=MOST_ROWS)]),
        ],
    )


def _times(preview: Preview) -> list[tuple[str, str]]:
    """Returns the estimated durations of the runs; empty if no run remains."""
    if preview.pilots is None:
        return []
    took = preview.pilots.seconds.values()
    rows = []
    if took:
        least, most = (text.duration(1e9 * seconds) for seconds in (min(took), max(took)))
        rows.append((text.counted(len(took), "pilot runs"), least if least == most else f"{least} to {most}"))
    about, between = text.duration(1e9 * preview.total_seconds), preview.range_seconds
    if between is not None:
        least, most = (text.duration(1e9 * seconds) for seconds in between)
        about += f", from {least} to {most}"
    return [*rows, ("estimated time of all runs" if took else "minimum time of all runs", about)]


def _method(preview: Preview) -> str:
    """Describes how the durations of the runs were estimated."""
    assert preview.pilots is not None
    method = (
        "Each pilot run changes one axis of the first run: to an end or the middle of its range, or to a named value. "
        "The estimated time of a run is the time of the first run times one factor per axis."
    )
    if preview.range_seconds is not None:
        method += " The range follows from the estimation errors of further pilot runs, some at corners of the design."
    if not preview.pilots.complete:
        method += (
            f" The pilot runs were stopped after {text.duration(1e9 * SECONDS)}; values without a pilot run use a "
            "factor estimated from the measured values of their axis."
        )
    return method
