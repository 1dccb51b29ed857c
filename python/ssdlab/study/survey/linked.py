"""Linked settings, which change together: one axis, with the names and the values of all."""

from collections.abc import Iterable, Sequence

from ssdlab.study.survey.outcome import PointValues
from ssdlab.study.sweep.quantity import Quantity, quantity

BETWEEN = ", "
"""Stands between the settings of an axis, and between their values."""


def name(keys: Iterable[str]) -> str:
    """What an axis of these settings is called."""
    return BETWEEN.join(keys)


def joined(points: Iterable[PointValues], axes: Sequence[Sequence[str]]) -> list[PointValues]:
    """The points with one value for each axis, by its name.

    Args:
        points: With a value of each setting.
        axes: The settings of each.
    """
    named = {name(keys): keys for keys in axes}
    return [
        one._replace(levels={its: BETWEEN.join(one.levels[key] for key in keys) for its, keys in named.items()})
        for one in points
    ]


def number(value: str) -> Quantity | None:
    """The number that a value of an axis is; of linked settings that of the first."""
    return quantity(value.partition(BETWEEN)[0])
