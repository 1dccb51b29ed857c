"""Goals and constraints of a search."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.several import several
from ssdlab.study.experiments.expression import Value
from ssdlab.study.survey.outcome import check_figure, is_large, null
from ssdlab.study.sweep.quantity import quantity

UNITS = {"_ns": ("ns", "a time such as 20ms"), "_bytes": ("bytes", "a size such as 64MiB")}
"""Unit of a bound, and an example, by the suffix of the metric's name."""


class Goal(NamedTuple):
    """A metric, or arithmetic on metrics, to minimize or maximize."""

    name: str
    value: Value
    large: bool

    @classmethod
    def of(cls, written: str) -> "Goal":
        """Parses a goal such as `write_amplification`, `time.iops:max` or `cost=3 * device.physical_bytes`."""
        body, colon, sense = written.partition(":")
        if sense.strip() not in ("min", "max") and colon:
            raise ConfigError(
                f"outcome {text.path(written)}: {text.path(sense)} is neither min nor max; write :min or :max"
            )
        name, equals, expression = body.partition("=")
        value = _value(f"outcome {text.path(written)}", expression if equals else body)
        return cls(name.strip() or value.text, value, is_large(_figure(value), sense.strip()))

    @property
    def figure(self) -> str:
        """The metric; empty for an arithmetic expression."""
        return _figure(self.value)

    @property
    def sense(self) -> str:
        """`min` or `max`."""
        return "max" if self.large else "min"


class Constraint(NamedTuple):
    """A bound, in the unit of the metric, on a metric or on arithmetic on metrics."""

    name: str
    value: Value
    at_least: bool
    bound: float

    @classmethod
    def of(cls, written: str) -> "Constraint":
        """Parses a constraint such as `write_amplification<=2` or `latency.all.p99_ns<=20ms`."""
        where = f"constraint {text.path(written)}"
        operator = next((one for one in ("<=", ">=") if one in written), None)
        if operator is None:
            raise ConfigError(f"{where}: is not a comparison; write write_amplification<=2, for example")
        left, _, right = written.partition(operator)
        value, bound = _value(where, left), quantity(right)
        if bound is None:
            raise ConfigError(f"{where}: {text.path(right.strip()) or 'nothing'} is not a number")
        unit, example = next((known for end, known in UNITS.items() if _figure(value).endswith(end)), ("", ""))
        if unit and bound.base not in ("", unit):
            raise ConfigError(
                f"{where}: {text.path(right.strip())} has the wrong unit for {value.text}; write {example}"
            )
        return cls(f"{value.text} {operator} {right.strip()}", value, operator == ">=", bound.value)

    @property
    def figure(self) -> str:
        """The bounded metric; empty for an arithmetic expression."""
        return _figure(self.value)

    def violation(self, mean: float) -> float:
        """Returns the violation by a mean, relative to the bound; positive if the constraint is violated."""
        over = self.bound - mean if self.at_least else mean - self.bound
        return over / (abs(self.bound) or 1.0)


def _figure(value: Value) -> str:
    return value.text if value.paths == (value.text,) else ""


def _value(where: str, written: str) -> Value:
    try:
        value = Value(written.strip())
    except ValueError as error:
        raise ConfigError(f"{where}: {text.path(written.strip())!r} {error}; write a metric, or a sum such as "
                          "device.physical_bytes + 40 * device.mapping_table_bytes") from None  # fmt: skip
    if not value.paths:
        raise ConfigError(f"{where}: contains no metric; 'ssdlab study show PATH --outcomes' lists all metrics")
    return value


class Aims(NamedTuple):
    """Goals and constraints of a search."""

    goals: Sequence[Goal]
    constraints: Sequence[Constraint] = ()

    @classmethod
    def of(cls, outcomes: Sequence[str], constraints: Sequence[str]) -> "Aims":
        """Parses goals and constraints."""
        return cls([*map(Goal.of, several(outcomes))], [*map(Constraint.of, several(constraints))])

    @property
    def measured(self) -> list[Goal | Constraint]:
        """The goals, followed by the constraints."""
        return [*self.goals, *self.constraints]


def declared(asked: Sequence[Goal | Constraint]) -> None:
    """Checks, before any run is started, that the metrics of goals and constraints exist."""
    for one in asked:
        for path in one.value.paths:
            check_figure(_where(one), path)


def _where(one: Goal | Constraint) -> str:
    return f"{'outcome' if isinstance(one, Goal) else 'constraint'} {text.path(one.name)}"


def checked(asked: Sequence[Goal | Constraint], known: Sequence[str]) -> None:
    """Checks that the first finished runs, if any, have the metrics of goals and constraints."""
    if not known:
        return
    for one in asked:
        for path in one.value.paths:
            if path not in known:
                why = null(path)
                raise ConfigError(
                    f"{_where(one)}: {text.path(path)} {why}"
                    if why
                    else f"{_where(one)}: unknown metric {text.path(path)}; docs/results.md lists all metrics"
                    f"{text.suggestion(path, known)}"
                )


class Measured(NamedTuple):
    """Values of goals and constraints at a point, each with one value per seed."""

    goals: tuple[tuple[float, ...], ...] = ()
    constraints: tuple[tuple[float, ...], ...] = ()
    error: str | None = None
    """Reason why the point has no values, if so."""
    lacking: str = ""
    """Name of a goal or constraint for which a finished run has no value."""

    def means(self) -> list[float]:
        """Returns the mean of each goal over the seeds."""
        return [mean(values) for values in self.goals]

    def violations(self, constraints: Sequence[Constraint]) -> list[float]:
        """Returns the violation of each constraint, using its mean over the seeds."""
        return [one.violation(mean(values)) for one, values in zip(constraints, self.constraints, strict=True)]

    def feasible(self, constraints: Sequence[Constraint]) -> bool:
        """True if the means over the seeds satisfy all constraints."""
        return self.error is None and all(missed <= 0 for missed in self.violations(constraints))

    def kept(self, constraints: Sequence[Constraint]) -> int:
        """Returns the number of seeds for which the point satisfies all constraints."""
        if self.error is not None:
            return 0
        by_seed = zip(*self.constraints, strict=True) if constraints else [()] * len(self.goals[0])
        return sum(
            all(one.violation(value) <= 0 for one, value in zip(constraints, values, strict=True)) for values in by_seed
        )


def mean(values: Sequence[float]) -> float:
    """Returns the mean of values over seeds."""
    return math.fsum(values) / len(values)
