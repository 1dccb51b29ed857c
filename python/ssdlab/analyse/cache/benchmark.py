"""Measures the two-pool cache on this machine, with real pages and threads.

>>> from ssdlab import cache
>>> found = cache.bench(pools=cache.Pools(shares=["0", "50"]), storage=cache.Storage(cost_us=110))  # doctest: +SKIP
>>> found.cells[0].pages_s.median  # doctest: +SKIP
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse import corpus
from ssdlab.analyse.cache.accesses import Load
from ssdlab.analyse.compress import Spread, bytes_of_page, machine
from ssdlab.analyse.corpus import Corpus
from ssdlab.lazy import Counts
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.model.numbers import within
from ssdlab.model.pool import COMPRESSED_POLICY, POLICY, Settings, size_of
from ssdlab.model.requests import Ending, Monitor
from ssdlab.model.several import several

SHARES = ("0", "25", "50", "adaptive")
CODECS = ("lz4", "zstd:1")
RUNS = 3
_ADAPTIVE = "adaptive"
_PROBE_PAGES = 1024
"""Number of pages to compress and restore when the times that adaptive shares need are measured."""


@takes()
@dataclass(frozen=True, kw_only=True)
class Pools:
    """The caches to measure: one for each share and codec.

    Args:
        page_size: Size of a page.
        budget: Memory of the cache: a size, or a percentage of all pages.
        shares: Maximum percentages of the budget for compressed pages; `adaptive` adjusts the share during the run.
        codecs: Codecs for compressed pages.
        policy: Replacement policy of uncompressed pages, as in `ssdlab.Pool`.
        compressed_policy: Replacement policy of compressed pages.
        workers: Number of compressing threads of the cache.
    """

    page_size: str = "8KiB"
    budget: str = "10%"
    shares: Sequence[str] = SHARES
    codecs: Sequence[str] = CODECS
    policy: str = POLICY
    compressed_policy: str = COMPRESSED_POLICY
    workers: int = 1

    def __post_init__(self) -> None:
        within("workers", self.workers, 0, 256)
        if not (several(self.codecs) and several(self.shares)):
            raise ConfigError("name at least one share in percent and one codec, such as 25 and lz4")

    @property
    def page_bytes(self) -> int:
        """Size of a page in bytes."""
        return bytes_of_page(self.page_size)

    @property
    def variants(self) -> list[tuple[str, str | None]]:
        """Share and codec of each cache; the codec is None if the cache has no compressed pool."""
        codecs = several(self.codecs)
        return [
            (share, codec)
            for share in several(self.shares)
            for codec in (codecs if share.rstrip("% ") != "0" else [None])
        ]

    def budget_bytes(self, pages_bytes: int) -> int:
        """Returns the cache's memory in bytes, given the total bytes of all pages."""
        is_share, number = read_budget(self.budget)
        budget = int(number * pages_bytes) if is_share else int(number)
        if budget >= 1 << 62:
            raise ConfigError(f"the memory budget {text.path(self.budget)} must be below 4 EiB; use 1GiB, for example")
        return budget


@takes()
@dataclass(frozen=True, kw_only=True)
class Storage:
    """Storage below the cache: a fixed cost per page, a file or a simulated drive.

    Args:
        cost_us: Microseconds to read or write a page; the default is the SATA SSD in Harper 2018, table 4.
        busy: True if threads spin for `cost_us`, which keeps processors busy; False if they sleep, which takes slightly
            longer.
        directory: Directory for a temporary file with all pages. If the file system supports direct I/O, reads and
            writes bypass the page cache.
        drive: Configuration of a drive to simulate. The drive stores all pages before the first run, and keeps its
            state from run to run. A thread waits for each page as long as the drive would take.
    """

    cost_us: float = 110.0
    busy: bool = False
    directory: str | os.PathLike[str] | None = None
    drive: Config | None = None

    def __post_init__(self) -> None:
        if self.directory is not None and self.drive is not None:
            raise ConfigError("storage must be either a file or a simulated drive; omit one of them")
        if not 0 <= self.cost_us <= 1e7:
            raise ConfigError(f"the storage cost must be a time from 0 to 10 seconds, not {self.cost_us:g} us")

    @contextmanager
    def opened(self, contents: bytes, pages: int, page_bytes: int, monitor: Monitor | None) -> Iterator["_Below"]:
        """Yields the storage, filled with copies of `contents`."""
        if self.drive is not None:
            drive = _ssdlab.SimulatedDrive(self.drive._inner, pages * page_bytes, self.busy, monitor)
            yield _Below(None, 0.0, self.busy, drive)
        elif self.directory is None:
            yield _Below(None, self.cost_us, self.busy)
        else:
            with tempfile.NamedTemporaryFile(prefix=".ssdlab-pages-", dir=self.directory) as file:
                left = pages * page_bytes
                while left:
                    left -= file.write(contents[:left])
                file.flush()
                os.fsync(file.fileno())
                yield _Below(file.name, 0.0, False)

    def title(self, *, direct: bool) -> str:
        """Describes the storage in a few words; `direct` is True if a file bypassed the page cache."""
        if self.drive is not None:
            return "on a simulated drive"
        if self.directory is not None:
            return "on a file, " + ("direct I/O" if direct else "buffered I/O through the page cache")
        return f"storage delay of {self.cost_us:g} µs per page ({'busy-waiting' if self.busy else 'sleeping'})"


