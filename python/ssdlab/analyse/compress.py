"""How far codecs shrink pages on this machine, and what that takes.

>>> from ssdlab import compress
>>> found = compress.bench(["/usr/share/dict"], codecs=["lz4", "zstd:1"])  # doctest: +SKIP
>>> found.cell("lz4", 8192).ratio  # doctest: +SKIP
"""

import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
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
"""Measured unless others are asked for: those of Harper 2018, and a faster level of zstd."""
PAGE_SIZES = ("4KiB", "8KiB", "16KiB", "32KiB", "64KiB", "file")
"""Sizes of a page unless others are asked for; `file` is each file as a whole."""
RUNS = 5
"""Timed runs unless another number is asked for."""


@dataclass(frozen=True)
class Spread:
    """One quantity over several runs."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Median and range."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Stored:
    """What became of the pages of one file, or of all."""

    pages: int
    """Pages; the last of a file may be short."""
    bytes: int
    """Their bytes."""
    stored_bytes: int
    """Bytes to keep for them."""
    raw_pages: int
    """Of the pages, those that did not shrink enough and are kept as they are."""
    raw_bytes: int
    """Their bytes."""

    @property
    def ratio(self) -> float:
        """Bytes over bytes kept."""
        return self.bytes / self.stored_bytes


@dataclass(frozen=True)
class Cell:
    """One codec at one size of pages on a number of threads.

    Times are for a page of full size, or for an average file; those of a single thread are `compress_us` and
    `decompress_us` of its processor, and `elapsed` ones as one page sees them.
    """

    codec: str
    page_bytes: int | None
    """Size of a page; None for whole files."""
    threads: int
    files: tuple[Stored, ...]
    """In the order of the corpus."""
    compress_cpu_us: Spread
    """Processor time to compress a page."""
    compress_elapsed_us: Spread
    """Elapsed time that a thread needs to compress a page."""
    decompress_cpu_us: Spread
    """Processor time to restore a page."""
    decompress_elapsed_us: Spread
    """Elapsed time that a thread needs to restore a page."""
    compress_bytes_s: Spread
    """Bytes compressed each second by all threads together."""
    decompress_bytes_s: Spread
    """Bytes restored each second by all threads together."""
    file_compress_us: tuple[float, ...]
    """Processor time to compress a page of each file, median."""
    file_decompress_us: tuple[float, ...]
    """Processor time to restore a page of each file, median."""

    @property
    def total(self) -> Stored:
        """All files together."""
        return Stored(
            *(
                sum(getattr(file, name) for file in self.files)
                for name in ("pages", "bytes", "stored_bytes", "raw_pages", "raw_bytes")
            )
        )

    @property
    def ratio(self) -> float:
        """Bytes of all files over bytes kept, by which a cache holds more."""
        return self.total.ratio

    @property
    def waited(self) -> float:
        """Share of its time that a thread waited for a processor, which others had; of compressing or restoring, the
        larger one.
        """
        return max(
            1 - cpu.median / elapsed.median
            for cpu, elapsed in (
                (self.compress_cpu_us, self.compress_elapsed_us),
                (self.decompress_cpu_us, self.decompress_elapsed_us),
            )
            if elapsed.median
        )

    @property
    def mean_ratio(self) -> float:
        """Unweighted mean of the files' ratios, small ones counting as much as large ones, as in Harper 2018."""
        return statistics.fmean(file.ratio for file in self.files)


class CompressBench(Finding):
    """What `bench` found.

    Saved are `report.html`, `compress.json` and `compress.csv`, which has a line for each file and one for all (named
    `all`), for each codec, page size and number of threads.
    """

    _page = "compress"
    _json = "compress.json"
    saved = "report.html, compress.json and compress.csv"

    def __init__(
        self, *, contents: Corpus, cells: Sequence[Cell], codecs: Sequence[str], page_sizes: Sequence[int | None],
        threads: Sequence[int], runs: int, partial: bool,
    ) -> None:  # fmt: skip
        self.corpus = contents
        """What was compressed."""
        self.cells = tuple(cells)
        """By threads, then sizes of a page, then codecs."""
        self.codecs = tuple(codecs)
        self.page_sizes = tuple(page_sizes)
        """Sizes of a page; None for whole files."""
        self.threads = tuple(threads)
        self.runs = runs
        """Timed runs of each cell."""
        self._partial = partial
        self.machine = machine()

    @property
    def partial(self) -> bool:
        """Whether it was stopped before all page sizes and numbers of threads asked for were measured."""
        return self._partial

    def cell(self, codec: str, page_bytes: int | None, threads: int | None = None) -> Cell:
        """The cell of this codec, size of pages (None for whole files) and number of threads (the first if left out).

        Raises:
            KeyError: If it was not measured.
        """
        threads = self.threads[0] if threads is None else threads
        for cell in self.cells:
            if (cell.codec, cell.page_bytes, cell.threads) == (codec, page_bytes, threads):
                return cell
        raise KeyError((codec, page_bytes, threads))

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
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
                rows.append((cell.codec, size, cell.threads, name, *(getattr(stored, one) for one in counted), *times))
        return {"compress.csv": rows}

    plot = Plot("compress.draw")
    _repr_html_ = Finding.report_html


