"""The model of a compressed page cache for experiments: closed formulas, nothing measured."""

import math
from collections.abc import Mapping
from typing import Any

from ssdlab import _ssdlab
from ssdlab.analyse.cache.planning.advice import PAGE
from ssdlab.analyse.cache.planning.compressors import PAPER_DEVICE_US, Compressor, of_paper
from ssdlab.analyse.cache.planning.model import corrections
from ssdlab.study.experiments.arguments import arguments

KEYS: Mapping[str, Any] = {
    "memory": "15GiB",
    "data": "200GiB",
    "page": PAGE,
    "distribution": "even",
    "device_us": PAPER_DEVICE_US,
    "ratio": 1.0,
    "compress_us": 0.0,
    "decompress_us": 0.0,
    "shrinking": 1.0,
    "share": 0.0,
    "corrections": "none",
    "other": "",
}
"""Arguments of `cache_plan` with their defaults. `corrections` is `none`, `all` or the name of one; `other` the name of
a compressor of the document that is to be passed."""


def cache_plan(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The model for one cell of an experiment: what `cache.plan` shows, as figures; percentages are of 0 to 100.

    Raises:
        ConfigError: If there is no such argument, or one is out of range.
    """
    of = arguments("cache_plan", KEYS, settings)
    names = {"none": [], "all": corrections("corrected")}.get(of["corrections"], [of["corrections"]])
    memory = (_ssdlab.size(of["memory"]), _ssdlab.size(of["data"]), _ssdlab.size(of["page"]))

    def plan(compressor: Compressor) -> _ssdlab.Plan:
        costs = (compressor.ratio, compressor.compress_us, compressor.decompress_us, compressor.shrinking)
        return _ssdlab.Plan(memory, of["device_us"], of["distribution"], costs)

    own = plan(Compressor("", of["ratio"], of["compress_us"], of["decompress_us"], of["shrinking"]))
    point = own.point(of["share"] / 100, names)
    found = {
        "raw_hit_percent": 100 * own.raw_hit_ratio(),
        "raw_us": own.raw_us(),
        "hit_percent": 100 * point["hit_ratio"],
        "compressed_hit_percent": 100 * point["compressed_hit_ratio"],
        "us": point["us"],
        "break_even_percent": _percent(own.break_even(names)),
        "device_break_even_us": own.device_break_even_us(names),
    }
    if of["other"]:
        found["passes_percent"] = _percent(own.passes(plan(of_paper(of["other"])), names))
    return found


def _percent(share: float | None) -> float | None:
    return None if share is None or math.isnan(share) else 100 * share
