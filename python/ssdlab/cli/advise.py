"""The command `ssdlab advise`."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.map_cache import ENTRY, PRESET, map_cache
from ssdlab.analyse.postgres import hit_ratio as buffer_pool_hit_ratio
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import group, option
from ssdlab.cli.options import Output, ReplaySettings, Settings
from ssdlab.cli.output import show
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_trace
from ssdlab.model.numbers import above_zero
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.cache_advice import SHARES, CacheAdvice, advise_cache
from ssdlab.study.drive_advice import SPARE, YEARS, DriveAdvice, advise_drive

app = App()

SIZES = "Sizes"
DRIVES = "Drives"
CACHES, GOALS = "Caches", "Goals and costs"


@app.command(examples="ssdlab advise mapcache traces/fileserver.csv.zst --target 95%")
@reads_trace
def mapcache(
    trace: TraceFile,
    cache: str | None = option(
        "--cache SIZES", "Cache sizes, separated by commas; 8KiB to 512KiB by default.", SIZES, check=_ssdlab.size
    ),
    segment: str | None = option(
        "--segment SIZES", "Segment sizes, separated by commas; 1KiB to 8KiB by default.", SIZES, check=_ssdlab.size
    ),
    entry: str = option("--entry SIZE", "Size of a map entry.", SIZES, default=ENTRY, check=_ssdlab.size),
    target: str = option(
        "--target SHARE", "IOPS to reach, as a share of the IOPS with the whole map in RAM.", SIZES, default="95%"
    ),
    settings: Settings = group(preset=options.PRESET._replace(default=PRESET)),
    fit: str | None = options.FIT,
    json: bool = options.JSON,
) -> None:
    """Find the smallest map cache, and its segment size, with which the drive is almost as fast as with the whole map
    in RAM.

    One pass over the trace counts hits and misses of all LRU caches and segment sizes exactly, and write-backs for the
    listed sizes. Times are predicted: a miss reads a segment, evicting a changed segment writes back all changed
    segments of its map page, and one chip executes one operation at a time. Garbage collection is not modelled.
    """
    share = options.share("--target", target)
    if not 0 < share <= 1:
        raise ConfigError(f"--target {target} must be above 0% and at most 100%, for example 95%")
    with watching("trace") as watch:
        advice = map_cache(
            trace,
            settings.resolved(fit=fit),
            caches=cache.split(",") if cache is not None else None,
            segments=segment.split(",") if segment is not None else None,
            entry=entry,
            monitor=watch,
        )
    if json:
        print(advice.to_json(share), end="")
    else:
        show(advice.page(share))


@app.command(
    examples="""
ssdlab advise drive traces/oltp.csv.zst --dwpd 1 --p99 20ms
ssdlab advise drive oltp.csv --op 7%,14%,28% -A ftl.page.gc=greedy,fifo
"""
)
@reads_trace
def drive(
    trace: TraceFile,
    op: str = option("--op SHARES", "Over-provisioning values, separated by commas.", DRIVES, default=",".join(SPARE)),
    axes: list[str] = option(
        "--axis -A KEY=VALUES",
        "Another setting to vary, such as ftl.page.gc=greedy,cost_benefit or preset=tlc-nvme,sata-mlc. May be "
        "repeated.",
        DRIVES,
        complete=options.complete_set,
    ),
    dwpd: float | None = option(
        "--dwpd NUMBER", "Drive writes per day (DWPD); the trace's write rate by default.", DRIVES
    ),
    years: float = option("--years NUMBER", "Required lifetime.", DRIVES, default=YEARS),
    p99: str | None = option("--p99 TIME", "Maximum p99 response time.", DRIVES),
    seeds: int = option("--seeds INTEGER", "Number of seeds per drive.", DRIVES, default=1, min=1),
    settings: ReplaySettings = group(),
    jobs: int | None = options.JOBS,
    reading: Mapping[str, Any] = MappingProxyType({}),
    output: Output = options.saving(DriveAdvice),
) -> int:
    """Simulate drives with different over-provisioning and find the smallest that meets lifetime and p99 goals.

    Each drive replays the trace until write amplification is steady, unless --repeat sets the number of replays.
    Lifetime is the flash's endurance divided by the bytes written to flash per day. These are the host writes per day
    (the rate of the trace, or --dwpd) times the measured write amplification.
    """
    with options.blaming("--p99"):
        bound = None if p99 is None else _ssdlab.nanos(p99)
    for name, value in (("--dwpd", dwpd), ("--years", years), ("--p99", bound)):
        if value is not None:
            above_zero(name, value)
    base = settings.resolved(settings.shortcuts)
    with watching("advise") as watch, options.given_as("op"):
        advice = advise_drive(
            trace, base, op=op.split(","), axes=axes, dwpd=dwpd, years=years, p99_ns=bound, seeds=seeds, jobs=jobs,
            reading=reading, monitor=watch,
        )  # fmt: skip
    return output.deliver(advice)


@app.command(
    examples="""
