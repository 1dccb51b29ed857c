"""Base classes for components written in Python. Derive a class, and pass it to `simulate` or set it by name.

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

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from ssdlab._ssdlab import BlockRequest, Flash
from ssdlab.model.conformance import Counterexample, check
from ssdlab.model.plugin_run import Plugin
from ssdlab.model.plugins import PluginUse, load

__all__ = [
    "BlockRequest", "CachePolicy", "Counterexample", "Ftl", "IoScheduler", "Placement", "Plugin", "PluginUse",
    "TraceFormat", "VictimPolicy", "Workload", "check", "load",
]  # fmt: skip

MOST_OPEN_BLOCKS = 15
"""Maximum number of open blocks that a placement policy may use."""


class VictimPolicy(Plugin):
    """Chooses the next victim block of garbage collection in page mapping.

    A subclass defines `choose`, which returns the number of a closed block within an area. `ftl.page.collect` sets the
    area and the extent of a block: one plane, all planes of a die, or the whole drive (superblock). `choose` may take
    any of these arguments, by name; only the arguments in its signature are computed:

        valid: number of valid mapping units of each block; 2**31 for a block that is not closed
        closed_at: host pages written before each block was closed
        invalidated_at: host pages written when a page of each block last became invalid; 0 if no page did
        valid_pages: array of booleans, a row for each block: True for each valid mapping unit
        erases: number of erases of each block
        owner: number of the stream that owns each block: the stream whose page the block was opened for, or with
            garbage collection the owner of the victim; 0 if it is unknown or the block holds map pages
        holds_map: array of booleans: True for each closed block of map pages
        least_valid: number of the closed block with the fewest valid mapping units, the lowest number on ties
        oldest: number of the block closed longest ago
        now: host pages written so far
        pages_per_block: mapping units per block

    Arrays are read-only. Except `valid_pages` and `holds_map`, they are int64 arrays of NumPy with an element for each
    block of the area. Each call for an area passes the same arrays, in which ssdlab has updated the elements that have
    changed since the last call. Copy values that you need later. One object serves all areas of a drive.
    """

    kind = "victim"
    setting = "ftl.page.gc"
    methods = ("choose",)
    arguments: ClassVar[tuple[str, ...]] = (
        "valid", "closed_at", "invalidated_at", "valid_pages", "erases", "owner", "holds_map", "least_valid", "oldest",
        "now", "pages_per_block",
    )  # fmt: skip

    choose: Callable[..., int]
    """Returns the number of the block to collect next. The class documents the arguments that it may take."""


class Placement(Plugin):
    """Chooses the open block for each page in page mapping (`ftl.page.survivors`), and thereby which pages share a
    block.

    A subclass sets `open_blocks`, and defines `written` and `relocated`. Both return the number of an open block, from
    0. Each plane has its own open blocks. `written` may take any of these arguments, by name:

        lpn: logical page that the host writes
        now: host pages written so far
        age: host pages written since this page was last written; None on its first write
        sequential: True if the page follows the last page that the host wrote
        request_pages: pages of the host's request
        stream: number of the request's stream
        sync: True if the host waits for the write
    """

    kind = "placement"
    setting = "ftl.page.survivors"
    methods = ("written", "relocated")
    arguments: ClassVar[tuple[str, ...]] = (
        "lpn", "now", "age", "sequential", "request_pages", "stream", "sync",
    )  # fmt: skip

    open_blocks: ClassVar[int] = 2
    """Number of open blocks, 1 to 15."""

    written: Callable[..., int]
    """Returns the number of the open block for a page that the host writes. The class documents the arguments."""

    relocated: Callable[[int, int], int]
    """Returns the open block for a logical page that garbage collection copies, given the host pages written so far."""

    @classmethod
    def wrong(cls) -> str | None:
        """Returns a message if an attribute of the class has an invalid value; otherwise None."""
        if not isinstance(cls.open_blocks, int) or not 1 <= cls.open_blocks <= MOST_OPEN_BLOCKS:
            return f"open_blocks is {cls.open_blocks!r}; set it to a number from 1 to {MOST_OPEN_BLOCKS}"
        return None


class CachePolicy(Plugin):
    """Chooses the item to evict from a full cache: the host's cache (`cache.policy`), or a cache simulated by `ssdlab
    cache`.

    Items are numbers. ssdlab tracks which items are cached; the policy tracks their order. The policy must forget an
    item that it evicts. If items have different sizes, one new item may need several evictions.
    """

    kind = "cache"
    setting = "cache.policy"
    methods = ("hit", "insert", "evict", "remove")

    capacity: int
    """Capacity in items, or in the unit of item sizes. Available in every method except the constructor."""

    hit: Callable[[int], object]
    """Called for an access to a cached item."""

    insert: Callable[[int], object]
    """Called for an access to an item that was not cached, after the cache has made room for the item."""

    evict: Callable[[], int]
    """Returns the cached item to evict from the full cache."""

    remove: Callable[[int], object]
    """Called for a cached item that was trimmed or deleted."""


class Ftl(Plugin):
    """A flash translation layer: chooses the flash page for each logical page, and the blocks to erase.

    `self.flash` has `blocks` and `pages_per_block`. Flash pages have consecutive numbers: page 0 of block 3 has the
    number 3 * pages_per_block. Operations:

        program(page, lpn): programs an erased page with the logical page that the host is writing
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
    """The simulated flash. Available in every method except the constructor."""

    logical_pages: int
    """Number of logical pages. The host uses pages 0 to `logical_pages` - 1."""

    def start(self) -> None:
        """Prepares tables for an erased drive; called once, after `flash` is set."""

    def save(self) -> bytes:
        """Returns the object's state, to be saved with a drive: by default all attributes except `flash`, by pickle."""
        return pickle.dumps({name: value for name, value in vars(self).items() if name != "flash"})

    write: Callable[[int], object]
    """Writes a logical page: makes room if needed, and calls `self.flash.program` once."""

    read: Callable[[int], object]
    """Reads a logical page with `self.flash.read`; does nothing if the page holds no data."""

    trim: Callable[[int], object]
    """Discards the data of a logical page that was trimmed."""


class Workload(Plugin):
    """Generates the requests of a workload (`workload.pattern`).

    A subclass defines `requests`, usually a generator. It yields requests, or arrays of requests:

        op: "read", "write", "trim" or "flush"
        offset: first byte; requests stay within the span
        bytes: length in bytes; 0 for a flush
        time_ns: arrival time, if the class sets `timed`
        stream: number of a name in `streams`, from 1; 0, None or missing for no stream

    In arrays of requests, `offset` is an array; every other value is an array of the same length, or one value for all
    requests. The run ends after the last yielded item, or after `workload.requests` requests. The method may take any
    of these arguments, by name:

        span: size of the address space in bytes (`workload.span`)
        align: alignment of addresses in bytes (`workload.align`)
        count: maximum number of requests in the run (`workload.requests`)
        reads: share of reads, 0 to 1 (`workload.reads`)
        sizes: list of request sizes in bytes, each with its share in percent (`workload.size`)
        seed: seed of random numbers (`seed`), for NumPy; `self.rng` is already seeded with it
    """

    kind = "workload"
    setting = "workload.pattern"
    methods = ("requests",)
    arguments: ClassVar[tuple[str, ...]] = ("span", "align", "count", "reads", "sizes", "seed")

    timed: ClassVar[bool] = False
    """True if the workload sets the arrival time of each request. If false, `workload.arrival` sets the times."""

    streams: ClassVar[Sequence[str]] = ()
    """Names of the streams (processes) of the requests; stream 1 is the first."""

    requests: Callable[..., Iterable[tuple[Any, ...]]]
    """Yields `(op, offset, bytes)`, optionally with `time_ns` and `stream`. The class documents the arguments."""

    @classmethod
    def wrong(cls) -> str | None:
        """Returns a message if an attribute of the class has an invalid value; otherwise None."""
        if not isinstance(cls.timed, bool):
            return f"timed is {cls.timed!r}; set it to True or False"
        if isinstance(cls.streams, str) or not all(isinstance(name, str) for name in cls.streams):
            return f"streams is {cls.streams!r}; set it to a list of stream names"
        return None


class TraceFormat(Plugin):
    """Reads the lines or records of a trace file (`--format`).

    A subclass defines `parse`. ssdlab opens and decompresses the file, and passes each line without its line end as
    str. If `record_bytes` is set, it passes each record of this length as bytes. Blank lines are skipped. One object
    parses one file, so it may store values of a header. `parse` returns None for a header or comment, and otherwise a
    request:

        op: "read", "write", "trim" or "flush"; other words common in traces work too
        offset: first byte
        bytes: length in bytes
        time_ns: arrival time in ns, counted from any origin; 0 if missing
        stream: number or name of the process; None or missing if unknown
        device: name of the device; None or missing if the file has a single device

    If `parse` raises an exception, the line is malformed. ssdlab then stops with an error about this line, or with
    `--skip-bad` skips the line.
    """

    kind = "format"
    setting = "format"
    methods = ("parse",)

    record_bytes: ClassVar[int] = 0
    """Length of a record in bytes; 0 for lines of text."""

    parse: Callable[[Any], tuple[Any, ...] | None]
    """Returns the request of a line or record: `(op, offset, bytes)`, and optionally time, stream and device."""

    sniff: Callable[[bytes], int]
    """Returns how well the first bytes of a file match the format, from 0 to 100. Optional. By default, the score of a
    text file is the percentage of its first lines that `parse` accepts, and the score of a binary file is 0.
    """

    @classmethod
    def wrong(cls) -> str | None:
        """Returns a message if an attribute of the class has an invalid value; otherwise None."""
        if not isinstance(cls.record_bytes, int) or cls.record_bytes < 0:
            return f"record_bytes is {cls.record_bytes!r}; set it to the length of a record, or 0 for text"
        return None


class IoScheduler(Plugin):
    """Chooses the request that the host's block layer sends to the drive next (`block.scheduler`).

    A request (`BlockRequest`) has `offset`, `bytes`, `is_read`, `is_sync` (true if a process waits for the request),
    `process` (its stream number) and `arrived_ns`. The block layer does not merge requests that the scheduler holds.
    """

    kind = "scheduler"
    setting = "block.scheduler"
    methods = ("add", "next")

    add: Callable[[BlockRequest], object]
    """Adds a request."""

    next: Callable[[int], BlockRequest | None]
    """Removes and returns the request to send at the given time in ns. Called when the drive has a free slot and
    requests wait. None keeps the slot free until a request completes, so None is an error while the drive is idle.
    """

    done: Callable[[BlockRequest, int], object]
    """Called when a request is complete, with the time in ns. Optional."""
