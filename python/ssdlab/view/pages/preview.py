"""The page of a sweep before it begins."""

from ssdlab import text
from ssdlab.study.sweep.preview import Preview
from ssdlab.view.page import Facts, Page, Section, Table

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
            Section("", [Facts(facts)]),
            Section("", [Table((*planned.columns, "seed"), rows, left=len(planned.columns), most=MOST_ROWS)]),
        ],
    )


def _times(found: Preview) -> list[tuple[str, str]]:
    """How long runs take; nothing where none is to be done."""
    if not found.pilots_s:
        return []
    least, most = (text.duration(1e9 * one) for one in (min(found.pilots_s), max(found.pilots_s)))
    return [
        ("a pilot run" if least == most else "pilot runs", least if least == most else f"{least} to {most}"),
        ("all, about", text.duration(1e9 * found.total_seconds)),
    ]