ssdlab advise cache traces/oltp.csv.zst --read-p99 500us --dram-cost 3
ssdlab advise cache below.csv --stats pg_stat_io.csv --hit-ratio 99%
"""
)
@reads_trace
def cache(
    trace: TraceFile,
    memory: str | None = option(
        "--memory SIZES",
        "Memory sizes, separated by commas; by default 1/2 to 1/32 of the accessed pages.",
        CACHES,
    ),
    compressed: str = option(
        "--compressed SHARES", "Shares of the memory that hold compressed pages.", CACHES, default=",".join(SHARES)
    ),
    policy: str | None = option("--policy -P NAME", "Replacement policy; lru by default.", CACHES),
    axes: list[str] = option(
        "--axis -A KEY=VALUES",
        "Another setting to vary, such as device.op=7%,28% or cache.codec=lz4,zstd. May be repeated.",
        CACHES,
        complete=options.complete_set,
    ),
    dram_cost: str | None = option("--dram-cost COST", "Cost of a GiB of memory, in any currency.", GOALS),
    flash_cost: str | None = option("--flash-cost COST", "Cost of a GiB of flash.", GOALS),
    read_p99: str | None = option("--read-p99 TIME", "Maximum p99 response time of reads, hits included.", GOALS),
    hit_ratio: str | None = option("--hit-ratio SHARE", "Minimum share of page reads served from the cache.", GOALS),
    stats: Path | None = option(
        "--stats FILE",
        "CSV export of PostgreSQL's view pg_stat_io, pg_stat_database or pg_statio; its counters give the hit ratio of "
        "the buffer pool whose misses the trace contains.",
        GOALS,
    ),
    accesses: bool = option(
        "--accesses", "The trace contains all accesses of the program, not only the misses of a cache.", GOALS
    ),
    seeds: int = option("--seeds INTEGER", "Number of seeds per combination.", CACHES, default=1, min=1),
    settings: ReplaySettings = group(),
    jobs: int | None = options.JOBS,
    reading: Mapping[str, Any] = MappingProxyType({}),
    output: Output = options.saving(CacheAdvice),
) -> int:
    """Simulate host memory of several sizes as a cache above a drive, uncompressed and partly compressed, and find the
    cheapest that meets the goals.

    The trace is replayed twice, unless --repeat sets the number of replays; the first replay fills the cache. Costs
    cover memory and flash.
    """
    with options.blaming("--read-p99"):
        bound = None if read_p99 is None else _ssdlab.nanos(read_p99)
    if bound is not None:
        above_zero("--read-p99", bound)
    wanted = None if hit_ratio is None else options.share("--hit-ratio", hit_ratio)
    if accesses and stats is not None:
        raise ConfigError(
            "--stats needs a trace of cache misses, but --accesses declares a trace of all accesses; omit --accesses"
        )
    above = None if stats is None else buffer_pool_hit_ratio(stats)
    base = settings.resolved(
        [*settings.shortcuts, *([] if policy is None else [("--policy", f"cache.policy={policy}")])]
    )
    with watching("advise") as watch, options.given_as("memory"), options.given_as("compressed"):
        advice = advise_cache(
            trace, base, memory=None if memory is None else memory.split(","), compressed=compressed.split(","),
            axes=axes, dram_cost=_cost("--dram-cost", dram_cost), flash_cost=_cost("--flash-cost", flash_cost),
            read_p99_ns=bound, hit_ratio=wanted, above=above, accesses=accesses, seeds=seeds, jobs=jobs,
            reading=reading, monitor=watch,
        )  # fmt: skip
    return output.deliver(advice)


def _cost(name: str, written: str | None) -> float | None:
    """Parses a cost per GiB, such as `3` or `0.08/GiB`; returns None if no cost is given."""
    if written is None:
        return None
    try:
        cost = float(written.removesuffix("/GiB"))
    except ValueError:
        raise ConfigError(f"{name} {text.path(written)}: the cost per GiB must be a number, such as 3") from None
    return above_zero(name, cost)
