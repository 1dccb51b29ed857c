"""The search space: its axes, the conditions under which each axis applies, and the sampler's parameter for each axis.

A setting that belongs to a variant, such as the size of a map cache, is drawn only if the variant is selected.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache
from itertools import chain
from random import Random
from typing import Any

from ssdlab import _ssdlab
from ssdlab.lazy import optuna
from ssdlab.study.sweep.axes import Axis, Point, Range
from ssdlab.study.sweep.quantity import quantity

Parameter = str | int | float
"""Value of an axis as the sampler represents it."""

DIGITS = 3
"""Number of significant digits of values drawn from a range."""

MAX_BISECTIONS = 40
"""Number of bisections of a range after which the value no longer changes."""


@dataclass(frozen=True)
class Space:
    """Search space: axes, ordered so that each axis follows the axes that it depends on."""

    axes: tuple[Axis, ...]
    needs: Mapping[str, tuple[tuple[str, str], ...]]
    """For each axis, the conditions under which it applies: pairs of another axis's key and its required value."""

    @classmethod
    def of(cls, axes: Sequence[Axis]) -> "Space":
        """Returns the search space of the given axes."""
        varied = {key for axis in axes for key in axis.keys}
        needs = {
            axis.name: tuple(
                (above, value)
                for key in axis.keys
                for above, value in _needed(key)
                if above in varied and above not in axis.keys
            )
            for axis in axes
        }
        # Sorting by the number of conditions is enough, because dependencies are transitive.
        return cls(tuple(sorted(axes, key=lambda axis: len(needs[axis.name]))), needs)

    @property
    def columns(self) -> tuple[str, ...]:
        """Keys that the axes vary."""
        return tuple(key for axis in self.axes for key in axis.keys)

    def applies(self, axis: Axis, point: Mapping[str, str]) -> bool:
        """True if an axis applies, given the values of earlier axes in `point`."""
        return all(point.get(key) == value for key, value in self.needs[axis.name])

    def draw(self, trial: Any) -> Point:
        """Returns the point that a trial of Optuna proposes."""
        point: dict[str, str] = {}
        for axis in self.axes:
            if self.applies(axis, point):
                point |= _value(axis, _suggested(trial, axis))
        return point

    def points(self, draw: Random) -> Iterator[tuple[Point, dict[str, Parameter]]]:
        """Yields every point with its parameters, starting at a random one. Values of ranges have `DIGITS` digits."""
        return self._spanned(self.axes, {}, {}, draw)

    def _spanned(
        self, axes: Sequence[Axis], point: Point, parameters: dict[str, Parameter], draw: Random
    ) -> Iterator[tuple[Point, dict[str, Parameter]]]:
        """Extends `point`, which has values for the earlier axes, by all values for `axes`."""
        if not axes:
            yield point, parameters
        elif not self.applies(axes[0], point):
            yield from self._spanned(axes[1:], point, parameters, draw)
        else:
            axis, *others = axes
            for parameter in _all_of(axis, draw):
                extended = {**point, **_value(axis, parameter)}
                yield from self._spanned(others, extended, {**parameters, axis.name: parameter}, draw)

    def parameters(self, values: Mapping[str, str]) -> tuple[Point, dict[str, Parameter]] | None:
        """Converts a point of another study to a point of this space; None if the point is outside the space."""
        point: dict[str, str] = {}
        parameters: dict[str, Parameter] = {}
        for axis in self.axes:
            if self.applies(axis, point):
                parameter = _parameter(axis, values)
                if parameter is None:
                    return None
                parameters[axis.name] = parameter
                point |= _value(axis, parameter)
        return point, parameters

    def distributions(self) -> dict[str, Any]:
        """Returns Optuna's distributions of parameters, by axis."""
        return {axis.name: _distribution(axis) for axis in self.axes}

    def corners(self) -> Iterator[tuple[Axis, Point, tuple[Point, Point]]]:
        """Yields every value of each axis (of a range, the ends), with two points that have it: with the first values
        of all other axes, and with their last values.
        """
        for varied in self.axes:
            for level in varied.levels:
                yield varied, level, self._holding(varied, level)

    def nearest(self, varied: Axis, end: Point, is_possible: Callable[[tuple[Point, Point]], bool]) -> Point | None:
        """Returns the valid value nearest to an invalid end of a range, with `DIGITS` digits, if an end is valid."""
        assert varied.range is not None
        low, high = varied.range.low.value, varied.range.high.value
        wrong, right = (low, high) if end == varied.levels[0] else (high, low)
        level = varied.levels[-1] if end == varied.levels[0] else varied.levels[0]
        if not is_possible(self._holding(varied, level)):
            return None
        for _ in range(MAX_BISECTIONS):
            middle = (wrong * right) ** 0.5 if varied.range.log else (wrong + right) / 2
            tried = _value(varied, int(middle) if _whole(varied.range) else middle)
            if is_possible(self._holding(varied, tried)):
                right, level = middle, tried
            else:
                wrong = middle
        return level

    def _holding(self, varied: Axis, level: Point) -> tuple[Point, Point]:
        return self._around(varied, level, 0), self._around(varied, level, -1)

    def _around(self, varied: Axis, level: Point, others: int) -> Point:
        wanted = {**dict(self.needs[varied.name]), **level}
        point: dict[str, str] = {}
        for axis in self.axes:
            if axis is varied:
                point |= level
            elif self.applies(axis, point):
                fitting = [
                    one for one in axis.levels if all(wanted.get(key, value) == value for key, value in one.items())
                ]
                point |= (fitting or axis.levels)[others]
        return point


