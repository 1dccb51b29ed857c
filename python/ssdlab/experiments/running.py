"""Running the simulations of an experiment."""

import os
import statistics
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from ssdlab import text
from ssdlab.config import Config, Overrides, _pairs
from ssdlab.experiments.definition import Experiment, Table
from ssdlab.experiments.expression import Summary, figure, figure_paths
from ssdlab.experiments.result import ExperimentResult, TableResult
from ssdlab.experiments.suggest import suggestion
from ssdlab.simulation import Monitor, simulate

Cells = dict[tuple[str, str], list[str]]
"""Row and column of a cell to its configurations, as TOML."""


def run(
    experiment: Experiment, tables: tuple[Table, ...], overrides: Overrides, jobs: int | None, monitor: Monitor | None
) -> ExperimentResult:
    """See `Experiment.run`."""
    sets = _pairs(overrides)
    # The same configuration in words is the same run.
    configs: dict[str, Config] = {}
    plan: list[Cells] = []
    for table in tables:
        cells: Cells = {}
        for row in table.rows.labels:
            for column in table.columns.labels:
                each = {config.to_toml(): config for config in experiment.configs(table, row, column, sets)}
                cells[row, column] = list(each)
                configs |= each
        plan.append(cells)
    for config in configs.values():
        config.check()
    summaries = _simulate(configs, jobs or os.cpu_count() or 1, monitor)
    return ExperimentResult(
        experiment=experiment,
        overrides=tuple(sets),
        tables=tuple(_measured(table, cells, summaries) for table, cells in zip(tables, plan, strict=True)),
        runs=len(configs),
        finished=len(summaries),
    )


def _simulate(configs: Mapping[str, Config], jobs: int, monitor: Monitor | None) -> dict[str, dict[str, Any]]:
    """The summaries of those that came to their end."""
    stopped = threading.Event()
    replayed = dict.fromkeys(configs, 0)
    finished: dict[str, dict[str, Any]] = {}

    def one(key: str, config: Config) -> None:
        def watch(_phase: str, _done: int, _total: int | None, requests: int) -> bool:
            replayed[key] = requests
            return stopped.is_set()

        if stopped.is_set():
            return
        try:
            result = simulate(config, monitor=watch)
        except BaseException:
            # One failure fails the experiment: the others need not go on.
            stopped.set()
            raise
        if not result.partial:
            finished[key] = result.summary

    with ThreadPoolExecutor(min(jobs, len(configs))) as pool:
        futures = [pool.submit(one, key, config) for key, config in configs.items()]
        try:
            # In short waits, as signals reach the main thread only between them.
            while wait(futures, timeout=0.1).not_done:
                if monitor is not None and monitor("runs", len(finished), len(configs), sum(replayed.values())):
                    stopped.set()
        except BaseException:
            stopped.set()
            raise
    # The first in order that failed, so that the message does not depend on timing.
    for future in futures:
        future.result()
    return finished


def _measured(table: Table, cells: Cells, summaries: Mapping[str, Summary]) -> TableResult:
    """The table with a value in each cell whose runs are all there."""
    shape = len(table.rows.labels), len(table.columns.labels)
    ours, spread = np.full(shape, np.nan), np.full(shape, np.nan)
    done = []
    for index, keys in enumerate(cells.values()):
        if not all(key in summaries for key in keys):
            continue
        done += [summaries[key] for key in keys]
        values = [value for key in keys if (value := table.value.of(summaries[key])) is not None]
        if len(values) == len(keys):
            ours.flat[index] = statistics.fmean(values)
            spread.flat[index] = max(values) - min(values)
    document = np.array(
        [[np.nan if cell is None else cell for cell in row] for row in table.reference]
        if table.reference is not None
        else np.full(shape, np.nan)
    )
    return TableResult(
        table=table,
        document=document,
        ours=ours,
        spread=spread,
        seeds=max(map(len, cells.values())),
        remarks=tuple(_remarks(table, done)),
    )


def _remarks(table: Table, summaries: list[Summary]) -> list[str]:
    """What is odd about the value: a path that leads nowhere is a figure that no run has, or a slip of the pen."""
    known = {path for summary in summaries for path in figure_paths(summary)}
    return [
        f"no run has the figure {text.path(path)} of {table.value.text!r}{suggestion(path, known)}"
        for path in table.value.paths
        if summaries and all(figure(summary, path) is None for summary in summaries)
    ]
