"""Simulations side by side."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait


def run_all(
    tasks: Sequence[Callable[[], object]], jobs: int | None, stopped: threading.Event, watch: Callable[[], object]
) -> None:
    """Runs tasks that do nothing more once `stopped` is set.

    Args:
        tasks: What to run. One that fails stops the others.
        jobs: Tasks at a time; one per processor if None.
        stopped: Set when the tasks are to end.
        watch: Called every tenth of a second; something true stops the tasks.

    Raises:
        BaseException: What the first task in order that failed raised, so that messages do not depend on timing.
    """

    def guarded(task: Callable[[], object]) -> None:
        try:
            task()
        except BaseException:
            stopped.set()
            raise

    with ThreadPoolExecutor(max(1, min(jobs or os.cpu_count() or 1, len(tasks)))) as pool:
        futures = [pool.submit(guarded, task) for task in tasks]
        try:
            # In short waits, as signals reach the main thread only between them.
            while wait(futures, timeout=0.1).not_done:
                if watch():
                    stopped.set()
        except BaseException:
            stopped.set()
            raise
    for future in futures:
        future.result()
