"""Proposes points in batches with Optuna's tree-structured Parzen estimator.

A batch is proposed only from the results of earlier batches. So trials do not depend on the number of workers or the
order in which runs end. The sampler is seeded for each trial, so a resumed search proposes the same points.

Optuna's option `constant_liar` is off. With small batches, it did not find better points, and found worse points in one
problem of `tests/tuning.py`.
"""

import random
import sqlite3
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab.lazy import optuna, sqlalchemy_pool
from ssdlab.study.sweep.axes import Point
from ssdlab.study.tuning.goal import Aims, Measured
from ssdlab.study.tuning.space import Parameter, Space

POINT, WARM = "point", "warm"
"""User attributes of an Optuna trial: the point's settings, and a mark for trials from another study."""

NAME = "ssdlab"

RUNS = "it runs"
"""Artificial constraint that every point without results violates by `BROKEN`."""
BROKEN = 1e9


Named = frozenset[tuple[str, str]]
"""A point of the search space, in a form that can be hashed."""


class Proposal(NamedTuple):
    """A point proposed by Optuna, with the number of its trial."""

    number: int
    point: Point
    warm: bool
    finished: bool


class Search:
    """Past trials of a search, in a SQLite file or in memory, and proposals for batches of further trials."""

    def __init__(
        self,
        space: Space,
        aims: Aims,
        *,
        seed: int,
        batch: int,
        database: Path | None = None,
    ) -> None:
        self._space, self._aims = space, aims
        self._seed, self._batch = seed, batch
        self._storage = None if database is None else _storage(database)
        with _quiet():
            self._study: Any = optuna.create_study(
                study_name=NAME,
                storage=self._storage,
                directions=["maximize" if goal.large else "minimize" for goal in aims.goals],
                load_if_exists=True,
            )

    def proposals(self) -> list[Proposal]:
        """Returns every trial that has a point, in the order of the trial numbers."""
        return [
            Proposal(one.number, one.user_attrs[POINT], WARM in one.user_attrs, one.state.is_finished())
            for one in self._study.get_trials(deepcopy=False)
            if POINT in one.user_attrs
        ]

    def open(self) -> list[Proposal]:
        """Returns the unfinished trials of the current batch, or of a new batch; fewer if the space is exhausted."""
        for one in self._study.get_trials(deepcopy=False):
            # A trial without a point was interrupted while the sampler proposed it. The trial is marked as failed and
            # proposed again, because a gap would change all later proposals.
            if POINT not in one.user_attrs:
                self._give_up(one.number)
        asked = self._asked()
        begin = (len(asked) - 1) // self._batch * self._batch if asked else 0
        last = asked[begin:]
        if all(one.finished for one in last):
            begin, last = len(asked), []
        # Trials end only after their whole batch is proposed, so a batch without finished trials may be incomplete.
        if not any(one.finished for one in last):
            for index in range(len(asked), begin + self._batch):
                if not self._propose(index):
                    break
            last = self._asked()[begin:]
        return [one for one in last if not one.finished]

    def _asked(self) -> list[Proposal]:
        return [one for one in self.proposals() if not one.warm]

    def _give_up(self, number: int) -> None:
        """Marks a trial as failed, which excludes it from later proposals."""
        with _quiet():
            self._study.tell(number, state=optuna.trial.TrialState.FAIL, skip_if_finished=True)

    def _propose(self, index: int) -> bool:
        """Proposes a new point; returns False if there is none.

        The estimator does not know that runs are deterministic, so it may repeat points near the best point. A repeated
        point is replaced by a random untried point.
        """
        draw = random.Random(f"{self._seed} {index}")
        seed, tried = draw.getrandbits(32), self._tried()
        other = self._other(tried, draw)
        if other is None:
            return False
        with _quiet():
            self._study.sampler = optuna.samplers.TPESampler(seed=seed)
            trial = self._study.ask()
            point = self._space.draw(trial)
            if _named(point) not in tried:
                trial.set_user_attr(POINT, dict(point))
                return True
        self._give_up(trial.number)
        point, parameters = other
        self._add(parameters, {POINT: dict(point)}, state=optuna.trial.TrialState.RUNNING)
        return True

    @property
    def exhausted(self) -> bool:
        """True if every point of the space has a trial."""
        finished = all(one.finished for one in self.proposals())
        return finished and self._other(self._tried(), random.Random(0)) is None

    def _tried(self) -> set[Named]:
        return {_named(one.point) for one in self.proposals()}

    def _other(self, tried: set[Named], draw: random.Random) -> tuple[Point, dict[str, Parameter]] | None:
        return next((one for one in self._space.points(draw) if _named(one[0]) not in tried), None)

    def tell(self, number: int, measured: Measured) -> None:
        """Finishes a trial with the measurements of its point."""
        frozen = self._study.get_trials(deepcopy=False)[number]
        with _quiet():
            trial = optuna.trial.Trial(self._study, frozen._trial_id)
            # An earlier, interrupted call may already have set some of the constraints.
            for name, violation in self._violations(measured).items():
                if name not in frozen.constraints:
                    trial.set_constraint(name, violation)
            if measured.error is not None:
                self._study.tell(number, state=optuna.trial.TrialState.PRUNED)
            else:
                self._study.tell(number, measured.means())

    def add(self, point: Point, parameters: Mapping[str, Parameter], measured: Measured) -> None:
        """Adds a point measured in another study."""
        known = {"values": measured.means(), "constraints": self._violations(measured)}
        self._add(parameters, {POINT: dict(point), WARM: True}, **known)

    def _add(self, parameters: Mapping[str, Parameter], notes: Mapping[str, object], **known: Any) -> None:
        """Adds a trial that the sampler did not propose."""
        distributions = self._space.distributions()
        own = {name: distributions[name] for name in parameters}
        trial = optuna.trial.create_trial(params=dict(parameters), distributions=own, user_attrs=dict(notes), **known)
        self._study.add_trial(trial)

    def _violations(self, measured: Measured) -> dict[str, float]:
        if measured.error is not None:
            return {RUNS: BROKEN}
        return dict(
            zip([one.name for one in self._aims.constraints], measured.violations(self._aims.constraints), strict=True)
        )

    def importance(self) -> dict[str, dict[str, float]]:
        """Returns the importance of each axis, as a fraction, for each goal and constraint: its influence on whether a
        point is among the best tenth, computed by PED-ANOVA.
        """
        complete = [one for one in self._study.get_trials(deepcopy=False) if one.values is not None]
        if len({str(one.params) for one in complete}) < LEAST_FOR_IMPORTANCE:
            return {}
        targets: dict[str, Any] = {
            goal.name: (lambda trial, at=at, sign=-1.0 if goal.large else 1.0: sign * trial.values[at])
            for at, goal in enumerate(self._aims.goals)
        }
        targets |= {one.name: (lambda trial, name=one.name: trial.constraints[name]) for one in self._aims.constraints}
        importance = {}
        for name, target in targets.items():
            with _quiet():
                shares = optuna.importance.get_param_importances(self._study, target=target)
            importance[name] = {axis.name: float(shares.get(axis.name, 0.0)) for axis in self._space.axes}
        return importance

    def close(self) -> None:
        """Closes Optuna's database."""
        if self._storage is not None:
            self._storage.remove_session()
            self._storage.engine.dispose()


def _named(point: Point) -> Named:
    return frozenset(point.items())


LEAST_FOR_IMPORTANCE = 20
"""Minimum number of distinct points for which the best tenth is meaningful."""


def _storage(path: Path) -> Any:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, check_same_thread=False)
        # The database survives if the process is killed. A power loss may lose the last trials, which are then proposed
        # again.
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma synchronous=normal")
        return connection

    with _quiet():
        # The path is not passed inside a URL, because a URL would interpret %, { and ? in the path.
        return optuna.storages.RDBStorage(
            "sqlite://", engine_kwargs={"creator": connect, "poolclass": sqlalchemy_pool.StaticPool}
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppresses Optuna's warnings."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(before)
