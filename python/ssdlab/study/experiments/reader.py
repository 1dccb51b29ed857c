"""Strict reader for experiments, which reports misspelt keys as errors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from ssdlab._ssdlab import ConfigError
from ssdlab.model.conversion import all_formats
from ssdlab.model.toml_file import read_toml
from ssdlab.study.experiments.claim import Claim
from ssdlab.study.experiments.definition import (
    Anchor,
    Axis,
    Compare,
    Comparison,
    Experiment,
    Line,
    Ranking,
    Replay,
    RunOptions,
    Table,
)
from ssdlab.study.experiments.expression import Value
from ssdlab.study.experiments.keys import Keys, settings_of
from ssdlab.study.experiments.origin import read_source
from ssdlab.study.experiments.reference import read_reference
from ssdlab.text import suggestion

FILE = "experiment.toml"

EXPERIMENT_KEYS = ("title", "document", "preset", "seeds", "set", "trace", "axis", "table")
TRACE_KEYS = ("pages", "help", "format", "device")
TABLE_KEYS = (
    "like", "name", "title", "unit", "value", "from", "model", "rows", "columns", "trace", "set", "below", "seeds",
    "reference", "where", "change_to", "compare", "anchor", "tolerance", "better", "by", "lines", "claim", "note",
)  # fmt: skip

MAX_PAGES = 1 << 32
"""Maximum number of pages of a device."""


def _pages(keys: Keys) -> tuple[int, ...]:
    values: list[Any] = keys.get("pages", list, [])
    for value in values:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MAX_PAGES:
            raise keys.error("pages", f"{value!r} is not a page number; write page numbers like [0, 4, 8]")
    if keys.has("pages") and not values:
        raise keys.error("pages", "is empty; list page numbers, such as [0, 4, 8]")
    return tuple(values)


def _replay(keys: Keys, name: str, values: Any) -> Replay:
    place = f"[trace.{name}]"
    if not isinstance(values, dict):
        raise keys.error(place, f'{values!r} is not a table; write pages = [...] or help = "..." below it')
    inner = Keys(f"{keys.place}: {place}", values, TRACE_KEYS)
    pages = _pages(inner)
    for key in ("help", "format", "device"):
        if pages and inner.has(key):
            raise inner.error(key, "applies only to a trace that the user supplies; omit this key, or omit 'pages'")
    if not (pages or inner.has("help")):
        raise inner.error("help", 'is missing; describe the trace with help = "...", or add pages = [...]')
    return Replay(
        name=keys.name(place, name),
        pages=pages,
        help="" if pages else " ".join(inner.text("help").split()),
        format=inner.optional_choice("format", tuple(one.name for one in all_formats())),
        device=inner.optional_text("device"),
    )


def _trace(place: str, name: object, traces: Mapping[str, Replay]) -> str:
    """Returns the name of a trace, after checking that the experiment declares it."""
    if not isinstance(name, str):
        raise ConfigError(f"{place}: trace: {name!r} is not text; write the NAME of a table [trace.NAME]")
    if name not in traces:
        raise ConfigError(f"{place}: trace: {name!r} is not defined; add [trace.{name}]{suggestion(name, traces)}")
    return name


def _value(keys: Keys) -> Value:
    try:
        return Value(keys.text("value"))
    except ValueError as error:
        raise keys.error("value", f"{error}; write it like 'time.elapsed_ns / 1e9'") from None


def _axis(place: str, name: str, labels: Any, traces: Mapping[str, Replay]) -> Axis:
    if not isinstance(labels, dict):
        raise ConfigError(f"{place}: {labels!r} is not a table; write LABEL = {{ SETTING = VALUE }} below it")
    if not labels:
        raise ConfigError(f"{place}: is empty; add a line LABEL = {{ SETTING = VALUE }} for each row or column")
    axis = Axis(name, settings := {}, replayed := {}, below := {}, own := {})
    for label, values in _expanded(place, labels):
        if label in settings:
            raise ConfigError(f"{place}: {label}: appears twice; remove one of the two")
        if not isinstance(values, dict):
            raise ConfigError(f"{place}: {label}: {values!r} is not a table; write {label} = {{ SETTING = VALUE }}")
        at = f"{place}: {label}"
        rest = dict(values)
        if "trace" in rest:
            replayed[label] = _trace(at, rest.pop("trace"), traces)
        if "below" in rest:
            its_below = rest.pop("below")
            if not isinstance(its_below, dict):
                raise ConfigError(f"{at}: below: {its_below!r} is not a table; write below = {{ SETTING = VALUE }}")
            below[label] = settings_of(f"{at}: below", its_below)
        if "value" in rest:
            own[label] = _value(Keys(at, {"value": rest.pop("value")}, ("value",)))
        settings[label] = settings_of(at, rest)
    return axis


def _expanded(place: str, labels: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields labels with their values; one label per item of an `each` list, which replaces `{}` in label and value."""
    for label, values in labels.items():
        if not isinstance(values, dict) or "each" not in values:
            yield label, values
            continue
        rest = {key: value for key, value in values.items() if key != "each"}
        if "{}" not in label or not isinstance(values["each"], list) or not values["each"]:
            raise ConfigError(
                f"{place}: {label}: each: must be a list, and the label must contain {{}}; write each = [1, 2]"
            )
        for item in values["each"]:
            yield label.replace("{}", str(item)), _filled(rest, item)


