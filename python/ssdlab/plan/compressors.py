"""What compressors do to pages: the document's figures, and those of this machine."""

import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError

PAPER_DEVICE_US = 110.0
"""Time to read a page of 8 KiB: table 4 of Harper 2018."""

PAGES = 4096
"""Pages to measure, evenly spaced over the files."""

ROUNDS = 3
"""Passes over the pages; the fastest counts, as whatever else runs can only slow one down."""

SHRUNK = 0.75
"""A page is worth keeping compressed if it shrinks to this share or less."""


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


PAPER = {
    "lz4": Compressor("lz4", ratio=2.13, compress_us=2, decompress_us=1),
    "zstd": Compressor("zstd", ratio=2.97, compress_us=8, decompress_us=3),
}
"""Table 4 of Harper 2018: pages of 8 KiB, eight threads on four cores."""


def corpus(paths: Sequence[Path], page_bytes: int) -> list[bytes]:
    """Pages of each file one after the other, sampled evenly; generated ones without files.

    Raises:
        ConfigError: If the files hold no whole page, or one is not an ordinary file.
        OSError: If a file cannot be read.
    """
    if not paths:
        return [_generated(page_bytes)]
    for path in paths:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{text.path(path)} is no ordinary file; name files with typical data")
    pages = sum(path.stat().st_size // page_bytes for path in paths)
    step = max(1, -(-pages // PAGES))
    found, number = [], 0
    for path in paths:
        own = path.stat().st_size // page_bytes
        with path.open("rb") as file:
            sample = bytearray()
            for page in range(-number % step, own, step):
                sample += os.pread(file.fileno(), page_bytes, page * page_bytes)
        number += own
        if sample:
            found.append(bytes(sample))
    if not found:
        raise ConfigError(f"{text.path(paths[0])} holds no page of {text.exact_size(page_bytes)}; name larger files")
    return found


def _generated(page_bytes: int) -> bytes:
    """Rows of a table as pages: numbers that grow, words of a skewed vocabulary, noise; a page in eight is noise."""
    rng = random.Random(1)
    words = [bytes(rng.choices(range(97, 123), k=rng.randint(3, 11))) for _ in range(100)]
    weights = [1 / rank for rank in range(1, 101)]
    pages, row = [], 0
    for number in range(256):
        page = bytearray(rng.randbytes(page_bytes) if number % 8 == 7 else b"")
        while len(page) < page_bytes:
            row += 1
            page += row.to_bytes(4, "big") + rng.randbytes(2) + b" ".join(rng.choices(words, weights, k=6))
        pages.append(bytes(page[:page_bytes]))
    return b"".join(pages)


def measure(name: str, files: Sequence[bytes], page_bytes: int) -> Compressor:
    """Measures a compressor on pages.

    Args:
        name: What it is, such as `lz4` or `zstd:1`.
        files: Whole pages, file by file.
        page_bytes: Size of a page.

    Raises:
        ConfigError: If there is no such compressor.
    """
    codec = _ssdlab.Codec(name)
    if (costs := codec.modelled()) is not None:
        return Compressor(name, *costs)
    most = int(SHRUNK * page_bytes)
    compress_s = restore_s = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        done = [codec.compress(file, page_bytes, most) for file in files]
        between = time.process_time()
        for one in done:
            codec.restore(one)
        compress_s = min(compress_s, between - began)
        restore_s = min(restore_s, time.process_time() - between)
    lengths = [one.lengths() for one in done]
    pages = sum(map(len, lengths))
    shrunk = [length for file in lengths for length in file if length is not None]
    per_file = [
        len(file) * page_bytes / sum(page_bytes if length is None else length for length in file) for file in lengths
    ]
    return Compressor(
        name,
        ratio=page_bytes * len(shrunk) / sum(shrunk) if shrunk else 1.0,
        compress_us=1e6 * compress_s / pages,
        decompress_us=1e6 * restore_s / len(shrunk) if shrunk else 0.0,
        shrinking=len(shrunk) / pages,
        mean_ratio=sum(per_file) / len(per_file),
    )
