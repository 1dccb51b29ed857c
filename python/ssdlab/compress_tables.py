"""Tables of a measurement of codecs, the same on the terminal and in reports."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ssdlab import text

if TYPE_CHECKING:
    from ssdlab.compress import CompressBench, Spread

HEADERS = (
    "codec", "ratio", "mean of files", "stored raw", "compress CPU", "restore CPU", "compress elapsed",
    "restore elapsed", "compressed", "restored",
)  # fmt: skip
LEGEND = (
    "ratio: bytes over bytes kept; mean of files: unweighted mean of their ratios, as in Harper 2018; stored raw: "
    "pages that did not shrink; CPU and elapsed: µs for a page or an average file, on its thread; compressed and "
    "restored: by all threads; median, with the range of the runs in brackets"
)


def spread_text(spread: "Spread", number: Callable[[float], str] = text.significant) -> str:
    """Median, and the range in brackets."""
    return f"{number(spread.median)} [{number(spread.low)}-{number(spread.high)}]"


def tables(found: "CompressBench") -> list[tuple[str, list[tuple[str, ...]]]]:
    """A title and rows for each number of threads and size of pages."""
    all_tables = []
    for threads in found.threads:
        for size in found.page_sizes:
            pages = "whole files" if size is None else f"pages of {text.size(size)}"
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
            all_tables.append((f"{pages}, {threads} thread{'s' if threads > 1 else ''}", rows))
    return all_tables


def files(found: "CompressBench", most: int) -> list[tuple[str, ...]]:
    """Each file with its size and, for the first size of pages, its ratio with each codec."""
    size = found.page_sizes[0]
    cells = [found.cell(codec, size) for codec in found.codecs]
    return [
        (
            text.path(member.name),
            text.size(len(member.data)),
            *(text.ratio(cell.files[at].ratio) for cell in cells),
        )
        for at, member in enumerate(found.corpus.members[:most])
    ]
