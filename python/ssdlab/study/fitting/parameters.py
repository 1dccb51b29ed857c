"""Parameters of a drive that a fit can find, and the settings that each parameter determines."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ssdlab import _ssdlab, text
from ssdlab.model.config import Config
from ssdlab.study.fitting.load import LESS_READ, RATE, Figure, Measured
from ssdlab.study.fitting.scale import Geometry

Values = Mapping[str, float]
"""Parameter values by name, each in the unit of its parameter."""

SUSPEND = "nand.suspend.erase_and_program"
SLOTS = "drive.protocol.nvme.slots"
PACE = "drive.pace.tokens.interval"

PAGE_BYTES = 4096

OF_PROGRAMS = 0.85
"""Assumed share of die time spent on programs when writes saturate the drive; reads and other work take the rest."""


def times(config: Config, key: str) -> list[float]:
    """Returns the times in a setting's value, in nanoseconds: a single time, or one time per page type."""
    value = config[key]
    listed = value.split(",") if isinstance(value, str) else value
    return [float(_ssdlab.nanos(str(one).strip())) for one in listed]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a drive that a fit changes."""

    name: str
    about: str
    unit: Literal["time", "bandwidth", "share", "count", "size"]
    base: Callable[[Config], float]
    settings: Callable[[Config, Values], dict[str, str]]
    """Functions that return the value in the base drive, and the settings for given values of all parameters."""
    low: float
    high: float
    tell: str
    """Measurement that determines the parameter."""
    guess: Callable[[Config, Sequence[Measured]], float | None] = lambda _base, _measured: None
    """Estimates the start value of the search; None to start at the base drive's value."""
    shift: float = 0.0
    """Constant that is added to the value before taking the logarithm, for parameters that may be 0."""
    applies: Callable[[Config], bool] = lambda _base: True
    only: Callable[[Config, float], str] = lambda _base, _value: ""
    """Describes what the metrics determine instead, such as total program throughput; empty if the parameter itself."""

    def shown(self, value: float) -> str:
        """Formats a value for a table."""
        formats = {"time": text.duration, "bandwidth": text.bandwidth, "size": text.size, "share": text.percent}
        return formats.get(self.unit, text.count)(value)


def _time(key: str, instead: str = "") -> Callable[[Config], float]:
    def base(config: Config) -> float:
        found = key if key in config else instead
        return float(_ssdlab.nanos(config[found])) if found in config else 0.0

    return base


def _set_time(key: str, name: str) -> Callable[[Config, Values], dict[str, str]]:
    def settings(_base: Config, values: Values) -> dict[str, str]:
        return {key: f"{round(values[name])}ns"}

    return settings


def _figures(measured: Sequence[Measured], op: Literal["read", "write"], *names: str) -> list[float]:
    wanted = [Figure(op, name) for name in names]
    return [one.figures[figure] for one in measured for figure in wanted if figure in one.figures]


def _page_times(base: Config, values: Values) -> dict[str, str]:
    """Returns the read times of all page types: `page_read` for the fastest, `page_types` more for the slowest."""
    found = times(base, "nand.read")
    fast, slow = min(found), max(found)
    read, difference = values.get("page_read", fast), values.get("page_types", slow - fast)
    shares = [(one - fast) / (slow - fast) if slow > fast else 0.0 for one in found]
    return {"nand.read": ",".join(f"{round(read + share * difference)}ns" for share in shares)}


def _read_guess(_base: Config, measured: Sequence[Measured]) -> float | None:
    fast = _figures(measured, "read", "p10", "p50", "mean")
    return 0.85 * min(fast) if fast else None


def _work_guess(base: Config, measured: Sequence[Measured]) -> float | None:
    rates = [rate for one in measured if one.load.outstanding >= 32 for rate in _figures([one], "read", RATE)]
    processors = int(base["drive.processors"]) if "drive.processors" in base else 1
    return 0.8e9 * processors / max(rates) if rates else None


def _mean_program(base: Config) -> float:
    found = times(base, "nand.program")
    return sum(found) / len(found)


def _program(base: Config, values: Values) -> dict[str, str]:
    factor = values["program"] / _mean_program(base)
    return {"nand.program": ",".join(f"{round(one * factor)}ns" for one in times(base, "nand.program"))}


def _bandwidths(measured: Sequence[Measured], op: Literal["read", "write"]) -> list[float]:
    return [rate * one.load.size for one in measured for rate in _figures([one], op, RATE)]


def _program_guess(base: Config, measured: Sequence[Measured]) -> float | None:
    found, geometry = _bandwidths(measured, "write"), Geometry(base)
    return geometry.dies * geometry.program_bytes / max(found) * 1e9 if found else None


def _only_rate(base: Config, value: float) -> str:
    geometry = Geometry(base)
    rate = geometry.dies * geometry.program_bytes / value * 1e9
    return (
        f"only the total program throughput, {text.bandwidth(rate)}; {geometry.dies} dies and program units of "
        f"{text.exact_size(geometry.program_bytes)} are from the base"
    )


def _link(base: Config) -> float:
    written = base["drive.link"]
    return 1e12 if written == "none" else float(_ssdlab.size(written.removesuffix("/s")))


def _link_guess(_base: Config, measured: Sequence[Measured]) -> float | None:
    found = _bandwidths(measured, "read")
    return 1.02 * max(found) if found else None


def _suspend(part: str) -> Callable[[Config, Values], dict[str, str]]:
    return _set_time(f"{SUSPEND}.{part}", f"suspend_{part}")


def _write_rate(measured: Sequence[Measured]) -> float | None:
    """Returns the writes per second at saturation; if not measured, by Little's law from median latencies."""
    rates = _figures(measured, "write", RATE)
    medians = [one.load.outstanding / latency * 1e9 for one in measured for latency in _figures([one], "write", "p50")]
    return max(rates) if rates else max(medians) if medians else None


