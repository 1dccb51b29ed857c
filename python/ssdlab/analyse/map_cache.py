"""Advice on the design of a drive from its trace, without simulating every choice.

>>> from ssdlab import TraceFile, advise
>>> advice = advise.map_cache(TraceFile("traces/oltp.csv.zst"))  # doctest: +SKIP
>>> advice.best(target=0.95)  # doctest: +SKIP
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError, TraceError
from ssdlab.lazy import Counts, Numbers, np, room
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, layered, set_by
from ssdlab.model.envelope import written
from ssdlab.model.finding import Finding, Plot
from ssdlab.model.requests import Monitor
from ssdlab.model.several import several
from ssdlab.model.source import nothing_in, source_text
from ssdlab.model.trace_file import Given, source_of

if TYPE_CHECKING:
    from ssdlab.view.page import Page

PRESET = "mapcache"
"""The device advice is about unless another is given: that of the map-cache document."""

TARGET = 0.95
"""Share of the requests per second with the whole map in RAM that a cache is to reach, unless another is asked for."""

ENTRY = "4B"
"""Size of an entry of the map, unless another is asked for."""

MAP_OF_MAP_BYTES = 4
"""RAM for each segment of the whole map: where it is in flash."""


@dataclass(frozen=True)
class MapCacheChoice:
    """One cache with segments of one size."""

    cache_bytes: int
    """RAM for segments."""
    segment_bytes: int
    """Size of a segment."""
    ram_bytes: int
    """RAM for segments and for the map of the map, 4 bytes for each segment of the device."""
    hit_ratio: float
    """Look-ups that hit, over all."""
    iops: float
    """Requests of the trace over their predicted time in seconds."""
    iops_share: float
    """`iops` over those with the whole map in RAM."""
    read_iops_share: float
    """The same of the reads alone, which bear the misses of reads and writes and no write-back, as in the map-cache
    document; NaN for a trace without reads."""


class MapCacheCurve(NamedTuple):
    """Caches of every whole number of segments of one size, up to the largest asked for; arrays of equal length."""

    cache_bytes: "Counts"
    """RAM for segments."""
    hit_ratio: "Numbers"
    """Look-ups that hit, over all."""
    iops_share: "Numbers"
    """Requests per second over those with the whole map in RAM; at least so much, as each changed segment is taken to
    be written back by itself."""


class MapCacheAdvice(Finding):
    """What caches of map segments of many sizes would do on one trace, from a single pass over it.

    Arrays have a row for each cache and a column for each segment size, both ascending. Look-ups, hits and misses are
    those of the simulated cache (`ftl.page.map = "segments"`, policy `lru`), exactly, if it is empty at first, and so
    are write-backs, of all dirty segments of a map page at once. Times are predicted: a page read takes `nand.read`
    and its transfer, a page programmed `nand.program` and its transfer, a miss `nand.read` and the transfer of a
    segment, a write-back a page read (unless the segment is a page) and a page programmed; one chip does one after the
    other. Garbage collection is left out.
    """

    _json = "advice.json"
    saved = "report.html and advice.json"

    def __init__(
        self,
        *,
        config: Config,
        source: Mapping[str, Any],
        ingest: Mapping[str, Any] | None,
        advisor: _ssdlab.MapAdvisor,
        found: Mapping[str, Any],
    ) -> None:
        sizes: list[dict[str, Any]] = found["segments"]
        self.config = config
        """The device: its page, its capacity and the times of its flash count here."""
        self.source = dict(source)
        """Where the requests came from: `kind` is `trace`, `memory` or `workload`, with its particulars."""
        self.ingest = ingest
        """What was met while reading the trace (None without a file)."""
        self.page_bytes, self.entry_bytes, self.logical_pages = advisor.device()
        self.caches: Counts = np.array(advisor.caches(), np.uint64)
        """RAM for segments in bytes: the rows."""
        self.segments: Counts = np.array([size["segment_bytes"] for size in sizes], np.uint64)
        """Bytes of a segment: the columns."""
        self.requests: int = found["requests"]
        """Requests of every kind."""
        self.read_look_ups: int = sizes[0]["read_look_ups"]
        """Look-ups for pages read, one for each; pages written in part are read as well."""
        self.change_look_ups: int = sizes[0]["change_look_ups"]
        """Look-ups for pages written and for pages wholly trimmed, one for each."""
        self.first_look_ups: Counts = np.array([size["first_reads"] + size["first_changes"] for size in sizes], "u8")
        """First look-ups of a segment, for each segment size: they miss in every cache."""
        self.host_ns: int = found["host_ns"]
        """Time of all requests with the whole map in RAM, nanoseconds."""
        self.host_read_ns: int = found["host_read_ns"]
        """That of the read requests."""
        self._sizes = sizes

        self.read_hits: Counts = self._cells("read_hits")
        """Look-ups for reads that hit."""
        self.read_misses: Counts = np.uint64(self.read_look_ups) - self.read_hits
        """Look-ups for reads that miss."""
        self.change_hits: Counts = self._cells("change_hits")
        """Look-ups for writes and trims that hit."""
        self.change_misses: Counts = np.uint64(self.change_look_ups) - self.change_hits
        """Look-ups for writes and trims that miss."""
        self.write_backs: Counts = np.stack([size["write_backs"] for size in sizes], axis=1)
        """Map pages written back."""
        self.hit_ratio: Numbers = (self.read_hits + self.change_hits) / self.look_ups
        """Look-ups that hit, over all."""
        self.busy_ns: Counts = np.stack([size["busy_ns"] for size in sizes], axis=1)
        """Predicted time of all requests, nanoseconds."""
        self.iops: Numbers = self.requests / (self.busy_ns / 1e9)
        """Requests over their predicted time in seconds."""
        self.iops_share: Numbers = self.host_ns / self.busy_ns
        """`iops` over those with the whole map in RAM."""
        with np.errstate(invalid="ignore"):
            self.read_iops_share: Numbers = np.where(
                self.host_read_ns > 0, self.host_read_ns / self._cells("read_busy_ns"), np.nan
            )
        """The same of the reads alone, which bear all misses and no write-back, as in the map-cache document; NaN
        without reads."""
        self.limit: Numbers = np.array([self.host_ns / size["least_busy_ns"] for size in sizes])
        """For each segment size the share that no cache exceeds, as first look-ups miss."""
        map_of_map = np.array([MAP_OF_MAP_BYTES * size["count"] for size in sizes], np.uint64)
        self.ram_bytes: Counts = self.caches[:, None] + map_of_map[None, :]
        """RAM of each cache and of its map of the map."""

    @property
    def look_ups(self) -> int:
        """Look-ups for reads, writes and trims."""
        return self.read_look_ups + self.change_look_ups

    @property
    def full_iops(self) -> float:
        """Requests over their time in seconds with the whole map in RAM."""
        return self.requests / (self.host_ns / 1e9)

    @property
    def full_ram_bytes(self) -> int:
        """RAM of the whole map."""
        return self.logical_pages * self.entry_bytes

    def _cells(self, name: str) -> "Counts":
        """Of each cache and segment size; a cache larger than the map is one of the whole map."""
        columns = []
        for size in self._sizes:
            column: Counts = size[name]
            rows = np.minimum(self.caches // np.uint64(size["segment_bytes"]), len(column)).astype(np.int64) - 1
            columns.append(column[rows])
        return np.stack(columns, axis=1)

    def choice(self, cache: int, segment: int) -> MapCacheChoice:
        """The cache in this row with segments of this column."""
        return MapCacheChoice(
            cache_bytes=int(self.caches[cache]),
            segment_bytes=int(self.segments[segment]),
            ram_bytes=int(self.ram_bytes[cache, segment]),
            hit_ratio=float(self.hit_ratio[cache, segment]),
            iops=float(self.iops[cache, segment]),
            iops_share=float(self.iops_share[cache, segment]),
            read_iops_share=float(self.read_iops_share[cache, segment]),
        )

    def _cells_in_order(self, target: float) -> list[tuple[int, int]]:
        """The cells that reach `target`, by RAM; of equal RAM the fastest first."""
        if not 0 < target <= 1:
            raise ConfigError(f"a target of {100 * target:g}% is not above 0% and at most 100%; write 95%, for example")
        reached = [(int(row), int(column)) for row, column in np.argwhere(self.iops_share >= target)]
        return sorted(reached, key=lambda cell: (self.ram_bytes[cell], -self.iops_share[cell]))

    def best(self, target: float = TARGET) -> MapCacheChoice | None:
        """The choice that reaches a target with the least RAM, the map of the map included.

        Args:
            target: Share of the requests per second with the whole map in RAM, above 0 and at most 1.

        Returns:
            None if no cache asked for reaches the target; `limit` tells whether a larger one can.

        Raises:
            ConfigError: If the target is out of range.
        """
        cells = self._cells_in_order(target)
        return self.choice(*cells[0]) if cells else None

    def neighbours(self, choice: MapCacheChoice) -> tuple[MapCacheChoice | None, MapCacheChoice | None]:
        """The next smaller and the next larger cache asked for, with segments of the same size."""
        row = self.caches.tolist().index(choice.cache_bytes)
        column = self.segments.tolist().index(choice.segment_bytes)
        smaller = self.choice(row - 1, column) if row > 0 else None
        larger = self.choice(row + 1, column) if row + 1 < len(self.caches) else None
        return smaller, larger

    def curve(self, segment_bytes: int) -> MapCacheCurve:
        """Caches of every whole number of segments of this size, which must be one asked for.

        Raises:
            ConfigError: If it is not.
        """
        if segment_bytes not in self.segments:
            asked = ", ".join(map(str, self.segments.tolist()))
            raise ConfigError(f"segments of {segment_bytes} bytes were not asked for; take one of {asked}")
        size = self._sizes[self.segments.tolist().index(segment_bytes)]
        counts = np.arange(1, len(size["most_busy_ns"]) + 1, dtype=np.uint64)
        return MapCacheCurve(
            cache_bytes=counts * np.uint64(segment_bytes),
            hit_ratio=(size["read_hits"] + size["change_hits"]) / self.look_ups,
            iops_share=self.host_ns / size["most_busy_ns"],
        )

    def least(self, segment_bytes: int, target: float = TARGET) -> int | None:
        """Bytes of the smallest cache known to reach a target: one asked for, or of any whole number of segments with
        each changed one written back by itself.

        Args:
            segment_bytes: Size of a segment; one of those asked for.
            target: As in `best`.

        Returns:
            None if no cache up to the largest asked for does.

        Raises:
            ConfigError: If the target is out of range or the segment size was not asked for.
        """
        cells = self._cells_in_order(target)
        curve = self.curve(segment_bytes)
        reached = curve.cache_bytes[curve.iops_share >= target].tolist()
        reached += [int(self.caches[row]) for row, column in cells if self.segments[column] == segment_bytes]
        return min(reached, default=None)

    def to_dict(self, target: float = TARGET) -> dict[str, Any]:
        """The figures without the curves, ready for JSON; shares are those of 1.

        Raises:
            ConfigError: If the target is out of range.
        """
        best = self.best(target)
        smaller, larger = self.neighbours(best) if best else (None, None)
        rows, columns = range(len(self.caches)), range(len(self.segments))
        counts = ("read_hits", "read_misses", "change_hits", "change_misses", "write_backs")
        return {
            "page_bytes": self.page_bytes,
            "entry_bytes": self.entry_bytes,
            "logical_pages": self.logical_pages,
            "requests": self.requests,
            "read_look_ups": self.read_look_ups,
            "change_look_ups": self.change_look_ups,
            "full_iops": self.full_iops,
            "full_ram_bytes": self.full_ram_bytes,
            "segments": [
                {
                    "segment_bytes": int(self.segments[column]),
                    "first_look_ups": int(self.first_look_ups[column]),
                    "limit": float(self.limit[column]),
                    "least_cache_bytes": self.least(int(self.segments[column]), target),
                }
                for column in columns
            ],
            "caches": [
                {**_plain(self.choice(row, column)), **{name: int(getattr(self, name)[row, column]) for name in counts}}
                for row in rows
                for column in columns
            ],
            "target": target,
            "best": _plain(best) if best else None,
            "smaller": _plain(smaller) if smaller else None,
            "larger": _plain(larger) if larger else None,
        }

    def _source(self) -> Mapping[str, Any]:
        return self.source

    def _configuration(self) -> dict[str, Any]:
        return self.config.to_dict()

    def to_json(self, target: float = TARGET) -> str:
        """`envelope` as JSON text, with advice for a target."""
        return written({**self.envelope(), "result": self.to_dict(target)})

    def page(self, target: float = TARGET) -> "Page":
        """What a person is shown of it, with advice for a target."""
        page: Page = room("view.pages.map_cache").page(self, target)
        return page

    plot = Plot("map_cache.shares")

    def __repr__(self) -> str:
        shape = f"{len(self.caches)} caches, {len(self.segments)} segment sizes"
        return f"<ssdlab.advise.MapCacheAdvice on {source_text(self.source)}: {shape}>"


def _plain(choice: MapCacheChoice) -> dict[str, Any]:
    """A choice ready for JSON, which has no NaN."""
    return {name: None if value != value else value for name, value in asdict(choice).items()}


@takes(caches=["64KiB"], segments=["4KiB"])
def map_cache(
    trace: Given | None = None,
    config: Config | Overrides | None = None,
    *,
    caches: Sequence[str] | None = None,
    segments: Sequence[str] | None = None,
    entry: str = ENTRY,
    monitor: Monitor | None = None,
) -> MapCacheAdvice:
    """Tells what caches of map segments of many sizes would do on a trace, all of them from one pass.

    Args:
        trace: A trace in memory, a file (streamed), or None for the workload that `config` describes.
        config: The device: its page, its capacity, the times of its flash, and how addresses beyond it are fitted
            (`host.fit`; `grow`, `scale` and `compact` read the trace once before). That of the map-cache document if
            left out, and with settings alone on top of it. Its FTL plays no part.
        caches: RAM for segments, such as `"64KiB"`; each a multiple of every segment size. Those of the document, 8 to
            512 KiB, if left out.
        segments: Sizes of a segment, each a power of two from an entry to a page. Those of the document, 1 to 8 KiB,
            as far as they fit a page, if left out.
        entry: Size of an entry of the map, a power of two.
        monitor: Told how far the pass is, as that of `simulate`, in the phases `scan` and `advise`. If it returns
            something true, KeyboardInterrupt is raised.

    Raises:
        ConfigError: If sizes do not fit together, or the configuration has no times (`time = "count"`) or none
            above 0.
        SimulationError: If a request lies beyond the device and `host.fit` is `error`.
        TraceError: If the trace cannot be read, or neither reads nor writes.
    """
    config = config if isinstance(config, Config) else layered(PRESET, [], [set_by("config", config or ())])
    source = source_of(trace, config)
    if trace is not None:
        source.open_addresses()
    space = None if trace is None else source.address_space(config, monitor)
    advisor = _ssdlab.MapAdvisor(
        config._inner, entry, caches and several(caches), segments and several(segments), space
    )
    with source.placing():
        ingest = source.read(advisor, monitor, "advise")
    found = advisor.advice()
    if found["host_ns"] == 0:
        requests = source.profile()["requests"]
        if requests["read"] + requests["write"] == 0:
            told = nothing_in(source.about, ingest)
            raise TraceError(f"{told}, so that there is nothing to compare; give a trace with reads or writes")
        raise ConfigError("flash takes no time, so that there is nothing to compare; set nand.read and nand.program")
    return MapCacheAdvice(config=config, source=source.about, ingest=ingest, advisor=advisor, found=found)
