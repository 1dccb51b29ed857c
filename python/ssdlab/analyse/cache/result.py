"""What simulated caches did: arrays, tables, files."""

from collections.abc import Mapping, Sequence
from typing import Any

from ssdlab.analyse.cache.policies import Asked, Items
from ssdlab.lazy import Counts, Numbers, np, pa
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.model.source import source_text
from ssdlab.text import counted


class _Caches(Finding):
    """What simulations of caches on one trace have in common."""

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
        self._partial = partial

    @property
    def partial(self) -> bool:
        """Whether it was stopped before all policies and sizes asked for were simulated."""
        return self._partial

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

    def _source(self) -> Mapping[str, Any]:
        return self.source

    def to_arrow(self) -> "pa.Table":
        """A row for each policy and size, as an Arrow table."""
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
    """What caches of some policies and sizes did with one trace.

    Arrays have a row for each policy and a column for each size, in the order of `policies` and `capacities`. Reads and
    writes are accesses alike; caches are empty at first. Equal requests give equal figures, whatever `jobs`.
    """

    _columns = (
        "hits", "misses", "miss_ratio", "bytes_missed", "byte_miss_ratio", "evictions", "too_large", "outgrown",
        "bytes_outgrown", "expired",
        "read_miss_ratio", "write_miss_ratio", "pages_written_back", "pages_written_through", "pages_dirty",
    )  # fmt: skip

    def __init__(self, *, counted: Mapping[str, Any], ttl_s: int | str | None, **common: Any) -> None:
        super().__init__(**common)
        self.ttl_s = ttl_s
        """Seconds that an item lives once it came in; `"stream"`: as streams are called; None for ever."""
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
        """Items evicted, or turned away by the policy; None for write-back caches."""
        self.too_large: Counts | None = None if write_back else self._grid(counted["too_large"])
        """Misses of items larger than the cache; None for write-back caches."""
        grow = self.granularity == "sized-objects"
        self.outgrown: Counts | None = self._grid(counted["outgrown"]) if grow else None
        """Hits of more bytes than the object had when it came in, which it keeps; None unless objects have sizes."""
        self.bytes_outgrown: Counts | None = self._grid(counted["outgrown_units"]) if grow else None
        """Bytes that the objects of such hits lacked; they are bytes missed too."""
        self.expired: Counts | None = None if ttl_s is None else self._grid(counted["expired"])
        """Misses of items that were cached, but had expired; None where items live for ever."""

        def missed(touched: str, hit: str) -> "Numbers | None":
            if not write_back:
                return None
            ratio: Numbers = 1 - self._grid(counted[hit]) / np.maximum(self._grid(counted[touched]), 1)
            return ratio

        self.read_miss_ratio: Numbers | None = missed("read_pages", "read_hits")
        """Misses of the pages read, 1 without any; None unless caches write back."""
        self.write_miss_ratio: Numbers | None = missed("written_pages", "write_hits")
        """Misses of the pages written, 1 without any; None unless caches write back."""
        names = ("evicted", "limited", "background", "flushed")
        self.pages_written_back: Counts | None = (
            self._grid(sum(counted[name] for name in names)) if write_back else None
        )
        """Dirty pages written below, because they gave way, exceeded the limit, or by a flush; None unless caches write
        back."""
        self.pages_written_through: Counts | None = self._grid(counted["written_through"]) if write_back else None
        """Pages touched by writes with FUA, which go below at once; None unless caches write back."""
        self.pages_dirty: Counts | None = self._grid(counted["dirty_pages"]) if write_back else None
        """Pages left dirty at the end; None unless caches write back."""

    def _more(self) -> dict[str, Any]:
        return {"ttl_s": self.ttl_s}


class MissRatioCurves(_Caches):
    """Miss ratios against the size of the cache, for some policies.

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
        """How the curve of each policy was found: `one pass` and `simulated` are exact, `sampled` is an estimate."""
        self.sample_rate: float | None = sample
        """Share of the items in the sample; None without one."""
        self.footprint_exact = footprint_exact
        """Whether `items` and `footprint_units` are counted; else they are estimates from the sample."""
        self.miss_ratio: Numbers = points["miss_ratio"]
        """Misses of all accesses."""
        self.standard_error: Numbers = points["standard_error"]
        """Standard error of `miss_ratio`; 0 where it is exact."""
        sized = self.unit_bytes is not None
        self.byte_miss_ratio: Numbers | None = points["unit_miss_ratio"] if sized else None
        """Bytes missed of all bytes accessed; None for counted objects."""
        self.byte_standard_error: Numbers | None = points["unit_standard_error"] if sized else None
        """Standard error of `byte_miss_ratio`; 0 where it is exact."""
        grow = self.granularity == "sized-objects"
        self.outgrown: Counts | None = points["outgrown"] if grow else None
        """Hits of more bytes than the object had when it came in, which it keeps; of a sample an estimate. None unless
        objects have sizes."""
        self.bytes_outgrown: Counts | None = points["outgrown_units"] if grow else None
        """Bytes that the objects of such hits lacked, likewise; they are bytes missed too."""
        self.scaled_units: Counts = points["scaled_units"]
        """Units of the cache of each replica, 0 where the ratio is exact. Where they are few, the estimate is of
        another kind of cache."""

    def _more(self) -> dict[str, Any]:
        methods = dict(zip(self.policies, self.methods, strict=True))
        return {"methods": methods, "sample_rate": self.sample_rate, "footprint_exact": self.footprint_exact}
