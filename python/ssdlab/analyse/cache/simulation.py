"""Simulates caches on a trace: many policies and sizes in one pass.

>>> from ssdlab import cache
>>> found = cache.simulate("traces/oltp.csv.zst", ["lru", "arc"], ["64MiB", "10%"])  # doctest: +SKIP
>>> found.miss_ratio  # doctest: +SKIP
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, TypeVar

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError, TraceError
from ssdlab.analyse.cache.policies import PAGE, Asked, Items, read_items, read_policies
from ssdlab.analyse.cache.result import CacheSimulation, MissRatioCurves
from ssdlab.analyse.cache.sizes import read_sizes
from ssdlab.analyse.finished import finished_part
from ssdlab.analyse.tasks import Tasks, at_a_time
from ssdlab.lazy import np
from ssdlab.model.arguments import takes
from ssdlab.model.requests import Monitor, batches
from ssdlab.model.source import ingest_dict, nothing_in
from ssdlab.model.trace_file import Given, source_of

SAMPLE_REPLICAS = 8
"""Default number of replicas into which a sample is divided; each replica simulates its own cache."""

MOST_JOBS = 1024
"""Maximum number of parallel simulations."""

CURVE_SIZES = 12
"""Default number of cache sizes on a curve: the footprint, half of it, a quarter and so on."""

POINT = [
    ("miss_ratio", "f8"),
    ("unit_miss_ratio", "f8"),
    ("standard_error", "f8"),
    ("unit_standard_error", "f8"),
    ("scaled_units", "u8"),
    ("outgrown", "u8"),
    ("outgrown_units", "u8"),
]
"""Names and NumPy types of the values that make up a point on a miss-ratio curve."""

Stopped = Callable[[], bool]
"""Callback that returns True to end a simulation early."""

Ttl = int | Literal["stream"] | None
"""Time to live in seconds; `"stream"` if the name of a request's stream is its time to live; None without expiry."""

MOST_SECONDS = 2**32 - 1
"""Longest time to live, in seconds."""

T = TypeVar("T")


def _gather(
    trace: Given, items: Items, gathered: "_ssdlab.CacheTrace", monitor: Monitor | None, ttl_s: Ttl = None
) -> dict[str, Any]:
    """Reads the whole trace into `gathered`. Returns source, report and footprint of the trace."""
    source = source_of(trace)
    pages = items.granularity == "pages"
    instead = "add --objects, or --sized-objects to include object sizes"
    reader = source.open_addresses(instead) if pages else source.open_objects(items.granularity)
    for batch in batches(reader, monitor, ahead=True):
        gathered.add(batch)
    ingest = source.report_of(reader)
    gathered.finish(_seconds_by_stream(reader.streams(), ingest) if ttl_s == "stream" else [ttl_s or 0])
    accesses, touched, units = gathered.footprint()
    if accesses == 0:
        fault = nothing_in(source.about, ingest)
        raise TraceError(f"{fault}, so there is nothing to cache; use a trace with reads or writes")
    if touched == 0:
        raise ConfigError("the sample contains none of the trace's items; raise the sampling rate")
    return {"source": source.about, "ingest": ingest, "footprint": (accesses, touched, units)}


def _jobs(jobs: int | None) -> int:
    threads = at_a_time(jobs)
    if jobs is not None and threads > MOST_JOBS:
        raise ConfigError(f"jobs must be from 1 to {MOST_JOBS}, not {jobs}")
    return threads


def _side_by_side(works: Sequence[Callable[[Stopped], T | None]], jobs: int, monitor: Monitor | None) -> list[T | None]:
    """Runs simulations in parallel; returns their results, with None for each unfinished simulation."""
    tasks = Tasks("caches", len(works), jobs=jobs, monitor=monitor)
    return tasks.run([partial(_run, tasks, work) for work in works])


def _run(tasks: Tasks, work: Callable[[Stopped], T | None]) -> T | None:
    result = None if tasks.stopped.is_set() else work(tasks.stopped.is_set)
    if result is not None:
        tasks.count()
    return result


