"""Tasks side by side: the one way to do many of them."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from ssdlab._ssdlab import ConfigError, processors
from ssdlab.model.numbers import whole
from ssdlab.model.requests import Monitor

T = TypeVar("T")

LOOK_SECONDS = 0.1
"""Between two looks at whether tasks are to end."""


def at_a_time(jobs: int | None) -> int:
    """How many tasks go on at a time: as many as are asked for, or one per processor that this process may use.

    Raises:
        ConfigError: If none would, or it is no whole number.
    """
    if jobs is None:
        return processors()
    jobs = whole("jobs", jobs)
    if jobs < 1:
        raise ConfigError(f"{jobs} jobs: give at least one, or leave them out for one per processor")
    return jobs


class Tasks:
    """Does tasks on threads until all are done, one fails or the monitor stops them.

    Args:
        phase: What the monitor is told that is going on.
        total: What there is to count, in all.
        jobs: Tasks at a time; one per processor if None.
        monitor: Told every tenth of a second, and when a task is done, how many were counted, and how many requests
            were replayed; by one thread at a time. Something true ends those that run, and begins no more.
    """

    def __init__(self, phase: str, total: int, *, jobs: int | None = None, monitor: Monitor | None = None) -> None:
        self.stopped = threading.Event()
        """Set when tasks are to end."""
        self.finished = 0
        """What was counted."""
        self._phase, self._total, self._monitor = phase, total, monitor
        self._threads = at_a_time(jobs)
        self._lock, self._asking = threading.Lock(), threading.Lock()

    def count(self) -> None:
        """One more is finished."""
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
                # In short waits, as signals reach the main thread only between them.
                while futures and not all_done.wait(LOOK_SECONDS):
                    self._ask()
            except BaseException:
                self.stop()
                raise
        return [future.result() for future in futures]

    def stop(self) -> None:
        """Ends those that run."""
        self.stopped.set()

    def _requests(self) -> int:
        """How many requests were replayed."""
        return 0

    def _ask(self) -> None:
        if self._monitor is None:
            return
        with self._asking:
            told = not self.stopped.is_set() and self._monitor(
                self._phase, self.finished, self._total, self._requests()
            )
        if told:
            self.stop()
