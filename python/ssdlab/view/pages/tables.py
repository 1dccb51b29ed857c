"""Tables of one simulation run, as rows of text."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab.model.metrics import CAPTURE, QUANTILES, SHOWN, Summary
from ssdlab.model.sizing import LIFETIMES, lifetime_title
from ssdlab.view.colours import AMBER, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW

OPERATIONS = ("reads", "programs", "erases")
"""Types of flash operations, as named in the summary of a run."""


class Cause(NamedTuple):
    """A cause of flash operations, as pages show it: name and colour."""

    label: str
    colour: str


CAUSES = {
    "host": Cause("host", BLUE),
    "rmw": Cause("partial page", SKY),
    "gc": Cause("garbage collection", ORANGE),
    "switch_merge": Cause("switch merge", YELLOW),
    "partial_merge": Cause("partial merge", GREEN),
    "full_merge": Cause("full merge", PURPLE),
    "second_chance": Cause("second chance", AMBER),
    "isolation": Cause("isolation area", GREY),
    # Log and map causes share colours, because no FTL has both a log and a map in flash.
    "map_load": Cause("map load", GREEN),
    "map_write_back": Cause("map write-back", PURPLE),
    "map_update": Cause("map update", AMBER),
    "map_gc": Cause("map collection", YELLOW),
    "recovery": Cause("recovery", GREY),
    "padding": Cause("padding", SKY),
    # An SLC cache needs page mapping with a map in RAM, so log and map causes may have the same colour.
    "fold": Cause("fold of the SLC cache", GREEN),
    "parity": Cause("parity", GREY),
}
"""Causes of flash operations with their names and colours, in the order of tables and charts."""

MERGE_COUNTS = {"count": "logical blocks", "copies": "pages copied", "erases": "data blocks erased"}
"""Column headers of the merge table, by key in the summary."""

TABLES = ("Response time", "Waiting", "Merges")
"""Sections of metrics that the page of a run shows as tables."""

OF_THE_DRIVE = ("Drive", "Interference", "Waiting", "Lifetime")
"""Sections with metrics of requests to the drive. If the run has a cache, the cache sends these requests."""

STREAMS_SHOWN = 20
"""Maximum number of streams in a table; a trace may have hundreds of streams."""

OTHER_STREAMS = "all others"
"""Row name for all streams that are not listed individually."""

_STREAM_TIMES = {"requests": "count", **{name: QUANTILES[name] for name in ("mean", "p99", "p99.9")}}
STREAM_COLUMNS = (*(f"{op} {name}" for op in ("read", "write") for name in _STREAM_TIMES), "throughput")

_CAPTURED = CAPTURE[:-1]
CAPTURE_COLUMNS = tuple(metric.label.removeprefix("sequential ") for metric in _CAPTURED)

Rows = list[tuple[str, list[str]]]
"""Table rows, each a pair of a name and its cells."""


def above(summary: Summary) -> dict[str, str]:
    """Returns the sections whose metrics cover requests below a cache or block layer, with the name of that layer."""
    cache = summary["cache"]
    if cache is None:
        return {"Host": "block layer"} if (summary["drive"] or {}).get("block") else {}
    times = () if cache["below"] else ("Speed", "Response time")
    return dict.fromkeys(("Host", *OF_THE_DRIVE, *times), "cache")


def under(section: str, layer: str) -> str:
    """Returns the title of a section with metrics of requests below the given layer."""
    return f"Below the {layer}" if section == "Host" else f"{section}, below the {layer}"


def below(title: str, summary: Summary) -> str:
    """Returns the title of a table about requests to the drive, which come from the cache if there is one."""
    return title if summary["cache"] is None else f"{title}, below the cache"


def sections(summary: Summary) -> dict[str, list[tuple[str, str]]]:
    """Returns the labels and formatted values of a run's metrics, by section. Omits sections shown as tables."""
    result: dict[str, list[tuple[str, str]]] = {}
    titles = {section: under(section, layer) for section, layer in above(summary).items()}
    titles.setdefault(LIFETIMES, lifetime_title(summary))
    for metric in SHOWN:
        value = metric.value(summary)
        if metric.section in TABLES or value is None or (metric.quiet and value == 0):
            continue
        result.setdefault(titles.get(metric.section, metric.section), []).append((metric.label, metric.format(value)))
    return result


