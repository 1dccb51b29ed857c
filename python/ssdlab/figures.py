"""The figures of a result: one table says how each is called, found, written and judged."""

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

ROUTINE_COUNTS = ("requests", "records", "bytes_in", "headers")
"""Counts of an ingest report that are no reason to look twice."""

MERGES = ("switch", "partial", "full")
"""Kinds of merges, as in the summary."""

MERGE_COUNTS = {"count": "logical blocks", "copies": "pages copied", "erases": "data blocks erased"}
"""Columns of the table of merges, by their names in the summary."""

TABLES = ("Response time", "Waiting", "Merges")
"""Sections that are a table of their own where one run is shown."""

STREAMS_SHOWN = 20
"""Streams in the tables of captures and of response times; a trace may name hundreds, of which few say anything."""

_STREAM_TIMES = {"requests": "count", "mean": "mean_ns", "p99": "p99_ns", "p99.9": "p99_9_ns"}
STREAM_COLUMNS = (*(f"{op} {name}" for op in ("read", "write") for name in _STREAM_TIMES), "throughput")
"""Columns of the table of streams."""

OTHER_STREAMS = "all others"
"""Name of the streams that are not told apart, as there are too many."""

STEADY_CAPACITIES = 1.0
"""Capacities the host must have written before write amplification is taken for that of its requests."""

BEHIND_SHARE = 0.1
"""Share of the simulated time by which a drive may finish after the last arrival without a remark."""


@dataclass(frozen=True)
class Figure:
    """One figure of a summary."""

    section: str
    label: str
    path: str | Callable[[Summary], float | None]
    """Dotted path in the summary, or what works it out; the figure is missing where the path leads nowhere."""
    format: Callable[[float], str]
    better: Literal["low", "high"] | None = None
    """Which of two values is the better one, where that can be said."""
    quiet: bool = False
    """Whether to leave it out where it is 0."""

    def value(self, summary: Summary) -> float | None:
        """The figure, or None where the run did not yield it."""
        if callable(self.path):
            return self.path(summary)
        node: Any = summary
        for part in self.path.split("."):
            if not isinstance(node, Mapping) or part not in node:
                return None
            node = node[part]
        return None if node is None else float(node)

    def text(self, summary: Summary) -> str:
        """The figure with its unit."""
        value = self.value(summary)
        return text.MISSING if value is None else self.format(value)


def _pages_touched(summary: Summary) -> float | None:
    """Pages that requests touched: each is copied from or to the cache."""
    cache: Mapping[str, Any] | None = summary["cache"]
    return None if cache is None else cache["hits"] + cache["misses"]


def _latency(op: str, column: str) -> Figure:
    path = f"latency.{op}.{QUANTILES[column]}"
    return Figure("Response time", f"{op} {column}", path, text.duration, "low", quiet=True)


def _spread(of: str) -> tuple[Figure, ...]:
    """Share of the time in which what `of` names was busy, over all of its kind."""
    path = f"drive.{of}_utilisation"
    return (
        Figure("Drive", f"{of} utilisation, mean", f"{path}.mean", text.percent),
        Figure("Drive", f"{of} utilisation, least", f"{path}.min", text.percent),
        Figure("Drive", f"{of} utilisation, most", f"{path}.max", text.percent),
    )


def _share_of_latency(op: str, part: str, column: str) -> Figure:
    path = f"drive.{part}.{op}.{QUANTILES[column]}"
    return Figure("Waiting", f"{op} {part} {column}", path, text.duration, "low", quiet=True)


def _interference(label: str, part: str, column: str) -> Figure:
    path = f"drive.interference.{part}.{QUANTILES[column]}"
    return Figure("Interference", f"{label}, {column}", path, text.duration, "low")


def _pages_copied(summary: Summary) -> float:
    """By whatever: collection in one FTL and merges in another do the same work. Map pages count by themselves."""
    programs: Mapping[str, int] = summary["flash"]["programs"]
    return sum(count for cause, count in programs.items() if cause != "host" and not cause.startswith("map_"))


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


