"""Turns a screening into runs: a row per point, scheduler and seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ssdlab._ssdlab import ConfigError
from ssdlab.study.screening.definition import Form, Screening
from ssdlab.study.store.table import Point as Row
from ssdlab.study.sweep.axes import Point
from ssdlab.study.sweep.design import SCREENING
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

    def to_dict(self) -> dict[str, Any]:
        """Returns the plan of the screening's study, ready for JSON."""
        levels: Mapping[str, Sequence[str]] = {
            PART: [*dict.fromkeys(row.values[PART] for row in self.rows)],
            **{one.name: [*one.levels] for one in self.form.factors},
            SCHEDULER: [*self.screening.schedulers],
        }
        return {
            "design": {"name": SCREENING, "samples": None, "resolution": self.form.resolution, "seed": 1},
            "axes": [
                {"keys": [name], "levels": [[label] for label in labels], "range": False, "log": False}
                for name, labels in levels.items()
            ],
            # Parts of a screening may differ in their number of seeds, so a point consists of all rows with equal
            # levels.
            "seeds": None,
            "outcomes": [path for one in self.screening.figures for path in one.value.paths],
            "source": None,
            "configuration": next(iter(self.runs.values())).config.to_dict(),
            "columns": [*levels],
            "points": [([row.values[name] for name in levels], row.seed, row.key) for row in self.rows],
        }
