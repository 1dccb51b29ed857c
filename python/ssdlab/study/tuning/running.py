"""Implements `tune`, which runs a search."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides
from ssdlab.model.numbers import whole
from ssdlab.model.remarks import other_spare
from ssdlab.model.replayed import modes_text
from ssdlab.model.requests import Monitor
from ssdlab.model.trace_file import Given
from ssdlab.study.store.folder import TUNING, Store, points_of, read_plan, records_of
from ssdlab.study.store.study import Study
from ssdlab.study.survey.caveats import caveats, drive_of, same_drive
from ssdlab.study.survey.outcome import is_large
from ssdlab.study.sweep.axes import TRACE, Point
from ssdlab.study.sweep.design import SEARCH, Design
from ssdlab.study.sweep.plan import AXIS, Plan, Question, listed
from ssdlab.study.sweep.running import Axes, question, workers
from ssdlab.study.tuning.finals import finalists, judged
from ssdlab.study.tuning.goal import Aims, Goal, Measured, checked, declared
from ssdlab.study.tuning.result import Finalist, Trial, Tuned
from ssdlab.study.tuning.runs import Runs
from ssdlab.study.tuning.search import Search
from ssdlab.study.tuning.space import Space
from ssdlab.study.work.run import TraceRef
from ssdlab.study.work.workers import Workers

DATABASE = "trials.db"

TRIALS, BATCH, REPEATS = 100, 4, 5
"""Default number of trials, of points per batch, and of repeats."""


@takes(outcomes=["write_amplification"], constraints=["time.iops>=5000"])
def tune(
    axes: Axes,
    config: Config | Overrides | None = None,
    trace: Given | None = None,
    *,
    outcomes: Sequence[str],
    constraints: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    trials: int = TRIALS,
    seeds: int = 1,
    repeats: int = REPEATS,
    batch: int = BATCH,
    seed: int = 1,
    warm_start: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    monitor: Monitor | None = None,
) -> Tuned:
    """Searches for the configuration with the best outcome under constraints.

    With the same versions of Optuna and NumPy, equal arguments give equal trials, for any number of workers and
    regardless of interruptions.

    Args:
        axes: Axes as for `sweep`: lists, ranges such as `"device.op=3%..30%"` or with `:log`, and settings without
            values, which vary over all their named values.
        config: Configuration that the points' settings override; the default configuration if None.
        trace: Trace file that all points replay; if None, the points run the workloads of their configurations.
        outcomes: Metrics, minimized by default or maximized with `:max`; or arithmetic on metrics such as
            `"cost=device.physical_bytes + 40 * device.mapping_table_bytes"`. Several outcomes give a Pareto front.
        constraints: Bounds such as `"write_amplification<=2"`, `"latency.all.p99_ns<=20ms"`, `"time.iops>=5000"`.
        out: Folder of the study; an interrupted search resumes. By default nothing is saved.
        trials: Number of points to try, rounded up to whole batches; fewer if the space has fewer points.
        seeds: Number of runs per point; the search uses their mean.
        repeats: Number of fresh seeds for the best points.
        batch: Number of points proposed together.
        seed: Seed of the proposals.
        warm_start: Folder of a study whose runs are reused for equal points.
        jobs: Number of worker processes; one per processor if None.
        cluster: Address of a Dask scheduler whose workers execute the runs instead.
        monitor: Called with the number of finished runs in the phase `runs`. A true return value stops the search and
            sets `Tuned.partial`.

    Raises:
        ConfigError: If axes, outcomes, constraints or settings are invalid, or the folder cannot be used.
        TraceError: If the trace is not a readable file.
        OSError: If the folder cannot be written; finished runs are kept.
    """
    asked = question(axes, config, trace, design=Design(SEARCH), without=(), seeds=seeds, outcomes=())
    return run(
        asked,
        Aims.of(outcomes, constraints),
        Budget(whole("trials", trials), whole("repeats", repeats), whole("batch", batch), whole("seed", seed)),
        None if out is None else Path(out),
        warm_start=None if warm_start is None else Path(warm_start),
        jobs=jobs,
        cluster=cluster,
        monitor=monitor,
    )


class Budget(NamedTuple):
    """Numbers of trials, of fresh seeds for the best points and of points proposed together; seed of the proposals."""

    trials: int = TRIALS
    repeats: int = REPEATS
    batch: int = BATCH
    seed: int = 1


def run(
    asked: Question,
    aims: Aims,
    budget: Budget,
    folder: Path | None,
    *,
    warm_start: Path | None,
    jobs: int | None,
    cluster: str | None,
    monitor: Monitor | None,
) -> Tuned:
    """Runs the search in the folder, or in a temporary folder. If it raises ConfigError, a new folder is removed."""
    _check(asked, aims, budget)
    declared(aims.measured)
    made = folder is None or not folder.exists()
    place = Path(tempfile.mkdtemp(prefix="ssdlab-tuning-")) if folder is None else folder
    try:
        with workers(jobs, cluster) as crew, Store(place) as store:
            tuned = _search(asked, aims, budget, store, crew, warm_start, monitor)
    except ConfigError:
        if made:
            shutil.rmtree(place, ignore_errors=True)
        raise
    finally:
        if folder is None:
            shutil.rmtree(place, ignore_errors=True)
    return tuned


def _search(
    asked: Question,
    aims: Aims,
    budget: Budget,
    store: Store,
    crew: Workers,
    warm_start: Path | None,
    monitor: Monitor | None,
) -> Tuned:
    space = Space.of(asked.axes)
    trace = None if asked.trace is None else TraceRef.of(asked.trace)
    trials = -(-budget.trials // budget.batch) * budget.batch
    seen, fresh = range(asked.seeds), range(asked.seeds, asked.seeds + budget.repeats)
    runs = Runs(asked.base, trace, aims, store=store, workers=crew, monitor=monitor)
    _check_values(space, runs)
    plan = _plan(asked, space, aims, trace, budget)
    store.ask(plan)
    search = Search(space, aims, seed=budget.seed, batch=budget.batch, database=store.folder / DATABASE)
    try:
        if warm_start is not None:
            _take(warm_start, space, runs, search, seen)
        known: list[str] = []
        runs.begin("runs", trials * len(seen))
        while sum(not one.warm for one in search.proposals() if one.finished) < trials:
            proposed = search.open()
            if not proposed or not runs.do([one.point for one in proposed], seen):
                break
            if not known:
                known = runs.figures([one.point for one in proposed], seen)
                checked(aims.measured, known)
            for one in proposed:
                search.tell(one.number, runs.measured(one.point, seen))
            store.ask({**plan, "points": _points(search, runs, space, seen)})
        tried = [
            Trial(one.point, one.warm, runs.measured(one.point, seen)) for one in search.proposals() if one.finished
        ]
        final, unchanged = _repeat(tried, runs, aims, seen, fresh)
        ran = runs.ran([one.point for one in tried], seen) + runs.ran([one.point for one in final], fresh)
        importance, exhausted = search.importance(), search.exhausted
    finally:
        # The dataset with all finished runs is written even if the search failed or was interrupted.
        plan["points"] = _points(search, runs, space, seen)
        store.ask(plan)
        store.pack(Study(plan, store.records).table)
        search.close()
    return Tuned(
        base=asked.base,
        source=None if asked.trace is None else asked.trace.about,
        axes=space.columns,
        goals=aims.goals,
        constraints=aims.constraints,
        seeds=asked.seeds,
        repeats=budget.repeats,
        asked=trials,
        exhausted=exhausted,
        trials=tried,
        finalists=final,
        unchanged=unchanged,
        importance=importance,
        notes=caveats(ran),
        modes=modes_text(one.summary for one in ran),
    )


def _check(asked: Question, aims: Aims, budget: Budget) -> None:
    if not asked.axes:
        raise ConfigError("nothing is varied; add an axis, such as device.op=3%..30%")
    if any(TRACE in axis.keys for axis in asked.axes):
        raise ConfigError(
            "axis trace: a search cannot vary the trace, because it is not part of the drive; replay a single trace"
        )
    if not aims.goals:
        raise ConfigError("the search has no outcome; add at least one, such as write_amplification or time.iops:max")
    counts = {"seeds": asked.seeds, "trials": budget.trials, "repeats": budget.repeats, "batch": budget.batch}
    for name, count in counts.items():
        if count < 1:
            raise ConfigError(f"{name} must be at least 1, not {count}")
    names = [one.name for one in aims.measured]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ConfigError(f"{text.path(twice[0])} is listed twice; list it once")


def _check_values(space: Space, runs: Runs) -> None:
    """Raises an error, before any run is started, if an axis value is invalid regardless of the other axes."""
    faults: dict[str, tuple[str, ...]] = {}
    for axis, level, corners in space.corners():
        at_corners = [fault for point in corners if (fault := runs.fault(point))]
        # A value that is valid for at least some values of the other axes is not an error, because the search avoids
        # the invalid combinations.
        if len(at_corners) < len(corners):
            continue
        lines = at_corners[0].splitlines()
        if axis.range is not None:
            [(key, end)] = level.items()
            possible = space.nearest(axis, level, lambda points: any(runs.fault(point) is None for point in points))
            if possible is None:
                where = "neither end of the range is valid"
            else:
                where = f"{end} is not a valid end of the range; use {possible[key]}, for example"
            lines = [f"axis {key}: {where}: {line.removeprefix(f'{AXIS}: {key}: ')}" for line in lines]
        faults |= dict.fromkeys(lines, tuple(level.values()))
    if faults:
        raise ConfigError(listed(faults))


def _plan(
    asked: Question,
    space: Space,
    aims: Aims,
    trace: TraceRef | None,
    budget: Budget,
) -> dict[str, Any]:
    """Returns the plan stored in the folder: like a sweep's plan, plus the arguments that identify the search."""
    plain = [
        f"{one.figure}:{one.sense}" if isinstance(one, Goal) and (one.large or is_large(one.figure, "")) else one.figure
        for one in aims.measured
        if one.figure
    ]
    tuning = {
        "axes": [
            [[*axis.keys], [[*level.values()] for level in axis.levels], None if axis.range is None else axis.range.log]
            for axis in space.axes
        ],
        "outcomes": [f"{one.name}={one.value.text}:{one.sense}" for one in aims.goals],
        "constraints": [one.name for one in aims.constraints],
        "settings": hashlib.sha256(asked.base.to_toml().encode()).hexdigest(),
        "trace": None if trace is None else trace.identity,
        "seeds": asked.seeds,
        "batch": budget.batch,
        "seed": budget.seed,
    }
    extra = {"outcomes": [*dict.fromkeys(plain)], TUNING: tuning}
    return Plan(asked, asked.design, space.columns, (), {}, extra).to_dict()