def _all_of(axis: Axis, draw: Random) -> Iterator[Parameter]:
    """Yields every value of an axis as the sampler represents it, starting at a random one."""
    values: Sequence[Parameter]
    if axis.range is None:
        values = _choices(axis)
        first = draw.randrange(len(values))
    else:
        low, high = axis.range.low.value, axis.range.high.value
        values = _numbers(axis.range)
        first = bisect_left(values, low * (high / low) ** draw.random() if axis.range.log else draw.uniform(low, high))
    return chain(values[first:], values[:first])


@cache
def _numbers(range_: Range) -> Sequence[Parameter]:
    """Returns the numbers in a range as the sampler represents them, one for each setting to which they are rounded."""
    low, high = range_.low.value, range_.high.value
    numbers = range(int(low), int(high) + 1) if _whole(range_) else _written_out(low, high)
    if range_.spacing is None:
        return numbers
    by_setting: dict[str, Parameter] = {}
    for number in numbers:
        by_setting.setdefault(range_.nearest(number), number)
    return [*by_setting.values()]


def _written_out(low: float, high: float) -> Sequence[float]:
    """Returns both ends of a range, and the numbers between them with `DIGITS` digits (fewer if below high / 1000)."""
    last = Decimal(str(high))
    digits = Context(prec=DIGITS, Emin=min(last.adjusted() - 3, 0))
    numbers = [Decimal(str(low))]
    while (following := digits.next_plus(numbers[-1])) < last:
        numbers.append(following)
    return [*map(float, numbers), high]


def _needed(key: str) -> list[tuple[str, str]]:
    explained = _ssdlab.explain(key)
    return [] if explained is None else explained[3]


def _whole(range: Range) -> bool:
    return range.low.whole and range.high.whole and range.low.base == ""


def _ordered(axis: Axis) -> bool:
    """True if the values of an axis are numbers in ascending or descending order."""
    if len(axis.levels) < 3:
        return False
    for key in axis.keys:
        numbers = [quantity(level[key]) for level in axis.levels]
        values = [one.value for one in numbers if one is not None]
        if len(values) < len(numbers) or values not in (sorted(values), sorted(values, reverse=True)):
            return False
    return True


def _choices(axis: Axis) -> Sequence[Parameter]:
    """Returns the values of an axis without a range as the sampler represents them: numbers if they are ordered."""
    return range(len(axis.levels)) if _ordered(axis) else [" ".join(level.values()) for level in axis.levels]


def _distribution(axis: Axis) -> Any:
    kinds = optuna.distributions
    if axis.range is not None:
        low, high = axis.range.low.value, axis.range.high.value
        if _whole(axis.range):
            return kinds.IntDistribution(int(low), int(high), log=axis.range.log)
        return kinds.FloatDistribution(low, high, log=axis.range.log)
    if _ordered(axis):
        return kinds.IntDistribution(0, len(axis.levels) - 1)
    return kinds.CategoricalDistribution(_choices(axis))


def _suggested(trial: Any, axis: Axis) -> Parameter:
    if axis.range is not None:
        low, high = axis.range.low.value, axis.range.high.value
        if _whole(axis.range):
            return int(trial.suggest_int(axis.name, int(low), int(high), log=axis.range.log))
        return float(trial.suggest_float(axis.name, low, high, log=axis.range.log))
    if _ordered(axis):
        return int(trial.suggest_int(axis.name, 0, len(axis.levels) - 1))
    return str(trial.suggest_categorical(axis.name, _choices(axis)))


def _value(axis: Axis, parameter: Parameter) -> Point:
    """Converts the sampler's value of an axis to settings."""
    if axis.range is not None:
        low, high = axis.range.low, axis.range.high
        # Rounds the value to a few digits. More points then coincide, and fewer runs are needed.
        value = float(parameter) if _whole(axis.range) else float(f"{parameter:.{DIGITS}g}")
        return {axis.keys[0]: axis.range.nearest(min(max(value, low.value), high.value))}
    return axis.levels[_choices(axis).index(parameter)]


def _parameter(axis: Axis, values: Mapping[str, str]) -> Parameter | None:
    """Converts settings to the sampler's value; None if the axis does not have the value."""
    if axis.range is not None:
        ours = quantity(values[axis.keys[0]])
        low, high = axis.range.low, axis.range.high
        if ours is None or ours.base != low.base or not low.value <= ours.value <= high.value:
            return None
        return int(ours.value) if _whole(axis.range) else ours.value
    for at, level in enumerate(axis.levels):
        if all(_same(value, values[key]) for key, value in level.items()):
            return _choices(axis)[at]
    return None


def _same(one: str, other: str) -> bool:
    a, b = quantity(one), quantity(other)
    return one == other or (a is not None and b is not None and a[:2] == b[:2])
