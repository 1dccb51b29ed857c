"""A page cache with a raw and a compressed pool, for programs.

>>> from ssdlab import Pool
>>> with Pool("64MiB", "8KiB", "table.dat", codec="zstd:1") as pool:  # doctest: +SKIP
...     page = pool.read(7)
"""

import os
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.arguments import shown, takes

CODEC, SHARE, POLICY, COMPRESSED_POLICY = "lz4", "50%", "clock", "fifo"
"""Of a cache unless others are asked for."""


class Loader(Protocol):
    """Storage below a cache. Its calls come from several threads, but never two at a time for one page.

    It must not use the cache it serves: a page it waits for may be waiting for it.
    """

    def load(self, page: int) -> bytes:
        """The whole of a page."""

    def store(self, page: int, data: bytes) -> None:
        """Keeps a page."""


@dataclass(frozen=True)
class Settings:
    """What a cache is built from."""

    budget_bytes: int
    """Memory for raw and compressed pages, tables and buffers."""
    page_bytes: int
    """Size of a page, a power of two."""
    codec: str = CODEC
    """How pages are compressed: `lz4`, `zstd:3` ..."""
    share: str = SHARE
    """How much of the budget compressed pages may take: a percentage, or `adaptive`."""
    policy: str = POLICY
    """Which raw page is evicted: `lru`, `lru-k:k=3` ..., as in `Pool`."""
    compressed_policy: str = COMPRESSED_POLICY
    """Which compressed page is evicted."""
    workers: int = 1
    """Threads that compress in the background; without any, who needs room does."""
    miss_us: float | None = None
    """Microseconds to load a page, for an adaptive share."""
    restore_us: float | None = None
    """Microseconds to restore a page and compress another, for an adaptive share."""


@dataclass(frozen=True)
class PoolStatistics:
    """What a cache did so far, and where its memory is."""

    transitions: Mapping[str, int]
    """Every transition of a page: `raw_hits`, `compressed_hits`, `misses`, `compressed`, `written_back` ..."""
    memory: Mapping[str, int]
    """Bytes (`budget_bytes`, `total_bytes`, `raw_bytes` ...) and pages (`raw_pages`, `compressed_pages`,
    `dirty_pages`)."""

    @property
    def reads(self) -> int:
        """Pages read."""
        return self.transitions["raw_hits"] + self.transitions["compressed_hits"] + self.transitions["misses"]

    @property
    def raw_hit_ratio(self) -> float:
        """Reads that found the page raw, over all; 0 without reads."""
        return self.transitions["raw_hits"] / max(self.reads, 1)

    @property
    def compressed_hit_ratio(self) -> float:
        """Reads that found the page compressed, over all; 0 without reads."""
        return self.transitions["compressed_hits"] / max(self.reads, 1)

    @property
    def hit_ratio(self) -> float:
        """Reads that found the page, over all; 0 without reads."""
        return self.raw_hit_ratio + self.compressed_hit_ratio


class Pool:
    """A page cache with a raw and a compressed pool under one budget, for any number of threads.

    What is written is dirty until it is written back: before its page leaves the raw pool, by `flush` or by `close`.
    The interpreter is free while pages are copied, compressed and read from a file.
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
        """A cache in front of `loader`.

        Args:
            budget: Memory for raw and compressed pages, tables and buffers, such as `"64MiB"`.
            page_size: A power of two from 512 bytes to 1 MiB.
            loader: An object with `load` and `store`, whose exceptions come back to who reads or writes, or the path of
                a file. A file is used past the page cache of the system where its file system allows.
            codec: How pages are compressed: `lz4`, `zstd:3` ...
            share: How much of the budget compressed pages may take: `"25%"`, or `"adaptive"`, which weighs the times
                `miss_us` and `restore_us`.
            policy: Which raw page is evicted: any policy of simulated caches but `belady`, with parameters as in
                `lru-k:k=3`. Hits of several threads do not wait for each other with `clock`, `fifo`, `lru`, `s3-fifo`
                and `sieve` as they are; with the others and with parameters each takes a lock.
            compressed_policy: Which compressed page is evicted, chosen likewise. A page that is hit leaves the
                compressed pool, so it matters little, but that some know pages that come back.
            workers: Threads that compress in the background. Without any, and with one thread that uses it, the cache
                is deterministic.
            miss_us: Microseconds to load a page.
            restore_us: Microseconds to restore a page and compress another.

        Raises:
            ConfigError: If this makes no cache.
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
        sane = 0 <= settings.budget_bytes < 1 << 62 and 0 <= settings.page_bytes < 1 << 32 and 0 <= workers <= 256
        if not sane:
            raise ConfigError("budget and page_size are positive and of some memory; workers are 256 at most")
        if isinstance(loader, str | os.PathLike):
            self._inner = _ssdlab.PagePool(settings, None, Path(loader))
        elif all(callable(getattr(loader, name, None)) for name in ("load", "store")):
            self._inner = _ssdlab.PagePool(settings, loader, None)
        else:
            raise ConfigError(
                f"loader: {shown(loader)} is no storage; give the path of a file, or an object with load and store"
            )
        self._loader = loader
        # Workers that call Python must have ended before the interpreter does.
        self._close = weakref.finalize(self, self._inner.close)

    def read(self, page: int) -> bytes:
        """The bytes of a page.

        Raises:
            Exception: What the loader raised; the next read tries again.
        """
        return self._inner.read(page)

    def write(self, page: int, data: bytes) -> None:
        """Writes a whole page.

        Raises:
            ValueError: If `data` has not the length of a page.
            Exception: What the loader raised when another page had to make room.
        """
        self._inner.write(page, data)

    def flush(self) -> None:
        """Writes dirty pages back. Pages stay cached.

        Raises:
            Exception: The first that the loader raised; all other pages were tried, and flushing again tries again.
        """
        self._inner.flush()

    def statistics(self) -> PoolStatistics:
        """What happened so far, and where the memory is."""
        return PoolStatistics(*self._inner.statistics())

    @property
    def direct(self) -> bool:
        """Whether a file below is used past the page cache of the system."""
        return self._inner.direct()

    def close(self) -> None:
        """Writes dirty pages back and ends the threads. The cache cannot be used afterwards.

        Raises:
            Exception: What the loader raised; the pages it refused are lost.
        """
        self._close()

    def __repr__(self) -> str:
        budget, page, codec, *_ = vars(self._settings).values()
        state = "" if self._close.alive else ", closed"
        shape = f"{text.size(budget)} in pages of {text.size(page)}"
        return f"<ssdlab.Pool of {shape}, {codec}, in front of {self._loader!r}{state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def size_of(size: str | int) -> int:
    """Bytes, as they are or written as `64MiB`."""
    return _ssdlab.size(size) if isinstance(size, str) else int(size)
