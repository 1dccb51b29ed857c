"""Simulations side by side: the one way to run many of them."""

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
    """Tasks that simulate: in this process (`simulate`), which hands over the whole result, or by a worker (`do`),
    which hands over its figures and survives whatever becomes of the run.

    Args:
        phase: As of `Tasks`.
        total: Simulations in all.
        jobs: As of `Tasks`.
        monitor: As of `Tasks`.
        workers: Who does what `do` is given; they decide how many tasks go on at a time.
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
        """One simulation of a task; None if it did not come to its end."""
        number = next(self._numbers)

        def watch(_phase: str, _done: int, _total: int | None, requests: int) -> bool:
            self._replayed[number] = requests
            return self.stopped.is_set()

        if self.stopped.is_set():
            return None
        try:
            result = simulate(config, trace, monitor=watch, diagnose=False)
        except KeyboardInterrupt:
            # Told to end while looking for the end of the trace: signals reach the main thread only.
            return None
        if result.partial:
            return None
        self.count()
        return result

    def do(self, run: Run) -> Outcome | None:
        """One simulation of a task by a worker; None if it did not come to its end."""
        assert self._workers is not None
        if self.stopped.is_set():
            return None
        try:
            outcome = self._workers.do(run)
        except Stopped:
            return None
        self.count()
        return outcome

    def stop(self) -> None:
        """Ends those that run, and the workers."""
        super().stop()
        if self._workers is not None:
            self._workers.stop()

    def _requests(self) -> int:
        return sum([*self._replayed.values()])
