"""Reading experiments: strict, so that a misspelt key is an error and not a table that quietly differs."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.conversion import FORMATS
from ssdlab.model.files import read_utf8
from ssdlab.study.experiments.claim import Claim
from ssdlab.study.experiments.definition import (
    Anchor,
    Axis,
    Compare,
    Experiment,
    Line,
    Replay,
    Settings,
    Table,
)
from ssdlab.study.experiments.expression import Value
from ssdlab.study.experiments.keys import Keys, settings_of
from ssdlab.study.experiments.origin import model, origins
from ssdlab.study.experiments.reference import read_reference
from ssdlab.text import suggestion

FILE = "experiment.toml"
"""Name of the file in an experiment's folder."""

EXPERIMENT_KEYS = ("title", "document", "preset", "seeds", "set", "trace", "axis", "table")
TRACE_KEYS = ("pages", "help", "format", "device")
TABLE_KEYS = (
    "name", "title", "unit", "value", "from", "model", "rows", "columns", "trace", "set", "below", "seeds", "reference",
    "where", "change_to", "compare", "anchor", "tolerance", "better", "by", "lines", "claim", "note",
)  # fmt: skip

PAGES = 1 << 32
"""Pages that a device can have."""


def _pages(keys: Keys) -> tuple[int, ...]:
    values: list[Any] = keys.get("pages", list, [])
    for value in values:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < PAGES:
            raise keys.error("pages", f"{value!r} is not the number of a page; write them like [0, 4, 8]")
    if keys.has("pages") and not values:
        raise keys.error("pages", "is empty; write the pages like [0, 4, 8]")
    return tuple(values)


def _replay(keys: Keys, name: str, values: Any) -> Replay:
    place = f"[trace.{name}]"
    if not isinstance(values, dict):
        raise keys.error(place, f'{values!r} is not a table; write pages = [...] or help = "..." below it')
    inner = Keys(f"{keys.place}: {place}", values, TRACE_KEYS)
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


def _value(keys: Keys) -> Value:
    try:
        return Value(keys.text("value"))
    except ValueError as error:
        raise keys.error("value", f"{error}; write it like 'time.elapsed_ns / 1e9'") from None


def _axis(place: str, name: str, labels: Mapping[str, Any], traces: Mapping[str, Replay]) -> Axis:
    if not labels:
        raise ConfigError(f"{place}: is empty; add a line LABEL = {{ SETTING = VALUE }} for each row or column")
    settings, replayed, below, own = {}, {}, {}, {}
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
            below[label] = settings_of(f"{at}: below", values["below"])
        if "value" in values:
            own[label] = _value(Keys(at, {"value": values["value"]}, ("value",)))
        other = ("trace", "below", "value")
        settings[label] = settings_of(at, {key: value for key, value in values.items() if key not in other})
    return Axis(name, settings, replayed, below, own)


def _axis_of(keys: Keys, key: str, axes: Mapping[str, Axis]) -> Axis:
    name = keys.text(key)
    if name not in axes:
        raise keys.error(key, f"no axis {name!r}{suggestion(name, axes)}; add [axis.{name}]")
    return axes[name]


def _anchor(keys: Keys, key: str, rows: Axis, columns: Axis) -> Anchor | None:
    """The cell that a key names; None without the key."""
    if not keys.has(key):
        return None
    inner = Keys(f"{keys.place}: {key}", keys.get(key, dict), ("row", "column"))
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


def _below(keys: Keys, rows: Axis, columns: Axis) -> Settings | None:
    if not keys.has("below"):
        for axis in (rows, columns):
            if axis.below:
                raise keys.error(
                    "below", f"is missing, and {axis.name} has settings for it; add [table.below] or take another axis"
                )
        return None
    return keys.settings("below")


