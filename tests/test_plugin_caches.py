"""Replacement policies written in Python."""

from collections import OrderedDict
from typing import Any

import pytest

import ssdlab
from plugged import DRIVE, figures
from ssdlab.plugin import CachePolicy


class Lru(CachePolicy):
    def __init__(self) -> None:
        self.order = OrderedDict[int, None]()

    def hit(self, item: int) -> None:
        self.order.move_to_end(item)

    def insert(self, item: int) -> None:
        self.order[item] = None

    def evict(self) -> int:
        return self.order.popitem(last=False)[0]

    def remove(self, item: int) -> None:
        del self.order[item]


LRU = "python:test_plugin_caches.Lru"


def test_a_cache_policy_equals_the_built_in_one_in_front_of_a_drive() -> None:
    host = {**DRIVE, "workload.reads": "50%", "cache.size": "256KiB"}
    mine = ssdlab.simulate({**host, "cache.policy": "lru"}, plugins=[Lru])
    theirs = ssdlab.simulate({**host, "cache.policy": "lru"})
    assert mine.config["cache.policy"] == LRU and mine.summary["cache"]["misses"] > 0
    assert mine.summary["cache"].pop("policy") == LRU and theirs.summary["cache"].pop("policy") == "lru"
    assert figures(mine) == figures(theirs)
    # By hand: an insertion or a hit for each accessed page, and evictions.
    assert mine.summary["plugins"][0]["decisions"] > 4000


@pytest.mark.parametrize("more", [{}, {"page": "8KiB"}])
def test_a_cache_policy_equals_the_built_in_one_on_a_trace(more: dict[str, Any]) -> None:
    trace = ssdlab.generate({**DRIVE, "workload.reads": "50%"})
    mine = ssdlab.cache.simulate(trace, [LRU, "lru"], ["64KiB", "1MiB"], **more)
    rows = mine.to_arrow().to_pylist()
    own, built_in = ([{**row, "policy": ""} for row in rows if row["policy"] == name] for name in (LRU, "lru"))
    assert own == built_in and len(own) == 2


class Forgets(Lru):
    def evict(self) -> int:
        return 10**6


class Keeps(Lru):
    def evict(self) -> int:
        return next(iter(self.order))


@pytest.mark.parametrize("cls", [Forgets, Keeps])
def test_a_cache_policy_must_evict_a_cached_item(cls: type[CachePolicy]) -> None:
    host = {**DRIVE, "cache.policy": "lru", "cache.size": "256KiB"}
    with pytest.raises(ssdlab.SimulationError, match="which is not a cached item; return an item that was inserted"):
        ssdlab.simulate(host, plugins=[cls])
    trace = ssdlab.generate(DRIVE)
    with pytest.raises(ssdlab.SimulationError, match=rf"test_plugin_caches.py:\d+: {cls.__name__}.evict returned"):
        ssdlab.cache.simulate(trace, [f"python:test_plugin_caches.{cls.__name__}"], ["64KiB"])