class _Below(NamedTuple):
    """Storage below the measured cache, as arguments for the Rust extension."""

    path: str | None
    cost_us: float
    busy: bool
    drive: "_ssdlab.SimulatedDrive | None" = None


@dataclass(frozen=True)
class Cell:
    """Measurements of one codec at one share of the compressed pool, over several runs."""

    share: str
    """Percentage of the budget that compressed pages may use, or `adaptive`."""
    codec: str | None
    """Codec of compressed pages; None without a compressed pool."""
    pages_s: Spread
    """Pages read and written per second, by all threads together."""
    access_us: Spread
    """Mean time of an access in microseconds, as measured by the accessing thread."""
    access_p50_us: Spread
    """Median time of an access, in microseconds."""
    access_p99_us: Spread
    """99th percentile of the time of an access, in microseconds."""
    raw_hit_ratio: Spread
    """Share of the reads that hit the uncompressed pool."""
    compressed_hit_ratio: Spread
    """Share of the reads that hit the compressed pool."""
    cpu_share: Spread
    """Processor time used, as a share of the total time of all processors. It includes busy-waiting for the storage."""
    cpu_us: Spread
    """Processor time per page, in microseconds."""
    load_us: Spread
    """Measured time to load a page, in microseconds; 0 if no page was loaded."""
    late_us: Spread | None
    """Extra wait beyond the simulated drive's time, in µs per loaded or stored page; None for other storage."""
    transitions: dict[str, int]
    """Counts of page transitions in the measured part of the last run, as in `PoolStatistics.transitions`."""
    memory: dict[str, int]
    """Memory use in bytes at the end of the last run, as in `PoolStatistics.memory`."""

    @classmethod
    def of(
        cls, share: str, codec: str | None, runs: Sequence[dict[str, Any]], accesses: int, *, simulated: bool
    ) -> "Cell":
        """Summarises all runs of one cache."""
        processors = _ssdlab.processors()

        def each(value: Callable[[dict[str, Any]], float]) -> Spread:
            return Spread.of([value(run) for run in runs])

        def hits(run: dict[str, Any], name: str) -> float:
            counts = run["transitions"]
            return float(counts[name] / max(counts["raw_hits"] + counts["compressed_hits"] + counts["misses"], 1))

        def late_us(run: dict[str, Any]) -> float:
            return float(run["late_ns"] / max(run["loads"] + run["stores"], 1) / 1e3)

        return cls(
            share=share,
            codec=codec,
            pages_s=each(lambda run: accesses / (run["elapsed_ns"] / 1e9)),
            access_us=each(lambda run: run["access_ns"] / accesses / 1e3),
            access_p50_us=each(lambda run: run["access_p50_ns"] / 1e3),
            access_p99_us=each(lambda run: run["access_p99_ns"] / 1e3),
            raw_hit_ratio=each(lambda run: hits(run, "raw_hits")),
            compressed_hit_ratio=each(lambda run: hits(run, "compressed_hits")),
            cpu_share=each(lambda run: run["cpu_ns"] / (run["elapsed_ns"] * processors)),
            cpu_us=each(lambda run: run["cpu_ns"] / accesses / 1e3),
            load_us=each(lambda run: run["load_ns"] / max(run["loads"], 1) / 1e3),
            late_us=each(late_us) if simulated else None,
            transitions=runs[-1]["transitions"],
            memory=runs[-1]["memory"],
        )


