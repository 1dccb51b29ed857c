"""Builds the page of a fitted drive."""

from ssdlab import text
from ssdlab.study.fitting.load import RATE, Figure, label, shown
from ssdlab.study.fitting.result import DriveFit, Fitted, Residual
from ssdlab.view.page import Cell, Page, Paragraph, Row, Section, Table

CLOSE = 0.05
"""Maximum relative deviation at which a fitted drive counts as reproducing a measured value."""

FAR = 0.2
"""Minimum relative deviation at which a fitted drive counts as missing a measured value."""

EMPTY = -0.5
"""The measured drive is assumed to have been empty if the relative deviation of the model's random-write rate from the
measured rate is below this value.
"""

MOST_FIGURES = 15
"""Maximum number of metrics that a terminal shows."""


def page(fit: DriveFit) -> Page:
    """Returns the page of a fitted drive."""
    determined = [one for one in fit.fitted if one.is_changed]
    others = [one for one in fit.fitted if not one.is_changed]
    name = "parameters that the measured figures do not determine"
    undetermined = [Section(name, [_others(others)], detail=True)] if others else []
    return Page(
        title=f"drive fitted to {', '.join(map(text.path, fit.sources)) or 'measurements'}",
        lead=[Paragraph(_how(fit))],
        sections=[
            Section("parameters", [_parameters(fit, determined)]),
            Section("figures, largest differences first", [_residuals(fit)]),
            *undetermined,
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
            one.parameter.about,
            fit.said(one),
            one.parameter.shown(one.value),
            "bound" if one.deviation is None else f"{100 * one.deviation:.1f} %",
        ]
        for one in fitted
    ]
    return Table(["", "determined by", "value", "+-"], rows, left=2)


def _others(fitted: list[Fitted]) -> Table:
    rows = [[one.parameter.about, _why(one), one.parameter.shown(one.value)] for one in fitted]
    return Table(["", "why", "value used"], rows, left=2)


def _why(fitted: Fitted) -> str:
    if not fitted.tied:
        return "no measured figure depends on it"
    return f"cannot be separated from {' and '.join(map(about, fitted.tied))}"


def about(name: str) -> str:
    """Returns the short name of a parameter."""
    return Fitted(name, 0, None).parameter.about.partition(",")[0]


def _residuals(fit: DriveFit) -> Table:
    rows: list[Row] = [
        [
            one.load.name,
            label(one.figure, one.load),
            shown(one.figure, one.measured, one.load),
            shown(one.figure, one.model, one.load),
            _difference(one),
        ]
        for one in sorted(fit.residuals, key=lambda one: -abs(one.difference))
    ]
    return Table(["load", "figure", "measured", "model", "difference"], rows, left=2, most=MOST_FIGURES)


def _difference(one: Residual) -> Cell:
    written = f"{100 * one.difference:+.1f} %"
    style = abs(one.difference)
    return Cell(written, "best" if style <= CLOSE else "bad" if style > FAR else "")


def sentences(fit: DriveFit) -> list[str]:
    """Returns the outcome of the fit in sentences."""
    met = sum(abs(one.difference) <= CLOSE for one in fit.residuals)
    lines = [
        f"{met} of {text.counted(len(fit.residuals), 'figures')} within {100 * CLOSE:.0f} %; root mean square of all "
        f"differences {100 * fit.misfit:.1f} %."
    ]
    lines += [
        f"{one.load.name}: this rate looks like the rate of an empty drive, but the model is in steady state; leave it "
        "out."
        for one in fit.residuals
        if one.figure == Figure("write", RATE) and one.load.pattern == "random" and one.difference < EMPTY
    ]
    for one in fit.fitted:
        only = one.parameter.only(fit.base, one.value) if one.deviation is not None else ""
        if only:
            lines.append(f"{one.parameter.about}: the measurements determine {only}.")
    return lines


def _to_measure(fit: DriveFit) -> list[str]:
    """Returns the measurements that would determine further parameters of the drive. Each measurement is followed by
    the names of the parameters.
    """
    wanted: dict[str, list[str]] = {}
    for one in fit.fitted:
        if one.deviation is None:
            with_others = (
                f" (currently cannot be separated from {' and '.join(map(about, one.tied))})" if one.tied else ""
            )
            wanted.setdefault(one.wanted, []).append(about(one.name) + with_others)
    return [f"{measure}: {', '.join(names)}" for measure, names in wanted.items()]
