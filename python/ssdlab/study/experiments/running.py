"""Running the simulations of an experiment."""

import math
import statistics
from collections.abc import Mapping
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
from ssdlab.study.experiments.replay import Library, Source, describe, supplied
from ssdlab.study.experiments.result import Array, ExperimentResult, TableResult, cells_of, is_own
from ssdlab.text import suggestion

Key = tuple[str, int | str | None, str | None]
"""A run: its configuration as TOML; the trace that it replays, as the identity of an object, or as its name where the
user has not supplied it; and, if it replays what another run recorded, the configuration of that as TOML."""
Cells = dict[tuple[str, str], list[Key]]
"""Row and column of a cell to its runs."""


@dataclass
class Group:
    """A run, and those that replay what it recorded: one after the other, so that the recording need not be kept."""

    config: Config
    source: Source | None
    replays: dict[Key, Config] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """Simulations in it."""
        return 1 + len(self.replays)


@dataclass(frozen=True)
class Finished:
    """What is kept of a run."""

    summary: Summary
    """Its figures, and the columns that values read."""
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
    sets = as_written(overrides)
    sources = supplied(experiment, traces)
    library = Library(experiment, sources)
    # The same configuration in words and the same trace are the same run.
    configs: dict[str, Config] = {}
    groups: dict[Key, Group] = {}
    needed = {one.name: one for table in tables for one in experiment.behind(table)}
    plan: dict[str, Cells] = {}
    for table in needed.values():
        if not table.simulated:
            continue
        cells = plan.setdefault(table.name, {})
        for row in table.rows.labels:
            for column in table.columns.labels:
                name = table.replays(row, column)
                cells[row, column] = []
                below: list[Config | None] = [None]
                if table.below is not None:
                    below = [*experiment.configs_below(table, row, column, sets)]
                for config, config_below in zip_longest(experiment.configs(table, row, column, sets), below):
                    config = configs.setdefault(config.to_toml(), config)
                    source = None if name is None else library.find(name, config)
                    key: Key = config.to_toml(), name if source is None else id(source), None
                    group = groups.setdefault(key, Group(config, source)) if name is None or source else None
                    if config_below is not None:
                        config_below = configs.setdefault(config_below.to_toml(), config_below)
                        key = config_below.to_toml(), key[1], config.to_toml()
                        if group is not None:
                            group.replays[key] = config_below
                    cells[row, column].append(key)
    for config in configs.values():
        config.check()
    paths = {path for table in needed.values() for value in table.values for path in value.paths}
    finished = _simulate(groups, paths, jobs, monitor)
    runs = sum(group.runs for group in groups.values())
    results: dict[str, TableResult] = {}
    by_seed: dict[str, Array] = {}
    for table in needed.values():
        if table.simulated:
            values, remarks = _measured(table, plan[table.name], finished)
        elif table.sources:
            values, remarks = _derived(table, [needed[name] for name in table.sources], by_seed), ()
        else:
            values, remarks = _worked_out(experiment, table)
        by_seed[table.name] = np.array([_changes(table, of_seed) for of_seed in values])
        missing = _missing(experiment, table, sources)
        results[table.name] = _result(table, by_seed[table.name], remarks, missing, results)
    return ExperimentResult(
        experiment=experiment,
        overrides=tuple(sets),
        traces=describe(sources),
        tables=tuple(results[table.name] for table in tables),
        runs=runs,
        finished=len(finished),
    )


def _missing(experiment: Experiment, table: Table, sources: Mapping[str, Source]) -> tuple[Replay, ...]:
    """The traces of a table that the user has not supplied."""
    return tuple(one for one in experiment.replayed(table) if one.supplied and one.name not in sources)


def _simulate(
    groups: Mapping[Key, Group], paths: set[str], jobs: int | None, monitor: Monitor | None
) -> dict[Key, Finished]:
    """The runs that came to their end, with the columns among the `paths`."""
    finished: dict[Key, Finished] = {}
    executor = Executor("runs", sum(group.runs for group in groups.values()), jobs=jobs, monitor=monitor)

    def one(key: Key, config: Config, source: Source | None) -> Trace | None:
        """Runs one simulation; the requests given to its drive, if it recorded them."""
        result = executor.simulate(config, source)
        if result is None:
            return None
        summary = {**complete(result.summary), **_columns(result, paths)}
        finished[key] = Finished(summary, tuple(ingest_remarks(result.ingest)))
        return result.dispatched

    def all_of(key: Key, group: Group) -> None:
        recorded = one(key, group.config, group.source)
        for replay, config in group.replays.items():
            if recorded is not None:
                one(replay, config, recorded)

    executor.run([partial(all_of, key, group) for key, group in groups.items()])
    return finished