@dataclass(frozen=True)
class CacheBench(Finding):
    """Result of `bench`; saved as `report.html`, `cache-bench.json` and `cache-bench.csv`."""

    _page = "cache_bench"
    _json = "cache-bench.json"
    saved = "report.html, cache-bench.json and cache-bench.csv"

    title: str
    """Describes the measured caches in one line."""
    contents: Corpus
    """Corpus whose contents fill the cached pages."""
    page_bytes: int
    pages: int
    """Number of different pages that the accesses can touch."""
    budget_bytes: int
    accesses: int
    """Number of accesses per run after the warm-up."""
    threads: int
    runs: int
    settings: dict[str, Any]
    """Arguments of `bench` that have no field of their own: policies, accesses and storage."""
    cells: tuple[Cell, ...]
    """Results, ordered by share of the compressed pool, then by codec."""
    done: int
    """Number of completed runs, summed over all cells. Runs of different cells alternate."""
    asked: int
    """Number of requested runs, summed over all cells."""
    accessed: str | dict[str, Any]
    """Name of the access distribution, or description of the trace."""
    drive: Config | None
    """The simulated drive below the cache, if any."""

    @property
    def partial(self) -> bool:
        """True if the measurement was stopped before all runs were done."""
        return self.done < self.asked

    def to_dict(self) -> dict[str, Any]:
        """Returns all results of the benchmark as plain values."""
        names = ("title", "page_bytes", "pages", "budget_bytes", "accesses", "threads", "runs")
        return {
            "machine": machine(),
            **{name: getattr(self, name) for name in names},
            "settings": self.settings,
            "contents": {"title": self.contents.title, "bytes": self.contents.bytes, "skipped": self.contents.skipped},
            "cells": [asdict(cell) for cell in self.cells],
        }

    def _source(self) -> dict[str, Any]:
        contents = self.contents
        return {"kind": "corpus", "title": contents.title, "bytes": contents.bytes, "accesses": self.accessed}

    def _configuration(self) -> dict[str, Any] | None:
        return None if self.drive is None else self.drive.to_dict()

    def _tables(self) -> Contents:
        spreads = [name for name, kind in Cell.__annotations__.items() if kind is Spread]
        memory = list(self.cells[0].memory)
        rows: list[Sequence[object]] = [
            ("share", "codec", *(f"{name}{part}" for name in spreads for part in ("", "_low", "_high")), *memory)
        ]
        for cell in self.cells:
            values: list[Spread] = [getattr(cell, name) for name in spreads]
            numbers = [number for spread in values for number in (spread.median, spread.low, spread.high)]
            rows.append((cell.share, cell.codec or "", *numbers, *(cell.memory[name] for name in memory)))
        return {"cache-bench.csv": rows}

    plot = Plot("cache_bench.shares")
    plot_hits = Plot("cache_bench.hits")


@takes()
def bench(
    dataset: Sequence[str | os.PathLike[str]] | Corpus | None = None,
    *,
    pools: Pools | None = None,
    load: Load | None = None,
    storage: Storage | None = None,
    threads: int | None = None,
    runs: int = RUNS,
    monitor: Monitor | None = None,
) -> CacheBench:
    """Measures the two-pool cache with every combination of codec and share of the compressed pool.

    Each run has a new cache; the first half of the accesses warms it up, and the rest is measured. All runs have the
    same accesses. With several threads or with workers, the order of the accesses varies, and counts differ slightly.

    Args:
        dataset: Files and directories whose contents fill the pages, or None for the default corpus. The contents
            repeat if there are more pages.
        pools: The caches to measure.
        load: The accesses.
        storage: Storage below the cache.
        threads: Threads that access the cache; one per processor by default.
        runs: Number of runs of each cache. Runs of different caches alternate, so that interference affects all caches.
        monitor: Progress callback as in `simulate`. If it returns a true value, finished runs are returned; if no run
            is finished, KeyboardInterrupt is raised.

    Raises:
        ConfigError: If an argument is out of range.
        OSError: If the file for the pages cannot be created.
    """
    pools, load, storage = pools or Pools(), load or Load(), storage or Storage()
    threads = within("threads", _ssdlab.processors() if threads is None else threads, 1, 1024)
    runs, page_bytes = within("runs", runs, 1, 1000), pools.page_bytes
    sequence = load.sequence(page_bytes)
    pages = int(sequence.max() >> 1) + 1
    source = dataset if isinstance(dataset, Corpus) else corpus.read(dataset) if dataset else corpus.default()
    contents = b"".join(member.data + bytes(-len(member.data) % page_bytes) for member in source.members)
    budget_bytes = pools.budget_bytes(pages * page_bytes)
    with storage.opened(contents, pages, page_bytes, monitor) as below:
        runner = _Runner(pools, contents, sequence, budget_bytes, below, threads, runs, monitor)
        measured = runner.measure()
    direct = all(run["direct"] for each in measured for run in each)
    accesses = len(sequence) - runner.warm_up
    is_drawn, has_cost = load.trace is None, storage.drive is None and storage.directory is None
    return CacheBench(
        title=f"{load.title}, {text.size(page_bytes)} each, {text.size(budget_bytes)} of memory, "
        f"{storage.title(direct=direct)}",
        contents=source,
        page_bytes=page_bytes,
        pages=pages,
        budget_bytes=budget_bytes,
        accesses=accesses,
        threads=threads,
        runs=runs,
        settings={
            "access": load.access if is_drawn else None,
            "writes": load.writes if is_drawn else None,
            "scan": load.scan if is_drawn else None,
            "policy": pools.policy,
            "compressed_policy": pools.compressed_policy,
            "workers": pools.workers,
            "cost_us": storage.cost_us if has_cost else None,
            "busy": storage.busy,
            "directory": None if storage.directory is None else os.fspath(storage.directory),
        },
        cells=tuple(
            Cell.of(share, codec, each, accesses, simulated=storage.drive is not None)
            for (share, codec), each in zip(pools.variants, measured, strict=True)
            if each
        ),
        done=runner.done,
        asked=runner.asked,
        accessed=load.access if load.trace is None else load.trace.about,
        drive=storage.drive,
    )


