"""Builds the report page of a workload analysis."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ssdlab import text
from ssdlab.analyse.workload import KINDS, SECTOR, TraceAnalysis
from ssdlab.model.source import chosen, ingest_remarks, source_text
from ssdlab.view.page import Facts, Figure, Page, Section, Table, known

STEPS = (1, 2, 5, 17, 65, 257)
"""Smallest deviation covered by each row of the deviation table, ahead or behind, in address ranges."""

WORKING_SET = "Distinct pages of 4 KiB touched by reads and writes, in windows of equal numbers of requests."
RUNS = (
    "A request continues an open run of its kind if it begins where the run ends. At most 32 runs of a kind are open "
    "at a time."
)

TOP = 8
"""Number of rows in the tables of the most frequent sizes and ranges."""


def page(analysis: TraceAnalysis) -> Page:
    """Returns the report page of a workload analysis."""
    distances = f"Distance from the previous request of any kind, in ranges of {text.size(analysis.range_bytes)}."
    figures = (
        ("Accesses by address", analysis.plot_ranges.chart, "Each request is counted at its first address."),
        ("Distance from the previous request", analysis.plot_deviations.chart, distances),
        ("Sizes", analysis.plot_sizes.chart, ""),
        ("Working set", analysis.plot_working_set.chart, WORKING_SET),
        ("Reads and writes over the trace", analysis.plot_mix.chart, ""),
        ("Sequential runs", analysis.plot_runs.chart, RUNS),
        ("Time between requests", analysis.plot_gaps.chart, ""),
        ("Alignment", analysis.plot_alignments.chart, ""),
    )
    return Page(
        title=source_text(analysis.source),
        chosen=chosen(analysis.source),
        partial="only the beginning of the trace was read" if analysis.partial else "",
        remarks=[*ingest_remarks(analysis.ingest), *remarks(analysis)],
        sections=[
            Section("", [Facts(_headlines(analysis), tiles=True)]),
            *(Section(title, [Figure(draw)], note=note, terminal=False) for title, draw, note in figures),
            Section("In figures", tables(analysis)),
        ],
        footer="Sizes in binary units (1 KiB = 1,024 B). Counts are exact unless a remark above says otherwise; "
        "quantiles of times are exact to 1.6 %.",
    )


def tables(analysis: TraceAnalysis) -> list[Table]:
    """Returns all tables of the page, in reading order."""
    figures = analysis.to_dict()
    kinds = [kind for kind in KINDS if analysis.requests[kind]]
    return [
        _overview(analysis, figures, kinds),
        _sizes(analysis, kinds),
        _deviations(analysis, kinds),
        _ranges(analysis, kinds),
        _arrivals(figures),
        *_dispersion(figures),
    ]


def _headlines(analysis: TraceAnalysis) -> list[tuple[str, str]]:
    figures = analysis.to_dict()
    rate = figures["requests_per_s"]
    working = figures["working_set"]
    about = "" if analysis.sampling == 1 else "≈ "
    window = text.counted(working["window_requests"], "requests")
    return [
        ("requests", text.count(sum(analysis.requests.values()))),
        ("requests per second", known(text.short_count, rate)),
        ("duration", text.duration(analysis.duration_ns)),
        ("footprint", about + text.size(analysis.footprint_bytes)),
        (f"working set of {window}", about + text.size(working["mean_bytes"])),
        ("named streams", text.count(figures["streams"])),
    ]


def remarks(analysis: TraceAnalysis) -> list[str]:
    """Returns remarks if counts are estimated, or if address ranges were made coarser than requested."""
    remarks = []
    if analysis.sampling > 1:
        error = analysis.to_dict()["footprint"]["standard_error"]
        remarks.append(
            f"footprints and working sets are estimated from one in {analysis.sampling} groups of 16 pages, because "
            "the trace touches too many pages for an exact count; standard error of the footprint: up to "
            f"{text.percent(error)}"
        )
    if analysis.counted_range_bytes > analysis.range_bytes:
        remarks.append(
            f"accesses by address are counted in ranges of {text.size(analysis.counted_range_bytes)} because there are "
            f"more than 1,048,576 ranges of {text.size(analysis.range_bytes)}; set a larger range size with --range"
        )
    return remarks


SEQUENTIAL: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("continuing the previous request of the same operation", "after_kind_share", text.percent),
    ("continuing the previous request of the same stream", "after_stream_share", text.percent),
    ("continuing an open run", "continuing_share", text.percent),
    ("open runs, mean", "concurrent_runs", text.decimal),
    ("requests per run, mean", "mean_run", text.decimal),
    ("requests per run, max", "longest_run", text.count),
)


def _overview(analysis: TraceAnalysis, figures: Mapping[str, Any], kinds: list[str]) -> Table:
    footprint, sizes, sequential = figures["footprint"], figures["sizes"], figures["sequential"]
    footprints = {"read": text.size(footprint["read_bytes"]), "write": text.size(footprint["written_bytes"])}
    rows: list[tuple[str, list[str]]] = [
        ("requests", [text.count(analysis.requests[kind]) for kind in kinds]),
        ("volume", [text.size(analysis.bytes[kind]) for kind in kinds]),
        ("mean size", [text.size(sizes[kind]["mean_bytes"]) for kind in kinds]),
        ("footprint", [footprints.get(kind, text.MISSING) for kind in kinds]),
    ]
    rows += [(label, [write(sequential[kind][key]) for kind in kinds]) for label, key, write in SEQUENTIAL]
    for size in (512, 4096, 16_384, 65_536):
        shares = figures["alignment"][str(size)]
        rows.append((f"aligned to {text.size(size)}", [known(text.percent, shares[kind]) for kind in kinds]))
    return Table.named(kinds, rows, "Requests")


def _top(columns: Any, kinds: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yields the rows with the most requests: each row's index, requests by operation, and share of all requests."""
    totals = sum(getattr(columns, f"{kind}s").astype("int64") for kind in KINDS)
    whole = int(totals.sum())
    for row in (-totals).argsort(kind="stable")[:TOP]:
        counts = [text.count(getattr(columns, f"{kind}s")[row]) for kind in kinds]
        yield row, [*counts, text.percent(totals[row] / whole)]


