"""Traces taken below the scheduler of one drive and replayed on another, as studies of schedulers do it."""

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
"""The bit of `flags` of a request that somebody waits for."""

SECTOR_BYTES = 512


class Taking(NamedTuple):
    """How the trace between the two drives is taken."""

    partition: int = 0
    """Sector that the partition begins at, to which the addresses of the file system are relative."""
    sync: bool = False
    """Whether somebody waits for every write, not only for those that the workload says."""
    events: str = "dispatched"
    """Which events of a request are replayed; see `EVENTS`."""
    reads: bool = True
    """Whether reads are replayed."""
    pages: bool = False
    """Whether a request is replayed as whole pages: from the page that it begins in, as many as its bytes fill. It is
    then never spread over one page more for beginning inside one."""
    seconds: float = 0.0
    """Simulated time after which no more is taken; 0: all that was dispatched."""


EVENTS = {
    "dispatched": "what the scheduler gives to the drive",
    "all": "each request as it is queued, as it is dispatched and as it is complete: a trace whose events nobody has "
    "told apart",
}


class Below(NamedTuple):
    """The second drive of a run."""

    config: Config
    taking: Taking

    def results(self, above: Config) -> dict[str, Any]:
        """What `Result.to_dict` has of the first run, and as `below` of the second.

        Raises:
            SsdlabError: If one of them fails, or the first has no scheduler whose requests are recorded.
        """
        queued = issued(generate(above), self.taking)
        first = simulate(above, queued, diagnose=False)
        if first.dispatched is None:
            raise ConfigError("block.record: nothing below the scheduler was recorded; set it, with a block.scheduler")
        page_bytes = _ssdlab.WrittenPages(self.config["nand.page_size"]).page_bytes()
        second = simulate(self.config, taken(first.dispatched, queued, self.taking, page_bytes), diagnose=False)
        return {**first.to_dict(), "below": second.to_dict()}


def issued(workload: Trace, taking: Taking) -> Trace:
    """The requests that a file system on a partition gives to the block layer."""
    columns = workload.columns()
    if taking.partition:
        # A flush has no address.
        before = np.uint64(taking.partition * SECTOR_BYTES)
        columns["offset"] = np.where(columns["bytes"] > 0, columns["offset"] + before, columns["offset"])
    if taking.sync:
        columns["flags"] = np.where(columns["op"] == WRITE, columns["flags"] | SYNC, columns["flags"])
    return Trace.from_columns(**columns, streams=workload.streams)


def taken(dispatched: Trace, queued: Trace, taking: Taking, page_bytes: int) -> Trace:
    """The requests that are replayed.

    Args:
        dispatched: What the scheduler gave to the drive.
        queued: What it was given.
        taking: How they are taken.
        page_bytes: The page of the drive that replays them.
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
    """Each request once as it is queued, once as it is dispatched and once as it is complete.

    A closed loop has no time of queueing of its own, so that requests are queued when as many bytes were dispatched;
    few wait at a time. What is dispatched is complete next.
    """
    at = [np.cumsum(one["bytes"].astype(np.int64)) for one in (queued, dispatched)]
    early = at[0] <= (at[1][-1] if len(at[1]) else 0)
    # Stable: of equal places what is queued comes first, and what is complete last.
    order = np.argsort(np.concatenate([at[0][early], at[1], at[1]]), kind="stable")
    return {name: np.concatenate([queued[name][early], dispatched[name], dispatched[name]])[order] for name in queued}
