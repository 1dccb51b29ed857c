"""Builds the report page that shows an outcome as curves over an axis."""

from ssdlab.study.survey.curves import Curves
from ssdlab.view.page import Figure, Page, Paragraph, Section, Table
from ssdlab.view.pages.figures import INTERVALS, estimated


def page(curves: Curves) -> Page:
    """Builds the report page of curves: a table with a column per curve and a row per value on the horizontal axis."""
    along, between = curves.values
    cells = {(cell.x, cell.by): cell.estimate for cell in curves.cells}
    headers = (curves.x, *(between if curves.by else (curves.outcome.figure,)))
    rows = [[x, *(estimated(curves.outcome.figure, cells.get((x, by))) for by in between)] for x in along]
    averaged = [Paragraph(f"averaged over {', '.join(curves.others)}")] if curves.others else []
    figures = [Figure(curves.plot.chart), *([Figure(curves.plot_map.chart)] if curves.by and len(between) > 1 else [])]
    seeds = any(cell.estimate.half_width is not None for cell in curves.cells)
    return Page(
        title=f"{curves.outcome.figure} over {curves.x}" + (f", by {curves.by}" if curves.by else ""),
        lead=[Paragraph(curves.about, "soft"), *averaged],
        remarks=curves.notes,
        sections=[Section("", figures, terminal=False), Section("", [Table(headers, rows)])],
        legend=INTERVALS if seeds else "",
    )