def _while_read(
    gather: Callable[[Monitor], dict[str, Any]],
    works: Sequence[Callable[[Stopped], T | None]],
    jobs: int,
    monitor: Monitor | None,
) -> tuple[dict[str, Any], list[T | None]]:
    """Reads the trace with `gather` while simulations run. Returns the results of `gather` and of each simulation."""
    gathered = threading.Event()

    def scanning(*progress: Any) -> object:
        return tasks.stopped.is_set() or (monitor is not None and monitor(*progress))

    def simulating(*progress: Any) -> object:
        return gathered.is_set() and monitor is not None and monitor(*progress)

    def read() -> dict[str, Any]:
        common = gather(scanning)
        gathered.set()
        return common

    tasks = Tasks("caches", len(works), jobs=jobs, monitor=simulating)
    all_tasks: list[Callable[[], Any]] = [read, *(partial(_run, tasks, work) for work in works)]
    common, *results = tasks.run(all_tasks)
    return common, results


@takes(policies=["lru"], sizes=["64MiB"], ttl="300s", dirty="50%")
def simulate(
    trace: Given,
    policies: Sequence[str],
    sizes: Sequence[str | int],
    *,
    granularity: str = "pages",
    page: str = PAGE,
    ignore_trims: bool = False,
    ttl: str | None = None,
    write_back: bool = False,
    dirty: str | None = None,
    jobs: int | None = None,
    monitor: Monitor | None = None,
) -> CacheSimulation:
    """Simulates a cache of each policy and each size on a trace, in one pass.

    Args:
        trace: A trace in memory or a file.
        policies: Names such as `"lru"`, with changed parameters such as `"lru-k:k=3"`; see `policies`.
        sizes: Sizes of the cache, such as `"64MiB"`, `"10%"` of the footprint, or a number of pages or objects.
        granularity: Kind of items: `"pages"`; `"objects"`, which count as one unit each and are identified by the first
            byte of a request; or `"sized-objects"`, which count their size in bytes.
        page: Size of a page.
        ignore_trims: True to keep items cached when they are trimmed.
        ttl: Time to live of an item in trace time, in whole seconds, such as `"300s"`; an access to an expired item
            misses. With `"stream"`, each request gives the seconds in the name of its stream; the request that inserts
            an item sets the item's time. By default items do not expire.
        write_back: True to keep writes in the cache until they must be written to storage, and to count write-backs.
            Pages only.
        dirty: Share of a write-back cache that may be dirty; by default the whole cache.
        jobs: Number of caches simulated in parallel; one per processor by default.
        monitor: Progress callback as in `ssdlab.simulate`, in the phases `scan` and `caches`. If it returns a true
            value, the finished policies are returned; if no policy is finished, the finished sizes of one policy.
            KeyboardInterrupt is raised if nothing is finished.

    Raises:
        ConfigError: If a policy, a parameter or a size is invalid.
        TraceError: If the trace cannot be read, or has no reads or writes.
    """
    items = read_items(granularity, page)
    asked, parsed = read_policies(policies, items), read_sizes(sizes, items)
    if dirty is not None and not write_back:
        raise ConfigError("only write-back caches have a dirty share; add write-back, or omit the dirty share")
    threads, dirty_share = _jobs(jobs), 1.0 if dirty is None else _ssdlab.share(dirty)
    if not 0 <= dirty_share <= 1:
        raise ConfigError(f"a dirty share of {dirty} is above 100%; lower it")
    if abs(100 * dirty_share - round(100 * dirty_share)) > 1e-9:
        raise ConfigError(f"a dirty share of {dirty} is not a whole percentage; use {100 * dirty_share:.0f}%")
    if write_back:
        _refuse_write_back(items, asked, ignore_trims)
    ttl_s = None if ttl is None else _ttl(ttl, asked, write_back)
    future, expire = any(policy.needs_future for policy in asked), ttl_s is not None
    # If all cache sizes are known in advance, the caches run while the trace is read.
    follow = items.one_size and not (future or expire or write_back or any(size.units is None for size in parsed))
    gathered = _ssdlab.CacheTrace(granularity, page, not ignore_trims, not follow, future, expire, write_back, None)

    def cells(footprint: int) -> tuple[list[int], list[Any]]:
        capacities = sorted({size.of(footprint, items) for size in parsed})
        return capacities, [(policy.name, policy.changes, size) for policy in asked for size in capacities]

    if follow:
        capacities, caches = cells(0)
        works = [cache.simulate for cache in gathered.follow(caches)]
        common, counts = _while_read(partial(_gather, trace, items, gathered), works, threads, monitor)
    else:
        common = _gather(trace, items, gathered, monitor, ttl_s)
        capacities, caches = cells(common["footprint"][2])
        percent = round(100 * dirty_share)
        works = [
            partial(gathered.simulate_write_back, cache, percent) if write_back else partial(gathered.simulate, cache)
            for cache in caches
        ]
        counts = _side_by_side(works, threads, monitor)
    is_done = np.array([count is not None for count in counts])
    rows, columns, stopped = _finished(is_done, len(asked), len(capacities))
    at = [row * len(capacities) + column for row in rows for column in columns]
    kept = [count for count in map(counts.__getitem__, at) if count is not None]
    return CacheSimulation(
        counted={name: np.array([count[name] for count in kept], np.uint64) for name in kept[0]},
        items=items, asked=[asked[row] for row in rows], partial=stopped, ttl_s=ttl_s,
        capacities=[capacities[column] for column in columns], **common,
    )  # fmt: skip


