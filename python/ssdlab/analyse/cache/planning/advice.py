"""Advises how much of a page cache, if any, to compress."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse import corpus
from ssdlab.analyse.cache.planning.comparison import compare
from ssdlab.analyse.cache.planning.compressors import PAPER_DEVICE_US, Compressor, measure, of_paper
from ssdlab.analyse.cache.planning.result import CachePlan
from ssdlab.analyse.drive import reads
from ssdlab.model.arguments import takes
from ssdlab.model.requests import Ending, Monitor

Distribution = str | Sequence[tuple[float, float]]
"""Distribution of accesses: `even`, `80/20`, `pareto`, `zipf:THETA`, or pairs of cached share and hit ratio."""

COMPRESSORS = ("lz4", "zstd")
DISTRIBUTION = "80/20"
PAGE = "8KiB"

BUSY = 0.1
"""Share of time spent waiting for a processor above which a note reports that the machine is busy."""


def busy(waited: float) -> list[str]:
    """Returns a note if the measuring thread often waited for a processor."""
    if waited <= BUSY:
        return []
    return [
        f"the machine is busy: the measuring thread waited {100 * waited:.0f} % of its time for a processor, so "
        "the measured compression times are too high and the advice may be wrong; repeat on an idle machine"
    ]


def _curve(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    try:
        curve = [(float(pages), float(hits)) for pages, hits in points]
    except (TypeError, ValueError):
        curve = []
    if not curve:
        raise ConfigError("distribution: must be pairs of cached share and hit ratio, such as [(0.1, 0.6)]")
    return curve


@takes(memory="15GiB", data="200GiB")
def plan(
    memory: str,
    data: str,
    *,
    page: str = PAGE,
    distribution: Distribution = DISTRIBUTION,
    compressors: Iterable[str | Compressor] = COMPRESSORS,
    paths: Iterable[str | os.PathLike[str]] = (),
    paper: bool = False,
    device: str | os.PathLike[str] | None = None,
    device_us: float | None = None,
    seconds: float = reads.SECONDS,
    share: float | None = None,
    measure_cache: bool = False,
    monitor: Monitor | None = None,
) -> CachePlan:
    """Decides how much of a page cache, if any, to compress and with which compressor, and predicts the gain.

    Args:
        memory: Memory of the cache, such as `"15GiB"`.
        data: Size of the data.
        page: Size of a page.
        distribution: Distribution of requests over the pages, or points of a curve: pairs of the cached share of the
            pages and the hit ratio, both non-decreasing.
        compressors: Names such as `lz4` and `zstd:1`, which are measured on this machine, or `Compressor` objects.
        paths: Files with typical data for measuring compressors; if empty, the corpus of `compress.bench`.
        paper: True to use compressors and device from table 4 of Harper 2018.
        device: File or block device whose reads to measure; nothing is written to it.
        device_us: Time to read a page in microseconds, if it is not measured.
        seconds: Measuring time per read size.
        share: Share of the memory to compress, as a fraction of 1; the best share by default.
        measure_cache: True to measure a small cache with these proportions, for comparison with the model.
        monitor: Progress callback as in `ssdlab.simulate`. If it returns a true value, KeyboardInterrupt is raised, or
            the plan is returned without the unfinished part of the comparison.

    Raises:
        ConfigError: If a number is out of range, or not exactly one of `paper`, `device` and `device_us` is given.
        CalibrationError: If the device is in use or cannot be measured.
        OSError: If a file cannot be read.
    """
    if sum((paper, device is not None, device_us is not None)) != 1:
        raise ConfigError("use exactly one of paper, device and device_us")
    sizes = memory_bytes, data_bytes, page_bytes = _ssdlab.size(memory), _ssdlab.size(data), _ssdlab.size(page)
    if page_bytes == 0:
        raise ConfigError("the page size must be above 0; use 8KiB, for example")
    files = [Path(path) for path in paths]
    wanted = list(compressors)
    if not wanted:
        raise ConfigError("no compressor to compare; add at least one, such as lz4")
    names = Counter(wish if isinstance(wish, str) else wish.name for wish in wanted)
    name, times = names.most_common(1)[0]
    if times > 1:
        raise ConfigError(f"compressor {text.path(name)} is listed twice; list it once")
    if paper and (files or page_bytes != 8192):
        raise ConfigError("Harper 2018 lists times only for its own data in 8KiB pages; omit files and page size")
    if paper and measure_cache:
        raise ConfigError(
            "a cache measured on this machine cannot be compared with the times of Harper 2018; omit one of the two"
        )
    if not isinstance(distribution, str):
        distribution = _curve(distribution)
    remarks: list[str] = []
    ending = Ending(monitor)
    # Rejects invalid numbers before the long measurement.
    _ssdlab.Plan(sizes, device_us or 0.0, distribution, (1.0, 0.0, 0.0, 1.0)).point(share or 0.0, [])
    if paper:
        contents, compared = None, [of_paper(wish) for wish in wanted]
    else:
        contents = corpus.read(files) if files else corpus.default()
        by_name = [wish for wish in wanted if isinstance(wish, str)]
        measured = dict(zip(by_name, measure(by_name, contents, page_bytes, ending), strict=True)) if by_name else {}
        if not files and any(_ssdlab.modelled_codec(name) is None for name in by_name):
            remarks.append("compressors were measured on the built-in corpus; add files to measure your own data")
        remarks += contents.remarks()
        remarks += busy(max((compressor.waited for compressor in measured.values()), default=0.0))
        compared = [measured[wish] if isinstance(wish, str) else wish for wish in wanted]
    read = None
    if device is not None:
        read = reads.measure(Path(device), page_bytes, seconds, lambda: ending("device", 0, None, 0))
        device_us = 1e6 / read.iops[page_bytes]
        remarks += read.remarks
    made = CachePlan(
        memory_bytes=memory_bytes,
        data_bytes=data_bytes,
        page_bytes=page_bytes,
        distribution=distribution,
        device_us=PAPER_DEVICE_US if paper else device_us or 0.0,
        compressors=tuple(compared),
        paper=paper,
        device=read,
        remarks=tuple(remarks),
        share=share,
    )
    if contents is None or not measure_cache:
        return made
    try:
        comparison = compare(made, contents, ending)
    except KeyboardInterrupt:
        if not ending.stopped:
            raise
        comparison = None
    return replace(made, comparison=comparison, partial=ending.stopped)
