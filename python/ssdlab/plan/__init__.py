"""Whether to compress part of a page cache: the model of Harper 2018, corrected where it errs, on measured constants.

>>> import ssdlab
>>> plan = ssdlab.cache_plan("15GiB", "200GiB", paper=True)
>>> plan.best.compressor.name
'zstd'
"""

from ssdlab.plan.compressors import PAPER, PAPER_DEVICE_US, Compressor, measure
from ssdlab.plan.planning import COMPRESSORS, DISTRIBUTION, PAGE, Distribution, cache_plan
from ssdlab.plan.result import CachePlan, Choice

__all__ = [
    "COMPRESSORS",
    "DISTRIBUTION",
    "PAGE",
    "PAPER",
    "PAPER_DEVICE_US",
    "CachePlan",
    "Choice",
    "Compressor",
    "Distribution",
    "cache_plan",
    "measure",
]
