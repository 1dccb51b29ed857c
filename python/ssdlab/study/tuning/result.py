"""What a search came to."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab.model.config import Config
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.model.remarks import Spare
from ssdlab.study.survey.outcome import CONFIDENCE, Estimate, estimate
from ssdlab.study.sweep.axes import Point
from ssdlab.study.tuning.goal import Constraint, Goal, Measured, mean


class Trial(NamedTuple):
    """A point that was tried."""

    point: Point
    """The axes that apply, as settings take them."""
    warm: bool
    """Whether it was taken from another study."""
    measured: Measured


class Finalist(NamedTuple):
    """One of the best, run again with seeds that the search did not see."""

    config: Config
    point: Point
    searched: Measured
    """As the search saw it."""
    fresh: Measured
    """With the new seeds."""
    best: bool
    """Whether it is the best; of several outcomes, on the front."""
    spare: Spare | None = None
    """The space that its drive has beyond the capacity, if that is not what its settings ask for."""
    as_given: bool = False
    """Whether it is the configuration as it was given, or one that differs only in the space that it asks for and gets
    the same drive, as blocks are whole."""


class Tuned(Finding):
    """The best configurations that a search found.

    Saved are `report.html`, `tuning.json`, `trials.csv`, a line for each trial, and the best configuration as
    `best.toml`, or those on the front as `best-1.toml` and so on.
    """

    _page = "tuning"
    _json = "tuning.json"
    _optional = ("best*.toml",)
    saved = "report.html, tuning.json, trials.csv and best.toml (best-1.toml and so on of a front)"

    def __init__(
        self,
        *,
        base: Config,
        source: Mapping[str, Any] | None,
        axes: Sequence[str],
        goals: Sequence[Goal],
        constraints: Sequence[Constraint],
        seeds: int,
        repeats: int,
        asked: int,
        exhausted: bool,
        trials: Sequence[Trial],
        finalists: Sequence[Finalist],
        unchanged: Measured | None,
        importance: Mapping[str, Mapping[str, float]],
        notes: Sequence[str] = (),
    ) -> None:
        self._base = base
        self._from = source
        self.axes = tuple(axes)
        """Keys of the axes."""
        self.goals = tuple(goals)
        self.constraints = tuple(constraints)
        self.seeds = seeds
        """Runs of each trial."""
        self.repeats = repeats
        """Fresh seeds of the finalists."""
        self.asked = asked
        """Trials that were asked for."""
        self.exhausted = exhausted
        """Whether every point of the space was tried, so that there are no more."""
        self.trials = tuple(trials)
        self.finalists = tuple(finalists)
        """The best of the search, best first by fresh seeds; of several outcomes, those on the front."""
        self.unchanged = unchanged
        """What the configuration came to as it was given, with the fresh seeds; None if these are still to be run."""
        self.importance = {name: dict(shares) for name, shares in importance.items()}
        """By outcome and constraint: how much each axis decides whether a point is among the best tenth."""
        self.notes = tuple(notes)
        """What should be known of its runs, summed up."""

    @property
    def partial(self) -> bool:
        """Whether trials or repeats are still to be done."""
        return (len(self.tried) < self.asked and not self.exhausted) or self.unchanged is None

    @property
    def tried(self) -> list[Trial]:
        """The trials that this search ran."""
        return [one for one in self.trials if not one.warm]

    @property
    def best(self) -> Finalist | None:
        """The best by fresh seeds; of several outcomes, that with the best first one. None if nothing could be run."""
        return next((one for one in self.finalists if one.best), None)

    @property
    def feasible(self) -> bool:
        """Whether the best meets all constraints."""
        return self.best is not None and self.best.fresh.feasible(self.constraints)

    def lead(self) -> Estimate | None:
        """By how much the best is better than the next of the finalists in the only outcome, paired by seed; None of
        several outcomes, and where only one of the two meets the constraints.
        """
        if len(self.goals) > 1 or len(self.finalists) < 2:
            return None
        first, second = (one.fresh for one in self.finalists[:2])
        if first.error or second.error or first.feasible(self.constraints) != second.feasible(self.constraints):
            return None
        sign = 1.0 if self.goals[0].large else -1.0
        return estimate([sign * (a - b) for a, b in zip(first.goals[0], second.goals[0], strict=True)])

    def _named(self, measured: Measured) -> dict[str, Any]:
        """Means of all goals and constrained figures, by name."""
        names = [*(goal.name for goal in self.goals), *(one.value.text for one in self.constraints)]
        if measured.error is not None:
            return dict.fromkeys(names)
        return dict(zip(names, map(mean, (*measured.goals, *measured.constraints)), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
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
        return self._from

    @property
    def written(self) -> str:
        """What `save` writes, in words: without the best where there is none, as of a search that was stopped."""
        *names, last = ["report.html", "tuning.json", "trials.csv", *self._best()]
        return f"{', '.join(names)} and {last}"

    def _configuration(self) -> dict[str, Any]:
        return self._base.to_dict()

    def _tables(self) -> Contents:
        figures = [*self._named(Measured(error=""))]
        rows: list[Sequence[object]] = [(*self.axes, *figures, "feasible", "warm", "error")]
        for one in self.trials:
            named = self._named(one.measured)
            rows.append(
                [
                    *(one.point.get(key, "") for key in self.axes),
                    *("" if named[name] is None else named[name] for name in figures),
                    str(one.measured.feasible(self.constraints)).lower(),
                    str(one.warm).lower(),
                    one.measured.error or "",
                ]
            )
        return {"trials.csv": rows, **{name: one.config.to_toml() for name, one in self._best().items()}}

    def _best(self) -> dict[str, Finalist]:
        """The best, or those on the front, by the names of their files."""
        best = [one for one in self.finalists if one.best]
        several = len(self.goals) > 1
        return {f"best-{at}.toml" if several else "best.toml": one for at, one in enumerate(best, 1)}

    plot = Plot("tuning.history")
    plot_front = Plot("tuning.front")

    def __repr__(self) -> str:
        return f"<ssdlab.Tuned: {len(self.trials)} trials over {', '.join(self.axes)}>"
