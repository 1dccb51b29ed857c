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
    """Returns labels and values of the estimated times of the runs; empty if no run remains."""
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
    return [*rows, ("all runs, about" if took else "all runs, at least", about)]


def _method(preview: Preview) -> str:
    """Describes how the durations of the runs were estimated."""
    assert preview.pilots is not None
    method = (
        "Pilots change one axis of the first run at a time, to the ends and middle of a range or to each named value. "
        "The estimate of a run is the time of the first run times a factor per axis."
    )
    if preview.range_seconds is not None:
        method += " The range shows the error at other points, including corners of the design."
    if not preview.pilots.complete:
        method += (
            f" Pilots ended after {text.duration(1e9 * SECONDS)}; values without a pilot use the first value's pilot."
        )
    return method
