"""What a screening consists of."""

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
"""Sections that hold for the first drive alone: what they decide is in the trace that the second replays."""

BASELINES = ("best", "mean", "worst")
"""What of the others the thing is set against."""


@dataclass(frozen=True)
class Level:
    """A level of a factor, or a scheduler."""

    settings: Settings
    """Of both drives, but for `ABOVE_ONLY`."""
    below: Settings
    """Of the second drive alone."""
    taking: Mapping[str, object]
    """Fields of `Taking`."""


@dataclass(frozen=True)
class Factor:
    """What may matter, at two levels."""

    name: str
    levels: Mapping[str, Level]
    """By label; the first is the lower."""

    @property
    def axis(self) -> Axis:
        """As designs take it."""
        return Axis((self.name,), tuple({self.name: label} for label in self.levels))


@dataclass(frozen=True)
class Figure:
    """What of a run is compared."""

    name: str
    value: Value
    small: bool
    """Whether less is better."""
    gain: str
    """What a gain is called, such as `fewer erases`."""


@dataclass(frozen=True)
class Claim:
    """A gain that a document reports."""

    figure: str
    against: str
    """One of `BASELINES`."""
    least: float
    """In %."""
    says: str


@dataclass(frozen=True)
class Form:
    """How much is run."""

    settings: Settings
    seeds: int
    """Of each point of the first part."""
    fresh_seeds: int
    """Of each point of a refinement; others than those."""
    resolution: int
    """Of the design over all factors."""
    refined: int
    """Factors at most that all combinations are run of."""
    factors: tuple[Factor, ...]
    """What may matter; a form has levels of its own where its drives are larger."""

    @property
    def design(self) -> Design:
        """Of the first part."""
        return Design("factorial", None, self.resolution)

    @property
    def axes(self) -> list[Axis]:
        """The factors as designs take them."""
        return [one.axis for one in self.factors]


@dataclass(frozen=True)
class Screening:
    """A question about conditions; see `load`."""

    name: str
    file: str
    """Where it was read from, as messages show it."""
    source: str
    """The TOML document; its comments give reasons."""
    title: str
    document: str
    settings: Settings
    below: Settings
    schedulers: Mapping[str, Level]
    """What is compared, by name."""
    tested: str
    """The one that the others are set against."""
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    forms: Mapping[str, Form]

    @property
    def others(self) -> list[str]:
        """What the tested one is set against."""
        return [name for name in self.schedulers if name != self.tested]

    def figure(self, name: str) -> Figure:
        """The figure of that name, which must be there."""
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
        """Runs it, what its folder holds already left out.

        The result depends on form and overrides alone: neither on `jobs` or `cluster` nor on
        interruptions.

        Args:
            form: How much is run: `short` or `full`.
            overrides: Settings that replace those of the screening, as of `Config`.
            out: Folder, in which `study` becomes the study with every run; nothing is kept if left out.
            jobs: Worker processes at a time; one per processor if None.
            cluster: Address of a Dask scheduler whose workers do the runs instead.
            monitor: Told how many runs are finished; something true ends them, and what is finished is kept.

        Raises:
            ConfigError: If settings are wrong, or the folder or the cluster cannot be used.
            OSError: If the folder cannot be written; what is finished is kept.
        """
        with following(monitor) as shown:
            found: Screened = room("study.screening.running").run(
                self, form, tuple(as_written(overrides)), out, jobs, cluster, shown
            )
        return found

    def run_at(self, point: Point, scheduler: str, seed: int, form: Form, overrides: Overrides = ()) -> Run:
        """The run of a scheduler at a point.

        Raises:
            ConfigError: If its settings are wrong, or do not fit each other; with the file.
        """
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
                told = without_positions(str(error), [name for name, _ in named]).removeprefix(f"{self.file}: ")
                raise ConfigError(f"{self.file}: {scheduler} at {places}: {told}") from None
            drives.append(config)
        above, below = drives
        return Run.on_two(above, Below(below, Taking(**taking)))  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, object]:
        """What it has, ready for JSON."""
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
