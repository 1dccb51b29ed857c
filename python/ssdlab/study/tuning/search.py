"""Proposals of points: the tree-structured Parzen estimator of Optuna, in batches.

A batch is proposed from what is known of those before it, and ends before the next one begins. So the trials do not
depend on how many runs go on at a time, nor on the order in which they end. The sampler is seeded anew for each trial:
whoever takes up a search that was killed proposes the same.

The estimator is not told to keep away from what runs (`constant_liar`): in small batches that found nothing better, and
worse in one problem of `tests/tuning.py`.
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
"""What is noted of a trial: the settings that it stands for; whether it is taken from elsewhere."""

NAME = "ssdlab"
"""Of the study of Optuna."""

RUNS = "it runs"
"""The constraint that a point without values breaks, by `BROKEN`."""
BROKEN = 1e9


Named = frozenset[tuple[str, str]]
"""A point as a member of a set."""


class Proposal(NamedTuple):
    """A point that was proposed."""

    number: int
    """Of the trial of Optuna."""
    point: Point
    warm: bool
    finished: bool


class Search:
    """The trials so far, and the next ones.

    Args:
        space: What is searched.
        aims: What is made small or large, and what is to be met.
        seed: Of the proposals.
        batch: Trials that are proposed at a time.
        database: SQLite file that keeps the trials; None keeps them in memory.
    """

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
        """Every trial that stands for a point, in order."""
        return [
            Proposal(one.number, one.user_attrs[POINT], WARM in one.user_attrs, one.state.is_finished())
            for one in self._study.get_trials(deepcopy=False)
            if POINT in one.user_attrs
        ]

    def open(self) -> list[Proposal]:
        """The trials of the batch that is under way; of a new one if none is. Fewer where no other points are left."""
        for one in self._study.get_trials(deepcopy=False):
            # Killed while it was drawn: the rest would be drawn otherwise than in one go.
            if POINT not in one.user_attrs:
                self._give_up(one.number)
        asked = self._asked()
        begin = (len(asked) - 1) // self._batch * self._batch if asked else 0
        last = asked[begin:]
        if all(one.finished for one in last):
            begin, last = len(asked), []
        # Whether proposing was interrupted: no trial of a batch ends before all are proposed.
        if not any(one.finished for one in last):
            for index in range(len(asked), begin + self._batch):
                if not self._propose(index):
                    break
            last = self._asked()[begin:]
        return [one for one in last if not one.finished]

    def _asked(self) -> list[Proposal]:
        return [one for one in self.proposals() if not one.warm]

    def _give_up(self, number: int) -> None:
        """Has no proposal take account of a trial."""
        with _quiet():
            self._study.tell(number, state=optuna.trial.TrialState.FAIL, skip_if_finished=True)

    def _propose(self, index: int) -> bool:
        """Proposes a point that was not proposed before; false if there is none.

        A run is the same each time, but the estimator does not know that: the nearer it has come to the best, the more
        often it proposes what was tried. Any other point then tells more.
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
        """Whether every point of the space was tried, or is known from elsewhere."""
        finished = all(one.finished for one in self.proposals())
        return finished and self._other(self._tried(), random.Random(0)) is None

    def _tried(self) -> set[Named]:
        return {_named(one.point) for one in self.proposals()}

    def _other(self, tried: set[Named], draw: random.Random) -> tuple[Point, dict[str, Parameter]] | None:
        return next((one for one in self._space.points(draw) if _named(one[0]) not in tried), None)

    def _trial(self, frozen: Any) -> Any:
        return optuna.trial.Trial(self._study, frozen._trial_id)

    def tell(self, number: int, measured: Measured) -> None:
        """Ends a trial with what its point came to."""
        frozen = self._study.get_trials(deepcopy=False)[number]
        with _quiet():
            trial = self._trial(frozen)
            # A trial that was interrupted here has some of its constraints, and the same.
            for name, violation in self._violations(measured).items():
                if name not in frozen.constraints:
                    trial.set_constraint(name, violation)
            if measured.error is not None:
                self._study.tell(number, state=optuna.trial.TrialState.PRUNED)
            else:
                self._study.tell(number, measured.means())

    def add(self, point: Point, parameters: Mapping[str, Parameter], measured: Measured) -> None:
        """Takes in a point that was measured elsewhere."""
        known = {"values": measured.means(), "constraints": self._violations(measured)}
        self._add(parameters, {POINT: dict(point), WARM: True}, **known)

    def _add(self, parameters: Mapping[str, Parameter], notes: Mapping[str, object], **known: Any) -> None:
        """Adds a trial that the sampler has not proposed."""
        distributions = self._space.distributions()
        its = {name: distributions[name] for name in parameters}
        trial = optuna.trial.create_trial(params=dict(parameters), distributions=its, user_attrs=dict(notes), **known)
        self._study.add_trial(trial)

    def _violations(self, measured: Measured) -> dict[str, float]:
        if measured.error is not None:
            return {RUNS: BROKEN}
        return dict(
            zip([one.name for one in self._aims.constraints], measured.violations(self._aims.constraints), strict=True)
        )

    def importance(self) -> dict[str, dict[str, float]]:
        """How much each axis decides whether a point is among the best tenth of a goal, or of those that keep a
        constraint by most: PED-ANOVA, as shares of 1, by the names of goals and constraints.
        """
        complete = [one for one in self._study.get_trials(deepcopy=False) if one.values is not None]
        if len({str(one.params) for one in complete}) < LEAST_FOR_IMPORTANCE:
            return {}
        targets: dict[str, Any] = {
            goal.name: (lambda trial, at=at, sign=-1.0 if goal.large else 1.0: sign * trial.values[at])
            for at, goal in enumerate(self._aims.goals)
        }
        targets |= {one.name: (lambda trial, name=one.name: trial.constraints[name]) for one in self._aims.constraints}
        found = {}
        for name, target in targets.items():
            with _quiet():
                shares = optuna.importance.get_param_importances(self._study, target=target)
            found[name] = {axis.name: float(shares.get(axis.name, 0.0)) for axis in self._space.axes}
        return found

    def close(self) -> None:
        """Lets go of the database."""
        if self._storage is not None:
            self._storage.remove_session()
            self._storage.engine.dispose()


def _named(point: Point) -> Named:
    return frozenset(point.items())


LEAST_FOR_IMPORTANCE = 20
"""Different points below which the best tenth is too small to tell anything."""


def _storage(path: Path) -> Any:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, check_same_thread=False)
        # A kill loses nothing; a loss of power may lose the last trials, which are then proposed again.
        connection.execute("pragma journal_mode=wal")
        connection.execute("pragma synchronous=normal")
        return connection

    with _quiet():
        # Opened here rather than by an address, in which a path may hold nothing that is written %, { or ?.
        return optuna.storages.RDBStorage(
            "sqlite://", engine_kwargs={"creator": connect, "poolclass": sqlalchemy_pool.StaticPool}
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps Optuna from saying what a user need not know."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(before)
