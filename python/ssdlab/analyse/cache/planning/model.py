"""The models that a plan has."""

from ssdlab import _ssdlab

MODELS = ("document", "corrected")
"""The model of Harper 2018, and the same with all corrections but `IN_PLACE`."""

IN_PLACE = "restore-in-place"
"""Not a mistake but another kind of cache: one that leaves a page that is hit compressed."""


def corrections(model: str) -> list[str]:
    """Names of the corrections that a model has.

    The corrected one is of a cache that moves a page that is hit to its raw part, as the document's flowchart 2b and
    `ssdlab.Pool` do.
    """
    return [] if model == "document" else [name for name in _ssdlab.corrections() if name != IN_PLACE]
