"""Calls `cache.bench` with the arguments of its options objects side by side."""

from dataclasses import fields
from typing import Any

from ssdlab import cache


def bench(dataset: Any = None, **given: Any) -> cache.CacheBench:
    groups = {"pools": cache.Pools, "load": cache.Load, "storage": cache.Storage}
    objects: dict[str, Any] = {}
    for name, kind in groups.items():
        names = {field.name for field in fields(kind)}
        objects[name] = kind(**{key: given.pop(key) for key in names & given.keys()})
    return cache.bench(dataset, **objects, **given)
