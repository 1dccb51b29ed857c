"""Measures the overhead of the study executor, and the speed-up by a second worker. `--short` runs a tenth of the
simulations.
"""

import sys
import tempfile
import time
from pathlib import Path

import distributed

import ssdlab
from ssdlab._ssdlab import processors
from ssdlab.study.sweep import running
from ssdlab.study.sweep.design import Design
from ssdlab.study.sweep.plan import Plan, plan
from ssdlab.study.work.run import execute

TINY = {
    "device.capacity": "8MiB", "nand.pages_per_block": 32, "workload.requests": 100, "time": "count",
    "precondition.overwrite": "none",
}  # fmt: skip
"""Settings of a run that takes a millisecond or two."""
SECOND = {**TINY, "device.capacity": "256MiB", "precondition.overwrite": "passes", "workload.requests": 5_000_000}
"""Settings of a run that takes about a second."""


def planned(settings: dict[str, object], runs: int) -> Plan:
    """Returns a study plan with `runs` runs that differ only in their seeds."""
    config = ssdlab.Config("tlc-chip", overrides=settings)
    axes = {"seed": [*range(1, runs + 1)]}
    return plan(running.question(axes, config, None, design=Design(), without=[], seeds=1, outcomes=[]))


def swept(asked: Plan, *, jobs: int | None = None, cluster: str | None = None) -> tuple[float, list[float]]:
    """Returns the duration of a sweep in seconds, and the time at which each tenth of its runs was complete."""
    began = time.perf_counter()
    tenths: list[float] = []

    def watch(_phase: str, done: int, total: int | None, _requests: int) -> bool:
        while total and len(tenths) < 10 * done // total:
            tenths.append(time.perf_counter() - began)
        return False

    with tempfile.TemporaryDirectory() as folder:
        study = running.run(asked, Path(folder), jobs=jobs, cluster=cluster, monitor=watch)
    assert not study.failures and not study.partial
    return time.perf_counter() - began, tenths


def main() -> None:
    """Prints the table of measurements of studies."""
    share = 10 if "--short" in sys.argv else 1
    rows: list[tuple[str, str]] = []

    few = planned(SECOND, 200 // share)
    one, two = (swept(few, jobs=jobs)[0] for jobs in (1, 2))
    rows.append((f"{len(few.runs)} runs of about a second, one worker", f"{one:.1f} s"))
    rows.append(
        (f"the same runs, two workers on {processors()} processors", f"{two:.1f} s, {one / two:.2f} times as fast")
    )

    many = planned(TINY, 10_000 // share)
    some = [*many.runs.values()][:1000]
    for run in some[:50]:
        execute(run)
    began = time.perf_counter()
    for run in some:
        execute(run)
    direct = (time.perf_counter() - began) / len(some)
    whole, tenths = swept(many, jobs=1)
    rows.append(("a tiny run by itself", f"{1e3 * direct:.2f} ms"))
    rows.append(
        (f"{len(many.runs)} tiny runs, executor overhead", f"{1e3 * (whole / len(many.runs) - direct):.2f} ms a run")
    )
    if len(tenths) > 8:
        early, late = tenths[2] - tenths[0], tenths[8] - tenths[6]
        rows.append(("time of tenths 8 and 9 of the runs, relative to tenths 2 and 3", f"{late / early:.2f}"))

    fewer = planned(TINY, 2000 // share)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        swept(planned(TINY, 20), cluster=cluster.scheduler_address)
        whole, _ = swept(fewer, cluster=cluster.scheduler_address)
        with distributed.Client(cluster, set_as_default=False) as client:
            began = time.perf_counter()
            client.gather([client.submit(abs, at, pure=False) for at in range(len(fewer.runs))])
            empty = (time.perf_counter() - began) / len(fewer.runs)
    rows.append(("an empty Dask task, all tasks submitted at once", f"{1e3 * empty:.2f} ms"))
    rows.append(
        (
            f"{len(fewer.runs)} tiny runs by Dask, executor overhead",
            f"{1e3 * (whole / len(fewer.runs) - direct):.2f} ms a run",
        )
    )

    print("\n### Studies\n")
    print("| measurement | result |\n|---|---|")
    for what, measured in rows:
        print(f"| {what} | {measured} |")


if __name__ == "__main__":
    main()
