"""Reading experiments: strict, so that a misspelt key is an error and not a table that quietly differs."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.conversion import FORMATS
from ssdlab.study.experiments.definition import (
    Anchor,
    Axis,
    Compare,
    Experiment,
    Given,
    Line,
    Replay,
    Scalar,
    Settings,
    Table,
)
from ssdlab.study.experiments.expression import Value
from ssdlab.study.experiments.models import MODELS
from ssdlab.study.experiments.reference import read_reference
from ssdlab.text import suggestion

FILE = "experiment.toml"
"""Name of the file in an experiment's folder."""

EXPERIMENT_KEYS = ("title", "document", "preset", "seeds", "set", "trace", "axis", "table")
TRACE_KEYS = ("pages", "help", "format", "device")
TABLE_KEYS = (
    "name", "title", "unit", "value", "from", "model", "rows", "columns", "trace", "set", "below", "seeds", "reference",
    "where", "change_to", "compare", "anchor", "tolerance", "better", "by", "lines", "note",
)  # fmt: skip

_TYPES: dict[type, tuple[str, str]] = {
    str: ("text", '"..."'),
    float: ("a number", "3"),
    list: ("a list", "[...]"),
    dict: ("a table", "{ ... }"),
}
"""Types of values in words, and how they are written."""

PAGES = 1 << 32
"""Pages that a device can have."""

T = TypeVar("T")


class _Keys:
    """The keys of one table of a TOML document."""

    def __init__(self, place: str, values: Mapping[str, Any], known: Iterable[str]) -> None:
        self.place = place
        self._values = values
        known = tuple(known)
        for key in values:
            if key not in known:
                raise self.error(key, f"no such key{suggestion(key, known)}; known here: {', '.join(known)}")

    def error(self, key: str, what: str) -> ConfigError:
        return ConfigError(f"{self.place}: {key}: {what}")

    def has(self, key: str) -> bool:
        return key in self._values

    def holds(self, key: str, kind: type) -> bool:
        return isinstance(self._values.get(key), kind)

    def get(self, key: str, kind: type[T], default: T | None = None) -> T:
        """The value of a key, which must be there unless it has a default."""
        value = self._values.get(key, default)
        if value is None:
            raise self.error(key, f"is missing; add {key} = {_TYPES[kind][1]}")
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind):
            raise self.error(key, f"{value!r} is not {_TYPES[kind][0]}; write it like {_TYPES[kind][1]}")
        return value

    def text(self, key: str) -> str:
        """Text that must be there and say something."""
        value = self.get(key, str).strip()
        if not value:
            raise self.error(key, "is empty; write what it is")
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> Any:
        value = self.get(key, str, default)
        if value not in choices:
            raise self.error(key, f"{value!r} is not one of {', '.join(choices)}{suggestion(value, choices)}")
        return value

    def seeds(self, default: tuple[int, ...]) -> tuple[int, ...]:
        values: list[Any] = self.get("seeds", list, list(default))
        if any(not isinstance(one, int) or isinstance(one, bool) or one < 0 for one in values):
            raise self.error("seeds", f"{values} is not a list of whole numbers; write it like [1, 2, 3]")
        if len({*values}) < len(values) or (self.has("seeds") and not values):
            raise self.error("seeds", f"{values} holds none or one twice; write each once, or leave it out")
        return tuple(values)

    def name(self, key: str, value: str) -> str:
        """A word that can be the name of a file and be written on a command line."""
        if not value.replace("_", "").replace("-", "").isalnum():
            raise self.error(key, f"{value!r} holds more than letters, digits, - and _; leave them out")
        return value

    def settings(self, key: str) -> Settings:
        return _settings(f"{self.place}: [{key}]", self.get(key, dict, {}))


def _settings(place: str, values: Mapping[str, Any], prefix: str = "") -> dict[str, Scalar]:
    """Nested tables as dotted paths."""
    found: dict[str, Scalar] = {}
    for key, value in values.items():
        if "." in key or not key:
            raise ConfigError(f"{place}: {prefix}{key!r}: is quoted; write dotted keys without quotes")
        if isinstance(value, dict):
            found |= _settings(place, value, f"{prefix}{key}.")
        elif isinstance(value, str | int | float):
            found[prefix + key] = value
        else:
            raise ConfigError(f"{place}: {prefix}{key}: is a {type(value).__name__}; a setting is text or a number")
    return found


