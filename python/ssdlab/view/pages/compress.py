"""Builds the report page on codec measurements."""

from collections.abc import Callable
from functools import partial

from ssdlab import text
from ssdlab.analyse.compress import Cell, CompressBench, Spread
from ssdlab.view.page import Figure, Item, Page, Paragraph, Section, Table

FIGURES = {
    "overall": "Compression ratio of all files",
    "files": "Compression ratio of each file",
    "ratio": "Compression ratio by page size",
    "compress": "Time to compress a page",
    "decompress": "Time to restore a page",
    "rate": "Throughput by number of threads",
}
BY_PAGE = ("ratio", "compress", "decompress")
"""Names of the figures with curves over page sizes; these figures are omitted if there is only one page size."""
MOST_FILES, MOST_SHOWN = 1000, 24
"""Maximum number of files in the table, on a page and on a terminal; `compress.csv` has all files."""
HEADERS = (
    "", "ratio", "mean of files", "stored raw", "compress CPU", "restore CPU", "compress elapsed",
    "restore elapsed", "compressed", "restored",
)  # fmt: skip
LEGEND = (
    "ratio: raw bytes / compressed bytes; mean of files: unweighted mean of the ratios, as in Harper 2018; stored raw: "
    "pages that did not shrink; CPU and elapsed: µs per page or average file, per thread; compressed and restored: "
    "throughput of all threads; cells: median [range of the runs]"
)


def page(bench: CompressBench) -> Page:
    """Returns the report page on codec measurements."""
    members = bench.corpus.members
    return Page(
        title="Page compressors",
        lead=[
            Paragraph(bench.corpus.title),
            Paragraph(
                f"{text.count(len(members))} files, {text.size(bench.corpus.bytes)}, {bench.runs} runs after a "
                f"warm-up run, on {bench.machine}"
            ),
        ],
        partial="stopped before all codecs were measured" if bench.partial else "",
        remarks=bench.corpus.remarks(),
        sections=[
            *(
                Section(heading, [Figure(partial(bench.plot.chart, name))], terminal=False)
                for name, heading in FIGURES.items()
                if name not in BY_PAGE or sum(size is not None for size in bench.page_sizes) > 1
            ),
            Section("Codecs", _tables(bench)),
            Section("Files", [*_files(bench)]),
        ],
        legend=LEGEND,
    )


def size_text(page_bytes: int | None) -> str:
    """Returns the unit of compression as text: a page size, or "whole files"."""
    return "whole files" if page_bytes is None else text.size(page_bytes)


def spread_text(spread: Spread, number: Callable[[float], str] = text.significant) -> str:
    """Formats the median of the runs, followed by their range in brackets."""
    return f"{number(spread.median)} [{number(spread.low)}-{number(spread.high)}]"


def _tables(bench: CompressBench) -> list[Table]:
    """Returns a table of codecs for each number of threads and page size."""
    tables = []
    for threads in bench.threads:
        for size in bench.page_sizes:
            pages = size_text(size) if size is None else f"pages of {size_text(size)}"
            rows = [_row(bench.cell(codec, size, threads)) for codec in bench.codecs]
            tables.append(Table(HEADERS, rows, f"{pages}, {text.counted(threads, 'threads')}"))
    return tables


def _row(cell: Cell) -> tuple[str, ...]:
    total = cell.total
    return (
        cell.codec,
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


def _files(bench: CompressBench) -> list[Item]:
    """Returns a table of files with their compression ratio by codec at the first page size."""
    size = bench.page_sizes[0]
    cells = [bench.cell(codec, size) for codec in bench.codecs]
    members = bench.corpus.members
    rows = [
        (text.path(member.name), text.size(len(member.data)), *(text.ratio(cell.files[at].ratio) for cell in cells))
        for at, member in enumerate(members[:MOST_FILES])
    ]
    items: list[Item] = [Table(("", "size", *bench.codecs), rows, f"ratio, {size_text(size)}", most=MOST_SHOWN)]
    if len(members) > MOST_FILES:
        items.append(Paragraph(f"{text.count(len(members) - MOST_FILES)} more files are in compress.csv", "soft"))
    return items
