"""Components of your own, written in Python: derive a class, and name it in a configuration.

    >>> import ssdlab
    >>> from ssdlab.plugin import VictimPolicy
    >>> class Greedy(VictimPolicy):
    ...     def choose(self, valid):
    ...         return valid.argmin()
    >>> result = ssdlab.simulate({"device.capacity": "64MiB"}, plugins=[Greedy()])
    >>> result.config["ftl.page.gc"]
    'python:ssdlab.plugin.Greedy'

`docs/your-own/python.md` explains every kind with examples.
"""

from collections.abc import Callable
from typing import ClassVar

from ssdlab.model.plugins import Plugin, PluginUse, load

__all__ = ["Plugin", "PluginUse", "VictimPolicy", "load"]


class VictimPolicy(Plugin):
    """Chooses the block that garbage collection takes next, in page mapping.

    A subclass defines `choose`, which returns the number of a closed block within its plane. The names of its arguments
    say what it needs, and only that is computed:

        valid: number of valid pages of each block; 2**31 for a block that is not closed
        closed_at: host pages written before each block was closed
        erases: number of erases of each block
        least_valid: number of the closed block with the fewest valid pages, the lowest number on ties
        oldest: number of the block closed longest ago
        now: host pages written so far
        pages_per_block: pages per block

    Arrays are read-only int64 arrays of NumPy with an element for each block of the plane. The next call overwrites
    them, so copy what must stay. One object serves all planes of a drive.
    """

    kind = "victim"
    setting = "ftl.page.gc"
    method = "choose"
    arguments: ClassVar[tuple[str, ...]] = (
        "valid", "closed_at", "erases", "least_valid", "oldest", "now", "pages_per_block",
    )  # fmt: skip

    choose: Callable[..., int]
    """Returns the block to collect next; the class says which arguments it may take."""
