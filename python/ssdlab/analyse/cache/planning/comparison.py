"""How far a plan is from the two-pool cache at work on this machine, and where the difference comes from."""

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
"""Percentages of the memory that are measured, with the best one; only 0 and that which was asked for, if one was."""

PAGES, CACHED = 8192, 800
"""Pages of the small cache's data at least, and pages that it holds raw at least."""

ACCESSES_A_PAGE = 4
"""Half of them warm the cache up."""


@dataclass(frozen=True)
class Compared:
    """One share of the memory with one compressor."""

    share: float
    compressor: str | None
    """None for the raw cache."""
    document_us: float
    """Time of a page by the document's model, in microseconds."""
    model_us: float
    """By the corrected model."""
    measured_us: float
    measured_low_us: float
    measured_high_us: float
    model_p99_us: float
    """Time that one request in a hundred exceeds at most, by the corrected model."""
    measured_p99_us: float
    model_hit_ratio: float
    measured_hit_ratio: float
    by_hits_us: float
    """Of the difference between measured and model: what other hits than the model's make of it."""
    by_device_us: float
    """What loading a page in another time than the model's makes of it."""
    left_us: float
    """What is left: tables, locks, copies, and whatever else runs on the machine."""


@dataclass(frozen=True)
class Comparison:
    """A plan at a small scale, and the same measured."""

    pages: int
    """Different pages."""
    memory_bytes: int
    accesses: int
    """Measured in each run."""
    runs: int
    rows: tuple[Compared, ...]


def compare(plan: "CachePlan", contents: Corpus, monitor: Monitor | None = None) -> Comparison:
    """Measures a small cache with the proportions of a plan: one thread, storage that takes the plan's time.

    Raises:
        ConfigError: If the plan's distribution or compressors cannot be measured.
    """
    if not isinstance(plan.distribution, str):
        raise ConfigError(
            "a miss-ratio curve does not say which page comes when; give a distribution to put a cache to work"
        )
    real = [one for one in plan.compressors if _is_real(one)]
    if not real:
        raise ConfigError("no compressor of the plan can be measured; name one that can to put a cache to work")
    proportion = plan.memory_bytes / plan.data_bytes
    pages = max(PAGES, round(CACHED / proportion))
    small = replace(
        plan, data_bytes=pages * plan.page_bytes, memory_bytes=round(proportion * pages * plan.page_bytes)
    )  # fmt: skip
    others = SHARES if plan.share is None else (0,)
    shares = sorted({*others, round(100 * plan.best.share)})
    pools = Pools(
        page_size=f"{plan.page_bytes}B",
        budget=f"{small.memory_bytes}B",
        shares=[str(share) for share in shares],
        codecs=[one.name for one in real],
        workers=0,
    )
    load = Load(access=plan.distribution, pages=pages, accesses=ACCESSES_A_PAGE * pages)
    storage = Storage(cost_us=plan.device_us, busy=True)
    measured = bench(contents, pools=pools, load=load, storage=storage, threads=1, monitor=monitor)
    by_name = {one.name: one for one in real}
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
    """Time of a page with these hits, where each page that comes to the raw pool has another one compressed."""
    return (1 - raw - compressed) * (load_us + compress_us) + compressed * (compress_us + decompress_us)


def _is_real(one: Compressor) -> bool:
    try:
        return _ssdlab.modelled_codec(one.name) is None
    except ConfigError:
        return False
