"""`ssdlab advise`."""

from pathlib import Path
from typing import Annotated

import typer

from ssdlab import ConfigError, TraceFile, _ssdlab, text
from ssdlab.advise import ENTRY, PRESET, MapCacheAdvice, MapCacheChoice, map_cache
from ssdlab.cli import options
from ssdlab.cli.progress import display

app = typer.Typer(
    help="Choose the design of a drive by a trace, without simulating every choice.", no_args_is_help=True
)

SIZES = "Sizes"


@app.callback()
def _group() -> None:
    """Keeps `mapcache` a command of its own while it is the only one."""


@app.command(epilog="[bold]Example[/bold]\n\n  ssdlab advise mapcache traces/fileserver.csv.zst --target 95%")
def mapcache(
    trace: Annotated[list[Path], typer.Argument(metavar="TRACE", help="Files of one trace, in order.")],
    cache: Annotated[
        str | None,
        typer.Option(
            "--cache",
            metavar="SIZES",
            help="RAM for segments, with commas; 8KiB to 512KiB if left out.",
            rich_help_panel=SIZES,
        ),
    ] = None,
    segment: Annotated[
        str | None,
        typer.Option(
            "--segment",
            metavar="SIZES",
            help="Sizes of a segment, with commas; 1KiB to 8KiB if left out.",
            rich_help_panel=SIZES,
        ),
    ] = None,
    entry: Annotated[
        str, typer.Option("--entry", metavar="SIZE", help="Size of an entry of the map.", rich_help_panel=SIZES)
    ] = ENTRY,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            metavar="SHARE",
            help="Requests per second to reach, of those with the whole map in RAM.",
            rich_help_panel=SIZES,
        ),
    ] = "95%",
    preset: options.Preset = PRESET,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    fit: options.Fit = None,
    format: options.Format = None,
    device: options.Device = None,
    action: options.Action = None,
    skip_bad: options.SkipBad = False,
    json: options.Json = False,
) -> None:
    """Find the smallest map cache, and its segments, that come close to the whole map in RAM.

    One pass over the trace counts hits and misses of all caches and segment sizes exactly, for a cache that gives up
    the segment used longest ago. Times are predicted: a miss reads a segment, a changed segment that gives way is
    written back, and one chip does one operation after the other; garbage collection is left out.
    """
    share = _target(target)
    settings = options.configuration(preset, config, set, options.shortcuts(fit=fit))
    file = TraceFile(*trace, format=format, device=device, action=action, skip_bad=skip_bad)
    with display() as shown:
        watch = shown.watch("trace")
        advice = map_cache(
            file,
            settings,
            caches=cache.split(",") if cache is not None else None,
            segments=segment.split(",") if segment is not None else None,
            entry=entry,
            monitor=watch,
        )
        watch.finish()
    if json:
        print(advice.to_json(share), end="")
    else:
        _show(advice, share)


def _target(written: str) -> float:
    share = _ssdlab.share(written)
    if not 0 < share <= 1:
        raise ConfigError(f"--target {written} is not above 0% and at most 100%; write 95%, for example")
    return share


def _show(advice: MapCacheAdvice, target: float) -> None:
    from rich.text import Text

    from ssdlab.cli.tables import console, plain_table, show
    from ssdlab.figures import ingest_remarks

    out = console()
    for remark in ingest_remarks(advice.ingest):
        out.print(Text(f"note: {remark}", style="yellow"))
    print(
        f"{text.count(advice.requests)} requests, {text.count(advice.look_ups)} look-ups of "
        f"{text.size(advice.entry_bytes)} entries, one for each page of {text.size(advice.page_bytes)}\n"
        f"whole map in RAM: {text.size(advice.full_ram_bytes)}, "
        f"{text.short_count(advice.full_iops)} requests per second predicted\n"
    )
    for title, share in (("share of requests per second", advice.iops_share), ("hit ratio", advice.hit_ratio)):
        table = plain_table(title, *(f"segment {text.size(segment)}" for segment in advice.segments.tolist()))
        table.columns[0].min_width = 29
        for cache, row in zip(advice.caches.tolist(), share.tolist(), strict=True):
            table.add_row(f"  cache {text.size(cache)}", *map(text.percent, row))
        show(out, table)
        out.print()
    print(advised(advice, target))


def advised(advice: MapCacheAdvice, target: float) -> str:
    """The advice in words: one line, and one on the next smaller and larger cache."""
    best = advice.best(target)
    if best is None:
        row, column = divmod(int(advice.iops_share.argmax()), len(advice.segments))
        most, limit = advice.choice(row, column), float(advice.limit.max())
        larger = (
            f"a larger cache reaches {text.percent(limit)} at most"
            if limit >= target
            else f"no cache does, as first look-ups miss: {text.percent(limit)} at most"
        )
        return (
            f"No cache up to {text.size(int(advice.caches.max()))} reaches {_share(target)}: "
            f"{_words(most)} reach {text.percent(most.iops_share)}; {larger}."
        )
    least = advice.least(best.segment_bytes, target)
    exactly = "" if least in (None, best.cache_bytes) else f"; {text.size(least or 0)} would just do"
    lines = [
        f"To reach {_share(target)}, take {_words(best)}: {text.percent(best.iops_share)} "
        f"with {text.size(best.ram_bytes)} of RAM, the map of the map included{exactly}."
    ]
    for name, other in zip(("smaller", "larger"), advice.neighbours(best), strict=True):
        if other is not None:
            lines.append(
                f"The next {name}, {text.size(other.cache_bytes)}, gives {text.percent(other.iops_share)} with "
                f"{text.size(other.ram_bytes)}."
            )
    return "\n".join(lines)


def _share(target: float) -> str:
    return f"{100 * target:g} %"


def _words(choice: MapCacheChoice) -> str:
    return f"{text.size(choice.cache_bytes)} of segments of {text.size(choice.segment_bytes)}"
