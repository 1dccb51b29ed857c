"""What is asked of a configuration: figures to make small or large, and constraints that it has to meet."""

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
"""The bounds of figures by the end of their names: the unit, and how it is written."""


class Goal(NamedTuple):
    """A figure, or arithmetic on figures, that is to be small or large."""

    name: str
    value: Value
    large: bool
    """Whether more is better."""

    @classmethod
    def of(cls, written: str) -> "Goal":
        """The goal of a text such as `write_amplification`, `time.iops:max` or `cost=3 * device.physical_bytes`.

        Raises:
            ConfigError: If it is none.
        """
        body, colon, sense = written.partition(":")
        if sense.strip() not in ("min", "max") and colon:
            raise ConfigError(f"outcome {text.path(written)}: {text.path(sense)} is neither min nor max")
        name, equals, expression = body.partition("=")
        value = _value(f"outcome {text.path(written)}", expression if equals else body)
        return cls(name.strip() or value.text, value, is_large(_figure(value), sense.strip()))

    @property
    def figure(self) -> str:
        """The figure that it is; empty of arithmetic."""
        return _figure(self.value)

    @property
    def sense(self) -> str:
        """In a word."""
        return "max" if self.large else "min"


class Constraint(NamedTuple):
    """A bound that a figure, or arithmetic on figures, has to keep."""

    name: str
    """As it was written."""
    value: Value
    at_least: bool
    bound: float
    """In the unit of the figure."""

    @classmethod
    def of(cls, written: str) -> "Constraint":
        """The constraint of a text such as `write_amplification<=2` or `latency.all.p99_ns<=20ms`.

        Raises:
            ConfigError: If it is none.
        """
        where = f"constraint {text.path(written)}"
        operator = next((one for one in ("<=", ">=") if one in written), None)
        if operator is None:
            raise ConfigError(f"{where}: compares nothing; write FIGURE<=BOUND or FIGURE>=BOUND")
        left, _, right = written.partition(operator)
        value, bound = _value(where, left), quantity(right)
        if bound is None:
            raise ConfigError(f"{where}: {text.path(right.strip()) or 'nothing'} is no number")
        unit, such = next((its for end, its in UNITS.items() if _figure(value).endswith(end)), ("", ""))
        if unit and bound.base not in ("", unit):
            raise ConfigError(f"{where}: {text.path(right.strip())} is no bound of {value.text}; write {such}")
        return cls(f"{value.text} {operator} {right.strip()}", value, operator == ">=", bound.value)

    @property
    def figure(self) -> str:
        """The figure that is bounded; empty of arithmetic."""
        return _figure(self.value)

    def violation(self, mean: float) -> float:
        """By how much it is missed, as a share of the bound; not above 0 where it is met."""
        over = self.bound - mean if self.at_least else mean - self.bound
        return over / (abs(self.bound) or 1.0)


def _figure(value: Value) -> str:
    return value.text if value.paths == (value.text,) else ""


def _value(where: str, written: str) -> Value:
    try:
        value = Value(written.strip())
    except ValueError as error:
        raise ConfigError(f"{where}: {text.path(written.strip())!r} {error}; write a figure, or such as "
                          "device.physical_bytes + 40 * device.mapping_table_bytes") from None  # fmt: skip
    if not value.paths:
        raise ConfigError(f"{where}: names no figure; 'ssdlab study show PATH --outcomes' lists them")
    return value


class Aims(NamedTuple):
    """What a search is for."""

    goals: Sequence[Goal]
    constraints: Sequence[Constraint] = ()

    @classmethod
    def of(cls, outcomes: Sequence[str], constraints: Sequence[str]) -> "Aims":
        """The aims of texts as a user gives them.

        Raises:
            ConfigError: If one is none.
        """
        return cls([*map(Goal.of, several(outcomes))], [*map(Constraint.of, several(constraints))])

    @property
    def measured(self) -> list[Goal | Constraint]:
        """What is measured of a point, in order."""
        return [*self.goals, *self.constraints]


def declared(asked: Sequence[Goal | Constraint]) -> None:
    """Checks, before anything runs, that results may have the figures.

    Raises:
        ConfigError: If one is unknown.
    """
    for one in asked:
        for path in one.value.paths:
            check_figure(_where(one), path)


def _where(one: Goal | Constraint) -> str:
    return f"{'outcome' if isinstance(one, Goal) else 'constraint'} {text.path(one.name)}"


def checked(asked: Sequence[Goal | Constraint], known: Sequence[str]) -> None:
    """Checks that the first runs that came to an end have the figures; of none nothing is known.

    Raises:
        ConfigError: If one is unknown.
    """
    if not known:
        return
    for one in asked:
        for path in one.value.paths:
            if path not in known:
                why = null(path)
                raise ConfigError(
                    f"{_where(one)}: {text.path(path)} {why}"
                    if why
                    else f"{_where(one)}: no run has a figure called {text.path(path)}{text.suggestion(path, known)}; "
                    "docs/results.md lists them"
                )


class Measured(NamedTuple):
    """What a point came to."""

    goals: tuple[tuple[float, ...], ...] = ()
    """The values of each goal, by seed."""
    constraints: tuple[tuple[float, ...], ...] = ()
    error: str | None = None
    """Why there are no values."""
    lacking: str = ""
    """What has no value in one of its runs, though these came to an end."""

    def means(self) -> list[float]:
        """Of each goal, over the seeds."""
        return [mean(values) for values in self.goals]

    def violations(self, constraints: Sequence[Constraint]) -> list[float]:
        """Of each constraint, by its mean over the seeds."""
        return [one.violation(mean(values)) for one, values in zip(constraints, self.constraints, strict=True)]

    def feasible(self, constraints: Sequence[Constraint]) -> bool:
        """Whether it meets all constraints."""
        return self.error is None and all(missed <= 0 for missed in self.violations(constraints))

    def kept(self, constraints: Sequence[Constraint]) -> int:
        """Seeds with which it meets all constraints."""
        if self.error is not None:
            return 0
        by_seed = zip(*self.constraints, strict=True) if constraints else [()] * len(self.goals[0])
        return sum(
            all(one.violation(value) <= 0 for one, value in zip(constraints, values, strict=True)) for values in by_seed
        )


def mean(values: Sequence[float]) -> float:
    """Over seeds."""
    return math.fsum(values) / len(values)
