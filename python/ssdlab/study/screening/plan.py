"""Turns a screening into runs: a row per point, scheduler and seed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ssdlab._ssdlab import ConfigError
from ssdlab.study.screening.definition import Form, Screening
from ssdlab.study.store.table import Point as Row
from ssdlab.study.sweep.axes import Axis, Point
from ssdlab.study.sweep.design import SCREENING, Design
from ssdlab.study.sweep.plan import Plan as SweepPlan
from ssdlab.study.sweep.plan import Question
from ssdlab.study.work.run import Run

PART, SCHEDULER = "part", "scheduler"
"""Names of the study's columns that are not factors."""

FIRST = "screening"
"""Name of the first part of a screening. Each refinement is named after its claim."""


@dataclass
class Plan:
    """The planned rows of a screening; each part adds rows that depend on the results of earlier parts."""

    screening: Screening
    form: Form
    overrides: tuple[str, ...]
    rows: list[Row] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    """Runs by key; rows with identical settings share a run."""

    def __post_init__(self) -> None:
        if any(one.partition("=")[0].strip() == "seed" for one in self.overrides):
            raise ConfigError("seed: a screening uses its own seeds, starting at 1; omit seed")

    def add(self, part: str, points: Sequence[Point], seeds: range) -> None:
        """Adds the rows of the given points, for every scheduler and seed."""
        screening = self.screening
        for point in points:
            for seed in seeds:
                for scheduler in screening.schedulers:
                    run = screening.run_at(point, scheduler, seed, self.form, self.overrides)
                    self.runs.setdefault(run.key, run)
                    self.rows.append(Row({PART: part, **point, SCHEDULER: scheduler}, seed, run.key))

    def as_sweep(self) -> SweepPlan:
        """Returns the plan as a sweep over parts, factors and schedulers."""
        levels: Mapping[str, Iterable[str]] = {
            PART: dict.fromkeys(row.values[PART] for row in self.rows),
            **{one.name: one.levels for one in self.form.factors},
            SCHEDULER: self.screening.schedulers,
        }
        axes = tuple(Axis((name,), tuple({name: label} for label in labels)) for name, labels in levels.items())
        outcomes = tuple(path for one in self.screening.figures for path in one.value.paths)
        asked = Question(axes, next(iter(self.runs.values())).config, outcomes=outcomes)
        design = Design(SCREENING, None, self.form.resolution)
        # Parts of a screening may differ in their number of seeds, so a point consists of all rows with equal levels.
        return SweepPlan(asked, design, tuple(levels), tuple(self.rows), self.runs, {"seeds": None})
