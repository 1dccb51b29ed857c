"""The dataset of a study: a row for each point, a column for each figure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab.lazy import pa
from ssdlab.model.shape import complete
from ssdlab.study.sweep.quantity import quantity

SEED, KEY, ERROR, RUN = "seed", "key", "error", "run"
"""Columns beside those of axes and figures."""


class Record(NamedTuple):
    """What the store keeps of a run."""

    result: str | None
    """The result as JSON text; None if it failed."""
    error: str | None

    @property
    def summary(self) -> dict[str, Any]:
        """The result, with 0 for each count of what did not occur; nothing if it failed."""
        return {} if self.result is None else complete(json.loads(self.result))


class Point(NamedTuple):
    """A row that was asked for."""

    values: Mapping[str, str]
    """Of each axis, as settings take it."""
    seed: int
    key: str
    """Of the run that answers it; points may share one."""


def figures(summary: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Every scalar of a result with its dotted path."""
    found: dict[str, Any] = {}
    for name, value in summary.items():
        # A result has thousands of them.
        kind = type(value)
        if kind is dict:
            found |= figures(value, f"{above}{name}.")
        elif value is not None and kind is not list:
            found[f"{above}{name}"] = value
    return found


def axis_column(values: Sequence[str]) -> "pa.Array":
    """The values of an axis: numbers in bytes, nanoseconds, shares of 1 or events per second where all are of a kind,
    else as they are written.
    """
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
    """The rows of the points whose runs came to their end, in the order of the points.

    Args:
        axes: What is varied.
        points: Every one that was asked for.
        records: What came to its end.
        outcomes: Figures that there are columns of, and be they empty, where no run has a result yet.
    """
    done = [(number, point) for number, point in enumerate(points) if point.key in records]
    runs = pa.array([number for number, _ in done], pa.int64())
    columns: dict[str, Any] = {RUN: runs}
    # Of all points, so that a column is of one type whichever runs are finished.
    columns |= {axis: axis_column([point.values[axis] for point in points]).take(runs) for axis in axes}
    columns[SEED] = pa.array([point.seed for _, point in done], pa.uint64())
    columns[KEY] = pa.array([point.key for _, point in done], pa.string())
    columns[ERROR] = pa.array([records[point.key].error for _, point in done], pa.string())
    # Points that share a run share its figures.
    read: dict[str, dict[str, Any]] = {}
    rows = []
    for _, point in done:
        if point.key not in read:
            read[point.key] = figures(records[point.key].summary)
        rows.append(read[point.key])
    for name in dict.fromkeys(name for row in rows for name in row):
        # An axis is called as its setting, which no figure is.
        columns.setdefault(name, _figure_column([row.get(name) for row in rows]))
    if not any(rows):
        columns |= {name: pa.nulls(len(done), pa.float64()) for name in outcomes}
    return pa.table(columns)
