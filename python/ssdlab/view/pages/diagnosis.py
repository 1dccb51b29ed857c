"""Builds the report page of a diagnosis: findings, parts of response times, and effects of the changes tried."""

from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any

from ssdlab import text
from ssdlab.model.config import is_made
from ssdlab.model.diagnosis import Diagnosis
from ssdlab.model.metrics import BY_NAME, Summary
from ssdlab.model.remarks import UNFINISHED, UNSETTLED, changed
from ssdlab.model.remedy import remedy
from ssdlab.model.replayed import replay_text
from ssdlab.model.source import chosen, ingest_remarks, is_generated
from ssdlab.view.page import Page, Paragraph, Section, Table, known
from ssdlab.view.pages.tables import below

Finding = Mapping[str, Any]

TOP = 3
"""Number of findings that the page of a run shows."""

NOTABLE = 0.02
"""Minimum relative loss of throughput that is reported."""

PARTS = {
    "own_work": "own flash operations",
    "host_reads": "host reads",
    "host_writes": "host writes",
    "partial_pages": "partial-page reads",
    "collection": "GC and merges",
    "map": "map in flash",
    "bus": "channel",
    "order": "dependency on other dies",
    "controller": "controller",
    "link": "link",
    "flush": "flushes",
    "block_layer": "block layer",
    "host_queue": "drive queues",
}
"""Names of the parts of a response time."""

WHAT_IFS = {
    "dies": "halve the NAND latencies",
    "channels": "double the channel rate",
    "link": "double the link rate",
    "controller": "double the controller speed",
    "buffer": "double the write buffer",
    "protected": "write buffer with power-loss protection",
    "slots": "double the drive's queue slots",
    "depth": "double the queue depth",
    "no_think": "no think time",
    "no_block_layer": "no block layer",
    "spare": "double the over-provisioning",
    "placement": "GC writes to its own open blocks",
    "map": "whole map in RAM",
    "cache": "double the cache",
}
"""Names of the what-if changes that a diagnosis tries."""

WORK = {
    **{name: PARTS[name] for name in ("host_reads", "host_writes", "partial_pages", "map")},
    "collection": "garbage collection",
    "merges": "merges",
}
"""Names of the types of work that keep dies busy."""

HOST = {
    "drive": "waiting for the drive",
    "dirty_limit": "waiting at the dirty-page limit",
    "cache": "in the cache",
}
"""Names of the parts of a host request's latency if there is a cache."""


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


class _Sentence(Formatter):
    """Fills in a template; a field may name the formatter of its number, as in `{p99_ns:ns}`."""

    WRITERS: Mapping[str, Callable[[float], str]] = {
        "%": _percent, "share": text.percent, "count": text.count, "decimal": text.decimal, "ns": text.duration,
        "bytes": text.size, "ratio": text.ratio, "digits": text.significant,
    }  # fmt: skip

    def format_field(self, value: Any, format_spec: str) -> str:
        return self.WRITERS[format_spec](value) if format_spec else str(value)

    def fields(self, template: str) -> set[str]:
        return {name for _, name, _, _ in self.parse(template) if name}


_SENTENCE = _Sentence()
_Words = tuple[str, ...]
"""Templates for headline and evidence of a finding; evidence is omitted if the finding lacks a field of it."""

_BUSY = ("busy: {busy}; {outstanding:decimal} requests outstanding{where} on average",)
_OF_TIMES = "{share:%} of the response times{where}"
_SLOW = (
    "slow {kind}: {share:%} of p99 is due to {part}",
    "{room_share:%} of p99 is waiting for space in the write buffer",
    "response time {p50_ns:ns} at p50 ({p50_share:%} due to {part}), {p99_ns:ns} at p99, {p99_9_ns:ns} at p99.9 "
    "({p99_9_share:%})",
)
_WAF = "WAF {write_amplification:ratio}{unwritten}"
_MISSES = ("the working set is larger than the {cache_name}", "{miss_ratio:%} of the look-ups miss")

