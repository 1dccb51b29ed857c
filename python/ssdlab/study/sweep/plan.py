"""From what is asked to runs: every point with its configuration, all of them checked before anything runs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.config import Config, rebuilt
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.store.table import Point as Row
from ssdlab.study.sweep.axes import PRESET, TRACE, Axis, Condition, Point
from ssdlab.study.sweep.design import Design
from ssdlab.study.work.run import Run, TraceRef

MANY = 100_000
"""Runs from which on a sweep has to be confirmed: few mean so many."""

AXIS = "axis"
"""What varies a setting, as faults say it."""

NOWHERE_ELSE: Mapping[str, str] = MappingProxyType({})

MOST_FAULTS = 30
"""Lines of faults that are shown."""

MOST_VALUES = 8
"""Further values with the same fault that are named."""


@dataclass(frozen=True)
class Question:
    """What is asked of which configurations."""

    axes: tuple[Axis, ...]
    base: Config
    trace: TraceFile | None = None
    """What all replay; None where each generates its workload, or where the trace is an axis."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Options of `TraceFile` for traces of an axis."""
    design: Design = field(default_factory=Design)
    conditions: tuple[Condition, ...] = ()
    """Combinations that are left out."""
    seeds: int = 1
    """Runs of each point."""
    outcomes: tuple[str, ...] = ()
    """Figures that are shown first."""
    written: Mapping[str, str] = field(default_factory=dict)
    """Where axes are written, by key, as faults say it; `AXIS` of the others."""

    @property
    def replays(self) -> bool:
        """Whether traces are replayed."""
        return self.trace is not None or any(TRACE in one.keys for one in self.axes)


@dataclass(frozen=True)
class Plan:
    """Every run of a question."""

    question: Question
    design: Design
    columns: tuple[str, ...]
    """Keys of the axes."""
    rows: tuple[Row, ...]
    runs: Mapping[str, Run]
    """By key; equal points have one."""

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        asked = self.question
        return {
            "design": {
                "name": self.design.name,
                "samples": self.design.samples,
                "resolution": self.design.resolution,
                "seed": self.design.seed,
            },
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
        }


def refuse_many(asked: Question, remedy: str) -> None:
    """Refuses more than `MANY` runs.

    Raises:
        ConfigError: If there are more, with the remedy; or if the design does not suit the axes.
    """
    design = asked.design.checked(asked.axes, asked.conditions)
    size = design.size(asked.axes) * asked.seeds
    if size > MANY:
        raise ConfigError(f"that would be {text.count(size)} runs; {remedy}")


def plan(asked: Question) -> Plan:
    """The runs of a question.

    Raises:
        ConfigError: If a design does not suit the axes, or settings are wrong: a line for each fault of any point.
        TraceError: If a trace is no file that can be read.
    """
    if asked.seeds < 1:
        raise ConfigError(f"{asked.seeds} seeds: give at least one")
    design = asked.design.checked(asked.axes, asked.conditions)
    columns = tuple(key for axis in asked.axes for key in axis.keys)
    if asked.trace is not None and TRACE in columns:
        raise ConfigError("a trace is given and an axis varies it as well; leave one of them out")
    traces = _Traces(asked)
    builder = Builder(asked.base, asked.written)
    faults: dict[str, list[Point]] = {}
    rows: list[Row] = []
    runs: dict[str, Run] = {}
    for point in design.points(asked.axes):
        if any(condition.meets(point) for condition in asked.conditions):
            continue
        trace = traces.of(point.get(TRACE))
        for number in range(asked.seeds):
            try:
                config, seed = builder.of(point, number, replays=trace is not None)
            except ConfigError as error:
                for fault in str(error).splitlines():
                    faults.setdefault(fault, []).append(point)
                break
            run = Run.of(config, trace)
            runs.setdefault(run.key, run)
            rows.append(Row(point, seed, run.key))
    if faults:
        axes = {f"{origin}: " for origin in (AXIS, *asked.written.values())}
        # What is said of an axis names its value, and without a point that fits, leaving some out is no remedy.
        told = {
            fault if not rows or fault.startswith(tuple(axes)) else f"{fault}; {_where(points)}": points[0].values()
            for fault, points in faults.items()
        }
        raise ConfigError(listed(told))
    if not rows:
        raise ConfigError("every combination is left out, so there is nothing to run; leave out fewer")
    return Plan(asked, design, columns, tuple(rows), runs)


