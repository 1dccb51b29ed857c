"""`ssdlab cache`."""

from pathlib import Path
from typing import Annotated

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
from ssdlab.cli.declare import option
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_trace
from ssdlab.model.trace_file import TraceFile

app = App()
BENCH = "Measure a cache with a raw and a compressed pool under one budget, with real pages and threads."
PLAN = "Tell whether to compress part of a page cache, with which compressor and how much of it."
app.add(Later("bench", BENCH, "cache-bench"))
app.add(Later("plan", PLAN, "cache-plan"))

CACHES = "Caches"

Policies = Annotated[
    str,
    option("--policy -P NAMES", "Policies, with commas; parameters as lru-k:k=3. See 'ssdlab list caches'.", CACHES),
]
Page = Annotated[
    str | None,
    option("--page SIZE", f"Cache pages of this size; {PAGE} if left out.", CACHES, check=_ssdlab.size),
]
Objects = Annotated[
    bool,
    option("--objects", "Cache what requests address as objects, and count these.", CACHES),
]
SizedObjects = Annotated[
    bool,
    option("--sized-objects", "Cache objects with their sizes in bytes.", CACHES),
]
IgnoreTrims = Annotated[bool, option("--ignore-trims", "Items stay cached when they are trimmed.", CACHES)]
Out = Annotated[Path | None, options.out(CacheSimulation)]


def _granularity(page: str | None, objects: bool, sized_objects: bool, size: str | None) -> dict[str, str]:
    """What is cached, as `simulate` takes it, by caches of a size that it may have."""
    if (page is not None) + objects + sized_objects > 1:
        raise ConfigError("--page, --objects and --sized-objects exclude one another; give one of them")
    granularity = "objects" if objects else "sized-objects" if sized_objects else "pages"
    what = {"granularity": granularity, "page": page or PAGE}
    if size is not None:
        items = read_items(**what)
        with options.blaming("--size"):
            read_sizes(size, items)
    return what


@app.command(examples="ssdlab cache sim traces/oltp.csv.zst --policy lru,arc --size 4MiB,10%")
@reads_trace
def sim(
    trace: TraceFile,
    policy: Policies = "lru",
    size: Annotated[
        str,
        option(
            "--size SIZES",
            "Sizes, with commas: bytes, a number of pages or objects, or a share of what the trace touches.",
            CACHES,
        ),
    ] = "1%,10%",
    page: Page = None,
    objects: Objects = False,
    sized_objects: SizedObjects = False,
    ignore_trims: IgnoreTrims = False,
    ttl: Annotated[
        str | None,
        option(
            "--ttl TIME",
            "Items expire so long after they came in, by the times of the trace: 300s; or stream, which is as many "
            "seconds as the stream of each request is called.",
            CACHES,
        ),
    ] = None,
    write_back: Annotated[
        bool,
        option("--write-back", "Keep writes in the cache until they must go below, and count these pages.", CACHES),
    ] = False,
    dirty: Annotated[
        str | None,
        option(
            "--dirty SHARE", "Share of a write-back cache that may be dirty, in whole percent; all if left out.", CACHES
        ),
    ] = None,
    jobs: options.Jobs = None,
    json: options.Json = False,
    out: Out = None,
    figures: options.Figures = None,
) -> int:
    """Simulate a cache of each policy and each size on a trace.

    The trace is read once. Reads and writes are accesses alike, and caches are empty at first.
    """
    what = _granularity(page, objects, sized_objects, size)
    with watching("trace") as watch:
        found = simulate_caches(
            trace, policy.split(","), size.split(","), **what, ignore_trims=ignore_trims, ttl=ttl,
            write_back=write_back, dirty=dirty, jobs=jobs, monitor=watch,
        )  # fmt: skip
    return deliver(found, json=json, out=out, figures=figures)


@app.command(examples="ssdlab cache mrc traces/oltp.csv.zst --policy lru,belady,arc --sample 5%")
@reads_trace
def mrc(
    trace: TraceFile,
    policy: Policies = "lru",
    size: Annotated[
        str | None,
        option(
            "--size SIZES",
            "As of 'ssdlab cache sim'; what the trace touches, halved again and again, if left out.",
            CACHES,
        ),
    ] = None,
    page: Page = None,
    objects: Objects = False,
    sized_objects: SizedObjects = False,
    ignore_trims: IgnoreTrims = False,
    sample: Annotated[
        str | None,
        option(
            "--sample RATE",
            "Estimate from this share of the items, such as 1%, or this number of them; simulate all if left out.",
            CACHES,
        ),
    ] = None,
    replicas: Annotated[
        int | None,
        option(
            "--replicas INTEGER",
            f"Samples that it is dealt out to, 2 to 64, whose spread gives the standard error; {SAMPLE_REPLICAS} if "
            "left out.",
            CACHES,
        ),
    ] = None,
    jobs: options.Jobs = None,
    json: options.Json = False,
    out: Out = None,
    figures: options.Figures = None,
) -> int:
    """Show miss ratios against the size of the cache.

    Stack algorithms (lru, mru, belady) with their default parameters are followed exactly in one pass, unless items are
    trimmed; other policies are simulated at each size, or estimated from a sample, with their standard error.
    """
    what = _granularity(page, objects, sized_objects, size)
    with watching("trace") as watch:
        found = curves_of(
            trace, policy.split(","), None if size is None else size.split(","), **what, ignore_trims=ignore_trims,
            sample=sample, replicas=replicas, jobs=jobs, monitor=watch,
        )  # fmt: skip
    return deliver(found, json=json, out=out, figures=figures)