def _pages(keys: _Keys) -> tuple[int, ...]:
    values: list[Any] = keys.get("pages", list, [])
    for value in values:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < PAGES:
            raise keys.error("pages", f"{value!r} is not the number of a page; write them like [0, 4, 8]")
    if keys.has("pages") and not values:
        raise keys.error("pages", "is empty; write the pages like [0, 4, 8]")
    return tuple(values)


def _replay(keys: _Keys, name: str, values: Any) -> Replay:
    place = f"[trace.{name}]"
    if not isinstance(values, dict):
        raise keys.error(place, f'{values!r} is not a table; write pages = [...] or help = "..." below it')
    inner = _Keys(f"{keys.place}: {place}", values, TRACE_KEYS)
    pages = _pages(inner)
    for key in ("help", "format", "device"):
        if pages and inner.has(key):
            raise inner.error(key, "is for a trace that the user supplies; leave it out, or leave out 'pages'")
    if not (pages or inner.has("help")):
        raise inner.error("help", 'is missing; say what to supply with help = "...", or add pages = [...]')
    return Replay(
        name=keys.name(place, name),
        pages=pages,
        help="" if pages else " ".join(inner.text("help").split()),
        format=inner.choice("format", tuple(one.name for one in FORMATS), "") if inner.has("format") else None,
        device=inner.text("device") if inner.has("device") else None,
    )


def _trace(place: str, name: object, traces: Mapping[str, Replay]) -> str:
    """The name of a trace where one is replayed."""
    if not isinstance(name, str):
        raise ConfigError(f"{place}: trace: {name!r} is not text; name a [trace.NAME]")
    if name not in traces:
        raise ConfigError(f"{place}: trace: no trace {name!r}{suggestion(name, traces)}; add [trace.{name}]")
    return name


def _axis(place: str, name: str, labels: Mapping[str, Any], traces: Mapping[str, Replay]) -> Axis:
    if not labels:
        raise ConfigError(f"{place}: is empty; add a line LABEL = {{ SETTING = VALUE }} for each row or column")
    settings, replayed, below = {}, {}, {}
    for label, values in labels.items():
        if not isinstance(values, dict):
            raise ConfigError(f"{place}: {label}: {values!r} is not a table; write {label} = {{ SETTING = VALUE }}")
        at = f"{place}: {label}"
        if "trace" in values:
            replayed[label] = _trace(at, values["trace"], traces)
        if "below" in values:
            if not isinstance(values["below"], dict):
                what = f"{values['below']!r} is not a table; write below = {{ SETTING = VALUE }}"
                raise ConfigError(f"{at}: below: {what}")
            below[label] = _settings(f"{at}: below", values["below"])
        settings[label] = _settings(at, {key: value for key, value in values.items() if key not in ("trace", "below")})
    return Axis(name, settings, replayed, below)


def _axis_of(keys: _Keys, key: str, axes: Mapping[str, Axis]) -> Axis:
    name = keys.text(key)
    if name not in axes:
        raise keys.error(key, f"no axis {name!r}{suggestion(name, axes)}; add [axis.{name}]")
    return axes[name]


def _anchor(keys: _Keys, key: str, rows: Axis, columns: Axis) -> Anchor | None:
    """The cell that a key names; None without the key."""
    if not keys.has(key):
        return None
    inner = _Keys(f"{keys.place}: {key}", keys.get(key, dict), ("row", "column"))
    if not (inner.has("row") or inner.has("column")):
        raise keys.error(key, "names no cell; write { row = LABEL }, { column = LABEL } or both")
    column = inner.text("column") if inner.has("column") else None
    row: str | dict[str, Any] | None = None
    if inner.has("row"):
        row = inner.text("row") if inner.holds("row", str) else inner.get("row", dict)
    if isinstance(row, dict) and (column is not None or {*row} != {*columns.labels}):
        raise inner.error("row", "names a row for each column; name all columns, and leave 'column' out")
    named = [("row", rows, label) for label in (row.values() if isinstance(row, dict) else (row,))]
    for key, axis, label in (*named, ("column", columns, column)):
        if label is not None and label not in axis.labels:
            raise inner.error(key, f"no {key} {label!r}{suggestion(str(label), axis.labels)}; name one of {axis.name}")
    return Anchor(row, column)


