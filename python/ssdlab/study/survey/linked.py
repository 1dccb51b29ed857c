"""Names and values of linked settings, which change together and form one axis."""

from collections.abc import Iterable, Sequence

from ssdlab.study.survey.outcome import PointValues
from ssdlab.study.sweep.quantity import Quantity, quantity

SEPARATOR = ", "


def name(keys: Iterable[str]) -> str:
    """Returns the name of the axis that links the given settings."""
    return SEPARATOR.join(keys)


def joined(points: Iterable[PointValues], axes: Sequence[Sequence[str]]) -> list[PointValues]:
    """Returns the points with one value for each axis: the joined text of its linked settings' values."""
    named = {name(keys): keys for keys in axes}
    return [
        one._replace(levels={axis: SEPARATOR.join(one.levels[key] for key in keys) for axis, keys in named.items()})
        for one in points
    ]


def number(value: str) -> Quantity | None:
    """Returns the numeric value of an axis; for linked settings, the value of the first setting."""
    return quantity(value.partition(SEPARATOR)[0])
