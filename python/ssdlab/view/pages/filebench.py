"""Builds the report page that compares generated with captured Filebench workloads."""

from ssdlab.study.validation.filebench import RELATIVE, SHARE_POINTS, STATISTICS, Filebench
from ssdlab.view.page import Cell, Page, Paragraph, Row, Section, Table, verdict

HEADERS = ("workload", "statistic", "unit", "captured", "generated", "difference", "tolerance", "", "")


def page(validation: Filebench) -> Page:
    """Returns a report page with a row for each statistic of each workload, and the reasons for wide tolerances."""
    reasons = list(dict.fromkeys(outcome.row.reason for outcome in validation.outcomes if outcome.row.reason))
    rows: list[Row] = []
    for outcome in validation.outcomes:
        row = outcome.row
        statistic, unit = STATISTICS[row.statistic]
        rows.append(
            [
                row.workload,
                statistic,
                unit,
                f"{row.captured:.2f}",
                f"{outcome.generated:.2f}",
                f"{outcome.difference:+.2f}",
                f"{row.tolerance:g}",
                f"({reasons.index(row.reason) + 1})" if row.reason else "",
                Cell("gap", "gap") if outcome.passed and not outcome.alike else verdict(outcome.passed),
            ]
        )
    alike = sum(outcome.alike for outcome in validation.outcomes)
    gaps = sum(outcome.passed and not outcome.alike for outcome in validation.outcomes)
    missed = sum(not outcome.passed for outcome in validation.outcomes)
    general = f"{SHARE_POINTS:g} points or {100 * RELATIVE:g} %"
    return Page(
        title="Filebench: generated compared with captured workloads",
        sections=[Section("", [Table(HEADERS, rows, left=3)])],
        legend="\n".join(f"({number}) {reason}" for number, reason in enumerate(reasons, 1)),
        conclusion=[
            Paragraph(
                f"{alike} of {len(validation.outcomes)} statistics within {general}; {gaps} known gaps "
                f"(reasons below the table); {missed} beyond tolerance"
            )
        ],
    )
