"""Parts of a screening: factors, levels, metrics and claims."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import room
from ssdlab.model.config import Overrides, Sets, as_written, set_by
from ssdlab.model.notebook import following
from ssdlab.model.requests import Monitor
from ssdlab.study.experiments.definition import Settings, config_of_layers, without, without_positions
from ssdlab.study.experiments.expression import Value
from ssdlab.study.sweep.axes import Axis, Point
from ssdlab.study.sweep.design import Design
from ssdlab.study.work.below import Below, Taking
from ssdlab.study.work.run import Run

if TYPE_CHECKING:
    from ssdlab.study.screening.result import Screened

ABOVE_ONLY = ("workload", "block", "host")
"""Sections of settings for the first drive only, because the trace for the second drive already reflects them."""

BASELINES = ("best", "mean", "worst")
"""Statistics of the other schedulers' values that can serve as the baseline for the tested scheduler."""


@dataclass(frozen=True)
class Level:
    """Settings of a factor level or of a scheduler, for both drives; `ABOVE_ONLY` sections for the first drive only."""

    settings: Settings
    below: Settings
    """Settings for the second drive only."""
    taking: Mapping[str, object]
    """Values of the fields of `Taking`."""


@dataclass(frozen=True)
class Factor:
    """A condition with two levels, the lower level first."""

    name: str
    levels: Mapping[str, Level]

    @property
    def axis(self) -> Axis:
        """Returns the factor as an axis of a design."""
        return Axis((self.name,), tuple({self.name: label} for label in self.levels))


@dataclass(frozen=True)
class Figure:
    """A metric for comparing schedulers."""

    name: str
    value: Value
    small: bool
    """True if a smaller value is better."""
    gain: str
    """Phrase for a gain in the metric, such as `fewer erases`."""


@dataclass(frozen=True)
class Claim:
    """A paper's claim that the tested scheduler improves a metric."""

    figure: str
    against: str
    """Statistic of the others' values with which the claim compares; one of `BASELINES`."""
    least: float
    """Minimum gain according to the claim, in percent."""
    says: str


@dataclass(frozen=True)
class Form:
    """Size of a screening, such as `short` or `full`: factors, seeds and resolution."""

    settings: Settings
    seeds: int
    """Number of seeds per point in the first part of the screening, which varies all factors."""
    fresh_seeds: int
    """Number of fresh seeds per point of a refinement."""
    resolution: int
    refined: int
    """Maximum number of factors in a refinement."""
    factors: tuple[Factor, ...]
    """Factors, whose levels may differ between forms."""

    @property
    def design(self) -> Design:
        """Design that varies all factors."""
        return Design("factorial", None, self.resolution)

    @property
    def axes(self) -> list[Axis]:
        """Factors as axes of a design."""
        return [one.axis for one in self.factors]


@dataclass(frozen=True)
class Screening:
    """A screening as read from its file; see `load`."""

    name: str
    file: str
    """Path of the screening's file, as shown in messages."""
    source: str
    """Text of the screening's TOML file."""
    title: str
    document: str
    settings: Settings
    below: Settings
    schedulers: Mapping[str, Level]
    tested: str
    """Name of the scheduler that is compared to all others."""
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    forms: Mapping[str, Form]

    @property
    def others(self) -> list[str]:
        """Names of all schedulers except the tested one."""
        return [name for name in self.schedulers if name != self.tested]

    def figure(self, name: str) -> Figure:
        """Returns the metric with the given name, which must exist."""
        return next(one for one in self.figures if one.name == name)

    def run(
        self,
        *,
        form: str = "short",
        overrides: Overrides = (),
        out: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
        cluster: str | None = None,
        monitor: Monitor | None = None,
    ) -> "Screened":
        """Runs the screening; finished runs in the folder are not repeated.

        The result depends only on `form` and `overrides`.

        Args:
            form: Size of the screening: `short` or `full`.
            overrides: Settings that replace settings of the screening, as for `Config`.
            out: Folder; its subfolder `study` stores every run. By default nothing is saved.
            jobs: Number of worker processes; one per processor if None.
            cluster: Address of a Dask scheduler whose workers execute the runs instead.
            monitor: Called with the number of finished runs. A true return value stops the screening; finished runs are
                kept.

        Raises:
            ConfigError: If settings are invalid, or the folder or the cluster cannot be used.
            OSError: If the folder cannot be written; finished runs are kept.
        """
        with following(monitor) as shown:
            result: Screened = room("study.screening.running").run(
                self, form, tuple(as_written(overrides)), out, jobs, cluster, shown
            )
        return result

    def run_at(self, point: Point, scheduler: str, seed: int, form: Form, overrides: Overrides = ()) -> Run:
        """Returns the run that simulates the scheduler at a point of the screening's design."""
        levels = [
            *((f"factor {one.name}: {point[one.name]}", one.levels[point[one.name]]) for one in form.factors),
            (f"scheduler {scheduler}", self.schedulers[scheduler]),
        ]
        sets: Sets = set_by("--set", overrides)
        first = [
            ("[set]", self.settings),
            ("[form]", form.settings),
            *((place, level.settings) for place, level in levels),
            ("seed", {"seed": seed}),
            ("trace", {"block.record": True}),
        ]
        second = [
            *((place, without(settings, *ABOVE_ONLY)) for place, settings in first),
            ("[below]", self.below),
            *((f"{place}: below", level.below) for place, level in levels),
        ]
        taking: dict[str, object] = {}
        for _, level in levels:
            taking |= level.taking
        drives = []
        for layers in (first, second):
            named = [(f"{self.file}: {place}", settings) for place, settings in layers]
            config = config_of_layers(self.file, named, sets)
            try:
                config.check()
            except ConfigError as error:
                places = ", ".join(f"{name} {label}" for name, label in point.items())
                message = without_positions(str(error), [name for name, _ in named]).removeprefix(f"{self.file}: ")
                raise ConfigError(f"{self.file}: {scheduler} at {places}: {message}") from None
            drives.append(config)
        above, below = drives
        return Run.on_two(above, Below(below, Taking(**taking)))  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, object]:
        """Returns a summary of the screening, ready for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "document": self.document,
            "schedulers": [*self.schedulers],
            "tested": self.tested,
            "claims": [one.says for one in self.claims],
            "forms": {
                name: {
                    "seeds": one.seeds,
                    "fresh_seeds": one.fresh_seeds,
                    "resolution": one.resolution,
                    "refined": one.refined,
                    "factors": {factor.name: [*factor.levels] for factor in one.factors},
                }
                for name, one in self.forms.items()
            },
        }
