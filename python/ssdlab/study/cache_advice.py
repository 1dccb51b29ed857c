"""Advice on host memory: simulates partly compressed caches above a drive and finds the cheapest sufficient one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.cache.simulation import mrc
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, config_of
from ssdlab.model.finding import Contents, Plot
from ssdlab.model.numbers import above_zero
from ssdlab.model.requests import Monitor
from ssdlab.model.several import several
from ssdlab.model.trace_file import Given
from ssdlab.study.advising import LIFE, Advice, BySeed, life, repeating, values_by_point
from ssdlab.study.store.study import Study
from ssdlab.study.store.table import csv_rows
from ssdlab.study.sweep.axes import axis
from ssdlab.study.sweep.design import Design
from ssdlab.study.sweep.plan import plan, refuse_many
from ssdlab.study.sweep.running import question, run

MEMORY, COMPRESSED, POLICY = "cache.size", "cache.compressed", "cache.policy"
OPTIONS = {MEMORY: "memory", COMPRESSED: "compressed"}
"""Keys of the settings that have their own option, each with the name that messages show for this option."""

SHARES = ("0%", "50%")
"""Default shares of the memory for compressed pages."""

PARTS = (32, 16, 8, 4, 2)
"""Divisors of the trace's footprint for the default memory sizes, which are rounded down to powers of two."""

LEAST_BYTES = 64 << 10

REPEAT = {"host.repeat.times.count": 2}
"""Default settings for replaying a trace: the first replay fills the cache, the second is measured."""

GIB = 1 << 30

READS, HITS = "cache.counters.read_pages", "cache.counters.read_hits"
READ_BYTES, WRITTEN_BYTES = "host.bytes_read", "host.bytes_written"
WAF, READ_P99, FLASH = "write_amplification", "latency.read.p99_ns", "device.physical_bytes"


class Prices(NamedTuple):
    """Costs per GiB, in any currency."""

    dram: float
    flash: float


