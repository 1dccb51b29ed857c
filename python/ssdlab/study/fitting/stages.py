"""Order in which parameters are fitted, and the metrics to which each stage is fitted.

Most stages fit a few parameters to metrics that hardly depend on any other parameter, and keep the parameters of
earlier stages fixed:

- Loads that only read determine page reads and the controller.
- Sequential writes determine the program time.
- Reads with few background writes determine suspension.
- Writes at saturation determine slots, over-provisioning or pacing.

If the metrics of a stage also depend on parameters of later stages, the stage is repeated after these stages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ssdlab.lazy import np
from ssdlab.model.config import Config
from ssdlab.study.fitting.load import LESS_READ, RATE, Figure, Load, Measured
from ssdlab.study.fitting.parameters import SUSPEND

SATURATED = 10.0
"""A drive is saturated if its median write latency exceeds the lowest median of all loads by more than this factor."""

KEPT_UP = 0.95
"""A drive does not keep up with the load if it serves less than this share of the offered writes."""

PACED = 0.1
"""Writes count as paced if the relative spread of their latencies at saturation, (p99.9 - p50) / p50, is below this."""

MOST_LOADS = 3
"""Maximum number of loads below saturation that a stage simulates."""

START = {"time": "60us", "slice": "250us", "spread": "20us"}
"""Initial suspension settings of the search if the base drive does not suspend programs."""

OPS: tuple[Literal["read", "write"], ...] = ("read", "write")

Change = dict[str, str]


@dataclass(frozen=True)
class Stage:
    """Parameters that are fitted together, and the metrics to which they are fitted."""

    name: str
    parameters: tuple[str, ...]
    """Names of the parameters; if the measurements cannot tell two apart, only the first is fitted."""
    choose: Callable[[Sequence[Measured]], list[Measured]]
    """Selects the loads and metrics to which the stage is fitted; returns an empty list if none were measured."""
    variants: Callable[[Config, Sequence[Measured]], list[Change]] = lambda _base, _chosen: [{}]
    """Returns alternative settings for the base drive. Each alternative is fitted, and the best fit is used."""
    measure: str = ""
    """Measurement to suggest if the stage has no metrics."""


def _only(measured: Measured, figures: dict[Figure, float]) -> list[Measured]:
    return [Measured(measured.load, figures)] if figures else []


def is_saturated(measured: Measured, all_loads: Sequence[Measured]) -> bool:
    """True if the load offers more writes than the drive can serve."""
    load = measured.load
    if not load.has_writes or load.pattern != "random":
        return False
    if load.is_closed:
        return load.outstanding >= 16
    rate = measured.figures.get(Figure("write", RATE))
    if rate is not None:
        return rate < KEPT_UP * load.offered_writes
    medians = [value for one in all_loads if (value := one.figures.get(Figure("write", "p50"))) is not None]
    own = measured.figures.get(Figure("write", "p50"))
    return own is not None and own > SATURATED * min(medians)


def _reads_alone(loads: Sequence[Measured]) -> list[Measured]:
    alone = [one for one in loads if not one.load.has_writes and one.load.pattern == "random"]
    if alone:
        return alone
    # With few background writes, at most half of the reads wait for a program.
    mixed = sorted((one for one in loads if _mixed(one.load)), key=lambda one: one.load.offered_writes)
    few = mixed[0] if mixed else None
    if few is None:
        return []
    fast = {figure: value for figure, value in few.chosen("read").items() if (figure.percentile or 100) <= 50}
    return _only(few, fast)


def _mixed(load: Load) -> bool:
    return not load.is_closed and load.has_writes and load.probe.reads > 0


def _sequential(op: str) -> Callable[[Sequence[Measured]], list[Measured]]:
    def choose(loads: Sequence[Measured]) -> list[Measured]:
        return [
            only for one in loads if one.load.pattern == "sequential" for only in _only(one, {**one.chosen(op, RATE)})
        ]

    return choose


def _few_writes(loads: Sequence[Measured]) -> list[Measured]:
    below = [one for one in loads if one.load.pattern == "random" and not is_saturated(one, loads)]
    writing = sorted((one for one in below if one.chosen("write", "p50", "mean")), key=_intensity)
    return [Measured(one.load, dict([*one.chosen("write", "p50", "mean").items()][:1])) for one in writing[:1]]


def _intensity(measured: Measured) -> float:
    return measured.load.offered_writes or measured.load.outstanding


def below_capacity(loads: Sequence[Measured]) -> list[Measured]:
    """Returns the loads below saturation with a probe and background writes, in ascending order of writes."""
    return sorted((one for one in loads if _mixed(one.load) and not is_saturated(one, loads)), key=_intensity)


def _beside_writes(loads: Sequence[Measured]) -> list[Measured]:
    below = below_capacity(loads)
    # Omits the load just below saturation if there are enough others, because other mechanisms affect its metrics too.
    chosen = below[:-1] if len(below) > MOST_LOADS else below
    places = np.unique(np.linspace(0, len(chosen) - 1, min(len(chosen), MOST_LOADS)).round().astype(int)).tolist()
    return [only for at in places for only in _only(chosen[at], chosen[at].chosen("read"))]


def _with_suspension(base: Config, _chosen: Sequence[Measured]) -> list[Change]:
    if base["nand.suspend"] == "erase_and_program":
        return [{}]
    return [{f"{SUSPEND}.{part}": value for part, value in START.items()}]


def _saturated(loads: Sequence[Measured]) -> list[Measured]:
    above = sorted((one for one in loads if is_saturated(one, loads)), key=_intensity)
    return [
        only
        for one in ([above[0], above[-1]] if len(above) > 1 else above)
        for only in _only(
            one,
            {
                **{
                    figure: value
                    for figure, value in one.figures.items()
                    if figure.is_rate or figure.name in ("p50", "mean", "p90")
                },
                **_slot_time(one),
            },
        )
    ]


def _slot_time(measured: Measured) -> dict[Figure, float]:
    """Returns the difference between write and read latency. Reads and writes wait equally long for a command slot, and
    a write then holds its slot for about as long as this difference. By Little's law, the number of slots is the
    difference multiplied by the write rate. At saturation, simulated latencies vary widely, but the difference varies
    little.
    """
    for name in ("mean", "p50"):
        read, write = (measured.figures.get(Figure(op, name)) for op in OPS)
        if read is not None and write is not None and write > read:
            return {Figure("write", f"{name}{LESS_READ}{name}"): write - read}
    return {}


def _is_paced(loads: Sequence[Measured]) -> bool:
    for one in loads:
        median, tail = (one.figures.get(Figure("write", name)) for name in ("p50", "p99.9"))
        if median is not None and tail is not None and (tail - median) / median < PACED:
            return True
    return False


def _paced(loads: Sequence[Measured]) -> list[Measured]:
    above = [one for one in loads if is_saturated(one, loads)]
    return _saturated(loads) if _is_paced(above) else []


def _flash_limited(loads: Sequence[Measured]) -> list[Measured]:
    above = [one for one in loads if is_saturated(one, loads)]
    return [] if _is_paced(above) else _saturated(loads)


def _reads_and_saturated(loads: Sequence[Measured]) -> list[Measured]:
    alone, above = _reads_alone(loads), _flash_limited(loads)
    return [*alone, *above] if alone and above else []


def _arbitrations(base: Config, chosen: Sequence[Measured]) -> list[Change]:
    several = any(len(one.load.queues) > 1 for one in chosen)
    if base["drive.protocol"] != "nvme" or not several:
        return [{}]
    return [{"drive.protocol.nvme.arbitration": way} for way in ("round_robin", "fifo")]


def _with_pace(base: Config, chosen: Sequence[Measured]) -> list[Change]:
    pace: Change = {} if base["drive.pace"] == "tokens" else {"drive.pace": "tokens", "drive.pace.tokens.burst": "3"}
    return [{**pace, **way} for way in _arbitrations(base, chosen)]


def _near_capacity(loads: Sequence[Measured]) -> list[Measured]:
    below = below_capacity(loads)
    if not below or not any(is_saturated(one, loads) for one in loads):
        return []
    return _only(below[-1], below[-1].chosen("write", "p99", "p99.9"))


ABOVE = (
    Stage(
        "writes at saturation", ("spare", "slots"), _flash_limited, _arbitrations,
        measure="a latency probe with background writes at 120 % of the maximum rate",
    ),
    Stage("paced writes", ("pace", "slots"), _paced, _with_pace),
    # At high queue depth, a small number of slots limits reads in the same way as a slow processor. So the parameters
    # of both stages are fitted together.
    Stage(
        "read-only loads and writes at saturation",
        ("page_read", "read_work", "page_types", "read_delay", "spare", "slots"), _reads_and_saturated,
    ),
)  # fmt: skip

STAGES = (
    Stage(
        "read-only loads", ("page_read", "read_work", "page_types", "read_delay"), _reads_alone,
        measure="reads at depths 1 to 256",
    ),
    Stage("sequential reads", ("link",), _sequential("read"), measure="sequential reads"),
    Stage("sequential writes", ("program",), _sequential("write"), measure="sequential writes over the whole drive"),
    Stage(
        "few writes", ("write_delay",), _few_writes,
        measure="writes at depth 1, or a latency probe with background writes at 15 % of the maximum rate",
    ),
    *ABOVE,
    Stage(
        "reads during writes", ("suspend_time", "suspend_slice", "suspend_spread"), _beside_writes, _with_suspension,
        measure="a latency probe with background writes at 15 to 75 % of the maximum rate",
    ),
    # Suspended programs reduce the write rate at saturation, so the stages above saturation are repeated.
    *ABOVE,
    Stage(
        "writes near the maximum rate", ("buffer",), _near_capacity,
        measure="a latency probe with background writes at 90 and 120 % of the maximum rate",
    ),
)  # fmt: skip
