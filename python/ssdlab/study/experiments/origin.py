"""Reads the source of table cells that are not simulated: CSV files, other tables or a model."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ssdlab._ssdlab import ConfigError
from ssdlab.study.experiments.definition import COLUMN, Axis, CellSource, Given, Table
from ssdlab.study.experiments.expression import Value
from ssdlab.study.experiments.keys import Keys
from ssdlab.study.experiments.models import MODELS
from ssdlab.study.experiments.reference import read_reference
from ssdlab.text import suggestion


def read_source(
    keys: Keys, folder: Path, value: Value | None, rows: Axis, columns: Axis, above: Mapping[str, Table]
) -> CellSource:
    """Reads the keys `from` and `model` of a table.

    `value` is the table's expression for cell values, if it has one; `from` may refer to the earlier tables `above`.
    """
    for key, others in (("from", ("trace", "set", "below", "seeds")), ("model", ("from", "trace", "below", "seeds"))):
        for other in others:
            if keys.has(key) and keys.has(other):
                raise keys.error(other, f"has no effect with {key!r}, because nothing is simulated; omit it")
    if keys.has("model"):
        return CellSource(model=keys.choice("model", tuple(MODELS), ""))
    if not keys.has("from"):
        return CellSource()
    values = [*rows.values.values(), *columns.values.values(), *([value] if value else ())]
    if keys.holds("from", list):
        tables = _tables(keys, rows, above)
        same = [name for name in tables if above[name].columns.name == columns.name]
        _check_paths(keys, values, tables, rows, columns, [f"{COLUMN}.{name}" for name in (*same, rows.name)])
        return CellSource(tables=tables)
    files: dict[str, Any] = keys.get("from", dict)
    if not files:
        raise keys.error("from", 'is empty; write { NAME = "FILE.csv" }, or omit the key')
    _check_paths(keys, values, files, rows, columns)
    given = {}
    for name, file in files.items():
        place = f"{keys.place}: from: {name}"
        if not isinstance(file, str):
            raise ConfigError(f'{place}: {file!r} is not text; write {name} = "FILE.csv"')
        given[name] = Given(file, read_reference(folder / file, place, rows.labels, columns.labels, {}))
    return CellSource(files=given)


def _tables(keys: Keys, rows: Axis, above: Mapping[str, Table]) -> tuple[str, ...]:
    names: list[Any] = keys.get("from", list)
    for name in names:
        if name not in above:
            raise keys.error(
                "from", f"{name!r} is not an earlier table; use a table defined above{suggestion(str(name), above)}"
            )
        if above[name].rows.name != rows.name:
            raise keys.error(
                "from",
                f"the rows of {name} are the axis {above[name].rows.name}; use a table with the rows {rows.name}",
            )
        if above[name].runs.seeds != above[names[0]].runs.seeds:
            raise keys.error("from", f"{name} and {names[0]} have different seeds; use the same seeds in both tables")
    if not names:
        raise keys.error("from", "is empty; list earlier tables, or omit the key")
    return tuple(names)


def _check_paths(
    keys: Keys,
    values: list[Value],
    names: Collection[str],
    rows: Axis,
    columns: Axis,
    optional: Collection[str] = (),
) -> None:
    """Checks that every path in the expressions is one of `names` or `optional`, or the name of an axis."""
    # If rows and columns have the same axis name, the name is ambiguous: it could mean the number in either label.
    axes = {} if rows.name == columns.name else {axis.name: axis for axis in (rows, columns)}
    paths = [path for value in values for path in value.paths]
    known = (*names, *axes, *optional)
    for path in paths:
        if path not in known:
            raise keys.error(
                "value",
                f"{path!r} is not available, because these cells are not simulated{suggestion(path, known)}; "
                f"use one of {', '.join(known)}",
            )
    paths = [path.removeprefix(f"{COLUMN}.") for path in paths]
    for name in axes:
        lacking = [label for label in axes[name].labels if Axis.number(label) is None]
        if name in paths and lacking:
            raise keys.error("value", f"{name}: {lacking[0]!r} does not contain exactly one number; change the label")
    for name in names:
        place = f"{keys.place}: from: {name}"
        if name in axes:
            raise ConfigError(f"{place}: is already the name of an axis; use another name")
        if name not in paths:
            raise ConfigError(f"{place}: is not used in 'value'; use it there or omit it")
