"""Caches simulated on a trace: many policies and sizes from one read of it.

>>> from ssdlab import cache
>>> found = cache.simulate("traces/oltp.csv.zst", ["lru", "arc"], ["64MiB", "10%"])  # doctest: +SKIP
>>> found.miss_ratio  # doctest: +SKIP
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError, TraceError
from ssdlab.experiments.suggest import suggestion
from ssdlab.figures import source_text
from ssdlab.simulation import Monitor
from ssdlab.trace import RequestSource, Trace, TraceFile, batches

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from matplotlib.figure import Figure

    Counts = npt.NDArray[np.uint64]
    Numbers = npt.NDArray[np.float64]

GRANULARITIES = ("pages", "objects", "sized-objects")
"""What an item is: a page; what a request addresses, each of one unit; or the same in bytes."""

PAGE = "4KiB"
"""Size of a page unless another is asked for: that of Linux's page cache."""

SAMPLE_REPLICAS = 8
"""Replicas of a sample unless others are asked for."""

CURVE_SIZES = 12
"""Sizes of a curve unless others are asked for: the footprint, halved again and again."""


class CachePolicy(NamedTuple):
    """A replacement policy."""

    name: str
    """As `policies` take it."""
    help: str
    """One sentence."""
    parameters: tuple["CacheParameter", ...]
    """What can be changed, as `name:parameter=value`."""
    sizes: bool
    """Whether items may be of different sizes."""
    needs_future: bool
    """Whether it must know the whole trace."""
    one_pass: bool
    """Whether it is a stack algorithm: one pass gives the misses of all sizes."""


class CacheParameter(NamedTuple):
    """A parameter of a policy."""

    name: str
    """Its name."""
    unit: str
    """Its unit."""
    default: int
    """Its value unless it is changed."""
    least: int
    """Smallest value."""
    most: int
    """Largest value."""
    help: str
    """One sentence."""


def policies() -> list[CachePolicy]:
    """Every replacement policy."""
    return [
        CachePolicy(name, help_text, tuple(CacheParameter(*row) for row in parameters), *rest)
        for name, help_text, parameters, *rest in _ssdlab.cache_policies()
    ]


class _Asked(NamedTuple):
    """A policy as asked for, taken apart."""

    text: str
    name: str
    changes: list[tuple[str, int]]
    needs_future: bool
    one_pass: bool


class _Items(NamedTuple):
    """What is cached as one item, and how its sizes are written."""

    granularity: str
    page: str
    page_bytes: int

    @property
    def unit_bytes(self) -> int | None:
        """Bytes of a unit of the capacity; objects that are only counted have none."""
        return {"pages": self.page_bytes, "objects": None, "sized-objects": 1}[self.granularity]

    @property
    def one_size(self) -> bool:
        """Whether every item is one unit."""
        return self.granularity != "sized-objects"

    @property
    def word(self) -> str:
        """Its name in the plural."""
        return "pages" if self.granularity == "pages" else "objects"

    def size(self, units: int) -> str:
        """Units of capacity as a person writes them."""
        if self.unit_bytes is None:
            return text.count(units)
        return text.size(units * self.unit_bytes)


def _items(granularity: str, page: str) -> _Items:
    if granularity not in GRANULARITIES:
        raise ConfigError(
            f"granularity {granularity!r} is not one of {', '.join(GRANULARITIES)}"
            f"{suggestion(granularity, GRANULARITIES)}"
        )
    return _Items(granularity, page, _ssdlab.size(page))


