"""`ssdlab cache bench`."""

from pathlib import Path
from typing import Annotated

import typer

from ssdlab import Config, ConfigError, _ssdlab, read_trace
from ssdlab.cache import CacheBench, benchmark
from ssdlab.cli import options
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import display
from ssdlab.pool import COMPRESSED_POLICY, POLICY

EXAMPLES = """
[bold]Examples[/bold]

  ssdlab cache bench --share 0,25,50,75 --access zipf:0.9 --cost 20us

  ssdlab cache bench --dataset silesia/ --codec lz4 --directory /mnt/ssd --budget 25%

  ssdlab cache bench --trace traces/oltp.csv.zst --busy

  ssdlab cache bench --drive sata-mlc --set nand.read=30us --share 0,50
"""

FILES = "report.html, cache-bench.json and cache-bench.csv"
CACHE, LOAD, BELOW = "Cache", "Accesses", "Storage below"


def bench(
    share: Annotated[
        str,
        typer.Option(
            "--share",
            metavar="PERCENT",
            help="How much of the budget compressed pages may take, with commas; 'adaptive' weighs times.",
            rich_help_panel=CACHE,
        ),
    ] = ",".join(benchmark.SHARES),
    codec: Annotated[
        str, typer.Option("--codec", metavar="NAMES", help="Codecs, with commas.", rich_help_panel=CACHE)
    ] = ",".join(benchmark.CODECS),
    budget: Annotated[
        str,
        typer.Option(
            "--budget", metavar="SIZE", help="Memory: a size, or a percentage of all pages.", rich_help_panel=CACHE
        ),
    ] = benchmark.BUDGET,
    page: Annotated[
        str, typer.Option("--page", metavar="SIZE", help="Size of a page.", rich_help_panel=CACHE)
    ] = benchmark.PAGE,
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            metavar="NAME",
            help="Which raw page gives way: clock, fifo, lru, s3-fifo or sieve; or, with a lock for each hit, another "
            "of 'ssdlab list caches', parameters as lru-k:k=3.",
            rich_help_panel=CACHE,
        ),
    ] = POLICY,
    compressed_policy: Annotated[
        str,
        typer.Option(
            "--compressed-policy",
            metavar="NAME",
            help="Which compressed page gives way, of the same.",
            rich_help_panel=CACHE,
        ),
    ] = COMPRESSED_POLICY,
    workers: Annotated[
        int,
        typer.Option(
            "--workers",
            min=0,
            metavar="N",
            help="Threads that compress; without any, who needs room does.",
            rich_help_panel=CACHE,
        ),
    ] = 1,
    dataset: Annotated[
        list[Path],
        typer.Option(
            "--dataset",
            metavar="PATH",
            help="File or directory whose contents pages hold; may be repeated; a corpus of our own if left out.",
            rich_help_panel=LOAD,
        ),
    ] = [],
    access: Annotated[
        str,
        typer.Option(
            "--access",
            metavar="NAME",
            help="even, 80/20 (four fifths go to a fifth of the pages), pareto (smoothly) or zipf:EXPONENT.",
            rich_help_panel=LOAD,
        ),
    ] = benchmark.ACCESS,
    trace: Annotated[
        list[Path],
        typer.Option("--trace", metavar="FILE", help="Take reads and writes of a trace.", rich_help_panel=LOAD),
    ] = [],
    pages: Annotated[
        int, typer.Option("--pages", min=1, metavar="N", help="Different pages.", rich_help_panel=LOAD)
    ] = benchmark.PAGES,
    accesses: Annotated[
        int,
        typer.Option("--accesses", min=2, metavar="N", help="Of each run, half to warm up.", rich_help_panel=LOAD),
    ] = benchmark.ACCESSES,
    writes: Annotated[
        str, typer.Option("--writes", metavar="SHARE", help="Accesses that write.", rich_help_panel=LOAD)
    ] = "0%",
    scan: Annotated[
        str,
        typer.Option(
            "--scan", metavar="SHARE", help="Accesses that read all pages front to back.", rich_help_panel=LOAD
        ),
    ] = "0%",
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", min=1, metavar="N", help="Threads; one per processor if left out.", rich_help_panel=LOAD
        ),
    ] = None,
    cost: Annotated[
        str,
        typer.Option(
            "--cost", metavar="TIME", help="Time of a page, in microseconds, as 110us.", rich_help_panel=BELOW
        ),
    ] = f"{benchmark.COST_US:g}us",
    busy: Annotated[
        bool,
        typer.Option(
            "--busy", help="Spin for that time, which takes processors, and do not sleep.", rich_help_panel=BELOW
        ),
    ] = False,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--directory",
            metavar="DIR",
            help="Read and write a file there, made for it and removed in the end, instead of a cost.",
            rich_help_panel=BELOW,
        ),
    ] = None,
    drive: Annotated[
        str | None,
        typer.Option(
            "--drive",
            metavar="PRESET",
            help="Simulate a drive instead of a cost: a preset, or a TOML file. See 'ssdlab presets'.",
            rich_help_panel=BELOW,
        ),
    ] = None,
    set: Annotated[
        list[str],
        typer.Option(
            "--set",
            "-s",
            metavar="KEY=VALUE",
            help="Change a setting of that drive; may be repeated.",
            rich_help_panel=BELOW,
        ),
    ] = [],
    runs: Annotated[int, typer.Option("--runs", min=1, metavar="N", help="Runs of each cell.")] = benchmark.RUNS,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(f"Write {FILES} there.")] = None,
) -> None:
    """Measure a cache with a raw and a compressed pool under one budget, with real pages and threads.

    Sweeps the share of the compressed pool (C_% of Harper 2018) and the codecs. A share of 0 is the usual cache.
    Times are of this machine, and of others' work on it: look at their range.
    """
    if out is not None:
        options.must_be_writable(out)
    with display() as shown:
        watch = shown.watch("cache")
        found = benchmark.bench(
            dataset or None,
            page_size=page,
            budget=budget,
            shares=share.split(","),
            codecs=codec.split(","),
            access=access,
            trace=read_trace(*trace) if trace else None,
            pages=pages,
            accesses=accesses,
            writes=_ssdlab.share(writes),
            scan=_ssdlab.share(scan),
            policy=policy,
            compressed_policy=compressed_policy,
            workers=workers,
            threads=threads,
            cost_us=options.microseconds("--cost", cost),
            busy=busy,
            directory=directory,
            drive=_drive(drive, set),
            runs=runs,
            monitor=watch,
        )
        watch.finish()
    deliver(found, lambda: _show(found), json=json, out=out, files=FILES)


def _drive(named: str | None, sets: list[str]) -> Config | None:
    if named is None:
        if sets:
            raise ConfigError("--set changes a simulated drive, and there is none; name one with --drive")
        return None
    if named.endswith(".toml"):
        return options.configuration(None, [Path(named)], sets, [])
    return options.configuration(named, [], sets, [])


def _show(found: CacheBench) -> None:
    from rich.text import Text

    from ssdlab.cache import benchmark_tables
    from ssdlab.cli.tables import console, plain_table, show

    out = console()
    out.print(Text(found.title, style="bold"))
    print(benchmark_tables.contents(found))
    for remark in benchmark_tables.remarks(found):
        out.print(Text(f"note: {remark}", style="yellow"))
    out.print()
    table = plain_table(*benchmark_tables.HEADERS, left=2)
    for row in benchmark_tables.rows(found):
        table.add_row(*row)
    show(out, table)
    print(f"\n{benchmark_tables.LEGEND}")
