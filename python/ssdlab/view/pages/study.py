"""The page of a study: every point with its outcomes."""

from ssdlab import text
from ssdlab.study.store.study import Study
from ssdlab.study.survey.outcome import USUAL, Outcome, estimate
from ssdlab.study.sweep.design import MEANINGS, SEARCH
from ssdlab.view.page import Figure, Page, Paragraph, Row, Section, Table
from ssdlab.view.pages.figures import estimated, of_seeds

MOST_ROWS = 40
"""Points that a terminal shows."""


def _not_shown(found: Study) -> str:
    """What else is in the folder."""
    kept = f"the folder keeps {text.counted(found.earlier, 'runs')}"
    if found.plan["design"]["name"] == SEARCH:
        return f"{kept} of fresh seeds, or of trials that were not finished, which are not shown"
    return f"{kept} of earlier sweeps, not shown: the same command as then shows them again, and none is run twice"


def _alike(found: Study, rows: int) -> str:
    """That points are equal, of which there is one row; empty if none are."""
    points = found.count
    return f"{text.count(rows)} of {text.count(points)} points differ; equal ones have one row" if rows < points else ""


def page(found: Study) -> Page:
    """The page of a study."""
    # While there is no result, columns are those that there will be.
    outcomes = found.outcomes() if found.figures else [Outcome.read(one) for one in found.plan["outcomes"] or USUAL]
    values = {
        one: {tuple(point.levels.items()): point for point in found.values(one)} if found.figures else {}
        for one in outcomes
    }
    rows: list[Row] = []
    for point in dict.fromkeys(tuple(point.values.items()) for point in found.points):
        its = [values[one].get(point) for one in outcomes]
        cells = [
            text.MISSING
            if value is None
            else estimated(one.figure, estimate(value.values)) + of_seeds(len(value.values), len(value.by_seed))
            for one, value in zip(outcomes, its, strict=True)
        ]
        rows.append([*(level for _, level in point), *cells])
    headers = (*found.columns, *(one.figure for one in outcomes))
    left = text.count(found.asked - found.finished)
    return Page(
        title=found.title,
        lead=[
            Paragraph(f"{found.plan['design']['name']}: {MEANINGS[found.plan['design']['name']]}", "soft"),
            *([Paragraph(alike, "soft")] if (alike := _alike(found, len(rows))) else []),
        ],
        partial=f"{left} of {text.count(found.asked)} runs are still to be done" if found.partial else "",
        remarks=[
            *found.failed,
            *([_not_shown(found)] if found.earlier else []),
            *found.missing,
            *found.caveats,
        ],
        sections=[
            *(
                [Section("All axes at once", [Figure(found.plot.chart)], terminal=False)]
                if outcomes and found.figures
                else []
            ),
            Section("", [Table(headers, rows, left=len(found.columns), most=MOST_ROWS)]),
        ],
        legend="mean ± half the width of its 95 % confidence interval over seeds" if found.seeds != "1" else "",
    )


def figures(found: Study) -> Page:
    """The figures that can be outcomes, but for those of which all runs have 0, which tell none from another."""
    telling = [name for name in found.figures if found.table[name].drop_null().to_numpy().any()]
    left_out = len(found.figures) - len(telling)
    it = "one more is" if left_out == 1 else f"{text.count(left_out)} more are"
    lead = [Paragraph(f"{it} 0 in every run; --json lists all", "soft")] if left_out else []
    return Page(
        title=f"{text.counted(len(telling), 'figures')} that can be outcomes",
        lead=lead,
        sections=[Section("", [Paragraph(name, "code") for name in telling])],
    )
