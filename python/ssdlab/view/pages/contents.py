"""Builds the report page that describes an experiment or a screening before it is run."""

from ssdlab import text
from ssdlab.study.experiments.definition import Experiment
from ssdlab.study.experiments.definition import Table as Planned
from ssdlab.study.screening.definition import Screening
from ssdlab.view.page import Item, Page, Paragraph, Section, Table

HEADERS = ("table", "title", "unit", "cells", "seeds", "document")


def page_of(experiment: Experiment | Screening) -> Page:
    """Returns the tables of an experiment with the traces to supply, or the factors and runs of a screening."""
    return _factors_page(experiment) if isinstance(experiment, Screening) else _page(experiment)


def _factors_page(screening: Screening) -> Page:
    items: list[Item] = []
    for name, form in screening.forms.items():
        runs = len(screening.schedulers) * form.seeds * form.design.size(form.axes)
        then = f"plus, for each claim, all level combinations of up to {form.refined} factors"
        rows = [(factor.name, *factor.levels) for factor in form.factors]
        items.append(Table(("factor", "lower", "upper"), rows, f"{name} form: {text.count(runs)} runs, {then}", left=3))
    lead = [
        f"reproduces: {screening.document}",
        f"compares {screening.tested} with {', '.join(screening.others)}",
        *(f"claim: {claim.says}" for claim in screening.claims),
    ]
    return Page(title=screening.title, lead=[*map(Paragraph, lead)], sections=[Section("", items)])


def _page(experiment: Experiment) -> Page:
    sections = [Section("", [Table(HEADERS, [*map(_row, experiment.tables)], left=3)])]
    supplied = [replay for replay in experiment.traces.values() if replay.supplied]
    if supplied:
        rows = []
        for replay in supplied:
            users = (table.name for table in experiment.tables if replay in experiment.replayed(table))
            rows.append((replay.name, replay.help, ", ".join(users)))
        headers = ("trace", "contents", "tables")
        sections.append(Section("", [Table(headers, rows, "traces to supply with --trace NAME=FILE", left=3)]))
    return Page(title=experiment.title, lead=[Paragraph(f"reproduces: {experiment.document}")], sections=sections)


def _row(table: Planned) -> tuple[str, ...]:
    size = f"{len(table.rows.labels)} x {len(table.columns.labels)}"
    seeds = str(len(table.runs.seeds) or 1) if table.simulated else text.MISSING
    document = [word for word, has in (("compared", table.comparison.reference), ("claim", table.claim)) if has]
    return table.name, table.title, table.unit, size, seeds, ", ".join(document) or text.MISSING
