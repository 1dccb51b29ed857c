"""The page of a measurement of codecs."""

from collections.abc import Callable
from functools import partial

from ssdlab import text
from ssdlab.analyse.compress import CompressBench, Spread
from ssdlab.view.page import Figure, Item, Page, Paragraph, Section, Table

FIGURES = {
    "overall": "Ratio of all files",
    "files": "Ratio of each file",
    "ratio": "Ratio by size of a page",
    "compress": "Time to compress a page",
    "decompress": "Time to restore a page",
    "rate": "Rate by threads",
}
BY_PAGE = ("ratio", "compress", "decompress")
"""Those that are curves over the size of a page; of a single size the table tells all there is."""
MOST_FILES, MOST_SHOWN = 1000, 24
"""Files with a row of their own, on a page and on a terminal; `compress.csv` has all."""
HEADERS = (
    "", "ratio", "mean of files", "stored raw", "compress CPU", "restore CPU", "compress elapsed",
    "restore elapsed", "compressed", "restored",
)  # fmt: skip
LEGEND = (
    "ratio: bytes over bytes kept; mean of files: unweighted mean of their ratios, as in Harper 2018; stored raw: "
    "pages that did not shrink; CPU and elapsed: µs for a page or an average file, on its thread; compressed and "
    "restored: by all threads; median, with the range of the runs in brackets"
)


def page(found: CompressBench) -> Page:
    """The page of a measurement of codecs."""
    members = found.corpus.members
    return Page(
        title="Page compressors",
        lead=[
            Paragraph(found.corpus.title),
            Paragraph(
                f"{text.count(len(members))} files, {text.size(found.corpus.bytes)}, {found.runs} runs after one to "
                f"warm up, on {found.machine}"
            ),
        ],
        partial="stopped before all that was asked for was measured" if found.partial else "",
        remarks=found.corpus.remarks(),
        sections=[
            *(
                Section(heading, [Figure(partial(found.plot.chart, name))], terminal=False)
                for name, heading in FIGURES.items()
                if name not in BY_PAGE or sum(size is not None for size in found.page_sizes) > 1
            ),
            Section("Codecs", _tables(found)),
            Section("Files", [*_files(found)]),
        ],
        legend=LEGEND,
    )


def size_text(page_bytes: int | None) -> str:
    """A size of pages."""
    return "whole files" if page_bytes is None else text.size(page_bytes)


def spread_text(spread: Spread, number: Callable[[float], str] = text.significant) -> str:
    """Median, and the range in brackets."""
    return f"{number(spread.median)} [{number(spread.low)}-{number(spread.high)}]"


def _tables(found: CompressBench) -> list[Table]:
    """A table for each number of threads and size of pages."""
    tables = []
    for threads in found.threads:
        for size in found.page_sizes:
            pages = size_text(size) if size is None else f"pages of {size_text(size)}"
            rows: list[tuple[str, ...]] = []
            for codec in found.codecs:
                cell = found.cell(codec, size, threads)
                total = cell.total
                rows.append(
                    (
                        codec,
                        text.ratio(cell.ratio),
                        text.ratio(cell.mean_ratio),
                        f"{text.count(total.raw_pages)} of {text.count(total.pages)}",
                        spread_text(cell.compress_cpu_us),
                        spread_text(cell.decompress_cpu_us),
                        text.significant(cell.compress_elapsed_us.median),
                        text.significant(cell.decompress_elapsed_us.median),
                        text.bandwidth(cell.compress_bytes_s.median),
                        text.bandwidth(cell.decompress_bytes_s.median),
                    )
                )
            tables.append(Table(HEADERS, rows, f"{pages}, {text.counted(threads, 'threads')}"))
    return tables


def _files(found: CompressBench) -> list[Item]:
    """Each file with its size and, for the first size of pages, its ratio with each codec."""
    size = found.page_sizes[0]
    cells = [found.cell(codec, size) for codec in found.codecs]
    members = found.corpus.members
    rows = [
        (text.path(member.name), text.size(len(member.data)), *(text.ratio(cell.files[at].ratio) for cell in cells))
        for at, member in enumerate(members[:MOST_FILES])
    ]
    items: list[Item] = [Table(("", "size", *found.codecs), rows, f"ratio, {size_text(size)}", most=MOST_SHOWN)]
    if len(members) > MOST_FILES:
        items.append(Paragraph(f"further files: {text.count(len(members) - MOST_FILES)}, in compress.csv", "soft"))
    return items