def _policy(written: str, items: _Items) -> _Asked:
    """A policy such as `lru` or `lru-k:k=3:history=1000`, checked."""
    name, *changed = written.strip().split(":")
    known = {policy.name: policy for policy in policies()}
    if name not in known:
        raise ConfigError(
            f"no policy is called {name!r}{suggestion(name, known)}; 'ssdlab list caches' shows all of them"
        )
    changes = []
    for change in changed:
        parameter, equals, value = change.partition("=")
        names = [one.name for one in known[name].parameters]
        if not equals or not value.isascii() or not value.isdigit() or len(value) > 18:
            raise ConfigError(f"{written!r}: {change!r} is not NAME=NUMBER; write {name}:{(names or ['NAME'])[0]}=2")
        if parameter not in names:
            has = ", ".join(names) or "none"
            raise ConfigError(
                f"policy {name} has no parameter {parameter!r}{suggestion(parameter, names)}; it has {has}"
            )
        changes.append((parameter, int(value)))
    _ssdlab.check_cache(name, changes, items.one_size)
    policy = known[name]
    return _Asked(written.strip(), name, changes, policy.needs_future, policy.one_pass and not changes)


def _policies(written: Sequence[str], items: _Items) -> list[_Asked]:
    if isinstance(written, str):
        written = written.split(",")
    asked = [_policy(one, items) for one in written]
    if not asked:
        raise ConfigError("no policy is given; name at least one, such as lru")
    for index, one in enumerate(asked):
        if one.text in (other.text for other in asked[:index]):
            raise ConfigError(f"policy {one.text} is given twice; name it once")
    return asked


class _Size(NamedTuple):
    """A size as asked for: units, or a share of the footprint."""

    text: str
    units: int | None
    share: float

    def of(self, footprint: int, items: _Items) -> int:
        """Units of it."""
        units = int(footprint * self.share) if self.units is None else self.units
        if units < 1:
            raise ConfigError(
                f"a cache of {self.text} of {text.count(footprint)} {items.word} holds none of them; make it larger"
            )
        return units


def _size(written: str | int, items: _Items) -> _Size:
    name = str(written).strip()
    if name.endswith("%"):
        return _Size(name, None, _ssdlab.share(name))
    if name.isascii() and name.isdigit():
        if items.granularity == "sized-objects":
            raise ConfigError(
                f"a cache of {name}: objects of different sizes are not counted; write bytes, such as 64MiB"
            )
        units = int(name[:19])
        unit = items.word
    else:
        size = _ssdlab.size(name)
        if items.unit_bytes is None:
            raise ConfigError(
                f"a cache of {name}: counted objects have no bytes; write a number of them, a share such as 10%, "
                "or simulate sized objects"
            )
        units = size // items.unit_bytes
        unit = f"page of {items.page}" if items.granularity == "pages" else "byte"
    if units < 1:
        raise ConfigError(f"a cache of {name} is smaller than one {unit.removesuffix('s')}; make it larger")
    if units >= 1 << 62:
        raise ConfigError(f"a cache of {name} is larger than any trace; make it smaller")
    return _Size(name, units, 0.0)


def _sizes(written: Sequence[str | int], items: _Items) -> list[_Size]:
    if isinstance(written, str):
        written = written.split(",")
    if not written:
        raise ConfigError("no size is given; name at least one, such as 64MiB or 10%")
    return [_size(one, items) for one in written]


