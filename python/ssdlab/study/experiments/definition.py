"""Parts of an experiment: axes, traces, tables and comparisons."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Literal

from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import room
from ssdlab.model.config import Config, Overrides, Sets, rebuilt, set_by
from ssdlab.model.notebook import following
from ssdlab.model.requests import Monitor
from ssdlab.model.several import several
from ssdlab.model.trace import Trace
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.experiments.claim import Claim
from ssdlab.study.experiments.expression import Value
from ssdlab.study.experiments.reference import Cells
from ssdlab.text import suggestion

if TYPE_CHECKING:
    from ssdlab.study.experiments.result import ExperimentResult

Scalar = str | int | float | bool
Settings = Mapping[str, Scalar]
"""Values of settings by dotted path; the key `preset` selects a preset with all its settings."""

Compare = Literal["value", "points", "offset", "ratio"]
Line = Literal["column", "row"]

COLUMN = "column"
"""Prefix in expressions: `column.NAME` reads all cells in the same column of the table `NAME`."""

Path = str | os.PathLike[str]
Traces = Mapping[str, Path | Iterable[Path] | Trace | TraceFile]
"""Traces by name. Each value is a path, several paths in order, or a trace object."""


@dataclass(frozen=True)
class Replay:
    """A trace that the simulations of table cells replay instead of the generated workload."""

    name: str
    pages: tuple[int, ...]
    """Numbers of the pages to write, one page per write; empty if the user supplies the trace."""
    help: str
    """Description of the trace, for the user who must supply it."""
    format: str | None
    """Trace format; detected from the content if None."""
    device: str | None
    """Device to replay; the device of the first request if None."""

    @property
    def supplied(self) -> bool:
        """True if the user supplies the trace."""
        return not self.pages


@dataclass(frozen=True)
class Axis:
    """One axis of a table: its rows or its columns. Labels are the keys of the mappings."""

    name: str
    settings: Mapping[str, Settings]
    traces: Mapping[str, str]
    """Names of the traces to replay, by axis label. A label without an entry selects no trace."""
    below: Mapping[str, Settings]
    """Settings of the second drive by axis label; see `RunOptions.below`."""
    values: Mapping[str, Value]
    """Expressions for cell values by axis label, which replace the table's expression."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the axis, in the order of the document."""
        return tuple(self.settings)

    @staticmethod
    def number(label: str) -> float | None:
        """Returns the number in a label such as `8K` or `slen_16`; None unless the label has exactly one number."""
        numbers = re.findall(r"\d+(?:\.\d+)?", label)
        return float(numbers[0]) if len(numbers) == 1 else None


@dataclass(frozen=True)
class Given:
    """Numbers from a CSV file, used to compute table cells."""

    file: str
    cells: Cells
    """Numbers of the CSV file, by the row and column labels of the table to be computed."""


@dataclass(frozen=True)
class CellSource:
    """Source of table cells. At most one field is set; if none is set, the cells are simulated."""

    files: Mapping[str, Given] = field(default_factory=dict)
    """CSV files, by their names in expressions."""
    tables: tuple[str, ...] = ()
    """Names of the tables from which cells are computed."""
    model: str | None = None
    """Model that computes a cell from its settings; see `models.MODELS`."""


@dataclass(frozen=True)
class RunOptions:
    """Options of the runs of a table, shared by all its cells."""

    settings: Settings
    """Settings of the table, which override the experiment's settings."""
    below: Settings | None
    """Settings of the drive below the scheduler. If set, a cell has two runs: the first run records the requests that
    the scheduler sends; the second run replays the recording and provides the metrics.
    """
    trace: str | None
    """Name of the trace for cells whose row and column select no trace."""
    seeds: tuple[int, ...]
    """Seeds to average over; if empty, only the seed of the configuration."""


@dataclass(frozen=True)
class Anchor:
    """Selects a reference cell (anchor) for each cell. A cell is divided by its anchor, or the anchor is subtracted, so
    that comparisons depend on the shape of a table and not on its absolute level.
    """

    row: str | Mapping[str, str] | None
    """Row of the anchor: one row for all cells, or a row per column; the cell's own row if None."""
    column: str | None
    """Column of the anchor; the cell's own column if None."""

    def of(self, row: str, column: str) -> tuple[str, str]:
        """Returns row and column of the anchor of a cell."""
        column = self.column or column
        if isinstance(self.row, str) or self.row is None:
            return self.row or row, column
        return self.row[column], column


@dataclass(frozen=True)
class Comparison:
    """Rule for comparing the cells of a table with the published values."""

    reference: Cells | None
    """Published values, with None for empty cells. The field itself is None if no values were published."""
    kind: Compare
    """Measure of differences. `value` compares cells in percent of the published value, and `points` in the table's
    unit. `offset` and `ratio` need reference cells (anchors): `offset` compares each cell's distance from its anchor,
    in percent of the published value; `ratio` compares each cell's ratio to its anchor, in percent.
    """
    anchor: Anchor | None
    tolerance: float | None
    """Maximum difference that is accepted, in percent or points."""

    @property
    def unit(self) -> str:
        """Unit in which differences are shown: percent or points."""
        return "points" if self.kind == "points" else "%"


