"""What an experiment consists of."""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
"""Dotted path of a setting to its value; `preset` stands for all settings of that preset."""

Compare = Literal["value", "points", "offset", "ratio"]
Line = Literal["column", "row"]

COLUMN = "column"
"""What the values of a table that is worked out from others call the cells above and below a cell: `column.NAME`."""

Path = str | os.PathLike[str]
Traces = Mapping[str, Path | Iterable[Path] | Trace | TraceFile]
"""Name of a trace to its file, its files in order, or the trace itself."""


@dataclass(frozen=True)
class Replay:
    """A trace that cells replay instead of the generated workload."""

    name: str
    pages: tuple[int, ...]
    """Writes of one page each; none if the user supplies the trace."""
    help: str
    """What the user is to supply."""
    format: str | None
    """Its format; recognised by content if None."""
    device: str | None
    """Which of its devices; that of the first request if None."""

    @property
    def supplied(self) -> bool:
        """Whether the user supplies it."""
        return not self.pages


@dataclass(frozen=True)
class Axis:
    """The rows or the columns of a table."""

    name: str
    """What varies along it."""
    settings: Mapping[str, Settings]
    """Label to what is set there."""
    traces: Mapping[str, str]
    """Label to the name of the trace that is replayed there, where there is one."""
    below: Mapping[str, Settings]
    """Label to what is set for the drive below the scheduler, where there is something; see `Table.below`."""
    values: Mapping[str, Value]
    """Label to what of a run is the value of its cells, where that is not the table's."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in their order."""
        return tuple(self.settings)

    @staticmethod
    def number(label: str) -> float | None:
        """The number in a label such as `8K` or `slen_16`; None if there is none, or more than one."""
        found = re.findall(r"\d+(?:\.\d+)?", label)
        return float(found[0]) if len(found) == 1 else None


@dataclass(frozen=True)
class Given:
    """A table of numbers that cells are worked out from instead of from runs."""

    file: str
    """Name of its CSV file."""
    cells: Cells
    """Its numbers by row and column of the table that it is for."""


@dataclass(frozen=True)
class Anchor:
    """The cell of a table that another cell is taken relative to, where levels cannot be compared but shapes can."""

    row: str | Mapping[str, str] | None
    """Its row: one for all, one for each column, or the cell's own if None."""
    column: str | None
    """Its column; the cell's own if None."""

    def of(self, row: str, column: str) -> tuple[str, str]:
        """Row and column of the cell that the cell in `row` and `column` is relative to."""
        column = self.column or column
        if isinstance(self.row, str) or self.row is None:
            return self.row or row, column
        return self.row[column], column


@dataclass(frozen=True)
class Table:
    """One table of a document."""

    name: str
    title: str
    unit: str
    """Of its values; empty where they have none."""
    value: Value | None
    """What of a run is the value of a cell whose row and column do not say; None where all do. See `value_of`."""
    given: Mapping[str, Given]
    """What values are worked out from, by name, where nothing is simulated; empty where cells are."""
    sources: tuple[str, ...]
    """Names of the tables of the experiment that values are worked out from instead of from runs of their own."""
    model: str | None
    """The model that works out the cells from their settings, where nothing is simulated; see `models.MODELS`."""
    rows: Axis
    columns: Axis
    settings: Settings
    """What all its cells have in common, beside what all tables have."""
    below: Settings | None
    """What is set for the drive below the scheduler. If this is not None, a cell has two runs: the first records what
    its scheduler gives to the drive; the second, whose figures count, replays that."""
    change_to: Anchor | None
    """Where given, a cell shows by how many % its value changes to that of another cell."""
    trace: str | None
    """Name of the trace that cells replay whose row and column name none."""
    seeds: tuple[int, ...]
    """A cell is the mean over them; the seed of the configuration alone if there are none."""
    reference: Cells | None
    """The document's cells, None where it has none; None as a whole if there is nothing to compare with."""
    compare: Compare
    """How a difference is counted: in % of the document's value (`value`), in the unit of the table (`points`), or
    relative to anchors: the distance from it in % of the document's value (`offset`), or the ratio to it in %."""
    anchor: Anchor | None
    tolerance: float | None
    """Largest difference, in % or in points, that is no miss."""
    better: Literal["low", "high"] | None
    """Which value wins, where one can be said to be better."""
    by: Line
    """Whether each column has a winner or each row."""
    lines: Line | None
    """Whether the chart has a line for each column or for each row; None: along the rows if they are in an order."""
    claim: Claim | None
    """What the document says of the table in words."""
    note: str
    """What a reader should know: assumptions, readings of the document, what is missing."""

    @property
    def simulated(self) -> bool:
        """Whether cells come from runs of their own."""
        return not self.given and not self.sources and self.model is None

    @property
    def alternatives(self) -> bool:
        """Whether the rows are alternatives for one row of the document."""
        return self.reference is not None and len({*self.reference}) == 1 < len(self.reference)

    def value_of(self, row: str, column: str) -> Value:
        """What is the value of a cell: arithmetic on its run, or on the numbers that it is worked out from."""
        found = self.columns.values.get(column) or self.rows.values.get(row) or self.value
        assert found is not None, "the reader asks for a value of each cell"
        return found

    @property
    def values(self) -> tuple[Value, ...]:
        """The values that its cells have, each once."""
        cells = (self.value_of(row, column) for row in self.rows.labels for column in self.columns.labels)
        return tuple(dict.fromkeys(cells))

    def numbers(self, row: str, column: str) -> dict[str, float | None]:
        """The numbers in the labels of a cell by name of the axis."""
        return {self.rows.name: Axis.number(row), self.columns.name: Axis.number(column)}

    @property
    def difference_unit(self) -> str:
        """Unit of differences."""
        return "points" if self.compare == "points" else "%"

    def replays(self, row: str, column: str) -> str | None:
        """Name of the trace that a cell replays; None for the generated workload, or if nothing is simulated."""
        if not self.simulated:
            return None
        return self.columns.traces.get(column) or self.rows.traces.get(row) or self.trace


