"""Table of all metrics of a run: name, unit, label, help, and whether a higher or a lower value is better.

`result.json`, its checks (`model.shape`), pages, terminal, comparisons, charts and the tables of `docs/results.md` are
derived from this table. Help texts of counters come from Rust (`counters!`); here they only have labels.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ssdlab import text
from ssdlab._ssdlab import CAUSES

Summary = Mapping[str, Any]
Better = Literal["less", "more"]

FORMS: Mapping[str, Callable[[float], str]] = {
    "bytes": text.size,
    "decimal bytes": text.size_decimal,
    "bytes/s": text.bandwidth,
    "ns": text.duration,
    "years": text.years,
    "share of 1": text.percent,
    "ratio": text.ratio,
    "1/s": text.short_count,
    "capacities": text.decimal,
    "capacities/day": text.significant,
    "mean": text.decimal,
    "small ratio": text.significant,
    "m°C": text.celsius,
}
"""Formatters by unit, or by the `form` of a metric. Values in any other unit are formatted as counts."""

PER_DAY = "at that rate"
"""Suffix of metric labels on report pages; it refers to the host write rate in a row above."""


@dataclass(frozen=True)
class Metric:
    """A metric: one key of a result, with its unit, label and format."""

    name: str
    """Dotted path in the result; a metric with a `compute` function is only on pages."""
    unit: str = ""
    label: str = ""
    """Label of the metric on pages; empty if the metric appears only in the JSON."""
    help: str = ""
    better: Better | None = None
    """`less` or `more`: the better direction; None if neither direction is better."""
    null: str = ""
    """Condition under which the value is null."""
    quiet: bool = False
    """True if pages omit the metric when it is 0."""
    section: str = ""
    kind: Literal["number", "name", "flag"] = "number"
    form: str = ""
    """Key of the formatter in `FORMS`; empty if the unit decides the format."""
    compute: Callable[[Summary], float | None] | None = None

    @property
    def format(self) -> Callable[[float], str]:
        """Formatter that writes a value of the metric with its unit."""
        return FORMS.get(self.form or self.unit, text.count)

    def value(self, summary: Summary) -> float | None:
        """Returns the metric's value in a result; None if the run has no such value."""
        if self.compute is not None:
            return self.compute(summary)
        node: Any = summary
        for part in self.name.split("."):
            if not isinstance(node, Mapping) or part not in node:
                return None
            node = node[part]
        return None if node is None else float(node)

    def text(self, summary: Summary) -> str:
        """Returns the metric's value with its unit, as text."""
        value = self.value(summary)
        return text.MISSING if value is None else self.format(value)


def _group(section: str, place: str, *metrics: Metric) -> tuple[Metric, ...]:
    """Returns copies of the metrics that belong to a page section and have the path `place` prefixed to their names."""
    above = f"{place}." if place else ""
    return tuple(replace(metric, name=f"{above}{metric.name}", section=section) for metric in metrics)


TIMES = (
    Metric("count", "requests", "requests", "number of requests"),
    Metric("mean_ns", "ns", "mean", "exact mean"),
    Metric("std_dev_ns", "ns", "sd", "exact standard deviation"),
    Metric("min_ns", "ns", "", "exact minimum"),
    *(
        Metric(f"p{quantile.replace('.', '_')}_ns", "ns", f"p{quantile}", f"percentile {quantile}, exact to 1.6 %")
        for quantile in ("50", "90", "95", "99", "99.9", "99.99")
    ),
    Metric("max_ns", "ns", "max", "exact maximum"),
)
"""Metrics of a distribution of times, such as response times."""

QUANTILES = {time.label: time.name for time in TIMES if time.label and time.unit == "ns"}
"""Maps the column headers of a table of times to metric names."""