@dataclass(frozen=True)
class Ranking:
    """Rule for ranking the cells of a row or column by value."""

    better: Literal["low", "high"] | None
    """Better direction: the lowest or the highest value wins; None if cells are not ranked."""
    by: Line
    """`column` if each column has a winner, `row` if each row has a winner."""


@dataclass(frozen=True)
class Table:
    """One table of an experiment."""

    name: str
    title: str
    unit: str
    """Unit of the cells' values; empty if they have no unit."""
    note: str
    """Notes on the table: assumptions, interpretations of the document, and gaps."""
    rows: Axis
    columns: Axis
    value: Value | None
    """Default expression for cell values, used if neither the row nor the column has an expression."""
    source: CellSource
    runs: RunOptions
    change_to: Anchor | None
    """If set, each cell shows the percent change from its value to the value of its reference cell (anchor)."""
    comparison: Comparison
    ranking: Ranking
    lines: Line | None
    """Orientation of a line chart: one line per column, or one line per row. If None, lines are drawn along the first
    axis, rows before columns, whose labels all contain numbers.
    """
    claim: Claim | None

    @property
    def simulated(self) -> bool:
        """True if the table's cells come from simulations."""
        return not (self.source.files or self.source.tables or self.source.model)

    @property
    def alternatives(self) -> bool:
        """True if a single row of values was published, with which every row of the table is compared."""
        reference = self.comparison.reference
        return reference is not None and len({*reference}) == 1 < len(reference)

    @property
    def cells(self) -> Iterator[tuple[str, str]]:
        """Row and column of every cell, row by row."""
        return product(self.rows.labels, self.columns.labels)

    def value_of(self, row: str, column: str) -> Value:
        """Returns the expression that computes the value of a cell."""
        value = self.columns.values.get(column) or self.rows.values.get(row) or self.value
        assert value is not None, "every cell has a value"
        return value

    @property
    def values(self) -> tuple[Value, ...]:
        """Distinct expressions of the table's cells."""
        return tuple(dict.fromkeys(self.value_of(*cell) for cell in self.cells))

    def numbers(self, row: str, column: str) -> dict[str, float | None]:
        """Returns the numbers in the row and column labels of a cell, by axis name."""
        return {self.rows.name: Axis.number(row), self.columns.name: Axis.number(column)}

    def replays(self, row: str, column: str) -> str | None:
        """Returns the name of the trace that a cell replays, if any."""
        if not self.simulated:
            return None
        return self.columns.traces.get(column) or self.rows.traces.get(row) or self.runs.trace


