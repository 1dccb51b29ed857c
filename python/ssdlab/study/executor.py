"""Simulations side by side: the one way to run many of them."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import TypeVar

from ssdlab.model.config import Config
from ssdlab.model.requests import Monitor
from ssdlab.model.result import Result
from ssdlab.model.simulation import simulate
from ssdlab.model.trace_file import Given
from ssdlab.study.work.run import Outcome, Run
from ssdlab.study.work.workers import Stopped, Workers

T = TypeVar("T")

LOOK_SECONDS = 0.1
"""Between two looks at whether tasks are to end."""


class Executor:
    """Runs tasks on threads until all are done, one fails or the monitor stops them.

    A task simulates in this process (`simulate`), which hands over the whole result, or has a worker do it (`do`),
    which hands over its figures and survives whatever becomes of the run.

    Args:
        phase: What the monitor is told that is going on.
        total: Simulations in all.
        jobs: Tasks at a time; one per processor if None.
        monitor: Told every tenth of a second how many simulations are finished, and how many requests were replayed.
            Something true ends those that run, and begins no more.
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
        self.stopped = threading.Event()
        """Set when tasks are to end."""
        self.finished = 0
        """Simulations that came to their end."""
        self._phase, self._total, self._monitor, self._workers = phase, total, monitor, workers
        self._threads = workers.threads if workers else jobs or os.cpu_count() or 1
        self._numbers = count()
        self._replayed: dict[int, int] = {}
        self._lock = threading.Lock()

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
        self._count()
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
        self._count()
        return outcome

    def _count(self) -> None:
        with self._lock:
            self.finished += 1

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """What the tasks return, in their order.

        Raises:
            BaseException: What the first task in order that failed raised, so that messages do not depend on timing.
        """
        left = len(tasks)
        all_done = threading.Event()

        def one_less(_: Future[T]) -> None:
            nonlocal left
            with self._lock:
                left -= 1
                if left == 0:
                    all_done.set()

        def guarded(task: Callable[[], T]) -> T:
            try:
                return task()
            except BaseException:
                self._stop()
                raise

        with ThreadPoolExecutor(max(1, min(self._threads, len(tasks)))) as pool:
            futures = [pool.submit(guarded, task) for task in tasks]
            try:
                for future in futures:
                    future.add_done_callback(one_less)
                # In short waits, as signals reach the main thread only between them.
                while futures and not all_done.wait(LOOK_SECONDS):
                    if self._told_to_stop():
                        self._stop()
            except BaseException:
                self._stop()
                raise
        return [future.result() for future in futures]

    def _stop(self) -> None:
        self.stopped.set()
        if self._workers is not None:
            self._workers.stop()

    def _told_to_stop(self) -> bool:
        if self._monitor is None:
            return False
        replayed = sum([*self._replayed.values()])
        return bool(self._monitor(self._phase, self.finished, self._total, replayed))
