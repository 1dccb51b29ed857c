"""The command `ssdlab cache bench`."""

from dataclasses import dataclass
from pathlib import Path

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.cache import accesses as loads
from ssdlab.analyse.cache import benchmark
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import group, option
from ssdlab.cli.options import Output, Settings
from ssdlab.cli.progress import watching
from ssdlab.model.config import Config
from ssdlab.model.trace_file import read_trace

app = App()

EXAMPLES = """
ssdlab cache bench --share 0,25,50,75 --access zipf:0.9 --cost 20us
ssdlab cache bench --dataset silesia --codec lz4 --directory /mnt --budget 25%
ssdlab cache bench --trace traces/oltp.csv.zst --busy
ssdlab cache bench --drive sata-mlc --set nand.read=30us --share 0,50
"""

CACHE, LOAD, BELOW = "Cache", "Accesses", "Backing storage"

POOLS, ACCESSES, STORAGE = benchmark.Pools(), loads.Load(), benchmark.Storage()
"""Default values of the options."""


@dataclass
class Pools:
    """Options for the caches to measure."""

    share: str = option(
        "--share PERCENT",
        "Maximum shares of the budget for compressed pages, separated by commas; 'adaptive' adjusts the share during "
        "the run.",
        CACHE,
        default=",".join(POOLS.shares),
    )
    codec: str = option("--codec NAMES", "Codecs, separated by commas.", CACHE, default=",".join(POOLS.codecs))
    budget: str = option(
        "--budget SIZE",
        "Cache memory: a size, or a percentage of all pages.",
        CACHE,
        default=POOLS.budget,
        check=benchmark.read_budget,
    )
    page: str = option("--page SIZE", "Page size.", CACHE, default=POOLS.page_size, check=_ssdlab.size)
    policy: str = option(
        "--policy NAME",
        "Replacement policy of raw pages: clock, fifo, lru, s3-fifo or sieve. All other policies of 'ssdlab list "
        "caches', with parameters as in lru-k:k=3, also work but take a lock on each hit.",
        CACHE,
        default=POOLS.policy,
    )
    compressed_policy: str = option(
        "--compressed-policy NAME", "Replacement policy of compressed pages.", CACHE, default=POOLS.compressed_policy
    )
    workers: int = option(
        "--workers INTEGER",
        "Compression threads; with 0, the accessing threads compress.",
        CACHE,
        default=POOLS.workers,
        min=0,
    )

    def to_measure(self) -> benchmark.Pools:
        """Returns the caches to measure, as set by the options."""
        return benchmark.Pools(
            page_size=self.page,
            budget=self.budget,
            shares=self.share.split(","),
            codecs=self.codec.split(","),
            policy=self.policy,
            compressed_policy=self.compressed_policy,
            workers=self.workers,
        )


@dataclass
class Load:
    """Options for the page accesses to send to the caches."""

    access: str = option(
        "--access NAME",
        "Distribution: even, 80/20 (80 % of accesses to 20 % of the pages), pareto (smooth 80/20) or zipf:EXPONENT.",
        LOAD,
        default=ACCESSES.access,
    )
    trace: list[Path] = option("--trace FILE", "Replay reads and writes of a trace; files are concatenated.", LOAD)
    pages: str = option("--pages COUNT", "Distinct pages, such as 50000 or 1M.", LOAD, default=str(ACCESSES.pages))
    accesses: str = option(
        "--accesses COUNT", "Accesses per run, such as 1M; half are warm-up.", LOAD, default=str(ACCESSES.accesses)
    )
    writes: str = option("--writes SHARE", "Share of accesses that write.", LOAD, default="0%")
    scan: str = option("--scan SHARE", "Share of accesses that scan all pages in order.", LOAD, default="0%")

    def to_send(self) -> loads.Load:
        """Returns the page accesses to send to the caches, as set by the options."""
        return loads.Load(
            access=self.access,
            trace=read_trace(*self.trace, concat=len(self.trace) > 1) if self.trace else None,
            pages=options.count("--pages", self.pages),
            accesses=options.count("--accesses", self.accesses, least=2),
            writes=options.share("--writes", self.writes),
            scan=options.share("--scan", self.scan),
        )


@dataclass
class Storage:
    """Options for the backing storage."""

    cost: str = option(
        "--cost TIME",
        "Fixed storage delay per page load or store, such as 110us; a plain number is in microseconds.",
        BELOW,
        default=f"{STORAGE.cost_us:g}us",
    )
    busy: bool = option(
        "--busy", "Busy-wait instead of sleeping during the storage delay; this keeps processors busy.", BELOW
    )
    directory: Path | None = option(
        "--directory DIR", "Use a temporary file in this directory instead of a fixed delay.", BELOW
    )  # fmt: skip
    drive: str | None = option(
        "--drive PRESET",
        "Use a simulated drive instead of a fixed delay: a preset or a TOML file. See 'ssdlab presets list'.",
        BELOW,
    )
    set: list[str] = option("--set -s KEY=VALUE", "Change a setting of the simulated drive; may be repeated.", BELOW)

    def below(self) -> benchmark.Storage:
        """Returns the backing storage, as set by the options."""
        cost_us = options.microseconds("--cost", self.cost)
        return benchmark.Storage(cost_us=cost_us, busy=self.busy, directory=self.directory, drive=self._drive())

    def _drive(self) -> Config | None:
        if self.drive is None:
            if self.set:
                raise ConfigError("--set needs a simulated drive; choose one with --drive PRESET")
            return None
        if self.drive.endswith(".toml"):
            return Settings(None, [Path(self.drive)], self.set).resolved()
        return Settings(self.drive, [], self.set).resolved(origin="--drive")


@app.command(examples=EXAMPLES)
def bench(
    pools: Pools = group(),
    dataset: list[Path] = option(
        "--dataset PATH",
        "File or directory that supplies page contents; may be repeated. A built-in corpus by default.",
        LOAD,
    ),
    load: Load = group(),
    threads: int | None = option("--threads INTEGER", "Number of threads; one per processor by default.", LOAD, min=1),
    storage: Storage = group(),
    runs: int = option("--runs INTEGER", "Number of runs per cache.", default=benchmark.RUNS, min=1),
    output: Output = options.saving(benchmark.CacheBench),
) -> int:
    """Varies the share of the compressed pool (C_% of Harper 2018) and the codec. A share of 0 is an uncompressed
    cache. Times are measured on this machine and include interference from other programs, so check their range.
    """
    with watching("cache") as watch:
        found = benchmark.bench(
            dataset or None,
            pools=pools.to_measure(),
            load=load.to_send(),
            storage=storage.below(),
            threads=threads,
            runs=runs,
            monitor=watch,
        )
    return output.deliver(found)