class _Caches:
    """What simulations of caches on one trace have in common."""

    _columns: tuple[str, ...]
    _report: str

    def __init__(
        self,
        *,
        source: Mapping[str, Any],
        ingest: Mapping[str, Any] | None,
        items: _Items,
        asked: Sequence[_Asked],
        capacities: Sequence[int],
        footprint: tuple[int, int, int],
    ) -> None:
        import numpy as np

        self.source = dict(source)
        """Where the requests came from: `kind` is `trace` or `memory`, with its particulars."""
        self.ingest = ingest
        """What was met while reading the trace (None without a file)."""
        self.granularity = items.granularity
        """What is cached as one item: `pages`, `objects` or `sized-objects`."""
        self.unit_bytes = items.unit_bytes
        """Bytes of a unit of the capacity: of a page, 1 for sized objects, None for counted ones."""
        self.policies = tuple(one.text for one in asked)
        """The policies as asked for: the rows."""
        self.capacities: Counts = np.array(capacities, np.uint64)
        """Units that the caches hold, ascending: the columns."""
        self.accesses, self.items, self.footprint_units = footprint
        self._items = items

    def size_text(self, units: int) -> str:
        """A capacity as a person writes it."""
        return self._items.size(units)

    def _grid(self, column: Any) -> Any:
        return column.reshape(len(self.policies), len(self.capacities))

    def _cell(self, row: int, column: int) -> dict[str, Any]:
        capacity = int(self.capacities[column])
        cell: dict[str, Any] = {
            "policy": self.policies[row],
            "capacity_units": capacity,
            "capacity_bytes": None if self.unit_bytes is None else capacity * self.unit_bytes,
        }
        for name in self._columns:
            values = getattr(self, name)
            if values is not None:
                cell[name] = values[row, column].item()
        return cell

    def to_dict(self) -> dict[str, Any]:
        """All figures, ready for JSON; ratios are those of 1."""
        rows, columns = range(len(self.policies)), range(len(self.capacities))
        return {
            "ssdlab": _ssdlab.__version__,
            "source": self.source,
            "granularity": self.granularity,
            "unit_bytes": self.unit_bytes,
            "accesses": self.accesses,
            "items": self.items,
            "footprint_units": self.footprint_units,
            **self._more(),
            "caches": [self._cell(row, column) for row in rows for column in columns],
        }

    def _more(self) -> dict[str, Any]:
        return {}

    def to_json(self) -> str:
        """`to_dict` as indented JSON text."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def to_arrow(self) -> "pa.Table":
        """A row for each policy and size, as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.to_dict()["caches"])

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes `report.html`, `caches.json`, `caches.csv` and `caches.parquet` into a directory, made if need be.

        Each appears whole or not at all.

        Raises:
            OSError: If the directory cannot be written.
        """
        import pyarrow.csv as pc
        import pyarrow.parquet as pq

        from ssdlab.store import filling

        table = self.to_arrow()
        with filling(Path(directory)) as hidden:
            (hidden / "report.html").write_text(self.report_html(), encoding="utf-8")
            (hidden / "caches.json").write_text(self.to_json(), encoding="utf-8")
            pc.write_csv(table, hidden / "caches.csv")
            pq.write_table(table, hidden / "caches.parquet")

    def report_html(self) -> str:
        """The report as one HTML page that needs nothing else."""
        from ssdlab.report.cache import render

        return render(self)  # type: ignore[arg-type]

    def plot(self) -> "Figure":
        """The miss ratio of each policy against the size of the cache."""
        from ssdlab import plot_cache

        return plot_cache.miss_ratios(self)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        shape = f"{len(self.policies)} policies, {len(self.capacities)} sizes"
        return f"<ssdlab.cache.{type(self).__name__} on {source_text(self.source)}: {shape}>"


class CacheSimulation(_Caches):
    """What caches of some policies and sizes did with one trace.

    Arrays have a row for each policy and a column for each size, in the order of `policies` and `capacities`. Reads and
    writes are accesses alike; caches are empty at first. Equal requests give equal figures, whatever `jobs`.
    """

    _columns = (
        "hits", "misses", "miss_ratio", "bytes_missed", "byte_miss_ratio", "evictions", "too_large",
        "pages_written_back", "pages_dirty",
    )  # fmt: skip

    def __init__(self, *, counted: Mapping[str, Any], **common: Any) -> None:
        import numpy as np

        super().__init__(**common)
        write_back = "dirtied" in counted
        if write_back:
            accesses = self._grid(counted["read_pages"] + counted["written_pages"])
            hits = self._grid(counted["read_hits"] + counted["write_hits"])
            units, missed_units = accesses, accesses - hits
        else:
            accesses = self._grid(counted["accesses"])
            hits = accesses - self._grid(counted["misses"])
            units, missed_units = self._grid(counted["units"]), self._grid(counted["missed_units"])
        self.hits: Counts = hits
        """Accesses to items that were cached."""
        self.misses: Counts = accesses - hits
        """Accesses to items that were not."""
        self.miss_ratio: Numbers = self.misses / np.maximum(accesses, 1)
        """Misses of all accesses."""
        sized = self.unit_bytes is not None
        self.bytes_missed: Counts | None = missed_units * np.uint64(self.unit_bytes or 0) if sized else None
        """Bytes of the items missed; None for counted objects."""
        self.byte_miss_ratio: Numbers | None = missed_units / np.maximum(units, 1) if sized else None
        """Bytes missed of all bytes accessed; None for counted objects."""
        self.evictions: Counts | None = None if write_back else self._grid(counted["evictions"])
        """Items that gave way, or were turned away by the policy; None for write-back caches."""
        self.too_large: Counts | None = None if write_back else self._grid(counted["too_large"])
        """Misses of items larger than the cache; None for write-back caches."""
        names = ("evicted", "limited", "background", "flushed")
        self.pages_written_back: Counts | None = (
            self._grid(sum(counted[name] for name in names)) if write_back else None
        )
        """Dirty pages written below, because they gave way, exceeded the limit, or by a flush; None unless caches write
        back."""
        self.pages_dirty: Counts | None = self._grid(counted["dirty_pages"]) if write_back else None
        """Pages left dirty at the end; None unless caches write back."""


class MissRatioCurves(_Caches):
    """Miss ratios against the size of the cache, for some policies.

    Arrays have a row for each policy and a column for each size, in the order of `policies` and `capacities`.
    """

    _columns = ("miss_ratio", "standard_error", "byte_miss_ratio", "byte_standard_error", "scaled_units")

    def __init__(self, *, methods: Sequence[str], points: Mapping[str, Any], sample: Any, **common: Any) -> None:
        super().__init__(**common)
        self.methods = tuple(methods)
        """How the curve of each policy was found: `one pass` and `simulated` are exact, `sampled` is an estimate."""
        self.sample_rate: float | None = sample
        """Share of the items in the sample; None without one."""
        self.miss_ratio: Numbers = points["miss_ratio"]
        """Misses of all accesses."""
        self.standard_error: Numbers = points["standard_error"]
        """Standard error of `miss_ratio`; 0 where it is exact."""
        sized = self.unit_bytes is not None
        self.byte_miss_ratio: Numbers | None = points["unit_miss_ratio"] if sized else None
        """Bytes missed of all bytes accessed; None for counted objects."""
        self.byte_standard_error: Numbers | None = points["unit_standard_error"] if sized else None
        """Standard error of `byte_miss_ratio`; 0 where it is exact."""
        self.scaled_units: Counts = points["scaled_units"]
        """Units of the cache of each replica, 0 where the ratio is exact. Where they are few, the estimate is of
        another kind of cache."""

    def _more(self) -> dict[str, Any]:
        return {"methods": dict(zip(self.policies, self.methods, strict=True)), "sample_rate": self.sample_rate}


def _gather(
    trace: Trace | TraceFile | str | os.PathLike[str],
    gathered: "_ssdlab.CacheTrace",
    monitor: Monitor | None,
) -> dict[str, Any]:
    """Puts the trace through; where it came from, and what was met."""
    if not isinstance(trace, Trace | TraceFile):
        trace = TraceFile(trace)
    if isinstance(trace, Trace):
        gathered.add(trace._requests)
        about: dict[str, Any] = {"source": {"kind": "memory", "requests": len(trace)}, "ingest": trace.ingest}
    else:
        reader = trace.open()
        for batch in _watched(reader, monitor):
            gathered.add(batch)
        about = {"source": {"kind": "trace", **trace.describe()}, "ingest": reader.report()}
    gathered.finish()
    accesses, items, units = gathered.footprint()
    if accesses == 0:
        raise TraceError("the trace neither reads nor writes, so there is nothing to cache; give one that does")
    if items == 0:
        raise ConfigError("the sample holds nothing of the trace; raise its rate")
    return {**about, "footprint": (accesses, items, units)}


def _watched(source: RequestSource, monitor: Monitor | None) -> Iterator[_ssdlab.Requests]:
    requests = 0
    for batch in batches(source):
        requests += len(batch)
        if monitor is not None and monitor("scan", *source.progress(), requests):
            raise KeyboardInterrupt("stopped while reading for caches")
        yield batch


def _jobs(jobs: int | None) -> int:
    if jobs is not None and jobs < 1:
        raise ConfigError(f"jobs {jobs} is less than 1")
    return jobs or os.cpu_count() or 1


def _cells(asked: Sequence[_Asked], capacities: Sequence[int]) -> list[tuple[str, list[tuple[str, int]], int]]:
    return [(one.name, one.changes, capacity) for one in asked for capacity in capacities]


def simulate(
    trace: Trace | TraceFile | str | os.PathLike[str],
    policies: Sequence[str],
    sizes: Sequence[str | int],
    *,
    granularity: str = "pages",
    page: str = PAGE,
    ignore_trims: bool = False,
    write_back: bool = False,
    dirty: str | None = None,
    jobs: int | None = None,
    monitor: Monitor | None = None,
) -> CacheSimulation:
    """Simulates a cache of each policy and each size on a trace, which is read once.

    Args:
        trace: A trace in memory or a file.
        policies: Names such as `"lru"`, with changed parameters such as `"lru-k:k=3"`; see `policies`.
        sizes: Sizes of the cache, such as `"64MiB"`, `"10%"` of what the trace touches, or a number of pages or
            objects.
        granularity: What an item is: `"pages"`; `"objects"`, which are what requests address, named by their first byte
            and counted; or `"sized-objects"`, the same with their sizes in bytes.
        page: Size of a page.
        ignore_trims: Items stay cached when they are trimmed.
        write_back: Writes stay in the cache until they have to go below; counts what is written back. Pages only.
        dirty: Share of a write-back cache that may be dirty; all of it if left out.
        jobs: Caches simulated at a time; one per processor if left out.
        monitor: Told how far it is, as that of `simulate`, in the phases `scan` and `caches`. If it returns something
            true, KeyboardInterrupt is raised, as by Ctrl-C within a fraction of a second.

    Raises:
        ConfigError: If a policy, a parameter or a size cannot be.
        TraceError: If the trace cannot be read, or neither reads nor writes.
    """
    items = _items(granularity, page)
    asked, parsed = _policies(policies, items), _sizes(sizes, items)
    if dirty is not None and not write_back:
        raise ConfigError("only caches that write back have a dirty share; add --write-back, or leave out --dirty")
    threads, dirty_share = _jobs(jobs), 1.0 if dirty is None else _ssdlab.share(dirty)
    if not 0 <= dirty_share <= 1:
        raise ConfigError(f"a dirty share of {dirty} is above 100%; lower it")
    if abs(100 * dirty_share - round(100 * dirty_share)) > 1e-9:
        raise ConfigError(f"a dirty share of {dirty} is no whole percentage; write {100 * dirty_share:.0f}%")
    if write_back:
        _refuse_write_back(items, asked, ignore_trims)
    # The accesses tell the footprint even where requests are simulated.
    future = any(one.needs_future for one in asked)
    gathered = _ssdlab.CacheTrace(granularity, page, not ignore_trims, True, future, write_back, None)
    common = _gather(trace, gathered, monitor)
    capacities = sorted({size.of(common["footprint"][2], items) for size in parsed})
    cells = _cells(asked, capacities)
    counted = (
        gathered.simulate_write_back(cells, round(100 * dirty_share), threads, monitor)
        if write_back
        else gathered.simulate(cells, threads, monitor)
    )
    return CacheSimulation(counted=counted, items=items, asked=asked, capacities=capacities, **common)


def _refuse_write_back(items: _Items, asked: Sequence[_Asked], ignore_trims: bool) -> None:
    if items.granularity != "pages":
        raise ConfigError("only pages are written back; simulate pages, or leave write-back out")
    if ignore_trims:
        raise ConfigError("a write-back cache drops what is trimmed; leave one of the two out")
    for one in asked:
        if one.needs_future:
            raise ConfigError(
                f"policy {one.name} must know the future, which requests in order do not tell; leave it out"
            )


def mrc(
    trace: Trace | TraceFile | str | os.PathLike[str],
    policies: Sequence[str] = ("lru",),
    sizes: Sequence[str | int] | None = None,
    *,
    granularity: str = "pages",
    page: str = PAGE,
    ignore_trims: bool = False,
    sample: str | None = None,
    replicas: int = SAMPLE_REPLICAS,
    jobs: int | None = None,
    monitor: Monitor | None = None,
) -> MissRatioCurves:
    """Miss-ratio curves: exact in one pass for stack algorithms with default parameters, where nothing is trimmed; by a
    simulation of each size, or estimated from a sample, for others.

    Args:
        trace: As in `simulate`.
        policies: As in `simulate`.
        sizes: As in `simulate`; the footprint, halved again and again, if left out.
        granularity: As in `simulate`.
        page: As in `simulate`.
        ignore_trims: As in `simulate`.
        sample: Share of the items, such as `"1%"`, or number of items to sample; all are simulated if left out. Stack
            algorithms are exact all the same.
        replicas: Samples, 2 to 64, that it is dealt out to; from their spread comes the standard error.
        jobs: As in `simulate`.
        monitor: As in `simulate`.

    Raises:
        ConfigError: As `simulate`, or if the sample cannot be.
        TraceError: As `simulate`.
    """
    import numpy as np

    items = _items(granularity, page)
    asked = _policies(policies, items)
    parsed = None if sizes is None else _sizes(sizes, items)
    threads = _jobs(jobs)
    part = _sample(sample, replicas)
    # Only what is not sampled needs every access.
    exact = part is None or (items.one_size and any(one.one_pass for one in asked))
    future = any(one.needs_future for one in asked)
    gathered = _ssdlab.CacheTrace(granularity, page, not ignore_trims, exact, future, False, part)
    common = _gather(trace, gathered, monitor)
    footprint = common["footprint"][2]
    if parsed is None:
        halved = [max(1, round(footprint / 2**step)) for step in range(CURVE_SIZES)]
        capacities = sorted(set(halved))
    else:
        capacities = sorted({size.of(footprint, items) for size in parsed})
    other = "simulated" if part is None else "sampled"
    stack = gathered.is_stack()
    methods = ["one pass" if stack and one.one_pass else other for one in asked]
    names = ("miss_ratio", "unit_miss_ratio", "standard_error", "unit_standard_error", "scaled_units")
    shape = (len(asked), len(capacities))
    points = {name: np.zeros(shape, np.uint64 if name == "scaled_units" else np.float64) for name in names}
    for method in dict.fromkeys(methods):
        rows = [row for row, its in enumerate(methods) if its == method]
        chosen = [asked[row] for row in rows]
        if method == "one pass":
            found = gathered.one_pass([one.name for one in chosen], capacities, threads, monitor)
        elif method == "sampled":
            found = gathered.sampled(_cells(chosen, capacities), threads, monitor)
        else:
            found = gathered.exact(_cells(chosen, capacities), threads, monitor)
        for name in names:
            points[name][rows] = found[name].reshape(len(rows), len(capacities))
    return MissRatioCurves(
        methods=methods, points=points, sample=gathered.sample_rate(), items=items, asked=asked, capacities=capacities,
        **common,
    )  # fmt: skip


def _sample(written: str | None, replicas: int) -> tuple[float | None, int, int] | None:
    if not 2 <= replicas <= 64:
        raise ConfigError(f"{replicas} replicas: write 2 to 64")
    if written is None:
        return None
    if written.isascii() and written.isdigit() and len(written) < 10:
        return None, int(written), replicas
    rate = _ssdlab.share(written)
    if not 0 < rate <= 1:
        raise ConfigError(f"a sample of {written} is not above 0% and at most 100%; write 1%, for example")
    return rate, 0, replicas
