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

from ssdlab._ssdlab import Flash
from ssdlab.model.conformance import Counterexample, check
from ssdlab.model.plugins import Plugin, PluginUse, load

__all__ = ["CachePolicy", "Counterexample", "Ftl", "Plugin", "PluginUse", "VictimPolicy", "check", "load"]


class VictimPolicy(Plugin):
    """Chooses the block that garbage collection takes next, in page mapping.

    A subclass defines `choose`, which returns the number of a closed block within its area. `ftl.page.collect` sets the
    area and the block: a block of one plane, of all planes of a die, or of the whole drive (superblock). The names of
    its arguments say what it needs, and only that is computed:

        valid: number of valid mapping units of each block; 2**31 for a block that is not closed
        closed_at: host pages written before each block was closed
        erases: number of erases of each block
        least_valid: number of the closed block with the fewest valid mapping units, the lowest number on ties
        oldest: number of the block closed longest ago
        now: host pages written so far
        pages_per_block: mapping units per block

    Arrays are read-only int64 arrays of NumPy with an element for each block of the area. The next call overwrites
    them, so copy what must stay. One object serves all areas of a drive.
    """

    kind = "victim"
    setting = "ftl.page.gc"
    methods = ("choose",)
    arguments: ClassVar[tuple[str, ...]] = (
        "valid", "closed_at", "erases", "least_valid", "oldest", "now", "pages_per_block",
    )  # fmt: skip

    choose: Callable[..., int]
    """Returns the number of the block to collect next. The documentation of the class lists the arguments that the
    method may take.
    """


class CachePolicy(Plugin):
    """Chooses which item leaves a full cache: of the host (`cache.policy`), or in `ssdlab cache`.

    Items are numbers. ssdlab knows which items are cached; the policy keeps their order. It must forget an item that it
    evicts. Items may have different sizes; then several may leave for one newcomer.
    """

    kind = "cache"
    setting = "cache.policy"
    methods = ("hit", "insert", "evict", "remove")

    capacity: int
    """Capacity in items, or in units of their sizes; known in every method except the constructor."""

    hit: Callable[[int], object]
    """Called for an access to a cached item."""

    insert: Callable[[int], object]
    """Called for an access to an item that was not cached, after the cache has made room for the item."""

    evict: Callable[[], int]
    """Returns the cached item that leaves the full cache."""

    remove: Callable[[int], object]
    """Called for a cached item that was trimmed or deleted."""


class Ftl(Plugin):
    """A flash translation layer: decides where each page goes, and which blocks are erased.

    `self.flash` has `blocks` and `pages_per_block`. Flash pages have consecutive numbers: page 0 of block 3 has the
    number 3 * pages_per_block. Operations:

        program(page, lpn): writes the logical page that the host is writing to an erased page
        copy(source, target): copies a flash page to an erased page
        read(page): reads a programmed page
        erase(block): erases a block

    The pages of a block are programmed in order. An operation that breaks a rule of the flash raises ValueError; so
    does an erase that loses data. After each call ssdlab checks that the newest copy was read or programmed.
    """

    kind = "ftl"
    setting = "ftl"
    methods = ("write", "read", "trim")

    reserve_blocks = 2

    flash: Flash
    """Flash of the run; present in every method except the constructor."""

    logical_pages: int
    """Number of logical pages: the host uses pages 0 to `logical_pages` - 1."""

    def start(self) -> None:
        """Prepares tables for an erased drive; called once, when `flash` is known."""

    write: Callable[[int], object]
    """Writes a logical page: makes room if needed, and calls `self.flash.program` once."""

    read: Callable[[int], object]
    """Reads a logical page with `self.flash.read`; does nothing if the page holds no data."""

    trim: Callable[[int], object]
    """Forgets a logical page."""
