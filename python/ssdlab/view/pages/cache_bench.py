"""Builds the report page of a cache benchmark."""

from ssdlab import text
from ssdlab.analyse.cache.benchmark import CacheBench
from ssdlab.view.page import Figure, Page, Paragraph, Section, Table
from ssdlab.view.pages.compress import spread_text

HEADERS = (
    "share", "codec", "pages/s", "µs/page", "p50", "p99", "raw hits", "compressed hits", "CPU", "CPU µs/page",
    "load µs", "memory", "fragmented",
)  # fmt: skip
LEGEND = "µs/page: per thread; CPU: share of all processors; memory: share of the budget; median [range of the runs]"


def page(bench: CacheBench) -> Page:
    """Returns the report page of a cache benchmark."""
    contents = (
        f"{bench.runs} runs, each with {text.count(bench.accesses)} measured accesses and {bench.threads} threads; "
        f"contents: {bench.contents.title}"
    )
    return Page(
        title=bench.title,
        lead=[Paragraph(contents)],
        partial=f"{bench.done} of {bench.asked} runs were measured" if bench.partial else "",
        remarks=_remarks(bench),
        sections=[
            *([Section("Throughput", [Figure(bench.plot.chart)], terminal=False)] if len(bench.cells) > 1 else []),
            Section("Hits", [Figure(bench.plot_hits.chart)], terminal=False),
            Section("Figures", [Table(HEADERS, _rows(bench), "Figures", left=2)]),
        ],
        legend=LEGEND,
        conclusion=[Paragraph(verdict(bench), "strong")],
    )


def verdict(bench: CacheBench) -> str:
    """States in a sentence if compressing part of the cache is worthwhile; undecided if the ranges of runs overlap."""
    raw = next((cell for cell in bench.cells if cell.codec is None), None)
    compressed = [cell for cell in bench.cells if cell.codec is not None]
    if raw is None or not compressed:
        missing = "without a compressed pool (--share 0)" if raw is None else "with a compressed pool"
        return f"No verdict: also measure a cache {missing}."
    best = max(compressed, key=lambda cell: cell.pages_s.median)
    what = f"share {share_text(best.share)}, codec {best.codec}"
    times = best.pages_s.median / raw.pages_s.median
    figures = (
        f"{times:.2f} times the pages per second of the raw cache, "
        f"p99 {text.significant(best.access_p99_us.median)} µs instead of {text.significant(raw.access_p99_us.median)}"
    )
    if bench.runs > 1 and best.pages_s.low > raw.pages_s.high:
        return f"Compress ({what}): {figures}."
    if bench.runs > 1 and best.pages_s.high < raw.pages_s.low:
        return f"Do not compress: the best setting ({what}) reaches only {figures}."
    why = "the ranges of the runs overlap" if bench.runs > 1 else "a single run does not show the variation"
    return f"Undecided: the best setting ({what}) reaches {figures}, but {why}; increase --runs on an idle machine."


def _remarks(bench: CacheBench) -> list[str]:
    notes = bench.contents.remarks()
    late = [cell.late_us.median for cell in bench.cells if cell.late_us is not None]
    if late:
        notes.append(
            f"threads waited up to {text.significant(max(late))} µs longer for a page than the simulated drive takes; "
            "use --busy for exact waits (it fully loads the CPU)"
        )
    return notes


def _rows(bench: CacheBench) -> list[tuple[str, ...]]:
    table: list[tuple[str, ...]] = []
    for cell in bench.cells:
        memory = cell.memory
        fragmented = memory["internal_fragmentation_bytes"] + memory["external_fragmentation_bytes"]
        table.append((
            share_text(cell.share),
            cell.codec or text.MISSING,
            spread_text(cell.pages_s, text.short_count),
            spread_text(cell.access_us),
            text.significant(cell.access_p50_us.median),
            text.significant(cell.access_p99_us.median),
            text.percent(cell.raw_hit_ratio.median),
            text.percent(cell.compressed_hit_ratio.median),
            text.percent(cell.cpu_share.median),
            text.significant(cell.cpu_us.median),
            text.significant(cell.load_us.median),
            text.percent(memory["total_bytes"] / memory["budget_bytes"]),
            text.size(fragmented),
        ))  # fmt: skip
    return table


def share_text(share: str) -> str:
    """Describes the share of the compressed pool in words."""
    return share if share == "adaptive" else f"{share.rstrip('% ')} %"