def _columns(result: Result, paths: set[str]) -> dict[str, dict[str, list[int]]]:
    """The columns of a run that are among the paths, by the names of the files that hold them."""
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
    """The table with the means over the seeds."""
    simulated = table.simulated or any(above[name].seeds for name in table.sources)
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
    """By seed, row and column the value of each cell whose runs are all there, and what is odd about them."""
    by_seed = np.full((max(map(len, cells.values())), len(table.rows.labels), len(table.columns.labels)), np.nan)
    summaries: list[Summary] = []
    remarks: dict[str, None] = {}
    for index, (at, keys) in enumerate(cells.items()):
        if not all(key in finished for key in keys):
            continue
        done = [finished[key] for key in keys]
        # A figure beats the number in a label of an axis of the same name.
        numbers = {name: number for name, number in table.numbers(*at).items() if number is not None}
        own = [{**numbers, **one.summary} for one in done]
        summaries += own
        remarks |= {f"trace {table.replays(*at)}: {remark}": None for one in done for remark in one.remarks}
        values = [value for one in own if (value := table.value_of(*at).of(one)) is not None]
        # Beyond what a float holds there is no number to compare.
        if len(values) == len(keys) and all(map(math.isfinite, values)):
            by_seed.reshape(len(by_seed), -1)[:, index] = values
    return by_seed, (*_remarks(table, summaries), *remarks)


def _derived(table: Table, sources: list[Table], by_seed: Mapping[str, Array]) -> Array:
    """By seed, row and column what the values make of the cells of other tables.

    Of a table with the same columns a value reads the same cell, and as `column` the cells above and below it with the
    numbers in their labels; of any other all cells of the row but those that are relative to themselves.
    """
    seeds = len(by_seed[sources[0].name])
    found = np.full((seeds, len(table.rows.labels), len(table.columns.labels)), np.nan)
    for seed, row, column in np.ndindex(found.shape):
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
        found[seed, row, column] = np.nan if value is None else value
    return found


def _known(values: Array) -> list[float] | None:
    """The values, if all of them are known."""
    found: list[float] = values.tolist()
    return None if any(map(math.isnan, found)) else found


def _worked_out(experiment: Experiment, table: Table) -> tuple[Array, tuple[str, ...]]:
    """What values make of given numbers, or of the figures of a model, as for one seed; and what is odd about it."""
    found = np.full((1, len(table.rows.labels), len(table.columns.labels)), np.nan)
    summaries: list[Summary] = []
    for at in np.ndindex(found.shape[1:]):
        row, column = table.rows.labels[at[0]], table.columns.labels[at[1]]
        figures: Summary
        if table.model is None:
            figures = {
                **table.numbers(row, column),
                **{name: one.cells[at[0]][at[1]] for name, one in table.given.items()},
            }
        else:
            try:
                figures = MODELS[table.model](experiment.arguments(table, row, column))
            except ConfigError as error:
                place = f"{experiment.file}: table {table.name}: row {row}, column {column}"
                raise ConfigError(f"{place}: {error}") from None
            summaries.append(figures)
        value = table.value_of(row, column).of(figures)
        found[0][at] = np.nan if value is None else value
    return found, tuple(_remarks(table, summaries))


def _document(table: Table) -> Array:
    """The document's values."""
    if table.reference is None:
        return np.full((len(table.rows.labels), len(table.columns.labels)), np.nan)
    return _changes(table, np.array([[np.nan if cell is None else cell for cell in row] for row in table.reference]))


def _changes(table: Table, values: Array) -> Array:
    """The values, or their changes in % to those of other cells where the table shows these."""
    if table.change_to is None:
        return values
    at = cells_of(table.change_to, table)
    with np.errstate(divide="ignore", invalid="ignore"):
        changes: Array = 100 * (values[at] / values - 1)
    changes[is_own(at) | ~np.isfinite(changes)] = np.nan
    return changes


def _remarks(table: Table, summaries: list[Summary]) -> list[str]:
    """What is odd about the values: a path that leads nowhere is a figure that no run has, or a slip of the pen."""
    known = {path for summary in summaries for path in figure_paths(summary)}
    where = "run" if table.simulated else "cell"
    return [
        f"no {where} has the figure {text.path(path)} of {value.text!r}{suggestion(path, known)}"
        for value in table.values
        for path in value.paths
        if summaries and not any(is_known(summary, path) for summary in summaries)
    ]