class CacheChoice(NamedTuple):
    """A simulated cache above a simulated drive. Metrics are means over the seeds."""

    levels: Mapping[str, str]
    memory_bytes: int
    hit_ratio: float | None
    """Share of host page reads that the cache served; None without reads."""
    read_bytes: float
    """Bytes that the host read from the drive."""
    written_bytes: float
    """Bytes that the host wrote to the drive."""
    write_amplification: float | None
    """Write amplification of the drive; None if nothing was written to it."""
    read_p99_ns: float | None
    """p99 response time of the host's reads, including hits; None if time is not simulated."""
    years: float | None
    """Years until the drive wears out at the write rate of the trace; None if unknown."""
    flash_bytes: float
    cost: float | None
    """Cost of memory and flash; None without prices."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CacheAdvice(Advice):
    """The trade-off between host memory and the drive's load, latency and lifetime. Varies the size of the memory and
    the share of it that holds compressed pages.

    Files: `report.html`, `cache-advice.json`, and `cache-advice.csv` with a line per combination.
    """

    _page = "cache_advice"
    _json = "cache-advice.json"
    saved = "report.html, cache-advice.json and cache-advice.csv"

    choices: Sequence[CacheChoice]
    """Combinations that were simulated, in ascending order of memory."""
    prices: Prices | None
    read_p99_ns: float | None
    """Required p99 response time of reads in nanoseconds, if any."""
    hit_ratio: float | None
    """Required hit ratio of reads, if any."""
    above: float | None
    """Hit ratio of the cache whose misses the trace contains; None if unknown."""
    accesses: bool
    """True if the trace holds all accesses of the program, not only the misses of a cache."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Keys of the settings that vary between the combinations."""
        return tuple(self.choices[0].levels) if self.choices else self.study.columns

    def overall(self, choice: CacheChoice) -> float | None:
        """Returns the combined read hit ratio of this cache and the cache above it; None if unknown."""
        if choice.hit_ratio is None:
            return None
        return choice.hit_ratio if self.above is None else 1 - (1 - self.above) * (1 - choice.hit_ratio)

    def meets(self, choice: CacheChoice) -> bool:
        """True if a combination meets all goals."""
        overall = self.overall(choice)
        is_fast = self.read_p99_ns is None or (
            choice.read_p99_ns is not None and choice.read_p99_ns <= self.read_p99_ns
        )
        return is_fast and (self.hit_ratio is None or (overall is not None and overall >= self.hit_ratio))

    @property
    def has_goal(self) -> bool:
        """True if the user requires a response time or a hit ratio."""
        return self.read_p99_ns is not None or self.hit_ratio is not None

    @property
    def best(self) -> CacheChoice | None:
        """The cheapest combination that meets the goals or, without prices, the combination with the least memory. If
        several are equally cheap, the combination that reads least from the drive. None without a goal.
        """
        if not self.has_goal:
            return None

        def expense(choice: CacheChoice) -> tuple[float, float, float]:
            cost = choice.memory_bytes if choice.cost is None else choice.cost
            return cost, choice.flash_bytes, choice.read_bytes

        return min((choice for choice in self.choices if self.meets(choice)), key=expense, default=None)

    @cached_property
    def _by_others(self) -> dict[tuple[tuple[str, str], ...], list[CacheChoice]]:
        groups: dict[tuple[tuple[str, str], ...], list[CacheChoice]] = {}
        for choice in self.choices:
            groups.setdefault(_others(choice), []).append(choice)
        return groups

    def larger(self, choice: CacheChoice) -> CacheChoice | None:
        """Returns the combination with the next larger memory and otherwise identical settings, if there is one."""
        group = self._by_others[_others(choice)]
        return next((other for other in group if other.memory_bytes > choice.memory_bytes), None)

    def saved_per_gib(self, choice: CacheChoice) -> float | None:
        """Returns the reduction in bytes read from the drive, per additional GiB of memory, when memory grows to the
        next larger size. None for the largest size.
        """
        larger = self.larger(choice)
        if larger is None:
            return None
        return (choice.read_bytes - larger.read_bytes) * GIB / (larger.memory_bytes - choice.memory_bytes)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                **choice.levels,
                "memory_bytes": choice.memory_bytes,
                "hit_ratio": choice.hit_ratio,
                "overall_hit_ratio": None if self.above is None else self.overall(choice),
                "bytes_read_from_drive": choice.read_bytes,
                "bytes_written_to_drive": choice.written_bytes,
                "read_bytes_saved_per_gib": self.saved_per_gib(choice),
                "write_amplification": choice.write_amplification,
                "read_p99_ns": choice.read_p99_ns,
                "years": choice.years,
                "flash_bytes": choice.flash_bytes,
                "cost": choice.cost,
                "meets": self.meets(choice),
            }
            for choice in self.choices
        ]

    def to_dict(self) -> dict[str, Any]:
        """Returns the goals, the best combination and all combinations, ready for JSON."""
        best = self.best
        return {
            "read_p99_ns": self.read_p99_ns,
            "hit_ratio": self.hit_ratio,
            "dram_cost_per_gib": None if self.prices is None else self.prices.dram,
            "flash_cost_per_gib": None if self.prices is None else self.prices.flash,
            "hit_ratio_above": self.above,
            "accesses": self.accesses,
            "measured": self.measured,
            "caches": self._rows(),
            "best": None if best is None else dict(best.levels),
        }

    def _tables(self) -> Contents:
        return {"cache-advice.csv": csv_rows(self._rows())}

    plot = Plot("advice.trade")

    def __repr__(self) -> str:
        return f"<ssdlab.CacheAdvice: {len(self.choices)} caches>"