def _ttl(ttl: str, asked: Sequence[Asked], write_back: bool) -> Ttl:
    seconds: Ttl = "stream" if ttl == "stream" else _seconds(ttl)
    if write_back:
        raise ConfigError("write-back caches do not support expiry; omit ttl or write-back")
    for policy in asked:
        if policy.needs_future:
            raise ConfigError(f"policy {policy.name} does not support expiry; use another policy, or omit ttl")
    return seconds


def _seconds(ttl: str) -> int:
    try:
        seconds, rest = divmod(_ssdlab.nanos(ttl), 1_000_000_000)
    except ConfigError:
        seconds, rest = 0, 0
    if rest or not 1 <= seconds <= MOST_SECONDS:
        raise ConfigError(f"ttl {ttl}: must be whole seconds from 1s to {MOST_SECONDS}s, or stream")
    return seconds


def _seconds_by_stream(streams: Sequence[str], ingest: dict[str, Any] | None) -> list[int]:
    """Returns the time to live of each stream in seconds: its name or, without a name, 0, which means no expiry."""
    if not any(streams):
        raise TraceError(
            "ttl stream: the trace has no streams; add stream=COLUMN to --columns, where COLUMN contains the seconds"
        )
    if (counts := ingest_dict(ingest)) and counts["counts"]["streams_folded"]:
        raise TraceError("ttl stream: the trace has more than 65,535 distinct times to live; round them in the trace")
    for name in streams:
        if name and not (name.isascii() and name.isdigit() and int(name) <= MOST_SECONDS):
            raise TraceError(
                f"ttl stream: stream {name!r} is not a number of seconds from 0 to {MOST_SECONDS}; "
                "add stream=COLUMN to --columns, where COLUMN contains the seconds"
            )
    return [int(name or 0) for name in streams]


def _finished(cells: Any, rows: int, columns: int) -> tuple[list[int], list[int], bool]:
    """Returns the rows (policies) and columns (sizes) to keep, and True if some cells were not simulated."""
    kept = finished_part(cells.reshape(rows, columns).tolist())
    if not kept[0]:
        raise KeyboardInterrupt("stopped while simulating caches")
    return *kept, not bool(cells.all())


def _refuse_write_back(items: Items, asked: Sequence[Asked], ignore_trims: bool) -> None:
    if items.granularity != "pages":
        raise ConfigError("write-back caches support only pages; simulate pages, or omit write-back")
    if ignore_trims:
        raise ConfigError("a write-back cache always drops trimmed pages; do not ignore trims, or omit write-back")
    for policy in asked:
        if policy.needs_future:
            raise ConfigError(
                f"policy {policy.name} needs future accesses, so it does not support write-back; use another policy, "
                "or omit write-back"
            )