THROUGHPUT: Mapping[str, str] = {
    **{
        name: f"the {name}: busy {{{name}:%}} of the time"
        for name in ("controller", "link", "channels", "dies", "cache")
    },
    **{
        name: f"the dies: busy {{dies:%}} of the time, {{cells_{'collection' if name == 'merges' else name}:%}} of it "
        f"with {work}"
        for name, work in WORK.items()
    },
    **{
        f"uneven_{kind}": f"the busiest of the {kind}: busy {{busiest:%}} of the time; mean of all {kind}: {{{kind}:%}}"
        for kind in ("dies", "channels")
    },
    "full_buffer": f"space in the write buffer: {_OF_TIMES}",
    "flush": f"flushes: {_OF_TIMES}",
    "block_layer": f"the block layer: {_OF_TIMES}",
    "queue_slots": f"the drive's queue slots: {_OF_TIMES}",
    "host_depth": "the host: {outstanding:decimal} requests outstanding{where} for {dies_count:count} dies",
    "think_time": "host think time: {share:%} of the time, {think_ns:ns} after each request",
    "arrivals": "the workload: the drive keeps up with all requests",
}
"""Texts of findings about throughput limits, by the name of the finding."""

_AT_WORK = (
    "{work}: {share:%} of the response times; on average {dies_at_work:decimal} of {dies_count:count} dies are busy"
)

OTHERS: Mapping[tuple[str, str], _Words] = {
    **{
        ("host", name): (
            f"host requests spend {{share:%}} of their time {words}",
            "response time {mean_ns:ns} on average, {p99_ns:ns} at p99; "
            + ", ".join(f"{{{other}:%}} {HOST[other]}" for other in HOST if other != name),
        )
        for name, words in HOST.items()
    },
    ("write_amplification", "collection"): (
        "write amplification: {share:%} of the programs are GC copies",
        _WAF,
        "{victims}",
        "effective over-provisioning {effective_op:%}",
    ),
    ("write_amplification", "merges"): (
        "write amplification: {share:%} of the programs are merge copies",
        _WAF,
        "merges: {full:count} full, {partial:count} partial, {switch:count} switch",
        "{associativity:decimal} logical blocks merged per reclaim",
    ),
    ("write_amplification", "log_copies"): (
        "write amplification: {share:%} of the programs are copies within the log",
        _WAF,
        "{second_chance:count} pages copied on their second chance, {isolation:count} copied to the isolation area",
    ),
    ("write_amplification", "map"): (
        "write amplification: {share:%} of the programs are map pages",
        _WAF,
        "map hit ratio {hit_ratio:%}",
    ),
    ("write_amplification", "partial_pages"): (
        "{share:%} of host page writes are partial",
        "{pages:count} partial writes to pages of {page_bytes:bytes}",
        "{read_first:count} pages were read before a partial write",
        "to avoid partial writes, write whole pages or use smaller pages",
    ),
    ("write_amplification", "spare_held_back"): (
        "GC cannot use {share:%} of the over-provisioning: erased pages and the map occupy it",
        "over-provisioning {op_over_logical:%}, effective over-provisioning {effective_op:%} (invalid pages per valid "
        "page during GC)",
    ),
    ("write_amplification", "hot_with_cold"): (
        "write amplification: up to {share:%} of the programs are due to hot and cold data in the same blocks",
        "writes are as concentrated as if they went uniformly to {written_share:share} of the pages; "
        "{valid_share_of_victims:%} of the pages in victims are valid, compared with {valid_share_evenly:%} for "
        "uniform writes to all pages",
        "with hot and cold data separated, WAF could fall from {write_amplification:ratio} towards "
        "{write_amplification_apart:ratio}; use {placement}a victim policy that considers block age",
    ),
    ("wear", "uneven_wear"): (
        "uneven wear of blocks",
        "{erase_mean:decimal} erases per block on average, {erase_max:count} on the most-worn block",
    ),
    ("input", "never_full"): (
        "the drive never fills up: nothing was erased",
        "{pages_written:count} pages were written; the flash has {physical_pages:count} pages",
        "to measure the steady state: --set precondition.overwrite=steady",
    ),
    ("input", "too_short"): (
        "too few requests for a steady state",
        "the host wrote {capacities_written:digits} times the capacity; {capacities_needed:digits} times are needed",
    ),
    **{("input", name): ("write amplification has not settled", "it {changed}") for name in UNSETTLED},
    ("input", "times_ignored"): (
        "the replay ignores the timestamps of the trace",
        "the trace lasts {trace_ns:ns}",
        "the replay lasts {elapsed_ns:ns}",
        "to use the timestamps: --replay recorded",
    ),
    ("input", "queue_grows"): (
        "requests arrive faster than the drive serves them: response times include a growing queue",
        "the drive finished {behind_ns:ns} after the last arrival",
    ),
    ("input", "map_cache_too_small"): _MISSES,
    ("input", "cache_too_small"): _MISSES,
    ("input", "idle_never_collects"): (
        "GC could use idle time, but never does",
        "all {collected:count} GC copies and erases ran while requests were served, or within {after_ns:ns} afterwards",
        "to collect while requests are served: --set drive.collect=background",
    ),
    ("input", "idle_collects_all"): (
        "nearly all GC runs in idle time: response times hold only for workloads with similar idle times",
        "{share:%} of {collected:count} GC copies and erases ran after {after_ns:ns} without requests",
        "for workloads without idle times: --set drive.collect=foreground",
    ),
}
"""Texts of all findings except findings about slow requests."""


