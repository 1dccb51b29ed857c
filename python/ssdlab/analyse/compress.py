"""Measures compression ratios and times of codecs on this machine.

>>> from ssdlab import compress
>>> found = compress.bench(["/usr/share/dict"], codecs=["lz4", "zstd:1"])  # doctest: +SKIP
>>> found.cell("lz4", 8192).ratio  # doctest: +SKIP
"""

import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from typing import Any

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse import corpus
from ssdlab.analyse.corpus import Corpus
from ssdlab.analyse.finished import finished_part
from ssdlab.model.arguments import takes
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.model.numbers import whole
from ssdlab.model.requests import Ending, Monitor
from ssdlab.model.several import several

CODECS = ("lz4", "zstd:1", "zstd:3", "zlib:6")
"""Default codecs: the codecs of Harper 2018, and a faster level of zstd."""
PAGE_SIZES = ("4KiB", "8KiB", "16KiB", "32KiB", "64KiB", "file")
"""Default page sizes; with `file`, each file is compressed as one page."""
RUNS = 5
"""Default number of timed runs."""


@dataclass(frozen=True)
class Spread:
    """Median and range of a quantity that was measured in several runs."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Returns the median and the range of the given values."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Stored:
    """Number and sizes of the pages of one file, or of all files, before and after compression."""

    pages: int
    """Number of pages; the last page of a file may be shorter than the others."""
    bytes: int
    stored_bytes: int
    """Bytes of all pages after compression."""
    raw_pages: int
    """Number of pages kept uncompressed because they did not shrink enough."""
    raw_bytes: int

    @property
    def ratio(self) -> float:
        """Uncompressed bytes divided by stored bytes."""
        return self.bytes / self.stored_bytes


@dataclass(frozen=True)
class Cell:
    """Results of one codec with one page size and one number of threads.

    Times are per page of full size or, if files are compressed as a whole, per average file. Fields with `cpu` in their
    names are processor times of a thread; fields with `elapsed` are wall times of a thread.
    """

    codec: str
    page_bytes: int | None
    """Size of a page in bytes; None for whole files."""
    threads: int
    files: tuple[Stored, ...]
    """Compressed sizes by file, in the order of the corpus."""
    compress_cpu_us: Spread
    """Processor time to compress a page."""
    compress_elapsed_us: Spread
    """Wall time of a thread to compress a page."""
    decompress_cpu_us: Spread
    """Processor time to restore a page."""
    decompress_elapsed_us: Spread
    """Wall time of a thread to restore a page."""
    compress_bytes_s: Spread
    """Bytes per second compressed by all threads together."""
    decompress_bytes_s: Spread
    """Bytes per second restored by all threads together."""
    file_compress_us: tuple[float, ...]
    """Median processor time to compress a page, by file."""
    file_decompress_us: tuple[float, ...]
    """Median processor time to restore a page, by file."""

    @property
    def total(self) -> Stored:
        """Compressed sizes of all files together."""
        return Stored(*(sum(getattr(file, field.name) for file in self.files) for field in fields(Stored)))

    @property
    def ratio(self) -> float:
        """Compression ratio over all files."""
        return self.total.ratio

    @property
    def waited(self) -> float:
        """Share of time that a thread waited for a processor, while compressing or restoring, whichever is larger."""
        compress = self.compress_cpu_us, self.compress_elapsed_us
        restore = self.decompress_cpu_us, self.decompress_elapsed_us
        return max(1 - cpu.median / elapsed.median for cpu, elapsed in (compress, restore) if elapsed.median)

    @property
    def mean_ratio(self) -> float:
        """Unweighted mean of the compression ratios of the files, as in Harper 2018."""
        return statistics.fmean(file.ratio for file in self.files)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompressBench(Finding):
    """Result of `bench`.

    Saves `report.html`, `compress.json` and `compress.csv`. For each codec, page size and number of threads, the CSV
    has a line per file and one for all files (named `all`).
    """

    _page = "compress"
    _json = "compress.json"
    saved = "report.html, compress.json and compress.csv"

    corpus: Corpus
    """Corpus of files that were compressed."""
    cells: tuple[Cell, ...]
    """Results, sorted by number of threads, then page size, then codec."""
    codecs: tuple[str, ...]
    page_sizes: tuple[int | None, ...]
    """Page sizes that were measured; None for whole files."""
    threads: tuple[int, ...]
    runs: int
    """Number of timed runs per cell."""
    partial: bool = False
    machine: str = field(default_factory=lambda: machine())

    def cell(self, codec: str, page_bytes: int | None, threads: int | None = None) -> Cell:
        """Returns a codec's cell for a page size (None for whole files) and a number of threads, by default the first.

        Raises:
            KeyError: If this combination was not measured.
        """
        threads = self.threads[0] if threads is None else threads
        for cell in self.cells:
            if (cell.codec, cell.page_bytes, cell.threads) == (codec, page_bytes, threads):
                return cell
        raise KeyError((codec, page_bytes, threads))

    def to_dict(self) -> dict[str, Any]:
        """Returns all results of the benchmark as plain values."""
        return {
            "corpus": {
                "title": self.corpus.title,
                "bytes": self.corpus.bytes,
                "files": [{"name": member.name, "bytes": len(member.data)} for member in self.corpus.members],
                "skipped": self.corpus.skipped,
                "shortened": list(self.corpus.shortened),
            },
            "machine": self.machine,
            "runs": self.runs,
            "cells": [
                {**asdict(cell), "total": asdict(cell.total), "ratio": cell.ratio, "mean_ratio": cell.mean_ratio}
                for cell in self.cells
            ],
        }

    def _source(self) -> Mapping[str, Any]:
        return {"kind": "corpus", "title": self.corpus.title, "bytes": self.corpus.bytes}

    def _tables(self) -> Contents:
        counted = ("pages", "bytes", "stored_bytes", "raw_pages", "ratio")
        rows: list[Sequence[object]] = [
            ("codec", "page_bytes", "threads", "file", *counted, "compress_cpu_us", "decompress_cpu_us")
        ]
        names = ["all", *(member.name for member in self.corpus.members)]
        for cell in self.cells:
            size = "file" if cell.page_bytes is None else cell.page_bytes
            taken = (cell.compress_cpu_us.median, *cell.file_compress_us)
            restoring = (cell.decompress_cpu_us.median, *cell.file_decompress_us)
            for name, stored, *times in zip(names, (cell.total, *cell.files), taken, restoring, strict=True):
                rows.append(
                    (cell.codec, size, cell.threads, name, *(getattr(stored, column) for column in counted), *times)
                )
        return {"compress.csv": rows}

    plot = Plot("compress.draw")
    _repr_html_ = Finding.report_html


def machine() -> str:
    """Describes this machine in one line."""
    return f"{platform.machine()}, {_ssdlab.processors()} processors, Python {platform.python_version()}"


@takes()
def bench(
    paths: Sequence[str | os.PathLike[str]] | Corpus | None = None,
    *,
    codecs: Sequence[str] = CODECS,
    page_sizes: Sequence[str] = PAGE_SIZES,
    threads: Sequence[int] | None = None,
    runs: int = RUNS,
    keep: float = 1.0,
    fresh: bool = False,
    monitor: Monitor | None = None,
) -> CompressBench:
    """Measures codecs on pages of files.

    Each thread reuses its codec contexts and buffers, unless `fresh` is true. A warm-up run first compares every
    restored page with its original. Codecs alternate within each run, so that interference affects all codecs. Pages
    that do not shrink enough are kept uncompressed.

    Args:
        paths: Files and directories, a corpus already read, or None for the default corpus.
        codecs: Names of codecs, each with an optional level after a colon: `lz4`, `zstd:3`, `libdeflate:1`.
        page_sizes: Page sizes; `file` compresses each file as a whole.
        threads: Numbers of threads; by default 1 and the number of processors.
        runs: Number of timed runs.
        keep: Maximum compressed size of a page, as a share of its size, at most 1. Pages that compress to more are kept
            uncompressed.
        fresh: True to use new contexts, and new memory for compressed pages, for each page, as in Harper 2018.
        monitor: Progress callback as in `simulate`. If it returns a true value, the finished page sizes and thread
            counts are returned; if nothing is finished, KeyboardInterrupt is raised.

    Raises:
        ConfigError: If a codec or size is invalid, or all files are empty or unreadable.
    """
    labels = [codec.strip().lower() for codec in several(codecs)]
    sizes = [None if size == "file" else bytes_of_page(size) for size in several(page_sizes)]
    asked = sorted({1, _ssdlab.processors()}) if threads is None else several(threads)
    workers = [whole("threads", count) for count in asked]
    runs = whole("runs", runs)
    if not labels or not sizes or not workers:
        raise ConfigError("codecs, page sizes and threads each need at least one entry")
    if min(workers) < 1 or max(workers) > 1024 or not 1 <= runs <= 1000:
        raise ConfigError("threads must be between 1 and 1024, and runs between 1 and 1000")
    if not 0 < keep <= 1:
        raise ConfigError(f"keep: must be above 0 % and at most 100 %, not {keep:.0%}")
    for label in labels:
        _ssdlab.modelled_codec(label)
    contents = paths if isinstance(paths, Corpus) else corpus.read(paths) if paths else corpus.default()
    data = [member.data for member in contents.members]
    done, runs_each = 0, (runs + 1) * len(labels)
    total = len(workers) * len(sizes) * runs_each
    ending = Ending(monitor)

    def stop(now: int) -> bool:
        return ending("runs", done + now, total, 0)

    cells: dict[tuple[int, int | None], list[Cell]] = {}
    for count, size in product(workers, sizes):
        try:
            # Short runs never call the monitor, so they could not be stopped.
            if stop(0):
                raise KeyboardInterrupt("stopped while measuring")
            each = _ssdlab.bench_codecs(data, labels, size, count, keep, fresh, runs, stop)
        except KeyboardInterrupt:
            if not (ending.stopped and cells):
                raise
            break
        cells[count, size] = [_cell(label, size, count, times) for label, times in zip(labels, each, strict=True)]
        done += runs_each
    rows, columns = finished_part([[(count, size) in cells for size in sizes] for count in workers])
    measured_threads, measured_sizes = [workers[row] for row in rows], [sizes[column] for column in columns]
    return CompressBench(
        corpus=contents,
        cells=tuple(cell for at in product(measured_threads, measured_sizes) for cell in cells[at]),
        codecs=tuple(labels),
        page_sizes=tuple(measured_sizes),
        threads=tuple(measured_threads),
        runs=runs,
        partial=ending.stopped,
    )


def bytes_of_page(text: str) -> int:
    """Parses a page size such as `8KiB`."""
    size = _ssdlab.size(text)
    if not 512 <= size <= 1 << 20:
        raise ConfigError(f"page size {text} must be between 512B and 1MiB, such as 8KiB, or file for whole files")
    return size


def _cell(codec: str, page_bytes: int | None, threads: int, found: Mapping[str, Any]) -> Cell:
    files = tuple(map(Stored, *(found[field.name] for field in fields(Stored))))
    total_bytes = sum(file.bytes for file in files)
    scale = (page_bytes or total_bytes / len(files)) / 1e3

    def each(name: str) -> Spread:
        return Spread.of([sum(run) / total_bytes * scale for run in found[name]])

    def rate(name: str) -> Spread:
        return Spread.of([total_bytes / (max(wall, 1) / 1e9) for wall in found[name]])

    def of_files(name: str) -> tuple[float, ...]:
        medians = map(statistics.median, zip(*found[name], strict=True))
        pairs = zip(medians, files, strict=True)
        return tuple(ns / file.bytes * (page_bytes or file.bytes) / 1e3 for ns, file in pairs)

    return Cell(
        codec=codec,
        page_bytes=page_bytes,
        threads=threads,
        files=files,
        compress_cpu_us=each("compress_cpu_ns"),
        compress_elapsed_us=each("compress_elapsed_ns"),
        decompress_cpu_us=each("decompress_cpu_ns"),
        decompress_elapsed_us=each("decompress_elapsed_ns"),
        compress_bytes_s=rate("compress_wall_ns"),
        decompress_bytes_s=rate("decompress_wall_ns"),
        file_compress_us=of_files("compress_cpu_ns"),
        file_decompress_us=of_files("decompress_cpu_ns"),
    )