def _filled(value: Any, item: Any) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, item) for key, inner in value.items()}
    if isinstance(value, str):
        return item if value == "{}" else value.replace("{}", str(item))
    return value


def _axis_of(keys: Keys, key: str, axes: Mapping[str, Axis]) -> Axis:
    name = keys.text(key)
    if name not in axes:
        raise keys.error(key, f"axis {name!r} is not defined; add [axis.{name}]{suggestion(name, axes)}")
    return axes[name]


def _anchor(keys: Keys, key: str, rows: Axis, columns: Axis) -> Anchor | None:
    """Reads the reference cell (anchor) in the value of a key; None if the key is missing."""
    if not keys.has(key):
        return None
    inner = Keys(f"{keys.place}: {key}", keys.get(key, dict), ("row", "column"))
    if not (inner.has("row") or inner.has("column")):
        raise keys.error(key, "selects no cell; write { row = LABEL }, { column = LABEL } or both")
    column = inner.optional_text("column")
    row = inner.get("row", dict) if inner.holds("row", dict) else inner.optional_text("row")
    if isinstance(row, dict) and (column is not None or {*row} != {*columns.labels}):
        raise inner.error(
            "row", "must name a row for each column; write row = { COLUMN = ROW } with all columns, and omit 'column'"
        )
    named = [("row", rows, label) for label in (row.values() if isinstance(row, dict) else (row,))]
    for name, axis, label in (*named, ("column", columns, column)):
        if label is not None and label not in axis.labels:
            raise inner.error(
                name,
                f"{name} {label!r} does not exist; use a label of axis {axis.name}"
                f"{suggestion(str(label), axis.labels)}",
            )
    return Anchor(row, column)


def _runs(keys: Keys, rows: Axis, columns: Axis, traces: Mapping[str, Replay], seeds: tuple[int, ...]) -> RunOptions:
    for axis in (rows, columns):
        if axis.below and not keys.has("below"):
            raise keys.error(
                "below",
                f"is missing, but axis {axis.name} has settings for 'below'; add [table.below] or use another axis",
            )
    return RunOptions(
        settings=keys.settings("set"),
        below=keys.settings("below") if keys.has("below") else None,
        trace=_trace(keys.place, keys.get("trace", str), traces) if keys.has("trace") else None,
        seeds=seeds,
    )


def _comparison(keys: Keys, folder: Path, rows: Axis, columns: Axis) -> Comparison:
    for key in ("where", "compare", "anchor", "tolerance"):
        if keys.has(key) and not keys.has("reference"):
            raise keys.error(key, 'has no effect without a reference; add reference = "FILE.csv", or omit it')
    kind: Compare = keys.choice("compare", get_args(Compare), "value")
    if (kind in ("offset", "ratio")) != keys.has("anchor"):
        raise keys.error(
            "anchor",
            'is required if compare is "offset" or "ratio", and not allowed otherwise; add or remove the anchor, '
            "or change compare",
        )
    tolerance = keys.optional("tolerance", float)
    if tolerance is not None and not tolerance > 0:
        raise keys.error(
            "tolerance",
            f'{tolerance:g} is not above 0; write a tolerance in %, or in the table\'s unit if compare is "points"',
        )
    reference = None
    where = {key: str(value) for key, value in keys.get("where", dict, {}).items()}
    if keys.has("reference"):
        path = folder / keys.text("reference")
        reference = read_reference(path, keys.place, rows.labels, columns.labels, where)
    return Comparison(reference, kind, _anchor(keys, "anchor", rows, columns), tolerance)


def _claim(keys: Keys, rows: Axis, columns: Axis, above: Mapping[str, Table]) -> Claim | None:
    if not keys.has("claim"):
        return None
    conditions = ("below", "above", "best", "winners_of")
    inner = Keys(f"{keys.place}: claim", keys.get("claim", dict), ("says", *conditions))
    if sum(map(inner.has, conditions)) != 1:
        raise keys.error("claim", f"needs exactly one condition; use one of {', '.join(conditions)}")
    for key in ("best", "winners_of"):
        if inner.has(key) and not keys.has("better"):
            raise inner.error(key, 'has no effect without better = "low" or better = "high"; add one of them')
    best: list[Any] = []
    if inner.has("best"):
        best = [inner.text("best")] if inner.holds("best", str) else inner.get("best", list)
    labels = (columns if keys.get("by", str, "column") == "row" else rows).labels
    for label in best:
        if label not in labels:
            raise inner.error("best", f"{label!r} is not one of {', '.join(labels)}{suggestion(str(label), labels)}")
    if inner.has("best") and not best:
        raise inner.error("best", f"is empty; use one of {', '.join(labels)}")
    rival = inner.optional_text("winners_of")
    if rival is not None:
        table = above.get(rival)
        if table is None or table.ranking.better is None:
            why = (
                f"{rival!r} is not an earlier table with the key 'better'; use a table that has this key"
                f"{suggestion(rival, above)}"
            )
            raise inner.error("winners_of", why)
        if (table.rows.labels, table.columns.labels) != (rows.labels, columns.labels):
            raise inner.error(
                "winners_of", f"{rival} has different rows or columns; use a table with the same rows and columns"
            )
    return Claim(
        says=inner.text("says"),
        below=inner.optional("below", float),
        above=inner.optional("above", float),
        best=tuple(best),
        winners_of=rival,
    )


