"""Reads the sections and options of a fio job file."""

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, NoReturn

from ssdlab import text
from ssdlab._ssdlab import TraceError

ALIASES = {
    "ba": "blockalign",
    "blocksize": "bs",
    "blocksize_range": "bsrange",
    "bs_unaligned": "blocksize_unaligned",
    "readwrite": "rw",
    "timeout": "runtime",
    "wait_for_previous": "stonewall",
}
"""Synonyms of options that fio accepts."""

TIMES_US = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1000, "us": 1}


class Option(NamedTuple):
    """An option of a job file, with its position in the file."""

    path: Path
    line: int
    name: str
    """Name as it is written in the file."""
    value: str
    """Value as it is written; empty for an option without a value."""

    def refuse(self, why: str) -> NoReturn:
        """Raises the error for an option that cannot be used; `why` states the problem and its remedy."""
        shown = f"{self.name}={self.value}" if self.value else self.name
        raise TraceError(f"{text.path(self.path)}:{self.line}: {text.path(shown)}: {why}")

    def parts(self) -> list[str]:
        """Splits the option's value at commas, and strips spaces from its parts."""
        return [part.strip() for part in self.value.split(",")]

    def flag(self) -> bool:
        """Returns the value of a switch; a switch without a value is on."""
        if self.value not in ("", "0", "1"):
            self.refuse("must be 0 or 1")
        return self.value != "0"

    def whole(self, written: str | None = None, least: int = 0, most: int = 2**62) -> int:
        """Returns the value as a whole number, which may have a suffix such as k."""
        number = self.size(written)
        if not least <= number <= most:
            self.refuse(f"must be a whole number from {least} to {most}")
        return number

    def size(self, written: str | None = None) -> int:
        """Returns the value in bytes: 4096, 4k, 1m or 0x1000. As in fio, prefixes with i, such as Ki, are decimal."""
        given = (self.value if written is None else written).lower()
        match = re.fullmatch(r"(?:0x([0-9a-f]{1,15})|([0-9]{1,15}(?:\.[0-9]{1,9})?))([kmgtp]?)(i?)b?", given)
        if match is None:
            self.refuse(f"{text.path(given)!r} is not a number of bytes; write it like 4096, 4k, 1m or 2g")
        hexadecimal, decimal, prefix, is_decimal = match.groups()
        number = Fraction(int(hexadecimal, 16)) if hexadecimal else Fraction(decimal)
        bytes = int(number * (1000 if is_decimal else 1024) ** (" kmgtp".index(prefix or " ")))
        if bytes >= 2**60:
            self.refuse("is too large; lower it to 1p")
        return bytes

    def size_of(self, whole: int | None) -> int:
        """Returns the value in bytes. A percentage is relative to `whole` bytes (None if unknown)."""
        if not self.value.endswith("%"):
            return self.size()
        share = self.number(self.value[:-1], 0, 100)
        if whole is None:
            self.refuse("is a percentage of an unknown size; write it in bytes, or set device.capacity")
        return int(whole * share / 100)

    def number(self, written: str, least: float, most: float) -> float:
        """Parses a decimal number. Raises an error if it is outside the range from `least` to `most`."""
        if not re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", written) or not least <= float(written) <= most:
            self.refuse(f"{text.path(written)} is not a number from {least:g} to {most:g}")
        return float(written)

    def time_ns(self, unit: str) -> int:
        """Returns the value as a time; `unit` applies to numbers without a unit."""
        match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)(d|h|m|s|ms|us)?", self.value.lower())
        if match is None:
            self.refuse("is not a time; write it like 500us, 10ms, 30s, 5m or 1h")
        time_ns = round(Fraction(match[1]) * TIMES_US[match[2] or unit] * 1000)
        if time_ns >= 2**62:
            self.refuse("is too long; lower it to 1000d")
        return time_ns


class Section(NamedTuple):
    """A job section with its options, and with the options of the global sections before it."""

    name: str
    path: Path
    line: int
    options: dict[str, Option]
    own: dict[str, str]
    """Options written in the section itself; the report lists them."""
    shared: dict[str, str]
    """Options of the global sections; the report lists them."""

    def refuse(self, why: str) -> NoReturn:
        """Raises the error for a job that cannot be used; `why` states the problem and its remedy."""
        raise TraceError(f"{text.path(self.path)}:{self.line}: [{text.path(self.name)}]: {why}")


def read(path: Path) -> list[Section]:
    """Reads the job sections of a file in order."""
    try:
        lines = path.read_bytes().decode("utf-8").splitlines()
    except OSError as error:
        raise TraceError(f"{text.path(path)}: cannot be read: {error.strerror}; pass an existing file") from None
    except UnicodeDecodeError:
        raise TraceError(f"{text.path(path)}: is not text; pass a fio job file") from None
    return parse(path, lines)


def parse(path: Path, lines: Sequence[str]) -> list[Section]:
    """Reads the job sections from the lines of a file."""
    jobs: list[Section] = []
    shared: dict[str, Option] = {}
    given: dict[str, Option] | None = None
    for number, written in enumerate(lines, 1):
        line = re.split("[;#]", written, maxsplit=1)[0].strip()
        if not line:
            continue
        if line.startswith("["):
            name = line[1:-1].strip()
            if not line.endswith("]") or not name:
                raise TraceError(
                    f"{text.path(path)}:{number}: {text.path(line)}: is not a section; write it like [job1]"
                )
            if name.lower() == "global":
                given = shared
            else:
                given = dict(shared)
                shown = {option.name: option.value for option in shared.values()}
                jobs.append(Section(name, path, number, given, {}, shown))
            continue
        name, _, value = (part.strip() for part in line.partition("="))
        option = Option(path, number, name, value)
        if name.split() == ["include", *name.split()[1:]]:
            option.refuse("included files are not supported; copy their lines here")
        if not re.fullmatch("[A-Za-z][A-Za-z0-9_-]*", name):
            option.refuse("is not an option; write it like bs=4k")
        if given is None:
            option.refuse("is before the first section; write [global] above it")
        if "${" in value:
            option.refuse("environment variables are not supported; write the value itself")
        given[ALIASES.get(name, name)] = option
        if given is not shared:
            jobs[-1].own[name] = value
    if not jobs:
        raise TraceError(f"{text.path(path)}: has no job section; add one, such as [job1]")
    return jobs
