"""Predicts map caches of many sizes from one pass over a trace.

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
from ssdlab.model.finding import Plot, TraceFinding
from ssdlab.model.requests import Monitor
from ssdlab.model.several import several
from ssdlab.model.source import nothing_in, source_text
from ssdlab.model.trace_file import Given, source_of

if TYPE_CHECKING:
    from ssdlab.view.page import Page

PRESET = "mapcache"
"""Preset of the default device, which is the device modelled in the map-cache document."""

TARGET = 0.95
"""Default IOPS target, as a share of the IOPS with the whole map in RAM."""

ENTRY = "4B"
"""Default size of a map entry."""

MAP_OF_MAP_BYTES = 4
"""RAM in bytes that it takes to record the location of one map segment in flash."""


@dataclass(frozen=True)
class MapCacheChoice:
    """One map cache, with its RAM and segment size, and its predicted performance."""

    cache_bytes: int
    """RAM for cached segments, in bytes."""
    segment_bytes: int
    """Size of a map segment, in bytes."""
    ram_bytes: int
    """RAM in bytes for cached segments, and for the table of segment locations with 4 bytes per segment."""
    hit_ratio: float
    """Hits of the cache divided by look-ups."""
    iops: float
    """Predicted requests per second."""
    iops_share: float
    """`iops` divided by the IOPS of a drive that has the whole map in RAM."""
    read_iops_share: float
    """Read IOPS relative to the whole map in RAM. As in the map-cache document, the time of the reads includes the cost
    of every miss, but not of write-backs. NaN without reads.
    """


class MapCacheCurve(NamedTuple):
    """Predictions for one segment size, for each number of cached segments up to the largest requested cache."""

    cache_bytes: "Counts"
    """RAM of each cache for cached segments, in bytes."""
    hit_ratio: "Numbers"
    """Hits of the cache divided by look-ups."""
    iops_share: "Numbers"
    """Lower bound of the IOPS relative to the whole map in RAM: each changed segment is written back separately."""


class MapCacheAdvice(TraceFinding):
    """Predicted map caches of many sizes, from a single pass over a trace.

    Arrays have a row for each cache and a column for each segment size, both ascending. Look-ups, hits, misses and
    write-backs equal those of the simulated cache (`ftl.page.map = "segments"`, policy `lru`), starting empty. Times
    are predicted for one chip that executes one operation at a time. A page read takes `nand.read` and its transfer; a
    page program takes `nand.program` and its transfer. A miss takes `nand.read` and the transfer of a segment. A
    write-back reads a page (unless a segment is a whole page) and programs a page. Garbage collection is not modelled.
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
        super().__init__(source, ingest)
        self.config = config
        """The device; only its page size, capacity and flash times matter."""
        self.page_bytes, self.entry_bytes, self.logical_pages = advisor.device()
        self.caches: Counts = np.array(advisor.caches(), np.uint64)
        """RAM of each cache for cached segments, in bytes (rows)."""
        self.segments: Counts = np.array([size["segment_bytes"] for size in sizes], np.uint64)
        """Segment sizes in bytes (columns)."""
        self.requests: int = found["requests"]
        """Total number of requests, of any operation."""
        self.read_look_ups: int = sizes[0]["read_look_ups"]
        """Number of look-ups for reads, one per page, including pages read for partial writes."""
        self.change_look_ups: int = sizes[0]["change_look_ups"]
        """Number of look-ups for writes and whole-page trims, one per page."""
        self.first_look_ups: Counts = np.array([size["first_reads"] + size["first_changes"] for size in sizes], "u8")
        """Number of first look-ups of segments, by segment size. First look-ups miss in every cache."""
        self.host_ns: int = found["host_ns"]
        """Predicted total time of all requests with the whole map in RAM, in nanoseconds."""
        self.host_read_ns: int = found["host_read_ns"]
        """Predicted total time of the reads with the whole map in RAM, in nanoseconds."""
        self._sizes = sizes
        self.read_hits: Counts = self._cells("read_hits")
        """Number of hits among the look-ups for reads."""
        self.read_misses: Counts = np.uint64(self.read_look_ups) - self.read_hits
        """Number of misses among the look-ups for reads."""
        self.change_hits: Counts = self._cells("change_hits")
        """Number of hits among the look-ups for writes and trims."""
        self.change_misses: Counts = np.uint64(self.change_look_ups) - self.change_hits
        """Number of misses among the look-ups for writes and trims."""
        self.write_backs: Counts = np.stack([size["write_backs"] for size in sizes], axis=1)
        """Number of map pages written back."""
        self.hit_ratio: Numbers = (self.read_hits + self.change_hits) / self.look_ups
        """Hits of the cache divided by look-ups."""
        self.busy_ns: Counts = np.stack([size["busy_ns"] for size in sizes], axis=1)
        """Predicted time in nanoseconds to execute all requests one at a time."""
        self.iops: Numbers = self.requests / (self.busy_ns / 1e9)
        """Predicted requests per second."""
        self.iops_share: Numbers = self.host_ns / self.busy_ns
        """`iops` divided by the IOPS of a drive that has the whole map in RAM."""
        with np.errstate(invalid="ignore"):
            self.read_iops_share: Numbers = np.where(
                self.host_read_ns > 0, self.host_read_ns / self._cells("read_busy_ns"), np.nan
            )
        """See `MapCacheChoice.read_iops_share`."""
        self.limit: Numbers = np.array([self.host_ns / size["least_busy_ns"] for size in sizes])
        """Upper bound of `iops_share` by segment size; below 1, because the first look-up of each segment misses."""
        map_of_map = np.array([MAP_OF_MAP_BYTES * size["count"] for size in sizes], np.uint64)
        self.ram_bytes: Counts = self.caches[:, None] + map_of_map[None, :]
        """RAM of each cache in bytes, including the table that locates each map segment in flash."""

    @property
    def look_ups(self) -> int:
        """Number of look-ups for reads, writes and trims."""
        return self.read_look_ups + self.change_look_ups

    @property
    def full_iops(self) -> float:
        """Requests per second with the whole map in RAM."""
        return self.requests / (self.host_ns / 1e9)

    @property
    def full_ram_bytes(self) -> int:
        """RAM in bytes that the whole map needs."""
        return self.logical_pages * self.entry_bytes

    def _cells(self, name: str) -> "Counts":
        """Returns a metric by cache and segment size. Caches larger than the map have the values of the whole map."""
        columns = []
        for size in self._sizes:
            column: Counts = size[name]
            rows = np.minimum(self.caches // np.uint64(size["segment_bytes"]), len(column)).astype(np.int64) - 1
            columns.append(column[rows])
        return np.stack(columns, axis=1)

    def choice(self, cache: int, segment: int) -> MapCacheChoice:
        """Returns the cache at the given row (cache size) and column (segment size)."""
        names = ("ram_bytes", "hit_ratio", "iops", "iops_share", "read_iops_share")
        figures = [getattr(self, name)[cache, segment].item() for name in names]
        return MapCacheChoice(int(self.caches[cache]), int(self.segments[segment]), *figures)

    def _cells_in_order(self, target: float) -> list[tuple[int, int]]:
        """Returns all caches that reach `target`, sorted by RAM, then by speed."""
        if not 0 < target <= 1:
            share = f"{100 * target:g}%"
            raise ConfigError(f"the target must be above 0% and at most 100%, not {share}; use 95%, for example")
        reached = [(int(row), int(column)) for row, column in np.argwhere(self.iops_share >= target)]
        return sorted(reached, key=lambda cell: (self.ram_bytes[cell], -self.iops_share[cell]))

    def best(self, target: float = TARGET) -> MapCacheChoice | None:
        """Returns the cache that reaches the target with the least RAM, including the table of segment locations.

        Args:
            target: Share of the IOPS with the whole map in RAM, above 0 and at most 1.

        Returns:
            None if no requested cache reaches the target; `limit` shows if a larger cache can.

        Raises:
            ConfigError: If the target is out of range.
        """
        cells = self._cells_in_order(target)
        return self.choice(*cells[0]) if cells else None

    def neighbours(self, choice: MapCacheChoice) -> tuple[MapCacheChoice | None, MapCacheChoice | None]:
        """Returns the next smaller and larger requested caches with the same segment size; None for a missing one."""
        row = self.caches.tolist().index(choice.cache_bytes)
        column = self.segments.tolist().index(choice.segment_bytes)
        smaller = self.choice(row - 1, column) if row > 0 else None
        larger = self.choice(row + 1, column) if row + 1 < len(self.caches) else None
        return smaller, larger

    def curve(self, segment_bytes: int) -> MapCacheCurve:
        """Returns the predictions for one requested segment size, for caches of one segment, two segments and so on.

        Raises:
            ConfigError: If the segment size was not requested.
        """
        if segment_bytes not in self.segments:
            asked = ", ".join(map(str, self.segments.tolist()))
            raise ConfigError(f"segment size {segment_bytes} bytes was not requested; use one of {asked}")
        size = self._sizes[self.segments.tolist().index(segment_bytes)]
        counts = np.arange(1, len(size["most_busy_ns"]) + 1, dtype=np.uint64)
        return MapCacheCurve(
            cache_bytes=counts * np.uint64(segment_bytes),
            hit_ratio=(size["read_hits"] + size["change_hits"]) / self.look_ups,
            iops_share=self.host_ns / size["most_busy_ns"],
        )

    def least(self, segment_bytes: int, target: float = TARGET) -> int | None:
        """Returns the bytes of the smallest cache that reaches the target: a requested cache or a cache of `curve`.

        Args:
            segment_bytes: Size of a segment; one of the requested sizes.
            target: As in `best`.

        Returns:
            None if no cache up to the largest requested size reaches the target.

        Raises:
            ConfigError: If the target is out of range or the segment size was not requested.
        """
        cells = self._cells_in_order(target)
        curve = self.curve(segment_bytes)
        reached = curve.cache_bytes[curve.iops_share >= target].tolist()
        reached += [int(self.caches[row]) for row, column in cells if self.segments[column] == segment_bytes]
        return min(reached, default=None)

    def to_dict(self, target: float = TARGET) -> dict[str, Any]:
        """Returns all results except the curves in a form ready for JSON; shares are fractions from 0 to 1.

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
            "best": best and _plain(best),
            "smaller": smaller and _plain(smaller),
            "larger": larger and _plain(larger),
        }

    def _configuration(self) -> dict[str, Any]:
        return self.config.to_dict()

    def to_json(self, target: float = TARGET) -> str:
        """Returns the result's JSON envelope as text, with the cache recommended for the target."""
        return written({**self.envelope(), "result": self.to_dict(target)})

    def page(self, target: float = TARGET) -> "Page":
        """Returns the report page, with the cache recommended for the target."""
        page: Page = room("view.pages.map_cache").page(self, target)
        return page

    plot = Plot("map_cache.shares")

    def __repr__(self) -> str:
        shape = f"{len(self.caches)} caches, {len(self.segments)} segment sizes"
        return f"<ssdlab.advise.MapCacheAdvice on {source_text(self.source)}: {shape}>"


def _plain(choice: MapCacheChoice) -> dict[str, Any]:
    """Returns a map cache in a form ready for JSON; NaN becomes None."""
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
    """Predicts map caches of many sizes on a trace, from one pass.

    Args:
        trace: A trace in memory, a file (streamed), or None for the workload in `config`.
        config: The device; by default the device of the map-cache document. Settings are applied on top of that device.
            Page, capacity, flash times and `host.fit` matter, but not the FTL. `grow`, `scale` and `compact` need
            another pass over the trace.
        caches: RAM for segments, such as `"64KiB"`; each size is a multiple of every segment size. By default the sizes
            of the map-cache document, 8 to 512 KiB.
        segments: Sizes of a segment, each a power of two from an entry to a page. By default the sizes of the map-cache
            document, 1 to 8 KiB, that fit a page.
        entry: Size of a map entry, a power of two.
        monitor: Progress callback as in `simulate`, in the phases `scan` and `advise`. If it returns a true value,
            KeyboardInterrupt is raised.

    Raises:
        ConfigError: If sizes are incompatible, or flash times are missing (`time = "count"`) or all 0.
        SimulationError: If a request exceeds the device and `host.fit` is `error`.
        TraceError: If the trace cannot be read, or has no reads or writes.
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
        ingest = source.read(advisor.add, monitor, "advise")
    found = advisor.advice()
    if found["host_ns"] == 0:
        requests = source.profile()["requests"]
        if requests["read"] + requests["write"] == 0:
            fault = nothing_in(source.about, ingest)
            raise TraceError(f"{fault}, so there is nothing to compare; use a trace with reads or writes")
        raise ConfigError("all flash times are 0, so there is nothing to compare; set nand.read and nand.program")
    return MapCacheAdvice(config=config, source=source.about, ingest=ingest, advisor=advisor, found=found)
