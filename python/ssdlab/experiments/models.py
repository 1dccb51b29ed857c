"""Models that work out cells in closed formulas: from the settings of a cell to figures, as a run would yield them.

To add one, register its function here.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ssdlab.cache.planning import advice
from ssdlab.experiments.expression import Summary

MODELS: Mapping[str, Callable[[Mapping[str, Any]], Summary]] = {"cache_plan": advice.figures}
"""Name to model; each raises ConfigError for settings that it does not know."""