def operations(summary: Summary) -> tuple[list[str], list[tuple[str, list[int]]]]:
    """Returns the causes of the run's flash operations, and for each type of operation its counts by cause."""
    flash: Mapping[str, Mapping[str, int]] = summary["flash"]
    found = {cause for kind in OPERATIONS for cause in flash.get(kind, {})}
    causes = [cause for cause in CAUSES if cause in found]
    return causes, [(kind, [flash.get(kind, {}).get(cause, 0) for cause in causes]) for kind in OPERATIONS]


def operation_cells(summary: Summary) -> tuple[list[str], Rows]:
    """Returns headers and rows of the table of flash operations; no rows if there were no operations."""
    causes, counts = operations(summary)
    rows = [(kind, [*map(text.count, row), text.count(sum(row))]) for kind, row in counts]
    return [*(CAUSES[cause].label for cause in causes), "total"], rows if causes else []


def merges(summary: Summary) -> Rows:
    """Returns rows of the merges by type, with the columns of `MERGE_COUNTS`; empty for an FTL without a log."""
    log: Mapping[str, Any] | None = summary["log"]
    kinds = {} if log is None else log["merges"]
    return [(kind, [text.count(kinds[kind][name]) for name in MERGE_COUNTS]) for kind in ("switch", "partial", "full")
            if kind in kinds]  # fmt: skip


def captures(summary: Summary) -> tuple[Rows, int]:
    """Returns rows of the streams with the most sub-streams and random pages, and the number of omitted streams."""
    streams = [] if summary["log"] is None else list(summary["log"]["capture_by_stream"])
    streams.sort(key=lambda stream: -(stream["sub_streams"] + stream["random_pages"]))
    rows = [(stream["stream"], [metric.text(stream) for metric in _CAPTURED]) for stream in streams[:STREAMS_SHOWN]]
    return rows, max(0, len(streams) - STREAMS_SHOWN)


def response_times(summary: Summary) -> Rows:
    """Returns table rows of the operations that occurred, with their count and the columns of `QUANTILES`."""
    occurred = {op: times for op, times in (summary.get("latency") or {}).items() if times is not None}
    if len(occurred) == 2:
        # If only one operation occurred, the row "all" would repeat its values.
        occurred.pop("all", None)
    return [(op, [text.count(times["count"]), *_durations(times)]) for op, times in occurred.items()]


def waiting_times(summary: Summary) -> Rows:
    """Returns rows with waiting and service times by operation; empty unless channels and dies are modelled."""
    drive: Mapping[str, Any] = summary["drive"] or {"waiting": {}}
    return [
        (f"{op} {part}", _durations(drive[part][op]))
        for op, waiting in drive["waiting"].items()
        for part in ("waiting", "service")
        if op != "all" and waiting is not None
    ]


def _durations(times: Mapping[str, float]) -> list[str]:
    return [text.duration(times[name]) for name in QUANTILES.values()]


def stream_times(summary: Summary) -> tuple[Rows, int]:
    """Returns rows of the streams with the most requests, and the number of omitted streams."""
    streams = [] if summary["drive"] is None else list(summary["drive"]["streams"])

    def cells(times: Mapping[str, float] | None) -> list[str]:
        formats = {name: text.count if name == "count" else text.duration for name in _STREAM_TIMES.values()}
        return [text.MISSING if times is None else write(times[name]) for name, write in formats.items()]

    def requests(stream: Mapping[str, Any]) -> int:
        return sum(stream[op]["count"] for op in ("read", "write") if stream[op])

    # The row that sums all other streams comes last. It has no stream name.
    streams.sort(key=lambda stream: (stream["stream"] is None, -requests(stream)))
    rows = [
        (
            OTHER_STREAMS if stream["stream"] is None else stream["stream"],
            [*cells(stream["read"]), *cells(stream["write"]), text.bandwidth(stream["bytes_per_s"])],
        )
        for stream in streams[:STREAMS_SHOWN]
    ]
    return rows, max(0, len(streams) - STREAMS_SHOWN)
