"""Reads loads and metrics from the numbers of a data sheet."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.study.fitting.load import RATE, Figure, Load, Measured, Queue

LARGE = 128 << 10
"""Assumed request size in bytes for the bandwidths in data sheets."""

DEPTH = 256
"""Assumed number of outstanding requests for the request rates in data sheets."""


def _bandwidth(written: str) -> float:
    return float(_ssdlab.size(written.removesuffix("/s"))) / LARGE


def _rate(written: str) -> float:
    return float(_ssdlab.count(written.removesuffix("/s")))


def _latency(written: str) -> float:
    return float(_ssdlab.nanos(written))


class Entry(NamedTuple):
    """A number in a data sheet, and the load under which it is measured."""

    parse: Callable[[str], float]
    example: str
    load: Load
    figure: Figure


ENTRIES = {
    "sequential_read": Entry(
        _bandwidth, "6800MB/s", Load("sequential reads", (Queue(1, 1.0, 32),), "sequential", LARGE),
        Figure("read", RATE),
    ),
    "sequential_write": Entry(
        _bandwidth, "1400MB/s", Load("sequential writes", (Queue(1, 0.0, 32),), "sequential", LARGE),
        Figure("write", RATE),
    ),
    "random_read": Entry(_rate, "530k/s", Load("reads, depth 256", (Queue(1, 1.0, DEPTH),)), Figure("read", RATE)),
    "random_write": Entry(_rate, "85k/s", Load("writes, depth 256", (Queue(1, 0.0, DEPTH),)), Figure("write", RATE)),
    "read_latency": Entry(_latency, "80us", Load("reads, depth 1", (Queue(1, 1.0, 1),)), Figure("read", "p50")),
    "write_latency": Entry(_latency, "15us", Load("writes, depth 1", (Queue(1, 0.0, 1),)), Figure("write", "p50")),
}  # fmt: skip

CAPACITY = "capacity"


def read(written: Sequence[str]) -> tuple[list[Measured], dict[str, float]]:
    """Parses `key=value` numbers of a data sheet. Returns the loads with their metrics, and the value of each key.

    `capacity` is in bytes and yields no load.
    """
    loads, values = [], dict[str, float]()
    for one in written:
        key, equals, value = one.partition("=")
        if key not in ENTRIES and key != CAPACITY:
            known = [CAPACITY, *ENTRIES]
            meant = text.suggestion(key, known) or f"; use {', '.join(known)}"
            raise ConfigError(f"--sheet {text.path(one)}: unknown key{meant}")
        if key in values:
            raise ConfigError(f"--sheet {key} appears twice; use it once")
        example = "960GB" if key == CAPACITY else ENTRIES[key].example
        parse = (lambda size: float(_ssdlab.size(size))) if key == CAPACITY else ENTRIES[key].parse
        try:
            number = parse(value) if equals else 0.0
        except ConfigError:
            number = 0.0
        if not number > 0:
            raise ConfigError(f"--sheet {text.path(one)}: must have a value, such as {key}={example}")
        values[key] = number
        if key != CAPACITY:
            entry = ENTRIES[key]
            loads.append(Measured(entry.load, {entry.figure: number}))
    return loads, values
