"""Sweeps as a user calls them."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.tasks import at_a_time
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, config_of
from ssdlab.model.notebook import following
from ssdlab.model.numbers import whole
from ssdlab.model.requests import Monitor
from ssdlab.model.several import several
from ssdlab.model.trace_file import Given, TraceFile, source_of
from ssdlab.study.executor import Executor
from ssdlab.study.store.folder import Store
from ssdlab.study.store.shared import place, reading, writing
from ssdlab.study.store.study import Study
from ssdlab.study.survey.outcome import check_outcomes, student
from ssdlab.study.sweep import pilots
from ssdlab.study.sweep.axes import Axis, Condition, Values, axis, distinct, of
from ssdlab.study.sweep.design import Design
from ssdlab.study.sweep.fitting import fitted
from ssdlab.study.sweep.plan import Plan, Question, plan
from ssdlab.study.sweep.preview import Preview
from ssdlab.study.work.cluster import DaskWorkers
from ssdlab.study.work.local import LocalWorkers
from ssdlab.study.work.run import Run
from ssdlab.study.work.workers import Workers

Axes = Mapping[str, Values] | Sequence[str | Mapping[str, Values]]
"""Axes as a user gives them: values by key, or texts such as `device.op=7%,28%` and linked keys, one or a list."""


@takes(outcomes=["write_amplification"], without=["device.op>20%"])
def sweep(
    axes: Axes,
    config: Config | Overrides | None = None,
    trace: Given | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    design: str = "grid",
    samples: int | None = None,
    resolution: int | None = None,
    without: Sequence[str] = (),
    seeds: int = 1,
    outcomes: Sequence[str] = (),
    seed: int = 1,
    jobs: int | None = None,
    cluster: str | None = None,
    retry: bool = False,
    monitor: Monitor | None = None,
) -> Study:
    """Runs every point of a design over axes, those that the study holds already left out.

    The result depends on the arguments but for `out`, `jobs`, `cluster` and `retry` alone: neither on interruptions nor
    on the order in which runs end. A run that fails is a row with its error.

    Args:
        axes: What is varied: `{"device.op": "7%..28%:4", "ftl.page.gc": ["greedy", "fifo"]}`, or a list of texts as on
            the command line and of mappings, whose keys are linked. Beside settings, `trace` and `preset`.
        config: The configuration that points are laid on; the defaults if left out.
        trace: What all replay: a file, as runs of their own read it; their own workloads if None.
        out: Folder of the study, or an address in storage that fsspec reaches, such as `s3://bucket/op`. Runs that it
            holds are not run again. Nothing is kept if left out.
        design: `grid`, `random`, `latin-hypercube`, `sobol`, `one-at-a-time`, `factorial` or `saltelli`.
        samples: Points of the designs that draw or fill; 64 if left out.
        resolution: 3, 4 or 5, of a fractional factorial; all combinations if left out.
        without: Combinations to leave out, such as `"ftl.page.gc=fifo device.op>20%"`.
        seeds: Runs of each point: with its own `seed`, and with those that follow.
        outcomes: Figures to show first, such as `"write_amplification"` and `"time.iops:max"`.
        seed: Of the designs that are random.
        jobs: Worker processes at a time; one per processor if None.
        cluster: Address of a Dask scheduler whose workers do the runs instead.
        retry: Whether runs that failed before are run again.
        monitor: Told how many runs are finished, in the phase `runs`. If it returns something true, those that are
            finished are kept, and `Study.partial` is set.

    Raises:
        ConfigError: If axes, design or settings are wrong, or the folder cannot be used.
        TraceError: If a trace is no file that can be read, or was changed meanwhile.
        OSError: If the folder cannot be written; what is finished is kept.
    """
    samples = None if samples is None else whole("samples", samples)
    resolution = None if resolution is None else whole("resolution", resolution)
    asked = question(
        axes, config, trace, design=Design(design, samples, resolution, whole("seed", seed)), without=without,
        seeds=seeds, outcomes=outcomes,
    )  # fmt: skip
    where = None if out is None else place(os.fspath(out))
    with following(monitor) as shown:
        return run(plan(asked), where, jobs=jobs, cluster=cluster, retry=retry, monitor=shown)


def question(
    axes: Axes,
    config: Config | Overrides | None,
    trace: Given | None,
    *,
    design: Design,
    without: Sequence[str],
    seeds: int,
    outcomes: Sequence[str],
    reading: Mapping[str, Any] | None = None,
) -> Question:
    """The question of arguments as a user gives them.

    Raises:
        ConfigError: If they are wrong.
    """
    base = config_of(config)
    found, shown, seeds = fitted(distinct(_axes(axes)), base), several(outcomes), whole("seeds", seeds)
    check_outcomes(shown)
    if seeds > 1:
        # What means over seeds are made with may be missing: better now than after the runs.
        student(seeds - 1)
    source = None if trace is None else source_of(trace)
    if source is not None and not isinstance(source, TraceFile):
        raise ConfigError(
            "a study replays files, which it can find again; save the trace, and give its path: trace.save('t.parquet')"
        )
    return Question(
        axes=tuple(found),
        base=base,
        trace=source,
        reading=reading or {},
        design=design,
        conditions=tuple(Condition.of(one, found) for one in several(without)),
        seeds=seeds,
        outcomes=tuple(shown),
    )


def _axes(given: Axes) -> list[Axis]:
    if isinstance(given, Mapping):
        return [of({key: values}) for key, values in given.items()]
    return [axis(one) if isinstance(one, str) else of(one) for one in several(given)]


def workers(jobs: int | None, cluster: str | None) -> Workers:
    """Who does the runs.

    Raises:
        ConfigError: If a cluster cannot be reached, or is of another program.
    """
    return LocalWorkers(at_a_time(jobs)) if cluster is None else DaskWorkers(cluster)


class Planned(Protocol):
    """What is asked of a study."""

    @property
    def runs(self) -> Mapping[str, Run]:
        """By key."""

    def to_dict(self) -> dict[str, Any]:
        """The plan as the folder keeps it."""


def run(
    planned: Planned,
    where: Path | str | None,
    *,
    jobs: int | None,
    cluster: str | None,
    retry: bool = False,
    monitor: Monitor | None = None,
) -> Study:
    """Runs what of a plan a folder, or an address, does not hold; in a folder that is removed afterwards if it is None.

    Raises:
        ConfigError: As `sweep`.
        OSError: As `sweep`.
    """
    if where is None:
        with tempfile.TemporaryDirectory(prefix="ssdlab-study-") as made:
            return run(planned, Path(made), jobs=jobs, cluster=cluster, monitor=monitor)
    if isinstance(where, str):
        with writing(where) as shared:
            watch = shared.watched(monitor)
            return run(planned, shared.folder, jobs=jobs, cluster=cluster, retry=retry, monitor=watch)
    with workers(jobs, cluster) as crew, Store(where) as store:
        if retry:
            store.forget_failures([*planned.runs])
        left = [one for key, one in planned.runs.items() if key not in store.records]
        asked = planned.to_dict()
        store.ask(asked)
        executor = Executor("runs", len(left), monitor=monitor, workers=crew)

        def one(task: Run) -> None:
            outcome = executor.do(task)
            if outcome is not None:
                store.keep(task.key, outcome)

        try:
            executor.run([partial(one, task) for task in left])
        finally:
            # Whatever ends it, the dataset is of what is finished.
            found = Study(asked, store.records)
            store.pack(found.table)
    return found


@takes()
def open_study(path: str | os.PathLike[str]) -> Study:
    """A study from its folder, or from its address; what it holds so far, if it is still being written.

    Raises:
        ConfigError: If there is no study that this version reads.
    """
    return Study.read(place(os.fspath(path)))


def preview(planned: Plan, where: Path | str | None, *, jobs: int | None) -> Preview:
    """What a plan would run, with times from pilot runs, which are not kept.

    Raises:
        ConfigError: If the folder holds something else than a study of this program.
    """
    done: set[str] = set()
    if where is not None:
        with reading(where) as folder:
            if folder.exists():
                with Store(folder) as store:
                    done = {*store.records}
    left = {key: one for key, one in planned.runs.items() if key not in done}
    points = {row.key: row.values for row in reversed(planned.rows)}
    with LocalWorkers(1) as crew:
        most_bytes = crew.most_bytes
        able = {key: one for key, one in left.items() if one.memory_bytes <= most_bytes}
        its = {key: points[key] for key in able}
        tried = pilots.run(able, its, planned.question.axes, crew) if able else None
    return Preview(
        planned=planned,
        left=len(left),
        jobs=at_a_time(jobs),
        pilots=tried,
        memory_bytes=max((one.memory_bytes for one in planned.runs.values()), default=0),
        most_bytes=most_bytes,
        too_large=len(left) - len(able),
    )
