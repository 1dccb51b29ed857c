"""Types of the values of a saved result, by key.

The type of a value is a tuple of Python types, a set of the valid names, a dict with the type of each key, a list with
the type of its items, or a `Maybe`. In a dict, `...` stands for all other keys. A key that ends with `?` is optional: a
missing number means 0. Types of numbers are derived from `model.metrics`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab._ssdlab import CAUSES, ConfigError
from ssdlab.model import diagnosis
from ssdlab.model.metrics import CAPTURE, LOOKUPS, METRICS, TIMES, Metric

REMEDY = "copy the file again, or repeat the run with --out"
SHOWN = 40
"""Maximum number of characters that a message shows of a value."""


class Part(dict[str, Any]):
    """A JSON object read from a file, with the objects in it; a missing key raises ConfigError."""

    def __init__(self, place: str, node: dict[str, Any]) -> None:
        super().__init__((key, _placed(f"{place}{key}", value)) for key, value in node.items())
        self._place = place

    def __missing__(self, key: str) -> Any:
        raise ConfigError(f"{self._place}{key}: is missing; {REMEDY}")

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def _placed(place: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_placed(f"{place}[{at}]", item) for at, item in enumerate(value)]
    return Part(f"{place}.", value) if isinstance(value, dict) else value


class Maybe(NamedTuple):
    """Type of a value that is null in some runs."""

    kind: Any
    nothing: Mapping[str, Any] | None = None
    """Object that replaces null if null means that no event occurred; all its counts are 0. If None, null is kept."""


_Object = dict[Any, Any]

ANYTHING, FLAG, NAME, NUMBER = (object, bool), (bool,), (str,), (int, float)
FIGURE = Maybe(NUMBER)
NUMBERS: _Object = {...: NUMBER}
KINDS = {"number": NUMBER, "name": NAME, "flag": FLAG}


def _kind_of(metric: Metric) -> Any:
    kind = KINDS[metric.kind]
    return Maybe(kind) if metric.null else kind


def _of(metrics: Iterable[Metric]) -> _Object:
    """Returns the type of an object with the given metrics."""
    return {metric.name: _kind_of(metric) for metric in metrics}


DISTRIBUTION = Maybe(_of(TIMES), nothing={"count": 0})
BY_OPERATION = dict.fromkeys(("all", "read", "write", "trim", "flush"), DISTRIBUTION)
SUMS = {"requests": NUMBER, "sum_ns": NUMBER, "parts_ns": {f"{part}?": NUMBER for part in diagnosis.PARTS}}
PARTS = dict.fromkeys(("all", "p50", "p99", "p99_9"), SUMS)
PARTS_OF_OPERATION = Maybe(PARTS, nothing={key: {"requests": 0, "sum_ns": 0, "parts_ns": {}} for key in PARTS})
STREAM_CAPTURE = {"stream": Maybe(NAME), **_of(CAPTURE)}
MERGES = dict.fromkeys(("switch", "partial", "full"), dict.fromkeys(("count", "copies", "erases"), NUMBER))
STREAM = {
    "stream": Maybe(NAME), "read": DISTRIBUTION, "write": DISTRIBUTION,
    **dict.fromkeys(("bytes", "active_ns", "bytes_per_s"), NUMBER),
}  # fmt: skip
FINDING = {
    "about": diagnosis.FINDINGS.keys(),
    "name": {name for names in diagnosis.FINDINGS.values() for name in names},
    "share": NUMBER,
    "evidence": NUMBERS,
    "what_ifs": [{*diagnosis.WHAT_IFS}],
}
RESULT: _Object = {
    "ingest": Maybe({
        "counts": NUMBERS, "notes": [NAME], "other_devices": [[NAME, NUMBER]],
        **dict.fromkeys(("first_bad", "device", "format"), Maybe(NAME)),
    }),
    "partial": FLAG,
    "repeat": Maybe({"write_amplification": [FIGURE]}),
    "replay": {"mode": {"open", "closed", "processes"}},
    "cache": Maybe({
        "counters": {...: NUMBER},
        "waits": Maybe({}),
        "below": Maybe({"latency": BY_OPERATION}),
        "pools": {"transitions": {...: NUMBER}},
    }),
    "device": {"scale_model?": {}},
    "host": {...: NUMBER},
    "flash": {key: {f"{cause}?": NUMBER for cause in CAUSES} for key in ("reads", "programs", "erases")},
    "time": Maybe({}),
    "latency": Maybe(BY_OPERATION),
    "drive": Maybe({
        **dict.fromkeys(("waiting", "service"), BY_OPERATION),
        "interference": {f"{one}_{how}": DISTRIBUTION for one, other in (("reads", "writes"), ("writes", "reads"))
                         for how in ("alone", f"beside_{other}")},
        "streams": [STREAM],
        "block": Maybe({"counters": {...: NUMBER}, "throttling?": {...: NUMBER}, "idle_rules": [NAME]}),
        "buffer": Maybe({...: NUMBER}),
        "controller?": {...: NUMBER},
        "response": Maybe(
            {"all": PARTS, "read": PARTS_OF_OPERATION, "write": PARTS_OF_OPERATION, "dies_ns": NUMBERS}
        ),
    }),
    "log": Maybe({"merges": MERGES, "capture": Maybe(STREAM_CAPTURE), "capture_by_stream": [STREAM_CAPTURE]}),
    "map": Maybe({**dict.fromkeys(("reads", "changes", "all"), _of(LOOKUPS))}),
    "collection": Maybe({}),
    "slc?": {},
    "lifetime": {"rate": Maybe({"trace", "replay", "drive"})},
    "check": Maybe({}),
    "diagnosis": [FINDING],
}  # fmt: skip
"""Types of all keys of a result except metrics, which are added below."""


def _add(kind: Any, path: Sequence[str], leaf: Any) -> None:
    """Adds the type of the value at a path, unless the path already has a type."""
    node: _Object = kind.kind if isinstance(kind, Maybe) else kind
    key = path[0] if f"{path[0]}?" not in node else f"{path[0]}?"
    if len(path) == 1:
        node.setdefault(key, leaf)
    else:
        _add(node.setdefault(key, {}), path[1:], leaf)


for _metric in METRICS:
    if _metric.compute is None:
        _add(RESULT, _metric.name.split("."), _kind_of(_metric))
SOURCES = {
    "trace": {"kind": NAME, "paths": [NAME], "sha256?": [Maybe(NAME)], "names?": [NAME]},
    "memory": {"kind": NAME, "requests": NUMBER},
    "workload": {"kind": NAME, "pattern": NAME, "requests": NUMBER},
}
SAVED: _Object = {
    "source": {"kind": SOURCES.keys()},
    "configuration": {...: {"value": ANYTHING, "origin": NAME}},
    "result": RESULT,
}


def check(place: str, value: Any, kind: Any) -> None:
    """Checks a value, and all values nested in it, against a type; the error names the key."""
    if isinstance(kind, Maybe):
        if value is None:
            return
        kind = kind.kind
    if isinstance(kind, dict) and isinstance(value, Part):
        named = {str(key).removesuffix("?"): key for key in kind if key is not ...}
        for name, key in named.items():
            if name == key or name in value:
                check(f"{place}.{name}", value[name], kind[key])
        for name in [name for name in value if ... in kind and name not in named]:
            check(f"{place}.{name}", value[name], kind[...])
    elif isinstance(kind, list) and isinstance(value, list) and len(kind) in (1, len(value)):
        for at, entry in enumerate(value):
            check(f"{place}[{at}]", entry, kind[at % len(kind)])
    elif not _is(value, kind):
        raise ConfigError(f"{place}: 'ssdlab run' never saves the value {json.dumps(value)[:SHOWN]}; {REMEDY}")


def _is(value: Any, kind: Any) -> bool:
    """True if a value has the given type, not a dict or a list. Booleans do not count as numbers."""
    if isinstance(kind, dict | list):
        return False
    if isinstance(kind, tuple):
        return isinstance(value, kind) and (bool in kind or not isinstance(value, bool))
    return isinstance(value, str) and value in kind


def has_figure(path: str) -> bool:
    """True if a result may contain a number at a dotted path. Names of counters are not checked."""
    return any(_is_number(kind) for kind in _at(RESULT, path.split(".")))


def figures(kind: Any = RESULT, above: str = "") -> Iterator[str]:
    """Yields the dotted paths of all numbers in a result, except names of counters and the like."""
    kind = kind.kind if isinstance(kind, Maybe) else kind
    if isinstance(kind, dict):
        for name in (key for key in kind if key is not ...):
            yield from figures(kind[name], f"{above}.{name.removesuffix('?')}".removeprefix("."))
    elif _is_number(kind):
        yield above


def complete(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a result in which each missing count is 0, so that means and bounds can be computed. Values that were not
    modelled stay null, and so do ratios and times of events that did not occur.
    """
    return _COUNTS.complete(summary)


