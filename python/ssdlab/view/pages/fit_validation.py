"""Builds the report page on the validation of drive fits, for simulated and for real drives. The parameters of the
simulated drives are known. Fits of real drives are tested on loads that were not used for the fit.
"""

from ssdlab import text
from ssdlab.study.fitting.parameters import CATALOGUE
from ssdlab.study.validation.fit import HELD_OUT_TOLERANCE, TOLERANCE, Box, FitValidation, Found
from ssdlab.view.page import Cell, Page, Paragraph, Row, Section, Table
from ssdlab.view.pages.fit import about


def page(validation: FitValidation) -> Page:
    """Returns a page with a row for each real drive, each black box, and each parameter of a black box."""
    sure = [one for box in validation.boxes for one in box.parameters if one.identifiable]
    within = sum(one.passed for one in sure)
    kept = sum(one.passed for one in validation.held_out)
    held = [
        [
            one.name,
            f"{text.count(one.measured)}/s",
            f"{text.count(one.predicted)}/s",
            f"{100 * one.difference:+.1f} %",
            _verdict(one.passed),
        ]
        for one in validation.held_out
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
    sure = [one for one in box.parameters if one.identifiable]
    within = sum(one.passed for one in sure)
    worst = [text.MISSING] * 2
    if sure:
        largest = max(sure, key=lambda one: abs(one.error))
        worst = [f"{100 * largest.error:+.1f} %", about(largest.name)]
    return [str(box.number), str(len(sure)), str(within), *worst, _verdict(box.passed)]


def _rows(box: Box) -> list[Row]:
    rows: list[Row] = []
    for one in box.parameters:
        parameter = CATALOGUE[one.name]
        shown = [text.MISSING] * 3
        if one.deviation is not None:
            shown = [parameter.shown(one.fitted), f"{100 * one.deviation:.1f} %", f"{100 * one.error:+.1f} %"]
        tied = " and ".join(about(name) for name in one.tied)
        name = f"{parameter.about}, together with {tied}" if tied and one.deviation is not None else parameter.about
        rows.append([str(box.number), name, parameter.shown(one.true), *shown, _outcome(one, tied)])
    return rows


def _outcome(found: Found, tied: str) -> str | Cell:
    if found.identifiable:
        return _verdict(found.passed)
    if found.deviation is not None:
        return f"uncertain by more than {50 * TOLERANCE:.0f} %"
    return f"cannot be separated from {tied}" if tied else "no measured figure depends on it"


def _verdict(passed: bool) -> str | Cell:
    return "pass" if passed else Cell("MISS", "bad")
