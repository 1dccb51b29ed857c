"""The diagnosis of a simulation run."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ssdlab.model.finding import TraceFinding
from ssdlab.model.source import source_text

Summary = Mapping[str, Any]

PARTS = (
    *("own_work", "host_reads", "host_writes", "partial_pages", "collection", "map", "bus", "order", "controller"),
    *("link", "flush", "block_layer", "host_queue"),
)
"""Names of the parts into which response times are split."""

FINDINGS: Mapping[str, tuple[str, ...]] = {
    "throughput": (
        *("controller", "link", "channels", "dies", "host_reads", "host_writes", "partial_pages", "collection"),
        *("merges", "map", "uneven_dies", "uneven_channels", "full_buffer", "flush", "block_layer", "queue_slots"),
        *("host_depth", "think_time", "arrivals", "cache"),
    ),
    "host": ("drive", "dirty_limit", "cache"),
    **dict.fromkeys(("slow_reads", "slow_writes", "slow_reads_below", "slow_writes_below"), PARTS),
    "write_amplification": (
        *("collection", "merges", "log_copies", "map", "partial_pages", "spare_held_back", "hot_with_cold"),
    ),
    "wear": ("uneven_wear",),
    "input": (
        *("never_full", "too_short", "unsettled", "unsettled_replays", "times_ignored", "queue_grows"),
        *("map_cache_too_small", "cache_too_small", "idle_never_collects", "idle_collects_all"),
    ),
}
"""Names of findings, by subject."""

WHAT_IFS = (
    *("dies", "channels", "link", "controller", "buffer", "protected", "slots", "depth", "no_think", "no_block_layer"),
    *("spare", "placement", "map", "cache"),
)
"""Names of the what-if changes that a diagnosis may try."""


_FIGURES = {
    "throughput": "iops",
    "slow_reads": "read_p99_ns",
    "slow_writes": "write_p99_ns",
    "write_amplification": "write_amplification",
}
"""Metric that a change should improve, by subject of the finding. Only IOPS should rise; all other metrics should fall.
"""


class WhatIf(NamedTuple):
    """A change that a diagnosis tried, with its result."""

    name: str
    """Name of the what-if change: `dies`, `channels`, `link` or `controller` twice as fast; `buffer`, `slots`, `depth`,
    `spare` or `cache` twice as large; `protected`, `no_think`, `no_block_layer`, `placement` or `map`.
    """
    settings: Mapping[str, str]
    summary: Summary | None
    """`Result.summary` of the run with the change; None if the change was not run."""
    why_not: str = ""
    """Reason why the change was not run."""


class Diagnosis(TraceFinding):
    """Findings about a run, with the parts of response times and the changes that were tried.

    Findings are sorted: throughput bottlenecks first, then the parts of slow reads and writes, then all other findings
    by share.
    """

    _page = "diagnosis"
    _json = "diagnosis.json"
    saved = "report.html and diagnosis.json"

    def __init__(
        self,
        *,
        source: Mapping[str, Any],
        configuration: dict[str, Any],
        summary: Summary,
        partial: bool,
        ingest: Mapping[str, Any] | None = None,
        what_ifs: Sequence[WhatIf] = (),
    ) -> None:
        super().__init__(source, ingest, partial=partial)
        self.summary = summary
        """Summary of the run that was diagnosed."""
        self.what_ifs = list(what_ifs)
        """Changes that the diagnosis tried, with their results."""
        self.configuration = configuration
        """Configuration of the run, each setting with its `value` and `origin`."""

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Findings with the keys `about`, `name`, `share`, `evidence` and `what_ifs`.

        `share` is the fraction of the subject that the finding explains, 0 to 1. `evidence` contains the numbers behind
        the finding. `what_ifs` contains the names of changes that would confirm the finding. Changes that were tried
        are sorted by gain. Findings about throughput are sorted by the gain of their best change.
        """
        gains = {what_if.name: self._gains(what_if) for what_if in self.what_ifs}

        def gain(about: str, name: str) -> float:
            # Untried changes count as having no effect, and keep their order.
            return gains.get(name, {}).get(about, 1.0)

        def best(cause: dict[str, Any]) -> float:
            return max((gain("throughput", name) for name in cause["what_ifs"]), default=1.0)

        found = [
            {**finding, "what_ifs": sorted(finding["what_ifs"], key=partial(gain, finding["about"]), reverse=True)}
            for finding in self.summary["diagnosis"]
        ]
        causes = sum(finding["about"] == "throughput" for finding in found)
        return sorted(found[:causes], key=best, reverse=True) + found[causes:]

    def _gains(self, what_if: WhatIf) -> dict[str, float]:
        """Returns the factors by which a what-if change improves metrics, by subject; empty if it was not run."""
        if what_if.summary is None:
            return {}
        before, after = _figures(self.summary), _figures(what_if.summary)
        factors = {}
        for about, figure in _FIGURES.items():
            old, new = before[figure], after[figure]
            if old and new:
                factors[about] = new / old if figure == "iops" else old / new
        return factors

    @property
    def response(self) -> dict[str, Any] | None:
        """Parts of the response times for `all` requests, for `read` and for `write`. If there is a host cache, only
        the requests that it sends to the drive are covered.

        Has entries for `all` requests and for the requests around `p50`, `p99` and `p99_9`. Each entry has the number
        of `requests`, the sum of their response times (`sum_ns`), and the parts that add up to this sum (`parts_ns`).
        None unless `time` is `event`.
        """
        drive = self.summary["drive"]
        found: dict[str, Any] | None = None if drive is None else drive["response"]
        return found

    def __repr__(self) -> str:
        names = ", ".join(finding["name"] for finding in self.findings) or "nothing stands out"
        return f"<ssdlab.Diagnosis of {source_text(self.source)}: {names}>"

    def to_dict(self) -> dict[str, Any]:
        """Returns findings, parts of response times and tried changes, ready for JSON."""
        return {
            "findings": self.findings,
            "response": self.response,
            "what_ifs": [self._changed(what_if) for what_if in self.what_ifs],
        }

    def _changed(self, what_if: WhatIf) -> dict[str, Any]:
        after = None if what_if.summary is None else _figures(what_if.summary)
        return {
            "name": what_if.name,
            "settings": dict(what_if.settings),
            "before": _figures(self.summary),
            "after": after,
            "why_not": what_if.why_not,
        }

    def _configuration(self) -> dict[str, Any]:
        return self.configuration


def _figures(summary: Summary) -> dict[str, float | None]:
    time, latency = summary["time"] or {}, summary["latency"] or {}
    return {
        "iops": time.get("iops"),
        "read_p99_ns": (latency.get("read") or {}).get("p99_ns"),
        "write_p99_ns": (latency.get("write") or {}).get("p99_ns"),
        "write_amplification": summary["write_amplification"],
    }