FIGURES = (
    Figure("Device", "capacity", "device.capacity_bytes", text.size),
    Figure("Device", "flash", "device.physical_bytes", text.size),
    Figure("Device", "over-provisioning, over logical", "device.op_over_logical", text.percent),
    Figure("Device", "over-provisioning, of physical", "device.spare_of_physical", text.percent),
    Figure("Device", "page", "device.page_bytes", text.size),
    Figure("Device", "pages per block", "device.pages_per_block", text.count),
    Figure("Device", "blocks", "device.blocks", text.count),
    Figure("Device", "of these held back by the FTL", "device.reserve_blocks", text.count),
    Figure("Device", "over-provisioning without these", "device.effective_op_over_logical", text.percent),
    Figure("Device", "mapping tables in the drive", "device.mapping_table_bytes", text.size, "low"),
    Figure("Device", "memory of the simulated FTL", "device.memory_bytes", text.size, "low"),
    Figure("Host", "read requests", "host.read_requests", text.count),
    Figure("Host", "write requests", "host.write_requests", text.count),
    Figure("Host", "trim requests", "host.trim_requests", text.count, quiet=True),
    Figure("Host", "flush requests", "host.flush_requests", text.count, quiet=True),
    Figure("Host", "data read", "host.bytes_read", text.size),
    Figure("Host", "data written", "host.bytes_written", text.size),
    Figure("Host", "data trimmed", "host.bytes_trimmed", text.size, quiet=True),
    Figure("Host", "pages written", "host.pages_written", text.count),
    Figure("Host", "capacities written", "capacities_written", text.decimal),
    Figure("Host", "pages written in part", "host.partial_pages_written", text.count, quiet=True),
    Figure("Host", "pages read that were never written", "host.unmapped_pages_read", text.count, quiet=True),
    Figure("Host", "requests wrapped into the device", "host.wrapped_requests", text.count, quiet=True),
    Figure("Flash", "write amplification", "write_amplification", text.ratio, "low"),
    Figure("Flash", "write amplification, preconditioning", "precondition.write_amplification", text.ratio),
    Figure("Flash", "pages copied", _pages_copied, text.count, "low"),
    Figure("Flash", "blocks erased", "wear.erases", text.count, "low"),
    Figure("Flash", "erases per block, mean", "wear.erase_mean", text.decimal, "low"),
    Figure("Flash", "erases per block, standard deviation", "wear.erase_std_dev", text.decimal, "low"),
    Figure("Flash", "erases per block, least", "wear.erase_min", text.count),
    Figure("Flash", "erases per block, most", "wear.erase_max", text.count, "low"),
    Figure("Map", "map pages in flash", "map.pages", text.count),
    Figure("Map", "hit ratio", "map.all.hit_ratio", text.percent, "high"),
    Figure("Map", "hit ratio, reads", "map.reads.hit_ratio", text.percent, "high"),
    Figure("Map", "hit ratio, writes and trims", "map.changes.hit_ratio", text.percent, "high"),
    Figure("Map", "reads that read the map first", "map.double_read_share", text.percent, "low"),
    Figure("Map", "map pages read", "map.pages_read", text.count, "low"),
    Figure("Map", "map pages programmed", "map.pages_programmed", text.count, "low"),
    Figure("Map", "map pages programmed per page written", "map.translation_write_amplification", text.ratio, "low"),
    Figure("Merges", "switch merges", "log.merges.switch.count", text.count),
    Figure("Merges", "partial merges", "log.merges.partial.count", text.count),
    Figure("Merges", "pages copied by partial merges", "log.merges.partial.copies", text.count),
    Figure("Merges", "full merges", "log.merges.full.count", text.count, "low"),
    Figure("Merges", "pages copied by full merges", "log.merges.full.copies", text.count, "low"),
    Figure("Merges", "data blocks erased by full merges", "log.merges.full.erases", text.count, "low"),
    Figure("Log", "full merges per page written", "log.full_merges_per_page", text.significant, "low"),
    Figure("Log", "reclaims of log space", "log.reclaims", text.count),
    Figure("Log", "logical blocks merged in one, mean", "log.associativity_mean", text.decimal),
    Figure("Log", "duration of one, mean", "log.reclaim_mean_ns", text.duration, "low"),
    Figure("Log", "log blocks retired", "log.retired_blocks", text.count),
    Figure("Log", "their pages programmed, mean", "log.utilisation_mean", text.percent, "high"),
    Figure("Log", "pages copied on their second chance", "flash.programs.second_chance", text.count),
    Figure("Log", "pages copied to the isolation area", "flash.programs.isolation", text.count),
    Figure("Captures", "sequential sub-streams", "log.capture.sub_streams", text.count),
    Figure("Captures", "random pages", "log.capture.random_pages", text.count),
    Figure("Captures", "hit ratio", "log.capture.hit_ratio", text.percent, "high"),
    Figure("Captures", "hit quality", "log.capture.hit_quality", text.percent, "high"),
    Figure("Captures", "error capture", "log.capture.error_capture", text.percent, "low"),
    Figure("Captures", "pseudo-benefit", "log.capture.pseudo_benefit", text.percent, "high"),
    Figure("Speed", "simulated time", "time.elapsed_ns", text.duration),
    Figure("Speed", "flash busy", "time.utilisation", text.percent),
    Figure("Speed", "requests per second", "time.iops", text.short_count, "high"),
    Figure("Speed", "read bandwidth", "time.bytes_read_per_s", text.bandwidth, "high"),
    Figure("Speed", "write bandwidth", "time.bytes_written_per_s", text.bandwidth, "high"),
    Figure("Drive", "channels", "drive.channels", text.count),
    Figure("Drive", "dies", "drive.dies", text.count),
    Figure("Drive", "planes per die", "drive.planes_per_die", text.count),
    *_spread("die"),
    *_spread("channel"),
    Figure("Drive", "internal work, of the dies' work", "drive.internal_share", text.percent, "low"),
    Figure("Drive", "requests outstanding, mean", "drive.queue_depth_mean", text.decimal),
    Figure("Drive", "requests outstanding, most", "drive.queue_depth_max", text.count),
    Figure("Drive", "commands on several planes", "drive.multiplane_commands", text.count),
    Figure("Drive", "programs and erases suspended", "drive.suspensions", text.count, quiet=True),
    Figure("Drive", "fairness between streams (Jain)", "drive.fairness", text.decimal, "high"),
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
    Figure("Interference", "reads beside writes", _reads_beside_writes, text.percent),
    Figure("Cache", "requests of the host", "cache.requests", text.count),
    Figure("Cache", "served without the drive", "cache.served", text.count, "high"),
    Figure("Cache", "hits", "cache.hits", text.count, "high"),
    Figure("Cache", "of these raw", "cache.pools.raw_hits", text.count),
    Figure("Cache", "of these compressed", "cache.pools.compressed_hits", text.count, quiet=True),
    Figure("Cache", "misses", "cache.misses", text.count, "low"),
    Figure("Cache", "miss ratio", "cache.miss_ratio", text.percent, "low"),
    Figure("Cache", "pages copied from and to it", _pages_touched, text.count),
    Figure("Cache", "pages restored", "cache.pools.transitions.restored", text.count, quiet=True),
    Figure("Cache", "pages compressed", "cache.pools.compressions", text.count, quiet=True),
    Figure("Cache", "of these kept", "cache.pools.transitions.compressed", text.count, quiet=True),
    Figure("Cache", "compressed pages dropped", "cache.pools.transitions.compressed_dropped", text.count, quiet=True),
    Figure("Cache", "raw pages at the end", "cache.pools.raw_pages", text.count),
    Figure("Cache", "compressed pages at the end", "cache.pools.compressed_pages", text.count, quiet=True),
    Figure("Cache", "their ratio", "cache.pools.ratio", text.ratio),
    Figure("Cache", "pages read from the drive", "cache.pools.transitions.loaded", text.count, "low"),
    Figure("Cache", "pages filled for writes", "cache.counters.filled", text.count, "low", quiet=True),
    Figure("Cache", "pages written back", "cache.written_back", text.count, "low"),
    Figure("Cache", "pages dirty at the end", "cache.dirty_pages", text.count, quiet=True),
    Figure("Cache", "time in the cache", "cache.cache_ns", text.duration, "low"),
    Figure("Cache", "of this compressing", "cache.pools.compress_ns", text.duration, quiet=True),
    Figure("Cache", "of this restoring", "cache.pools.restore_ns", text.duration, quiet=True),
    Figure("Cache", "request of the host, mean", "cache.mean_ns", text.duration, "low"),
    Figure("Block layer", "bios", "drive.block.counters.bios", text.count),
    Figure("Block layer", "merged into a waiting request", "drive.block.merged_share", text.percent),
    Figure("Block layer", "requests merged with a neighbour", "drive.block.counters.request_merges", text.count),
    Figure("Block layer", "bios that waited for a request", "drive.block.counters.bios_waited", text.count),
    Figure("Block layer", "reads dispatched", "drive.block.counters.dispatched_reads", text.count),
    Figure("Block layer", "size of one, mean", "drive.block.read_bytes_mean", text.size),
    Figure("Block layer", "writes dispatched", "drive.block.counters.dispatched_writes", text.count),
    Figure("Block layer", "size of one, mean", "drive.block.write_bytes_mean", text.size),
    Figure("Block layer", "flushes dispatched", "drive.block.counters.dispatched_flushes", text.count, quiet=True),
    Figure("Block layer", "changes of direction", "drive.block.counters.direction_changes", text.count),
    Figure("Write buffer", "pages taken", "drive.buffer.pages_accepted", text.count),
    Figure("Write buffer", "pages overwritten in it", "drive.buffer.pages_overwritten", text.count, "high"),
    Figure("Write buffer", "pages trimmed in it", "drive.buffer.pages_trimmed", text.count, quiet=True),
    Figure("Write buffer", "pages read from it", "drive.buffer.pages_read", text.count, "high"),
    Figure("Write buffer", "writes that waited for room", "drive.buffer.writes_stalled", text.count, "low"),
    *(_latency(op, column) for op in ("read", "write") for column in ("mean", "p50", "p99", "p99.9", "p99.99", "max")),
    *(
        _share_of_latency(op, part, column)
        for op in ("read", "write")
        for part in ("waiting", "service")
        for column in ("mean", "p99")
    ),
    Figure("Lifetime", "host data until worn out", "lifetime.host_tbw_bytes", text.size_decimal, "high"),
    Figure("Lifetime", "host data per day", "lifetime.host_bytes_per_day", text.size_decimal),
    Figure("Lifetime", "life at that rate", "lifetime.years", text.years, "high"),
    Figure("Check", "flash operations checked", "check.flash_operations_checked", text.count),
    Figure("Check", "page reads checked", "check.page_reads_checked", text.count),
)
"""Every figure that reports and comparisons show, in their order."""


