"""Executes simulations in parallel, in this process or on workers."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import count

from ssdlab.analyse.tasks import Tasks
from ssdlab.model.config import Config
from ssdlab.model.requests import Monitor
from ssdlab.model.result import Result
from ssdlab.model.simulation import simulate
from ssdlab.model.trace_file import Given
from ssdlab.study.work.run import Outcome, Run
from ssdlab.study.work.workers import Stopped, Workers


class Executor(Tasks):
    """Runs simulations in parallel. `simulate` runs in this process and returns complete results. `execute` runs on
    `workers`, which determine the number of parallel tasks; it yields only metrics, and survives their crashes.
    """

    def __init__(
        self,
        phase: str,
        total: int,
        *,
        jobs: int | None = None,
        monitor: Monitor | None = None,
        workers: Workers | None = None,
    ) -> None:
        super().__init__(phase, total, jobs=workers.threads if workers else jobs, monitor=monitor)
        self._workers = workers
        self._numbers = count()
        self._replayed: dict[int, int] = {}

    def simulate(self, config: Config, trace: Given | None = None) -> Result | None:
        """Simulates in this process and returns the result; None if stopped early."""
        number = next(self._numbers)

        def watch(_phase: str, _done: int, _total: int | None, requests: int) -> bool:
            self._replayed[number] = requests
            return self.stopped.is_set()

        if self.stopped.is_set():
            return None
        try:
            result = simulate(config, trace, monitor=watch, diagnose=False)
        except KeyboardInterrupt:
            # The monitor stopped the pass that finds the trace's extent. Ctrl-C cannot be the cause, because Python
            # raises KeyboardInterrupt for it only in the main thread.
            return None
        if result.partial:
            return None
        self.count()
        return result

    def do(self, run: Run) -> Outcome | None:
        """Simulates a run on a worker and returns its outcome; None if stopped early."""
        assert self._workers is not None
        if self.stopped.is_set():
            return None
        try:
            outcome = self._workers.do(run)
        except Stopped:
            return None
        self.count()
        return outcome

    def execute(self, runs: Iterable[Run], keep: Callable[[str, Outcome], None]) -> None:
        """Executes runs on workers. Calls `keep` with the key and outcome of each finished run."""

        def execute_one(run: Run) -> None:
            outcome = self.do(run)
            if outcome is not None:
                keep(run.key, outcome)

        self.run([partial(execute_one, run) for run in runs])

    def stop(self) -> None:
        """Stops running simulations and the workers."""
        super().stop()
        if self._workers is not None:
            self._workers.stop()

    def _requests(self) -> int:
        return sum([*self._replayed.values()])
