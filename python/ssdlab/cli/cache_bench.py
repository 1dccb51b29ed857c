"""`ssdlab cache bench`."""

from pathlib import Path
from typing import Annotated

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.cache import benchmark
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import option
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import watching
from ssdlab.model.config import Config
from ssdlab.model.pool import COMPRESSED_POLICY, POLICY
from ssdlab.model.trace_file import read_trace

app = App()

EXAMPLES = """
ssdlab cache bench --share 0,25,50,75 --access zipf:0.9 --cost 20us
ssdlab cache bench --dataset silesia --codec lz4 --directory /mnt --budget 25%
ssdlab cache bench --trace traces/oltp.csv.zst --busy
ssdlab cache bench --drive sata-mlc --set nand.read=30us --share 0,50
"""

CACHE, LOAD, BELOW = "Cache", "Accesses", "Storage below"


@app.command(examples=EXAMPLES)
def bench(
    share: Annotated[
        str,
        option(
            "--share PERCENT",
            "How much of the budget compressed pages may take, with commas; 'adaptive' weighs times.",
            CACHE,
        ),
    ] = ",".join(benchmark.SHARES),
    codec: Annotated[str, option("--codec NAMES", "Codecs, with commas.", CACHE)] = ",".join(benchmark.CODECS),
    budget: Annotated[
        str,
        option("--budget SIZE", "Memory: a size, or a percentage of all pages.", CACHE, check=benchmark.read_budget),
    ] = benchmark.BUDGET,
    page: Annotated[str, option("--page SIZE", "Size of a page.", CACHE, check=_ssdlab.size)] = benchmark.PAGE,
    policy: Annotated[
        str,
        option(
            "--policy NAME",
            "Which raw page is evicted: clock, fifo, lru, s3-fifo or sieve; or, with a lock for each hit, another "
            "of 'ssdlab list caches', parameters as lru-k:k=3.",
            CACHE,
        ),
    ] = POLICY,
    compressed_policy: Annotated[
        str,
        option("--compressed-policy NAME", "Which compressed page is evicted, of the same.", CACHE),
    ] = COMPRESSED_POLICY,
    workers: Annotated[
        int,
        option("--workers INTEGER", "Threads that compress; without any, who needs room does.", CACHE, min=0),
    ] = 1,
    dataset: Annotated[
        list[Path],
        option(
            "--dataset PATH",
            "File or directory whose contents pages hold; may be repeated; a corpus of our own if left out.",
            LOAD,
        ),
    ] = [],
    access: Annotated[
        str,
        option(
            "--access NAME",
            "even, 80/20 (four fifths go to a fifth of the pages), pareto (smoothly) or zipf:EXPONENT.",
            LOAD,
        ),
    ] = benchmark.ACCESS,
    trace: Annotated[
        list[Path],
        option("--trace FILE", "Take reads and writes of a trace; several follow one another.", LOAD),
    ] = [],
    pages: Annotated[str, option("--pages COUNT", "Different pages, such as 50000 or 1M.", LOAD)] = str(
        benchmark.PAGES
    ),
    accesses: Annotated[
        str,
        option("--accesses COUNT", "Of each run, half to warm up, such as 1M.", LOAD),
    ] = str(benchmark.ACCESSES),
    writes: Annotated[str, option("--writes SHARE", "Accesses that write.", LOAD)] = "0%",
    scan: Annotated[
        str,
        option("--scan SHARE", "Accesses that read all pages front to back.", LOAD),
    ] = "0%",
    threads: Annotated[
        int | None,
        option("--threads INTEGER", "Threads; one per processor if left out.", LOAD, min=1),
    ] = None,
    cost: Annotated[
        str,
        option("--cost TIME", "Time of a page, such as 110us, or microseconds.", BELOW),
    ] = f"{benchmark.COST_US:g}us",
    busy: Annotated[
        bool,
        option("--busy", "Spin for that time, which takes processors, and do not sleep.", BELOW),
    ] = False,
    directory: Annotated[
        Path | None,
        option(
            "--directory DIR",
            "Read and write a file there, made for it and removed in the end, instead of a cost.",
            BELOW,
        ),
    ] = None,
    drive: Annotated[
        str | None,
        option(
            "--drive PRESET",
            "Simulate a drive instead of a cost: a preset, or a TOML file. See 'ssdlab presets list'.",
            BELOW,
        ),
    ] = None,
    set: Annotated[
        list[str],
        option("--set -s KEY=VALUE", "Change a setting of that drive; may be repeated.", BELOW),
    ] = [],
    runs: Annotated[int, option("--runs INTEGER", "Runs of each cell.", min=1)] = benchmark.RUNS,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(benchmark.CacheBench)] = None,
    figures: options.Figures = None,
) -> int:
    """Sweeps the share of the compressed pool (C_% of Harper 2018) and the codecs. A share of 0 is the usual cache.
    Times are of this machine, and of others' work on it: look at their range.
    """
    with watching("cache") as watch:
        found = benchmark.bench(
            dataset or None,
            page_size=page,
            budget=budget,
            shares=share.split(","),
            codecs=codec.split(","),
            access=access,
            trace=read_trace(*trace, concat=len(trace) > 1) if trace else None,
            pages=options.count("--pages", pages),
            accesses=options.count("--accesses", accesses, least=2),
            writes=_share("--writes", writes),
            scan=_share("--scan", scan),
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
    return deliver(found, json=json, out=out, figures=figures)


def _share(option: str, written: str) -> float:
    with options.blaming(option):
        return _ssdlab.share(written)


def _drive(named: str | None, sets: list[str]) -> Config | None:
    if named is None:
        if sets:
            raise ConfigError("--set changes a simulated drive, and there is none; name one with --drive")
        return None
    if named.endswith(".toml"):
        return options.configuration(None, [Path(named)], sets, [])
    return options.configuration(named, [], sets, [], where="--drive")