def _spare_guess(base: Config, measured: Sequence[Measured]) -> float | None:
    """Returns the over-provisioning at which the closed form of write amplification yields the measured write rate."""
    rate, geometry = _write_rate(measured), Geometry(base)
    if rate is None:
        return None
    programs = geometry.dies * geometry.program_bytes / _mean_program(base) * 1e9
    amplification = max(OF_PROGRAMS * programs / (rate * PAGE_BYTES), 1.05)
    # Solves A = alpha / (alpha + W(-alpha e^-alpha)) for alpha, the ratio of flash size to capacity.
    return -amplification * math.log(1 - 1 / amplification) - 1


def _slots_guess(_base: Config, measured: Sequence[Measured]) -> float | None:
    rate = _write_rate(measured)
    slot_times = _figures(measured, "write", *(f"{name}{LESS_READ}{name}" for name in ("mean", "p50")))
    return rate * max(slot_times) / 1e9 if rate and slot_times else None


def _pace_guess(_base: Config, measured: Sequence[Measured]) -> float | None:
    rate = _write_rate(measured)
    return 1e9 / rate if rate else None


def _buffer_key(base: Config) -> str:
    return f"drive.buffer.{base['drive.buffer']}.size"


def _has_buffer(base: Config) -> bool:
    return bool(base["drive.buffer"] != "none")


def _set_buffer(base: Config, values: Values) -> dict[str, str]:
    return {_buffer_key(base): f"{max(round(values['buffer'] / PAGE_BYTES), 1) * PAGE_BYTES}B"}


CATALOGUE = {
    one.name: one
    for one in (
        Parameter(
            "page_read", "page read (t_R), fastest type", "time", lambda base: min(times(base, "nand.read")),
            _page_times, 1e3, 2e6, "reads at depth 1", _read_guess,
        ),
        Parameter(
            "page_types", "extra t_R of the slowest page type", "time",
            lambda base: max(times(base, "nand.read")) - min(times(base, "nand.read")), _page_times, 0, 1e6,
            "p10 and p90 of reads at depth 1", shift=20e3,
            applies=lambda base: len({*times(base, "nand.read")}) > 1,
        ),
        Parameter(
            "read_work", "processor time per read", "time", _time("drive.work.read", "drive.command"),
            _set_time("drive.work.read", "read_work"), 10, 1e6, "reads at depths 64 and 256", _work_guess, shift=100,
        ),
        Parameter(
            "read_delay", "controller delay per read", "time", _time("drive.latency.read"),
            _set_time("drive.latency.read", "read_delay"), 0, 1e6,
            "reads at queue depths that saturate the dies", shift=20e3,
        ),
        Parameter(
            "link", "bandwidth of the host link", "bandwidth", _link,
            lambda _base, values: {"drive.link": f"{values['link'] / 1e6:.1f}MB/s"}, 1e7, 1e12,
            "sequential reads of 128 KiB", _link_guess,
        ),
        Parameter(
            "program", "program (t_PROG)", "time", _mean_program, _program, 1e4, 5e7,
            "sequential writes over the whole drive", _program_guess, only=_only_rate,
        ),
        Parameter(
            "write_delay", "controller delay per write", "time", _time("drive.latency.write"),
            _set_time("drive.latency.write", "write_delay"), 0, 1e6,
            "write p50 at depth 1, or with few background writes", shift=3e3,
        ),
        Parameter(
            "spare", "over-provisioning", "share", lambda base: Geometry(base).op,
            lambda _base, values: {"device.op": f"{100 * values['spare']:.4f}%"}, 0.01, 4.0,
            "random writes at saturation, after three overwrites of the drive", _spare_guess,
        ),
        Parameter(
            "slots", "command slots", "count", lambda base: float(base[SLOTS]),
            lambda _base, values: {SLOTS: str(max(1, round(values["slots"])))}, 2, 65536,
            "a latency probe with more background writes than the drive can serve", _slots_guess,
            applies=lambda base: bool(base["drive.protocol"] == "nvme"),
        ),
        Parameter(
            "pace", "time per page when writes are paced", "time", _time(PACE), _set_time(PACE, "pace"), 100, 1e7,
            "writes at saturation", _pace_guess, applies=_has_buffer,
        ),
        Parameter(
            "suspend_time", "suspension of a program", "time", _time(f"{SUSPEND}.time"), _suspend("time"), 1e3, 1e6,
            "read p90 with background writes at 15 and 30 % of the maximum rate",
        ),
        Parameter(
            "suspend_slice", "slice between suspensions", "time", _time(f"{SUSPEND}.slice"),
            _suspend("slice"), 0, 5e6,
            "read p99 and p99.9 with background writes at 15 and 30 % of the maximum rate", shift=20e3,
        ),
        Parameter(
            "suspend_spread", "random part of the suspension time", "time", _time(f"{SUSPEND}.spread"),
            _suspend("spread"), 0, 5e5, "reads with background writes, at more write rates", shift=20e3,
        ),
        Parameter(
            "buffer", "write buffer", "size",
            lambda base: float(_ssdlab.size(base[_buffer_key(base)])) if _has_buffer(base) else 0.0,
            _set_buffer, PAGE_BYTES, 1 << 32, "write p99.9 just below the maximum rate", applies=_has_buffer,
        ),
    )
}  # fmt: skip


def settings_of(base: Config, values: Values) -> dict[str, str]:
    """Returns the settings that correspond to the given parameter values."""
    return {key: value for name in values for key, value in CATALOGUE[name].settings(base, values).items()}