def _points(search: Search, runs: Runs, space: Space, seeds: range) -> list[tuple[list[str], int, str]]:
    """Returns the distinct points that the search has tried, in the format that the plans of sweeps use."""
    points = {str(sorted(one.point.items())): one.point for one in search.proposals() if one.finished}
    return [
        ([row.values.get(key, "") for key in space.columns], row.seed, row.key)
        for point in points.values()
        for row in runs.rows(point, seeds)
    ]


def _take(folder: Path, space: Space, runs: Runs, search: Search, seeds: range) -> None:
    """Reuses points of another study, but only before the first trial of this search."""
    known = search.proposals()
    if any(not one.warm for one in known):
        return
    plan, records = read_plan(folder), records_of(folder)
    settings = {key: str(setting["value"]) for key, setting in plan["configuration"].items()}
    have = [one.point for one in known]
    taken = len(have)
    for row in points_of(plan):
        parameters = space.parameters({**settings, **row.values})
        if parameters is None or parameters[0] in have or not runs.holds(parameters[0], seeds, records):
            continue
        point = parameters[0]
        runs.take(point, seeds, records)
        have.append(point)
        measured = runs.measured(point, seeds)
        if measured.error is None:
            search.add(*parameters, measured)
            taken += 1
    if taken == 0:
        raise ConfigError(
            f"warm start {text.path(folder)}: no run of this study can be reused; use a study with the same settings, "
            "trace, seeds and ssdlab version, and with axis values in the search space"
        )