@dataclass(frozen=True)
class _Parts:
    """Parts of an experiment that its tables refer to."""

    folder: Path
    axes: Mapping[str, Axis]
    traces: Mapping[str, Replay]
    seeds: tuple[int, ...]


def _inherited(place: str, values: Mapping[str, Any], above: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Returns a table's keys and values; missing keys come from the table that `like` names."""
    if "like" not in values:
        return values
    name = values["like"]
    if name not in above:
        raise ConfigError(
            f"{place}: like: {name!r} is not an earlier table; use a table defined above{suggestion(str(name), above)}"
        )
    return {**above[name], **{key: value for key, value in values.items() if key != "like"}}


def _table(parts: _Parts, place: str, values: Mapping[str, Any], above: Mapping[str, Table]) -> Table:
    keys = Keys(place, values, TABLE_KEYS)
    name = keys.name("name", keys.text("name"))
    rows, columns = _axis_of(keys, "rows", parts.axes), _axis_of(keys, "columns", parts.axes)
    if keys.has("by") and not keys.has("better"):
        raise keys.error("by", 'has no effect without better; add better = "low", or omit it')
    covered = any(len(axis.values) == len(axis.labels) for axis in (rows, columns))
    value = None if covered and not keys.has("value") else _value(keys)
    source = read_source(keys, parts.folder, value, rows, columns, above)
    seeds = above[source.tables[0]].runs.seeds if source.tables else keys.seeds(parts.seeds)
    return Table(
        name=name,
        title=keys.text("title"),
        unit=keys.get("unit", str, ""),
        note=" ".join(keys.get("note", str, "").split()),
        rows=rows,
        columns=columns,
        value=value,
        source=source,
        runs=_runs(keys, rows, columns, parts.traces, seeds),
        change_to=_anchor(keys, "change_to", rows, columns),
        comparison=_comparison(keys, parts.folder, rows, columns),
        ranking=Ranking(keys.optional_choice("better", ("low", "high")), keys.choice("by", get_args(Line), "column")),
        lines=keys.optional_choice("lines", get_args(Line)),
        claim=_claim(keys, rows, columns, above),
    )


def read(path: Path, name: str, file: str) -> Experiment:
    """Reads an experiment; references are relative to the folder of `path`, and messages show `file`."""
    source, document = read_toml(path, file)
    keys = Keys(file, document, EXPERIMENT_KEYS)
    traces = {one: _replay(keys, one, values) for one, values in keys.get("trace", dict, {}).items()}
    axes = {
        name: _axis(f"{file}: [axis.{name}]", name, labels, traces) for name, labels in keys.get("axis", dict).items()
    }
    parts = _Parts(path.parent, axes, traces, keys.seeds(()))
    tables: dict[str, Table] = {}
    written: dict[str, Mapping[str, Any]] = {}
    for number, given in enumerate(keys.get("table", list), 1):
        if not isinstance(given, dict):
            raise ConfigError(f"{file}: table: is not a list of tables; begin each table with [[table]]")
        place = f"{file}: table {given['name'] if isinstance(given.get('name'), str) else number}"
        values = _inherited(place, given, written)
        table = _table(parts, place, values, tables)
        written[table.name] = values
        if table.name in tables:
            raise keys.error(f"table {table.name}", "appears twice; use a different name for each table")
        tables[table.name] = table
    if not tables:
        raise keys.error("table", "is empty; add a [[table]]")
    for axis in axes:
        if not any(axis in (table.rows.name, table.columns.name) for table in tables.values()):
            raise keys.error(
                f"[axis.{axis}]", "no table uses this axis; use it as rows or columns of a table, or remove it"
            )
    experiment = Experiment(
        name=name,
        file=file,
        source=source,
        title=keys.text("title"),
        document=keys.text("document"),
        preset=keys.optional_text("preset"),
        settings=keys.settings("set"),
        traces=traces,
        tables=tuple(tables.values()),
    )
    for one in traces.values():
        if not any(one in experiment.replayed(table) for table in experiment.tables):
            raise keys.error(
                f"[trace.{one.name}]",
                "no cell replays this trace; add trace = NAME to a table, row or column, or remove the trace",
            )
    return experiment
