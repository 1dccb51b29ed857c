"""What all kinds of workers have in common."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from ssdlab import text
from ssdlab.study.work.run import Outcome, Run

DEATHS = 3
"""A run whose worker dies so often is not tried again."""


class WorkerDied(Exception):  # noqa: N818 (it names what happened, as KeyboardInterrupt does)
    """The process that did a run is gone."""


class Stopped(Exception):  # noqa: N818
    """A run was given up because all are to end."""


class Workers(ABC):
    """Processes that do runs, on behalf of threads that wait for them."""

    @property
    @abstractmethod
    def threads(self) -> int:
        """Threads that keep all of them busy."""

    @property
    @abstractmethod
    def most_bytes(self) -> int:
        """Memory of the largest of the places where a run can be done."""

    @abstractmethod
    def once(self, run: Run, *, alone: bool) -> Outcome:
        """Does a run once, when there is memory for it.

        Args:
            run: The run.
            alone: Whether nothing else may go on beside it.

        Raises:
            WorkerDied: If the process that did it is gone.
            Stopped: If all are to end.
        """

    @abstractmethod
    def stop(self) -> None:
        """Gives up what is being done."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of all processes."""

    def do(self, run: Run) -> Outcome:
        """Does a run. One that its worker does not survive is tried again, by itself.

        Raises:
            Stopped: If all are to end.
        """
        if run.memory_bytes > self.most_bytes:
            return Outcome(
                None,
                f"MemoryError: the run takes some {text.size(run.memory_bytes)}, and there are "
                f"{text.size(self.most_bytes)}; take a machine with more, or a smaller drive",
            )
        for death in range(DEATHS):
            try:
                return self.once(run, alone=death > 0)
            except WorkerDied:
                continue
        return Outcome(
            None, f"WorkerDied: the run ended its worker {DEATHS} times; most likely there was too little memory for it"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()
