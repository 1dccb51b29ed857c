"""`ssdlab advise`."""

from typing import Annotated

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.map_cache import ENTRY, PRESET, map_cache
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.output import show
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_trace
from ssdlab.model.trace_file import TraceFile

app = App()

SIZES = "Sizes"


@app.command(examples="ssdlab advise mapcache traces/fileserver.csv.zst --target 95%")
@reads_trace
def mapcache(
    trace: TraceFile,
    cache: Annotated[
        str | None,
        options.option("--cache SIZES", "RAM for segments, with commas; 8KiB to 512KiB if left out.", SIZES),
    ] = None,
    segment: Annotated[
        str | None,
        options.option("--segment SIZES", "Sizes of a segment, with commas; 1KiB to 8KiB if left out.", SIZES),
    ] = None,
    entry: Annotated[str, options.option("--entry SIZE", "Size of an entry of the map.", SIZES)] = ENTRY,
    target: Annotated[
        str,
        options.option("--target SHARE", "Requests per second to reach, of those with the whole map in RAM.", SIZES),
    ] = "95%",
    preset: options.Preset = PRESET,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    fit: options.Fit = None,
    json: options.Json = False,
) -> None:
    """Find the smallest map cache, and its segments, that come close to the whole map in RAM.

    One pass over the trace counts hits and misses of all caches and segment sizes exactly, for a cache that gives up
    the segment used longest ago. Times are predicted: a miss reads a segment, a changed segment that is evicted is
    written back, and one chip does one operation after the other; garbage collection is left out.
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
