"""Checks numeric arguments, and converts them to Python numbers, which JSON can hold."""

import math
import operator
from numbers import Integral, Real
from typing import SupportsIndex

from ssdlab._ssdlab import ConfigError


def whole(name: str, given: SupportsIndex) -> int:
    """Returns an integer, which may be NumPy's, as a Python integer; messages name the argument."""
    try:
        return int(operator.index(given))
    except TypeError:
        raise ConfigError(f"{name}: {given!r} is not a whole number") from None


def within(name: str, given: SupportsIndex, least: int, most: int) -> int:
    """Returns the value as an integer, after checking that it is from `least` to `most`."""
    number = whole(name, given)
    if not least <= number <= most:
        raise ConfigError(f"{name}: {number:,} is not between {least:,} and {most:,}")
    return number


def above_zero(name: str, given: float) -> float:
    """Returns the value, after checking that it is above 0; an integer stays an integer."""
    number = int(given) if isinstance(given, Integral) else float(given) if isinstance(given, Real) else math.nan
    if not 0 < number < math.inf:
        shown = f"{given:g}" if isinstance(given, Real) else repr(given)
        raise ConfigError(f"{name}: must be a number above 0, not {shown}")
    return number
