"""The dataset of a study: a row per point and seed, and a column per metric."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab.lazy import pa
from ssdlab.model.shape import complete
from ssdlab.study.sweep.quantity import quantity

SEED, KEY, ERROR, RUN = "seed", "key", "error", "run"
"""Names of the columns that are neither axes nor metrics."""


class Record(NamedTuple):
    """A stored run: its result or its error."""

    result: str | None
    """Result of the run as JSON; None if the run failed."""
    error: str | None

    @property
    def summary(self) -> dict[str, Any]:
        """Returns the run's result, including counts of 0, which the stored result omits; empty if the run failed."""
        return {} if self.result is None else complete(json.loads(self.result))


class Point(NamedTuple):
    """A requested row of a study: a point of the design with a seed."""

    values: Mapping[str, str]
    """Values of the axes at the point, written as settings."""
    seed: int
    key: str
    """Key of the run; several points may share a run."""


def figures(summary: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Returns all scalar values of a result, by dotted path."""
    by_path: dict[str, Any] = {}
    for name, value in summary.items():
        # Comparing types is faster than calling isinstance, and results have thousands of values.
        kind = type(value)
        if kind is dict:
            by_path |= figures(value, f"{above}{name}.")
        elif value is not None and kind is not list:
            by_path[f"{above}{name}"] = value
    return by_path


def axis_column(values: Sequence[str]) -> "pa.Array":
    """Returns axis values as an Arrow column: numbers in base units if all have the same unit, otherwise text."""
    numbers = [quantity(value) for value in values]
    known = [one for one in numbers if one is not None]
    if len(known) < len(values) or len({one.base for one in known}) > 1:
        return pa.array(values, pa.string())
    whole = all(one.value.is_integer() for one in known) and {one.base for one in known} != {"share"}
    return pa.array([int(one.value) for one in known], pa.int64()) if whole else pa.array([one.value for one in known])


def _figure_column(values: Sequence[Any]) -> "pa.Array":
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and float in kinds:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if len(kinds) > 1:
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    if kinds == {int} and max(value for value in values if value is not None) >= 1 << 63:
        return pa.array(values, pa.uint64())
    return pa.array(values)


def dataset(
    axes: Iterable[str], points: Sequence[Point], records: Mapping[str, Record], outcomes: Iterable[str] = ()
) -> "pa.Table":
    """Returns the finished rows, in the order of the points; `outcomes` get empty columns if no run has a result."""
    done = [(number, point) for number, point in enumerate(points) if point.key in records]
    runs = pa.array([number for number, _ in done], pa.int64())
    columns: dict[str, Any] = {RUN: runs}
    # Column types depend on all points, not only on points with finished runs.
    columns |= {axis: axis_column([point.values[axis] for point in points]).take(runs) for axis in axes}
    columns[SEED] = pa.array([point.seed for _, point in done], pa.uint64())
    columns[KEY] = pa.array([point.key for _, point in done], pa.string())
    columns[ERROR] = pa.array([records[point.key].error for _, point in done], pa.string())
    # Metrics are computed once per run, because several points may share a run.
    by_run = {key: figures(records[key].summary) for key in {point.key for _, point in done}}
    rows = [by_run[point.key] for _, point in done]
    for name in dict.fromkeys(name for row in rows for name in row):
        # Axes cannot clash with metrics, because names of settings differ from names of metrics.
        columns.setdefault(name, _figure_column([row.get(name) for row in rows]))
    if not any(rows):
        columns |= {name: pa.nulls(len(done), pa.float64()) for name in outcomes}
    return pa.table(columns)


def csv_rows(rows: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Returns the rows of a CSV file, header first."""
    return [[*rows[0]], *([*row.values()] for row in rows)]
