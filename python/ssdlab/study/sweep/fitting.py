"""Restricts the ranges of axes to values that their settings allow."""

import math
from collections.abc import Sequence
from contextlib import suppress

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.model.config import Config
from ssdlab.study.sweep.axes import PRESET, Axis
from ssdlab.study.sweep.plan import Builder
from ssdlab.study.sweep.quantity import quantity
from ssdlab.study.sweep.spacing import Spacing

PAGES_PER_BLOCK = "nand.pages_per_block"
"""Scale models may have fewer pages per block than this setting."""


def fitted(axes: Sequence[Axis], base: Config) -> list[Axis]:
    """Restricts the ranges of axes to values that their settings allow, beside the other axes and `base`."""
    # Some settings must be multiples of another setting, such as the page size. So there are two passes, and the first
    # pass restricts the page size to powers of two.
    alone = [_spaced(one, [one], base) for one in axes]
    return [_spaced(one, alone, base) for one in alone]


def _spaced(axis: Axis, axes: Sequence[Axis], base: Config) -> Axis:
    for key, span in axis.ranges.items():
        spacing = _spacing(key, axes, base)
        if spacing is not None:
            if spacing.nearest(span.low.value, span.low, span.high, log=span.log) is None:
                raise ConfigError(
                    f"axis {key}: the range {span.at(0.0)} to {span.at(1.0)} contains no "
                    f"{spacing.words(span.low.base)}; widen the range"
                )
            axis = axis.spaced(key, spacing)
    return axis


def _spacing(key: str, axes: Sequence[Axis], base: Config) -> Spacing | None:
    """Returns the rules for the values of a setting, if any.

    A rule that refers to another setting applies to every value that the sweep uses for that setting.
    """
    rules = _ssdlab.spacing(key)
    if not rules:
        return None
    multiples, divided, power_of_two = [1], [], False
    for rule, number, other in rules:
        if rule == "power of two":
            power_of_two = True
        elif rule == "multiple":
            multiples.append(number)
        elif rule == "multiple of":
            multiples += _taken(other, key, axes, base)
        else:
            divided += _taken(other, key, axes, base)
    return Spacing(math.lcm(*multiples), power_of_two, math.gcd(*divided) or None)


def _taken(key: str, owner: str, axes: Sequence[Axis], base: Config) -> list[int]:
    """Returns the values (of a range, the ends) of the setting `key`, which restrict values of the setting `owner`."""
    levels = [level for axis in axes for level in axis.levels]
    values = [level[key] for level in levels if key in level]
    if key == PAGES_PER_BLOCK or not values:
        explained = _ssdlab.explain(owner)
        needed = dict(explained[3]) if explained else {}
        points = [{name: level[name] for name in (PRESET, key) if name in level} for level in levels]
        values = []
        for point in [one for one in points if one] or [{}]:
            # Invalid configurations are ignored here; they are reported when the points are checked.
            with suppress(ConfigError, KeyError):
                values.append(_value(key, owner, Builder(base).laid({**needed, **point}, replays=False)))
    numbers = [one.value for one in map(quantity, values) if one is not None]
    return [int(number) for number in numbers if number >= 1]


def _value(key: str, owner: str, config: Config) -> str:
    """Returns the value of a setting; for `nand.pages_per_block` the actual pages per block, which may be fewer."""
    if key != PAGES_PER_BLOCK:
        return str(config[key])
    # Sets `owner` to 1, which divides every number of pages, so that the drive is valid.
    return str(config.with_overrides({owner: 1}).pages_per_block)
