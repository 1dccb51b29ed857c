"""Turns a sweep into runs. Checks the configurations of all points before any run starts."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.config import Config, rebuilt
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.spare import OP, refusal, smallest_op
from ssdlab.study.store.table import Point as Row
from ssdlab.study.sweep.axes import PRESET, TRACE, Axis, Condition, Point
from ssdlab.study.sweep.design import Design
from ssdlab.study.work.run import Run, TraceRef

MANY = 100_000
"""Maximum number of runs of a sweep without confirmation by the user."""

AXIS = "axis"
"""Default prefix of error messages about the settings that an axis varies."""

MAX_FAULTS = 30

MAX_VALUES = 8
"""Maximum number of further axis values that a message lists for a fault."""

_NUMBER = re.compile(r"\d[\d.]*[A-Za-z%/]*")


@dataclass(frozen=True)
class Question:
    """A sweep to run, with `seeds` runs per point."""

    axes: tuple[Axis, ...]
    base: Config
    trace: TraceFile | None = None
    """Trace that all points replay; None for generated workloads, or if the trace is an axis."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """`TraceFile` options for traces on an axis."""
    design: Design = field(default_factory=Design)
    conditions: tuple[Condition, ...] = ()
    seeds: int = 1
    outcomes: tuple[str, ...] = ()
    """Names of the metrics to show first."""
    written: Mapping[str, str] = field(default_factory=dict)
    """Prefix of the error messages about each axis, by axis key; `AXIS` by default."""

    @property
    def replays(self) -> bool:
        """True if the points of the sweep replay traces."""
        return self.trace is not None or any(TRACE in one.keys for one in self.axes)


@dataclass(frozen=True)
class Plan:
    """The planned runs of a sweep."""

    question: Question
    design: Design
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    runs: Mapping[str, Run]
    """Runs by key; points with identical settings share a run."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of the stored plan, which replace those of a sweep."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the plan in the form stored in the study's folder, ready for JSON."""
        asked = self.question
        return {
            "design": asdict(self.design),
            "axes": [
                {
                    "keys": one.keys,
                    "levels": [[level[key] for key in one.keys] for level in one.levels],
                    "range": one.range is not None,
                    "log": one.range is not None and one.range.log,
                }
                for one in asked.axes
            ],
            "seeds": asked.seeds,
            "outcomes": asked.outcomes,
            "source": None if asked.trace is None else asked.trace.about,
            "configuration": asked.base.to_dict(),
            "columns": self.columns,
            "points": [([row.values[key] for key in self.columns], row.seed, row.key) for row in self.rows],
            **self.extra,
        }


def refuse_many(asked: Question, remedy: str) -> None:
    """Raises ConfigError with a remedy if there are more than `MANY` runs."""
    design = asked.design.checked(asked.axes, asked.conditions)
    size = design.size(asked.axes) * asked.seeds
    if size > MANY:
        raise ConfigError(f"the sweep would have {text.count(size)} runs; {remedy}")


def plan(asked: Question) -> Plan:
    """Plans the runs of a sweep. If points have faults, raises one error that lists the faults of all points."""
    if asked.seeds < 1:
        raise ConfigError(f"seeds must be at least 1, not {asked.seeds}")
    design = asked.design.checked(asked.axes, asked.conditions)
    columns = tuple(key for axis in asked.axes for key in axis.keys)
    if asked.trace is not None and TRACE in columns:
        raise ConfigError("an axis varies the trace, but a trace to replay is set too; omit one of them")
    common = None if asked.trace is None else TraceRef.of(asked.trace)
    # Each file is hashed only once.
    on_axis = cache(lambda path: TraceRef.of(TraceFile(Path(path), **asked.reading)))
    builder = Builder(asked.base, asked.written)
    faults: dict[str, list[Point]] = {}
    refused: dict[str, Config] = {}
    is_readable = True
    rows: list[Row] = []
    runs: dict[str, Run] = {}
    for point in design.points(asked.axes):
        if any(condition.meets(point) for condition in asked.conditions):
            continue
        trace = on_axis(point[TRACE]) if TRACE in point else common
        for number in range(asked.seeds):
            try:
                config, seed = builder.of(point, number, replays=trace is not None)
            except ConfigError as error:
                for fault in str(error).splitlines():
                    faults.setdefault(fault, []).append(point)
                try:
                    refused[_named(point)] = builder.laid(point, replays=trace is not None)
                except ConfigError:
                    is_readable = False
                break
            run = Run.of(config, trace)
            runs.setdefault(run.key, run)
            rows.append(Row(point, seed, run.key))
    if faults:
        if is_readable and OP not in columns and len(refused) <= MAX_FAULTS:
            enough = smallest_op([*refused.values()], Config.check)
            if enough is not None:
                raise ConfigError(refusal([*refused], asked.base[OP], enough))
        origins = tuple(f"{origin}: " for origin in (AXIS, *asked.written.values()))
        # Appends the faulty axis values, and advice to exclude these points, unless the message is about an axis and so
        # already contains the value, or every point fails.
        named = {
            fault if not rows or fault.startswith(origins) else f"{fault}; {_where(points)}": points[0].values()
            for fault, points in faults.items()
        }
        raise ConfigError(listed(named))
    if not rows:
        raise ConfigError("the conditions exclude all combinations; remove a condition")
    return Plan(asked, design, columns, tuple(rows), runs)


