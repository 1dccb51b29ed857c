"""Builds the report page of a Pareto front."""

from ssdlab import text
from ssdlab.study.survey.front import Front
from ssdlab.view.page import Figure, Page, Paragraph, Section, Table
from ssdlab.view.pages.figures import estimated


def page(front: Front) -> Page:
    """Returns the report page of a Pareto front."""
    headers = (*front.axes, *(f"{one.figure} ({'max' if one.large else 'min'})" for one in front.outcomes))
    rows = [
        [
            *(point.levels[axis] for axis in front.axes),
            *(
                estimated(outcome.figure, estimate)
                for outcome, estimate in zip(front.outcomes, point.outcomes, strict=True)
            ),
        ]
        for point in front.front
    ]
    points = text.counted(len(front.candidates), "points")
    return Page(
        title=f"{len(front.front)} of {points} {'is' if len(front.front) == 1 else 'are'} on the Pareto front",
        lead=[Paragraph(front.about, "soft")],
        remarks=front.notes,
        sections=[
            Section("Pareto front among all points", [Figure(front.plot.chart)], terminal=False),
            Section("", [Table(headers, rows, left=len(front.axes))]),
        ],
        legend="on the Pareto front: no other point is at least as good in every outcome and better in one",
    )
