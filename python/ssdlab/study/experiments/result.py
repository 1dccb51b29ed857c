"""What an experiment yields: our tables beside the document's."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, TypeAlias

from ssdlab.lazy import Numbers, np, npt, room
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.model.source import identified
from ssdlab.study.experiments.claim import Verdict, best_of
from ssdlab.study.experiments.definition import Anchor, Experiment, Replay, Table

Array = Numbers

Which = Literal["document", "ours", "difference"]

Indices: TypeAlias = "tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]"
"""Row and column of a cell for each cell of a table."""


def cells_of(anchor: Anchor, table: Table) -> Indices:
    """For each cell of a table, row and column of the cell that an anchor makes it relative to."""
    rows, columns = table.rows.labels, table.columns.labels
    cells = [[anchor.of(row, column) for column in columns] for row in rows]
    at = np.array([[(rows.index(row), columns.index(column)) for row, column in line] for line in cells])
    return at[..., 0], at[..., 1]


def is_own(at: Indices) -> "npt.NDArray[np.bool_]":
    """Which cells are relative to themselves."""
    rows, columns = np.indices(at[0].shape)
    own: npt.NDArray[np.bool_] = (at[0] == rows) & (at[1] == columns)
    return own


@dataclass(frozen=True)
class Winner:
    """Who wins a column (or row) in the document and here."""

    of: str
    """Label of the column or row."""
    document: tuple[str, ...]
    """Labels of the document's best; several if they are equal, none if the document has fewer than two values there,
    as one alone is no better than others."""
    ours: tuple[str, ...]
    """Labels of our best, of the cells of which the document has values too, or of all if it names no best."""
    best: tuple[str, ...]
    """Labels of our best of all cells."""
    excess: float | None
    """How much worse than our best the document's best is here, in % of our best; in the unit of the table where
    differences are counted in points. None without a best of the document."""

    @property
    def agrees(self) -> bool | None:
        """Whether one is the best in both; None where the document says nothing."""
        return not {*self.ours}.isdisjoint(self.document) if self.document else None

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "of": self.of,
            "document": list(self.document),
            "ours": list(self.ours),
            "agrees": self.agrees,
            "excess": self.excess,
        }


@dataclass(frozen=True)
class TableResult:
    """One table; arrays are indexed by row and column, and NaN where there is no value."""

    table: Table
    document: Array
    """The document's values, in the unit of the table."""
    ours: Array
    """Our values, each the mean over the seeds; NaN in cells whose runs were stopped or lack their trace."""
    spread: Array
    """Largest less smallest value over the seeds."""
    seeds: int
    """Runs of a cell; 0 where nothing is simulated."""
    remarks: tuple[str, ...]
    """What is odd about it: what needs mending, what was met while reading its traces."""
    missing: tuple[Replay, ...] = ()
    """Traces that it needs and the user has not supplied."""
    rival: "TableResult | None" = None
    """The table whose winners its claim is about, if it is about winners of another."""

    def _repr_html_(self) -> str:
        html: str = room("view.html").in_notebook(room("view.pages.experiment").page_of_table(self))
        return html

    @property
    def rows(self) -> tuple[str, ...]:
        """Labels of the rows."""
        return self.table.rows.labels

    @property
    def columns(self) -> tuple[str, ...]:
        """Labels of the columns."""
        return self.table.columns.labels

    @property
    def anchors(self) -> "npt.NDArray[np.bool_]":
        """Which cells are their own anchors: there is nothing to compare in them."""
        if self.table.anchor is None:
            return np.zeros(self.ours.shape, dtype=bool)
        return is_own(cells_of(self.table.anchor, self.table))

    @property
    def difference(self) -> Array:
        """How far ours is from the document's, as `Table.compare` says; NaN in anchors."""
        ours, document = self.ours, self.document
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.table.compare == "points":
                return ours - document
            if self.table.compare == "value":
                found = 100 * (ours / document - 1)
            else:
                assert self.table.anchor is not None
                at = cells_of(self.table.anchor, self.table)
                if self.table.compare == "offset":
                    found = 100 * ((ours - ours[at]) - (document - document[at])) / document
                else:
                    found = 100 * (ours / ours[at] / (document / document[at]) - 1)
        found[self.anchors | ~np.isfinite(found)] = np.nan
        return found

    @property
    def misses(self) -> "npt.NDArray[np.bool_]":
        """Cells whose difference exceeds the tolerance of the table."""
        tolerance = np.inf if self.table.tolerance is None else self.table.tolerance
        found: npt.NDArray[np.bool_] = np.abs(self.difference) > tolerance
        return found

    @property
    def rms(self) -> float | None:
        """Root of the mean square of the differences; None if there are none."""
        known = self.difference[~np.isnan(self.difference)]
        return float(np.sqrt(np.mean(known**2))) if known.size else None

    @property
    def row_rms(self) -> dict[str, float]:
        """The same of each row that has differences, where the rows are alternatives; else empty."""
        if not self.table.alternatives:
            return {}
        rows = {label: line[~np.isnan(line)] for label, line in zip(self.rows, self.difference, strict=True)}
        return {label: float(np.sqrt(np.mean(known**2))) for label, known in rows.items() if known.size}

    @property
    def largest(self) -> tuple[str, str, float] | None:
        """Row, column and value of the largest difference, with its sign; None if there are none."""
        difference = self.difference
        if np.isnan(difference).all():
            return None
        row, column = np.unravel_index(int(np.nanargmax(np.abs(difference))), difference.shape)
        return self.rows[row], self.columns[column], float(difference[row, column])

    @property
    def winners(self) -> tuple[Winner, ...]:
        """Of each column or row whose runs are all there and of which some values are better than others."""
        if self.table.better is None:
            return ()
        by_column = self.table.by == "column"
        ours, document = (self.ours.T, self.document.T) if by_column else (self.ours, self.document)
        labels, names = (self.rows, self.columns) if by_column else (self.columns, self.rows)
        sign = 1.0 if self.table.better == "low" else -1.0

        def at(cells: "npt.NDArray[np.bool_]") -> tuple[str, ...]:
            return tuple(label for label, holds in zip(labels, cells, strict=True) if holds)

        found = []
        for name, here, there in zip(names, ours * sign, document * sign, strict=True):
            # Where the document has some values only, the others do not compete.
            known = ~np.isnan(there)
            judged = known.sum() > 1
            competing = known if judged else np.full(len(labels), True)
            if np.isnan(here[competing]).any():
                continue
            least = float(here[competing].min())
            best = competing & (here == least)
            if not judged and best.all():
                continue
            tops = there == there[known].min() if judged else np.full(len(labels), False)
            excess = None
            if judged:
                excess = float(here[tops].min()) - least
                if self.table.compare != "points":
                    excess = 100 * excess / abs(least) if least else None
            found.append(Winner(name, at(tops), at(best), at(here == np.nanmin(here)), excess))
        return tuple(found)

    def verdict(self, which: Literal["document", "ours"]) -> Verdict | None:
        """In how much of the table the document's claim holds; None without one, or where nothing can be said."""
        claim = self.table.claim
        if claim is None:
            return None
        values: Array = getattr(self, which)
        if not claim.best and claim.winners_of is None:
            found = claim.bounds(self.rows, self.columns, values)
            return found if found.of else None
        by_column = self.table.by == "column"
        what, labels, names = ("columns", self.rows, self.columns) if by_column else ("rows", self.columns, self.rows)
        judge = self if self.rival is None else self.rival
        judged: Array = getattr(judge, which)
        claimed = [labels.index(label) for label in claim.best or labels]
        lines = []
        for name, line, other in zip(names, *((one.T if by_column else one) for one in (values, judged)), strict=True):
            if not (np.isnan(line).any() or np.isnan(other).any()):
                lines.append((name, claimed[_top(line[claimed], self.table)], other))
        return best_of(what, labels, [(name, one, _top(other, judge.table), other) for name, one, other in lines])

    def stars(self, which: Which) -> set[tuple[int, int]]:
        """Row and column of the cells that win in the document or here; none for differences."""
        found = set()
        for winner in self.winners if which != "difference" else ():
            for label in winner.document if which == "document" else winner.best:
                row, column = (label, winner.of) if self.table.by == "column" else (winner.of, label)
                found.add((self.rows.index(row), self.columns.index(column)))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: null where there is no value."""
        largest = self.largest
        return {
            "name": self.table.name,
            "title": self.table.title,
            "unit": self.table.unit,
            "value": None if self.table.value is None else self.table.value.text,
            "values": {
                label: value.text
                for axis in (self.table.rows, self.table.columns)
                for label, value in axis.values.items()
            },
            "from": {name: given.file for name, given in self.table.given.items()},
            "tables": [*self.table.sources],
            "model": self.table.model,
            "rows": list(self.rows),
            "cols": list(self.columns),
            "document": _listed(self.document),
            "ours": _listed(self.ours),
            "difference": _listed(self.difference),
            "difference_unit": self.table.difference_unit,
            "compare": self.table.compare,
            "spread": _listed(self.spread),
            "seeds": self.seeds,
            "rms": self.rms,
            "largest": None if largest is None else dict(zip(("row", "col", "difference"), largest, strict=True)),
            "tolerance": self.table.tolerance,
            "misses": [[self.rows[row], self.columns[column]] for row, column in np.argwhere(self.misses).tolist()],
            "winners": [winner.to_dict() for winner in self.winners],
            "row_rms": self.row_rms,
            "claim": self._claim(),
            "note": self.table.note,
            "remarks": list(self.remarks),
            "missing_traces": [replay.name for replay in self.missing],
        }

    def _claim(self) -> dict[str, Any] | None:
        if self.table.claim is None:
            return None
        document, ours = self.verdict("document"), self.verdict("ours")
        return {
            "says": self.table.claim.says,
            "document": None if document is None else document.to_dict(),
            "ours": None if ours is None else ours.to_dict(),
        }

    plot = Plot("experiment.heat_map")
    plot_lines = Plot("experiment.lines")


@dataclass(frozen=True)
class ExperimentResult(Finding):
    """The tables of an experiment. Equal settings and traces give equal results, whatever the number of `jobs`.

    Saved are `experiment.json`, `report.html` and for each table `NAME.csv` with the columns `row`, `column`,
    `document`, `ours`, `difference` and `spread`.
    """

    _page = "experiment"
    _json = "experiment.json"
    _optional = ("*.csv",)
    saved = "report.html, experiment.json and a CSV file for each table"

    experiment: Experiment
    overrides: tuple[str, ...]
    """Settings that replaced the experiment's, as `KEY=VALUE`."""
    traces: Mapping[str, Mapping[str, object]]
    """The traces that the user supplied, described as in `source` of a run's result."""
    tables: tuple[TableResult, ...]
    runs: int
    """Simulations that its cells need; cells of equal configuration share them."""
    finished: int
    """How many of them came to their end."""

    @property
    def partial(self) -> bool:
        """Whether it was stopped before its end."""
        return self.finished < self.runs

    def __getitem__(self, table: str) -> TableResult:
        """The table of that name.

        Raises:
            KeyError: If it was not run.
        """
        for one in self.tables:
            if one.table.name == table:
                return one
        raise KeyError(table)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: `result` in `experiment.json`."""
        return {
            "overrides": list(self.overrides),
            "runs": self.runs,
            "finished": self.finished,
            "tables": [table.to_dict() for table in self.tables],
        }

    def _source(self) -> Mapping[str, Any]:
        return {
            "kind": "experiment",
            "name": self.experiment.name,
            "title": self.experiment.title,
            "document": self.experiment.document,
            "traces": {name: identified(source) for name, source in self.traces.items()},
        }

    def _tables(self) -> Contents:
        names = ("document", "ours", "difference", "spread")
        tables = {}
        for one in self.tables:
            columns: list[Array] = [getattr(one, name) for name in names]
            rows: list[Sequence[object]] = [("row", "column", *names)]
            for at in product(range(len(one.rows)), range(len(one.columns))):
                values = [float(array[at]) for array in columns]
                cells = ["" if math.isnan(value) else value for value in values]
                rows.append((one.rows[at[0]], one.columns[at[1]], *cells))
            tables[f"{one.table.name}.csv"] = rows
        return tables

    def __repr__(self) -> str:
        partial = ", partial" if self.partial else ""
        return f"<ssdlab result of experiment {self.experiment.name}: {len(self.tables)} tables{partial}>"


def _top(values: Array, table: Table) -> int:
    """Index of the best value, the first of equal ones."""
    return int(values.argmin() if table.better == "low" else values.argmax())


def _listed(values: Array) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(value) for value in row] for row in values]