@dataclass(frozen=True)
class Experiment:
    """Tables of one document and the settings that reproduce them; see `load`."""

    name: str
    file: str
    """Where it was read from, as messages show it."""
    source: str
    """The TOML document; its comments give reasons."""
    title: str
    document: str
    """What it reproduces: authors, title, year."""
    preset: str | None
    """Of the cells whose table, row and column name none."""
    settings: Settings
    """What all tables have in common."""
    traces: Mapping[str, Replay]
    """What tables replay, by name."""
    tables: tuple[Table, ...]

    def table(self, name: str) -> Table:
        """The table of that name, which must be there."""
        return next(table for table in self.tables if table.name == name)

    def behind(self, table: Table) -> tuple[Table, ...]:
        """A table and those whose cells it needs, each behind those that it needs itself."""
        needed = [*table.sources, *([table.claim.winners_of] if table.claim and table.claim.winners_of else ())]
        found = [one for name in needed for one in self.behind(self.table(name))]
        return tuple({one.name: one for one in (*found, table)}.values())

    def select(self, names: Iterable[str]) -> tuple[Table, ...]:
        """The tables of these names in the order of the experiment; all of them for no names.

        Raises:
            ConfigError: If there is no table of a name.
        """
        wanted = several(names)
        known = [table.name for table in self.tables]
        for name in wanted:
            if name not in known:
                raise ConfigError(
                    f"{self.name} has no table {name!r}{suggestion(name, known)}; it has {', '.join(known)}"
                )
        return tuple(table for table in self.tables if not wanted or table.name in wanted)

    def to_dict(self) -> dict[str, object]:
        """What it has, ready for JSON."""
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
                    "compared": table.reference is not None,
                }
                for table in self.tables
            ],
            "supplied": {one.name: one.help for one in self.traces.values() if one.supplied},
        }

    def replayed(self, table: Table) -> tuple[Replay, ...]:
        """The traces that cells of a table replay, in the order of the experiment."""
        used = {
            one.replays(row, column)
            for one in self.behind(table)
            for row in one.rows.labels
            for column in one.columns.labels
        }
        return tuple(replay for name, replay in self.traces.items() if name in used)

    def arguments(self, table: Table, row: str, column: str) -> Settings:
        """The settings of one cell of a table that a model works out."""
        return {**self.settings, **table.settings, **table.rows.settings[row], **table.columns.settings[column]}

    def configs(self, table: Table, row: str, column: str, overrides: Overrides = ()) -> list[Config]:
        """The configurations of one cell, one for each seed; where it records, of its first run.

        A seed among `overrides` replaces those of the table. What the experiment says of the workload is left out
        where a trace is replayed instead.

        Raises:
            ConfigError: One line for each fault, with the file and the place in it.
        """
        common: list[tuple[str, Settings]] = [
            (f"{self.file}: preset", {"preset": self.preset} if self.preset else {}),
            (f"{self.file}: [set]", self.settings),
            (f"{self.file}: table {table.name}: [set]", table.settings),
            (f"{self.file}: [axis.{table.rows.name}] {row}", table.rows.settings[row]),
            (f"{self.file}: [axis.{table.columns.name}] {column}", table.columns.settings[column]),
        ]
        if table.replays(row, column):
            common = [(place, without(settings, "workload")) for place, settings in common]
        if table.below is not None:
            common.append((f"{self.file}: table {table.name}: [below]", {"block.record": True}))
        return self._seeded(common, table, overrides)

    def configs_below(self, table: Table, row: str, column: str, overrides: Overrides = ()) -> list[Config]:
        """The configurations of the second runs of a cell that records, one for each seed.

        What the experiment says of workload and block layer is left out: both are in what was recorded.

        Raises:
            ConfigError: One line for each fault, with the file and the place in it.
        """
        layers: list[tuple[str, Settings]] = [
            (f"{self.file}: preset", {"preset": self.preset} if self.preset else {}),
            (f"{self.file}: [set]", without(self.settings, "workload", "block")),
            (f"{self.file}: table {table.name}: [below]", table.below or {}),
            (f"{self.file}: [axis.{table.rows.name}] {row}: below", table.rows.below.get(row, {})),
            (f"{self.file}: [axis.{table.columns.name}] {column}: below", table.columns.below.get(column, {})),
        ]
        return self._seeded(layers, table, overrides)

    def _seeded(self, layers: list[tuple[str, Settings]], table: Table, overrides: Overrides) -> list[Config]:
        """A configuration for each seed."""
        sets = set_by("--set", overrides)
        seeds = () if any(one.startswith("seed=") for _, one in sets) else table.seeds
        return [
            config_of_layers(self.file, [*layers, (f"{self.file}: seeds", seed)], sets)
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
        """Simulates every cell; those of equal configuration and trace once, whichever tables they occur in.

        The result does not depend on `jobs`. Ctrl-C raises KeyboardInterrupt once the simulations have ended,
        within a fraction of a second.

        Args:
            tables: Names of the tables to run; all of them if left out.
            overrides: Settings that replace those of the experiment, as of `Config`.
            traces: The traces that the user supplies, by name: a file, several in order, a `TraceFile` or a `Trace`.
                Cells whose trace is left out are not simulated.
            jobs: Simulations at a time; one per processor if left out.
            monitor: Told now and then `("runs", finished, of how many, requests replayed)`. If it returns something
                true, the simulations end, and `ExperimentResult.partial` is set.

        Raises:
            ConfigError: If there is no table or trace of a name, or a cell's configuration is wrong; before anything
                is run, but for what only the end of a trace shows.
            TraceError: If a trace cannot be read; before anything is run, but for what its first requests do not show.
            SimulationError: If a simulation cannot start or go on.
            InternalError: On a defect of ssdlab.
        """
        with following(monitor) as shown:
            result: ExperimentResult = room("study.experiments.running").run(
                self, self.select(tables), overrides, traces or {}, jobs, shown
            )
        return result

    def __repr__(self) -> str:
        return f"<ssdlab experiment {self.name}: {len(self.tables)} tables of {self.document}>"


def config_of_layers(file: str, layers: list[tuple[str, Settings]], sets: Sets) -> Config:
    """A configuration of named layers, of which the last `preset` lies below all; later ones win."""
    try:
        return rebuilt(None, [(name, _toml(settings)) for name, settings in layers], [sets])
    except ConfigError as error:
        message = without_positions(str(error), [name for name, _ in layers])
        lines = (line if line.startswith((file, "--set")) else f"{file}: {line}" for line in message.splitlines())
        raise ConfigError("\n".join(lines)) from None


def without_positions(message: str, layers: Iterable[str]) -> str:
    """A message without lines and columns of layers: these are documents of our making, in which nobody can look."""
    for name in layers:
        message = re.sub(rf"(?<={re.escape(name)})(:\d+)+", "", message)
    return message


def without(settings: Settings, *sections: str) -> Settings:
    """The settings but for those of some sections."""
    return {key: value for key, value in settings.items() if key.partition(".")[0] not in sections}


def _toml(settings: Settings) -> str:
    return "".join(f"{key} = {_scalar(value)}\n" for key, value in settings.items())


def _scalar(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
        return f'"{escaped}"'
    return str(value)
