"""Base class of local and cluster workers."""

from abc import ABC, abstractmethod
from typing import Self

from ssdlab import text
from ssdlab.study.work.run import Outcome, Run

DEATHS = 3
"""Number of worker deaths after which a run counts as failed."""


class WorkerDied(Exception):  # noqa: N818 (an event, like KeyboardInterrupt)
    """Raised if the worker process that executes a run has died."""


class Stopped(Exception):  # noqa: N818
    """Raised if a run was abandoned because all runs were stopped."""


class Workers(ABC):
    """Workers that execute runs. The threads that submit the runs wait for the outcomes."""

    @property
    @abstractmethod
    def threads(self) -> int:
        """Number of submitting threads that keep all workers busy."""

    @property
    @abstractmethod
    def most_bytes(self) -> int:
        """Memory in bytes of the largest worker."""

    @abstractmethod
    def once(self, run: Run, *, alone: bool) -> Outcome:
        """Executes a run once, as soon as enough memory is free, with no other run in parallel if `alone`.

        Raises:
            WorkerDied: If the worker's process has died.
            Stopped: If all runs are stopped.
        """

    @abstractmethod
    def stop(self) -> None:
        """Abandons all runs, which makes waiting threads raise `Stopped`."""

    @abstractmethod
    def close(self) -> None:
        """Releases all processes or connections."""

    def do(self, run: Run) -> Outcome:
        """Executes a run. If the worker dies, executes the run again, with no other run in parallel."""
        if run.memory_bytes > self.most_bytes:
            return Outcome(
                None,
                f"MemoryError: the run needs about {text.size(run.memory_bytes)} of memory, but only "
                f"{text.size(self.most_bytes)} are free; use a smaller drive, or a machine with more memory",
            )
        for death in range(DEATHS):
            try:
                return self.once(run, alone=death > 0)
            except WorkerDied:
                continue
        return Outcome(
            None, f"WorkerDied: the run's worker died {DEATHS} times, probably for lack of memory; use a smaller drive"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
