"""Ranges of axes, fitted to the values that the table of settings allows."""

import math
from collections.abc import Sequence

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.model.config import Config
from ssdlab.study.sweep.axes import PRESET, Axis
from ssdlab.study.sweep.plan import Builder
from ssdlab.study.sweep.quantity import quantity
from ssdlab.study.sweep.spacing import Spacing


def fitted(axes: Sequence[Axis], base: Config) -> list[Axis]:
    """The axes, with ranges that hold only values which fit the table of settings.

    Args:
        axes: What is varied.
        base: The configuration that points are laid on. It says what settings are multiples of.

    Raises:
        ConfigError: If a range holds no possible value.
    """
    # What other settings are multiples of comes first: page sizes are powers of two.
    alone = [_spaced(one, [one], base) for one in axes]
    return [_spaced(one, alone, base) for one in alone]


def _spaced(axis: Axis, axes: Sequence[Axis], base: Config) -> Axis:
    for key, span in axis.ranges.items():
        spacing = _spacing(key, axes, base)
        if spacing is not None:
            if spacing.nearest(span.low.value, span.low, span.high, log=span.log) is None:
                raise ConfigError(
                    f"axis {key}: no {spacing.words(span.low.base)} lies between {span.at(0.0)} and {span.at(1.0)}; "
                    "widen the range"
                )
            axis = axis.spaced(key, spacing)
    return axis


def _spacing(key: str, axes: Sequence[Axis], base: Config) -> Spacing | None:
    """The rules for a setting; None if every value of its range is possible.

    A rule that names another setting holds for all values which that takes.
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
    """Every value that a setting takes where another one is used; of a range the ends."""
    levels = [level for axis in axes for level in axis.levels]
    found = [level[key] for level in levels if key in level]
    if not found:
        told = _ssdlab.explain(owner)
        needed = dict(told[3]) if told else {}
        presets: list[dict[str, str]] = [{PRESET: level[PRESET]} for level in levels if PRESET in level]
        for preset in presets or [{}]:
            try:
                config = Builder(base).laid({**needed, **preset}, replays=False)
                found.append(str(config[key]))
            except (ConfigError, KeyError):
                # No such configuration: checks of the points say why.
                continue
    numbers = [one.value for one in map(quantity, found) if one is not None]
    return [int(number) for number in numbers if number >= 1]