class _Counts(NamedTuple):
    """The counts that an object in a saved result may omit."""

    zeros: Mapping[str, int]
    objects: Mapping[str, tuple["_Counts", Mapping[str, Any] | None]]
    """Nested objects that may omit counts, each with the value that replaces null."""

    @classmethod
    def of(cls, kind: _Object) -> "_Counts":
        """Returns the optional counts of an object of the given type, such as the counts of the host."""
        zeros, objects = dict[str, int](), dict[str, tuple[_Counts, Mapping[str, Any] | None]]()
        for key in (key for key in kind if key is not ...):
            inner, nothing = kind[key] if isinstance(kind[key], Maybe) else (kind[key], None)
            name = key.removesuffix("?")
            if isinstance(inner, dict):
                counts = cls.of(inner)
                if nothing or counts.zeros or counts.objects:
                    objects[name] = counts, nothing
            elif name != key and _is_number(inner):
                zeros[name] = 0
        return cls(zeros, objects)

    def complete(self, node: Mapping[str, Any]) -> dict[str, Any]:
        """Returns an object with its missing counts added as 0."""
        whole = {**self.zeros, **node}
        for name, (counts, nothing) in self.objects.items():
            inner = nothing if whole.get(name) is None else whole[name]
            if inner is not None:
                whole[name] = counts.complete(inner)
        return whole


def _at(kind: Any, path: Sequence[str]) -> Iterator[Any]:
    """Yields the type of the value at a path, or nothing if there is no such value."""
    kind = kind.kind if isinstance(kind, Maybe) else kind
    if not path:
        yield kind
    elif isinstance(kind, dict):
        key = next((key for key in (path[0], f"{path[0]}?", ...) if key in kind), None)
        if key is not None:
            yield from _at(kind[key], path[1:])


def _is_number(kind: Any) -> bool:
    return isinstance(kind, tuple) and int in kind


_COUNTS = _Counts.of({**RESULT, "below": Maybe(RESULT)})
"""Counts that a saved result, and the result of a second drive in its entry `below`, may omit."""
