"""Advice on compressing part of a page cache: the model of Harper 2018, with corrections."""

from ssdlab.analyse.cache.planning.advice import COMPRESSORS, DISTRIBUTION, PAGE, Distribution, plan
from ssdlab.analyse.cache.planning.compressors import PAPER, Compressor
from ssdlab.analyse.cache.planning.result import CachePlan, Choice

__all__ = [
    "COMPRESSORS",
    "DISTRIBUTION",
    "PAGE",
    "PAPER",
    "CachePlan",
    "Choice",
    "Compressor",
    "Distribution",
    "plan",
]
