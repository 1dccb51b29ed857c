"""What a result that is saved holds: which keys, and of which kind the value of each is.

A kind is a tuple of types, a set of names, an object by key, a list of a kind, or `Maybe` one of these. In an object
`...` stands for all other keys, and a key with `?` may be left out; a number that is left out is 0. Figures are
numbers; what else there is has a name.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab._ssdlab import CAUSES
from ssdlab.model import diagnosis
from ssdlab.model.parts import Part, never_saved


class Maybe(NamedTuple):
    """A value that not every run has."""

    kind: Any
    nothing: Mapping[str, Any] | None = None
    """The counts in it where it is none because nothing occurred."""


_Object = dict[Any, Any]

ANYTHING, FLAG, NAME, NUMBER = (object, bool), (bool,), (str,), (int, float)
FIGURE = Maybe(NUMBER)
NUMBERS: _Object = {...: NUMBER}
QUANTILES = ("p50", "p90", "p95", "p99", "p99_9", "p99_99")
TIMES = Maybe(
    dict.fromkeys(("count", *(f"{one}_ns" for one in ("mean", "std_dev", "min", *QUANTILES, "max"))), NUMBER),
    nothing={"count": 0},
)
BY_OPERATION = dict.fromkeys(("all", "read", "write", "trim", "flush"), TIMES)
SUMS = {"requests": NUMBER, "sum_ns": NUMBER, "parts_ns": {f"{part}?": NUMBER for part in diagnosis.PARTS}}
PARTS = dict.fromkeys(("all", "p50", "p99", "p99_9"), SUMS)
PARTS_OF_OPERATION = Maybe(PARTS, nothing={key: {"requests": 0, "sum_ns": 0, "parts_ns": {}} for key in PARTS})
LOOKUPS = {"hit_ratio": FIGURE, "count": NUMBER, "hits": NUMBER}
CAPTURE = {
    "stream": Maybe(NAME),
    **dict.fromkeys(("hit_ratio", "hit_quality", "error_capture", "pseudo_benefit"), FIGURE),
    **dict.fromkeys(("sub_streams", "random_pages"), NUMBER),
}
BLOCK = {
    "scheduler": NAME,
    "counters": NUMBERS,
    "throttling?": NUMBERS,
    "merged_share": NUMBER,
    **dict.fromkeys(("read_bytes_mean", "write_bytes_mean"), FIGURE),
    "idle_rules": [NAME],
}
DRIVE: _Object = {
    **dict.fromkeys(("die_utilisation", "channel_utilisation"), NUMBERS),
    **dict.fromkeys(("waiting", "service"), BY_OPERATION),
    "interference": {f"{one}_{how}": TIMES for one, other in (("reads", "writes"), ("writes", "reads"))
                     for how in ("alone", f"beside_{other}")},
    "streams": [{"stream": Maybe(NAME), "read": TIMES, "write": TIMES, ...: NUMBER}],
    "fairness": FIGURE,
    "block": Maybe(BLOCK),
    "buffer": Maybe(NUMBERS),
    "response": Maybe({"all": PARTS, "read": PARTS_OF_OPERATION, "write": PARTS_OF_OPERATION, "dies_ns": NUMBERS}),
    ...: NUMBER,
}  # fmt: skip
INGEST: _Object = {
    "counts": NUMBERS,
    "notes": [NAME],
    "other_devices": [[NAME, NUMBER]],
    **dict.fromkeys(("first_bad", "device", "format"), Maybe(NAME)),
}
FINDING = {
    "about": diagnosis.FINDINGS.keys(),
    "name": {name for names in diagnosis.FINDINGS.values() for name in names},
    "share": NUMBER,
    "evidence": NUMBERS,
    "what_ifs": [{*diagnosis.WHAT_IFS}],
}
RESULT: _Object = {
    "ingest": Maybe(INGEST),
    "partial": FLAG,
    "device": NUMBERS,
    "precondition": {
        "stable": Maybe(FLAG), **dict.fromkeys(("write_amplification", "replays", "sampled_planes"), FIGURE),
        ...: NUMBER,
    },
    "repeat": Maybe({"steady": Maybe(FLAG), "write_amplification": [FIGURE], "replays": NUMBER, ...: NUMBER}),
    "cache": Maybe({
        "policy": NAME, "miss_ratio": FIGURE, "mean_ns": FIGURE, "counters": NUMBERS,
        "waits": Maybe({"drive_ns": NUMBER, "limit_ns": NUMBER, "utilisation": NUMBER}),
        "below": Maybe({
            **dict.fromkeys(("iops", "bytes_read_per_s", "bytes_written_per_s"), FIGURE), "latency": BY_OPERATION,
        }),
        "pools": {"ratio": FIGURE, "transitions": NUMBERS, ...: NUMBER}, ...: NUMBER,
    }),
    "host": NUMBERS,
    "flash": {key: {f"{cause}?": NUMBER for cause in CAUSES} for key in ("reads", "programs", "erases")},
    "write_amplification": FIGURE,
    "capacities_written": NUMBER,
    "time": Maybe({
        **dict.fromkeys(("iops", "bytes_read_per_s", "bytes_written_per_s", "behind_ns"), FIGURE), ...: NUMBER,
    }),
    "latency": Maybe(BY_OPERATION),
    "drive": Maybe(DRIVE),
    "log": Maybe({
        "merges": dict.fromkeys(("switch", "partial", "full"), NUMBERS),
        **dict.fromkeys(
            ("full_merges_per_page", "associativity_mean", "reclaim_mean_ns", "utilisation_mean"), FIGURE
        ),
        "capture": Maybe(CAPTURE), "capture_by_stream": [CAPTURE], ...: NUMBER,
    }),
    "map": Maybe({
        **dict.fromkeys(("reads", "changes", "all"), LOOKUPS),
        **dict.fromkeys(("translation_write_amplification", "double_read_share"), FIGURE), ...: NUMBER,
    }),
    "collection": Maybe({"effective_op": FIGURE, ...: NUMBER}),
    "wear": NUMBERS,
    "lifetime": {"rate": Maybe({"trace", "replay", "drive"}), ...: FIGURE},
    "check": Maybe(dict.fromkeys(("flash_operations_checked", "page_reads_checked"), NUMBER)),
    "diagnosis": [FINDING],
}  # fmt: skip
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
    """That a value, and all in it, is of a kind.

    Raises:
        ConfigError: Naming the first that is not, or is not there.
    """
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
        for at, one in enumerate(value):
            check(f"{place}[{at}]", one, kind[at % len(kind)])
    elif not _is(value, kind):
        raise never_saved(place, value)


def _is(value: Any, kind: Any) -> bool:
    """Whether a value that holds no others is of a kind; true and false are no numbers."""
    if isinstance(kind, dict | list):
        return False
    if isinstance(kind, tuple):
        return isinstance(value, kind) and (bool in kind or not isinstance(value, bool))
    return isinstance(value, str) and value in kind


def has_figure(path: str) -> bool:
    """Whether a result may have a number at a dotted path. Of counters only their place is known, not their names."""
    return any(_is_number(kind) for kind in _at(RESULT, path.split(".")))


def figures(kind: Any = RESULT, above: str = "") -> Iterator[str]:
    """Dotted paths of the numbers that have names here."""
    kind = kind.kind if isinstance(kind, Maybe) else kind
    if isinstance(kind, dict):
        for name in (key for key in kind if key is not ...):
            yield from figures(kind[name], f"{above}.{name.removesuffix('?')}".removeprefix("."))
    elif _is_number(kind):
        yield above


class _Counts(NamedTuple):
    """The counts in an object that are 0 where they are left out."""

    zeros: Mapping[str, int]
    objects: Mapping[str, tuple["_Counts", Mapping[str, Any] | None]]
    """Those with such counts, with what stands for one that is none."""

    @classmethod
    def of(cls, kind: _Object) -> "_Counts":
        """Those of an object of a kind."""
        zeros, objects = dict[str, int](), dict[str, tuple[_Counts, Mapping[str, Any] | None]]()
        for key in (key for key in kind if key is not ...):
            its, nothing = kind[key] if isinstance(kind[key], Maybe) else (kind[key], None)
            name = key.removesuffix("?")
            if isinstance(its, dict):
                objects[name] = cls.of(its), nothing
            elif name != key and _is_number(its):
                zeros[name] = 0
        return cls(zeros, {name: one for name, one in objects.items() if one[1] or one[0].zeros or one[0].objects})

    def complete(self, node: Mapping[str, Any]) -> dict[str, Any]:
        """An object with them."""
        found = {**self.zeros, **node}
        for name, (counts, nothing) in self.objects.items():
            its = nothing if found.get(name) is None else found[name]
            if its is not None:
                found[name] = counts.complete(its)
        return found


def complete(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A result with 0 for each count that it leaves out as nothing of the kind occurred, for means and bounds.

    What was not modelled stays none, and so does a ratio or a time of what did not occur.
    """
    return _COUNTS.complete(summary)


def _at(kind: Any, path: Sequence[str]) -> Iterator[Any]:
    """The kind of what is at a path, if anything may be."""
    kind = kind.kind if isinstance(kind, Maybe) else kind
    if not path:
        yield kind
    elif isinstance(kind, dict):
        found = next((key for key in (path[0], f"{path[0]}?", ...) if key in kind), None)
        if found is not None:
            yield from _at(kind[found], path[1:])


def _is_number(kind: Any) -> bool:
    return isinstance(kind, tuple) and int in kind


_COUNTS = _Counts.of({**RESULT, "below": Maybe(RESULT)})
"""Of a run, and of that on a second drive below it."""