def _below(keys: _Keys, rows: Axis, columns: Axis) -> Settings | None:
    if not keys.has("below"):
        for axis in (rows, columns):
            if axis.below:
                raise keys.error(
                    "below", f"is missing, and {axis.name} has settings for it; add [table.below] or take another axis"
                )
        return None
    return keys.settings("below")


def _value(keys: _Keys) -> Value:
    try:
        return Value(keys.text("value"))
    except ValueError as error:
        raise keys.error("value", f"{error}; write it like 'time.elapsed_ns / 1e9'") from None


def _given(keys: _Keys, folder: Path, value: Value, rows: Axis, columns: Axis) -> dict[str, Given]:
    """The tables that a value is worked out from; checks that it has a meaning without a run."""
    files: dict[str, Any] = keys.get("from", dict, {})
    if not keys.has("from"):
        return {}
    if not files:
        raise keys.error("from", 'is empty; write { NAME = "FILE.csv" }, or leave it out')
    for key in ("trace", "set", "below", "seeds"):
        if keys.has(key):
            raise keys.error(key, "means nothing with 'from', as nothing is simulated; leave it out")
    # An axis that is both would have two numbers in a cell.
    axes = {} if rows.name == columns.name else {axis.name: axis for axis in (rows, columns)}
    for path in value.paths:
        if path not in (*files, *axes):
            known = ", ".join((*files, *axes))
            raise keys.error("value", f"no {path!r} without a run{suggestion(path, (*files, *axes))}; it has {known}")
    for name in axes:
        lacking = [label for label in axes[name].labels if Axis.number(label) is None]
        if name in value.paths and lacking:
            raise keys.error("value", f"{name}: {lacking[0]!r} does not hold one number; change the label")
    found = {}
    for name, file in files.items():
        place = f"{keys.place}: from: {name}"
        if not isinstance(file, str):
            raise ConfigError(f'{place}: {file!r} is not text; write {name} = "FILE.csv"')
        if name in axes:
            raise ConfigError(f"{place}: is the name of an axis; give it another")
        if name not in value.paths:
            raise ConfigError(f"{place}: is not in 'value'; use it there or leave it out")
        found[name] = Given(file, read_reference(folder / file, place, rows.labels, columns.labels, {}))
    return found


def _model(keys: _Keys) -> str | None:
    """The model that works out the cells, if there is one."""
    if not keys.has("model"):
        return None
    for key in ("from", "trace", "below", "seeds"):
        if keys.has(key):
            raise keys.error(key, "means nothing with 'model', as nothing is simulated; leave it out")
    name: str = keys.choice("model", tuple(MODELS), "")
    return name


