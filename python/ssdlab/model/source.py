"""Sources of requests: a trace in memory, a file, a generated workload."""

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
"""Counts of an ingest report that cause no remark, because every trace has them."""

INTERVAL_PAGE = "4KiB"
"""Default page size for write intervals."""

LOGS = ("3%", "5%", "10%", "15%", "20%", "25%")
"""Default log sizes, as shares of the number of written pages. The FASTer slides use the same sizes."""

CACHES_INSTEAD = "simulate caches with 'ssdlab cache sim --objects'"
"""Remedy for a trace of cache objects if drive addresses are needed."""

RANGE = "16MiB"
"""Default size of an address range, taken from the slides on map caches."""

MOST_UNTIMED = 1_000_000
"""Number of requests to check for timestamps. If all of them have time 0, the trace is treated as having no timestamps.
"""


class Source(ABC):
    """Base class of all sources of requests."""

    @abstractmethod
    def open(self) -> RequestSource:
        """Starts a pass over the requests."""

    def open_objects(self, granularity: str) -> RequestSource:
        """Starts a pass over accesses to cache objects, which only trace files distinguish from drive requests."""
        return self.open()

    def open_addresses(self, instead: str = CACHES_INSTEAD) -> RequestSource:
        """Starts a pass over requests that address a drive."""
        reader = self.open()
        self.refuse_objects(self.report_of(reader), instead)
        return reader

    def refuse_objects(self, ingest: Mapping[str, Any] | None, instead: str = CACHES_INSTEAD) -> None:
        """Rejects the report of a pass over cache objects. `instead` is the remedy in the message."""
        objects = objects_of(ingest)
        if objects is not None:
            raise TraceError(
                f"{source_text(self.about)}: contains cache objects ({objects}), which have no drive addresses; "
                f"{instead}"
            )

    @property
    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Describes the source for results: `kind` is `trace`, `memory` or `workload`."""

    def report_of(self, reader: RequestSource) -> dict[str, Any] | None:
        """Returns the report of a finished pass; None if the requests come from no file."""
        return None

    def read(
        self, add: Callable[[_ssdlab.Requests], object], monitor: Monitor | None = None, phase: str = "scan"
    ) -> dict[str, Any] | None:
        """Passes all batches to `add`; returns the report on reading the trace."""
        reader = self.open()
        for batch in batches(reader, monitor, phase, ahead=True):
            add(batch)
        return self.report_of(reader)

    def at_times(self, config: "Config") -> "Config":
        """Returns the configuration, with replay at the timestamps, if any, unless the user chose another mode."""
        timed = config.at_times()
        return timed if timed is not config and self.has_times() else config

    def has_times(self) -> bool:
        """True if one of the first `MOST_UNTIMED` requests has a time after the start of the trace."""
        read = 0
        for batch in batches(self.open()):
            if batch.has_times():
                return True
            read += len(batch)
            if read >= MOST_UNTIMED:
                break
        return False

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Adds the position in the trace to errors about requests beyond the device. Reads the trace again for it,
        because a replay counts requests instead of lines.
        """
        try:
            yield
        except SimulationError as error:
            capacity_bytes = getattr(error, "capacity_bytes", None)
            if capacity_bytes is not None:
                # If the trace can no longer be read, the error keeps its message, which does not name the line of the
                # request.
                with suppress(TraceError):
                    error.args = (self.beyond(capacity_bytes) or str(error),)
            raise

    def beyond(self, capacity_bytes: int) -> str | None:
        """Describes the first request past the end of its device; None if all fit, or have no position in a file."""
        return None

    def profile(self) -> dict[str, Any]:
        """Profiles the requests in one pass: volumes, sizes, footprint, sequentiality, and number of named `streams`.

        Raises:
            TraceError: If a file cannot be read.
        """
        profile = _ssdlab.Profile()
        self.read(profile.add)
        return profile.figures()

    def address_space(self, config: "Config", monitor: Monitor | None = None) -> _ssdlab.AddressSpace | None:
        """Finds the addresses in a separate pass; returns None if `host.fit` does not need them."""
        if not config._inner.needs_extent():
            return None
        space = _ssdlab.AddressSpace(config._inner)
        ingest = self.read(space.add, monitor)
        if space.is_empty():
            raise TraceError(
                f'{nothing_in(self.about, ingest)}, so host.fit = "compact" has no pages to pack; use a trace with '
                "reads or writes, or set device.capacity=1GiB and another host.fit"
            )
        return space

    @takes()
    def intervals(
        self, *, page: str = INTERVAL_PAGE, logs: Sequence[str] = LOGS, monitor: Monitor | None = None
    ) -> "WriteIntervals":
        """Measures write intervals in two passes, using 24 to 48 bytes of memory per written page.

        Args:
            page: Size of a page.
            logs: Sizes of a log: a share of the written pages (`"10%"`), a size (`"64MiB"`) or a number of pages
                (`"4096"`).
            monitor: Progress callback as in `simulate`, in the phases `scan` and `count`. If it returns a true value,
                KeyboardInterrupt is raised.

        Raises:
            TraceError: If a file cannot be read, there are no writes, or a size is invalid.
        """
        found: WriteIntervals = room("analyse.intervals").measure(self, page, logs, monitor)
        return found

    @takes()
    def analyze(self, *, range: str = RANGE, monitor: Monitor | None = None) -> "TraceAnalysis":
        """Analyses addresses, distances, sizes, working sets, order and arrivals in one pass, using at most 240 MiB of
        memory.

        Args:
            range: Size of an address range, from `"512B"` to `"1TiB"`.
            monitor: Progress callback as in `simulate`, in the phase `scan`. If it returns a true value, the part read
                so far is analysed; if nothing was read, KeyboardInterrupt is raised.

        Raises:
            TraceError: If a file cannot be read, no request has an address, or the range is invalid.
        """
        found: TraceAnalysis = room("analyse.workload").measure(self, range, monitor)
        return found