CAPTURE = (
    Metric("sub_streams", "runs", "sequential sub-streams", "sub-streams"),
    Metric("random_pages", "pages", "random pages", "random pages"),
    Metric("hit_ratio", "share of 1", "hit ratio", "share of sub-streams with at least one page in a sequential "
           "log block", "more", "without sub-streams"),
    Metric("hit_quality", "share of 1", "hit quality", "share of pages in sequential log blocks, in sub-streams "
           "with at least one such page", "more", "without hits"),
    Metric("error_capture", "share of 1", "error capture", "share of random pages in sequential log blocks", "less",
           "without random pages"),
    Metric("pseudo_benefit", "share of 1", "pseudo-benefit", "1 - `error_capture`", "more", "without random pages"),
)  # fmt: skip
"""Metrics of sequential sub-streams and random pages: their numbers, and their shares in sequential log blocks."""

LOOKUPS = (
    Metric(
        "hit_ratio",
        "share of 1",
        "hit ratio",
        "share of look-ups that found their entry in RAM",
        "more",
        "without look-ups",
    ),
    Metric("count", "look-ups", "", "look-ups"),
    Metric("hits", "look-ups", "", "look-ups that found their entry in RAM"),
)


def _times(section: str, places: Mapping[str, str], columns: tuple[str, ...], better: Better | None, *,
           quiet: bool = True) -> tuple[Metric, ...]:  # fmt: skip
    """Returns metrics of time distributions. `places` are their paths in the result, by the prefix of their labels."""
    return tuple(
        Metric(f"{place}.{QUANTILES[column]}", "ns", f"{prefix} {column}", better=better, quiet=quiet, section=section)
        for prefix, place in places.items()
        for column in columns
    )


def _pages_touched(summary: Summary) -> float | None:
    cache: Mapping[str, Any] | None = summary["cache"]
    return None if cache is None else cache["hits"] + cache["misses"]


def _pages_copied(summary: Summary) -> float:
    """Returns the pages programmed for neither host nor map: copies by GC and merges, padding, parity and so on."""
    programs: Mapping[str, int] = summary["flash"]["programs"]
    copies = (cause for cause in CAUSES if cause != "host" and not cause.startswith("map_"))
    return sum(programs.get(cause, 0) for cause in copies)


def _copied_within_log(cause: str) -> Callable[[Summary], float | None]:
    return lambda summary: None if summary["log"] is None else summary["flash"]["programs"].get(cause, 0)


def _reads_beside_writes(summary: Summary) -> float | None:
    if summary["drive"] is None:
        return None
    interference = summary["drive"]["interference"]
    alone, beside = ((interference[name] or {"count": 0})["count"] for name in ("reads_alone", "reads_beside_writes"))
    return beside / (alone + beside) if alone + beside else None


def _per_day(rate: str) -> Callable[[Summary], float | None]:
    """Returns a function for the host's bytes per day, or None if the lifetime assumes another rate than `rate`."""
    return lambda run: run["lifetime"]["host_bytes_per_day"] if run["lifetime"]["rate"] == rate else None


_UNTIMED = "if time is not modelled"
_RATES = (
    Metric("iops", "1/s", "requests per second", "completed requests per second", "more", "if no time passed"),
    Metric("bytes_read_per_s", "bytes/s", "read bandwidth", "read bandwidth", "more", "if no time passed"),
    Metric("bytes_written_per_s", "bytes/s", "write bandwidth", "write bandwidth", "more", "if no time passed"),
)

