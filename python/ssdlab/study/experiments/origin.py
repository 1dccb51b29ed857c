"""Reading where the cells of a table come from that are not simulated: numbers, other tables, a model."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ssdlab._ssdlab import ConfigError
from ssdlab.study.experiments.definition import COLUMN, Axis, Given, Table
from ssdlab.study.experiments.expression import Value
from ssdlab.study.experiments.keys import Keys
from ssdlab.study.experiments.models import MODELS
from ssdlab.study.experiments.reference import read_reference
from ssdlab.text import suggestion


def origins(
    keys: Keys, folder: Path, value: Value | None, rows: Axis, columns: Axis, above: Mapping[str, Table]
) -> tuple[dict[str, Given], tuple[str, ...]]:
    """The files and the tables that `from` names, at most one of them any.

    Raises:
        ConfigError: If they are not there, or the values read something else.
    """
    if not keys.has("from"):
        return {}, ()
    for key in ("trace", "set", "below", "seeds"):
        if keys.has(key):
            raise keys.error(key, "means nothing with 'from', as nothing is simulated; leave it out")
    values = [*rows.values.values(), *columns.values.values(), *([value] if value else ())]
    if keys.holds("from", list):
        sources = _sources(keys, rows, above)
        same = [name for name in sources if above[name].columns.name == columns.name]
        _check_paths(keys, values, sources, rows, columns, [f"{COLUMN}.{name}" for name in (*same, rows.name)])
        return {}, sources
    files: dict[str, Any] = keys.get("from", dict)
    if not files:
        raise keys.error("from", 'is empty; write { NAME = "FILE.csv" }, or leave it out')
    _check_paths(keys, values, files, rows, columns)
    found = {}
    for name, file in files.items():
        place = f"{keys.place}: from: {name}"
        if not isinstance(file, str):
            raise ConfigError(f'{place}: {file!r} is not text; write {name} = "FILE.csv"')
        found[name] = Given(file, read_reference(folder / file, place, rows.labels, columns.labels, {}))
    return found, ()


def _sources(keys: Keys, rows: Axis, above: Mapping[str, Table]) -> tuple[str, ...]:
    """The tables that a list names."""
    names: list[Any] = keys.get("from", list)
    for name in names:
        if name not in above:
            why = f"no table {name!r} above{suggestion(str(name), above)}; write [NAME] of one"
            raise keys.error("from", why)
        if above[name].rows.name != rows.name:
            raise keys.error("from", f"{name} has the rows {above[name].rows.name}; name a table with rows {rows.name}")
        if above[name].seeds != above[names[0]].seeds:
            raise keys.error("from", f"{name} has other seeds than {names[0]}; give both the same")
    if not names:
        raise keys.error("from", "is empty; write [NAME] of a table above, or leave it out")
    return tuple(names)


def _check_paths(
    keys: Keys,
    values: list[Value],
    names: Collection[str],
    rows: Axis,
    columns: Axis,
    more: Collection[str] = (),
) -> None:
    """Checks that values have a meaning without a run: they read all `names`, the numbers in labels, and no `more`."""
    # An axis that is both would have two numbers in a cell.
    axes = {} if rows.name == columns.name else {axis.name: axis for axis in (rows, columns)}
    paths = [path for value in values for path in value.paths]
    known = (*names, *axes, *more)
    for path in paths:
        if path not in known:
            why = f"no {path!r} without a run{suggestion(path, known)}; it has {', '.join(known)}"
            raise keys.error("value", why)
    paths = [path.removeprefix(f"{COLUMN}.") for path in paths]
    for name in axes:
        lacking = [label for label in axes[name].labels if Axis.number(label) is None]
        if name in paths and lacking:
            raise keys.error("value", f"{name}: {lacking[0]!r} does not hold one number; change the label")
    for name in names:
        place = f"{keys.place}: from: {name}"
        if name in axes:
            raise ConfigError(f"{place}: is the name of an axis; give it another")
        if name not in paths:
            raise ConfigError(f"{place}: is not in 'value'; use it there or leave it out")


def model(keys: Keys) -> str | None:
    """The model that works out the cells, if there is one."""
    if not keys.has("model"):
        return None
    for key in ("from", "trace", "below", "seeds"):
        if keys.has(key):
            raise keys.error(key, "means nothing with 'model', as nothing is simulated; leave it out")
    name: str = keys.choice("model", tuple(MODELS), "")
    return name