@takes(sizes=["64MiB"], sample="1%")
def mrc(
    trace: Given,
    policies: Sequence[str] = ("lru",),
    sizes: Sequence[str | int] | None = None,
    *,
    granularity: str = "pages",
    page: str = PAGE,
    ignore_trims: bool = False,
    sample: str | None = None,
    replicas: int | None = None,
    jobs: int | None = None,
    monitor: Monitor | None = None,
) -> MissRatioCurves:
    """Computes miss-ratio curves.

    Stack algorithms with default parameters are computed exactly in one pass if nothing is trimmed. Other policies are
    simulated at each size, or estimated from a sample.

    Args:
        trace: As in `simulate`.
        policies: As in `simulate`.
        sizes: As in `simulate`; by default the footprint, 1/2 of it, 1/4 and so on.
        granularity: As in `simulate`.
        page: As in `simulate`.
        ignore_trims: As in `simulate`.
        sample: Share of the items, such as `"1%"`, or number of items to sample; by default all items are simulated.
            Stack algorithms stay exact.
        replicas: Parts of the sample, 2 to 64, whose spread gives the standard error; 8 by default.
        jobs: As in `simulate`.
        monitor: As in `simulate`.

    Raises:
        ConfigError: As for `simulate`; also if the sample is invalid.
        TraceError: As for `simulate`.
    """
    items = read_items(granularity, page)
    asked = read_policies(policies, items)
    parsed = None if sizes is None else read_sizes(sizes, items)
    threads = _jobs(jobs)
    part = _sample(sample, replicas)
    # If all policies are estimated from the sample, only accesses to sampled items are stored.
    exact = part is None or (items.one_size and any(policy.one_pass for policy in asked))
    future = any(policy.needs_future for policy in asked)
    gathered = _ssdlab.CacheTrace(granularity, page, not ignore_trims, exact, future, False, False, part)
    common = _gather(trace, items, gathered, monitor)
    footprint = common["footprint"][2]
    if parsed is None:
        capacities = sorted({max(1, round(footprint / 2**step)) for step in range(CURVE_SIZES)})
    else:
        capacities = sorted({size.of(footprint, items) for size in parsed})
    other = "simulated" if part is None else "sampled"
    stack = gathered.is_stack()
    methods = ["one pass" if stack and policy.one_pass else other for policy in asked]
    shape = (len(asked), len(capacities))
    works, places = [], []
    estimate = gathered.exact if part is None else gathered.sampled
    for row, (policy, method) in enumerate(zip(asked, methods, strict=True)):
        if method == "one pass":
            works.append(partial(gathered.one_pass, policy.name, capacities))
            places.append((row, slice(None)))
            continue
        for column, capacity in enumerate(capacities):
            works.append(partial(estimate, (policy.name, policy.changes, capacity)))
            places.append((row, slice(column, column + 1)))
    points, finished = np.zeros(shape, POINT), np.zeros(shape, np.bool_)
    for place, result in zip(places, _side_by_side(works, threads, monitor), strict=True):
        if result is not None:
            points[place], finished[place] = result, True
    kept_rows, columns, stopped = _finished(finished, *shape)
    return MissRatioCurves(
        methods=[methods[row] for row in kept_rows],
        points={name: np.ascontiguousarray(points[name][np.ix_(kept_rows, columns)]) for name, _ in POINT},
        sample=gathered.sample_rate(),
        footprint_exact=exact,
        items=items,
        asked=[asked[row] for row in kept_rows],
        capacities=[capacities[column] for column in columns],
        partial=stopped,
        **common,
    )


def _sample(written: str | None, replicas: int | None) -> tuple[float | None, int, int] | None:
    if written is None:
        if replicas is not None:
            raise ConfigError("replicas need a sample; set a sample such as 1%, or omit replicas")
        return None
    replicas = SAMPLE_REPLICAS if replicas is None else replicas
    if not 2 <= replicas <= 64:
        raise ConfigError(f"replicas must be from 2 to 64, not {replicas}")
    if written.isascii() and written.isdigit() and len(written) < 10:
        if int(written) < replicas:
            raise ConfigError(
                f"a sample of {written} items is too small for {replicas} replicas; use 10000, for example"
            )
        return None, int(written), replicas
    rate = _ssdlab.share(written)
    if not 0 < rate <= 1:
        raise ConfigError(f"the sample must be above 0% and at most 100%, not {written}; for example 1%")
    return rate, 0, replicas
