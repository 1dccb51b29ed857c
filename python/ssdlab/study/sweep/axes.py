"""Axes of a sweep: settings, traces and presets with the values to try.

An axis is written `KEY=VALUES`. Several axes in one string are linked: they change together.

    ftl.page.gc=greedy,fifo             a list
    device.op=3%..30%:10                ten evenly spaced values, including both ends
    device.capacity=1GiB..64GiB:7:log   seven values at equal ratios
    device.op=3%..30%                   a range without steps, for sampled designs
    device.capacity=1GiB,2GiB workload.requests=1000,2000
    ftl.page.gc                         all names that the setting accepts
"""

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from pathlib import Path
from typing import Self

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.arguments import shown
from ssdlab.model.several import several
from ssdlab.study.search import unknown_setting
from ssdlab.study.sweep.quantity import Quantity, quantity, written
from ssdlab.study.sweep.spacing import Spacing

TRACE, PRESET = "trace", "preset"
OTHERS = {TRACE: "the trace that is replayed", PRESET: "the preset that the configuration starts from"}
"""Axis keys that are not names of settings, with their meanings."""

SWITCH = "`true` or `false`"
"""Type of a Boolean setting, as written in the table of settings."""

_RANGE = re.compile(r"(?P<low>[^:]*?)\.\.(?P<high>[^:]*)(:(?!log$)(?P<steps>[^:]*))?(?P<log>:log)?")

Point = Mapping[str, str]
"""Values by setting key, in the notation of `--set`."""

Values = str | Sequence[object]
"""Values of an axis as users write them: a command-line string or a list."""


@dataclass(frozen=True)
class Range:
    """Range of an axis: all values between its two ends, or only the values that `spacing` allows."""

    low: Quantity
    high: Quantity
    log: bool
    count: int | None = None
    """Number of values; None for a range without steps."""
    spacing: Spacing | None = None

    @classmethod
    def of(cls, low: str, high: str, *, log: bool) -> Self:
        """Returns the range between two numbers with the same unit."""
        ends = quantity(low), quantity(high)
        assert ends[0] is not None and ends[1] is not None
        return cls(ends[0], ends[1], log)

    def share(self, value: str) -> float:
        """Returns the position of a value in the range, from 0 (low end) to 1 (high end)."""
        number = _number(value)
        low, high = self.low.value, self.high.value
        return math.log(number / low) / math.log(high / low) if self.log else (number - low) / (high - low)

    def at(self, share: float) -> str:
        """Returns the value at a position in the range; see `share`."""
        low, high = self.low.value, self.high.value
        return self.nearest(low * (high / low) ** share if self.log else low + share * (high - low))

    def nearest(self, value: float) -> str:
        """Returns the allowed value nearest to a number in base units, written as a setting's value."""
        base = self.low.base
        plain = written(value, base, whole=self.low.whole and self.high.whole)
        rounded = quantity(plain)
        if self.spacing is None or rounded is None:
            return plain
        return self.spacing.nearest(rounded.value, self.low, self.high, log=self.log) or plain

    @property
    def steps(self) -> list[str]:
        """Distinct values of the range's steps, in order."""
        assert self.count is not None
        return [*dict.fromkeys(self.at(step / (self.count - 1)) for step in range(self.count))]