def sections(summary: Summary) -> dict[str, list[tuple[str, str]]]:
    """The figures of one run as (label, text) by section, but for those that are a table of their own."""
    result: dict[str, list[tuple[str, str]]] = {}
    names = {} if summary["cache"] is None else {"Host": "Below the cache"}
    for figure in FIGURES:
        value = figure.value(summary)
        if figure.section in TABLES or value is None or (figure.quiet and value == 0):
            continue
        section = names.get(figure.section, figure.section)
        result.setdefault(section, []).append((figure.label, figure.format(value)))
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


def clock_remark(clock: str) -> str | None:
    """What a reader of times must know of the model of time; None where there are no times."""
    if clock == "serial":
        return "times are those of one flash chip that does one operation at a time, not of a drive with many"
    if clock == "event":
        return "times include queues, host link, channels and dies, and of the controller a fixed time for each request"
    return None


def ingest_remarks(ingest: Mapping[str, Any] | None) -> list[str]:
    """What a person should know about how the trace was read; empty if it was taken as it is."""
    if ingest is None:
        return []
    remarks = list(ingest["notes"])
    # Once the trace has been read to its end, a note lists the other devices with their requests.
    told = (*ROUTINE_COUNTS, "other_device") if ingest["other_devices"] else ROUTINE_COUNTS
    for name, unit, help_text, value in ingest["counts"]:
        if value and name not in told:
            remarks.append(f"{name.replace('_', ' ')}: {text.count(value)} {unit} ({help_text.rstrip('.')})")
    if ingest["first_bad"]:
        remarks.append(f"first malformed line: {ingest['first_bad']}")
    return remarks