def _table(
    file: str,
    folder: Path,
    number: int,
    values: Any,
    axes: Mapping[str, Axis],
    traces: Mapping[str, Replay],
    seeds: tuple[int, ...],
) -> Table:
    if not isinstance(values, dict):
        raise ConfigError(f"{file}: table: is no list of tables; begin each with [[table]]")
    name = values.get("name")
    keys = _Keys(f"{file}: table {name if isinstance(name, str) else number}", values, TABLE_KEYS)
    name = keys.name("name", keys.text("name"))
    rows, columns = _axis_of(keys, "rows", axes), _axis_of(keys, "columns", axes)
    for key in ("where", "compare", "anchor", "tolerance"):
        if keys.has(key) and not keys.has("reference"):
            raise keys.error(key, "means nothing without a reference; add reference = FILE.csv or leave it out")
    if keys.has("by") and not keys.has("better"):
        raise keys.error("by", 'means nothing where no value wins; add better = "low" or leave it out')
    compare: Compare = keys.choice("compare", get_args(Compare), "value")
    if (compare in ("offset", "ratio")) != keys.has("anchor"):
        raise keys.error(
            "anchor", 'goes with compare = "offset" and "ratio", and only with them; change one of the two'
        )
    better: Literal["low", "high"] | None = keys.choice("better", ("low", "high"), "low")
    by: Line = keys.choice("by", get_args(Line), "column")
    lines: Line = keys.choice("lines", get_args(Line), "column")
    where: dict[str, Any] = keys.get("where", dict, {})
    value = _value(keys)
    tolerance = keys.get("tolerance", float) if keys.has("tolerance") else None
    if tolerance is not None and not tolerance > 0:
        raise keys.error("tolerance", f"{tolerance:g} is not above 0; give it in % or, with points, in the unit")
    return Table(
        name=name,
        title=keys.text("title"),
        unit=keys.get("unit", str, ""),
        value=value,
        given=_given(keys, folder, value, rows, columns),
        model=_model(keys),
        rows=rows,
        columns=columns,
        settings=keys.settings("set"),
        below=_below(keys, rows, columns),
        change_to=_anchor(keys, "change_to", rows, columns),
        trace=_trace(keys.place, keys.get("trace", str), traces) if keys.has("trace") else None,
        seeds=keys.seeds(seeds),
        reference=read_reference(
            folder / keys.text("reference"),
            keys.place,
            rows.labels,
            columns.labels,
            {key: str(value) for key, value in where.items()},
        )
        if keys.has("reference")
        else None,
        compare=compare,
        anchor=_anchor(keys, "anchor", rows, columns),
        tolerance=tolerance,
        better=better if keys.has("better") else None,
        by=by,
        lines=lines if keys.has("lines") else None,
        note=" ".join(keys.get("note", str, "").split()),
    )


def read(path: Path, name: str, file: str) -> Experiment:
    """Reads an experiment.

    Args:
        path: The TOML file; references are relative to its folder.
        name: What the experiment is called.
        file: The path as messages show it.

    Raises:
        ConfigError: In one line: file, key, fault and remedy.
    """
    try:
        source = path.read_text(encoding="utf-8")
        document = tomllib.loads(source)
    except OSError as error:
        raise ConfigError(
            f"{text.path(path)}: {error.strerror}; give the path of a TOML file or of a folder with {FILE}"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: is not UTF-8 text; give the path of a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: {error}; mend the TOML") from None
    keys = _Keys(file, document, EXPERIMENT_KEYS)
    traces = {one: _replay(keys, one, values) for one, values in keys.get("trace", dict, {}).items()}
    axes = {}
    for axis, labels in keys.get("axis", dict).items():
        place = f"{file}: [axis.{axis}]"
        if not isinstance(labels, dict):
            raise ConfigError(f"{place}: {labels!r} is not a table; write LABEL = {{ SETTING = VALUE }} below it")
        axes[axis] = _axis(place, axis, labels, traces)
    seeds = keys.seeds(())
    tables = tuple(
        _table(file, path.parent, number, values, axes, traces, seeds)
        for number, values in enumerate(keys.get("table", list), 1)
    )
    if not tables:
        raise keys.error("table", "is empty; add a [[table]]")
    for table in tables:
        if sum(one.name == table.name for one in tables) > 1:
            raise keys.error(f"table {table.name}", "is there twice; give each a name of its own")
    for axis in axes:
        if not any(axis in (table.rows.name, table.columns.name) for table in tables):
            raise keys.error(f"[axis.{axis}]", "no table has it; name it as rows or columns of one, or leave it out")
    experiment = Experiment(
        name=name,
        file=file,
        source=source,
        title=keys.text("title"),
        document=keys.text("document"),
        preset=keys.text("preset") if keys.has("preset") else None,
        settings=keys.settings("set"),
        traces=traces,
        tables=tables,
    )
    for one in traces.values():
        if not any(one in experiment.replayed(table) for table in tables):
            raise keys.error(f"[trace.{one.name}]", "no cell replays it; name it in a table, row or column")
    return experiment
