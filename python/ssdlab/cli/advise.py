"""`ssdlab advise`."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.map_cache import ENTRY, PRESET, map_cache
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import option
from ssdlab.cli.output import deliver, show
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_trace
from ssdlab.model.numbers import above_zero
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.drive_advice import SPARE, YEARS, DriveAdvice, advise_drive

app = App()

SIZES = "Sizes"
DRIVES = "Drives"

NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


@app.command(examples="ssdlab advise mapcache traces/fileserver.csv.zst --target 95%")
@reads_trace
def mapcache(
    trace: TraceFile,
    cache: Annotated[
        str | None,
        option(
            "--cache SIZES", "RAM for segments, with commas; 8KiB to 512KiB if left out.", SIZES, check=_ssdlab.size
        ),
    ] = None,
    segment: Annotated[
        str | None,
        option(
            "--segment SIZES", "Sizes of a segment, with commas; 1KiB to 8KiB if left out.", SIZES, check=_ssdlab.size
        ),
    ] = None,
    entry: Annotated[str, option("--entry SIZE", "Size of an entry of the map.", SIZES, check=_ssdlab.size)] = ENTRY,
    target: Annotated[
        str,
        option("--target SHARE", "Requests per second to reach, of those with the whole map in RAM.", SIZES),
    ] = "95%",
    preset: options.Preset = PRESET,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    fit: options.Fit = None,
    json: options.Json = False,
) -> None:
    """Find the smallest map cache, and its segments, that come close to the whole map in RAM.

    One pass over the trace counts hits and misses of all caches and segment sizes exactly, for a cache that gives up
    the segment used longest ago, and write-backs of those asked for. Times are predicted: a miss reads a segment, a
    changed segment that is evicted is written back with those of its map page, and one chip does one operation after
    the other; garbage collection is left out.
    """
    share = _target(target)
    settings = options.configuration(preset, config, set, options.shortcuts(fit=fit))
    with watching("trace") as watch:
        advice = map_cache(
            trace,
            settings,
            caches=cache.split(",") if cache is not None else None,
            segments=segment.split(",") if segment is not None else None,
            entry=entry,
            monitor=watch,
        )
    if json:
        print(advice.to_json(share), end="")
    else:
        show(advice.page(share))


def _target(written: str) -> float:
    with options.blaming("--target"):
        share = _ssdlab.share(written)
    if not 0 < share <= 1:
        raise ConfigError(f"--target {written} is not above 0% and at most 100%; write 95%, for example")
    return share


@app.command(
    examples="""
ssdlab advise drive traces/oltp.csv.zst --dwpd 1 --p99 20ms
ssdlab advise drive oltp.csv --op 7%,14%,28% -A ftl.page.gc=greedy,fifo
"""
)
@reads_trace
def drive(
    trace: TraceFile,
    op: Annotated[str, option("--op SHARES", "Over-provisioning to try, with commas.", DRIVES)] = ",".join(SPARE),
    axes: Annotated[
        list[str],
        option(
            "--axis -A KEY=VALUES",
            "What else to vary, such as ftl.page.gc=greedy,cost_benefit or preset=tlc-nvme,sata-mlc. May be repeated.",
            DRIVES,
            complete=options.complete_set,
        ),
    ] = [],
    dwpd: Annotated[
        float | None,
        option("--dwpd NUMBER", "Capacities that the host writes each day; what the trace writes if left out.", DRIVES),
    ] = None,
    years: Annotated[float, option("--years NUMBER", "How long the drive is to last.", DRIVES)] = YEARS,
    p99: Annotated[
        str | None,
        option("--p99 TIME", "Response time that 99 % of the requests are to keep.", DRIVES),
    ] = None,
    seeds: Annotated[int, option("--seeds INTEGER", "Runs of each drive.", DRIVES, min=1)] = 1,
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    fit: options.Fit = None,
    repeat: options.Repeat = None,
    jobs: options.Jobs = None,
    reading: Mapping[str, Any] = NO_OPTIONS,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(DriveAdvice)] = None,
    figures: options.Figures = None,
) -> int:
    """Try drives with more and less spare space, and tell which has the least flash that lasts and answers in time.

    Each drive replays the trace until write amplification is steady, unless --repeat says how often. Life is what the
    flash endures over what the host writes in a day, amplified as measured; whether a drive keeps up with the trace or
    not, that is what the trace writes by its times, unless --dwpd says it.
    """
    settings = options.configuration(preset, config, set, options.shortcuts(fit=fit, repeat=repeat))
    with options.blaming("--p99"):
        bound = None if p99 is None else _ssdlab.nanos(p99)
    for name, value in (("--dwpd", dwpd), ("--years", years), ("--p99", bound)):
        if value is not None:
            above_zero(name, value)
    with watching("advise") as watch, options.given_as("op"):
        advice = advise_drive(
            trace, settings, op=op.split(","), axes=axes, dwpd=dwpd, years=years, p99_ns=bound, seeds=seeds, jobs=jobs,
            reading=reading, monitor=watch,
        )  # fmt: skip
    return deliver(advice, json=json, out=out, figures=figures)
