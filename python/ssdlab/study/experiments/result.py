"""Results of an experiment: our tables compared with the published tables."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ssdlab.lazy import Numbers, np, npt, room
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.model.source import identified
from ssdlab.study.experiments.claim import Verdict, best_of
from ssdlab.study.experiments.definition import Anchor, Experiment, Replay, Table

Array = Numbers

Which = Literal["document", "ours", "difference"]

Indices: TypeAlias = "tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]"
"""Row and column, for each cell of a table, of an associated cell such as its anchor."""


def cells_of(anchor: Anchor, table: Table) -> Indices:
    """Returns row and column of the anchor of each cell."""
    rows, columns = table.rows.labels, table.columns.labels
    cells = [[anchor.of(row, column) for column in columns] for row in rows]
    at = np.array([[(rows.index(row), columns.index(column)) for row, column in line] for line in cells])
    return at[..., 0], at[..., 1]


def is_own(at: Indices) -> "npt.NDArray[np.bool_]":
    """Returns True for each cell that is its own anchor."""
    rows, columns = np.indices(at[0].shape)
    own: npt.NDArray[np.bool_] = (at[0] == rows) & (at[1] == columns)
    return own


@dataclass(frozen=True)
class Winner:
    """Labels with the best value (winners) in a column or row, in the published table and in our table."""

    of: str
    """Label of the column or row to which the winners belong."""
    document: tuple[str, ...]
    """Labels of the best published value, several if values are equal; empty if fewer than two values are published."""
    ours: tuple[str, ...]
    """Labels of our best values. Only cells with a published value compete, or all cells if `document` is empty."""
    best: tuple[str, ...]
    """Labels of our best values among all cells."""
    excess: float | None
    """Difference between our value for the published winner and our best value, in percent of our best value or in
    points. None if no published value is best.
    """

    @property
    def agrees(self) -> bool | None:
        """True if our table and the published table share a winner. None if the published table has no winner."""
        return not {*self.ours}.isdisjoint(self.document) if self.document else None

    def to_dict(self) -> dict[str, Any]:
        """Returns the winners of both tables, ready for JSON."""
        return {
            "of": self.of,
            "document": list(self.document),
            "ours": list(self.ours),
            "agrees": self.agrees,
            "excess": self.excess,
        }


@dataclass(frozen=True)
class TableResult:
    """Results of one table. Arrays are indexed by row and column; NaN means no value."""

    table: Table
    document: Array
    ours: Array
    """Our values, as means over the seeds; NaN if a run was stopped or lacks its trace."""
    spread: Array
    """Range of our values over the seeds (largest minus smallest), for each cell."""
    seeds: int
    """Number of runs per cell; 0 if the table is not simulated."""
    remarks: tuple[str, ...]
    """Remarks on unknown metrics in expressions, and on irregularities in the traces."""
    missing: tuple[Replay, ...] = ()
    """Traces that the user should supply but has not."""
    rival: "TableResult | None" = None
    """Result of the table that the claim names in `winners_of`."""

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
        """True for cells that are their own anchors, which are not compared."""
        anchor = self.table.comparison.anchor
        return np.zeros(self.ours.shape, dtype=bool) if anchor is None else is_own(cells_of(anchor, self.table))

    @property
    def difference(self) -> Array:
        """Differences between our values and the published values, as in `Comparison.kind`; NaN in anchors."""
        ours, document, how = self.ours, self.document, self.table.comparison
        with np.errstate(divide="ignore", invalid="ignore"):
            if how.kind == "points":
                return ours - document
            if how.kind == "value":
                differences = 100 * (ours / document - 1)
            else:
                assert how.anchor is not None
                at = cells_of(how.anchor, self.table)
                if how.kind == "offset":
                    differences = 100 * ((ours - ours[at]) - (document - document[at])) / document
                else:
                    differences = 100 * (ours / ours[at] / (document / document[at]) - 1)
        differences[self.anchors | ~np.isfinite(differences)] = np.nan
        return differences

    @property
    def misses(self) -> "npt.NDArray[np.bool_]":
        """True for cells whose difference exceeds the tolerance."""
        tolerance = self.table.comparison.tolerance
        misses: npt.NDArray[np.bool_] = np.abs(self.difference) > (np.inf if tolerance is None else tolerance)
        return misses

    @property
    def rms(self) -> float | None:
        """Root mean square of the differences; None without differences."""
        return _rms(self.difference)

    @property
    def row_rms(self) -> dict[str, float]:
        """Root mean square of the differences in each row, if the rows are alternatives (`Table.alternatives`)."""
        if not self.table.alternatives:
            return {}
        rows = {label: _rms(line) for label, line in zip(self.rows, self.difference, strict=True)}
        return {label: rms for label, rms in rows.items() if rms is not None}

    @property
    def largest(self) -> tuple[str, str, float] | None:
        """Row, column and signed value of the largest difference; None without differences."""
        difference = self.difference
        if np.isnan(difference).all():
            return None
        row, column = np.unravel_index(int(np.nanargmax(np.abs(difference))), difference.shape)
        return self.rows[row], self.columns[column], float(difference[row, column])

    @property
    def winners(self) -> tuple[Winner, ...]:
        """Winners of the columns (or rows). Omits columns in which a value of ours that could win is missing, and
        columns with fewer than two published values if all our values are equal.
        """
        ranking = self.table.ranking
        if ranking.better is None:
            return ()
        by_column = ranking.by == "column"
        ours, document = (self.ours.T, self.document.T) if by_column else (self.ours, self.document)
        labels, names = (self.rows, self.columns) if by_column else (self.columns, self.rows)
        sign = 1.0 if ranking.better == "low" else -1.0

        def at(cells: "npt.NDArray[np.bool_]") -> tuple[str, ...]:
            return tuple(label for label, holds in zip(labels, cells, strict=True) if holds)

        winners = []
        for name, here, there in zip(names, ours * sign, document * sign, strict=True):
            # If two or more values were published in this row or column, only cells with a published value can win.
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
                if self.table.comparison.kind != "points":
                    excess = 100 * excess / abs(least) if least else None
            winners.append(Winner(name, at(tops), at(best), at(here == np.nanmin(here)), excess))
        return tuple(winners)

    def verdict(self, which: Literal["document", "ours"]) -> Verdict | None:
        """Checks the document's claim against published or our values; None without a claim or without values."""
        claim = self.table.claim
        if claim is None:
            return None
        values: Array = getattr(self, which)
        if not claim.best and claim.winners_of is None:
            verdict = claim.bounds(self.rows, self.columns, values)
            return verdict if verdict.of else None
        by_column = self.table.ranking.by == "column"
        what, labels, names = ("columns", self.rows, self.columns) if by_column else ("rows", self.columns, self.rows)
        judge = self if self.rival is None else self.rival
        judged: Array = getattr(judge, which)
        if by_column:
            values, judged = values.T, judged.T
        claimed = [labels.index(label) for label in claim.best or labels]
        lines = [
            (name, claimed[_top(line[claimed], self.table)], _top(other, judge.table), other)
            for name, line, other in zip(names, values, judged, strict=True)
            if not (np.isnan(line).any() or np.isnan(other).any())
        ]
        return best_of(what, labels, lines)

    def stars(self, which: Which) -> set[tuple[int, int]]:
        """Returns row and column of the winning cells; empty for the table of differences."""
        stars = set()
        for winner in self.winners if which != "difference" else ():
            for label in winner.document if which == "document" else winner.best:
                row, column = (label, winner.of) if self.table.ranking.by == "column" else (winner.of, label)
                stars.add((self.rows.index(row), self.columns.index(column)))
        return stars

    def to_dict(self) -> dict[str, Any]:
        """Returns all results in a form ready for JSON; None stands for a missing value."""
        table, largest = self.table, self.largest
        return {
            "name": table.name,
            "title": table.title,
            "unit": table.unit,
            "value": None if table.value is None else table.value.text,
            "values": {
                label: value.text for axis in (table.rows, table.columns) for label, value in axis.values.items()
            },
            "from": {name: given.file for name, given in table.source.files.items()},
            "tables": [*table.source.tables],
            "model": table.source.model,
            "rows": list(self.rows),
            "cols": list(self.columns),
            "document": _listed(self.document),
            "ours": _listed(self.ours),
            "difference": _listed(self.difference),
            "difference_unit": table.comparison.unit,
            "compare": table.comparison.kind,
            "spread": _listed(self.spread),
            "seeds": self.seeds,
            "rms": self.rms,
            "largest": None if largest is None else dict(zip(("row", "col", "difference"), largest, strict=True)),
            "tolerance": table.comparison.tolerance,
            "misses": [[self.rows[row], self.columns[column]] for row, column in np.argwhere(self.misses).tolist()],
            "winners": [winner.to_dict() for winner in self.winners],
            "row_rms": self.row_rms,
            "claim": self._claim(),
            "note": table.note,
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
    """Results of all tables; identical settings and traces give identical results.

    Files: `experiment.json`, `report.html` and `NAME.csv` per table with the columns `row`, `column`, `document`,
    `ours`, `difference` and `spread`.
    """

    _page = "experiment"
    _json = "experiment.json"
    _optional = ("*.csv",)
    saved = "report.html, experiment.json and a CSV file for each table"

    experiment: Experiment
    overrides: tuple[str, ...]
    """Settings that override settings of the experiment, as `KEY=VALUE`."""
    traces: Mapping[str, Mapping[str, object]]
    """Descriptions of the traces that the user supplied, in the same form as a result's field `source`."""
    tables: tuple[TableResult, ...]
    runs: int
    finished: int
    """Numbers of distinct and of completed simulations."""

    @property
    def partial(self) -> bool:
        """True if the experiment was stopped early."""
        return self.finished < self.runs

    def __getitem__(self, table: str) -> TableResult:
        """Returns the result of the table with the given name.

        Raises:
            KeyError: If the table was not run.
        """
        for one in self.tables:
            if one.table.name == table:
                return one
        raise KeyError(table)

    def to_dict(self) -> dict[str, Any]:
        """Returns the experiment with the results of all tables, ready for JSON."""
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
            for at in np.ndindex(one.ours.shape):
                values = [float(array[at]) for array in columns]
                cells = ["" if math.isnan(value) else value for value in values]
                rows.append((one.rows[at[0]], one.columns[at[1]], *cells))
            tables[f"{one.table.name}.csv"] = rows
        return tables

    def __repr__(self) -> str:
        partial = ", partial" if self.partial else ""
        return f"<ssdlab result of experiment {self.experiment.name}: {len(self.tables)} tables{partial}>"


def _rms(differences: Array) -> float | None:
    known = differences[~np.isnan(differences)]
    return float(np.sqrt(np.mean(known**2))) if known.size else None


def _top(values: Array, table: Table) -> int:
    """Returns the index of the best value; of several equal values, the first."""
    return int(values.argmin() if table.ranking.better == "low" else values.argmax())


def _listed(values: Array) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(value) for value in row] for row in values]
