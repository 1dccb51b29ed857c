"""A page cache with an uncompressed and a compressed pool, for use in Python programs.

>>> from ssdlab import Pool
>>> with Pool("64MiB", "8KiB", "table.dat", codec="zstd:1") as pool:  # doctest: +SKIP
...     page = pool.read(7)
"""

import os
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.arguments import shown, takes

CODEC, SHARE, POLICY, COMPRESSED_POLICY = "lz4", "50%", "clock", "fifo"
"""Default settings of a page cache."""


class Loader(Protocol):
    """Backing storage of a cache. Threads may call it concurrently, but only for different pages.

    The storage must not call the cache, because this could deadlock.
    """

    def load(self, page: int) -> bytes:
        """Returns the bytes of a page from the storage."""

    def store(self, page: int, data: bytes) -> None:
        """Writes the bytes of a page to the storage."""


@dataclass(frozen=True)
class Settings:
    """Settings of a page cache; the constructor of `Pool` describes them."""

    budget_bytes: int
    page_bytes: int
    codec: str = CODEC
    share: str = SHARE
    policy: str = POLICY
    compressed_policy: str = COMPRESSED_POLICY
    workers: int = 1
    miss_us: float | None = None
    restore_us: float | None = None


@dataclass(frozen=True)
class PoolStatistics:
    """Counters of a page cache, and its memory use."""

    transitions: Mapping[str, int]
    """Page transitions by kind: `raw_hits`, `compressed_hits`, `misses`, `compressed`, `written_back` and so on."""
    memory: Mapping[str, int]
    """Sizes in bytes (`budget_bytes`, `total_bytes`, `raw_bytes` and so on) and numbers of pages (`raw_pages`,
    `compressed_pages`, `dirty_pages`).
    """

    @property
    def reads(self) -> int:
        """Number of pages read through the cache."""
        return self.transitions["raw_hits"] + self.transitions["compressed_hits"] + self.transitions["misses"]

    @property
    def raw_hit_ratio(self) -> float:
        """Reads that hit the uncompressed pool, divided by all reads; 0 without reads."""
        return self.transitions["raw_hits"] / max(self.reads, 1)

    @property
    def compressed_hit_ratio(self) -> float:
        """Reads that hit the compressed pool, divided by all reads; 0 without reads."""
        return self.transitions["compressed_hits"] / max(self.reads, 1)

    @property
    def hit_ratio(self) -> float:
        """Reads that hit either pool, divided by all reads; 0 without reads."""
        return self.raw_hit_ratio + self.compressed_hit_ratio


class Pool:
    """A page cache with an uncompressed and a compressed pool under one budget, for any number of threads.

    Modified pages stay dirty until they are written back: in `flush`, in `close`, or before they leave the uncompressed
    pool. The interpreter lock is released while pages are copied, compressed and read from a file.
    """

    @takes(budget="64MiB", page_size="8KiB")
    def __init__(
        self,
        budget: str | int,
        page_size: str | int,
        loader: Loader | str | os.PathLike[str],
        *,
        codec: str = CODEC,
        share: str = SHARE,
        policy: str = POLICY,
        compressed_policy: str = COMPRESSED_POLICY,
        workers: int = 1,
        miss_us: float | None = None,
        restore_us: float | None = None,
    ) -> None:
        """Creates a cache in front of `loader`.

        Args:
            budget: Memory for uncompressed and compressed pages, tables and buffers, such as `"64MiB"`.
            page_size: A power of two from 512 bytes to 1 MiB.
            loader: An object with `load` and `store`, whose exceptions reach the caller of `read` or `write`; or the
                path of a file. If its file system allows, accesses to the file bypass the operating system's cache.
            codec: Name of a codec, such as `lz4` or `zstd:3`.
            share: Share of the budget that compressed pages may take: `"25%"`, or `"adaptive"`, which weighs the times
                `miss_us` and `restore_us`.
            policy: Replacement policy of uncompressed pages: any policy of simulated caches except `belady`, with
                parameters as in `lru-k:k=3`. Hits take no lock with `clock`, `fifo`, `lru`, `s3-fifo` and `sieve`
                without parameters.
            compressed_policy: Replacement policy of compressed pages. It has little effect, because hit pages leave the
                compressed pool.
            workers: Number of threads that compress in the background. With none, calling threads compress; with a
                single calling thread, the cache is then deterministic.
            miss_us: Microseconds to load a page; needed if the share is adaptive.
            restore_us: Microseconds to restore a page and compress another; needed if the share is adaptive.

        Raises:
            ConfigError: If an argument is invalid.
            OSError: If the file cannot be read.
        """
        self._settings = settings = Settings(
            size_of(budget),
            size_of(page_size),
            codec,
            str(share),
            policy,
            compressed_policy,
            workers,
            miss_us,
            restore_us,
        )
        if not (0 <= settings.budget_bytes < 1 << 62 and 0 <= settings.page_bytes < 1 << 32 and 0 <= workers <= 256):
            raise ConfigError(
                "budget, page_size or workers is out of range; pass sizes that fit into memory, and 0 to 256 workers"
            )
        if isinstance(loader, str | os.PathLike):
            self._inner = _ssdlab.PagePool(settings, None, Path(loader))
        elif all(callable(getattr(loader, name, None)) for name in ("load", "store")):
            self._inner = _ssdlab.PagePool(settings, loader, None)
        else:
            raise ConfigError(
                f"loader: {shown(loader)} cannot load pages; pass the path of a file, or "
                "an object with methods load and store"
            )
        self._loader = loader
        # Workers that call Python must end before the interpreter does.
        self._close = weakref.finalize(self, self._inner.close)

    def read(self, page: int) -> bytes:
        """Returns the bytes of a page from the cache.

        Raises:
            Exception: An error raised by the loader. The next read tries again.
        """
        return self._inner.read(page)

    def write(self, page: int, data: bytes) -> None:
        """Writes a whole page into the cache.

        Raises:
            ValueError: If `data` is not exactly one page long.
            Exception: An error raised by the loader while another page was evicted.
        """
        self._inner.write(page, data)

    def flush(self) -> None:
        """Writes dirty pages back. Pages stay cached.

        Raises:
            Exception: The first error raised by the loader. Writing was attempted for all dirty pages; another flush
            retries the failed pages.
        """
        self._inner.flush()

    def statistics(self) -> PoolStatistics:
        """Returns counters and memory use of the cache."""
        return PoolStatistics(*self._inner.statistics())

    @property
    def direct(self) -> bool:
        """True if accesses to the file below the cache bypass the operating system's page cache."""
        return self._inner.direct()

    def close(self) -> None:
        """Writes back dirty pages and ends the threads; the cache cannot be used afterwards.

        Raises:
            Exception: An error raised by the loader. The affected pages are lost.
        """
        self._close()

    def __repr__(self) -> str:
        budget, page, codec, *_ = vars(self._settings).values()
        state = "" if self._close.alive else ", closed"
        shape = f"{text.size(budget)} in pages of {text.size(page)}"
        return f"<ssdlab.Pool of {shape}, {codec}, in front of {self._loader!r}{state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def size_of(size: str | int) -> int:
    """Converts a size, given as a number or as text such as `64MiB`, to bytes."""
    return _ssdlab.size(size) if isinstance(size, str) else int(size)
