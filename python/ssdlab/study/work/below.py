"""Records the requests that a scheduler sends to one drive, and replays them on a second drive."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import np
from ssdlab.model.config import Config
from ssdlab.model.simulation import simulate
from ssdlab.model.trace import Trace, generate

READ, WRITE = 0, 1
SYNC = 1
"""Bit of `flags` that marks synchronous requests, for which a process waits."""

SECTOR_BYTES = 512


class Taking(NamedTuple):
    """Options that turn the first drive's recording into the trace that the second drive replays."""

    partition: int = 0
    """First sector of the partition; addresses of the file system are relative to it."""
    sync: bool = False
    """True to treat every write as synchronous."""
    events: str = "dispatched"
    """Events of each request that are replayed; a key of `EVENTS`."""
    reads: bool = True
    pages: bool = False
    """True to replay whole pages: a request starts at the page of its first byte, and its size is rounded up. An
    unaligned request therefore touches no extra page.
    """
    seconds: float = 0.0
    """Simulated time in seconds up to which the recording is replayed; 0 for no limit."""


EVENTS = {
    "dispatched": "the requests that the scheduler sends to the drive",
    "all": "each request three times, once for each event: queued, dispatched and completed",
}


class Below(NamedTuple):
    """The second drive of a run, and the options that select its trace."""

    config: Config
    taking: Taking

    def results(self, above: Config) -> dict[str, Any]:
        """Simulates both drives. Returns the first drive's result, with the second drive's result under `below`."""
        queued = issued(generate(above), self.taking)
        first = simulate(above, queued, diagnose=False)
        if first.dispatched is None:
            raise ConfigError(
                "block.record: the run recorded no requests below the scheduler; set block.record and block.scheduler"
            )
        page_bytes = _ssdlab.WrittenPages(self.config["device.unit"]).page_bytes()
        second = simulate(self.config, taken(first.dispatched, queued, self.taking, page_bytes), diagnose=False)
        return {**first.to_dict(), "below": second.to_dict()}


def issued(workload: Trace, taking: Taking) -> Trace:
    """Returns a workload's requests, shifted into the partition and, with `taking.sync`, with synchronous writes."""
    columns = workload.columns()
    if taking.partition:
        # Flushes have no address to shift.
        before = np.uint64(taking.partition * SECTOR_BYTES)
        columns["offset"] = np.where(columns["bytes"] > 0, columns["offset"] + before, columns["offset"])
    if taking.sync:
        columns["flags"] = np.where(columns["op"] == WRITE, columns["flags"] | SYNC, columns["flags"])
    return Trace.from_columns(**columns, streams=workload.streams)


def taken(dispatched: Trace, queued: Trace, taking: Taking, page_bytes: int) -> Trace:
    """Returns the requests that the second drive replays, from those that the scheduler dispatched and received
    (`queued`). `page_bytes` is the page size of the second drive.
    """
    columns: Mapping[str, Any] = {name: dispatched.columns()[name] for name in ("op", "offset", "bytes")}
    if taking.seconds:
        early = dispatched.time_ns <= np.uint64(round(taking.seconds * 1e9))
        columns = {name: column[early] for name, column in columns.items()}
    if taking.events == "all":
        columns = _every_event(columns, {name: queued.columns()[name] for name in columns})
    if not taking.reads:
        kept = columns["op"] != READ
        columns = {name: column[kept] for name, column in columns.items()}
    if taking.pages:
        pages = -(-columns["bytes"].astype(np.int64) // page_bytes)
        columns = {
            "op": columns["op"],
            "offset": columns["offset"] // np.uint64(page_bytes) * np.uint64(page_bytes),
            "bytes": (pages * page_bytes).astype(np.uint32),
        }
    return Trace.from_columns(**columns)


def _every_event(dispatched: Mapping[str, Any], queued: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns each request three times, once for each event: queued, dispatched and completed.

    Recordings of closed-loop workloads have no queueing times, so the order is estimated. The n-th byte is assumed to
    be queued when n bytes have been dispatched, because few requests wait at the same time. A request is assumed to
    complete right after its dispatch.
    """
    at = [np.cumsum(one["bytes"].astype(np.int64)) for one in (queued, dispatched)]
    early = at[0] <= (at[1][-1] if len(at[1]) else 0)
    # The sort is stable: at equal positions, queued requests come first and completed requests last.
    order = np.argsort(np.concatenate([at[0][early], at[1], at[1]]), kind="stable")
    return {name: np.concatenate([queued[name][early], dispatched[name], dispatched[name]])[order] for name in queued}
