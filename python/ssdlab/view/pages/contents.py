"""What an experiment has, before it is run."""

from ssdlab import text
from ssdlab.study.experiments.definition import Experiment
from ssdlab.study.experiments.definition import Table as Planned
from ssdlab.view.page import Page, Paragraph, Section, Table

HEADERS = ("table", "title", "unit", "cells", "seeds", "document")


def page(experiment: Experiment) -> Page:
    """The tables of an experiment, and the traces to supply."""
    sections = [Section("", [Table(HEADERS, [*map(_row, experiment.tables)], left=3)])]
    supplied = [replay for replay in experiment.traces.values() if replay.supplied]
    if supplied:
        rows = []
        for replay in supplied:
            users = (table.name for table in experiment.tables if replay in experiment.replayed(table))
            rows.append((replay.name, replay.help, ", ".join(users)))
        headers = ("trace", "what", "tables")
        sections.append(Section("", [Table(headers, rows, "traces to supply with --trace NAME=FILE", left=3)]))
    return Page(title=experiment.title, lead=[Paragraph(f"reproduces: {experiment.document}")], sections=sections)


def _row(table: Planned) -> tuple[str, ...]:
    size = f"{len(table.rows.labels)} x {len(table.columns.labels)}"
    seeds = str(len(table.seeds) or 1) if table.simulated else text.MISSING
    document = [word for word, has in (("compared", table.reference), ("claim", table.claim)) if has]
    return table.name, table.title, table.unit, size, seeds, ", ".join(document) or text.MISSING
