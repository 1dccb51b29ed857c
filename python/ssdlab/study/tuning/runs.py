"""The runs behind points: what of them the folder does not hold is done by workers, and kept."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ssdlab._ssdlab import ConfigError
from ssdlab.model.config import Config
from ssdlab.model.requests import Monitor
from ssdlab.study.executor import Executor
from ssdlab.study.experiments.expression import figure_paths
from ssdlab.study.store.folder import Store
from ssdlab.study.store.table import Point as Row
from ssdlab.study.store.table import Record
from ssdlab.study.survey.caveats import Ran
from ssdlab.study.sweep.axes import Point
from ssdlab.study.sweep.plan import AXIS, Builder
from ssdlab.study.tuning.goal import Aims, Measured
from ssdlab.study.work.run import Outcome, Run, TraceRef
from ssdlab.study.work.workers import Workers


class Runs:
    """Measures points.

    Args:
        base: The configuration that points are laid on.
        trace: What all replay.
        aims: What is measured.
        store: The folder.
        workers: Who does runs.
        monitor: Told how many of all runs of a phase are finished.
    """

    def __init__(
        self,
        base: Config,
        trace: TraceRef | None,
        aims: Aims,
        *,
        store: Store,
        workers: Workers,
        monitor: Monitor | None,
    ) -> None:
        self.stopped = False
        """Whether the monitor has ended it."""
        self._builder, self._trace, self._aims = Builder(base), trace, aims
        self._store, self._workers, self._monitor = store, workers, monitor
        self._phase, self._total, self._finished = "", 0, 0
        self._known: dict[tuple[tuple[str, str], ...], tuple[Row, Run] | str] = {}

    def begin(self, phase: str, total: int) -> None:
        """Tells the monitor from now on of a phase of so many runs."""
        self._phase, self._total, self._finished = phase, total, 0

    def config(self, point: Point) -> Config:
        """The configuration of a point with its own seed.

        Raises:
            ConfigError: If its settings are wrong, or do not fit each other.
        """
        return self._builder.of(point, 0, replays=self._trace is not None)[0]

    def fault(self, point: Point) -> str | None:
        """What is wrong with the settings of a point."""
        made = self._made(point, range(1))
        return made if isinstance(made, str) else None

    def _made(self, point: Point, seeds: range) -> list[tuple[Row, Run]] | str:
        """The runs of a point with their rows, or what is wrong with its settings."""
        found = []
        for number in seeds:
            named = (*sorted(point.items()), ("", str(number)))
            if named not in self._known:
                try:
                    config, seed = self._builder.of(point, number, replays=self._trace is not None)
                except ConfigError as error:
                    self._known[named] = str(error)
                else:
                    run = Run.of(config, self._trace)
                    self._known[named] = Row(point, seed, run.key), run
            made = self._known[named]
            if isinstance(made, str):
                return made
            found.append(made)
        return found

    def rows(self, point: Point, seeds: range) -> list[Row]:
        """The rows of a point in a study, one for each seed; none if its settings do not fit each other."""
        made = self._made(point, seeds)
        return [] if isinstance(made, str) else [row for row, _ in made]

    def _runs(self, point: Point, seeds: range) -> list[Run]:
        made = self._made(point, seeds)
        return [] if isinstance(made, str) else [run for _, run in made]

    def do(self, points: Sequence[Point], seeds: range) -> bool:
        """Has the runs of points done that the folder does not hold; false if the monitor ended it."""
        left: dict[str, Run] = {}
        for point in points:
            for run in self._runs(point, seeds):
                if run.key not in self._store.records:
                    left[run.key] = run
        asked = len(points) * len(seeds)
        self._finished += asked - len(left)

        def watch(_phase: str, done: int, _total: int | None, requests: int) -> bool:
            assert self._monitor is not None
            return bool(self._monitor(self._phase, self._finished + done, self._total, requests))

        executor = Executor(
            self._phase, len(left), monitor=None if self._monitor is None else watch, workers=self._workers
        )

        def one(run: Run) -> None:
            outcome = executor.do(run)
            if outcome is not None:
                self._store.keep(run.key, outcome)

        executor.run([partial(one, run) for run in left.values()])
        self._finished += len(left)
        # Batches that end at once are told of here.
        self.stopped = executor.stopped.is_set() or (self._monitor is not None and watch(self._phase, 0, None, 0))
        return not self.stopped

    def holds(self, point: Point, seeds: range, records: Mapping[str, Record]) -> bool:
        """Whether all runs of a point are among the records of a study."""
        runs = self._runs(point, seeds)
        return bool(runs) and all(run.key in records for run in runs)

    def take(self, point: Point, seeds: range, records: Mapping[str, Record]) -> None:
        """Keeps the records of another study of the runs of a point."""
        for run in self._runs(point, seeds):
            self._store.keep(run.key, Outcome(*records[run.key]))

    def summaries(self, point: Point, seeds: range) -> list[dict[str, Any]] | str:
        """The results of a point by seed, or why there is none."""
        made = self._made(point, seeds)
        if isinstance(made, str):
            return made.splitlines()[0].removeprefix(f"{AXIS}: ")
        found = []
        for row, _ in made:
            record = self._store.records[row.key]
            if record.result is None:
                return record.error or ""
            found.append(record.summary)
        return found

    def ran(self, points: Sequence[Point], seeds: range) -> list[Ran]:
        """The runs of points that have a result."""
        found: dict[str, Ran] = {}
        for point in points:
            for run in self._runs(point, seeds):
                record = self._store.records.get(run.key)
                if record is not None and record.result is not None:
                    found[run.key] = Ran(point, run.config, record.summary)
        return [*found.values()]

    def measured(self, point: Point, seeds: range) -> Measured:
        """What a point came to whose runs were done."""
        summaries = self.summaries(point, seeds)
        if isinstance(summaries, str):
            return Measured(error=summaries)
        values: list[tuple[float, ...]] = []
        for asked in self._aims.measured:
            its = [asked.value.of(summary) for summary in summaries]
            there = tuple(value for value in its if value is not None)
            if len(there) < len(its):
                return Measured(error=f"a run has no value of {asked.name}", lacking=asked.name)
            values.append(there)
        count = len(self._aims.goals)
        return Measured(tuple(values[:count]), tuple(values[count:]))

    def figures(self, points: Sequence[Point], seeds: range) -> list[str]:
        """Every figure that one of the runs of points has."""
        found: dict[str, None] = {}
        for point in points:
            summaries = self.summaries(point, seeds)
            if not isinstance(summaries, str):
                found |= dict.fromkeys(path for summary in summaries for path in figure_paths(summary))
        return [*found]
