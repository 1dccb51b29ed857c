"""Runs the simulations of an experiment."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import Counts, np
from ssdlab.model.config import Config, Overrides, as_written
from ssdlab.model.requests import Monitor
from ssdlab.model.result import Result
from ssdlab.model.shape import complete
from ssdlab.model.source import ingest_remarks
from ssdlab.model.trace import Trace
from ssdlab.study.executor import Executor
from ssdlab.study.experiments.definition import COLUMN, Axis, Experiment, Replay, Table, Traces
from ssdlab.study.experiments.expression import Summary, figure_paths, is_known
from ssdlab.study.experiments.models import MODELS
from ssdlab.study.experiments.replay import Library, Source, supplied
from ssdlab.study.experiments.result import Array, ExperimentResult, TableResult, cells_of, is_own
from ssdlab.text import suggestion

Key = tuple[str, int | str | None, str | None]
"""Key of a run: its configuration as TOML, its trace, and the configuration of the run whose recording it replays. The
trace is the `id` of its object, or its name if the user has not supplied it.
"""
Cells = dict[tuple[str, str], list[Key]]
"""Keys of the runs of each cell, by the cell's row and column labels."""


@dataclass
class Group:
    """A run and the runs that replay its recording right after it, so that the recording need not be stored."""

    config: Config
    source: Source | None
    replays: dict[Key, Config] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished:
    """Metrics of a run, with the columns that expressions read, and remarks on its trace."""

    summary: Summary
    remarks: tuple[str, ...]


class _Plan:
    """Distinct runs of an experiment, and the runs of each cell; `sets` override settings of the experiment."""

    def __init__(self, experiment: Experiment, library: Library, sets: Sequence[str]) -> None:
        self._experiment, self._library, self._sets = experiment, library, sets
        self.configs: dict[str, Config] = {}
        self.groups: dict[Key, Group] = {}
        self.cells: dict[str, Cells] = {}

    @property
    def runs(self) -> int:
        """Number of distinct simulations."""
        return sum(1 + len(group.replays) for group in self.groups.values())

    def add(self, table: Table) -> None:
        cells = self.cells[table.name] = {}
        for cell in table.cells:
            name = table.replays(*cell)
            below: list[Config | None] = [None]
            if table.runs.below is not None:
                below = [*self._experiment.configs_below(table, *cell, self._sets)]
            above = self._experiment.configs(table, *cell, self._sets)
            cells[cell] = [self._run(name, *configs) for configs in zip_longest(above, below)]

    def _run(self, name: str | None, config: Config, below: Config | None) -> Key:
        config = self.configs.setdefault(config.to_toml(), config)
        source = None if name is None else self._library.find(name, config)
        key: Key = config.to_toml(), name if source is None else id(source), None
        group = self.groups.setdefault(key, Group(config, source)) if name is None or source else None
        if below is not None:
            below = self.configs.setdefault(below.to_toml(), below)
            key = below.to_toml(), key[1], config.to_toml()
            if group is not None:
                group.replays[key] = below
        return key


def run(
    experiment: Experiment,
    tables: tuple[Table, ...],
    overrides: Overrides,
    traces: Traces,
    jobs: int | None,
    monitor: Monitor | None,
) -> ExperimentResult:
    """Runs an experiment; see `Experiment.run`."""
    sets = as_written(overrides)
    sources = supplied(experiment, traces)
    plan = _Plan(experiment, Library(experiment, sources), sets)
    needed = {one.name: one for table in tables for one in experiment.behind(table)}
    for table in needed.values():
        if table.simulated:
            plan.add(table)
    for config in plan.configs.values():
        config.check()
    paths = {path for table in needed.values() for value in table.values for path in value.paths}
    finished = _simulate(plan, paths, jobs, monitor)
    results: dict[str, TableResult] = {}
    by_seed: dict[str, Array] = {}
    for table in needed.values():
        if table.simulated:
            values, remarks = _measured(table, plan.cells[table.name], finished)
        elif table.source.tables:
            values, remarks = _derived(table, [needed[name] for name in table.source.tables], by_seed), ()
        else:
            values, remarks = _computed(experiment, table)
        by_seed[table.name] = np.array([_changes(table, of_seed) for of_seed in values])
        missing = tuple(one for one in experiment.replayed(table) if one.supplied and one.name not in sources)
        results[table.name] = _result(table, by_seed[table.name], remarks, missing, results)
    return ExperimentResult(
        experiment=experiment,
        overrides=tuple(sets),
        traces={name: source.about for name, source in sources.items()},
        tables=tuple(results[table.name] for table in tables),
        runs=plan.runs,
        finished=len(finished),
    )


