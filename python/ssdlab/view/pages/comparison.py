"""The page of a comparison: a column for each run."""

from ssdlab.model.source import source_text
from ssdlab.study.compare import Comparison
from ssdlab.view.page import Cell, Page, Paragraph, Row, Section, Table
from ssdlab.view.pages.quantities import QUANTITIES
from ssdlab.view.pages.remarks import clock_remark, remarks
from ssdlab.view.pages.result import stopped
from ssdlab.view.times import served_alone, title_of_times


def page(found: Comparison) -> Page:
    """The page of a comparison."""
    results = [*found.results.values()]
    # All read the same trace: one set of remarks speaks for all, but the one that was cut short speaks first.
    spokesman = next((one for one in results if one.partial), results[0])
    clock = clock_remark(spokesman.config)
    return Page(
        title=source_text(results[0].source),
        lead=[Paragraph(clock, "soft")] if clock else [],
        partial=stopped(spokesman),
        remarks=remarks(spokesman.summary, spokesman.ingest),
        sections=[Section("", [Table(("", *found.results), _rows(found))])],
    )


def _rows(found: Comparison) -> list[Row]:
    """The best value of a row is marked where one can be said to be better."""
    rows: list[Row] = []
    configs = [result.config for result in found.results.values()]
    titles = {"Response time": title_of_times(configs[0])} if all(map(served_alone, configs)) else {}
    section = ""
    for quantity in QUANTITIES:
        values = [quantity.value(result.summary) for result in found.results.values()]
        known = [value for value in values if value is not None]
        if not known or (quantity.quiet and not any(known)):
            continue
        if quantity.section != section:
            section = quantity.section
            rows.append([Cell(titles.get(section, section), "strong"), *("" for _ in values)])
        # Rounded values that look alike are alike to the reader: none of them is marked as better.
        texts = [quantity.text(result.summary) for result in found.results.values()]
        best = None
        if quantity.better and len(set(texts)) > 1:
            best = quantity.format(min(known) if quantity.better == "low" else max(known))
        cells = [Cell(f"{cell} *", "best") if cell == best else f"{cell}  " for cell in texts]
        rows.append([quantity.label, *cells])
    return rows
