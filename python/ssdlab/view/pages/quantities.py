"""The quantities of a result: one table says how each is called, found, written and judged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ssdlab import text

Summary = Mapping[str, Any]

OPERATIONS = ("reads", "programs", "erases")
"""Kinds of flash operations, as in the summary."""

CAUSES = {
    "host": "host",
    "rmw": "partial page",
    "gc": "garbage collection",
    "switch_merge": "switch merge",
    "partial_merge": "partial merge",
    "full_merge": "full merge",
    "second_chance": "second chance",
    "isolation": "isolation area",
    "map_load": "map load",
    "map_write_back": "map write-back",
    "map_update": "map update",
    "map_gc": "map collection",
    "recovery": "recovery",
}
"""Causes of flash operations in words."""

QUANTILES = {
    "mean": "mean_ns",
    "sd": "std_dev_ns",
    "p50": "p50_ns",
    "p90": "p90_ns",
    "p95": "p95_ns",
    "p99": "p99_ns",
    "p99.9": "p99_9_ns",
    "p99.99": "p99_99_ns",
    "max": "max_ns",
}
"""Columns of the table of response times, with their names in the summary."""

MERGES = ("switch", "partial", "full")
"""Kinds of merges, as in the summary."""

MERGE_COUNTS = {"count": "logical blocks", "copies": "pages copied", "erases": "data blocks erased"}
"""Columns of the table of merges, by their names in the summary."""

TABLES = ("Response time", "Waiting", "Merges")
"""Sections that are a table of their own where one run is shown."""

OF_THE_DRIVE = ("Drive", "Interference", "Waiting", "Lifetime")
"""Sections that tell of requests of the drive, with a cache above it of those below."""

STREAMS_SHOWN = 20
"""Streams in the tables of captures and of response times; a trace may name hundreds, of which few say anything."""

_STREAM_TIMES = {"requests": "count", "mean": "mean_ns", "p99": "p99_ns", "p99.9": "p99_9_ns"}
STREAM_COLUMNS = (*(f"{op} {name}" for op in ("read", "write") for name in _STREAM_TIMES), "throughput")
"""Columns of the table of streams."""

AT_THAT_RATE = "at that rate"
"""How labels end that refer to a rate which stands above them."""

OTHER_STREAMS = "all others"
"""Name of the streams that are not told apart, as there are too many."""


@dataclass(frozen=True)
class Quantity:
    """One number of a summary."""

    section: str
    label: str
    path: str | Callable[[Summary], float | None]
    """Dotted path in the summary, or what works it out; the quantity is missing where the path leads nowhere."""
    format: Callable[[float], str]
    better: Literal["low", "high"] | None = None
    """Which of two values is the better one, where that can be said."""
    quiet: bool = False
    """Whether to leave it out where it is 0."""
    rate: bool = False
    """Whether it is what labels that end with `AT_THAT_RATE` refer to."""

    def value(self, summary: Summary) -> float | None:
        """The number, or None where the run did not yield it."""
        if callable(self.path):
            return self.path(summary)
        node: Any = summary
        for part in self.path.split("."):
            if not isinstance(node, Mapping) or part not in node:
                return None
            node = node[part]
        return None if node is None else float(node)

    def text(self, summary: Summary) -> str:
        """The number with its unit."""
        value = self.value(summary)
        return text.MISSING if value is None else self.format(value)


def _pages_touched(summary: Summary) -> float | None:
    """Pages that requests touched: each is copied from or to the cache."""
    cache: Mapping[str, Any] | None = summary["cache"]
    return None if cache is None else cache["hits"] + cache["misses"]


def _per_day(rate: str) -> Callable[[Summary], float | None]:
    """Bytes the host writes in a day, if it does so at this rate."""

    def value(summary: Summary) -> float | None:
        lifetime: Mapping[str, Any] = summary["lifetime"]
        return lifetime["host_bytes_per_day"] if lifetime["rate"] == rate else None

    return value


def _latency(op: str, column: str) -> Quantity:
    path = f"latency.{op}.{QUANTILES[column]}"
    return Quantity("Response time", f"{op} {column}", path, text.duration, "low", quiet=True)


def _latency_below(op: str, column: str) -> Quantity:
    path = f"cache.below.latency.{op}.{QUANTILES[column]}"
    return Quantity("Below the cache", f"{op} {column}", path, text.duration, quiet=True)


def _spread(of: str) -> tuple[Quantity, ...]:
    """Share of the time in which what `of` names was busy, over all of its kind."""
    path = f"drive.{of}_utilisation"
    return (
        Quantity("Drive", f"{of} utilisation, mean", f"{path}.mean", text.percent),
        Quantity("Drive", f"{of} utilisation, min", f"{path}.min", text.percent),
        Quantity("Drive", f"{of} utilisation, max", f"{path}.max", text.percent),
    )


def _share_of_latency(op: str, part: str, column: str) -> Quantity:
    path = f"drive.{part}.{op}.{QUANTILES[column]}"
    return Quantity("Waiting", f"{op} {part} {column}", path, text.duration, "low", quiet=True)


def _interference(label: str, part: str, column: str) -> Quantity:
    path = f"drive.interference.{part}.{QUANTILES[column]}"
    return Quantity("Interference", f"{label}, {column}", path, text.duration, "low")


def _pages_copied(summary: Summary) -> float:
    """By whatever: collection in one FTL and merges in another do the same work. Map pages count by themselves."""
    programs: Mapping[str, int] = summary["flash"]["programs"]
    return sum(count for cause, count in programs.items() if cause != "host" and not cause.startswith("map_"))


def _copied_within_log(cause: str) -> Callable[[Summary], float | None]:
    """Pages that a log copied for a cause, which is left out where there were none."""
    return lambda summary: None if summary["log"] is None else summary["flash"]["programs"].get(cause, 0)


def _reads_beside_writes(summary: Summary) -> float | None:
    """Share of the reads that met a write in the drive."""
    drive: Mapping[str, Any] | None = summary["drive"]
    if drive is None:
        return None
    alone, beside = (
        drive["interference"][name]["count"] if drive["interference"][name] else 0
        for name in ("reads_alone", "reads_beside_writes")
    )
    return beside / (alone + beside) if alone + beside else None


QUANTITIES = (
    Quantity("Device", "capacity", "device.capacity_bytes", text.size),
    Quantity("Device", "flash", "device.physical_bytes", text.size),
    Quantity("Device", "over-provisioning with reserve", "device.op_over_logical", text.percent),
    Quantity("Device", "over-provisioning, of physical", "device.spare_of_physical", text.percent),
    Quantity("Device", "page", "device.page_bytes", text.size),
    Quantity("Device", "pages per block", "device.pages_per_block", text.count),
    Quantity("Device", "blocks", "device.blocks", text.count),
    Quantity("Device", "of these, reserve of the FTL", "device.reserve_blocks", text.count),
    Quantity("Device", "over-provisioning beside the reserve", "device.op_without_reserve", text.percent),
    Quantity("Device", "mapping tables in the drive", "device.mapping_table_bytes", text.size, "low"),
    Quantity("Device", "memory of the simulated FTL", "device.memory_bytes", text.size, "low"),
    Quantity("Host", "read requests", "host.read_requests", text.count),
    Quantity("Host", "write requests", "host.write_requests", text.count),
    Quantity("Host", "trim requests", "host.trim_requests", text.count, quiet=True),
    Quantity("Host", "flush requests", "host.flush_requests", text.count, quiet=True),
    Quantity("Host", "data read", "host.bytes_read", text.size),
    Quantity("Host", "data written", "host.bytes_written", text.size),
    Quantity("Host", "data trimmed", "host.bytes_trimmed", text.size, quiet=True),
    Quantity("Host", "pages written", "host.pages_written", text.count),
    Quantity("Host", "capacities written", "capacities_written", text.decimal),
    Quantity("Host", "replays, of which the last is measured", "repeat.replays", text.count),
    Quantity("Host", "capacities written in all of them", "repeat.capacities_written", text.decimal),
    Quantity("Host", "pages written in part", "host.partial_pages_written", text.count, quiet=True),
    Quantity("Host", "pages read that hold nothing", "host.unmapped_pages_read", text.count, quiet=True),
    Quantity("Host", "requests wrapped into the device", "host.wrapped_requests", text.count, quiet=True),
    Quantity("Below the cache", "requests per second", "cache.below.iops", text.short_count),
    Quantity("Below the cache", "read bandwidth", "cache.below.bytes_read_per_s", text.bandwidth),
    Quantity("Below the cache", "write bandwidth", "cache.below.bytes_written_per_s", text.bandwidth),
    *(_latency_below(op, column) for op in ("read", "write") for column in ("mean", "p50", "p99", "p99.9")),
    Quantity("Flash", "write amplification (WAF)", "write_amplification", text.ratio, "low"),
    Quantity("Flash", "write amplification, preconditioning", "precondition.write_amplification", text.ratio),
    Quantity("Flash", "replays that precondition", "precondition.replays", text.count),
    Quantity("Flash", "effective over-provisioning, measured", "collection.effective_op", text.percent),
    Quantity("Flash", "pages copied", _pages_copied, text.count, "low"),
    Quantity("Flash", "blocks erased", "wear.erases", text.count, "low"),
    Quantity("Flash", "erases per block, mean", "wear.erase_mean", text.decimal, "low"),
    Quantity("Flash", "erases per block, standard deviation", "wear.erase_std_dev", text.decimal, "low"),
    Quantity("Flash", "erases per block, min", "wear.erase_min", text.count),
    Quantity("Flash", "erases per block, max", "wear.erase_max", text.count, "low"),
    Quantity("Map", "map pages in flash", "map.pages", text.count),
    Quantity("Map", "hit ratio", "map.all.hit_ratio", text.percent, "high"),
    Quantity("Map", "hit ratio, reads", "map.reads.hit_ratio", text.percent, "high"),
    Quantity("Map", "hit ratio, writes and trims", "map.changes.hit_ratio", text.percent, "high"),
    Quantity("Map", "reads that read the map first", "map.double_read_share", text.percent, "low"),
    Quantity("Map", "map pages read", "map.pages_read", text.count, "low"),
    Quantity("Map", "map pages programmed", "map.pages_programmed", text.count, "low"),
    Quantity("Map", "map pages programmed per page written", "map.translation_write_amplification", text.ratio, "low"),
    Quantity("Merges", "switch merges", "log.merges.switch.count", text.count),
    Quantity("Merges", "partial merges", "log.merges.partial.count", text.count),
    Quantity("Merges", "pages copied by partial merges", "log.merges.partial.copies", text.count),
    Quantity("Merges", "full merges", "log.merges.full.count", text.count, "low"),
    Quantity("Merges", "pages copied by full merges", "log.merges.full.copies", text.count, "low"),
    Quantity("Merges", "data blocks erased by full merges", "log.merges.full.erases", text.count, "low"),
    Quantity("Log", "full merges per page written", "log.full_merges_per_page", text.significant, "low"),
    Quantity("Log", "reclaims of log space", "log.reclaims", text.count),
    Quantity("Log", "logical blocks merged in one of any kind, mean", "log.associativity_mean", text.decimal),
    Quantity("Log", "flash work of one, mean", "log.reclaim_mean_ns", text.duration, "low"),
    Quantity("Log", "log blocks retired", "log.retired_blocks", text.count),
    Quantity("Log", "their pages programmed, mean", "log.utilisation_mean", text.percent, "high"),
    Quantity("Log", "pages copied on their second chance", _copied_within_log("second_chance"), text.count, quiet=True),
    Quantity("Log", "pages copied to the isolation area", _copied_within_log("isolation"), text.count, quiet=True),
    Quantity("Captures", "sequential sub-streams", "log.capture.sub_streams", text.count),
    Quantity("Captures", "random pages", "log.capture.random_pages", text.count),
    Quantity("Captures", "hit ratio", "log.capture.hit_ratio", text.percent, "high"),
    Quantity("Captures", "hit quality", "log.capture.hit_quality", text.percent, "high"),
    Quantity("Captures", "error capture", "log.capture.error_capture", text.percent, "low"),
    Quantity("Captures", "pseudo-benefit", "log.capture.pseudo_benefit", text.percent, "high"),
    Quantity("Speed", "simulated time", "time.elapsed_ns", text.duration),
    Quantity("Speed", "flash busy", "time.utilisation", text.percent),
    Quantity("Speed", "requests per second", "time.iops", text.short_count, "high"),
    Quantity("Speed", "read bandwidth", "time.bytes_read_per_s", text.bandwidth, "high"),
    Quantity("Speed", "write bandwidth", "time.bytes_written_per_s", text.bandwidth, "high"),
    Quantity("Drive", "channels", "drive.channels", text.count),
    Quantity("Drive", "dies", "drive.dies", text.count),
    Quantity("Drive", "planes per die", "drive.planes_per_die", text.count),
    *_spread("die"),
    *_spread("channel"),
    Quantity("Drive", "internal work, of the dies' work", "drive.internal_share", text.percent, "low"),
    Quantity("Drive", "requests outstanding, mean", "drive.queue_depth_mean", text.decimal),
    Quantity("Drive", "requests outstanding, max", "drive.queue_depth_max", text.count),
    Quantity("Drive", "commands on several planes", "drive.multiplane_commands", text.count),
    Quantity("Drive", "programs and erases suspended", "drive.suspensions", text.count, quiet=True),
    Quantity("Drive", "fairness between lasting streams (Jain)", "drive.fairness", text.decimal, "high"),
    *(
        _interference(label, path, column)
        for label, path in (
            ("read alone in the drive", "reads_alone"),
            ("read beside writes", "reads_beside_writes"),
            ("write without reads", "writes_alone"),
            ("write beside reads", "writes_beside_reads"),
        )
        for column in ("mean", "p99")
    ),
    Quantity("Interference", "reads beside writes", _reads_beside_writes, text.percent),
    Quantity("Cache", "requests of the host", "cache.requests", text.count),
    Quantity("Cache", "served without the drive", "cache.served", text.count, "high"),
    Quantity("Cache", "hits", "cache.hits", text.count, "high"),
    Quantity("Cache", "of these raw", "cache.pools.raw_hits", text.count),
    Quantity("Cache", "of these compressed", "cache.pools.compressed_hits", text.count, quiet=True),
    Quantity("Cache", "misses", "cache.misses", text.count, "low"),
    Quantity("Cache", "miss ratio", "cache.miss_ratio", text.percent, "low"),
    Quantity("Cache", "pages copied from and to it", _pages_touched, text.count),
    Quantity("Cache", "pages restored", "cache.pools.transitions.restored", text.count, quiet=True),
    Quantity("Cache", "pages compressed", "cache.pools.compressions", text.count, quiet=True),
    Quantity("Cache", "of these kept", "cache.pools.transitions.compressed", text.count, quiet=True),
    Quantity("Cache", "compressed pages dropped", "cache.pools.transitions.compressed_dropped", text.count, quiet=True),
    Quantity("Cache", "raw pages at the end", "cache.pools.raw_pages", text.count),
    Quantity("Cache", "compressed pages at the end", "cache.pools.compressed_pages", text.count, quiet=True),
    Quantity("Cache", "their ratio", "cache.pools.ratio", text.ratio),
    Quantity("Cache", "pages read from the drive", "cache.pools.transitions.loaded", text.count, "low"),
    Quantity("Cache", "pages filled for writes", "cache.counters.filled", text.count, "low", quiet=True),
    Quantity("Cache", "pages written back", "cache.written_back", text.count, "low"),
    Quantity("Cache", "pages dirty at the end", "cache.dirty_pages", text.count, quiet=True),
    Quantity("Cache", "time in the cache", "cache.cache_ns", text.duration, "low"),
    Quantity("Cache", "of this compressing", "cache.pools.compress_ns", text.duration, quiet=True),
    Quantity("Cache", "of this restoring", "cache.pools.restore_ns", text.duration, quiet=True),
    Quantity("Cache", "working", "cache.waits.utilisation", text.percent),
    Quantity("Cache", "requests of the host waited for the drive", "cache.waits.drive_ns", text.duration, "low"),
    Quantity("Cache", "they waited at the limit of dirty pages", "cache.waits.limit_ns", text.duration, "low"),
    Quantity("Cache", "request of the host, mean", "cache.mean_ns", text.duration, "low"),
    Quantity("Block layer", "bios", "drive.block.counters.bios", text.count),
    Quantity("Block layer", "merged into a waiting request", "drive.block.merged_share", text.percent),
    Quantity("Block layer", "requests merged with a neighbour", "drive.block.counters.request_merges", text.count),
    Quantity("Block layer", "bios that waited for a request", "drive.block.counters.bios_waited", text.count),
    Quantity("Block layer", "writes and trims held back by throttling", "drive.block.throttling.held_back", text.count),
    Quantity("Block layer", "held back for, all together", "drive.block.throttling.held_back_ns", text.duration),
    Quantity("Block layer", "reads dispatched", "drive.block.counters.dispatched_reads", text.count),
    Quantity("Block layer", "size of one, mean", "drive.block.read_bytes_mean", text.size),
    Quantity("Block layer", "writes and trims dispatched", "drive.block.counters.dispatched_writes", text.count),
    Quantity("Block layer", "size of one, mean", "drive.block.write_bytes_mean", text.size),
    Quantity("Block layer", "flushes dispatched", "drive.block.counters.dispatched_flushes", text.count, quiet=True),
    Quantity("Block layer", "changes of direction", "drive.block.counters.direction_changes", text.count),
    Quantity("Write buffer", "pages taken", "drive.buffer.pages_accepted", text.count),
    Quantity("Write buffer", "pages overwritten in it", "drive.buffer.pages_overwritten", text.count, "high"),
    Quantity("Write buffer", "pages trimmed in it", "drive.buffer.pages_trimmed", text.count, quiet=True),
    Quantity("Write buffer", "pages read from it", "drive.buffer.pages_read", text.count, "high"),
    Quantity("Write buffer", "writes that waited for room", "drive.buffer.writes_stalled", text.count, "low"),
    *(_latency(op, column) for op in ("read", "write") for column in ("mean", "p50", "p99", "p99.9", "p99.99", "max")),
    *(
        _share_of_latency(op, part, column)
        for op in ("read", "write")
        for part in ("waiting", "service")
        for column in ("mean", "p99")
    ),
    Quantity("Lifetime", "host data until worn out (TBW)", "lifetime.host_tbw_bytes", text.size_decimal, "high"),
    Quantity("Lifetime", "drive writes per day for 5 years (DWPD)", "lifetime.dwpd_5_years", text.significant, "high"),
    Quantity("Lifetime", "host data per day, as the trace writes", _per_day("trace"), text.size_decimal, rate=True),
    Quantity("Lifetime", "host data per day, as the replay writes", _per_day("replay"), text.size_decimal, rate=True),
    Quantity(
        "Lifetime", "host data per day, the most the drive sustained", _per_day("drive"), text.size_decimal, rate=True
    ),
    Quantity(
        "Lifetime", f"drive writes per day {AT_THAT_RATE}", "lifetime.host_drive_writes_per_day", text.significant
    ),
    # No case is the better one: each lives at a rate of its own. Which lasts longer is told by what it can be written.
    Quantity("Lifetime", f"life {AT_THAT_RATE}", "lifetime.years", text.years),
    Quantity("Check", "flash operations checked", "check.flash_operations_checked", text.count),
    Quantity("Check", "page reads checked", "check.page_reads_checked", text.count),
)
"""Every quantity that reports and comparisons show, in their order."""


def above(summary: Summary) -> dict[str, str]:
    """What stands above the drive where a section tells of requests below it: a cache, or a block layer."""
    cache = summary["cache"]
    if cache is None:
        return {"Host": "block layer"} if (summary["drive"] or {}).get("block") else {}
    times = () if cache["below"] else ("Speed", "Response time")
    return dict.fromkeys(("Host", *OF_THE_DRIVE, *times), "cache")


def under(section: str, layer: str) -> str:
    """The title of a section that tells of requests below a layer."""
    return f"Below the {layer}" if section == "Host" else f"{section}, below the {layer}"


def below(title: str, summary: Summary) -> str:
    """What tells of requests of the drive, under a title that says so if a cache stands above it."""
    return title if summary["cache"] is None else f"{title}, below the cache"


def sections(summary: Summary) -> dict[str, list[tuple[str, str]]]:
    """The quantities of one run as (label, text) by section, but for those that are a table of their own."""
    result: dict[str, list[tuple[str, str]]] = {}
    names = {section: under(section, layer) for section, layer in above(summary).items()}
    for quantity in QUANTITIES:
        value = quantity.value(summary)
        if quantity.section in TABLES or value is None or (quantity.quiet and value == 0):
            continue
        section = names.get(quantity.section, quantity.section)
        result.setdefault(section, []).append((quantity.label, quantity.format(value)))
    return result


def operations(summary: Summary) -> tuple[list[str], list[tuple[str, list[int]]]]:
    """Flash operations by cause: the causes that occur, and for each kind of operation its counts."""
    flash: Mapping[str, Mapping[str, int]] = summary["flash"]
    causes = list(dict.fromkeys(cause for kind in OPERATIONS for cause in flash.get(kind, {})))
    causes.sort(key=[*CAUSES, *causes].index)
    rows = [(kind, [flash.get(kind, {}).get(cause, 0) for cause in causes]) for kind in OPERATIONS]
    return causes, rows


def merges(summary: Summary) -> list[tuple[str, list[int]]]:
    """For each kind of merge, its name and the columns of `MERGE_COUNTS`; empty for an FTL without a log."""
    log: Mapping[str, Any] | None = summary["log"]
    if log is None:
        return []
    return [(kind, [log["merges"][kind][name] for name in MERGE_COUNTS]) for kind in MERGES]


def captures(summary: Summary) -> tuple[list[tuple[str, list[str]]], int]:
    """Captures of the streams that wrote most runs, and how many streams were left out.

    Of each its name, sub-streams, random pages, hit ratio, hit quality and error capture.
    """
    log: Mapping[str, Any] | None = summary["log"]
    streams = [] if log is None else list(log["capture_by_stream"])
    streams.sort(key=lambda one: -(one["sub_streams"] + one["random_pages"]))
    rows = []
    for one in streams[:STREAMS_SHOWN]:
        counts = [text.count(one[name]) for name in ("sub_streams", "random_pages")]
        ratios = (one[name] for name in ("hit_ratio", "hit_quality", "error_capture"))
        rows.append((one["stream"], [*counts, *(text.MISSING if r is None else text.percent(r) for r in ratios)]))
    return rows, max(0, len(streams) - STREAMS_SHOWN)


def response_times(summary: Summary) -> list[tuple[str, list[str]]]:
    """For each operation that occurred, its name and count followed by the columns of `QUANTILES`."""
    latency: Mapping[str, Mapping[str, float] | None] | None = summary.get("latency")
    if latency is None:
        return []
    occurred = {op: figures for op, figures in latency.items() if figures is not None}
    if len(occurred) == 2:
        # "all" repeats the only operation there is.
        occurred.pop("all", None)
    return [
        (op, [text.count(figures["count"]), *(text.duration(figures[name]) for name in QUANTILES.values())])
        for op, figures in occurred.items()
    ]


def waiting_times(summary: Summary) -> list[tuple[str, list[str]]]:
    """For each operation that occurred, waiting and service, its two parts: a name and the columns of `QUANTILES`.

    Empty unless channels and dies are modelled.
    """
    drive: Mapping[str, Any] | None = summary["drive"]
    if drive is None:
        return []
    return [
        (f"{op} {part}", [text.duration(drive[part][op][name]) for name in QUANTILES.values()])
        for op, waiting in drive["waiting"].items()
        for part in ("waiting", "service")
        if op != "all" and waiting is not None
    ]


def stream_times(summary: Summary) -> tuple[list[tuple[str, list[str]]], int]:
    """Response times of the streams with most requests, and how many streams were left out.

    Of each its name, and the columns of `STREAM_COLUMNS`.
    """
    drive: Mapping[str, Any] | None = summary["drive"]
    streams = [] if drive is None else list(drive["streams"])
    # What is left of too many streams is no stream: it comes last.
    streams.sort(key=lambda one: (one["stream"] is None, -sum(one[op]["count"] for op in ("read", "write") if one[op])))
    rows = []
    for one in streams[:STREAMS_SHOWN]:
        cells = []
        for times in (one["read"], one["write"]):
            for name in _STREAM_TIMES.values():
                form = text.count if name == "count" else text.duration
                cells.append(text.MISSING if times is None else form(times[name]))
        cells.append(text.bandwidth(one["bytes_per_s"]))
        rows.append((OTHER_STREAMS if one["stream"] is None else one["stream"], cells))
    return rows, max(0, len(streams) - STREAMS_SHOWN)
