"""Builds the report page that compares write amplification with theory."""

from ssdlab.study.validation.amplification import TOLERANCE, Amplification, Outcome
from ssdlab.view.page import Page, Paragraph, Row, Section, Table, known, verdict

HEADERS = ("row", "workload", "policy", "B", "spare", "theory", "reference", "ours", "difference", "")
LEGEND = (
    "spare: share of physical flash; reference: an independent simulation; difference: from theory, or from the "
    "reference if theory has no formula. separated: two independent devices with uniform writes; write amplification "
    "is their mean, weighted by writes."
)


def page(validation: Amplification) -> Page:
    """Returns the report page, with a table row for each simulated row of the reference table."""
    rows = f"{sum(outcome.passed for outcome in validation.outcomes)} of {validation.asked} rows"
    worst = max((abs(outcome.difference) for outcome in validation.outcomes), default=0.0)
    return Page(
        title="Write amplification compared with theory",
        partial=f"{len(validation.outcomes)} of {validation.asked} rows were simulated" if validation.partial else "",
        sections=[Section("", [Table(HEADERS, [*map(_row, validation.outcomes)], left=3)])],
        legend=LEGEND,
        conclusion=[Paragraph(f"{rows} within {100 * TOLERANCE:g} %; largest difference {100 * worst:.2f} %")],
    )


def _row(outcome: Outcome) -> Row:
    row = outcome.row
    workload = row.workload.split(" (")[0]
    if row.hot_requests is not None:
        workload += f" {row.hot_requests:g}/{row.hot_space:g}"
    return [
        str(row.number),
        workload,
        row.policy,
        str(row.pages_per_block),
        f"{100 * (1 - 1 / row.alpha):.2f} %",
        known("{:.4f}".format, row.analytic),
        f"{row.simulated:.4f}",
        f"{outcome.ours:.4f}",
        f"{100 * outcome.difference:+.2f} %",
        verdict(outcome.passed),
    ]