def is_generated(source: Mapping[str, Any]) -> bool:
    """True if the requests are a generated workload."""
    return bool(source["kind"] == "workload")


def source_text(source: Mapping[str, Any]) -> str:
    """Describes the source of requests in one line."""
    if source["kind"] == "trace":
        return ", ".join(source.get("names") or (name_of(Path(path)) for path in source["paths"]))
    if source["kind"] == "memory":
        return f"{text.counted(source['requests'], 'requests')} in memory"
    return f"{source['pattern']} workload, {text.counted(source['requests'], 'requests')}"


def identified(source: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the source with the SHA-256 of each file, computed unless recorded; None for a pipe."""
    if "paths" not in source or "sha256" in source:
        return dict(source)
    return {**source, "sha256": [_digest(Path(path)) for path in source["paths"]]}


def identify_meanwhile(source: Mapping[str, Any]) -> None:
    """Computes the digests for `identified` on a thread, while the caller reads the files."""

    def identify() -> None:
        # Errors are ignored here, because the reader of the file reports them.
        with suppress(OSError):
            identified(source)

    threading.Thread(target=identify, daemon=True).start()


_identifying = threading.Lock()
"""Lock held while a digest is computed, so that other callers wait for the result."""


def _digest(path: Path) -> str | None:
    if not path.is_file():
        return None
    status = path.stat()
    with _identifying:
        return _digest_of(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _digest_of(path: Path, _size: int, _changed_ns: int) -> str:
    """Returns the SHA-256 of a file; the cached digest is valid for this size and modification time."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def ingest_dict(ingest: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Returns the report on reading a trace, ready for JSON."""
    if ingest is None:
        return None
    return {**ingest, "counts": {name: value for name, _, _, value in ingest["counts"]}}


def ingest_of(recorded: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Converts the result of `ingest_dict` back to a report.

    Raises:
        KeyError: If a counter is unknown.
    """
    if recorded is None:
        return None
    known = {name: (unit, help_text) for name, unit, help_text in _ssdlab.ingest_counters()}
    counts = [(name, *known[name], value) for name, value in recorded["counts"].items()]
    return {**recorded, "counts": counts, "other_devices": [(name, count) for name, count in recorded["other_devices"]]}


def ingest_remarks(ingest: Mapping[str, Any] | None) -> list[str]:
    """Returns remarks on how the trace was read; empty if there were no irregularities."""
    if ingest is None:
        return []
    remarks = list(ingest["notes"])
    # Omits the counter for other devices at the end of the trace, because the reader's notes then state the number of
    # their requests.
    omitted = (*ROUTINE_COUNTS, "other_device") if ingest["other_devices"] else ROUTINE_COUNTS
    for name, unit, help_text, value in ingest["counts"]:
        if value and name not in omitted:
            meaning = help_text[:1].lower() + help_text[1:].rstrip(".")
            remarks.append(f"{name.replace('_', ' ')}: {text.counted(value, unit)} ({meaning})")
    if ingest["first_bad"]:
        remarks.append(f"first malformed line: {ingest['first_bad']}")
    return remarks


def nothing_in(about: Mapping[str, Any], ingest: Mapping[str, Any] | None) -> str:
    """Returns the error for a trace without reads and writes, with the remarks on reading it."""
    remarks = "; ".join(ingest_remarks(ingest))
    return f"{source_text(about)}: the trace has no reads and no writes{f' ({remarks})' if remarks else ''}"


def chosen(source: Mapping[str, Any]) -> str:
    """Returns the options that the user gave for reading the trace, as text."""
    beside = ("kind", "paths", "sha256", "names")
    given = {key.replace("_", " "): value for key, value in source.items() if key not in beside}
    return ", ".join(f"{key} {value}" for key, value in given.items())
