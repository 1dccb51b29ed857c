"""Runs tasks in parallel on threads."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from ssdlab._ssdlab import ConfigError, processors
from ssdlab.model.numbers import whole
from ssdlab.model.requests import Monitor

T = TypeVar("T")

LOOK_SECONDS = 0.1
"""Interval in seconds between checks whether the tasks should end."""


def at_a_time(jobs: int | None) -> int:
    """Returns the number of parallel tasks: `jobs`, or one per processor available to this process."""
    if jobs is None:
        return processors()
    jobs = whole("jobs", jobs)
    if jobs < 1:
        raise ConfigError(f"jobs must be at least 1, not {jobs}; omit jobs for one per processor")
    return jobs


class Tasks:
    """Runs tasks on threads until all are done, one fails, or the monitor stops them.

    Args:
        phase: Phase reported to the monitor.
        total: Number of items that the tasks will report to `count`.
        jobs: Number of parallel tasks; one per processor if None.
        monitor: Called every tenth of a second and after each task, by one thread at a time, with the number of
            finished items and the number of replayed requests. If it returns a true value, running tasks end and no
            more tasks start.
    """

    def __init__(self, phase: str, total: int, *, jobs: int | None = None, monitor: Monitor | None = None) -> None:
        self.stopped = threading.Event()
        """Event that tells all tasks to end."""
        self.finished = 0
        """Number of items that tasks have reported to `count`."""
        self._phase, self._total, self._monitor = phase, total, monitor
        self._threads = at_a_time(jobs)
        self._lock, self._asking = threading.Lock(), threading.Lock()

    def count(self) -> None:
        """Adds one to the number of finished items."""
        with self._lock:
            self.finished += 1

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Runs the given tasks; returns the results in the order of the tasks.

        Raises:
            BaseException: The error of the failed task that comes first in `tasks`, so that messages do not depend on
                timing.
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
                done = task()
                self._ask()
            except BaseException:
                self.stop()
                raise
            return done

        with ThreadPoolExecutor(max(1, min(self._threads, len(tasks)))) as pool:
            futures = [pool.submit(guarded, task) for task in tasks]
            try:
                for future in futures:
                    future.add_done_callback(one_less)
                # Each wait is short, because the main thread handles signals only between waits.
                while futures and not all_done.wait(LOOK_SECONDS):
                    self._ask()
            except BaseException:
                self.stop()
                raise
        return [future.result() for future in futures]

    def stop(self) -> None:
        """Asks the running tasks to end early."""
        self.stopped.set()

    def _requests(self) -> int:
        """Returns the number of requests replayed by all tasks."""
        return 0

    def _ask(self) -> None:
        if self._monitor is None:
            return
        with self._asking:
            is_stopped = not self.stopped.is_set() and self._monitor(
                self._phase, self.finished, self._total, self._requests()
            )
        if is_stopped:
            self.stop()