def _claim(keys: Keys, rows: Axis, columns: Axis, above: Mapping[str, Table]) -> Claim | None:
    if not keys.has("claim"):
        return None
    conditions = ("below", "above", "best", "winners_of")
    inner = Keys(f"{keys.place}: claim", keys.get("claim", dict), ("says", *conditions))
    if sum(map(inner.has, conditions)) != 1:
        raise keys.error("claim", f"has not one condition; write one of {', '.join(conditions)}")
    for key in ("best", "winners_of"):
        if inner.has(key) and not keys.has("better"):
            raise inner.error(key, 'means nothing where no value is better; add better = "low" or better = "high"')
    best: list[Any] = []
    if inner.has("best"):
        best = [inner.text("best")] if inner.holds("best", str) else inner.get("best", list)
    labels = (columns if keys.get("by", str, "column") == "row" else rows).labels
    for label in best:
        if label not in labels:
            raise inner.error("best", f"no {label!r}{suggestion(str(label), labels)}; name one of {', '.join(labels)}")
    if inner.has("best") and not best:
        raise inner.error("best", f"is empty; name one of {', '.join(labels)}")
    other = inner.text("winners_of") if inner.has("winners_of") else None
    if other is not None:
        table = above.get(other)
        if table is None or table.better is None:
            raise inner.error(
                "winners_of", f"no table {other!r} above with 'better'{suggestion(other, above)}; name one"
            )
        if (table.rows.labels, table.columns.labels) != (rows.labels, columns.labels):
            raise inner.error("winners_of", f"{other} has other rows or columns; name a table with the same")
    return Claim(
        says=inner.text("says"),
        below=inner.get("below", float) if inner.has("below") else None,
        above=inner.get("above", float) if inner.has("above") else None,
        best=tuple(best),
        winners_of=other,
    )


def _table(
    file: str,
    folder: Path,
    number: int,
    values: Any,
    axes: Mapping[str, Axis],
    traces: Mapping[str, Replay],
    seeds: tuple[int, ...],
    above: Mapping[str, Table],
) -> Table:
    if not isinstance(values, dict):
        raise ConfigError(f"{file}: table: is no list of tables; begin each with [[table]]")
    name = values.get("name")
    keys = Keys(f"{file}: table {name if isinstance(name, str) else number}", values, TABLE_KEYS)
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
    covered = any(len(axis.values) == len(axis.labels) for axis in (rows, columns))
    value = None if covered and not keys.has("value") else _value(keys)
    given, sources = origins(keys, folder, value, rows, columns, above)
    tolerance = keys.get("tolerance", float) if keys.has("tolerance") else None
    if tolerance is not None and not tolerance > 0:
        raise keys.error("tolerance", f"{tolerance:g} is not above 0; give it in % or, with points, in the unit")
    return Table(
        name=name,
        title=keys.text("title"),
        unit=keys.get("unit", str, ""),
        value=value,
        given=given,
        sources=sources,
        model=model(keys),
        rows=rows,
        columns=columns,
        settings=keys.settings("set"),
        below=_below(keys, rows, columns),
        change_to=_anchor(keys, "change_to", rows, columns),
        trace=_trace(keys.place, keys.get("trace", str), traces) if keys.has("trace") else None,
        seeds=above[sources[0]].seeds if sources else keys.seeds(seeds),
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
        claim=_claim(keys, rows, columns, above),
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
        source = read_utf8(path, file)
        document = tomllib.loads(source)
    except OSError as error:
        raise ConfigError(
            f"{text.path(path)}: {error.strerror}; give the path of a TOML file or of a folder with {FILE}"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: is not UTF-8 text; give the path of a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: {error}; mend the TOML") from None
    keys = Keys(file, document, EXPERIMENT_KEYS)
    traces = {one: _replay(keys, one, values) for one, values in keys.get("trace", dict, {}).items()}
    axes = {}
    for axis, labels in keys.get("axis", dict).items():
        place = f"{file}: [axis.{axis}]"
        if not isinstance(labels, dict):
            raise ConfigError(f"{place}: {labels!r} is not a table; write LABEL = {{ SETTING = VALUE }} below it")
        axes[axis] = _axis(place, axis, labels, traces)
    seeds = keys.seeds(())
    tables: dict[str, Table] = {}
    for number, values in enumerate(keys.get("table", list), 1):
        table = _table(file, path.parent, number, values, axes, traces, seeds, tables)
        if table.name in tables:
            raise keys.error(f"table {table.name}", "is there twice; give each a name of its own")
        tables[table.name] = table
    if not tables:
        raise keys.error("table", "is empty; add a [[table]]")
    for axis in axes:
        if not any(axis in (table.rows.name, table.columns.name) for table in tables.values()):
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
        tables=tuple(tables.values()),
    )
    for one in traces.values():
        if not any(one in experiment.replayed(table) for table in experiment.tables):
            raise keys.error(f"[trace.{one.name}]", "no cell replays it; name it in a table, row or column")
    return experiment
