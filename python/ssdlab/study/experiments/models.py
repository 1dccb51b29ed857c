"""Models that work out cells without a run, or measure them: from the settings of a cell to figures, as a run would
yield them.

To add one, register its function here.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ssdlab.study.experiments import measured, planned
from ssdlab.study.experiments.expression import Summary

MODELS: Mapping[str, Callable[[Mapping[str, Any]], Summary]] = {
    "cache_plan": planned.cache_plan,
    "compress_bench": measured.compress_bench,
    "page_device": measured.page_device,
}
"""Name to model; each raises ConfigError for settings that it does not know."""

MEASURED = frozenset({"compress_bench", "page_device"})
"""Those that measure the machine they run on."""
