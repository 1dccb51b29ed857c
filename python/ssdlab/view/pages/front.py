"""Builds the report page of a Pareto front."""

from ssdlab import text
from ssdlab.study.survey.front import Front
from ssdlab.view.page import Figure, Page, Paragraph, Section, Table
from ssdlab.view.pages.figures import estimated


def page(front: Front) -> Page:
    """Returns the report page of a Pareto front."""
    headers = (*front.axes, *(f"{outcome.figure} ({'max' if outcome.large else 'min'})" for outcome in front.outcomes))
    figures = [outcome.figure for outcome in front.outcomes]
    rows = [
        [*(point.levels[axis] for axis in front.axes), *map(estimated, figures, point.outcomes)]
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
