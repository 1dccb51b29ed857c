"""The result of fitting a drive."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ssdlab import text
from ssdlab.model.config import Config
from ssdlab.model.finding import Contents, Finding
from ssdlab.study.fitting.load import Figure, Load, label
from ssdlab.study.fitting.parameters import CATALOGUE, Parameter, settings_of


@dataclass(frozen=True)
class Fitted:
    """Result of the fit for one parameter."""

    name: str
    value: float
    """Fitted value, or the base drive's value if the metrics neither determine nor bound the parameter."""
    deviation: float | None
    """Relative standard deviation; None if the metrics do not determine the parameter."""
    figures: tuple[tuple[str, Figure], ...] = ()
    """Loads and metrics that determine the parameter, most important first."""
    tied: tuple[str, ...] = ()
    """Parameters that affect the metrics in the same way as this parameter; only their combination is determined."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Changes of the logarithms of the stage's determined parameters that have the same effect on the metrics as
    raising this parameter's logarithm by 1; empty if this parameter is determined.
    """
    bounded: bool = False
    """True if the metrics do not determine the parameter, but contradict the base drive's value."""
    wanted: str = ""
    """Measurement that would determine the parameter."""

    @property
    def parameter(self) -> Parameter:
        """Definition of the parameter."""
        return CATALOGUE[self.name]

    @property
    def is_changed(self) -> bool:
        """True if the fitted drive's value differs from the base drive's value."""
        return self.deviation is not None or self.bounded


@dataclass(frozen=True)
class Residual:
    """A measured metric, and the same metric of the fitted drive."""

    load: Load
    figure: Figure
    measured: float
    model: float

    @property
    def difference(self) -> float:
        """Relative deviation of the fitted drive from the measurement."""
        return self.model / self.measured - 1


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DriveFit(Finding):
    """A drive fitted to measurements.

    Files: `report.html`, `fit.json`, `residuals.csv`, and the fitted drive as `drive.toml`.
    """

    _page = "fit"
    _json = "fit.json"
    saved = "report.html, fit.json, residuals.csv and drive.toml"

    base: Config
    """The full-size base drive from which the fit started."""
    small: Config
    """The fitted drive as simulated: it has the times and dies of the full-size drive, but shorter blocks."""
    sources: Sequence[str]
    changes: Mapping[str, str]
    """Settings that enable mechanisms, or select variants of mechanisms, that the base drive does not use."""
    fitted: Sequence[Fitted]
    residuals: Sequence[Residual]

    @property
    def values(self) -> dict[str, float]:
        """Values of the determined and the bounded parameters by name."""
        return {one.name: one.value for one in self.fitted if one.is_changed}

    @property
    def config(self) -> Config:
        """The fitted drive at full size."""
        return self.base.changed(self._settings())

    def _settings(self) -> dict[str, str]:
        drive = self.base.changed({**self.changes}) if self.changes else self.base
        return {**self.changes, **settings_of(drive, self.values)}

    @property
    def misfit(self) -> float:
        """Root mean square of the relative differences between the fitted drive and the measurements."""
        return math.sqrt(sum(one.difference**2 for one in self.residuals) / len(self.residuals))

    def to_toml(self) -> str:
        """Returns the fitted drive as a configuration file with a source for every fitted number."""
        lines = [f"# Fitted by ssdlab to {', '.join(map(text.path, self.sources)) or 'measurements'}"]
        if self.base._preset is not None:
            lines += ["", f"preset = {json.dumps(self.base._preset)}"]
        kept = [one for one in self.base.settings if one.key in self.base.made and one.key not in self._settings()]
        written = {**{one.key: one.value.strip('"') for one in kept}, **self._settings()}
        # In TOML, setting a parameter of a variant also selects the variant.
        implied = {
            key for key, value in written.items() if any(other.startswith(f"{key}.{value}.") for other in written)
        }
        if kept:
            listed = [f"{one.key} = {one.value}" for one in kept if one.key not in implied]
            lines += ["", "# Set by the user for the base configuration", *listed]
        drive = self.base.changed({**self.changes}) if self.changes else self.base
        left = {key: value for key, value in self._settings().items() if key not in implied}
        for one in self.fitted:
            if not one.is_changed:
                continue
            parameter = one.parameter
            precision = "(a bound)" if one.deviation is None else f"+- {100 * one.deviation:.1f} %"
            own = {key: left.pop(key) for key in parameter.settings(drive, self.values) if key in left}
            lines += [
                "",
                f"# {parameter.about}: {parameter.shown(one.value)} {precision}, fitted to {self.said(one)}",
                *(f"{key} = {_toml(value)}" for key, value in own.items()),
            ]
        if left:
            lines += [
                "",
                "# Mechanisms that fit the measurements best",
                *(f"{key} = {_toml(left[key])}" for key in left),
            ]
        return "\n".join([*lines, ""])

    def said(self, fitted: Fitted) -> str:
        """Describes which load and metrics determine a parameter most, and how many more loads contribute."""
        loads: dict[str, list[Figure]] = {}
        for load, figure in fitted.figures:
            loads.setdefault(load, []).append(figure)
        (first, figures), *more = loads.items()
        labels = {(one.load.name, one.figure): label(one.figure, one.load) for one in self.residuals}
        # A stage may be fitted to differences between metrics, which have no residual and therefore no label.
        names = ", ".join(labels.get((first, figure), str(figure)) for figure in figures[:2])
        others = f", {text.counted(len(more), 'more loads')}" if more else ""
        return f"{names} of {first}{others}"

    def to_dict(self) -> dict[str, Any]:
        """Returns parameters, settings and residuals, ready for JSON."""
        return {
            "parameters": [
                {
                    "name": one.name,
                    "about": one.parameter.about,
                    "unit": {"time": "ns", "bandwidth": "bytes/s", "size": "bytes"}.get(one.parameter.unit, ""),
                    "value": one.value,
                    "deviation": one.deviation,
                    "bounded": one.bounded,
                    "figures": [{"load": load, "figure": str(figure)} for load, figure in one.figures],
                    "tied": [*one.tied],
                    "measure": one.wanted,
                }
                for one in self.fitted
            ],
            "settings": self._settings(),
            "residuals": [
                {
                    "load": one.load.name,
                    "figure": str(one.figure),
                    "measured": one.measured,
                    "model": one.model,
                    "difference": one.difference,
                }
                for one in self.residuals
            ],
            "misfit": self.misfit,
        }

    def _source(self) -> Mapping[str, Any]:
        return {"kind": "reference", "name": ", ".join(map(text.path, self.sources))}

    def _configuration(self) -> dict[str, Any]:
        return self.config.to_dict()

    def _tables(self) -> Contents:
        head = ("load", "figure", "measured", "model", "difference")
        rows = [(one.load.name, str(one.figure), one.measured, one.model, one.difference) for one in self.residuals]
        return {"residuals.csv": [head, *rows], "drive.toml": self.to_toml()}

    def __repr__(self) -> str:
        return f"<ssdlab.DriveFit of {len(self.values)} parameters to {len(self.residuals)} measured values>"


def _toml(value: str) -> str:
    return value if value.isdecimal() or value in ("true", "false") else json.dumps(value)
