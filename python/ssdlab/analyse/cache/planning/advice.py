"""Making a plan: what to compare, with which constants."""

import os
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
"""`even`, `80/20`, `pareto`, `zipf:THETA`, or points (share of the pages cached, hit ratio) of a miss-ratio curve."""

COMPRESSORS = ("lz4", "zstd")
DISTRIBUTION = "80/20"
PAGE = "8KiB"


BUSY = 0.1
"""Share of its time that a thread may wait for a processor before the machine counts as busy."""


def busy(waited: float) -> list[str]:
    """What to say of a machine on which the measuring thread waited for a processor; nothing of an idle one."""
    if waited <= BUSY:
        return []
    return [
        f"the machine is busy: the thread that measured compressors waited {100 * waited:.0f} % of its time for a "
        "processor, so measured times are too long and the advice may be wrong; plan again when it is idle"
    ]


def _curve(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    try:
        curve = [(float(pages), float(hits)) for pages, hits in points]
    except (TypeError, ValueError):
        curve = []
    if not curve:
        raise ConfigError(
            "distribution: no points of a miss-ratio curve; give pairs of numbers, "
            "the share of the pages and that of the hits, such as [(0.1, 0.6)]"
        )
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
    """Tells whether to compress part of a page cache, with what, how much of it, and what that gains.

    Args:
        memory: Memory of the cache, such as `"15GiB"`.
        data: Size of the data.
        page: Size of a page.
        distribution: How requests spread over the pages; or points of a curve, as pairs of the share of the pages that
            a cache holds and of its hits, neither falling.
        compressors: Names such as `lz4` and `zstd:1`, which are measured on this machine, or figures of them.
        paths: Files with typical data to measure compressors on; the corpus of `compress.bench` if there are none.
        paper: Whether to take compressors and device from table 4 of Harper 2018 instead.
        device: File or block device whose reads to measure; nothing is written to it.
        device_us: Time of reading a page, in microseconds, instead of measuring.
        seconds: Time to measure the device for each size of a read.
        share: Share of the memory to compress, a fraction of 1; the best one if left out.
        measure_cache: Whether to measure a small cache of these proportions at work, beside the model.
        monitor: Told how far that is, as that of `simulate`. If it returns something true, KeyboardInterrupt is raised,
            or the plan is returned without that of the comparison which is not finished.

    Raises:
        ConfigError: If a figure is out of range, or the device is given by none or several of `paper`, `device` and
            `device_us`.
        CalibrationError: If the device must not be measured or cannot be.
        OSError: If a file cannot be read.
    """
    if sum((paper, device is not None, device_us is not None)) != 1:
        raise ConfigError("the device is to be given once: take the paper's, one to measure, or the time of a read")
    sizes = _ssdlab.size(memory), _ssdlab.size(data), _ssdlab.size(page)
    if sizes[2] == 0:
        raise ConfigError("a page of 0 bytes holds nothing; take 8KiB, for example")
    files = [Path(path) for path in paths]
    wanted = list(compressors)
    names = [one if isinstance(one, str) else one.name for one in wanted]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise ConfigError(f"the compressor {text.path(name)} is named twice; name it once")
    if not wanted:
        raise ConfigError("no compressor to compare; name one")
    if paper and (files or sizes[2] != 8192):
        raise ConfigError(
            "the paper has figures of its own, for pages of 8KiB; leave out the files, and the size of a page"
        )
    if paper and measure_cache:
        raise ConfigError(
            "a cache at work is of this machine, and the figures of the paper are of another; leave out one of them"
        )
    if not isinstance(distribution, str):
        distribution = _curve(distribution)
    remarks: list[str] = []
    ending = Ending(monitor)
    # A wrong figure is told of before anything is measured.
    _ssdlab.Plan(sizes, device_us or 0.0, distribution, (1.0, 0.0, 0.0, 1.0)).point(share or 0.0, [])
    if paper:
        contents, found = None, [of_paper(one) for one in wanted]
    else:
        contents = corpus.read(files) if files else corpus.default()
        by_name = [one for one in wanted if isinstance(one, str)]
        measured = dict(zip(by_name, measure(by_name, contents, sizes[2], ending), strict=True)) if by_name else {}
        if not files and any(_ssdlab.modelled_codec(one) is None for one in by_name):
            remarks.append("compressors were measured on a corpus of ours; name files with your data to measure these")
        remarks += contents.remarks()
        remarks += busy(max((one.waited for one in measured.values()), default=0.0))
        found = [measured[one] if isinstance(one, str) else one for one in wanted]
    read = None
    if device is not None:
        read = reads.measure(Path(device), sizes[2], seconds, lambda: ending("device", 0, None, 0))
        device_us = 1e6 / read.iops[sizes[2]]
        remarks += read.remarks
    made = CachePlan(
        memory_bytes=sizes[0],
        data_bytes=sizes[1],
        page_bytes=sizes[2],
        distribution=distribution,
        device_us=PAPER_DEVICE_US if paper else device_us or 0.0,
        compressors=tuple(found),
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
