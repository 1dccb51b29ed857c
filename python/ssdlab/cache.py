"""Buffer caches: simulated on traces, measured on this machine, and planned with some pages compressed.

>>> from ssdlab import cache
>>> found = cache.simulate("traces/oltp.csv.zst", ["lru", "arc"], ["64MiB", "10%"])  # doctest: +SKIP
>>> cache.plan("15GiB", "200GiB", paper=True).best.compressor.name
'zstd'
"""

from ssdlab.analyse.cache.accesses import Load
from ssdlab.analyse.cache.benchmark import CacheBench, Pools, Storage, bench
from ssdlab.analyse.cache.planning import CachePlan, Compressor, plan
from ssdlab.analyse.cache.policies import admissions, policies
from ssdlab.analyse.cache.result import CacheSimulation, MissRatioCurves
from ssdlab.analyse.cache.simulation import mrc, simulate

__all__ = [
    "CacheBench",
    "CachePlan",
    "CacheSimulation",
    "Compressor",
    "Load",
    "MissRatioCurves",
    "Pools",
    "Storage",
    "admissions",
    "bench",
    "mrc",
    "plan",
    "policies",
    "simulate",
]
