"""The command `ssdlab cache`."""

from dataclasses import dataclass

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.cache.policies import PAGE, read_items
from ssdlab.analyse.cache.result import CacheSimulation
from ssdlab.analyse.cache.simulation import SAMPLE_REPLICAS
from ssdlab.analyse.cache.simulation import mrc as curves_of
from ssdlab.analyse.cache.simulation import simulate as simulate_caches
from ssdlab.analyse.cache.sizes import read_sizes
from ssdlab.cli import options
from ssdlab.cli.command import App, Later
from ssdlab.cli.declare import group, option
from ssdlab.cli.options import Output
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_trace
from ssdlab.model.trace_file import TraceFile

app = App()
BENCH = "Measure a cache with a raw and a compressed pool under one memory budget, using real pages and threads."
PLAN = "Decide whether to compress part of a page cache, how much of it, and with which compressor."
app.add(Later("bench", BENCH, "cache-bench"))
app.add(Later("plan", PLAN, "cache-plan"))

CACHES = "Caches"

POLICY = option(
    "--policy -P NAMES",
    "Policies, separated by commas, with parameters as in lru-k:k=3. See 'ssdlab list caches'.",
    CACHES,
    default="lru",
)


@dataclass
class CachedItems:
    """Options for the granularity and the page size of cached items."""

    page: str | None = option(
        "--page SIZE", f"Page size of the cache; {PAGE} by default.", CACHES, check=_ssdlab.size
    )  # fmt: skip
    objects: bool = option("--objects", "Treat requests as accesses to objects, each of size 1.", CACHES)
    sized_objects: bool = option("--sized-objects", "Treat requests as accesses to objects of any size.", CACHES)
    ignore_trims: bool = option("--ignore-trims", "Keep items cached when they are trimmed.", CACHES)

    def arguments(self, size: str | None) -> dict[str, str]:
        """Returns the arguments of `simulate`. Rejects a size that is invalid for the granularity."""
        if (self.page is not None) + self.objects + self.sized_objects > 1:
            raise ConfigError("use only one of --page, --objects and --sized-objects")
        granularity = "objects" if self.objects else "sized-objects" if self.sized_objects else "pages"
        arguments = {"granularity": granularity, "page": self.page or PAGE}
        if size is not None:
            items = read_items(**arguments)
            with options.blaming("--size"):
                read_sizes(size, items)
        return arguments


@app.command(examples="ssdlab cache sim traces/oltp.csv.zst --policy lru,arc --size 4MiB,10%")
@reads_trace
def sim(
    trace: TraceFile,
    policy: str = POLICY,
    size: str = option(
        "--size SIZES",
        "Cache sizes, separated by commas: bytes, a number of pages or objects, or a share of the trace's footprint.",
        CACHES,
        default="1%,10%",
    ),
    items: CachedItems = group(),
    ttl: str | None = option(
        "--ttl TIME",
        "Time to live of items in trace time, such as 300s; with 'stream', the stream number of each request is its "
        "time to live in seconds.",
        CACHES,
    ),
    write_back: bool = option(
        "--write-back", "Keep written pages in the cache until they are written to storage; count these writes.", CACHES
    ),
    dirty: str | None = option(
        "--dirty SHARE", "Maximum dirty share of a write-back cache, in whole percent; 100% by default.", CACHES
    ),
    jobs: int | None = options.JOBS,
    output: Output = options.saving(CacheSimulation),
) -> int:
    """Simulate a cache of each policy and each size on a trace.

    The trace is read once. Reads and writes both count as accesses; caches start empty.
    """
    arguments = items.arguments(size)
    with watching("trace") as watch:
        found = simulate_caches(
            trace, policy.split(","), size.split(","), **arguments, ignore_trims=items.ignore_trims, ttl=ttl,
            write_back=write_back, dirty=dirty, jobs=jobs, monitor=watch,
        )  # fmt: skip
    return output.deliver(found)


@app.command(examples="ssdlab cache mrc traces/oltp.csv.zst --policy lru,belady,arc --sample 5%")
@reads_trace
def mrc(
    trace: TraceFile,
    policy: str = POLICY,
    size: str | None = option(
        "--size SIZES",
        "Cache sizes, as in 'ssdlab cache sim'; by default the footprint, 1/2 of it, 1/4 and so on.",
        CACHES,
    ),
    items: CachedItems = group(),
    sample: str | None = option(
        "--sample RATE",
        "Estimate from a sample: a share of the items, such as 1%, or a number of items. By default, all items are "
        "simulated.",
        CACHES,
    ),
    replicas: int | None = option(
        "--replicas INTEGER",
        f"Number of subsamples, 2 to 64, for the standard error; {SAMPLE_REPLICAS} by default.",
        CACHES,
    ),
    jobs: int | None = options.JOBS,
    output: Output = options.saving(CacheSimulation),
) -> int:
    """Show the miss ratio by cache size.

    Stack algorithms (lru, mru, belady) with default parameters are computed exactly in one pass, unless items are
    trimmed. Other policies are simulated at each size, or estimated from a sample with standard errors.
    """
    arguments = items.arguments(size)
    with watching("trace") as watch:
        found = curves_of(
            trace, policy.split(","), None if size is None else size.split(","), **arguments,
            ignore_trims=items.ignore_trims, sample=sample, replicas=replicas, jobs=jobs, monitor=watch,
        )  # fmt: skip
    return output.deliver(found)