def remarks(summary: Summary, ingest: Mapping[str, Any] | None) -> list[str]:
    """What a person should know before reading the figures of a run; empty if all is as it should be."""
    found = ingest_remarks(ingest)
    requests = sum(summary["host"][f"{op}_requests"] for op in ("read", "write", "trim", "flush"))
    if requests == 0 and not summary["partial"]:
        found.append("no request was measured: there was none, or host.warmup took them all")
    written = summary["capacities_written"]
    if 0 < written < STEADY_CAPACITIES and summary["precondition"]["write_amplification"] is not None:
        found.append(
            f"the host wrote {text.significant(written)} times the capacity, so write amplification still tells more "
            "of the preconditioning than of the requests; replay more, or see precondition.* and host.warmup"
        )
    time = summary["time"]
    if time and time["behind_ns"] and time["behind_ns"] > BEHIND_SHARE * time["elapsed_ns"]:
        found.append(
            f"requests arrived faster than the drive serves them: it finished {text.duration(time['behind_ns'])} after "
            "the last arrival, and response times are those of a growing queue"
        )
    block = (summary["drive"] or {}).get("block")
    if block is not None:
        found += [f"{block['scheduler']}: {rule}" for rule in block["idle_rules"]]
    return found


def window_rows(intervals: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The table of logs of write intervals: its headers, and a row of texts for each log."""
    classes = [f"{name} {of}" for of in ("writes", "pages") for name in ("hot", "warm", "cold")]
    headers = ["log", "log pages", *classes, "invalidated", "second chance"]
    shares = [f"{name.replace(' ', '_')}_share" for name in classes]
    shares += ["invalidated_share", "invalidated_second_chance_share"]
    rows = [
        [log["log"], text.count(log["log_pages"]), *(text.percent(log[share]) for share in shares)]
        for log in intervals["logs"]
    ]
    return headers, rows


def source_text(source: Mapping[str, Any]) -> str:
    """Where the requests came from, in one line."""
    if source["kind"] == "trace":
        return ", ".join(map(text.path, source["paths"]))
    if source["kind"] == "memory":
        return f"{text.count(source['requests'])} requests in memory"
    return f"{source['pattern']} workload, {text.count(source['requests'])} requests"
