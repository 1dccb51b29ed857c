"""Results of cache simulations, as arrays, tables and files."""

from collections.abc import Mapping, Sequence
from typing import Any

from ssdlab.analyse.cache.policies import Asked, Items
from ssdlab.lazy import Counts, Numbers, np, pa
from ssdlab.model.finding import Contents, Plot, TraceFinding
from ssdlab.model.source import source_text
from ssdlab.text import counted


class _Caches(TraceFinding):
    """Base class for the results of caches simulated on one trace."""

    _page = "caches"
    _json = "caches.json"
    saved = "report.html, caches.json, caches.csv and caches.parquet"
    _columns: tuple[str, ...]

    def __init__(
        self,
        *,
        source: Mapping[str, Any],
        ingest: Mapping[str, Any] | None,
        items: Items,
        asked: Sequence[Asked],
        capacities: Sequence[int],
        footprint: tuple[int, int, int],
        partial: bool,
    ) -> None:
        super().__init__(source, ingest, partial=partial)
        self.granularity = items.granularity
        """Granularity of the cached items: `pages`, `objects` or `sized-objects`."""
        self.unit_bytes = items.unit_bytes
        """Bytes per unit of capacity: the page size, 1 for sized objects, None for counted objects."""
        self.policies = tuple(policy.text for policy in asked)
        """Policies as the user requested them; one per row."""
        self.capacities: Counts = np.array(capacities, np.uint64)
        """Cache capacities in units, ascending; one per column."""
        self.accesses, self.items, self.footprint_units = footprint
        self._items = items

    def size_text(self, units: int) -> str:
        """Formats a cache capacity, given as a number of units."""
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
        """Returns all metrics of the caches, ready for JSON; ratios are fractions of 1."""
        rows, columns = range(len(self.policies)), range(len(self.capacities))
        return {
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

    def to_arrow(self) -> "pa.Table":
        """Returns an Arrow table with a row for each policy and cache size."""
        return pa.Table.from_pylist(self.to_dict()["caches"])

    def _tables(self) -> Contents:
        table = self.to_arrow()
        return {"caches.csv": table, "caches.parquet": table}

    plot = Plot("caches.miss_ratios")

    def __repr__(self) -> str:
        policies = "1 policy" if len(self.policies) == 1 else f"{len(self.policies)} policies"
        shape = f"{policies}, {counted(len(self.capacities), 'sizes')}"
        return f"<ssdlab.cache.{type(self).__name__} on {source_text(self.source)}: {shape}>"


class CacheSimulation(_Caches):
    """Metrics of caches with several policies and sizes, simulated on one trace.

    Arrays have a row for each policy and a column for each size, in the order of `policies` and `capacities`. Reads and
    writes both count as accesses; caches start empty. Metrics do not depend on `jobs`.
    """

    _columns = (
        "hits", "misses", "miss_ratio", "bytes_missed", "byte_miss_ratio", "evictions", "too_large", "outgrown",
        "bytes_outgrown", "expired",
        "read_miss_ratio", "write_miss_ratio", "pages_written_back", "pages_written_through", "pages_dirty",
    )  # fmt: skip

    def __init__(self, *, counted: Mapping[str, Any], ttl_s: int | str | None, **common: Any) -> None:
        super().__init__(**common)
        self.ttl_s = ttl_s
        """Time to live of an item in seconds; `"stream"` if streams are named after it; None without expiry."""
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
        """Number of accesses that hit."""
        self.misses: Counts = accesses - hits
        """Number of accesses that missed."""
        self.miss_ratio: Numbers = self.misses / np.maximum(accesses, 1)
        """Misses divided by accesses."""
        sized = self.unit_bytes is not None
        self.bytes_missed: Counts | None = missed_units * np.uint64(self.unit_bytes or 0) if sized else None
        """Bytes of missed items; None if the cache counts objects instead of bytes."""
        self.byte_miss_ratio: Numbers | None = missed_units / np.maximum(units, 1) if sized else None
        """Missed bytes divided by accessed bytes; None for counted objects."""
        self.evictions: Counts | None = None if write_back else self._grid(counted["evictions"])
        """Number of items evicted, or rejected by the policy; None for write-back caches."""
        self.too_large: Counts | None = None if write_back else self._grid(counted["too_large"])
        """Number of misses of items larger than the cache; None for write-back caches."""
        grow = self.granularity == "sized-objects"
        self.outgrown: Counts | None = self._grid(counted["outgrown"]) if grow else None
        """Number of hits that requested more bytes than the object had when inserted; None without object sizes."""
        self.bytes_outgrown: Counts | None = self._grid(counted["outgrown_units"]) if grow else None
        """Bytes that hits requested beyond the object's size at insertion. They also count as missed."""
        self.expired: Counts | None = None if ttl_s is None else self._grid(counted["expired"])
        """Number of accesses that missed because the cached item had expired; None without expiry."""

        def missed(touched: str, hit: str) -> "Numbers | None":
            if not write_back:
                return None
            ratio: Numbers = 1 - self._grid(counted[hit]) / np.maximum(self._grid(counted[touched]), 1)
            return ratio

        self.read_miss_ratio: Numbers | None = missed("read_pages", "read_hits")
        """Miss ratio of reads; 1 if there are no reads; None for caches without write-back."""
        self.write_miss_ratio: Numbers | None = missed("written_pages", "write_hits")
        """Miss ratio of writes; 1 if there are no writes; None for caches without write-back."""
        names = ("evicted", "limited", "background", "flushed")
        written_back = self._grid(sum(counted[name] for name in names)) if write_back else None
        self.pages_written_back: Counts | None = written_back
        """Number of dirty pages written because of eviction, the dirty limit or a flush; None without write-back."""
        self.pages_written_through: Counts | None = self._grid(counted["written_through"]) if write_back else None
        """Number of pages written by FUA requests, which go to storage at once; None without write-back."""
        self.pages_dirty: Counts | None = self._grid(counted["dirty_pages"]) if write_back else None
        """Number of pages left dirty at the end; None without write-back."""

    def _more(self) -> dict[str, Any]:
        return {"ttl_s": self.ttl_s}


class MissRatioCurves(_Caches):
    """Miss-ratio curves: miss ratios by cache size, for several policies.

    Arrays have a row for each policy and a column for each size, in the order of `policies` and `capacities`.
    """

    _columns = (
        "miss_ratio", "standard_error", "byte_miss_ratio", "byte_standard_error", "outgrown", "bytes_outgrown",
        "scaled_units",
    )  # fmt: skip

    def __init__(
        self, *, methods: Sequence[str], points: Mapping[str, Any], sample: Any, footprint_exact: bool, **common: Any
    ) -> None:
        super().__init__(**common)
        self.methods = tuple(methods)
        """How each policy's curve was computed: `one pass` and `simulated` are exact, `sampled` is an estimate."""
        self.sample_rate: float | None = sample
        """Share of the items in the sample; None without a sample."""
        self.footprint_exact = footprint_exact
        """True if `items` and `footprint_units` are exact counts; False if they are estimates from the sample."""
        self.miss_ratio: Numbers = points["miss_ratio"]
        """Misses divided by accesses."""
        self.standard_error: Numbers = points["standard_error"]
        """Standard error of `miss_ratio`; 0 if the ratio is exact."""
        sized = self.unit_bytes is not None
        self.byte_miss_ratio: Numbers | None = points["unit_miss_ratio"] if sized else None
        """Missed bytes divided by accessed bytes; None for counted objects."""
        self.byte_standard_error: Numbers | None = points["unit_standard_error"] if sized else None
        """Standard error of `byte_miss_ratio`; 0 if the ratio is exact."""
        grow = self.granularity == "sized-objects"
        self.outgrown: Counts | None = points["outgrown"] if grow else None
        """Hits, counted or estimated, that requested more bytes than were inserted; None without object sizes."""
        self.bytes_outgrown: Counts | None = points["outgrown_units"] if grow else None
        """Bytes that hits requested beyond the object's size at insertion. They also count as missed."""
        self.scaled_units: Counts = points["scaled_units"]
        """Capacity of each replica's cache in units; 0 if exact. Estimates from small caches are poor."""

    def _more(self) -> dict[str, Any]:
        methods = dict(zip(self.policies, self.methods, strict=True))
        return {"methods": methods, "sample_rate": self.sample_rate, "footprint_exact": self.footprint_exact}
