"""The functions that users call to run sweeps."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
from ssdlab.study.work.workers import Workers

Axes = Mapping[str, Values] | Sequence[str | Mapping[str, Values]]
"""Axes as users write them: a mapping from keys to values, or a list of strings and of mappings for linked keys."""


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
    """Runs every point of a design over axes. Finished runs of the study are not repeated.

    The result does not depend on `out`, `jobs`, `cluster` and `retry`, on interruptions, or on the order in which runs
    end. A failed run appears as a row with its error message.

    Args:
        axes: `{"device.op": "7%..28%:4", "ftl.page.gc": ["greedy", "fifo"]}`, or a list of command-line texts and of
            mappings with linked keys. In addition to settings, `trace` and `preset` can vary.
        config: Configuration that the points' settings override; the default configuration if None.
        trace: Trace file that all points replay; if None, the points run the workloads of their configurations.
        out: Folder of the study, or a remote address such as `s3://bucket/op`; by default nothing is saved.
        design: `grid`, `random`, `latin-hypercube`, `sobol`, `one-at-a-time`, `factorial` or `saltelli`.
        samples: Number of samples of a sampled design; 64 by default.
        resolution: 3, 4 or 5 for a fractional factorial; all combinations by default.
        without: Combinations to exclude, such as `"ftl.page.gc=fifo device.op>20%"`.
        seeds: Number of runs per point, with consecutive seeds starting at the seed of the configuration.
        outcomes: Metrics to show first, such as `"write_amplification"` and `"time.iops:max"`.
        seed: Seed of a random design.
        jobs: Number of worker processes; one per processor if None.
        cluster: Address of a Dask scheduler whose workers execute the runs instead.
        retry: True to repeat failed runs.
        monitor: Called with the number of finished runs in the phase `runs`. A true return value stops the sweep;
            finished runs are kept and `Study.partial` is set.

    Raises:
        ConfigError: If axes, design or settings are invalid, or the folder cannot be used.
        TraceError: If a trace is not a readable file, or has changed during the sweep.
        OSError: If the folder cannot be written; finished runs are kept.
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
    """Checks the arguments of `sweep` and returns the sweep to run."""
    base = config_of(config)
    checked, shown, seeds = fitted(distinct(_axes(axes)), base), several(outcomes), whole("seeds", seeds)
    check_outcomes(shown)
    if seeds > 1:
        # Fails before any run, rather than after all runs, if the library for confidence intervals is missing.
        student(seeds - 1)
    source = None if trace is None else source_of(trace)
    if source is not None and not isinstance(source, TraceFile):
        raise ConfigError("a study replays trace files; save the trace with trace.save('t.parquet') and use its path")
    return Question(
        axes=tuple(checked),
        base=base,
        trace=source,
        reading=reading or {},
        design=design,
        conditions=tuple(Condition.of(one, checked) for one in several(without)),
        seeds=seeds,
        outcomes=tuple(shown),
    )


def _axes(given: Axes) -> list[Axis]:
    if isinstance(given, Mapping):
        return [of({key: values}) for key, values in given.items()]
    return [axis(one) if isinstance(one, str) else of(one) for one in several(given)]


def workers(jobs: int | None, cluster: str | None) -> Workers:
    """Returns workers on this machine or on a cluster."""
    return LocalWorkers(at_a_time(jobs)) if cluster is None else DaskWorkers(cluster)


def run(
    planned: Plan,
    where: Path | str | None,
    *,
    jobs: int | None,
    cluster: str | None,
    retry: bool = False,
    monitor: Monitor | None = None,
) -> Study:
    """Executes the runs of a plan that are missing in the study at `where`; a temporary folder if None."""
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
        try:
            executor.execute(left, store.keep)
        finally:
            # The dataset with all finished runs is written even if the sweep failed or was interrupted.
            study = Study(asked, store.records)
            store.pack(study.table)
    return study


@takes()
def open_study(path: str | os.PathLike[str]) -> Study:
    """Opens the study at a folder or address. If the study is still in progress, only its finished runs are included.

    Raises:
        ConfigError: If `path` contains no study that this version of ssdlab can read.
    """
    return Study.read(place(os.fspath(path)))


def preview(planned: Plan, where: Path | str | None, *, jobs: int | None) -> Preview:
    """Returns the runs that a plan would execute, with estimates from pilot runs, whose results are not stored."""
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
        tried = pilots.run(able, {key: points[key] for key in able}, planned.question.axes, crew) if able else None
    return Preview(
        planned=planned,
        left=len(left),
        jobs=at_a_time(jobs),
        pilots=tried,
        memory_bytes=max((one.memory_bytes for one in planned.runs.values()), default=0),
        most_bytes=most_bytes,
        too_large=len(left) - len(able),
    )