def machine() -> str:
    """What measured, in a line."""
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

    Contexts of codecs and buffers are made once for each thread, unless `fresh`. Before the timed runs comes one that
    warms them up, in which every page restored is compared with what it was. Codecs take turns within each run, so that
    a disturbance hits all of them. A page that does not shrink enough is kept as it is.

    Args:
        paths: Files and directories, a corpus already read, or None for the default one.
        codecs: Names, with their numbers after colons: `lz4`, `zstd:3`, `libdeflate:1`.
        page_sizes: Sizes of a page, and `file` for each file as a whole.
        threads: Numbers of threads; 1 and as many as processors if left out.
        runs: Timed runs.
        keep: Longest share of a page, up to 1, at which it is kept compressed.
        fresh: Whether each page gets new contexts, and new memory when it is compressed, as in Harper 2018.
        monitor: Told how far it is, as that of `simulate`. If it returns something true, the sizes and threads that are
            finished are returned, or KeyboardInterrupt is raised if there are none.

    Raises:
        ConfigError: If a codec or size is none, or no file has contents.
    """
    labels = [codec.strip().lower() for codec in several(codecs)]
    sizes = [None if size == "file" else bytes_of_page(size) for size in several(page_sizes)]
    workers = (
        sorted({1, _ssdlab.processors()}) if threads is None else [whole("threads", one) for one in several(threads)]
    )
    runs = whole("runs", runs)
    if not labels or not sizes or not workers:
        raise ConfigError("codecs, page sizes and threads need one entry each at least")
    if min(workers) < 1 or max(workers) > 1024 or not 1 <= runs <= 1000:
        raise ConfigError("threads lie between 1 and 1024, and runs between 1 and 1000")
    if not 0 < keep <= 1:
        raise ConfigError(
            f"keeping pages that shrink to {keep:.0%} means nothing; give more than 0 % and at most 100 %"
        )
    for label in labels:
        _ssdlab.modelled_codec(label)
    contents = paths if isinstance(paths, Corpus) else corpus.read(paths) if paths else corpus.default()
    data = [member.data for member in contents.members]
    done, runs_each = 0, (runs + 1) * len(labels)
    total = len(workers) * len(sizes) * runs_each
    ending = Ending(monitor)

    def stop(now: int) -> bool:
        return ending("runs", done + now, total, 0)

    found: dict[tuple[int, int | None], list[Cell]] = {}
    for count, size in product(workers, sizes):
        try:
            # Short runs never ask.
            if stop(0):
                raise KeyboardInterrupt("stopped while measuring")
            each = _ssdlab.bench_codecs(data, labels, size, count, keep, fresh, runs, stop)
        except KeyboardInterrupt:
            if not (ending.stopped and found):
                raise
            break
        found[count, size] = [_cell(label, size, count, one) for label, one in zip(labels, each, strict=True)]
        done += runs_each
    rows, columns = finished_part([[(count, size) in found for size in sizes] for count in workers])
    measured_threads, measured_sizes = [workers[row] for row in rows], [sizes[column] for column in columns]
    return CompressBench(
        contents=contents,
        cells=[cell for at in product(measured_threads, measured_sizes) for cell in found[at]],
        codecs=labels,
        page_sizes=measured_sizes,
        threads=measured_threads,
        runs=runs,
        partial=ending.stopped,
    )


def bytes_of_page(text: str) -> int:
    """The size of a page that is written as `8KiB`.

    Raises:
        ConfigError: If there are no pages of that size.
    """
    size = _ssdlab.size(text)
    if not 512 <= size <= 1 << 20:
        raise ConfigError(f"a page of {text} is not between 512B and 1MiB; write 8KiB, or file for whole files")
    return size


def _cell(codec: str, page_bytes: int | None, threads: int, found: Mapping[str, Any]) -> Cell:
    files = tuple(
        map(Stored, found["pages"], found["bytes"], found["stored_bytes"], found["raw_pages"], found["raw_bytes"])
    )
    bytes_in_all = sum(file.bytes for file in files)
    scale = (page_bytes or bytes_in_all / len(files)) / 1e3

    def each(name: str) -> Spread:
        return Spread.of([sum(run) / bytes_in_all * scale for run in found[name]])

    def rate(name: str) -> Spread:
        return Spread.of([bytes_in_all / (max(wall, 1) / 1e9) for wall in found[name]])

    def of_files(name: str) -> tuple[float, ...]:
        runs: list[list[int]] = found[name]
        full: Callable[[Stored], float] = lambda file: (page_bytes or file.bytes) / 1e3  # noqa: E731
        return tuple(
            statistics.median(run[at] for run in runs) / file.bytes * full(file) for at, file in enumerate(files)
        )

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
