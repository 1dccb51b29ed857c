"""What compressors do to pages: the document's figures, and those of this machine."""

from collections.abc import Sequence
from dataclasses import dataclass

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse import compress
from ssdlab.analyse.corpus import Corpus
from ssdlab.model.requests import Monitor
from ssdlab.model.several import several

PAPER_DEVICE_US = 110.0
"""Time to read a page of 8 KiB: table 4 of Harper 2018."""

ROUNDS = 3
"""Passes over the pages; the fastest counts, as whatever else runs can only slow one down."""

SHRUNK = 0.75
"""A page is worth keeping compressed if it shrinks to this share or less, as in the two-pool cache."""

COPY = "none"
"""The codec that copies pages."""


@dataclass(frozen=True)
class Compressor:
    """What a compressor does to pages of one size."""

    name: str
    ratio: float
    """Raw bytes for each compressed one, over the pages that shrink."""
    compress_us: float
    """Time to compress a page, in microseconds of one processor; also for pages that turn out not to shrink."""
    decompress_us: float
    """Time to restore a page."""
    shrinking: float = 1.0
    """Share of the pages that shrink."""
    mean_ratio: float | None = None
    """Mean of the ratios of the files, whatever their sizes: the "overall" ratio of Harper 2018. `ratio` if None."""
    waited: float = 0.0
    """Share of its time that the measuring thread waited for a processor; 0 of figures that were given."""


PAPER = {
    "lz4": Compressor("lz4", ratio=2.13, compress_us=2, decompress_us=1),
    "zstd": Compressor("zstd", ratio=2.97, compress_us=8, decompress_us=3),
}
"""Table 4 of Harper 2018: pages of 8 KiB, eight threads on four cores."""


def of_paper(wanted: str | Compressor) -> Compressor:
    """The document's figures of a compressor, or those given.

    Raises:
        ConfigError: If it has none.
    """
    if isinstance(wanted, Compressor):
        return wanted
    if wanted not in PAPER:
        raise ConfigError(f"the document has no figures of {text.path(wanted)}; it has {', '.join(PAPER)}")
    return PAPER[wanted]


def measure(
    names: Sequence[str], contents: Corpus, page_bytes: int, monitor: Monitor | None = None
) -> list[Compressor]:
    """Measures compressors on pages, as `compress.bench` does, with one thread.

    Args:
        names: What they are, such as `lz4` or `zstd:1`. Of `modelled:RATIO:COMPRESS:RESTORE` the figures are taken.
        contents: What pages hold.
        page_bytes: Size of a page.
        monitor: As that of `compress.bench`; if it returns something true, KeyboardInterrupt is raised.

    Raises:
        ConfigError: If there is no such compressor, or no whole page.
    """
    modelled = {name: _ssdlab.modelled_codec(name) for name in several(names)}
    if all(len(member.data) < page_bytes for member in contents.members):
        size = text.exact_size(page_bytes)
        raise ConfigError(f"{contents.title}: no file holds a page of {size}; name larger files")
    real = [name for name, costs in modelled.items() if costs is None]
    measured = {}
    if real:
        sizes, wanted = [f"{page_bytes}B"], list(dict.fromkeys([*real, COPY]))
        found = compress.bench(
            contents, codecs=wanted, page_sizes=sizes, threads=[1], runs=ROUNDS, keep=SHRUNK, monitor=monitor
        )
        cells = dict(zip(wanted, found.cells, strict=True))
        copy_us = cells[COPY].decompress_cpu_us.low
        measured = {name: _compressor(name, cells[name], copy_us) for name in real}
    return [measured[name] if costs is None else Compressor(name, *costs) for name, costs in modelled.items()]


def _compressor(name: str, cell: compress.Cell, copy_us: float) -> Compressor:
    total = cell.total
    shrunk, bytes_shrunk = total.pages - total.raw_pages, total.bytes - total.raw_bytes
    # Pages that are kept raw are copied instead of restored.
    restoring_us = cell.decompress_cpu_us.low * total.pages - copy_us * total.raw_pages
    return Compressor(
        name,
        ratio=bytes_shrunk / (total.stored_bytes - total.raw_bytes) if shrunk else 1.0,
        compress_us=cell.compress_cpu_us.low,
        decompress_us=max(restoring_us / shrunk, 0.0) if shrunk else 0.0,
        shrinking=shrunk / total.pages,
        mean_ratio=cell.mean_ratio,
        waited=cell.waited,
    )
