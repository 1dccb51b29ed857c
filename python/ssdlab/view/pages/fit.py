"""Builds the page of a fitted drive."""

from ssdlab import text
from ssdlab.study.fitting.load import RATE, Figure, label, shown
from ssdlab.study.fitting.result import DriveFit, Fitted
from ssdlab.view.page import Cell, Page, Paragraph, Row, Section, Style, Table

CLOSE = 0.05
"""Maximum relative deviation at which a fitted drive counts as reproducing a measured value."""

FAR = 0.2
"""Minimum relative deviation at which a fitted drive counts as missing a measured value."""

EMPTY = -0.5
"""Relative deviation of the model's random-write rate below which the measured drive is assumed to have been empty."""

MOST_FIGURES = 15
"""Maximum number of metrics that a terminal shows."""


def page(fit: DriveFit) -> Page:
    """Returns the page of a fitted drive."""
    determined = [fitted for fitted in fit.fitted if fitted.is_changed]
    others = [fitted for fitted in fit.fitted if not fitted.is_changed]
    name = "parameters that the measured figures do not determine"
    return Page(
        title=f"drive fitted to {', '.join(map(text.path, fit.sources)) or 'measurements'}",
        lead=[Paragraph(_how(fit))],
        sections=[
            Section("parameters", [_parameters(fit, determined)]),
            Section("figures, largest differences first", [_residuals(fit)]),
            *([Section(name, [_others(others)], detail=True)] if others else []),
        ],
        conclusion=[
            *map(Paragraph, sentences(fit)),
            *([Paragraph("To determine more parameters, measure:")] if others else []),
            *(Paragraph(line, "code") for line in _to_measure(fit)),
        ],
    )


def _how(fit: DriveFit) -> str:
    base = f"preset {fit.base._preset}" if fit.base._preset else "the default drive"
    changed = ", ".join(f"{key}={value}" for key, value in fit.changes.items())
    return f"base: {base}" + (f"; added: {changed}" if changed else "")


def _parameters(fit: DriveFit, fitted: list[Fitted]) -> Table:
    rows = [
        [
            found.parameter.about,
            fit.said(found),
            found.parameter.shown(found.value),
            "bound" if found.deviation is None else f"{100 * found.deviation:.1f} %",
        ]
        for found in fitted
    ]
    return Table(["", "determined by", "value", "+-"], rows, left=2)


def _others(fitted: list[Fitted]) -> Table:
    free = "no measured figure depends on it"
    rows = [
        [found.parameter.about, _inseparable(found) if found.tied else free, found.parameter.shown(found.value)]
        for found in fitted
    ]
    return Table(["", "why", "value used"], rows, left=2)


def _inseparable(fitted: Fitted) -> str:
    return f"cannot be separated from {' and '.join(map(about, fitted.tied))}"


def about(name: str) -> str:
    """Returns the short name of a parameter."""
    return Fitted(name, 0, None).parameter.about.partition(",")[0]


def _residuals(fit: DriveFit) -> Table:
    rows: list[Row] = [
        [
            residual.load.name,
            label(residual.figure, residual.load),
            shown(residual.figure, residual.measured, residual.load),
            shown(residual.figure, residual.model, residual.load),
            Cell(f"{100 * residual.difference:+.1f} %", _style(abs(residual.difference))),
        ]
        for residual in sorted(fit.residuals, key=lambda residual: -abs(residual.difference))
    ]
    return Table(["load", "figure", "measured", "model", "difference"], rows, left=2, most=MOST_FIGURES)


def _style(difference: float) -> Style:
    return "best" if difference <= CLOSE else "bad" if difference > FAR else ""


def sentences(fit: DriveFit) -> list[str]:
    """Returns the outcome of the fit in sentences."""
    met = sum(abs(residual.difference) <= CLOSE for residual in fit.residuals)
    lines = [
        f"{met} of {text.counted(len(fit.residuals), 'figures')} within {100 * CLOSE:.0f} %; root mean square of all "
        f"differences {100 * fit.misfit:.1f} %."
    ]
    lines += [
        f"{residual.load.name}: this rate looks like the rate of an empty drive, but the model is in steady state; "
        "leave it out."
        for residual in fit.residuals
        if residual.figure == Figure("write", RATE)
        and residual.load.pattern == "random"
        and residual.difference < EMPTY
    ]
    for fitted in fit.fitted:
        only = fitted.parameter.only(fit.base, fitted.value) if fitted.deviation is not None else ""
        if only:
            lines.append(f"{fitted.parameter.about}: the measurements determine {only}.")
    return lines


def _to_measure(fit: DriveFit) -> list[str]:
    """Returns the measurements that would determine further parameters, each with the names of these parameters."""
    wanted: dict[str, list[str]] = {}
    for fitted in fit.fitted:
        if fitted.deviation is None:
            tied = f" (currently {_inseparable(fitted)})" if fitted.tied else ""
            wanted.setdefault(fitted.wanted, []).append(about(fitted.name) + tied)
    return [f"{measure}: {', '.join(names)}" for measure, names in wanted.items()]
