"""Compression ratios and times of compressors, from Harper 2018 or measured on this machine."""

from collections.abc import Sequence
from dataclasses import dataclass

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse import compress
from ssdlab.analyse.corpus import Corpus
from ssdlab.model.requests import Monitor
from ssdlab.model.several import several

PAPER_DEVICE_US = 110.0
"""Time in microseconds to read a page of 8 KiB: table 4 of Harper 2018."""

ROUNDS = 3
"""Number of timed passes over the pages; the fastest one counts, because other programs can only slow down a pass."""

SHRUNK = 0.75
"""Maximum compressed share of a page's size at which it is kept compressed, as in the two-pool cache."""

COPY = "none"
"""Name of the codec that only copies pages."""


@dataclass(frozen=True)
class Compressor:
    """Compression ratio and times of a compressor, for pages of one size."""

    name: str
    ratio: float
    """Compression ratio (uncompressed bytes divided by compressed bytes) of the pages that shrink enough."""
    compress_us: float
    """Microseconds of processor time to compress a page, whether it shrinks or not."""
    decompress_us: float
    """Microseconds of processor time to restore a page."""
    shrinking: float = 1.0
    """Share of the pages that shrink enough to be kept compressed."""
    mean_ratio: float | None = None
    """Unweighted mean of the files' ratios: the "overall" ratio of Harper 2018. If None, `ratio` is used instead."""
    waited: float = 0.0
    """Share of time that the measuring thread waited for a processor; 0 if nothing was measured."""


PAPER = {
    "lz4": Compressor("lz4", ratio=2.13, compress_us=2, decompress_us=1),
    "zstd": Compressor("zstd", ratio=2.97, compress_us=8, decompress_us=3),
}
"""Table 4 of Harper 2018: pages of 8 KiB, eight threads on four cores."""


def of_paper(wanted: str | Compressor) -> Compressor:
    """Returns the compressor with this name in table 4 of Harper 2018; a `Compressor` is returned unchanged."""
    if isinstance(wanted, Compressor):
        return wanted
    if wanted not in PAPER:
        raise ConfigError(f"Harper 2018 does not list times for {text.path(wanted)}; use one of {', '.join(PAPER)}")
    return PAPER[wanted]


def measure(
    names: Sequence[str], contents: Corpus, page_bytes: int, monitor: Monitor | None = None
) -> list[Compressor]:
    """Measures compressors such as `zstd:1` on pages, as `compress.bench` does, with one thread.

    A modelled codec, `modelled:RATIO:COMPRESS:RESTORE`, is not measured, because its name gives its ratio and times.
    """
    modelled = {name: _ssdlab.modelled_codec(name) for name in several(names)}
    if all(len(member.data) < page_bytes for member in contents.members):
        size = text.exact_size(page_bytes)
        raise ConfigError(f"{contents.title}: every file is smaller than a page of {size}; use larger files")
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
    # Pages that did not shrink are copied instead of decompressed. The time to copy them is subtracted.
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
