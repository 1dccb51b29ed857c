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
        ("a pilot run", text.duration(found.seconds * 1e9)),
        ("all, about", text.duration(found.total_seconds * 1e9)),
    ]
    return Page(
        title=f"{planned.design.name} over {', '.join(planned.columns)}",
        sections=[
            Section("", [Facts(facts)]),
            Section("", [Table((*planned.columns, "seed"), rows, left=len(planned.columns), most=MOST_ROWS)]),
        ],
    )