@dataclass(frozen=True)
class Experiment:
    """An experiment: published tables, and the settings of the simulations that reproduce them. See `load`."""

    name: str
    file: str
    """Path of the experiment's file, as shown in messages."""
    source: str
    """Text of the experiment's TOML file."""
    title: str
    document: str
    """Authors, title and year of the document."""
    preset: str | None
    """Default preset of a cell, used if table, row and column select no preset."""
    settings: Settings
    """Settings shared by all tables."""
    traces: Mapping[str, Replay]
    tables: tuple[Table, ...]

    def table(self, name: str) -> Table:
        """Returns the table with the given name, which must exist."""
        return next(table for table in self.tables if table.name == name)

    def behind(self, table: Table) -> tuple[Table, ...]:
        """Returns a table and the tables that it depends on, in the order in which they must be computed."""
        rivals = [table.claim.winners_of] if table.claim and table.claim.winners_of else []
        needed = [one for name in (*table.source.tables, *rivals) for one in self.behind(self.table(name))]
        return tuple({one.name: one for one in (*needed, table)}.values())

    def select(self, names: Iterable[str]) -> tuple[Table, ...]:
        """Returns the named tables in the order of the experiment; all tables if no name is given."""
        wanted = several(names)
        known = [table.name for table in self.tables]
        for name in wanted:
            if name not in known:
                raise ConfigError(
                    f"{self.name} has no table {name!r}; its tables are {', '.join(known)}{suggestion(name, known)}"
                )
        return tuple(table for table in self.tables if not wanted or table.name in wanted)

    def to_dict(self) -> dict[str, object]:
        """Returns a summary of the experiment, ready for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "document": self.document,
            "tables": [
                {
                    "name": table.name,
                    "title": table.title,
                    "unit": table.unit,
                    "rows": list(table.rows.labels),
                    "columns": list(table.columns.labels),
                    "compared": table.comparison.reference is not None,
                }
                for table in self.tables
            ],
            "supplied": {one.name: one.help for one in self.traces.values() if one.supplied},
        }

    def replayed(self, table: Table) -> tuple[Replay, ...]:
        """Returns the traces that a table replays, in the order of the experiment."""
        used = {one.replays(*cell) for one in self.behind(table) for cell in one.cells}
        return tuple(replay for name, replay in self.traces.items() if name in used)

    def arguments(self, table: Table, row: str, column: str) -> Settings:
        """Returns the settings of a cell as arguments for the model that computes the cell."""
        return {**self.settings, **table.runs.settings, **table.rows.settings[row], **table.columns.settings[column]}

    def configs(self, table: Table, row: str, column: str, overrides: Overrides = ()) -> list[Config]:
        """Returns the configurations of a cell, one per seed; of its first runs if there are two runs per seed.

        Seeds in `overrides` replace the table's seeds. Cells that replay a trace ignore the experiment's workload.
        """
        layers: list[tuple[str, Settings]] = [
            ("preset", {"preset": self.preset} if self.preset else {}),
            ("[set]", self.settings),
            (f"table {table.name}: [set]", table.runs.settings),
            (f"[axis.{table.rows.name}] {row}", table.rows.settings[row]),
            (f"[axis.{table.columns.name}] {column}", table.columns.settings[column]),
        ]
        if table.replays(row, column):
            layers = [(place, without(settings, "workload")) for place, settings in layers]
        if table.runs.below is not None:
            layers.append((f"table {table.name}: [below]", {"block.record": True}))
        return self._seeded(layers, table, overrides)

    def configs_below(self, table: Table, row: str, column: str, overrides: Overrides = ()) -> list[Config]:
        """Returns the configurations of the second runs of a cell, one per seed.

        They ignore the experiment's workload and block layer, because the recording contains the effects of both.
        """
        layers: list[tuple[str, Settings]] = [
            ("preset", {"preset": self.preset} if self.preset else {}),
            ("[set]", without(self.settings, "workload", "block")),
            (f"table {table.name}: [below]", table.runs.below or {}),
            (f"[axis.{table.rows.name}] {row}: below", table.rows.below.get(row, {})),
            (f"[axis.{table.columns.name}] {column}: below", table.columns.below.get(column, {})),
        ]
        return self._seeded(layers, table, overrides)

    def _seeded(self, layers: list[tuple[str, Settings]], table: Table, overrides: Overrides) -> list[Config]:
        sets = set_by("--set", overrides)
        seeds = () if any(one.startswith("seed=") for _, one in sets) else table.runs.seeds
        named = [(f"{self.file}: {place}", settings) for place, settings in layers]
        return [
            config_of_layers(self.file, [*named, (f"{self.file}: seeds", seed)], sets)
            for seed in ([{"seed": seed} for seed in seeds] or [{}])
        ]

    def run(
        self,
        *,
        tables: Iterable[str] = (),
        overrides: Overrides = (),
        traces: Traces | None = None,
        jobs: int | None = None,
        monitor: Monitor | None = None,
    ) -> "ExperimentResult":
        """Computes every cell; cells with the same configuration and trace share a simulation.

        The result does not depend on `jobs`. Ctrl-C raises KeyboardInterrupt within a fraction of a second, after all
        simulations have ended.

        Args:
            tables: Names of the tables to run; all by default.
            overrides: Settings that override the experiment's settings, as for `Config`.
            traces: Traces by name: a file, several files in order, a `TraceFile` or a `Trace`. Cells whose trace is
                missing stay empty.
            jobs: Number of parallel simulations; one per processor by default.
            monitor: Called repeatedly with `("runs", finished, total, requests replayed)`. A true return value ends the
                simulations and sets `ExperimentResult.partial`.

        Raises:
            ConfigError: If a table or trace is unknown or a configuration is invalid. Raised before any run, unless the
                fault is visible only at the end of a trace.
            TraceError: If a trace cannot be read. Raised before any run, except for faults after its first requests.
            SimulationError: If a simulation cannot start or continue.
            InternalError: If ssdlab has a bug.
        """
        with following(monitor) as shown:
            result: ExperimentResult = room("study.experiments.running").run(
                self, self.select(tables), overrides, traces or {}, jobs, shown
            )
        return result

    def __repr__(self) -> str:
        return f"<ssdlab experiment {self.name}: {len(self.tables)} tables of {self.document}>"


def config_of_layers(file: str, layers: list[tuple[str, Settings]], sets: Sets) -> Config:
    """Returns the configuration of named layers. Later layers override earlier ones, and all override the last
    `preset`.
    """
    try:
        return rebuilt(None, [(name, _toml(settings)) for name, settings in layers], [sets])
    except ConfigError as error:
        message = without_positions(str(error), [name for name, _ in layers])
        lines = (line if line.startswith((file, "--set")) else f"{file}: {line}" for line in message.splitlines())
        raise ConfigError("\n".join(lines)) from None


def without_positions(message: str, layers: Iterable[str]) -> str:
    """Removes line and column numbers of generated settings, which users cannot see, from a message."""
    for name in layers:
        message = re.sub(rf"(?<={re.escape(name)})(:\d+)+", "", message)
    return message


def without(settings: Settings, *sections: str) -> Settings:
    """Returns the settings that are in none of the given sections."""
    return {key: value for key, value in settings.items() if key.partition(".")[0] not in sections}


def _toml(settings: Settings) -> str:
    return "".join(f"{key} = {_scalar(value)}\n" for key, value in settings.items())


def _scalar(value: Scalar) -> str:
    # Text and Boolean values have the same form in JSON and in TOML.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else str(value)
