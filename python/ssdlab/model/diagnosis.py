"""What is the matter with a run."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab.model.finding import Finding
from ssdlab.model.source import source_text

Summary = Mapping[str, Any]

PARTS = (
    *("own_work", "host_reads", "host_writes", "partial_pages", "collection", "map", "bus", "order", "controller"),
    *("link", "flush", "block_layer", "host_queue"),
)
"""Parts of a response time."""

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
"""What findings are about, and their names."""

WHAT_IFS = (
    *("dies", "channels", "link", "controller", "buffer", "protected", "slots", "depth", "no_think", "no_block_layer"),
    *("spare", "placement", "map", "cache"),
)
"""Names of changes."""


_FIGURES = {
    "throughput": "iops",
    "slow_reads": "read_p99_ns",
    "slow_writes": "write_p99_ns",
    "write_amplification": "write_amplification",
}
"""The figure of a run that a change should better, by what a finding is about. All but the rate should fall."""


class WhatIf(NamedTuple):
    """One thing changed, and what came of it."""

    name: str
    """What was changed: `dies`, `channels`, `link` or `controller` twice as fast; `buffer`, `slots`, `depth`, `spare`
    or `cache` twice as much; `protected`, `no_think`, `no_block_layer`, `placement` or `map`."""
    settings: Mapping[str, str]
    """The settings that change it."""
    summary: Summary | None
    """The figures of the run with the change, those of `Result.summary`; None if there is no such drive."""
    why_not: str = ""
    """Why there is none."""


class Diagnosis(Finding):
    """Findings about a run, the weightiest first, with what response times are made of and what changes would do.

    First come the causes that bound throughput, then what slow reads and writes are made of, then the rest by share.
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
        self.source = dict(source)
        """Where the requests came from, as of the result."""
        self.summary = summary
        """The figures of the run."""
        self.ingest = ingest
        """How the trace was read, as of the result."""
        self.what_ifs = list(what_ifs)
        """The changes that were tried."""
        self.configuration = configuration
        """The configuration that was run, each setting with its `value` and `origin`."""
        self._stopped = partial

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Each finding: `about`, `name`, `share`, `evidence` and `what_ifs`.

        `share` is between 0 and 1, of what it is about; `evidence` are figures; `what_ifs` are names of changes that
        would tell whether it is so. Where changes were tried, those that gain most come first, and so do the causes of
        the throughput that they belong to.
        """
        gains = {one.name: self._gains(one) for one in self.what_ifs}
        found = [self._ranked(finding, gains) for finding in self.summary["diagnosis"]]
        causes = sum(finding["about"] == "throughput" for finding in found)

        def gain(cause: dict[str, Any]) -> float:
            return max((gains.get(name, {}).get("throughput", 1.0) for name in cause["what_ifs"]), default=1.0)

        return sorted(found[:causes], key=gain, reverse=True) + found[causes:]

    def _gains(self, what_if: WhatIf) -> dict[str, float]:
        """Factors by which a change betters the figure that a finding is about; nothing if it was not tried."""
        if what_if.summary is None:
            return {}
        before, after = _figures(self.summary), _figures(what_if.summary)
        factors = {}
        for about, figure in _FIGURES.items():
            old, new = before[figure], after[figure]
            if old and new:
                factors[about] = new / old if figure == "iops" else old / new
        return factors

    @staticmethod
    def _ranked(finding: dict[str, Any], gains: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
        """A finding with the changes first that gain most; those without a gain stay in their order behind them."""

        def gain(name: str) -> float:
            return gains.get(name, {}).get(finding["about"], 1.0)

        return {**finding, "what_ifs": sorted(finding["what_ifs"], key=gain, reverse=True)}

    @property
    def response(self) -> dict[str, Any] | None:
        """What the response times of `all` requests, `read` and `write` are made of; with a cache, of those below it.

        For `all` of them and around `p50`, `p99` and `p99_9`: the `requests`, the `sum_ns` of their response times and
        its `parts_ns`, which add up to it. None unless `time` is `event`.
        """
        drive = self.summary["drive"]
        found: dict[str, Any] | None = None if drive is None else drive["response"]
        return found

    @property
    def partial(self) -> bool:
        """Whether the run was stopped before its end."""
        return self._stopped

    def __repr__(self) -> str:
        found = ", ".join(one["name"] for one in self.findings) or "nothing stands out"
        return f"<ssdlab.Diagnosis of {source_text(self.source)}: {found}>"

    def to_dict(self) -> dict[str, Any]:
        """Findings, the parts of response times and the changes tried, ready for JSON."""
        return {
            "findings": self.findings,
            "response": self.response,
            "what_ifs": [self._changed(one) for one in self.what_ifs],
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

    def _source(self) -> Mapping[str, Any]:
        return self.source

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
