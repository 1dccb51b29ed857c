"""For tests of sweeps: a drive that is simulated in milliseconds, and axes of its settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import ssdlab
from ssdlab.study.sweep import running
from ssdlab.study.sweep.design import Design
from ssdlab.study.sweep.plan import Plan, plan
from ssdlab.study.work.local import LocalWorkers
from ssdlab.study.work.run import Run

TINY: dict[str, object] = {
    "device.capacity": "8MiB", "device.op": "25%", "nand.pages_per_block": 32, "workload.requests": 500,
    "time": "count",
}  # fmt: skip
"""A drive of 2,048 pages, simulated in milliseconds."""
BASE = ssdlab.Config("tlc-chip", overrides=TINY)
AXES = {"ftl.page.gc": ["greedy", "fifo"], "device.op": "20%..40%:3"}
TINY_SETS = ["--preset", "tlc-chip", *(word for key, value in TINY.items() for word in ("--set", f"{key}={value}"))]


def planned(axes: running.Axes, **more: Any) -> Plan:
    """The plan of a grid over these axes."""
    given: dict[str, Any] = {"without": [], "seeds": 1, "outcomes": [], **more}
    return plan(running.question(axes, BASE, None, design=Design(), **given))


@contextmanager
def counted() -> Iterator[list[str]]:
    """Keys of the runs that workers of this machine execute while the context is active."""
    keys: list[str] = []
    do = LocalWorkers.do

    def noted(self: LocalWorkers, run: Run) -> Any:
        keys.append(run.key)
        return do(self, run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalWorkers, "do", noted)
        yield keys