def _sizes(analysis: TraceAnalysis, kinds: list[str]) -> Table:
    columns = analysis.sizes
    rows = []
    for row, cells in _top(columns, kinds):
        sectors = int(columns.lower[row])
        # For large requests, a row of the histogram covers several sizes.
        at_least = "from " if columns.upper[row] > columns.lower[row] + 1 else ""
        rows.append([at_least + text.count(sectors), text.size(sectors * SECTOR), *cells])
    return Table(["sectors", "size", *(f"{kind}s" for kind in kinds), "share"], rows, "Most frequent sizes")


def _steps() -> list[tuple[str, float, float]]:
    """Returns the name of each row of the deviation table, and the smallest and largest deviation that it covers."""
    ends = [*(step - 1 for step in STEPS[1:]), float("inf")]
    ahead = [
        (f"{low}" if low == high else f"{low} or more" if high == float("inf") else f"{low} to {high}", low, high)
        for low, high in zip(STEPS, ends, strict=True)
    ]
    behind = [(f"{name} behind", -high, -low) for name, low, high in reversed(ahead)]
    return [*behind, ("same range", 0, 0), *((f"{name} ahead", low, high) for name, low, high in ahead)]


def _deviations(analysis: TraceAnalysis, kinds: list[str]) -> Table:
    columns = analysis.deviations
    whole = sum(int(getattr(columns, f"{kind}s").sum()) for kind in kinds)
    rows = []
    for name, first, last in _steps():
        inside = (columns.lower >= first) & (columns.lower <= last)
        counts = [int(getattr(columns, f"{kind}s")[inside].sum()) for kind in kinds]
        if sum(counts):
            rows.append([name, *map(text.count, counts), text.percent(sum(counts) / whole)])
    title = f"Distance from the previous request, in ranges of {text.size(analysis.range_bytes)}"
    return Table(["ranges", *(f"{kind}s" for kind in kinds), "share"], rows, title)


def _ranges(analysis: TraceAnalysis, kinds: list[str]) -> Table:
    first_bytes = analysis.ranges.first_byte
    rows = [[text.size(int(first_bytes[row])), *cells] for row, cells in _top(analysis.ranges, kinds)]
    title = (
        f"Most accessed ranges, of {text.count(len(first_bytes))} ranges of {text.size(analysis.counted_range_bytes)}"
    )
    return Table(["from", *(f"{kind}s" for kind in kinds), "share"], rows, title)


def _arrivals(figures: Mapping[str, Any]) -> Table:
    rows = []
    for op, gaps in figures["arrivals"].items():
        if gaps:
            times = [text.duration(gaps[f"{name}_ns"]) for name in ("mean", "p50", "p90", "p99", "max")]
            rows.append([op, text.count(gaps["count"]), *times, known(text.decimal, gaps["cv"])])
    headers = ["operation", "gaps", "mean", "p50", "p90", "p99", "max", "sd / mean"]
    return Table(headers, rows, "Time since the previous request")


def _dispersion(figures: Mapping[str, Any]) -> list[Table]:
    rows = [
        [text.duration(scale["scale_ns"]), text.count(scale["stretches"]), text.decimal(scale["index"])]
        for scale in figures["dispersion"]
        if scale["index"] is not None
    ]
    # The table of burstiness has no rows if all requests arrive within two milliseconds, as in a closed loop.
    headers = ["arrivals in", "stretches", "variance / mean"]
    return [Table(headers, rows, "Burstiness")] if rows else []