def _simulate(plan: _Plan, paths: set[str], jobs: int | None, monitor: Monitor | None) -> dict[Key, Finished]:
    """Runs all groups of simulations. Returns the completed runs with their metrics and the columns in `paths`."""
    finished: dict[Key, Finished] = {}
    executor = Executor("runs", plan.runs, jobs=jobs, monitor=monitor)

    def simulate(key: Key, config: Config, source: Source | None) -> Trace | None:
        """Runs one simulation; returns the requests sent to the drive if the run records them."""
        result = executor.simulate(config, source)
        if result is None:
            return None
        summary = {**complete(result.summary), **_columns(result, paths)}
        finished[key] = Finished(summary, tuple(ingest_remarks(result.ingest)))
        return result.dispatched

    def simulate_group(key: Key, group: Group) -> None:
        recorded = simulate(key, group.config, group.source)
        for replay, config in group.replays.items():
            if recorded is not None:
                simulate(replay, config, recorded)

    executor.run([partial(simulate_group, key, group) for key, group in plan.groups.items()])
    return finished


def _columns(result: Result, paths: set[str]) -> dict[str, dict[str, list[int]]]:
    """Returns the columns of a result whose paths are in `paths`, grouped by file (`series`, `log_reclaims`)."""
    files: dict[str, Mapping[str, Counts]] = {"series": result.series}
    if result.log is not None:
        names = ("copies", "erases", "ns", "times")
        files["log_reclaims"] = {name: getattr(result.log, f"reclaim_{name}") for name in names}
    return {
        file: {name: column.tolist() for name, column in columns.items() if f"{file}.{name}" in paths}
        for file, columns in files.items()
    }


def _result(
    table: Table,
    by_seed: Array,
    remarks: tuple[str, ...],
    missing: tuple[Replay, ...],
    above: Mapping[str, TableResult],
) -> TableResult:
    """Averages the values of a table over the seeds."""
    simulated = table.simulated or any(above[name].seeds for name in table.source.tables)
    shape = by_seed.shape[1:]
    ours = [statistics.fmean(values) for values in by_seed.reshape(len(by_seed), -1).T.tolist()]
    other = table.claim.winners_of if table.claim is not None else None
    return TableResult(
        table=table,
        document=_document(table),
        ours=np.array(ours).reshape(shape),
        spread=by_seed.max(axis=0) - by_seed.min(axis=0) if simulated else np.full(shape, np.nan),
        seeds=len(by_seed) if simulated else 0,
        remarks=remarks,
        missing=missing,
        rival=None if other is None else above[other],
    )


def _measured(table: Table, cells: Cells, finished: Mapping[Key, Finished]) -> tuple[Array, tuple[str, ...]]:
    """Returns the values of a simulated table by seed, row and column (NaN in incomplete cells), and remarks."""
    by_seed = np.full((max(map(len, cells.values())), len(table.rows.labels), len(table.columns.labels)), np.nan)
    summaries: list[Summary] = []
    remarks: dict[str, None] = {}
    for index, (at, keys) in enumerate(cells.items()):
        if not all(key in finished for key in keys):
            continue
        done = [finished[key] for key in keys]
        # If an axis has the same name as a metric, the metric takes precedence over the number in the axis label.
        numbers = {name: number for name, number in table.numbers(*at).items() if number is not None}
        own = [{**numbers, **one.summary} for one in done]
        summaries += own
        remarks |= {f"trace {table.replays(*at)}: {remark}": None for one in done for remark in one.remarks}
        values = [value for one in own if (value := table.value_of(*at).of(one)) is not None]
        # Overflows give infinite values. They are dropped, because they cannot be compared.
        if len(values) == len(keys) and all(map(math.isfinite, values)):
            by_seed.reshape(len(by_seed), -1)[:, index] = values
    return by_seed, (*_remarks(table, summaries), *remarks)


