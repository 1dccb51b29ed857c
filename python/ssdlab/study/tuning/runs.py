"""Simulation runs for the points of a search. Workers get only the runs whose results are missing in the folder."""

from collections.abc import Mapping, Sequence
from typing import Any

from ssdlab._ssdlab import ConfigError
from ssdlab.model.config import Config
from ssdlab.model.requests import Monitor
from ssdlab.model.trace_file import source_of
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
    """Executes the runs of points, in phases that the monitor shows, and measures goals and constraints."""

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
        """True once the monitor has stopped the search."""
        self._builder, self._trace, self._aims = Builder(base), trace, aims
        self._store, self._workers, self._monitor = store, workers, monitor
        self._phase, self._total, self._finished = "", 0, 0
        self._known: dict[tuple[tuple[str, str], ...], tuple[Row, Run] | str] = {}

    def begin(self, phase: str, total: int) -> None:
        """Starts a phase of `total` runs for the monitor."""
        self._phase, self._total, self._finished = phase, total, 0

    def config(self, point: Point) -> Config:
        """Returns the configuration of a point, with its own seed."""
        config = self._builder.of(point, 0, replays=self._trace is not None)[0]
        return source_of(None if self._trace is None else self._trace.file(), config).at_times(config)

    def fault(self, point: Point) -> str | None:
        """Returns the error in a point's settings; None if the settings are valid."""
        made = self._made(point, range(1))
        return made if isinstance(made, str) else None

    def _made(self, point: Point, seeds: range) -> list[tuple[Row, Run]] | str:
        """Returns the rows and runs of a point, or the error in its settings."""
        runs = []
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
            runs.append(made)
        return runs

    def rows(self, point: Point, seeds: range) -> list[Row]:
        """Returns the rows of a point, one per seed; empty if its settings contradict each other."""
        made = self._made(point, seeds)
        return [] if isinstance(made, str) else [row for row, _ in made]

    def _runs(self, point: Point, seeds: range) -> list[Run]:
        made = self._made(point, seeds)
        return [] if isinstance(made, str) else [run for _, run in made]

    def do(self, points: Sequence[Point], seeds: range) -> bool:
        """Executes runs whose results are missing in the folder. Returns False if the monitor stopped the search."""
        runs = [run for point in points for run in self._runs(point, seeds)]
        left = {run.key: run for run in runs if run.key not in self._store.records}
        asked = len(points) * len(seeds)
        self._finished += asked - len(left)

        def watch(_phase: str, done: int, _total: int | None, requests: int) -> bool:
            assert self._monitor is not None
            return bool(self._monitor(self._phase, self._finished + done, self._total, requests))

        executor = Executor(
            self._phase, len(left), monitor=None if self._monitor is None else watch, workers=self._workers
        )
        executor.execute(left.values(), self._store.keep)
        self._finished += len(left)
        # The executor does not call the monitor if all runs of the batch were already known, so it is called here.
        self.stopped = executor.stopped.is_set() or (self._monitor is not None and watch(self._phase, 0, None, 0))
        return not self.stopped

    def holds(self, point: Point, seeds: range, records: Mapping[str, Record]) -> bool:
        """True if all runs of a point are among the records of a study."""
        runs = self._runs(point, seeds)
        return bool(runs) and all(run.key in records for run in runs)

    def take(self, point: Point, seeds: range, records: Mapping[str, Record]) -> None:
        """Copies the records of a point's runs from another study to this study."""
        for run in self._runs(point, seeds):
            self._store.keep(run.key, Outcome(*records[run.key]))

    def summaries(self, point: Point, seeds: range) -> list[dict[str, Any]] | str:
        """Returns the results of a point by seed, or the reason why the point has no results."""
        made = self._made(point, seeds)
        if isinstance(made, str):
            return made.splitlines()[0].removeprefix(f"{AXIS}: ")
        summaries = []
        for row, _ in made:
            record = self._store.records[row.key]
            if record.result is None:
                return record.error or ""
            summaries.append(record.summary)
        return summaries

    def ran(self, points: Sequence[Point], seeds: range) -> list[Ran]:
        """Returns the distinct runs of the points that have a result."""
        ran: dict[str, Ran] = {}
        for point in points:
            for run in self._runs(point, seeds):
                record = self._store.records.get(run.key)
                if record is not None and record.result is not None:
                    ran[run.key] = Ran(point, run.config, record.summary)
        return [*ran.values()]

    def measured(self, point: Point, seeds: range) -> Measured:
        """Returns the measured values of a point whose runs have ended."""
        summaries = self.summaries(point, seeds)
        if isinstance(summaries, str):
            return Measured(error=summaries)
        values: list[tuple[float, ...]] = []
        for asked in self._aims.measured:
            by_seed = [asked.value.of(summary) for summary in summaries]
            known = tuple(value for value in by_seed if value is not None)
            if len(known) < len(by_seed):
                return Measured(error=f"a run has no value for {asked.name}", lacking=asked.name)
            values.append(known)
        count = len(self._aims.goals)
        return Measured(tuple(values[:count]), tuple(values[count:]))

    def figures(self, points: Sequence[Point], seeds: range) -> list[str]:
        """Returns the metrics that at least one run of the points has."""
        figures: dict[str, None] = {}
        for point in points:
            summaries = self.summaries(point, seeds)
            if not isinstance(summaries, str):
                figures |= dict.fromkeys(path for summary in summaries for path in figure_paths(summary))
        return [*figures]
