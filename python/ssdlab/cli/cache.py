"""`ssdlab cache`."""

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
BENCH = "Measure a cache with a raw and a compressed pool under one budget, with real pages and threads."
PLAN = "Decide whether to compress part of a page cache, with which compressor and how much of it."
app.add(Later("bench", BENCH, "cache-bench"))
app.add(Later("plan", PLAN, "cache-plan"))

CACHES = "Caches"

POLICY = option(
    "--policy -P NAMES",
    "Policies, with commas; parameters as lru-k:k=3. See 'ssdlab list caches'.",
    CACHES,
    default="lru",
)


@dataclass
class CachedItems:
    """Options for what is cached as one item."""

    page: str | None = option(
        "--page SIZE", f"Cache pages of this size; {PAGE} if left out.", CACHES, check=_ssdlab.size
    )  # fmt: skip
    objects: bool = option("--objects", "Cache what requests address as objects, each of one unit.", CACHES)
    sized_objects: bool = option("--sized-objects", "Cache objects with their sizes in bytes.", CACHES)
    ignore_trims: bool = option("--ignore-trims", "Keep items cached when they are trimmed.", CACHES)

    def arguments(self, size: str | None) -> dict[str, str]:
        """Returns arguments of `simulate`; checks that caches of these items can have such sizes."""
        if (self.page is not None) + self.objects + self.sized_objects > 1:
            raise ConfigError("--page, --objects and --sized-objects exclude one another; give one of them")
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
        "Sizes, with commas: bytes, a number of pages or objects, or a share of the trace's footprint.",
        CACHES,
        default="1%,10%",
    ),
    items: CachedItems = group(),
    ttl: str | None = option(
        "--ttl TIME",
        "Time to live of an item, by the times of the trace: 300s; or stream, where the stream of each request is its "
        "time to live in seconds.",
        CACHES,
    ),
    write_back: bool = option(
        "--write-back", "Keep writes in the cache until they must go below, and count these pages.", CACHES
    ),
    dirty: str | None = option(
        "--dirty SHARE", "Share of a write-back cache that may be dirty, in whole percent; all if left out.", CACHES
    ),
    jobs: int | None = options.JOBS,
    output: Output = options.saving(CacheSimulation),
) -> int:
    """Simulate a cache of each policy and each size on a trace.

    The trace is read once. Reads and writes count as accesses alike, and caches start empty.
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
        "--size SIZES", "See 'ssdlab cache sim'; the footprint, halved again and again, if left out.", CACHES
    ),
    items: CachedItems = group(),
    sample: str | None = option(
        "--sample RATE",
        "Estimate from this share of the items, such as 1%, or this number of them; simulate all if left out.",
        CACHES,
    ),
    replicas: int | None = option(
        "--replicas INTEGER",
        f"Parts of the sample, 2 to 64, whose spread gives the standard error; {SAMPLE_REPLICAS} if left out.",
        CACHES,
    ),
    jobs: int | None = options.JOBS,
    output: Output = options.saving(CacheSimulation),
) -> int:
    """Show miss ratios against the size of the cache.

    Stack algorithms (lru, mru, belady) with default parameters need one exact pass, unless items are trimmed. Other
    policies are simulated at each size, or estimated from a sample with their standard error.
    """
    arguments = items.arguments(size)
    with watching("trace") as watch:
        found = curves_of(
            trace, policy.split(","), None if size is None else size.split(","), **arguments,
            ignore_trims=items.ignore_trims, sample=sample, replicas=replicas, jobs=jobs, monitor=watch,
        )  # fmt: skip
    return output.deliver(found)