def _templates(about: str, name: str, evidence: Mapping[str, float]) -> _Words:
    if about == "throughput":
        limit = _AT_WORK if name in WORK and "dies_at_work" in evidence else THROUGHPUT[name]
        return f"throughput is limited by {limit}", *_BUSY
    return _SLOW if about.startswith("slow_") else OTHERS[about, name]


def _values(finding: Finding) -> dict[str, Any]:
    """Returns the values of the placeholders in a finding's text."""
    about, name, evidence = finding["about"], finding["name"], finding["evidence"]
    resources = [part for part in ("dies", "channels", "link", "controller", "cache") if part in evidence]
    valid = evidence.get("valid_share_of_victims")
    return {
        **{key: value for key, value in evidence.items() if key != "room_share" or value},
        "share": finding["share"],
        "busy": ", ".join(f"{resource} {_percent(evidence[resource])}" for resource in resources),
        # The evidence includes the cache's utilisation only if the run has a cache.
        "where": " below the cache" if "cache" in evidence else "",
        "work": WORK.get(name, ""),
        "kind": about.removeprefix("slow_").replace("_below", " below the cache"),
        "part": PARTS.get(name, ""),
        "cache_name": "map cache" if name == "map_cache_too_small" else "cache",
        "unwritten": " (part of the host's writes is still in the write buffer)"
        if evidence.get("write_amplification", 1.0) < 1.0
        else "",
        # If no victim was chosen in the measured phase, all copies come from a victim that was chosen earlier.
        "victims": "no victim was chosen during the measurement"
        if valid is None
        else f"victims are {_percent(valid)} valid",
        "placement": "--set ftl.page.survivors=own and " if "placement" in finding["what_ifs"] else "",
        "changed": changed(name, evidence) if name in UNSETTLED else "",
    }


def words(finding: Finding) -> tuple[str, str]:
    """Returns the headline and evidence of a finding."""
    values = _values(finding)
    headline, *pieces = _templates(finding["about"], finding["name"], finding["evidence"])
    known = [piece for piece in pieces if values.keys() >= _SENTENCE.fields(piece)]
    return _SENTENCE.vformat(headline, (), values), "; ".join(_SENTENCE.vformat(piece, (), values) for piece in known)


def top(findings: Sequence[Finding]) -> list[str]:
    """Returns the headlines of the findings with the largest weight."""
    return [f"{number}. {words(finding)[0]}" for number, finding in enumerate(findings[:TOP], 1)]


def page(diagnosis: Diagnosis) -> Page:
    """Returns the page of a diagnosis."""
    sections = [Section("Findings", findings(diagnosis))]
    if diagnosis.what_ifs:
        sections.append(Section("What if", [_changes(diagnosis), *_remarks(diagnosis)]))
    more = ""
    if diagnosis.response is not None and has_parts(diagnosis.response):
        more = "--all shows the parts of response times"
        title = below("What requests wait for", diagnosis.summary)
        sections.append(Section(title, [parts_table(diagnosis.response, diagnosis.summary)], detail=True))
    return Page(
        title=replay_text(diagnosis.source, _settings(diagnosis), diagnosis.summary),
        chosen=chosen(diagnosis.source),
        partial="the run was stopped before its end" if diagnosis.partial else "",
        remarks=ingest_remarks(diagnosis.ingest),
        sections=sections,
        more=more,
    )


def _settings(diagnosis: Diagnosis) -> dict[str, Any]:
    return {key: setting["value"] for key, setting in diagnosis.configuration.items()}