def _where(points: Sequence[Point]) -> str:
    """Which of the points have a fault, by the values that they share, and how to do without them."""
    shared = set(points[0].items()).intersection(*(point.items() for point in points[1:]))
    named = " ".join(f"{key}={value}" for key, value in points[0].items() if not shared or (key, value) in shared)
    more = "" if shared or len(points) == 1 else f" and {text.count(len(points) - 1)} more"
    return f"that is so with {named}{more}; a sweep without '{named}' leaves that out"


def listed(faults: Mapping[str, Collection[str]]) -> str:
    """The faults, a line each; those that differ in the value of an axis alone are told once.

    Args:
        faults: With the values of axes that each may name.
    """
    alike: dict[str, list[tuple[str, str]]] = {}
    for fault, values in faults.items():
        forms = (form for one in values for form in (one, f'"{one}"'))
        value = next((form for form in forms if f": {form} " in fault), "")
        alike.setdefault(fault.replace(f": {value} ", ":  "), []).append((fault, value))
    told = []
    for (fault, _), *others in alike.values():
        more = ", ".join(value for _, value in others[:MOST_VALUES])
        rest = f" and {len(others) - MOST_VALUES} more" if len(others) > MOST_VALUES else ""
        told.append(f"{fault}; the same with {more}{rest}" if others else fault)
    shown = told[:MOST_FAULTS]
    if len(told) > MOST_FAULTS:
        shown.append(f"and {len(told) - MOST_FAULTS} more; mend these first")
    return "\n".join(shown)


class _Traces:
    """The traces of points; each file is read for its checksum once."""

    def __init__(self, asked: Question) -> None:
        self._common = None if asked.trace is None else TraceRef.of(asked.trace)
        self._reading = asked.reading
        self._found: dict[str, TraceRef] = {}

    def of(self, path: str | None) -> TraceRef | None:
        if path is None:
            return self._common
        if path not in self._found:
            self._found[path] = TraceRef.of(TraceFile(Path(path), **self._reading))
        return self._found[path]


class Builder:
    """Configurations of points.

    Args:
        base: What they are laid on.
        written: Where axes are written, by key; `AXIS` of the others.
    """

    def __init__(self, base: Config, written: Mapping[str, str] = NOWHERE_ELSE) -> None:
        self._base, self._written = base, written

    def of(self, point: Point, number: int, *, replays: bool) -> tuple[Config, int]:
        """The configuration of a point with the seed of that number, and the seed.

        Args:
            point: A value of each key that it sets.
            number: From 0, which is the seed of its own.
            replays: Whether it is for a trace, which sizes a drive whose size nobody has said.

        Raises:
            ConfigError: If its settings are wrong, or do not fit each other.
        """
        config = self.laid(point, replays=replays)
        seed = int(config["seed"]) + number
        if number:
            config = self.laid({**point, "seed": str(seed)}, replays=replays)
        config.check()
        return config, seed

    def laid(self, point: Point, *, replays: bool) -> Config:
        """As `of`, with its own seed and unchecked."""
        chosen = {key: value for key, value in point.items() if key not in (TRACE, PRESET)}
        # What a point sets stands above the base, so that it may choose other variants than that does.
        of_point = [(self._written.get(key, AXIS), f"{key}={value}") for key, value in chosen.items()]
        preset, where = point.get(PRESET, self._base._preset), f"{self._written.get(PRESET, AXIS)}: {PRESET}"
        config = rebuilt(preset, self._base._files, [*self._base._sets, of_point], where)
        return config.for_trace() if replays else config
