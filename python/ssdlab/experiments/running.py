"""Running the simulations of an experiment."""

import math
import os
import statistics
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from ssdlab import text
from ssdlab.config import Config, Overrides, _pairs
from ssdlab.experiments.definition import Axis, Experiment, Replay, Table, Traces
from ssdlab.experiments.expression import Summary, figure, figure_paths
from ssdlab.experiments.replay import Library, Source, describe, supplied
from ssdlab.experiments.result import Array, ExperimentResult, TableResult
from ssdlab.experiments.suggest import suggestion
from ssdlab.figures import ingest_remarks
from ssdlab.simulation import Monitor, simulate

Key = tuple[str, int | str | None]
"""A run: its configuration as TOML; and the trace that it replays, as the identity of an object, or as its name where
the user has not supplied it."""
Cells = dict[tuple[str, str], list[Key]]
"""Row and column of a cell to its runs."""


@dataclass(frozen=True)
class Finished:
    """What is kept of a run."""

    summary: Summary
    remarks: tuple[str, ...]
    """What a person should know about how its trace was read."""


def run(
    experiment: Experiment,
    tables: tuple[Table, ...],
    overrides: Overrides,
    traces: Traces,
    jobs: int | None,
    monitor: Monitor | None,
) -> ExperimentResult:
    """See `Experiment.run`."""
    sets = _pairs(overrides)
    sources = supplied(experiment, traces)
    library = Library(experiment, sources)
    # The same configuration in words and the same trace are the same run.
    configs: dict[str, Config] = {}
    runs: dict[Key, tuple[Config, Source | None]] = {}
    plan: list[Cells] = []
    for table in tables:
        cells: Cells = {}
        for row in table.rows.labels:
            for column in table.columns.labels:
                name = table.replays(row, column)
                cells[row, column] = []
                if table.given:
                    continue
                for config in experiment.configs(table, row, column, sets):
                    config = configs.setdefault(config.to_toml(), config)
                    source = None if name is None else library.find(name, config)
                    key: Key = config.to_toml(), name if source is None else id(source)
                    cells[row, column].append(key)
                    if name is None or source is not None:
                        runs[key] = config, source
        plan.append(cells)
    for config in configs.values():
        config.check()
    finished = _simulate(runs, jobs or os.cpu_count() or 1, monitor)
    return ExperimentResult(
        experiment=experiment,
        overrides=tuple(sets),
        traces=describe(sources),
        tables=tuple(
            _worked_out(table)
            if table.given
            else _measured(table, cells, finished, _missing(experiment, table, sources))
            for table, cells in zip(tables, plan, strict=True)
        ),
        runs=len(runs),
        finished=len(finished),
    )


def _missing(experiment: Experiment, table: Table, sources: Mapping[str, Source]) -> tuple[Replay, ...]:
    """The traces of a table that the user has not supplied."""
    return tuple(one for one in experiment.replayed(table) if one.supplied and one.name not in sources)


def _simulate(
    runs: Mapping[Key, tuple[Config, Source | None]], jobs: int, monitor: Monitor | None
) -> dict[Key, Finished]:
    """Those that came to their end."""
    stopped = threading.Event()
    replayed = dict.fromkeys(runs, 0)
    finished: dict[Key, Finished] = {}

    def one(key: Key, config: Config, source: Source | None) -> None:
        def watch(_phase: str, _done: int, _total: int | None, requests: int) -> bool:
            replayed[key] = requests
            return stopped.is_set()

        if stopped.is_set():
            return
        try:
            result = simulate(config, source, monitor=watch)
        except KeyboardInterrupt:
            # Told to end while looking for the end of the trace: signals reach the main thread only.
            return
        except BaseException:
            # One failure fails the experiment: the others need not go on.
            stopped.set()
            raise
        if not result.partial:
            finished[key] = Finished(result.summary, tuple(ingest_remarks(result.ingest)))

    with ThreadPoolExecutor(max(1, min(jobs, len(runs)))) as pool:
        futures = [pool.submit(one, key, *run) for key, run in runs.items()]
        try:
            # In short waits, as signals reach the main thread only between them.
            while wait(futures, timeout=0.1).not_done:
                if monitor is not None and monitor("runs", len(finished), len(runs), sum(replayed.values())):
                    stopped.set()
        except BaseException:
            stopped.set()
            raise
    # The first in order that failed, so that the message does not depend on timing.
    for future in futures:
        future.result()
    return finished


def _measured(table: Table, cells: Cells, finished: Mapping[Key, Finished], missing: tuple[Replay, ...]) -> TableResult:
    """The table with a value in each cell whose runs are all there."""
    shape = len(table.rows.labels), len(table.columns.labels)
    ours, spread = np.full(shape, np.nan), np.full(shape, np.nan)
    summaries: list[Summary] = []
    remarks: dict[str, None] = {}
    for index, (at, keys) in enumerate(cells.items()):
        if not all(key in finished for key in keys):
            continue
        done = [finished[key] for key in keys]
        summaries += [one.summary for one in done]
        remarks |= {f"trace {table.replays(*at)}: {remark}": None for one in done for remark in one.remarks}
        values = [value for one in done if (value := table.value.of(one.summary)) is not None]
        # Beyond what a float holds there is no number to compare.
        if len(values) == len(keys) and all(map(math.isfinite, values)):
            ours.flat[index] = statistics.fmean(values)
            spread.flat[index] = max(values) - min(values)
    return TableResult(
        table=table,
        document=_document(table),
        ours=ours,
        spread=spread,
        seeds=max(map(len, cells.values())),
        remarks=(*_remarks(table, summaries), *remarks),
        missing=missing,
    )


def _worked_out(table: Table) -> TableResult:
    """The table with what its value makes of given numbers."""
    ours = np.full((len(table.rows.labels), len(table.columns.labels)), np.nan)
    for at in np.ndindex(ours.shape):
        row, column = table.rows.labels[at[0]], table.columns.labels[at[1]]
        numbers = {table.rows.name: Axis.number(row), table.columns.name: Axis.number(column)}
        value = table.value.of({**numbers, **{name: one.cells[at[0]][at[1]] for name, one in table.given.items()}})
        ours[at] = np.nan if value is None else value
    spread = np.full(ours.shape, np.nan)
    return TableResult(table=table, document=_document(table), ours=ours, spread=spread, seeds=0, remarks=())


def _document(table: Table) -> Array:
    """The document's values."""
    if table.reference is None:
        return np.full((len(table.rows.labels), len(table.columns.labels)), np.nan)
    return np.array([[np.nan if cell is None else cell for cell in row] for row in table.reference])


def _remarks(table: Table, summaries: list[Summary]) -> list[str]:
    """What is odd about the value: a path that leads nowhere is a figure that no run has, or a slip of the pen."""
    known = {path for summary in summaries for path in figure_paths(summary)}
    return [
        f"no run has the figure {text.path(path)} of {table.value.text!r}{suggestion(path, known)}"
        for path in table.value.paths
        if summaries and all(figure(summary, path) is None for summary in summaries)
    ]
