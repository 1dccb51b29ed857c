"""Results of a search by `ssdlab tune`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ssdlab.model.config import Config
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.model.remarks import Spare
from ssdlab.study.survey.outcome import CONFIDENCE, Estimate, estimate
from ssdlab.study.sweep.axes import Point
from ssdlab.study.tuning.goal import Constraint, Goal, Measured, mean


class Trial(NamedTuple):
    """A point that the search has tried."""

    point: Point
    """Values of the axes that apply to the point, written as settings."""
    warm: bool
    """True if the point's results were reused from another study."""
    measured: Measured


class Finalist(NamedTuple):
    """One of the best points, run again with seeds that the search did not use."""

    config: Config
    point: Point
    searched: Measured
    fresh: Measured
    """Measurements during the search, and with fresh seeds."""
    best: bool
    """True for the best point; with several outcomes, for points on the Pareto front."""
    spare: Spare | None = None
    """Spare space of the drive, if it differs from the requested spare space."""
    as_given: bool = False
    """True for the unchanged configuration, or if only the requested spare space differs and the drive is the same."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Tuned(Finding):
    """The best configurations that a search has found.

    Files: `report.html`, `tuning.json`, `trials.csv` with a line per trial, and the best configuration as `best.toml`.
    With several outcomes, the configurations on the Pareto front are `best-1.toml` and so on.
    """

    _page = "tuning"
    _json = "tuning.json"
    _optional = ("best*.toml",)
    saved = "report.html, tuning.json, trials.csv and best.toml (several outcomes: best-1.toml, best-2.toml ...)"

    base: Config
    source: Mapping[str, Any] | None
    axes: Sequence[str]
    goals: Sequence[Goal]
    constraints: Sequence[Constraint]
    seeds: int
    """Number of runs per trial, one per seed."""
    repeats: int
    """Number of fresh seeds for repeating the best points (finalists)."""
    asked: int
    exhausted: bool
    """True if every point of the space was tried."""
    trials: Sequence[Trial]
    finalists: Sequence[Finalist]
    """Best trials by their results with fresh seeds, best first; with several outcomes, the Pareto front."""
    unchanged: Measured | None
    """Measurements of the unchanged configuration with the fresh seeds, if it was run."""
    importance: Mapping[str, Mapping[str, float]]
    """Share of each axis in whether a point is among the best tenth, by outcome or constraint."""
    notes: Sequence[str] = ()
    modes: str = ""
    """Title suffix that names the replay modes of the runs whose requests have timestamps."""

    @property
    def partial(self) -> bool:
        """True if some trials or repeats are missing."""
        return (len(self.tried) < self.asked and not self.exhausted) or self.unchanged is None

    @property
    def tried(self) -> list[Trial]:
        """Trials that this search ran itself, without reused results."""
        return [one for one in self.trials if not one.warm]

    @property
    def best(self) -> Finalist | None:
        """Best finalist (with several outcomes, by the first outcome); None if no point could be run."""
        return next((one for one in self.finalists if one.best), None)

    @property
    def feasible(self) -> bool:
        """True if the best finalist meets all constraints."""
        return self.best is not None and self.best.fresh.feasible(self.constraints)

    def lead(self) -> Estimate | None:
        """Returns the lead of the best finalist over the second, from their differences at each seed. None with several
        outcomes, or if only one of the two meets the constraints.
        """
        if len(self.goals) > 1 or len(self.finalists) < 2:
            return None
        first, second = (one.fresh for one in self.finalists[:2])
        if first.error or second.error or first.feasible(self.constraints) != second.feasible(self.constraints):
            return None
        sign = 1.0 if self.goals[0].large else -1.0
        return estimate([sign * (a - b) for a, b in zip(first.goals[0], second.goals[0], strict=True)])

    def _named(self, measured: Measured) -> dict[str, Any]:
        """Returns the means of all goals and constrained metrics, by name."""
        names = [*(goal.name for goal in self.goals), *(one.value.text for one in self.constraints)]
        if measured.error is not None:
            return dict.fromkeys(names)
        return dict(zip(names, map(mean, (*measured.goals, *measured.constraints)), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Returns goals, finalists, importance and trials, ready for JSON."""
        return {
            "outcomes": {goal.name: {"value": goal.value.text, "better": goal.sense} for goal in self.goals},
            "constraints": [one.name for one in self.constraints],
            "seeds": self.seeds,
            "repeats": self.repeats,
            "confidence": CONFIDENCE,
            "asked": self.asked,
            "exhausted": self.exhausted,
            "tried": len(self.tried),
            "warm": len(self.trials) - len(self.tried),
            "feasible": self.feasible,
            "unchanged": None if self.unchanged is None else self._named(self.unchanged),
            "finalists": [
                {
                    "settings": dict(one.point),
                    "best": one.best,
                    "as_given": one.as_given,
                    "searched": self._named(one.searched),
                    "fresh": {
                        "values": {
                            name: [*values]
                            for name, values in zip(
                                self._named(one.fresh), (*one.fresh.goals, *one.fresh.constraints), strict=False
                            )
                        },
                        "constraints_kept": one.fresh.kept(self.constraints),
                        "error": one.fresh.error,
                    },
                }
                for one in self.finalists
            ],
            "importance": self.importance,
            "trials": [
                {
                    "settings": dict(one.point),
                    "warm": one.warm,
                    **self._named(one.measured),
                    "feasible": one.measured.feasible(self.constraints),
                    "error": one.measured.error,
                }
                for one in self.trials
            ],
        }

    def _source(self) -> Mapping[str, Any] | None:
        return self.source

    @property
    def written(self) -> str:
        """Names of the files that `save` writes. The best configuration is not among them if the search was stopped."""
        *names, last = ["report.html", "tuning.json", "trials.csv", *self._best()]
        return f"{', '.join(names)} and {last}"

    def _configuration(self) -> dict[str, Any]:
        return self.base.to_dict()

    def _tables(self) -> Contents:
        figures = [*self._named(Measured(error=""))]
        rows: list[Sequence[object]] = [(*self.axes, *figures, "feasible", "warm", "error")]
        for one in self.trials:
            named = self._named(one.measured)
            rows.append(
                [
                    *(one.point.get(key) for key in self.axes),
                    *(named[name] for name in figures),
                    str(one.measured.feasible(self.constraints)).lower(),
                    str(one.warm).lower(),
                    one.measured.error,
                ]
            )
        return {"trials.csv": rows, **{name: one.config.to_toml() for name, one in self._best().items()}}

    def _best(self) -> dict[str, Finalist]:
        best = [one for one in self.finalists if one.best]
        several = len(self.goals) > 1
        return {f"best-{at}.toml" if several else "best.toml": one for at, one in enumerate(best, 1)}

    plot = Plot("tuning.history")
    plot_front = Plot("tuning.front")

    def __repr__(self) -> str:
        return f"<ssdlab.Tuned: {len(self.trials)} trials over {', '.join(self.axes)}>"