def findings(diagnosis: Diagnosis) -> list[Paragraph]:
    """Returns the findings, most important first, each with its evidence and the changes worth trying."""
    paragraphs = []
    for number, finding in enumerate(diagnosis.findings, 1):
        headline, evidence = words(finding)
        if finding["name"] in UNFINISHED:
            evidence += _remedy(diagnosis, finding["evidence"])
        paragraphs += [Paragraph(f"{number}. {headline}", "strong"), Paragraph(evidence, belongs=True)]
        if finding["what_ifs"]:
            changes = "; ".join(WHAT_IFS[name] for name in finding["what_ifs"])
            paragraphs.append(Paragraph(f"worth trying: {changes}", "soft", belongs=True))
    return paragraphs or [Paragraph("nothing stands out")]


def _remedy(diagnosis: Diagnosis, evidence: Mapping[str, float]) -> str:
    capacity = diagnosis.configuration.get("device.capacity")
    sized = capacity is not None and is_made(capacity["origin"])
    generated = is_generated(diagnosis.source)
    return remedy(_settings(diagnosis), diagnosis.summary, evidence, generated=generated, sized=sized).text


COLUMNS = {"all": "all", "p50": "p50", "p99": "p99", "p99_9": "p99.9"}


def has_parts(response: Mapping[str, Any]) -> bool:
    """True if there are reads or writes, because the response times of trims and flushes are not split into parts."""
    return bool(response["read"] or response["write"])


def parts_table(response: Mapping[str, Any], summary: Summary) -> Table:
    """Returns a table of the parts of response times, for requests around each percentile."""
    groups = {
        f"{op} {column}": response[op][key]
        for op in ("read", "write")
        if response[op]
        for key, column in COLUMNS.items()
    }

    def means(sums_ns: Sequence[int]) -> list[str]:
        pairs = zip(groups.values(), sums_ns, strict=True)
        return [text.duration(ns / group["requests"]) if ns else text.MISSING for group, ns in pairs]

    rows = [
        (label, means([group["parts_ns"].get(part, 0) for group in groups.values()]))
        for part, label in PARTS.items()
        if any(part in group["parts_ns"] for group in groups.values())
    ]
    rows.append(("response time", means([group["sum_ns"] for group in groups.values()])))
    note = "Means over the requests between the percentiles q ± (1 - q) / 2. The parts add up to the response time."
    return Table.named(groups, rows, below("Parts of response times", summary), note=note)


CHANGED = {
    "iops": BY_NAME["time.iops"],
    "read_p99_ns": BY_NAME["latency.read.p99_ns"],
    "write_p99_ns": BY_NAME["latency.write.p99_ns"],
    "write_amplification": BY_NAME["write_amplification"],
}
"""Metrics shown in the table of tried changes."""


def _with_settings(change: Mapping[str, Any]) -> str:
    return f"{WHAT_IFS[change['name']]} ({' '.join(f'{key}={value}' for key, value in change['settings'].items())})"


def _changes(diagnosis: Diagnosis) -> Table:
    changes = diagnosis.to_dict()["what_ifs"]

    def cells(figures: Mapping[str, float | None]) -> list[str]:
        return [known(metric.format, figures[key]) for key, metric in CHANGED.items()]

    rows = [("unchanged", cells(changes[0]["before"]))]
    rows += [(_with_settings(change), cells(change["after"])) for change in changes if change["after"]]
    return Table.named([metric.label for metric in CHANGED.values()], rows, "The same requests with one change")


def _remarks(diagnosis: Diagnosis) -> list[Paragraph]:
    changes = diagnosis.to_dict()["what_ifs"]
    remarks = []
    if any(finding["name"] in UNFINISHED for finding in diagnosis.findings):
        # Garbage collection comes in bursts, so runs may differ merely because they end at different points of a burst.
        remarks.append("the drive has not settled: differences may be due to the timing of GC")
    slower = []
    for change in changes:
        if change["after"]:
            before, after = (change[when]["iops"] or 0.0 for when in ("before", "after"))
            if after < (1 - NOTABLE) * before:
                rates = f"{text.short_count(after)} instead of {text.short_count(before)} requests/s"
                slower.append(f"{WHAT_IFS[change['name']]} ({rates})")
    if slower:
        remarks.append(f"slower: {', '.join(slower)}")
    remarks += [
        f"{_with_settings(one)} could not be tried: {one['why_not']}" for one in changes if one["after"] is None
    ]
    return [Paragraph(remark, "soft") for remark in remarks]