@takes(memory=["64MiB", "256MiB"], axes=["device.op=7%,28%"])
def advise_cache(
    trace: Given,
    config: Config | Overrides | None = None,
    *,
    memory: Sequence[str] | None = None,
    compressed: Sequence[str] = SHARES,
    axes: Sequence[str] = (),
    dram_cost: float | None = None,
    flash_cost: float | None = None,
    read_p99_ns: float | None = None,
    hit_ratio: float | None = None,
    above: float | None = None,
    accesses: bool = False,
    seeds: int = 1,
    jobs: int | None = None,
    reading: Mapping[str, Any] | None = None,
    monitor: Monitor | None = None,
) -> CacheAdvice:
    """Simulates a trace with host caches of several sizes, partly compressed, above a drive.

    A trace is replayed twice, unless the configuration sets `host.repeat`: the first replay fills the cache.

    Args:
        trace: Trace file to replay.
        config: Cache policy, drive and `host.repeat`; an LRU cache above the default drive if None.
        memory: Memory sizes of the cache; by default 1/2 to 1/32 of the trace's footprint.
        compressed: Shares of the memory for compressed pages.
        axes: Further axes, as for `sweep`, such as `["device.op=7%,28%"]`.
        dram_cost: Cost of a GiB of memory; needs `flash_cost`.
        flash_cost: Cost of a GiB of flash.
        read_p99_ns: Required p99 response time of reads, if any.
        hit_ratio: Required hit ratio of reads, as a fraction of 1, if any.
        above: Hit ratio of the cache whose misses the trace contains, such as the buffer pool of a database, if known.
        accesses: True if the trace holds all accesses of the program, not only the misses of a cache.
        seeds: Number of runs per combination.
        jobs: Number of worker processes; one per processor if None.
        reading: `TraceFile` options for traces on an axis.
        monitor: Called with the number of finished runs; a true return value stops the sweep.

    Raises:
        ConfigError: If arguments are invalid, or no combination can be simulated.
        TraceError: If the trace is not a readable file.
    """
    prices = _prices(dram_cost, flash_cost)
    read_p99_ns = None if read_p99_ns is None else above_zero("read_p99_ns", read_p99_ns)
    for name, share in (("hit_ratio", hit_ratio), ("above", above)):
        if share is not None and not 0 <= share <= 1:
            raise ConfigError(f"{name} {share:g}: must be from 0 to 1")
    base = repeating(config_of(config), REPEAT)
    if base[POLICY] == "none":
        base = base.with_overrides({POLICY: "lru"})
    others = several(axes)
    for key, name in OPTIONS.items():
        if any(key in axis(one).keys for one in others):
            raise ConfigError(f"axis {key}: already varied by {name}; set its values with {name}")
    if read_p99_ns is not None and base["time"] == "count":
        raise ConfigError('time: "count" does not simulate latency, which read_p99 requires; set time to "event"')
    sizes = _sizes(trace, base) if memory is None else several(memory)
    asked = question(
        [{MEMORY: sizes}, {COMPRESSED: several(compressed)}, *others],
        base, trace, design=Design(), without=(), seeds=seeds, outcomes=(), reading=reading,
    )  # fmt: skip
    refuse_many(asked, "try fewer memory sizes, or fewer seeds")
    study = run(plan(replace(asked, written=OPTIONS)), None, jobs=jobs, cluster=None, monitor=monitor)
    choices = _choices(study, prices)
    if not choices and not study.partial:
        _, _, why = next(iter(study.failures)).partition(": ")
        raise ConfigError(f"all simulations of caches failed: {why}")
    return CacheAdvice(
        study=study, choices=choices, prices=prices, read_p99_ns=read_p99_ns, hit_ratio=hit_ratio, above=above,
        accesses=accesses,
    )  # fmt: skip


def _others(choice: CacheChoice) -> tuple[tuple[str, str], ...]:
    return tuple(level for level in choice.levels.items() if level[0] != MEMORY)


def _prices(dram: float | None, flash: float | None) -> Prices | None:
    if dram is None and flash is None:
        return None
    if dram is None or flash is None:
        missing = "memory" if dram is None else "flash"
        raise ConfigError(
            f"the cost of {missing} is missing; set both costs, because the total is the sum for memory and flash"
        )
    return Prices(above_zero("dram_cost", dram), above_zero("flash_cost", flash))


def _sizes(trace: Given, base: Config) -> list[str]:
    curve = mrc(trace, ["lru"], ["100%"], page=str(base["cache.page"]))
    footprint = curve.footprint_units * (curve.unit_bytes or 0)
    sizes = dict.fromkeys(max(LEAST_BYTES, 1 << (footprint // part).bit_length() - 1) for part in PARTS)
    return [text.exact_size(size) for size in sizes]


def _choices(study: Study, prices: Prices | None) -> list[CacheChoice]:
    names = (READS, HITS, READ_BYTES, WRITTEN_BYTES, WAF, READ_P99, FLASH, *LIFE.values())
    choices = [_choice(dict(key), values, prices) for key, values in values_by_point(study, names).items()]
    return sorted(choices, key=lambda choice: choice.memory_bytes)


def _choice(levels: Mapping[str, str], values: BySeed, prices: Prices | None) -> CacheChoice:
    means = {name: sum(by_seed) / len(by_seed) for name, by_seed in values.items()}
    memory, flash = _ssdlab.size(levels[MEMORY]), means[FLASH]
    years = life(values).by_seed
    return CacheChoice(
        levels=levels,
        memory_bytes=memory,
        hit_ratio=means[HITS] / means[READS] if means[READS] else None,
        read_bytes=means[READ_BYTES],
        written_bytes=means[WRITTEN_BYTES],
        write_amplification=means.get(WAF),
        read_p99_ns=means.get(READ_P99),
        years=sum(years) / len(years) if years else None,
        flash_bytes=flash,
        cost=None if prices is None else (prices.dram * memory + prices.flash * flash) / GIB,
    )
