"""Builds the report page on the validation of drive fits: of simulated drives, whose parameters are known, and of real
drives, on loads that were not used for the fit.
"""

from ssdlab import text
from ssdlab.study.fitting.parameters import CATALOGUE
from ssdlab.study.validation.fit import HELD_OUT_TOLERANCE, TOLERANCE, Box, FitValidation, Found
from ssdlab.view.page import Cell, Page, Paragraph, Row, Section, Table, verdict
from ssdlab.view.pages.fit import about


def page(validation: FitValidation) -> Page:
    """Returns a page with a row for each real drive, each black box, and each parameter of a black box."""
    sure = [parameter for box in validation.boxes for parameter in box.parameters if parameter.identifiable]
    within = sum(parameter.passed for parameter in sure)
    kept = sum(drive.passed for drive in validation.held_out)
    held = [
        [
            drive.name,
            f"{text.count(drive.measured)}/s",
            f"{text.count(drive.predicted)}/s",
            f"{100 * drive.difference:+.1f} %",
            verdict(drive.passed),
        ]
        for drive in validation.held_out
    ]
    sections = []
    if held:
        headers = ["drive", "measured", "predicted", "error", ""]
        sections.append(Section("maximum write rate, predicted from fits at lower rates", [Table(headers, held)]))
    if validation.boxes:
        headers = ["box", "identifiable parameters", f"within {100 * TOLERANCE:.0f} %", "largest error", "of", ""]
        sections.append(Section("black-box drives", [Table(headers, [*map(_summary, validation.boxes)], left=1)]))
        headers = ["box", "parameter", "true", "fitted", "+-", "error", ""]
        rows = [row for box in validation.boxes for row in _rows(box)]
        sections.append(Section("parameters of the black-box drives", [Table(headers, rows, left=2)], detail=True))
    return Page(
        title="Fitted drives, compared with known parameters and held-out loads",
        sections=sections,
        conclusion=[
            Paragraph(
                f"{within} of {text.counted(len(sure), 'identifiable parameters')} within {100 * TOLERANCE:.0f} %; "
                f"maximum write rate within {100 * HELD_OUT_TOLERANCE:.0f} % for {kept} of "
                f"{text.counted(len(held), 'drives')}"
            )
        ],
    )


def _summary(box: Box) -> Row:
    sure = [parameter for parameter in box.parameters if parameter.identifiable]
    within = sum(parameter.passed for parameter in sure)
    worst = [text.MISSING] * 2
    if sure:
        largest = max(sure, key=lambda parameter: abs(parameter.error))
        worst = [f"{100 * largest.error:+.1f} %", about(largest.name)]
    return [str(box.number), str(len(sure)), str(within), *worst, verdict(box.passed)]


def _rows(box: Box) -> list[Row]:
    rows: list[Row] = []
    for found in box.parameters:
        parameter = CATALOGUE[found.name]
        shown = [text.MISSING] * 3
        if found.deviation is not None:
            shown = [parameter.shown(found.fitted), f"{100 * found.deviation:.1f} %", f"{100 * found.error:+.1f} %"]
        tied = " and ".join(about(name) for name in found.tied)
        name = f"{parameter.about}, together with {tied}" if tied and found.deviation is not None else parameter.about
        rows.append([str(box.number), name, parameter.shown(found.true), *shown, _outcome(found, tied)])
    return rows


def _outcome(found: Found, tied: str) -> str | Cell:
    if found.identifiable:
        return verdict(found.passed)
    if found.deviation is not None:
        return f"uncertain by more than {50 * TOLERANCE:.0f} %"
    return f"cannot be separated from {tied}" if tied else "no measured figure depends on it"
