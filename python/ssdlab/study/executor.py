"""Simulations side by side: the one way to run many of them."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import count
from typing import TypeVar

from ssdlab.model.config import Config
from ssdlab.model.requests import Monitor
from ssdlab.model.result import Result
from ssdlab.model.simulation import simulate
from ssdlab.model.trace_file import Given

T = TypeVar("T")


class Executor:
    """Runs tasks on threads until all are done, one fails or the monitor stops them.

    Args:
        phase: What the monitor is told that is going on.
        total: Simulations in all.
        jobs: Tasks at a time; one per processor if None.
        monitor: Told every tenth of a second how many simulations are finished, and how many requests were replayed.
            Something true ends those that run, and begins no more.
    """

    def __init__(self, phase: str, total: int, *, jobs: int | None, monitor: Monitor | None = None) -> None:
        self.stopped = threading.Event()
        """Set when tasks are to end."""
        self.finished = 0
        """Simulations that came to their end."""
        self._phase, self._total, self._jobs, self._monitor = phase, total, jobs, monitor
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
            result = simulate(config, trace, monitor=watch)
        except KeyboardInterrupt:
            # Told to end while looking for the end of the trace: signals reach the main thread only.
            return None
        if result.partial:
            return None
        with self._lock:
            self.finished += 1
        return result

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """What the tasks return, in their order.

        Raises:
            BaseException: What the first task in order that failed raised, so that messages do not depend on timing.
        """

        def guarded(task: Callable[[], T]) -> T:
            try:
                return task()
            except BaseException:
                self.stopped.set()
                raise

        with ThreadPoolExecutor(max(1, min(self._jobs or os.cpu_count() or 1, len(tasks)))) as pool:
            futures = [pool.submit(guarded, task) for task in tasks]
            try:
                # In short waits, as signals reach the main thread only between them.
                while wait(futures, timeout=0.1).not_done:
                    if self._told_to_stop():
                        self.stopped.set()
            except BaseException:
                self.stopped.set()
                raise
        return [future.result() for future in futures]

    def _told_to_stop(self) -> bool:
        if self._monitor is None:
            return False
        replayed = sum([*self._replayed.values()])
        return bool(self._monitor(self._phase, self.finished, self._total, replayed))
