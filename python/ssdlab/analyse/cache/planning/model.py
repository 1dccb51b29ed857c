"""The models that predict the gain from compressing part of a cache."""

from ssdlab import _ssdlab

MODELS = ("document", "corrected")
"""Models of a cache: the model of Harper 2018 as published, and the model with all corrections except `IN_PLACE`."""

IN_PLACE = "restore-in-place"
"""Name of an alternative cache design, in which a compressed page stays compressed when it is hit.
`_ssdlab.corrections` lists this design among the corrections.
"""


def corrections(model: str) -> list[str]:
    """Returns the names of the corrections that a model makes to Harper's model.

    In the corrected model, a page that is hit moves to the uncompressed pool, as in flowchart 2b and in `ssdlab.Pool`.
    """
    return [] if model == "document" else [name for name in _ssdlab.corrections() if name != IN_PLACE]