def _derived(table: Table, sources: list[Table], by_seed: Mapping[str, Array]) -> Array:
    """Computes a table's values by seed, row and column from the cells of other tables.

    In an expression, `NAME` stands for the name of another table. If both tables have the same column axis, `NAME` is
    the cell in the same row and column, and `column.NAME` lists all cells of this column. Otherwise, `NAME` lists the
    cells of the same row, without anchor cells. `column.` with the name of the row axis lists the numbers in the row
    labels.
    """
    seeds = len(by_seed[sources[0].name])
    values = np.full((seeds, len(table.rows.labels), len(table.columns.labels)), np.nan)
    for seed, row, column in np.ndindex(values.shape):
        at = table.rows.labels[row], table.columns.labels[column]
        columns: dict[str, object] = {table.rows.name: [Axis.number(label) for label in table.rows.labels]}
        figures: dict[str, object] = {**table.numbers(*at), COLUMN: columns}
        for one in sources:
            cells = by_seed[one.name][seed]
            if one.columns.name == table.columns.name:
                figures[one.name] = None if np.isnan(cells[row, column]) else float(cells[row, column])
                columns[one.name] = _known(cells[:, column])
            else:
                own = is_own(cells_of(one.change_to, one)) if one.change_to else np.full(cells.shape, False)
                figures[one.name] = _known(cells[row, ~own[row]])
        value = table.value_of(*at).of(figures)
        values[seed, row, column] = np.nan if value is None else value
    return values


def _known(values: Array) -> list[float] | None:
    """Returns the values as a list; None if one is missing."""
    known: list[float] = values.tolist()
    return None if any(map(math.isnan, known)) else known


def _computed(experiment: Experiment, table: Table) -> tuple[Array, tuple[str, ...]]:
    """Computes a table's values for a single seed, from numbers in CSV files or from a model. Also returns remarks."""
    values = np.full((1, len(table.rows.labels), len(table.columns.labels)), np.nan)
    summaries: list[Summary] = []
    for at in np.ndindex(values.shape[1:]):
        row, column = table.rows.labels[at[0]], table.columns.labels[at[1]]
        figures: Summary
        if table.source.model is None:
            given = {name: one.cells[at[0]][at[1]] for name, one in table.source.files.items()}
            figures = {**table.numbers(row, column), **given}
        else:
            try:
                figures = MODELS[table.source.model](experiment.arguments(table, row, column))
            except ConfigError as error:
                place = f"{experiment.file}: table {table.name}: row {row}, column {column}"
                raise ConfigError(f"{place}: {error}") from None
            summaries.append(figures)
        value = table.value_of(row, column).of(figures)
        values[0][at] = np.nan if value is None else value
    return values, tuple(_remarks(table, summaries))


def _document(table: Table) -> Array:
    reference = table.comparison.reference
    if reference is None:
        return np.full((len(table.rows.labels), len(table.columns.labels)), np.nan)
    return _changes(table, np.array([[np.nan if cell is None else cell for cell in row] for row in reference]))


def _changes(table: Table, values: Array) -> Array:
    """Returns the values or, if the table shows changes, the percent change from each value to its anchor's value."""
    if table.change_to is None:
        return values
    at = cells_of(table.change_to, table)
    with np.errstate(divide="ignore", invalid="ignore"):
        changes: Array = 100 * (values[at] / values - 1)
    changes[is_own(at) | ~np.isfinite(changes)] = np.nan
    return changes


def _remarks(table: Table, summaries: list[Summary]) -> list[str]:
    """Returns remarks on paths in expressions for which no run has a metric."""
    known = {path for summary in summaries for path in figure_paths(summary)}
    where = "run" if table.simulated else "cell"
    return [
        f"metric {text.path(path)} in {value.text!r} is missing in every {where}{suggestion(path, known)}"
        for value in table.values
        for path in value.paths
        if summaries and not any(is_known(summary, path) for summary in summaries)
    ]