@dataclass(frozen=True)
class Axis:
    """An axis of a sweep: linked setting keys with their values, or the range of a single key."""

    keys: tuple[str, ...]
    levels: tuple[Point, ...]
    """Values of the axis in order; for a range without steps, its two ends."""
    range: Range | None = None
    """Range of an axis without steps."""
    stepped: Mapping[str, Range] = field(default_factory=dict)
    """Ranges with steps, by setting key; `levels` contains their values."""

    @property
    def name(self) -> str:
        """Keys of the axis, joined by `+`."""
        return "+".join(self.keys)

    @property
    def ranges(self) -> Mapping[str, Range]:
        """Ranges of the axis by setting key."""
        return self.stepped if self.range is None else {self.keys[0]: self.range}

    def spaced(self, key: str, spacing: Spacing) -> "Axis":
        """Returns the axis with the range of `key` restricted to the values that the spacing allows."""
        span = replace(self.ranges[key], spacing=spacing)
        values = [{**level, key: span.nearest(_number(level[key]))} for level in self.levels]
        if self.range is not None:
            return replace(self, levels=tuple(values), range=span)
        # Several steps of a range may be rounded to the same value.
        levels = [level for at, level in enumerate(values) if level not in values[:at]]
        return replace(self, levels=tuple(levels), stepped={**self.stepped, key: span})

    def at(self, share: float) -> Point:
        """Returns the value at a position in the range or list, from 0 up to but not including 1."""
        if self.range is not None:
            return {self.keys[0]: self.range.at(share)}
        return self.levels[min(int(share * len(self.levels)), len(self.levels) - 1)]


def _number(value: str) -> float:
    number = quantity(value)
    assert number is not None
    return number.value


def axis(written: str) -> Axis:
    """Parses an axis such as `device.op=7%,28%`."""
    given: dict[str, Values] = {}
    for word in written.split():
        key, equals, values = word.partition("=")
        if not key or (equals and not values):
            raise ConfigError(
                f"axis {text.path(written)!r}: {text.path(word)!r} is not KEY=VALUES; write device.op=7%,28%, for "
                "example"
            )
        if key in given:
            raise ConfigError(f"axis {text.path(written)!r}: {key} appears twice; write all its values in one list")
        given[key] = values if equals else _all_of(key)
    return of(given)


