"""Running the simulations of an experiment."""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import np
from ssdlab.model.config import Config, Overrides, as_written
from ssdlab.model.requests import Monitor
from ssdlab.model.source import ingest_remarks
from ssdlab.model.trace import Trace
from ssdlab.study.executor import Executor
from ssdlab.study.experiments.definition import Axis, Experiment, Replay, Table, Traces
from ssdlab.study.experiments.expression import Summary, figure, figure_paths
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
    plan: list[Cells] = []
    for table in tables:
        cells: Cells = {}
        for row in table.rows.labels:
            for column in table.columns.labels:
                name = table.replays(row, column)
                cells[row, column] = []
                if not table.simulated:
                    continue
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
        plan.append(cells)
    for config in configs.values():
        config.check()
    finished = _simulate(groups, jobs, monitor)
    runs = sum(group.runs for group in groups.values())
    return ExperimentResult(
        experiment=experiment,
        overrides=tuple(sets),
        traces=describe(sources),
        tables=tuple(
            _worked_out(experiment, table)
            if not table.simulated
            else _measured(table, cells, finished, _missing(experiment, table, sources))
            for table, cells in zip(tables, plan, strict=True)
        ),
        runs=runs,
        finished=len(finished),
    )


def _missing(experiment: Experiment, table: Table, sources: Mapping[str, Source]) -> tuple[Replay, ...]:
    """The traces of a table that the user has not supplied."""
    return tuple(one for one in experiment.replayed(table) if one.supplied and one.name not in sources)


def _simulate(groups: Mapping[Key, Group], jobs: int | None, monitor: Monitor | None) -> dict[Key, Finished]:
    """The runs that came to their end."""
    finished: dict[Key, Finished] = {}
    executor = Executor("runs", sum(group.runs for group in groups.values()), jobs=jobs, monitor=monitor)

    def one(key: Key, config: Config, source: Source | None) -> Trace | None:
        """Runs one simulation; the requests given to its drive, if it recorded them."""
        result = executor.simulate(config, source)
        if result is None:
            return None
        finished[key] = Finished(result.summary, tuple(ingest_remarks(result.ingest)))
        return result.dispatched

    def all_of(key: Key, group: Group) -> None:
        recorded = one(key, group.config, group.source)
        for replay, config in group.replays.items():
            if recorded is not None:
                one(replay, config, recorded)

    executor.run([partial(all_of, key, group) for key, group in groups.items()])
    return finished


def _measured(table: Table, cells: Cells, finished: Mapping[Key, Finished], missing: tuple[Replay, ...]) -> TableResult:
    """The table with a value in each cell whose runs are all there."""
    shape = len(table.rows.labels), len(table.columns.labels)
    seeds = max(map(len, cells.values()))
    by_seed = np.full((seeds, *shape), np.nan)
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
            by_seed.reshape(seeds, -1)[:, index] = values
    by_seed = np.array([_changes(table, values) for values in by_seed])
    ours = [statistics.fmean(values) for values in by_seed.reshape(seeds, -1).T.tolist()]
    return TableResult(
        table=table,
        document=_document(table),
        ours=np.array(ours).reshape(shape),
        spread=by_seed.max(axis=0) - by_seed.min(axis=0),
        seeds=seeds,
        remarks=(*_remarks(table, summaries), *remarks),
        missing=missing,
    )


def _worked_out(experiment: Experiment, table: Table) -> TableResult:
    """The table with what its value makes of given numbers, or of the figures of a model."""
    ours = np.full((len(table.rows.labels), len(table.columns.labels)), np.nan)
    summaries: list[Summary] = []
    for at in np.ndindex(ours.shape):
        row, column = table.rows.labels[at[0]], table.columns.labels[at[1]]
        figures: Summary
        if table.model is None:
            numbers = {table.rows.name: Axis.number(row), table.columns.name: Axis.number(column)}
            figures = {**numbers, **{name: one.cells[at[0]][at[1]] for name, one in table.given.items()}}
        else:
            try:
                figures = MODELS[table.model](experiment.arguments(table, row, column))
            except ConfigError as error:
                place = f"{experiment.file}: table {table.name}: row {row}, column {column}"
                raise ConfigError(f"{place}: {error}") from None
            summaries.append(figures)
        value = table.value.of(figures)
        ours[at] = np.nan if value is None else value
    return TableResult(
        table=table,
        document=_document(table),
        ours=_changes(table, ours),
        spread=np.full(ours.shape, np.nan),
        seeds=0,
        remarks=tuple(_remarks(table, summaries)),
    )


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
    """What is odd about the value: a path that leads nowhere is a figure that no run has, or a slip of the pen."""
    known = {path for summary in summaries for path in figure_paths(summary)}
    where = "run" if table.simulated else "cell"
    return [
        f"no {where} has the figure {text.path(path)} of {table.value.text!r}{suggestion(path, known)}"
        for path in table.value.paths
        if summaries and all(figure(summary, path) is None for summary in summaries)
    ]
