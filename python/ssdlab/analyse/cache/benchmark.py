"""The two-pool cache at work on this machine, with real pages and threads.

>>> from ssdlab import cache
>>> found = cache.bench(shares=["0", "50"], cost_us=110)  # doctest: +SKIP
>>> found.cells[0].pages_s.median  # doctest: +SKIP
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse import corpus
from ssdlab.analyse.cache.accesses import drawn, of_trace
from ssdlab.analyse.compress import Spread, bytes_of_page, machine
from ssdlab.analyse.corpus import Corpus
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.model.numbers import whole
from ssdlab.model.pool import COMPRESSED_POLICY, POLICY, Settings, size_of
from ssdlab.model.requests import Ending, Monitor
from ssdlab.model.several import several
from ssdlab.model.trace import Trace

SHARES = ("0", "25", "50", "adaptive")
CODECS = ("lz4", "zstd:1")
PAGE, BUDGET, ACCESS = "8KiB", "10%", "80/20"
PAGES = 8192
ACCESSES = 40_000
COST_US = 110.0
"""Of a page read: the SATA SSD of Harper 2018, table 4."""
RUNS = 3
_PROBE_PAGES = 1024
"""Compressed and restored to know what an adaptive share weighs."""
_LEAST_PAGES, _MOST_PAGES = 8, 1 << 28
_MOST_ACCESSES = 100_000_000


@dataclass(frozen=True)
class Storage:
    """What lies below the cache."""

    path: str | None
    """A file, or none for a fixed cost."""
    cost_us: float
    """Microseconds of a page read or written, if fixed."""
    busy: bool
    """Whether a thread spins for that long rather than sleeps."""
    drive: "_ssdlab.SimulatedDrive | None" = None
    """A simulated drive instead."""


@dataclass(frozen=True)
class Cell:
    """One compressor at one share of the compressed pool, over several runs."""

    share: str
    """Percentage of the budget that compressed pages may take, or `adaptive`."""
    codec: str | None
    """None without a compressed pool."""
    pages_s: Spread
    """Pages read and written each second by all threads."""
    access_us: Spread
    """Microseconds that a thread needs for a page."""
    access_p50_us: Spread
    """The same, median of the pages."""
    access_p99_us: Spread
    """The same, exceeded by one page in a hundred."""
    raw_hit_ratio: Spread
    """Reads that found the page raw, over all."""
    compressed_hit_ratio: Spread
    """Reads that found the page compressed, over all."""
    cpu_share: Spread
    """Processor time over elapsed time of all processors, storage that spins included."""
    cpu_us: Spread
    """Processor time for each page, in microseconds."""
    load_us: Spread
    """Microseconds to load a page, as measured; 0 if none was loaded."""
    late_us: Spread | None
    """Microseconds that a simulated drive was waited for beyond what it took, for each page loaded or stored; None for
    other storage."""
    transitions: dict[str, int]
    """What pages went through in the last run after its warm-up, as in `PoolStatistics.transitions`."""
    memory: dict[str, int]
    """Bytes at the end of the last run, as in `PoolStatistics.memory`."""


@dataclass(frozen=True)
class CacheBench(Finding):
    """What `bench` found; saved as `report.html`, `cache-bench.json` and `cache-bench.csv`."""

    _page = "cache_bench"
    _json = "cache-bench.json"
    saved = "report.html, cache-bench.json and cache-bench.csv"

    title: str
    """What was done, in one line."""
    contents: Corpus
    """What pages hold."""
    page_bytes: int
    pages: int
    """Different pages asked for, at most."""
    budget_bytes: int
    accesses: int
    """Pages read and written in each run after the warm-up."""
    threads: int
    runs: int
    settings: dict[str, Any]
    """What `bench` was asked for, beyond what stands here: policies, accesses, storage below."""
    cells: tuple[Cell, ...]
    """By share, then codec."""
    done: int
    """Runs that were measured, of all cells; cells have them in turn."""
    asked: int
    """Runs that were to be measured."""
    accessed: str | dict[str, Any]
    """How pages were asked for: a name, or what is known of the trace."""
    drive: Config | None
    """The simulated drive below, if there is one."""

    @property
    def partial(self) -> bool:
        """Whether it was stopped before all runs were measured."""
        return self.done < self.asked

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
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
            numbers = [number for one in values for number in (one.median, one.low, one.high)]
            rows.append((cell.share, cell.codec or "", *numbers, *(cell.memory[name] for name in memory)))
        return {"cache-bench.csv": rows}

    plot = Plot("cache_bench.shares")
    plot_hits = Plot("cache_bench.hits")


@takes()
def bench(
    dataset: Sequence[str | os.PathLike[str]] | Corpus | None = None,
    *,
    page_size: str = PAGE,
    budget: str = BUDGET,
    shares: Sequence[str] = SHARES,
    codecs: Sequence[str] = CODECS,
    access: str = ACCESS,
    trace: Trace | None = None,
    pages: int = PAGES,
    accesses: int = ACCESSES,
    writes: float = 0.0,
    scan: float = 0.0,
    policy: str = POLICY,
    compressed_policy: str = COMPRESSED_POLICY,
    workers: int = 1,
    threads: int | None = None,
    cost_us: float = COST_US,
    busy: bool = False,
    directory: str | os.PathLike[str] | None = None,
    drive: Config | None = None,
    runs: int = RUNS,
    monitor: Monitor | None = None,
) -> CacheBench:
    """Sends pages through the two-pool cache, for every share of the compressed pool and every codec.

    Each run has a new cache, the first half of the accesses warms it up, and the rest is measured. The accesses are the
    same in every run; with more than one thread, or with workers, their order is not, and counts differ a little.

    Args:
        dataset: Files and directories that pages are cut from, or None for the default corpus. They repeat as often as
            there are pages.
        page_size: Size of a page.
        budget: Memory of the cache: a size, or a percentage of all pages.
        shares: Percentages of the budget that compressed pages may take, and `adaptive`.
        codecs: How pages are compressed.
        access: `even`; `80/20`, of which 80 % go to 20 % of the pages and the rest to the others; `pareto`, which does
            so again within each part; or `zipf`, whose exponent may follow, as in `zipf:0.8`.
        trace: Reads and writes in place of `access`, `pages`, `writes` and `scan`; its pages are numbered anew, and so
            hold contents in turn.
        pages: Different pages.
        accesses: Pages read and written in each run, half of them to warm up.
        writes: Share of the accesses that write a page.
        scan: Share of the accesses that read all pages from front to back.
        policy: Which raw page gives way, as in `ssdlab.Pool`.
        compressed_policy: Which compressed page is evicted.
        workers: Threads of the cache that compress.
        threads: Threads that use it; as many as processors if left out.
        cost_us: Microseconds of a page read or written below the cache.
        busy: Threads spin for that long, which takes processors from others. Otherwise they sleep, a little longer than
            told; `load_us` says how long.
        directory: A file with all pages is made there instead, read and written past the page cache of the system where
            the file system allows, and removed in the end.
        drive: A drive of this configuration is simulated there instead. It holds the pages from the start, goes on from
            one run to the next, and a thread waits for each page until the drive would have it: `load_us` says how long
            that was, and `late_us` what of it was the simulation's.
        runs: Runs of each cell; cells are measured in turn, so that what else the machine does meanwhile falls on all.
        monitor: Told how far it is, as that of `simulate`. If it returns something true, what was measured by then
            is returned, or KeyboardInterrupt is raised if there are none.

    Raises:
        ConfigError: If these make no measurement.
        OSError: If the file cannot be made.
    """
    if directory is not None and drive is not None:
        raise ConfigError("storage below is a file or a simulated drive; leave out one of them")
    page_bytes, threads = bytes_of_page(page_size), whole("threads", threads or _ssdlab.processors())
    pages, accesses = whole("pages", pages), whole("accesses", accesses)
    workers, runs = whole("workers", workers), whole("runs", runs)
    shares, codecs = several(shares), several(codecs)
    if (
        not 1 <= threads <= 1024
        or not 1 <= runs <= 1000
        or not 0 <= workers <= 256
        or not 2 <= accesses <= _MOST_ACCESSES
        or not (0 <= writes <= 1 and 0 <= scan <= 1)
        or not (codecs and shares)
    ):
        raise ConfigError(
            f"threads are 1 to 1024, runs 1 to 1000, workers 0 to 256, accesses 2 to {text.count(_MOST_ACCESSES)}; "
            "there is one share and one codec at least; writes and scan are at most 100%"
        )
    if not _LEAST_PAGES <= pages <= _MOST_PAGES:
        raise ConfigError(f"{text.count(pages)} pages are not between {_LEAST_PAGES} and {text.count(_MOST_PAGES)}")
    if not 0 <= cost_us <= 1e7:
        raise ConfigError(f"a cost of {cost_us:g} us is not between 0 and 10 seconds")
    if trace is None:
        sequence = drawn(access, pages, accesses, writes, scan)
        what = f"{access} over {text.count(pages)} pages"
    else:
        sequence = of_trace(trace, page_bytes, accesses)
        what = "trace"
    warm_up = len(sequence) // 2
    measured = len(sequence) - warm_up
    pages = int(sequence.max() >> 1) + 1
    budget_bytes = _budget_bytes(budget, pages * page_bytes)
    source = dataset if isinstance(dataset, Corpus) else corpus.read(dataset) if dataset else corpus.default()
    contents = b"".join(_whole_pages(member.data, page_bytes) for member in source.members)
    plan = [(share, codec) for share in shares for codec in (codecs if share.rstrip("% ") != "0" else [None])]
    runs_done, ending = 0, Ending(monitor)

    def stop(accesses_done: int) -> bool:
        done, total = runs_done * len(sequence) + accesses_done, len(plan) * runs * len(sequence)
        return ending(f"accesses, run {runs_done + 1} of {len(plan) * runs}", done, total, 0)

    with _below(directory, drive, contents, pages, page_bytes, cost_us, busy, monitor) as storage:

        def run(share: str, codec: str | None, miss_us: float = 0.0, restore_us: float = 0.0) -> dict[str, Any]:
            settings = Settings(
                budget_bytes=budget_bytes,
                page_bytes=page_bytes,
                codec=codec or codecs[0],
                share=share,
                policy=policy,
                compressed_policy=compressed_policy,
                workers=workers,
                miss_us=miss_us,
                restore_us=restore_us,
            )
            found = _ssdlab.bench_cache(settings, storage, contents, sequence, warm_up, threads, stop)
            found["direct"] &= storage.path is not None
            return found

        times: dict[str, tuple[float, float]] = {}
        if any(share == "adaptive" for share in shares):
            probe = run("0", None)
            miss_us = probe["load_ns"] / max(probe["loads"], 1) / 1e3
            sample = [contents[: _PROBE_PAGES * page_bytes]]
            times = {codec: (miss_us, _restore_us(sample, codec, page_bytes, lambda _: stop(0))) for codec in codecs}
        found: list[list[dict[str, Any]]] = [[] for _ in plan]
        try:
            # In rounds: what else the machine does for a while falls on all cells alike, and widens their ranges.
            for (share, codec), each in [*zip(plan, found, strict=True)] * runs:
                # Short runs never ask.
                if stop(0):
                    raise KeyboardInterrupt("stopped while measuring")
                adaptive = times[codec] if share == "adaptive" and codec is not None else (0.0, 0.0)
                each.append(run(share, codec, *adaptive))
                runs_done += 1
        except KeyboardInterrupt:
            if not (ending.stopped and runs_done):
                raise
        below = _below_text(storage, direct=all(one["direct"] for each in found for one in each))
    cells = [
        _cell(share, codec, each, measured, simulated=drive is not None)
        for (share, codec), each in zip(plan, found, strict=True)
        if each
    ]
    return CacheBench(
        title=f"{what}, {text.size(page_bytes)} each, {text.size(budget_bytes)} of memory, {below}",
        contents=source,
        page_bytes=page_bytes,
        pages=pages,
        budget_bytes=budget_bytes,
        accesses=measured,
        threads=threads,
        runs=runs,
        settings={
            "access": access if trace is None else None,
            "writes": writes if trace is None else None,
            "scan": scan if trace is None else None,
            "policy": policy,
            "compressed_policy": compressed_policy,
            "workers": workers,
            "cost_us": cost_us if drive is None and directory is None else None,
            "busy": busy,
            "directory": None if directory is None else os.fspath(directory),
        },
        cells=tuple(cells),
        done=runs_done,
        asked=len(plan) * runs,
        accessed=access if trace is None else trace.about,
        drive=drive,
    )


def read_budget(budget: str) -> tuple[bool, float]:
    """Whether it is a share of all pages, and the share or the bytes.

    Raises:
        ConfigError: If it is neither.
    """
    is_share = budget.strip().endswith("%")
    return is_share, _ssdlab.share(budget) if is_share else size_of(budget)


def _budget_bytes(budget: str, pages_bytes: int) -> int:
    is_share, number = read_budget(budget)
    found = int(number * pages_bytes) if is_share else int(number)
    if found >= 1 << 62:
        raise ConfigError(f"a budget of {text.path(budget)} is larger than any memory; lower it")
    return found


def _below_text(storage: Storage, *, direct: bool) -> str:
    """What lies below, in a title; `direct` tells whether a file was used past the page cache of the system."""
    if storage.drive is not None:
        return "a simulated drive below"
    if storage.path is None:
        return f"{'busy' if storage.busy else 'sleeping'} {storage.cost_us:g} µs below"
    return "a file below, " + ("direct I/O" if direct else "through the page cache of the system")


def _whole_pages(data: bytes, page_bytes: int) -> bytes:
    return data + bytes(-len(data) % page_bytes)


def _restore_us(sample: list[bytes], codec: str, page_bytes: int, stop: Callable[[int], bool]) -> float:
    found = _ssdlab.bench_codecs(sample, [codec], page_bytes, 1, 1.0, False, 3, stop)[0]
    ns = min(sum(run) for run in found["compress_cpu_ns"]) + min(sum(run) for run in found["decompress_cpu_ns"])
    return float(ns / found["pages"][0] / 1e3)


@contextmanager
def _below(
    directory: str | os.PathLike[str] | None,
    drive: Config | None,
    contents: bytes,
    pages: int,
    page_bytes: int,
    cost_us: float,
    busy: bool,
    monitor: Monitor | None,
) -> Iterator[Storage]:
    """Storage below the cache while it is needed."""
    if drive is not None:
        simulated = _ssdlab.SimulatedDrive(drive._inner, pages * page_bytes, busy, monitor)
        yield Storage(None, 0.0, busy, simulated)
        return
    if directory is None:
        yield Storage(None, cost_us, busy)
        return
    with tempfile.NamedTemporaryFile(prefix=".ssdlab-pages-", dir=directory) as file:
        left = pages * page_bytes
        while left:
            left -= file.write(contents[:left])
        file.flush()
        os.fsync(file.fileno())
        yield Storage(file.name, 0.0, False)


def _cell(share: str, codec: str | None, runs: Sequence[dict[str, Any]], accesses: int, *, simulated: bool) -> Cell:
    processors = _ssdlab.processors()

    def each(value: Callable[[dict[str, Any]], float]) -> Spread:
        return Spread.of([value(run) for run in runs])

    def hits(run: dict[str, Any], name: str) -> float:
        counts = run["transitions"]
        return float(counts[name] / max(counts["raw_hits"] + counts["compressed_hits"] + counts["misses"], 1))

    return Cell(
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
        late_us=each(lambda run: run["late_ns"] / max(run["loads"] + run["stores"], 1) / 1e3) if simulated else None,
        transitions=runs[-1]["transitions"],
        memory=runs[-1]["memory"],
    )