def _named(point: Point) -> str:
    return " ".join(f"{key}={value}" for key, value in point.items())


def _where(points: Sequence[Point]) -> str:
    """Returns the end of a message: the values that all faulty points share, and how to exclude these points."""
    shared = set(points[0].items()).intersection(*(point.items() for point in points[1:]))
    named = " ".join(f"{key}={value}" for key, value in points[0].items() if not shared or (key, value) in shared)
    more = "" if shared or len(points) == 1 else f" and {text.count(len(points) - 1)} more"
    return f"at {named}{more}; to skip these points, add '{named}' to without"


def listed(faults: Mapping[str, Collection[str]]) -> str:
    """Returns faults, one per line, with the axis values at which they occur; merges faults that differ in values."""
    alike: dict[str, list[tuple[str, str, str]]] = {}
    for fault, values in faults.items():
        forms = (form for one in values for form in (one, f'"{one}"'))
        value = next((form for form in forms if f": {form} " in fault), "")
        form = fault.replace(f": {value} ", ":  ")
        alike.setdefault(_NUMBER.sub("", form), []).append((fault, form, value or " ".join(values)))
    lines = []
    for (fault, form, _), *others in alike.values():
        kind = "same" if all(other == form for _, other, _ in others) else "similar"
        more = ", ".join(value for _, _, value in others[:MAX_VALUES])
        rest = f" and {len(others) - MAX_VALUES} more" if len(others) > MAX_VALUES else ""
        lines.append(f"{fault}; {kind} error with {more}{rest}" if others else fault)
    shown = lines[:MAX_FAULTS]
    if len(lines) > MAX_FAULTS:
        shown.append(f"and {len(lines) - MAX_FAULTS} more errors; fix the errors above first")
    return "\n".join(shown)


class Builder:
    """Builds the configurations of points from `base`; `written` has the prefix of messages about each axis."""

    def __init__(self, base: Config, written: Mapping[str, str] = {}) -> None:
        self._base, self._written = base, written

    def of(self, point: Point, number: int, *, replays: bool) -> tuple[Config, int]:
        """Returns the checked configuration of a point, and its seed: `number` above the seed of the configuration.

        If it `replays` a trace, a drive without a capacity is sized for the trace.
        """
        config = self.laid(point, replays=replays)
        seed = int(config["seed"]) + number
        if number:
            config = self.laid({**point, "seed": str(seed)}, replays=replays)
        config.check()
        return config, seed

    def laid(self, point: Point, *, replays: bool) -> Config:
        """Returns the configuration of a point, unchecked and with its seed unchanged."""
        chosen = {key: value for key, value in point.items() if key not in (TRACE, PRESET)}
        # The point's settings override the base configuration, so they can also select other variants, such as an FTL.
        of_point = [(self._written.get(key, AXIS), f"{key}={value}") for key, value in chosen.items()]
        preset, where = point.get(PRESET, self._base._preset), f"{self._written.get(PRESET, AXIS)}: {PRESET}"
        config = rebuilt(preset, self._base._files, [*self._base._sets, of_point], where)
        return config.for_trace() if replays else config
