"""The same requests against several configurations."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ssdlab.model.config import Config
from ssdlab.model.finding import Finding
from ssdlab.model.requests import Monitor
from ssdlab.model.result import Result
from ssdlab.model.simulation import simulate
from ssdlab.model.trace_file import Given
from ssdlab.study.executor import Executor


class Comparison(Finding):
    """Results by the names of their configurations."""

    _page = "comparison"
    _json = "comparison.json"

    def __init__(self, results: Mapping[str, Result]) -> None:
        self.results = dict(results)

    @property
    def partial(self) -> bool:
        """Whether a run was stopped before its end."""
        return any(one.partial for one in self.results.values())

    def to_dict(self) -> dict[str, Any]:
        """Each result by its name."""
        return {label: one.to_dict() for label, one in self.results.items()}


def compare(
    cases: Mapping[str, Config], trace: Given | None, *, jobs: int | None, monitor: Callable[[str], Monitor]
) -> Comparison:
    """Runs every case.

    Args:
        cases: Configurations by name.
        trace: What they replay; their own workloads if None.
        jobs: Simulations at a time; one per processor if None.
        monitor: Makes a monitor for the case of a name.
    """
    executor = Executor("cases", len(cases), jobs=jobs)

    def one(label: str) -> Result:
        watch = monitor(label)

        def told(phase: str, done: int, total: int | None, requests: int) -> bool:
            # One failure fails the comparison: the others need not go on.
            return bool(watch(phase, done, total, requests)) or executor.stopped.is_set()

        return simulate(cases[label], trace, monitor=told)

    return Comparison(dict(zip(cases, executor.run([partial(one, label) for label in cases]), strict=True)))
