"""Formats quantities in the same way on the terminal and in reports."""

import math
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence

from ssdlab import _ssdlab

MISSING = "–"
"""Shown in place of a missing value."""

BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
"""Binary units of bytes."""
_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB")
_TIMES = (("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 120e9), ("h", 7200e9))
# Times below two minutes are in seconds, and times below two hours in minutes.
_SCALES = {"min": 60e9, "h": 3600e9}


WIDTH = 100
"""Maximum width of printed lines in columns."""


def columns() -> int:
    """Returns the width of printed lines: at most `WIDTH`, or less on a narrow terminal."""
    return min(shutil.get_terminal_size((WIDTH, 0)).columns, WIDTH)


def folded(words: str, indent: str = "", hang: str | None = None) -> str:
    """Wraps text at spaces to fit `columns()`; `hang`, by default `indent`, indents continuation lines. Never separates
    a number from its percent sign, or an option without inner hyphens from the word after it.
    """
    fill = textwrap.TextWrapper(
        columns(), initial_indent=indent, subsequent_indent=indent if hang is None else hang, break_long_words=False,
        break_on_hyphens=False,
    ).fill  # fmt: skip
    whole = re.sub(r" %|--\w+ ", lambda found: found[0].replace(" ", "\u00a0"), words)
    return "\n".join(map(fill, whole.split("\n"))).replace("\u00a0", " ")


def path(name: object) -> str:
    """Returns a path as one line of printable characters, for messages."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(name))


def shortened(names: Iterable[str], longest: int) -> dict[str, str]:
    """Maps names to texts for figures: shortened in the middle, or all in full if two would be equal."""
    whole = dict.fromkeys(names)
    half = longest // 2
    short = {name: name if len(name) <= longest else f"{name[:half]}…{name[half + 1 - longest :]}" for name in whole}
    return short if len({*short.values()}) == len(short) else {name: name for name in whole}


def decimal(value: float) -> str:
    """Formats a number with three significant digits, or with all digits of the integer part."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def _small(value: float) -> str:
    """Formats a number without a unit prefix: as a whole number, or with three significant digits if it is below 1."""
    return significant(value) if 0 < value < 0.995 else f"{value:.0f}"


def _scaled(value: float, units: Sequence[str], step: int) -> str:
    index = 0
    while index + 1 < len(units) and value >= step * 0.9995:
        value /= step
        index += 1
    number = _small(value) if index == 0 else decimal(value)
    return f"{number} {units[index]}"


def count(value: float) -> str:
    """Formats `1234567` as `1,234,567`."""
    return f"{value:,.0f}"


def counted(value: float, things: str) -> str:
    """Formats a count with its noun: `1,234 runs`, or `1 run`."""
    return f"{count(value)} {things.removesuffix('s') if value == 1 else things}"


def listed(words: Sequence[str], most: int = 4) -> str:
    """Joins at most `most` words with commas, and counts the others: `a, b, c, d, 3 more`."""
    others = [f"{count(len(words) - most)} more"] if len(words) > most else []
    return ", ".join([*words[:most], *others])


def ratio(value: float) -> str:
    """Formats a ratio with three decimals, as for write amplification."""
    return f"{value:.3f}"


def significant(value: float) -> str:
    """Formats a number with three significant digits, however small: `0.00412`."""
    return f"{value:#.3g}" if 0 < value < 0.995 else decimal(value)


def exact(value: float) -> str:
    """Formats a number without rounding, as in settings: `2` or `0.25`."""
    return f"{value:.15g}"


def rounded_down(value: float) -> str:
    """Formats a number between 0 and 1 with two significant digits, rounded down, as in settings: `0.46`."""
    if value <= 0:
        return "0"
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.floor(value / step) * step:.2g}"


def percent(share: float) -> str:
    """Formats a fraction, such as 0.25, in percent with two decimals."""
    return f"{100 * share:.2f} %"


def size(value: float) -> str:
    """Formats bytes in binary units, for capacities and volumes."""
    return _scaled(value, BINARY, 1024)


def exact_size(value: int) -> str:
    """Formats bytes without rounding, as in settings: `64MiB`."""
    index = 0
    while index + 1 < len(BINARY) and value and value % 1024 == 0:
        value //= 1024
        index += 1
    return f"{value}{BINARY[index]}"


def size_decimal(value: float) -> str:
    """Formats bytes in decimal units, as for endurance."""
    return _scaled(value, _DECIMAL, 1000)


def bandwidth(value: float) -> str:
    """Formats bytes per second in decimal units."""
    return f"{size_decimal(value)}/s"


def duration(nanoseconds: float) -> str:
    """Formats nanoseconds in a suitable unit."""
    unit, scale = _TIMES[0]
    for name, factor in _TIMES:
        if nanoseconds >= factor * 0.9995:
            unit, scale = name, _SCALES.get(name, factor)
    value = nanoseconds / scale
    return f"{_small(value) if unit == 'ns' else decimal(value)} {unit}"


def celsius(thousandths: float) -> str:
    """Formats a temperature given in thousandths of a degree."""
    return f"{thousandths / 1000:.1f} °C"


def years(value: float) -> str:
    """Formats a time in years. Times below a year are in days, and times below a tenth of a day in a smaller unit."""
    days = value * 365.25
    if 0 < days < 0.1:
        return duration(days * 86_400e9)
    return f"{decimal(value)} years" if value >= 1 else f"{decimal(days)} days"


def short_count(value: float) -> str:
    """Formats a count in short form, such as `1.23 M` for 1234567, for rates and axes."""
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale * 0.9995:
            return f"{decimal(value / scale)} {unit}"
    return _small(value) if value < 0.995 or float(value).is_integer() else decimal(value)


def suggestion(word: str, known: Iterable[str]) -> str:
    """Returns a suggestion such as `; did you mean greedy?`; empty if no known word is similar."""
    nearest = _ssdlab.nearest(word, list(known))
    return f"; did you mean {nearest}?" if nearest else ""
