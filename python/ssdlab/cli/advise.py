"""The command `ssdlab advise`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.map_cache import ENTRY, PRESET, map_cache
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import group, option
from ssdlab.cli.options import Output, ReplaySettings, Settings
from ssdlab.cli.output import show
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_trace
from ssdlab.model.numbers import above_zero
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.drive_advice import SPARE, YEARS, DriveAdvice, advise_drive

app = App()

SIZES = "Sizes"
DRIVES = "Drives"


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
    """Find the smallest map cache, with its segment size, that performs almost like the whole map in RAM.

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
    op: str = option("--op SHARES", "Over-provisioning, separated by commas.", DRIVES, default=",".join(SPARE)),
    axes: list[str] = option(
        "--axis -A KEY=VALUES",
        "Another setting to vary, such as ftl.page.gc=greedy,cost_benefit or preset=tlc-nvme,sata-mlc. May be "
        "repeated.",
        DRIVES,
        complete=options.complete_set,
    ),
    dwpd: float | None = option(
        "--dwpd NUMBER", "Host writes per day, in drive capacities; the trace's write rate by default.", DRIVES
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

    Each drive replays the trace until write amplification is steady, unless --repeat says how often. Lifetime is the
    endurance of the flash over the bytes written to it per day: host writes at the rate of the trace, or --dwpd, times
    the measured write amplification.
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
