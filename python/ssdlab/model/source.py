"""Where requests come from: a trace in memory, a file, a generated workload."""

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import SimulationError, TraceError
from ssdlab.lazy import room
from ssdlab.model.arguments import takes
from ssdlab.model.conversion import objects_of
from ssdlab.model.pipe import name_of
from ssdlab.model.requests import Monitor, RequestSource, batches

if TYPE_CHECKING:
    from ssdlab.analyse.intervals import WriteIntervals
    from ssdlab.analyse.workload import TraceAnalysis
    from ssdlab.model.config import Config

ROUTINE_COUNTS = ("requests", "records", "bytes_in", "headers")
"""Counts of an ingest report that are no reason to look twice."""

INTERVAL_PAGE = "4KiB"
"""Size of a page for write intervals unless another is asked for."""

LOGS = ("3%", "5%", "10%", "15%", "20%", "25%")
"""Sizes of the log unless others are asked for: those of the FASTer slides, as shares of the written pages."""

CACHES_INSTEAD = "simulate caches with 'ssdlab cache sim --objects'"
"""What to do with objects of a cache where addresses of a drive are taken."""

RANGE = "16MiB"
"""Size of an address range unless another is asked for: that of the map cache document."""


class Counter(Protocol):
    """What counts requests."""

    def add(self, requests: _ssdlab.Requests) -> None:
        """Counts a batch."""


class Source(ABC):
    """Requests that can be read again and again; every pass begins at the front."""

    @abstractmethod
    def open(self) -> RequestSource:
        """Starts a pass."""

    def open_objects(self, granularity: str) -> RequestSource:
        """Starts a pass over requests for objects of a cache; only files tell these from requests for addresses."""
        return self.open()

    def open_addresses(self, instead: str = CACHES_INSTEAD) -> RequestSource:
        """Starts a pass over requests that address a drive.

        Raises:
            TraceError: As `open`, or as `refuse_objects`.
        """
        reader = self.open()
        self.refuse_objects(self.report_of(reader), instead)
        return reader

    def refuse_objects(self, ingest: Mapping[str, Any] | None, instead: str = CACHES_INSTEAD) -> None:
        """Of a pass that has begun and met this on its way.

        Raises:
            TraceError: If the requests are for objects of a cache; it ends with what to do instead.
        """
        objects = objects_of(ingest)
        if objects is not None:
            raise TraceError(
                f"{source_text(self.about)}: holds objects of a cache ({objects}), which lie at no address of a drive; "
                f"{instead}"
            )

    @property
    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Where the requests come from, for a result: `kind` is `trace`, `memory` or `workload`."""

    @abstractmethod
    def report_of(self, reader: RequestSource) -> dict[str, Any] | None:
        """What a pass met on its way, at its end; None where there is no file."""

    def read(self, into: Counter, monitor: Monitor | None = None, phase: str = "scan") -> dict[str, Any] | None:
        """One pass whose batches `into` counts; returns what was met on the way."""
        reader = self.open()
        for batch in batches(reader, monitor, phase, ahead=True):
            into.add(batch)
        return self.report_of(reader)

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Names a request that is refused meanwhile, as it lies beyond the device, by its place in the trace. That is
        read once more then: whoever replays requests knows their numbers, which are those of no lines.
        """
        try:
            yield
        except SimulationError as error:
            capacity_bytes = getattr(error, "capacity_bytes", None)
            if capacity_bytes is not None:
                # A trace that has gone since then does not hide what was wrong with it.
                with suppress(TraceError):
                    error.args = (self.beyond(capacity_bytes) or str(error),)
            raise

    @abstractmethod
    def beyond(self, capacity_bytes: int) -> str | None:
        """What is wrong with the first request that ends beyond a device, with its place; None if none does."""

    def profile(self) -> dict[str, Any]:
        """What the requests are like, from one pass: volumes, sizes, footprint, sequentiality, and how many named
        `streams` read, write or trim.

        Raises:
            TraceError: If a file cannot be read.
        """
        profile = _ssdlab.Profile()
        self.read(profile)
        return profile.figures()

    def address_space(self, config: "Config", monitor: Monitor | None = None) -> _ssdlab.AddressSpace | None:
        """Where the requests lie, from a pass of its own; None where `host.fit` does not depend on it.

        Raises:
            TraceError: If a file cannot be read, or if nothing is left to be packed.
        """
        if not config._inner.needs_extent():
            return None
        space = _ssdlab.AddressSpace(config._inner)
        ingest = self.read(space, monitor)
        if space.is_empty():
            raise TraceError(
                f'{nothing_in(self.about, ingest)}, so that host.fit = "compact" has nothing to pack; give a trace '
                "with reads or writes, or say how large the drive is, such as device.capacity=1GiB, and set "
                "another host.fit"
            )
        return space

    @takes()
    def intervals(
        self, *, page: str = INTERVAL_PAGE, logs: Sequence[str] = LOGS, monitor: Monitor | None = None
    ) -> "WriteIntervals":
        """When written pages are written again, from two passes; memory is 24 bytes for each page written, and as
        much for its neighbours in groups of 64.

        Args:
            page: Size of a page.
            logs: Sizes of a log to count against: a share of the written pages (`"10%"`), a size (`"64MiB"`) or a
                number of pages (`"4096"`).
            monitor: Told how far a pass is, as that of `simulate`, in the phases `scan` and `count`. If it returns
                something true, KeyboardInterrupt is raised.

        Raises:
            TraceError: If a file cannot be read, if nothing is written, or if a size cannot be.
        """
        found: WriteIntervals = room("analyse.intervals").measure(self, page, logs, monitor)
        return found

    @takes()
    def analyze(self, *, range: str = RANGE, monitor: Monitor | None = None) -> "TraceAnalysis":
        """Where, how far apart, how large, how much at a time, in which order and when, from one pass in at most some
        240 MiB however many requests.

        Args:
            range: Size of the ranges in which addresses are counted, from `"512B"` to `"1TiB"`.
            monitor: Told how far the pass is, as that of `simulate`, in the phase `scan`. If it returns something
                true, what was read until then is analysed; KeyboardInterrupt is raised if nothing was.

        Raises:
            TraceError: If a file cannot be read, if no request addresses anything, or if the range cannot be.
        """
        found: TraceAnalysis = room("analyse.workload").measure(self, range, monitor)
        return found