class _Runner:
    """Measures each cache in several runs, and counts the completed runs."""

    def __init__(
        self, pools: Pools, contents: bytes, sequence: "Counts", budget_bytes: int, below: _Below, threads: int,
        runs: int, monitor: Monitor | None,
    ) -> None:  # fmt: skip
        self._pools, self._contents, self._sequence, self._budget_bytes = pools, contents, sequence, budget_bytes
        self._below, self._threads, self._runs, self._ending = below, threads, runs, Ending(monitor)
        self.warm_up = len(sequence) // 2
        self.done, self.asked = 0, len(pools.variants) * runs

    def measure(self) -> list[list[dict[str, Any]]]:
        """Returns the results of the runs of each cache; some are missing if the monitor stopped the measurement."""
        variants = self._pools.variants
        measured: list[list[dict[str, Any]]] = [[] for _ in variants]
        costs = self._costs() if any(share == _ADAPTIVE for share, _ in variants) else {}
        try:
            # Each round runs every cache once. A temporary load of the machine then affects all caches equally.
            for (share, codec), each in [*zip(variants, measured, strict=True)] * self._runs:
                # Short runs never call the monitor, so they could not be stopped.
                if self._stop(0):
                    raise KeyboardInterrupt("stopped while measuring")
                each.append(self._run(share, codec, *costs.get(codec if share == _ADAPTIVE else None, ())))
                self.done += 1
        except KeyboardInterrupt:
            if not (self._ending.stopped and self.done):
                raise
        return measured

    def _run(self, share: str, codec: str | None, miss_us: float = 0.0, restore_us: float = 0.0) -> dict[str, Any]:
        pools = self._pools
        settings = Settings(
            budget_bytes=self._budget_bytes,
            page_bytes=pools.page_bytes,
            codec=codec or several(pools.codecs)[0],
            share=share,
            policy=pools.policy,
            compressed_policy=pools.compressed_policy,
            workers=pools.workers,
            miss_us=miss_us,
            restore_us=restore_us,
        )
        run = _ssdlab.bench_cache(
            settings, self._below, self._contents, self._sequence, self.warm_up, self._threads, self._stop
        )
        run["direct"] &= self._below.path is not None
        return run

    def _stop(self, accesses_done: int) -> bool:
        accesses = len(self._sequence)
        phase = f"accesses, run {self.done + 1} of {self.asked}"
        return self._ending(phase, self.done * accesses + accesses_done, self.asked * accesses, 0)

    def _costs(self) -> dict[str | None, tuple[float, float]]:
        """Returns the microseconds of a miss, and to restore a page and compress another, by codec."""
        probe = self._run("0", None)
        miss_us = probe["load_ns"] / max(probe["loads"], 1) / 1e3
        return {codec: (miss_us, self._restore_us(codec)) for codec in several(self._pools.codecs)}

    def _restore_us(self, codec: str) -> float:
        page_bytes = self._pools.page_bytes
        sample = [self._contents[: _PROBE_PAGES * page_bytes]]
        times = _ssdlab.bench_codecs(sample, [codec], page_bytes, 1, 1.0, False, 3, lambda _: self._stop(0))[0]
        ns = min(sum(run) for run in times["compress_cpu_ns"]) + min(sum(run) for run in times["decompress_cpu_ns"])
        return float(ns / times["pages"][0] / 1e3)


def read_budget(budget: str) -> tuple[bool, float]:
    """Parses a memory budget. Returns True and a share of all pages, or False and a number of bytes."""
    is_share = budget.strip().endswith("%")
    return is_share, _ssdlab.share(budget) if is_share else size_of(budget)