def of(given: Mapping[str, Values]) -> Axis:
    """Builds an axis from linked keys and their values."""
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"axes: {shown(given)} is not an axis; use {{'device.op': '7%..28%:4'}} or ['device.op=7%,28%']"
        )
    if not given:
        raise ConfigError("an axis is empty; write device.op=7%,28%, for example")
    for key in given:
        _check(key)
    values_of = {key: _values(key, values) for key, values in given.items()}
    ranges = {key: values for key, values in values_of.items() if isinstance(values, Range)}
    for key, span in ranges.items():
        if span.count is None:
            if len(values_of) > 1:
                raise ConfigError(f"axis {key}: a range of linked settings needs a number of values, as in 3%..30%:10")
            return Axis((key,), ({key: span.at(0.0)}, {key: span.at(1.0)}), span)
    lists = {key: values.steps if isinstance(values, Range) else values for key, values in values_of.items()}
    if len({*map(len, lists.values())}) > 1:
        counts = " and ".join(f"{key} has {len(values)}" for key, values in lists.items())
        raise ConfigError(f"axis {'+'.join(given)}: linked settings need the same number of values; {counts}")
    levels = [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
    return Axis(tuple(given), tuple(levels), None, ranges)


def distinct(axes: Iterable[Axis]) -> list[Axis]:
    """Raises an error if two axes vary the same key."""
    checked = [*axes]
    seen: set[str] = set()
    for one in checked:
        for key in one.keys:
            if key in seen:
                raise ConfigError(f"two axes vary {key}; write all its values in one axis")
            seen.add(key)
    return checked


def _check(key: str) -> None:
    known = [name for name, *_ in _ssdlab.options()]
    if key not in known and key not in OTHERS:
        raise ConfigError(f"axis {unknown_setting(key, [*known, *OTHERS])}")


def _all_of(key: str) -> list[str]:
    """Returns every value of a setting that is Boolean or has named values; for presets, the names of all presets."""
    _check(key)
    explained = _ssdlab.explain(key)
    if key == PRESET:
        return [name for name, *_ in _ssdlab.presets()]
    if explained is not None and explained[0] == SWITCH:
        return ["false", "true"]
    names = [name for name, _ in _ssdlab.variants(key)]
    if not names:
        known = f" (type: {explained[0].replace('`', '')})" if explained else ""
        raise ConfigError(f"axis {key}: the setting has no named values{known}; list values: {key}=A,B")
    return names


def _values(key: str, given: Values) -> "list[str] | Range":
    words = next(csv.reader([given])) if isinstance(given, str) else [_text(one) for one in several(given)]
    if not words or not all(word.strip() for word in words):
        raise ConfigError(f"axis {key}: a value is empty; write values separated by commas, such as A,B")
    if len(words) == 1 and ".." in words[0] and key != TRACE:
        return _range(key, words[0].strip())
    values = [word.strip() for word in words]
    lost = next((value for value in values if not Path(value).exists()), "") if key == TRACE else ""
    if lost and isinstance(given, str) and "," in given:
        raise ConfigError(
            f"axis {key}: {text.path(lost)}: does not exist; check the path, and put quotes around a path "
            f'with a comma: {key}="a,b.csv",c.csv'
        )
    twice = [value for value in values if values.count(value) > 1]
    if twice and key not in OTHERS:
        raise ConfigError(f"axis {key}: the value {text.path(twice[0])} is listed twice; list it once")
    return values


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _range(key: str, word: str) -> Range:
    match = _RANGE.fullmatch(word)
    if match is None:
        raise ConfigError(f"axis {key}: invalid range {text.path(word)}; write 3%..30%, 3%..30%:10 or 1..64:7:log")
    try:
        low, high = quantity(match["low"]), quantity(match["high"])
    except ConfigError as error:
        raise ConfigError(f"axis {key}: {error}") from None
    if low is None or high is None or low.base != high.base:
        raise ConfigError(f"axis {key}: the ends of {text.path(word)} have different units; write 3%..30%:10")
    log, steps = match["log"] is not None, match["steps"]
    if low.value >= high.value or (log and low.value <= 0):
        raise ConfigError(
            f"axis {key}: {text.path(word)} must increase{', starting above 0' if log else ''}; write the smaller end "
            "first"
        )
    if steps is None:
        return Range(low, high, log)
    if not steps.isdigit() or not 2 <= int(steps) <= 10_000:
        raise ConfigError(
            f"axis {key}: invalid number of values {text.path(steps)}; use a number from 2 to 10000, as in 3%..30%:10"
        )
    return Range(low, high, log, int(steps))


@dataclass(frozen=True)
class Condition:
    """A condition that excludes the points which satisfy all its comparisons."""

    comparisons: tuple[tuple[str, str, str], ...]
    """Key, operator and value of each comparison."""

    @classmethod
    def of(cls, written: str, axes: Sequence[Axis]) -> "Condition":
        """Parses a condition such as `ftl.page.gc=fifo device.op>20%`."""
        keys = [key for one in axes for key in one.keys]
        comparisons = []
        for word in written.split():
            operator = next((one for one in ("!=", ">=", "<=", "=", ">", "<") if one in word), "")
            key, _, value = word.partition(operator) if operator else (word, "", "")
            if not (key and value):
                raise ConfigError(
                    f"without {text.path(written)!r}: {text.path(word)!r} is not a comparison; write KEY=VALUE"
                )
            if key not in keys:
                why = _ssdlab.renamed(key) or f"no axis varies this setting{text.suggestion(key, keys)}"
                raise ConfigError(f"without {text.path(written)!r}: {key}: {why}")
            if operator not in ("=", "!=") and quantity(value) is None:
                raise ConfigError(f"without {text.path(written)!r}: {value} is not a number to compare with {operator}")
            comparisons.append((key, operator, value))
        if not comparisons:
            raise ConfigError("without: a condition is empty; write KEY=VALUE, such as ftl.page.gc=fifo")
        return cls(tuple(comparisons))

    def meets(self, point: Point) -> bool:
        """True if the point satisfies the condition, and so is excluded."""

        def holds(key: str, operator: str, value: str) -> bool:
            ours, theirs = quantity(point[key]), quantity(value)
            if ours is None or theirs is None or ours.base != theirs.base:
                return (point[key] == value) == (operator == "=") if operator in ("=", "!=") else False
            a, b = ours.value, theirs.value
            return {"=": a == b, "!=": a != b, ">": a > b, "<": a < b, ">=": a >= b, "<=": a <= b}[operator]

        return all(starmap(holds, self.comparisons))
