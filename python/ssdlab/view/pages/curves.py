"""The page of curves."""

from ssdlab.study.survey.curves import Curves
from ssdlab.view.page import Figure, Page, Paragraph, Section, Table
from ssdlab.view.pages.figures import estimated


def page(found: Curves) -> Page:
    """The page of curves: a row for each value along them, a column for each curve."""
    along, between = found.values
    cells = {(one.x, one.by): one.estimate for one in found.cells}
    headers = (found.x, *(between if found.by else (found.outcome.figure,)))
    rows = [[x, *(estimated(found.outcome.figure, cells.get((x, by))) for by in between)] for x in along]
    averaged = [Paragraph(f"averaged over {', '.join(found.others)}")] if found.others else []
    figures = [Figure(found.plot.chart), *([Figure(found.plot_map.chart)] if found.by and len(between) > 1 else [])]
    seeds = any(one.estimate.half_width is not None for one in found.cells)
    return Page(
        title=f"{found.outcome.figure} over {found.x}" + (f", by {found.by}" if found.by else ""),
        lead=[Paragraph(found.about, "soft"), *averaged],
        remarks=found.notes,
        sections=[Section("", figures, terminal=False), Section("", [Table(headers, rows)])],
        legend="mean ± half the width of its 95 % confidence interval over seeds" if seeds else "",
    )
