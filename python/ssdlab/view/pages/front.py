"""The page of a Pareto front."""

from ssdlab import text
from ssdlab.study.survey.front import Front
from ssdlab.view.page import Figure, Page, Paragraph, Section, Table
from ssdlab.view.pages.figures import estimated


def page(found: Front) -> Page:
    """The page of a front."""
    headers = (*found.axes, *(f"{one.figure} ({'max' if one.large else 'min'})" for one in found.outcomes))
    rows = [
        [
            *(one.levels[axis] for axis in found.axes),
            *(estimated(its.figure, got) for its, got in zip(found.outcomes, one.outcomes, strict=True)),
        ]
        for one in found.front
    ]
    points = text.counted(len(found.candidates), "points")
    return Page(
        title=f"{len(found.front)} of {points} {'is' if len(found.front) == 1 else 'are'} on the front",
        lead=[Paragraph(found.about, "soft")],
        remarks=found.notes,
        sections=[
            Section("The front among all points", [Figure(found.plot.chart)], terminal=False),
            Section("", [Table(headers, rows, left=len(found.axes))]),
        ],
        legend="no other point is as good in every outcome and better in one",
    )
