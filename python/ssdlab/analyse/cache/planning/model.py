"""The models that predict the gain from compressing part of a cache."""

from ssdlab import _ssdlab

MODELS = ("document", "corrected")
"""Models of a cache: the model of Harper 2018 as published, and the model with all corrections except `IN_PLACE`."""

IN_PLACE = "restore-in-place"
"""Name in `_ssdlab.corrections` of another cache design, in which a page that is hit stays compressed."""


def corrections(model: str) -> list[str]:
    """Returns a model's corrections to Harper's model; when corrected, pages that are hit move, as in `ssdlab.Pool`."""
    return [] if model == "document" else [name for name in _ssdlab.corrections() if name != IN_PLACE]
