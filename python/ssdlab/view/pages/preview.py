"""The page of a sweep before it begins."""

from ssdlab import text
from ssdlab.study.sweep.pilots import SECONDS
from ssdlab.study.sweep.preview import Preview
from ssdlab.view.page import Facts, Page, Paragraph, Section, Table

MOST_ROWS = 20
"""Runs that a terminal lists."""


def page(found: Preview) -> Page:
    """The page of a preview."""
    planned = found.planned
    rows = [[*row.values.values(), str(row.seed)] for row in planned.rows]
    facts = [
        ("rows", text.count(len(planned.rows))),
        ("runs, equal ones once", text.count(len(planned.runs))),
        ("runs to do", text.count(found.left)),
        ("at a time", text.count(found.jobs)),
        ("memory of the largest run", text.size(found.memory_bytes)),
        *_times(found),
    ]
    remarks = []
    if found.too_large:
        remarks.append(
            f"{text.counted(found.too_large, 'runs')} will fail: none may take more than {text.size(found.most_bytes)} "
            "here; take a machine with more memory, or smaller drives"
        )
    return Page(
        title=f"{planned.design.name} over {', '.join(planned.columns)}",
        remarks=remarks,
        sections=[
            Section("", [Facts(facts), *([Paragraph(_method(found), "soft")] if found.pilots else [])]),
            Section("", [Table((*planned.columns, "seed"), rows, left=len(planned.columns), most=MOST_ROWS)]),
        ],
    )


def _times(found: Preview) -> list[tuple[str, str]]:
    """How long runs take; nothing where none is to be done."""
    if found.pilots is None:
        return []
    took = found.pilots.seconds.values()
    rows = []
    if took:
        least, most = (text.duration(1e9 * one) for one in (min(took), max(took)))
        rows.append((text.counted(len(took), "pilot runs"), least if least == most else f"{least} to {most}"))
    about, between = text.duration(1e9 * found.total_seconds), found.range_seconds
    if between is not None:
        least, most = (text.duration(1e9 * one) for one in between)
        about += f", from {least} to {most}"
    return [*rows, ("all, about" if took else "all, at least", about)]


def _method(found: Preview) -> str:
    """How the times were estimated."""
    assert found.pilots is not None
    said = (
        "Pilots have each axis at its ends and in its middle, or all its words, beside the first run; a run takes the "
        "time of the first times a factor for each axis"
    )
    if found.range_seconds is not None:
        said += ", and the range is by how much others, corners of the design among them, are off"
    if not found.pilots.complete:
        said += (
            f"; pilots ended after {text.duration(1e9 * SECONDS)}, and what they did not reach is taken as the first"
        )
    return f"{said}."
