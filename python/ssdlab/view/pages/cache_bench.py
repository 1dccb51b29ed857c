"""The page of measured caches."""

from ssdlab import text
from ssdlab.analyse.cache.benchmark import CacheBench
from ssdlab.view.page import Figure, Page, Paragraph, Section, Table
from ssdlab.view.pages.compress import spread_text

HEADERS = (
    "share", "codec", "pages/s", "µs/page", "p50", "p99", "raw hits", "compressed hits", "CPU", "CPU µs/page",
    "load µs", "memory", "fragmented",
)  # fmt: skip
LEGEND = (
    "µs/page: on its thread; CPU: of all processors; memory: of the budget; median, with the range of the runs in "
    "brackets"
)


def page(found: CacheBench) -> Page:
    """The page of measured caches."""
    contents = (
        f"{text.count(found.accesses)} accesses measured in each of {found.runs} runs, {found.threads} threads; "
        f"contents: {found.contents.title}"
    )
    return Page(
        title=found.title,
        lead=[Paragraph(contents)],
        partial=f"{found.done} of {found.asked} runs were measured" if found.partial else "",
        remarks=_remarks(found),
        sections=[
            *([Section("Pages a second", [Figure(found.plot.chart)], terminal=False)] if len(found.cells) > 1 else []),
            Section("Hits", [Figure(found.plot_hits.chart)], terminal=False),
            Section("Figures", [Table(HEADERS, _rows(found), "Figures", left=2)]),
        ],
        legend=LEGEND,
        conclusion=[Paragraph(verdict(found), "strong")],
    )


def verdict(found: CacheBench) -> str:
    """Whether compressing part of the cache pays here; undecided where the runs' ranges overlap."""
    raw = next((cell for cell in found.cells if cell.codec is None), None)
    compressed = [cell for cell in found.cells if cell.codec is not None]
    if raw is None or not compressed:
        missing = "without a compressed pool (--share 0)" if raw is None else "with a compressed pool"
        return f"Nothing to decide: no cache {missing} was measured."
    best = max(compressed, key=lambda cell: cell.pages_s.median)
    what = f"{share_text(best.share)} compressed by {best.codec}"
    times = best.pages_s.median / raw.pages_s.median
    figures = (
        f"{times:.2f} times the pages a second of the raw cache, p99 {text.significant(best.access_p99_us.median)} µs "
        f"instead of {text.significant(raw.access_p99_us.median)}"
    )
    if found.runs > 1 and best.pages_s.low > raw.pages_s.high:
        return f"Compress: {what} serves {figures}."
    if found.runs > 1 and best.pages_s.high < raw.pages_s.low:
        return f"Do not compress: the best share, {what}, serves {figures}."
    why = "the ranges of the runs overlap" if found.runs > 1 else "a single run has no range"
    return f"Undecided: {what} serves {figures}, but {why}; measure more --runs on an idle machine."


def _remarks(found: CacheBench) -> list[str]:
    """What a person should know before reading figures."""
    notes = found.contents.remarks()
    late = [cell.late_us.median for cell in found.cells if cell.late_us is not None]
    if late:
        notes.append(
            f"threads waited {text.significant(max(late))} µs longer for a page than the simulated drive took, at "
            "most; --busy waits more exactly, and takes processors"
        )
    return notes


def _rows(found: CacheBench) -> list[tuple[str, ...]]:
    """A row for each cell."""
    table: list[tuple[str, ...]] = []
    for cell in found.cells:
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
    """A share of the compressed pool."""
    return share if share == "adaptive" else f"{share.rstrip('% ')} %"
