"""Compares a plan with the two-pool cache measured on this machine, and explains the difference."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.cache.accesses import Load
from ssdlab.analyse.cache.benchmark import Pools, Storage, bench
from ssdlab.analyse.cache.planning.compressors import Compressor
from ssdlab.analyse.corpus import Corpus
from ssdlab.model.requests import Monitor

if TYPE_CHECKING:
    from ssdlab.analyse.cache.planning.result import CachePlan

SHARES = (0, 50)
"""Percentages of compressed memory to measure besides the best; if the user sets one, only 0 % and this one."""

PAGES, CACHED = 8192, 800
"""Minimum numbers of data pages and of uncompressed cached pages in the scaled-down cache that is measured."""

ACCESSES_A_PAGE = 4
"""Number of accesses per page; the first half of the accesses warms up the cache."""


@dataclass(frozen=True)
class Compared:
    """Predicted and measured time per page of a cache, for one compressed share of the memory and one compressor."""

    share: float
    compressor: str | None
    """Name of the compressor; None for a cache without compression."""
    document_us: float
    """Time per page that the model of Harper 2018 predicts, in microseconds."""
    model_us: float
    """Time per page that the corrected model predicts, in microseconds."""
    measured_us: float
    measured_low_us: float
    measured_high_us: float
    model_p99_us: float
    """99th percentile of the time per page that the corrected model predicts, in microseconds."""
    measured_p99_us: float
    model_hit_ratio: float
    measured_hit_ratio: float
    by_hits_us: float
    """Part of the difference between measurement and model that is due to hit ratios, in microseconds."""
    by_device_us: float
    """Part of the difference between measurement and model that is due to the time to load a page, in microseconds."""
    left_us: float
    """Remaining difference in microseconds, due to tables, locks, copies and other programs."""


@dataclass(frozen=True)
class Comparison:
    """Predicted and measured metrics of a small cache with the proportions of a plan."""

    pages: int
    """Number of different pages that the measurement accesses."""
    memory_bytes: int
    accesses: int
    """Number of measured accesses per run."""
    runs: int
    rows: tuple[Compared, ...]


def compare(plan: "CachePlan", contents: Corpus, monitor: Monitor | None = None) -> Comparison:
    """Measures a small cache with a plan's proportions, on one thread, above storage with the plan's read time."""
    if not isinstance(plan.distribution, str):
        raise ConfigError(
            "a miss-ratio curve lacks the order of accesses; to measure a cache, use a distribution such as 80/20"
        )
    real = [compressor for compressor in plan.compressors if _is_real(compressor)]
    if not real:
        raise ConfigError(
            "all compressors are modelled, so a cache cannot be measured; add a real compressor, such as lz4"
        )
    proportion = plan.memory_bytes / plan.data_bytes
    pages = max(PAGES, round(CACHED / proportion))
    data_bytes = pages * plan.page_bytes
    small = replace(plan, data_bytes=data_bytes, memory_bytes=round(proportion * data_bytes))
    others = SHARES if plan.share is None else (0,)
    shares = sorted({*others, round(100 * plan.best.share)})
    pools = Pools(
        page_size=f"{plan.page_bytes}B",
        budget=f"{small.memory_bytes}B",
        shares=[str(share) for share in shares],
        codecs=[compressor.name for compressor in real],
        workers=0,
    )
    load = Load(access=plan.distribution, pages=pages, accesses=ACCESSES_A_PAGE * pages)
    storage = Storage(cost_us=plan.device_us, busy=True)
    measured = bench(contents, pools=pools, load=load, storage=storage, threads=1, monitor=monitor)
    by_name = {compressor.name: compressor for compressor in real}
    rows = []
    for cell in measured.cells:
        used = by_name[cell.codec] if cell.codec is not None else real[0]
        share = int(cell.share) / 100
        point = small.point(used, share, "corrected")
        raw, compressed = cell.raw_hit_ratio.median, cell.compressed_hit_ratio.median
        costs = (used.compress_us, used.decompress_us) if share else (0.0, 0.0)
        hits_us = _moving_us(raw, compressed, plan.device_us, *costs)
        all_us = _moving_us(raw, compressed, cell.load_us.median, *costs)
        rows.append(
            Compared(
                share=share,
                compressor=cell.codec,
                document_us=small.point(used, share, "document")["us"] if share else small.raw_us,
                model_us=point["us"],
                measured_us=cell.access_us.median,
                measured_low_us=cell.access_us.low,
                measured_high_us=cell.access_us.high,
                model_p99_us=point["p99_us"],
                measured_p99_us=cell.access_p99_us.median,
                model_hit_ratio=point["hit_ratio"],
                measured_hit_ratio=raw + compressed,
                by_hits_us=hits_us - point["us"],
                by_device_us=all_us - hits_us,
                left_us=cell.access_us.median - all_us,
            )
        )
    return Comparison(
        pages=measured.pages,
        memory_bytes=measured.budget_bytes,
        accesses=measured.accesses,
        runs=measured.runs,
        rows=tuple(rows),
    )


def _moving_us(raw: float, compressed: float, load_us: float, compress_us: float, decompress_us: float) -> float:
    """Returns the time per page if each page that enters the uncompressed pool forces another to be compressed."""
    return (1 - raw - compressed) * (load_us + compress_us) + compressed * (compress_us + decompress_us)


def _is_real(compressor: Compressor) -> bool:
    try:
        return _ssdlab.modelled_codec(compressor.name) is None
    except ConfigError:
        return False
