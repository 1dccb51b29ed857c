"""Quantities as people read them; the same text on the terminal and in reports."""

from collections.abc import Iterable, Sequence

from ssdlab import _ssdlab

MISSING = "–"
"""What stands where there is no value."""

BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
"""Units of bytes, each 1,024 of the one before."""
_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB")
_TIMES = (("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 120e9), ("h", 7200e9))
# From two minutes and two hours on, in minutes and hours.
_SCALES = {"min": 60e9, "h": 3600e9}


def path(name: object) -> str:
    """A path for a message: one line that any terminal can show, whatever characters the name holds."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(name))


def shortened(names: Iterable[str], longest: int) -> dict[str, str]:
    """Names for figures: long ones lose their middle, unless some would be alike without."""
    whole = dict.fromkeys(names)
    half = longest // 2
    short = {name: name if len(name) <= longest else f"{name[:half]}…{name[half + 1 - longest :]}" for name in whole}
    return short if len({*short.values()}) == len(short) else {name: name for name in whole}


def _digits(value: float) -> str:
    """Three significant digits, never fewer than the whole part has."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def _small(value: float) -> str:
    """A number below all units: whole, or with the digits of one that would round to nothing."""
    return significant(value) if 0 < value < 0.995 else f"{value:.0f}"


def _scaled(value: float, units: Sequence[str], step: int) -> str:
    index = 0
    while index + 1 < len(units) and value >= step * 0.9995:
        value /= step
        index += 1
    number = _small(value) if index == 0 else _digits(value)
    return f"{number} {units[index]}"


def count(value: float) -> str:
    """`1234567` as `1,234,567`."""
    return f"{value:,.0f}"


def counted(value: float, things: str) -> str:
    """`1,234 runs`, and of one `1 run`."""
    return f"{count(value)} {things.removesuffix('s') if value == 1 else things}"


def ratio(value: float) -> str:
    """Three decimals, as write amplification is compared."""
    return f"{value:.3f}"


def decimal(value: float) -> str:
    """Three significant digits."""
    return _digits(value)


def significant(value: float) -> str:
    """Three significant digits, however small: `0.00412`."""
    return f"{value:#.3g}" if 0 < value < 0.995 else _digits(value)


def percent(share: float) -> str:
    """A share of 1 in percent with two decimals."""
    return f"{100 * share:.2f} %"


def size(value: float) -> str:
    """Bytes in binary units: capacities and volumes."""
    return _scaled(value, BINARY, 1024)


def exact_size(value: int) -> str:
    """Bytes to the last one, as settings take them: `64MiB`."""
    index = 0
    while index + 1 < len(BINARY) and value and value % 1024 == 0:
        value //= 1024
        index += 1
    return f"{value}{BINARY[index]}"


def size_decimal(value: float) -> str:
    """Bytes in decimal units, as drives' endurance is sold."""
    return _scaled(value, _DECIMAL, 1000)


def bandwidth(value: float) -> str:
    """Bytes per second in decimal units."""
    return f"{size_decimal(value)}/s"


def duration(nanoseconds: float) -> str:
    """Nanoseconds in the unit that suits them."""
    unit, scale = _TIMES[0]
    for name, factor in _TIMES:
        if nanoseconds >= factor * 0.9995:
            unit, scale = name, _SCALES.get(name, factor)
    value = nanoseconds / scale
    return f"{_small(value) if unit == 'ns' else _digits(value)} {unit}"


def years(value: float) -> str:
    """Years, or days where a year is too coarse, or less where a tenth of a day is."""
    days = value * 365.25
    if 0 < days < 0.1:
        return duration(days * 86_400e9)
    return f"{_digits(value)} years" if value >= 1 else f"{_digits(days)} days"


def short_count(value: float) -> str:
    """`1234567` as `1.23 M`, for rates and axes; three digits of a fraction as well."""
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale * 0.9995:
            return f"{_digits(value / scale)} {unit}"
    return _small(value) if value < 0.995 or float(value).is_integer() else _digits(value)


def suggestion(word: str, known: Iterable[str]) -> str:
    """What a misspelt word may mean: `; did you mean that?`, or nothing if no known word is close."""
    meant = _ssdlab.nearest(word, list(known))
    return f"; did you mean {meant}?" if meant else ""


def key_suggestion(key: str, known: Iterable[str]) -> str:
    """The same of a setting, or a table of them, which may be in another table."""
    meant = _ssdlab.nearest_key(key, list(known))
    return f"; did you mean {meant}?" if meant else ""