METRICS = (
    *_group("Device", "device",
        Metric("capacity_bytes", "bytes", "capacity", "capacity that the host sees"),
        Metric("scale_model.nominal_capacity_bytes", "bytes", "", "capacity of the nominal drive that the "
               "scale model represents"),
        Metric("scale_model.ratio", "", "", "flash capacity of the nominal drive / flash capacity of "
               "the scale model"),
        Metric("scale_model.needed_bytes", "bytes", "", "capacity that the trace needs; "
               "`capacity_bytes` is larger if the scale model would have too few blocks"),
        Metric("physical_bytes", "bytes", "flash", "raw flash capacity"),
        Metric("op_over_logical", "share of 1", "over-provisioning, with the FTL's reserve",
               "over-provisioning: (physical - logical) / logical, with the FTL's reserve and without parity"),
        Metric("spare_of_physical", "share of 1", "over-provisioning, share of physical flash",
               "over-provisioning: (physical - logical) / physical, without parity"),
        Metric("page_bytes", "bytes", "page", "page size"),
        Metric("pages_per_block", "pages", "pages per block", "pages per erase block"),
        Metric("blocks", "blocks", "blocks", "erase blocks"),
        Metric("reserve_blocks", "blocks", "reserved by the FTL", "blocks that the FTL needs as open blocks, as "
               "erased blocks, for merges, and for a map in flash; included in `blocks`"),
        Metric("op_without_reserve", "share of 1", "over-provisioning, without the FTL's reserve",
               "over-provisioning without `reserve_blocks`. If `device.reserve` is `extra` (the default), "
               "`device.op` sets this value. Reserved blocks sometimes hold data, so GC effectively has "
               "`collection.effective_op`"),
        Metric("mapping_table_bytes", "bytes", "mapping tables in controller RAM", "size of the mapping tables that a "
               "controller with this FTL keeps in RAM, counted as in the FTL's paper ([memory](ftls.md#memory))",
               "less"),
        Metric("memory_bytes", "bytes", "simulator memory for the FTL", "memory that the simulator uses for maps and "
               "block state", "less"),
        Metric("logical_pages", "pages", "", "pages that the host sees"),
        Metric("physical_pages", "pages", "", "flash pages"),
        Metric("endurance_cycles", "cycles", "", "program/erase cycles that a block endures"),
    ),
    *_group("Host", "host",
        Metric("read_requests", "requests", "read requests"),
        Metric("write_requests", "requests", "write requests"),
        Metric("trim_requests", "requests", "trim requests", quiet=True),
        Metric("flush_requests", "requests", "flush requests", quiet=True),
        Metric("bytes_read", "bytes", "data read"),
        Metric("bytes_written", "bytes", "data written"),
        Metric("bytes_trimmed", "bytes", "data trimmed", quiet=True),
        Metric("pages_written", "pages", "pages written"),
    ),
    *_group("Host", "",
        Metric("capacities_written", "capacities", "host writes / drive capacity", "pages written in the measured "
               "phase / `device.logical_pages`"),
        Metric("repeat.replays", "replays", "replays, including the measured one", "number of replays of the trace, "
               "including the measured one"),
        Metric("repeat.capacities_written", "capacities", "host writes / drive capacity, all replays",
               "pages written in all replays, excluding warm-up / `device.logical_pages`"),
        Metric("repeat.steady", help="true if write amplification became [steady](#steady)", kind="flag",
               null="unless `host.repeat` is `until-steady`"),
        Metric("replay.mode", help="replay mode, as in `host.replay`", kind="name"),
        Metric("replay.speed", "ratio", "", "replay speed relative to the timestamps of the trace",
               null="unless the mode is `open`"),
        Metric("replay.queue_depth", "requests", "", "target number of outstanding requests; without `time = "
               "\"event\"`, the drive serves one at a time", null="unless the mode is `closed`"),
        Metric("replay.recorded_ns", "ns", "", "time between the first and the last request in the trace, at the speed "
               "of the trace"),
        Metric("replay.arrivals_per_s", "1/s", "arriving requests per second", "requests that arrive per second",
               null="unless the mode is `open`, or if all requests arrive at once"),
        Metric("replay.backlog_requests", "requests", "requests outstanding at the last arrival", "incomplete requests "
               "when the last request arrives, including this request. Above 65,536, the number is interpolated from "
               "the series", "less", "unless the mode is `open` and `time` is `event`"),
        Metric("replay.sustained_speed", "ratio", "sustained replay speed", "`recorded_ns` / "
               "`time.elapsed_ns`, if the drive falls behind", "more", "if the drive keeps up"),
        Metric("host.partial_pages_written", "pages", "partial page writes", quiet=True),
        Metric("host.unmapped_pages_read", "pages", "reads of unmapped pages", quiet=True),
        Metric("host.wrapped_requests", "requests", "requests wrapped around to fit the device", quiet=True),
    ),
    *_group("Below the cache", "cache.below", *(replace(rate, help="", better=None) for rate in _RATES)),
    *_times("Below the cache", {op: f"cache.below.latency.{op}" for op in ("read", "write")},
            ("mean", "p50", "p99", "p99.9"), None),
    *_group("Flash", "",
        Metric("write_amplification", "ratio", "write amplification (WAF)", "pages programmed per page the host "
               "wrote; a partial page counts as one", "less", "if the host wrote nothing"),
        Metric("precondition.write_amplification", "ratio", "write amplification, preconditioning",
               "write amplification at the end of preconditioning", null="if preconditioning overwrote nothing"),
        Metric("precondition.replays", "replays", "replays during preconditioning", "number of times that "
               "preconditioning replayed the trace's writes", null="unless `precondition.overwrite` is `trace`"),
        Metric("precondition.host_pages_written", "pages", "", "pages written to precondition the drive"),
        Metric("precondition.flash_pages_programmed", "pages", "", "pages programmed by preconditioning"),
        Metric("precondition.runs_pages_written", "pages", "", "host pages programmed by earlier runs "
               "of a [saved](state.md) drive, excluding pages overwritten in a write buffer"),
        Metric("precondition.stable", help="true if write amplification was steady when preconditioning ended",
               kind="flag", null="unless preconditioning runs until write amplification is steady"),
        Metric("precondition.sampled_planes", "planes", "", "number of planes that preconditioning overwrote, "
               "before copying their state to the other planes ([state.md](state.md))",
               null="if all planes were overwritten"),
        Metric("precondition.sampled_sections", "sections", "", "number of equal sections per superblock; one "
               "section was overwritten and its state copied to the others ([state.md](state.md))",
               null="if all sections were overwritten"),
        Metric("collection.effective_op", "ratio", "effective over-provisioning, measured", "effective "
               "over-provisioning: invalid pages per valid page in the plane of each victim, half-way through its "
               "collection, summed over the victims; erased pages and map pages do not count. Under uniform writes "
               "and whole rounds of GC, write amplification is within 1.5 % of the closed form for this "
               "over-provisioning. With `ftl.page.trigger=batch` a round is `high - low + 1` blocks of host pages in "
               "each plane; a run of n rounds may be off by another 1/n, and a batch should be at most a quarter of "
               "the blocks of a plane", null="without victims", form="share of 1"),
        Metric("collection.victims", "blocks", "", "victim blocks that hold data, not map pages"),
        Metric("pages_copied", "pages", "pages copied", better="less", compute=_pages_copied),
    ),
    *_group("Flash", "wear",
        Metric("erases", "erases", "blocks erased", "erases in the measured phase", "less"),
        Metric("erase_mean", "erases", "erases per block, mean", "mean over the blocks", "less", form="mean"),
        Metric("erase_std_dev", "erases", "erases per block, standard deviation", "standard deviation over the blocks",
               "less", form="mean"),
        Metric("erase_min", "erases", "erases per block, min", "erases of the least worn block"),
        Metric("erase_max", "erases", "erases per block, max", "erases of the most worn block", "less"),
    ),
    *_group("SLC cache", "slc",
        Metric("pages_cached", "pages", "pages written to the SLC cache", "host pages written in SLC mode", "more"),
        Metric("pages_bypassed", "pages", "pages bypassing the SLC cache", "host pages written to other blocks because "
               "the cache was full", "less"),
        Metric("erases", "erases", "blocks erased in SLC mode", "erases of SLC cache blocks; `wear` does not "
               "count them", "less"),
        Metric("erase_max", "erases", "erases per block in SLC mode, max", "largest number of erases of a block in "
               "SLC mode", "less"),
        Metric("endurance_cycles", "cycles", "", "program/erase cycles that a block endures in SLC mode"),
    ),
    *_group("Map", "map",
        Metric("pages", "pages", "map pages in flash", "number of map pages in flash"),
        Metric("all.hit_ratio", "share of 1", "hit ratio", better="more"),
        Metric("reads.hit_ratio", "share of 1", "hit ratio, reads", better="more"),
        Metric("changes.hit_ratio", "share of 1", "hit ratio, writes and trims", better="more"),
        Metric("double_read_share", "share of 1", "reads that needed a map read", "share of page reads that first "
               "read a map page, because the entry was not in RAM", "less", "without reads"),
        Metric("pages_read", "pages", "map pages read", "map pages read, for any reason", "less"),
        Metric("pages_programmed", "pages", "map pages programmed", "map pages programmed, for any reason", "less"),
        Metric("translation_write_amplification", "ratio", "map pages programmed per page written",
               "map pages programmed per page the host wrote", "less", "if the host wrote nothing"),
    ),
    *_group("Merges", "log.merges",
        Metric("switch.count", "merges", "switch merges"),
        Metric("partial.count", "merges", "partial merges"),
        Metric("partial.copies", "pages", "pages copied by partial merges"),
        Metric("full.count", "merges", "full merges", better="less"),
        Metric("full.copies", "pages", "pages copied by full merges", better="less"),
        Metric("full.erases", "blocks", "data blocks erased by full merges", better="less"),
    ),
    *_group("Log", "log",
        Metric("full_merges_per_page", "ratio", "full merges per page written", "full merges per page the host wrote",
               "less", "if the host wrote nothing", form="small ratio"),
        Metric("reclaims", "reclaims", "reclaims of log space", "host page writes that waited until log "
               "space was reclaimed"),
        Metric("associativity_mean", "logical blocks", "logical blocks merged per reclaim, mean",
               "mean number of logical blocks merged per reclaim. Each log block of BAST, and each sequential log "
               "block of FAST or FASTer, belongs to one logical block. Without sequential log blocks "
               "(`ftl.fast.sw=0`), this mean is the associativity of the FAST paper", null="without reclaims",
               form="mean"),
        Metric("reclaim_mean_ns", "ns", "flash time per reclaim, mean", "flash time per reclaim: the sum of the "
               "times of its flash operations, which may overlap on several dies", "less",
               f"without reclaims, or {_UNTIMED}"),
        Metric("retired_blocks", "blocks", "log blocks retired", "log blocks removed from the log"),
        Metric("utilisation_mean", "share of 1", "utilisation of retired log blocks, mean",
               "share of a log block's pages that had been programmed when the block was retired", "more",
               "if no log block was retired"),
    ),
    *_group("Log", "",
        Metric("second_chance", "pages", "pages copied on their second chance", quiet=True,
               compute=_copied_within_log("second_chance")),
        Metric("isolation", "pages", "pages copied to the isolation area", quiet=True,
               compute=_copied_within_log("isolation")),
    ),
    *_group("Captures", "log.capture", *(replace(metric, help="") for metric in CAPTURE)),
    *_group("Speed", "time",
        Metric("elapsed_ns", "ns", "simulated time", "simulated time of the measured phase; with a cache, the "
               "phase ends when all write-backs in progress are complete"),
        Metric("busy_ns", "ns", "", "total time in which the flash was busy; if `time` is `event`, mean time in which "
               "a die had a command in progress, including waits for the channel"),
        Metric("utilisation", "share of 1", "flash busy", "`busy_ns` / `elapsed_ns`"),
        *_RATES,
        Metric("behind_ns", "ns", "", "time from the last arrival to the last completion", null="in closed replay"),
    ),
    *_group("Drive", "drive",
        Metric("channels", "channels", "channels", "channels"),
        Metric("dies", "dies", "dies", "dies in the drive"),
        Metric("planes_per_die", "planes", "planes per die", "planes per die"),
        *(
            Metric(f"{unit}_utilisation.{figure}", "share of 1", f"{unit} utilisation, {figure}")
            for unit in ("die", "channel") for figure in ("mean", "min", "max")
        ),
        Metric("internal_share", "share of 1", "share of die time spent on internal work", "share of die time spent "
               "on GC, merges and the map", "less"),
        Metric("queue_depth_mean", "requests", "requests outstanding, mean", "mean number of outstanding requests over "
               "time; in open replay, at most 65,536 are counted", form="mean"),
        Metric("queue_depth_max", "requests", "requests outstanding, max", "requests outstanding, maximum"),
        Metric("multiplane_commands", "commands", "multi-plane commands", "multi-plane commands"),
        Metric("suspensions", "suspensions", "suspended programs and erases",
               "programs and erases suspended for a read", quiet=True),
        Metric("fairness", "0 to 1", "fairness of streams (Jain)", "Jain's index of `bytes_per_s` over the streams "
               "active for more than half of the time: 1 if all are equal, 1/n if one of n gets all bandwidth. It "
               "describes the drive only if every stream always has requests waiting", "more",
               "with fewer than two active streams, or more than 256 streams", form="mean"),
    ),
    *_times("Interference", {
        "read without concurrent writes,": "drive.interference.reads_alone",
        "read with concurrent writes,": "drive.interference.reads_beside_writes",
        "write without concurrent reads,": "drive.interference.writes_alone",
        "write with concurrent reads,": "drive.interference.writes_beside_reads",
    }, ("mean", "p99"), "less", quiet=False),
    Metric("reads_beside_writes", "share of 1", "reads with concurrent writes", section="Interference",
           compute=_reads_beside_writes),
    *_group("Cache", "cache",
        Metric("policy", help="replacement policy", kind="name"),
        Metric("page_bytes", "bytes", "", "page size"),
        Metric("capacity_pages", "pages", "", "capacity, including the space for compressed pages"),
        Metric("requests", "requests", "host requests", "host requests to the cache"),
        Metric("served", "requests", "served by the cache", "requests served without I/O to the drive", "more"),
        Metric("hits", "pages", "hits", "cached pages touched by reads and writes, raw or compressed", "more"),
        Metric("pools.raw_hits", "pages", "raw hits", "hits on raw pages"),
        Metric("pools.compressed_hits", "pages", "compressed hits", "hits on compressed pages", quiet=True),
        Metric("misses", "pages", "misses", "uncached pages touched by reads and writes", "less"),
        Metric("miss_ratio", "share of 1", "miss ratio", "misses per page touched", "less", "if no page was touched"),
        Metric("pages_touched", "pages", "pages copied to or from the cache", compute=_pages_touched),
        Metric("pools.transitions.restored", "pages", "pages decompressed", quiet=True),
        Metric("pools.compressions", "pages", "pages compressed", "pages compressed, including those that did not "
               "shrink", quiet=True),
        Metric("pools.transitions.compressed", "pages", "compressed pages kept", quiet=True),
        Metric("pools.transitions.compressed_dropped", "pages", "compressed pages evicted", quiet=True),
        Metric("pools.raw_pages", "pages", "raw pages at the end", "raw pages at the end"),
        Metric("pools.compressed_pages", "pages", "compressed pages at the end", "compressed pages at the end",
               quiet=True),
        Metric("pools.compressed_bytes", "bytes", "", "size of the compressed pages at the end"),
        Metric("pools.ratio", "ratio", "compression ratio at the end", "raw bytes per compressed byte",
               null="without compressed pages"),
        Metric("pools.raw_capacity_pages", "pages", "", "capacity of the raw pool"),
        Metric("pools.compressed_capacity_bytes", "bytes", "", "capacity of the compressed pool"),
        Metric("pools.transitions.loaded", "pages", "pages read from the drive", better="less"),
        Metric("counters.filled", "pages", "pages read to complete partial writes", better="less", quiet=True),
        Metric("written_back", "pages", "pages written back", "dirty pages written to the drive", "less"),
        Metric("dirty_pages", "pages", "dirty pages at the end", "cached pages not yet written to the "
               "drive at the end", quiet=True),
        Metric("cache_ns", "ns", "time in the cache", "total time of requests in the cache: copying, decompressing and "
               "compressing pages. In an open loop, and with `time = \"event\"`, waits for other requests' pages are "
               "included", "less"),
        Metric("pools.compress_ns", "ns", "time compressing", "time to compress pages, part of `cache_ns`", quiet=True),
        Metric("pools.restore_ns", "ns", "time decompressing", "time to decompress pages, part of `cache_ns`",
               quiet=True),
        Metric("waits.utilisation", "share of 1", "cache utilisation", "share of time in which the cache copies or "
               "compresses pages"),
        Metric("waits.drive_ns", "ns", "total time waiting for the drive", "total time that host requests waited for "
               "requests to the drive", "less"),
        Metric("waits.limit_ns", "ns", "total time waiting at the dirty limit", "total time that host requests "
               "waited because the cache held too many dirty pages, including requests queued behind them", "less"),
        Metric("mean_ns", "ns", "response time of a host request, mean", "mean response time of a host request; with "
               "`time = \"serial\"`, time in the cache plus time of the requests to the drive", "less", _UNTIMED),
    ),
    *_group("Block layer", "drive.block",
        Metric("scheduler", help="name of the I/O scheduler", kind="name"),
        Metric("counters.bios", "bios", "bios"),
        Metric("merged_share", "share of 1", "bios merged into a waiting request", "share of bios that were "
               "merged into a waiting request"),
        Metric("counters.request_merges", "requests", "requests merged with an adjacent request"),
        Metric("counters.bios_waited", "bios", "bios that waited for a free request"),
        Metric("throttling.held_back", "bios", "writes and trims throttled"),
        Metric("throttling.held_back_ns", "ns", "total time throttled"),
        Metric("counters.dispatched_reads", "requests", "reads dispatched"),
        Metric("read_bytes_mean", "bytes", "size of a dispatched read, mean", "mean size of a dispatched read",
               null="without reads"),
        Metric("counters.dispatched_writes", "requests", "writes and trims dispatched"),
        Metric("write_bytes_mean", "bytes", "size of a dispatched write or trim, mean",
               "mean size of a dispatched write or trim", null="without writes and trims"),
        Metric("counters.dispatched_flushes", "requests", "flushes dispatched", quiet=True),
        Metric("counters.direction_changes", "changes", "changes of direction"),
    ),
    *_group("Write buffer", "drive.buffer",
        Metric("pages_accepted", "pages", "pages buffered"),
        Metric("pages_overwritten", "pages", "pages overwritten in the buffer", better="more"),
        Metric("pages_trimmed", "pages", "pages trimmed in the buffer", quiet=True),
        Metric("pages_read", "pages", "pages read from the buffer", better="more"),
        Metric("writes_stalled", "requests", "writes that waited for buffer space", better="less"),
    ),
    *_group("Controller", "drive.controller",
        Metric("host_memory_fetches", "fetches", "fetches of map entries from host memory", better="less", quiet=True),
        Metric("read_ahead_pages", "pages", "pages read ahead", quiet=True),
        Metric("read_ahead_hits", "pages", "pages found in the read cache", better="more", quiet=True),
        Metric("read_ahead_wasted", "pages", "pages read ahead but never used", better="less", quiet=True),
        Metric("throttles", "times", "number of times thermal throttling began", better="less", quiet=True),
        Metric("throttled_requests", "requests", "requests served while throttled", better="less", quiet=True),
        Metric("highest_temperature", "m°C", "highest temperature", better="less", quiet=True),
    ),
    *_times("Response time", {op: f"latency.{op}" for op in ("read", "write")},
            ("mean", "p50", "p99", "p99.9", "p99.99", "max"), "less"),
    *_times("Waiting", {f"{op} {part}": f"drive.{part}.{op}" for op in ("read", "write")
                        for part in ("waiting", "service")}, ("mean", "p99"), "less"),
    *_group("Lifetime", "lifetime",
        Metric("host_tbw_bytes", "bytes", "host writes until worn out (TBW)", "host writes until worn out: endurance "
               "x physical pages x bytes written / pages programmed, counting partial pages by their bytes. Pages "
               "left in the write buffer are written but not programmed: they raise this figure in short runs", "more",
               "if nothing was programmed, or if the trace sized the drive", form="decimal bytes"),
        Metric("dwpd_5_years", "capacities/day", "drive writes per day for 5 years (DWPD)",
               "host writes until worn out, per day of a five-year warranty", "more", "if nothing was programmed"),
        Metric("rate", kind="name", null="without writes, or if time is not modelled", help="rate assumed in the "
               "metrics below. `trace`: rate of the trace at the replay's speed, if the drive keeps up: in open "
               "replay by the [diagnosis](diagnose.md#findings), else if the trace is no faster than the replay. "
               "`replay`: rate of the replay where requests wait for others (`host.replay` is `closed` or "
               "`processes`) and the trace has no times or is faster; the drive may sustain more. `drive`: rate that "
               "the drive sustains in open replay if it falls behind. The last two leave out data in the write "
               "buffer at the end"),
        *(
            Metric(f"host_bytes_per_day {rate}", "bytes", f"host writes per day {label}", form="decimal bytes",
                   compute=_per_day(rate))
            for rate, label in (
                ("trace", "at the trace's rate"), ("replay", "at the replay's rate"),
                ("drive", "at the drive's maximum rate"),
            )
        ),
        Metric("host_bytes_per_day", "bytes", "", "host writes per day, limited to the rate that the drive sustained",
               null="if `rate` is null"),
        Metric("host_drive_writes_per_day", "capacities/day", f"drive writes per day {PER_DAY}",
               "host writes per day / drive capacity", null="if `rate` is null, or if the trace sized the drive"),
        # `better` is not set, because the write rate differs between runs.
        Metric("years", "years", f"lifetime {PER_DAY}", "years until worn out at `host_bytes_per_day`",
               null="if `rate` is null, or if the trace sized the drive"),
        Metric("trace_bytes_per_day", "bytes", "", "host writes per day at the rate of the trace's timestamps, scaled "
               "by the replay's speed, even if the drive could not keep up", null="if the trace has no times"),
        Metric("trace_years", "years", "", "years until worn out at the rate of the trace",
               null="if the trace has no times, or sized the drive"),
    ),
    *_group("Check", "check",
        Metric("flash_operations_checked", "operations", "flash operations checked", "reads, programs and erases "
               "checked against the NAND rules, including preconditioning and warm-up; a copy counts as a read and a "
               "program"),
        Metric("page_reads_checked", "pages", "page reads checked", "host page reads whose data was compared with the "
               "last write, including warm-up and reads for partial writes"),
    ),
)  # fmt: skip
"""Every metric, in the order in which report pages list them."""

BY_NAME = {metric.name: metric for metric in METRICS}

SUMMARY = frozenset((
    "device.capacity_bytes", "device.physical_bytes", "write_amplification", "time.iops", "time.bytes_read_per_s",
    "time.bytes_written_per_s", *(f"latency.{op}.{QUANTILES[column]}" for op in ("read", "write")
                                  for column in ("mean", "p50", "p99", "p99.9")),
    "lifetime.host_tbw_bytes", "lifetime.dwpd_5_years",
))  # fmt: skip
"""Names of the metrics that a comparison shows first."""

SHOWN = tuple(metric for metric in METRICS if metric.label)
"""Metrics that pages and comparisons show."""


def tables() -> dict[str, list[Metric]]:
    """Returns the metrics that have a help text, by their path in the result, for the tables of `docs/results.md`."""
    found: dict[str, list[Metric]] = {}
    for metric in METRICS:
        if metric.help:
            place, _, name = metric.name.rpartition(".")
            found.setdefault(place, []).append(replace(metric, name=name))
    return {**found, "latency": [*TIMES], "log.capture": [*CAPTURE]}