def is_generated(source: Mapping[str, Any]) -> bool:
    """Whether the requests are those of the configuration, and no trace."""
    return bool(source["kind"] == "workload")


def source_text(source: Mapping[str, Any]) -> str:
    """Where the requests came from, in one line."""
    if source["kind"] == "trace":
        return ", ".join(source.get("names") or (name_of(Path(path)) for path in source["paths"]))
    if source["kind"] == "memory":
        return f"{text.counted(source['requests'], 'requests')} in memory"
    return f"{source['pattern']} workload, {text.counted(source['requests'], 'requests')}"


def identified(source: Mapping[str, Any]) -> dict[str, Any]:
    """A source with the SHA-256 of each of its files: as it is now, unless it was recorded when the source was read.
    None for what is no file, such as a pipe.
    """
    if "paths" not in source or "sha256" in source:
        return dict(source)
    return {**source, "sha256": [_digest(Path(path)) for path in source["paths"]]}


def identify_meanwhile(source: Mapping[str, Any]) -> None:
    """Begins to compute what `identified` will add, on a thread, while the files are read for something else."""

    def identify() -> None:
        # What keeps a file from being read is the business of who reads it.
        with suppress(OSError):
            identified(source)

    threading.Thread(target=identify, daemon=True).start()


_identifying = threading.Lock()
"""Whoever asks for a digest that is being computed waits for it."""


def _digest(path: Path) -> str | None:
    if not path.is_file():
        return None
    status = path.stat()
    with _identifying:
        return _digest_of(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _digest_of(path: Path, _size: int, _changed_ns: int) -> str:
    """Read once while the file stays as it is."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def ingest_dict(ingest: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What was met while reading a trace, ready for JSON."""
    if ingest is None:
        return None
    return {**ingest, "counts": {name: value for name, _, _, value in ingest["counts"]}}


def ingest_of(recorded: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What `ingest_dict` made ready for JSON, as it was.

    Raises:
        KeyError: If it counts what nobody counts.
    """
    if recorded is None:
        return None
    known = {name: (unit, help_text) for name, unit, help_text in _ssdlab.ingest_counters()}
    counts = [(name, *known[name], value) for name, value in recorded["counts"].items()]
    return {**recorded, "counts": counts, "other_devices": [(name, count) for name, count in recorded["other_devices"]]}


def ingest_remarks(ingest: Mapping[str, Any] | None) -> list[str]:
    """What a person should know about how the trace was read; empty if it was taken as it is."""
    if ingest is None:
        return []
    remarks = list(ingest["notes"])
    # Once the trace has been read to its end, a note lists the other devices with their requests.
    told = (*ROUTINE_COUNTS, "other_device") if ingest["other_devices"] else ROUTINE_COUNTS
    for name, unit, help_text, value in ingest["counts"]:
        if value and name not in told:
            remarks.append(f"{name.replace('_', ' ')}: {text.counted(value, unit)} ({help_text.rstrip('.')})")
    if ingest["first_bad"]:
        remarks.append(f"first malformed line: {ingest['first_bad']}")
    return remarks


def nothing_in(about: Mapping[str, Any], ingest: Mapping[str, Any] | None) -> str:
    """Of a trace without reads and writes: that, and what was met instead, as the beginning of a sentence."""
    met = "; ".join(ingest_remarks(ingest))
    return f"{source_text(about)}: nothing in the trace reads or writes{f' ({met})' if met else ''}"


def chosen(source: Mapping[str, Any]) -> str:
    """How the requests were chosen, beside the files."""
    beside = ("kind", "paths", "sha256", "names")
    given = {key.replace("_", " "): value for key, value in source.items() if key not in beside}
    return ", ".join(f"{key} {value}" for key, value in given.items())
