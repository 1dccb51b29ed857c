"""Builds the report page of a study: every point with its outcomes."""

from ssdlab import text
from ssdlab.study.store.study import Study
from ssdlab.study.survey.outcome import USUAL, Outcome, estimate
from ssdlab.study.sweep.design import MEANINGS, SEARCH
from ssdlab.view.page import Figure, Page, Paragraph, Row, Section, Table
from ssdlab.view.pages.figures import INTERVALS, estimated, left_to_do, of_seeds

MOST_ROWS = 40
"""Maximum number of points shown on a terminal."""


def page(study: Study) -> Page:
    """Returns the report page of a study."""
    design = study.plan["design"]["name"]
    # Before the first run is finished, the table has columns for the planned outcomes.
    outcomes = study.outcomes() if study.figures else [Outcome.read(name) for name in study.plan["outcomes"] or USUAL]
    rows = _rows(study, outcomes)
    lead = [f"{design}: {MEANINGS[design]}"]
    if len(rows) < study.count:
        distinct = f"{text.count(len(rows))} of {text.count(study.count)} points are distinct"
        lead.append(f"{distinct}; equal points share a row")
    figures = [Figure(study.plot.chart)] if outcomes and study.figures else []
    headers = (*study.columns, *(outcome.figure for outcome in outcomes))
    return Page(
        title=study.title + study.modes,
        lead=[Paragraph(line, "soft") for line in lead],
        partial=left_to_do(study),
        remarks=[*study.failed, *([_not_shown(study)] if study.earlier else []), *study.missing, *study.caveats],
        sections=[
            Section("All axes and outcomes", figures, terminal=False),
            Section("", [Table(headers, rows, left=len(study.columns), most=MOST_ROWS)]),
        ],
        legend=INTERVALS if study.seeds != "1" else "",
    )


def _rows(study: Study, outcomes: list[Outcome]) -> list[Row]:
    values = [
        {tuple(point.levels.items()): point for point in study.values(outcome)} if study.figures else {}
        for outcome in outcomes
    ]
    rows: list[Row] = []
    for point in dict.fromkeys(tuple(point.values.items()) for point in study.points):
        cells = []
        for outcome, by_point in zip(outcomes, values, strict=True):
            value = by_point.get(point)
            seeds = "" if value is None else of_seeds(len(value.values), len(value.by_seed))
            mean = None if value is None else estimate(value.values)
            cells.append(estimated(outcome.figure, mean) + seeds)
        rows.append([*(level for _, level in point), *cells])
    return rows


def _not_shown(study: Study) -> str:
    """Describes runs in the study's folder that the page does not show."""
    kept = f"the folder contains {text.counted(study.earlier, 'runs')}"
    if study.plan["design"]["name"] == SEARCH:
        return f"{kept} with fresh seeds or from unfinished trials; this page omits them"
    return (
        f"{kept} from earlier sweeps, which this page omits; repeat those sweeps to see them (finished runs are reused)"
    )


def figures(study: Study) -> Page:
    """Builds a report page that lists the metrics available as outcomes, except metrics that are 0 in all runs."""
    shown = [name for name in study.figures if study.table[name].drop_null().to_numpy().any()]
    left_out = len(study.figures) - len(shown)
    more = "one more figure is" if left_out == 1 else f"{text.count(left_out)} more figures are"
    return Page(
        title=f"{text.counted(len(shown), 'figures')} available as outcomes",
        lead=[Paragraph(f"{more} 0 in every run; --json lists all figures", "soft")] if left_out else [],
        sections=[Section("", [Paragraph(name, "code") for name in shown])],
    )
