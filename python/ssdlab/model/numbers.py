"""Arguments that are numbers."""

import math
import operator
from numbers import Integral, Real
from typing import SupportsIndex

from ssdlab._ssdlab import ConfigError


def whole(name: str, given: SupportsIndex) -> int:
    """A whole number, such as one of NumPy, as that of Python, which JSON holds.

    Raises:
        ConfigError: If it is none, with the name of the argument.
    """
    try:
        return int(operator.index(given))
    except TypeError:
        raise ConfigError(f"{name}: {given!r} is no whole number; give one, such as 1") from None


def above_zero(name: str, given: float) -> float:
    """A number above 0 as that of Python; a whole one stays whole.

    Raises:
        ConfigError: If it is none, with the name of the argument.
    """
    number = int(given) if isinstance(given, Integral) else float(given) if isinstance(given, Real) else math.nan
    if not 0 < number < math.inf:
        shown = f"{given:g}" if isinstance(given, Real) else repr(given)
        raise ConfigError(f"{name}: {shown} is no number above 0; give one that is")
    return number
