"""Numbers with units, written as in settings, for interpolating ranges and for storing datasets."""

import re
from typing import NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError

_WRITTEN = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-zµ/%]*)")

_BINARY = {unit: 1 << (10 * power) for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))}
_DECIMAL = {unit: 1000**power for power, unit in enumerate(("kB", "MB", "GB", "TB"), 1)}
_TIMES = {"ns": 1, "us": 1000, "ms": 1_000_000, "s": 1_000_000_000}
_RATES = {"/s": 1, "k/s": 1000, "M/s": 1_000_000}


LIMIT = 1e290
"""Upper limit of numbers with a unit. A larger number might overflow when converted to base units."""
SHARE = "share"


class Quantity(NamedTuple):
    """A number with a unit, as in a setting."""

    value: float
    """Number in base units: bytes, nanoseconds, a fraction, events per second, or a plain number."""
    base: str
    """Base unit: `bytes`, `ns`, `share`, `per_s`, or empty for a plain number."""
    whole: bool
    """True if the number is written without a decimal point."""


def quantity(written: str) -> Quantity | None:
    """Parses a number with its unit; returns None for other texts, such as a name or the mix `4KiB:70%,8KiB:30%`."""
    match = _WRITTEN.fullmatch(written.strip())
    if match is None:
        return None
    number, unit = float(match[1]), match[2]
    if number >= LIMIT:
        raise ConfigError(f'"{written.strip()}" is too large; use a smaller number')
    whole = match[1].lstrip("+-").isdigit()
    if unit in _BINARY or unit in _DECIMAL:
        return Quantity(float(_ssdlab.size(written.strip())), "bytes", whole)
    for units, base in ((_TIMES, "ns"), (_RATES, "per_s")):
        if unit in units:
            return Quantity(number * units[unit], base, whole)
    if unit == "%":
        return Quantity(number / 100, SHARE, whole)
    return Quantity(number, "", whole) if unit == "" else None


def written(value: float, base: str, *, whole: bool) -> str:
    """Formats a number in base units as a setting's value.

    Rounds sizes to multiples of the next smaller unit (a size in gibibytes to whole mebibytes), and times to whole
    nanoseconds. Rounds plain numbers to integers if `whole`, and all other numbers to six digits.
    """
    if base == "bytes":
        return _size(value)
    if base == "ns":
        return f"{round(value)}ns"
    if base == SHARE:
        return f"{100 * value:.6g}%"
    if base == "per_s":
        return f"{value:.6g}/s"
    return str(round(value)) if whole else f"{value:.6g}"


def exact(value: int, base: str) -> str:
    """Formats a whole number of bytes, nanoseconds, percent or units without rounding."""
    if base == "bytes":
        return text.exact_size(value)
    return f"{value}%" if base == SHARE else written(value, base, whole=True)


def _size(value: float) -> str:
    below, unit = "B", "B"
    for name, factor in _BINARY.items():
        if value >= factor:
            below, unit = unit, name
    whole, rest = divmod(round(value / _BINARY[below]), _BINARY[unit] // _BINARY[below])
    return f"{whole}{unit}" if rest == 0 else f"{round(value / _BINARY[below])}{below}"