def _repeat(
    tried: Sequence[Trial],
    runs: Runs,
    aims: Aims,
    seen: range,
    fresh: range,
) -> tuple[list[Finalist], Measured | None]:
    """Repeats the best trials and the unchanged configuration with fresh seeds; returns [] and None if stopped."""
    repeated: list[Finalist] = []

    def drive(point: Point) -> tuple[str, ...]:
        [run] = runs.ran([point], seen[:1])
        return drive_of(run)

    # Without finalists, a run of the unchanged configuration may show why no point could be run.
    for batch in finalists(tried, aims, drive) or [[]]:
        runs.begin("repeats", (len(batch) + 1) * len(fresh))
        if runs.stopped or not runs.do([*(one.point for one in batch), {}], fresh):
            return [], None
        given = runs.ran([{}], fresh[:1])
        for one in batch:
            ran = runs.ran([one.point], fresh)
            spare = next((other_spare(run.config, run.summary) for run in ran), None)
            as_given = any(same_drive(run, base) for run, base in zip(ran, given, strict=False))
            measured = runs.measured(one.point, fresh)
            repeated.append(Finalist(runs.config(one.point), one.point, one.measured, measured, False, spare, as_given))
        if any(one.fresh.feasible(aims.constraints) for one in repeated):
            break
    return judged(repeated, aims), runs.measured({}, fresh)
