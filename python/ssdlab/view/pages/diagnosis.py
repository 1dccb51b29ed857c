"""The page of a diagnosis: findings, parts of response times and changes in words."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ssdlab import text
from ssdlab.model.config import is_made
from ssdlab.model.diagnosis import Diagnosis
from ssdlab.model.remarks import UNFINISHED, UNSETTLED, changed
from ssdlab.model.remedy import remedy
from ssdlab.model.source import chosen, ingest_remarks, is_generated, source_text
from ssdlab.view.page import Page, Paragraph, Section, Table
from ssdlab.view.pages.quantities import Summary, below

Finding = Mapping[str, Any]
Evidence = Mapping[str, float]

TOP = 3
"""Findings that stand on the page of a run."""

NOTABLE = 0.02
"""Share by which a rate differs that is said to."""

PARTS = {
    "own_work": "own work of the cells",
    "host_reads": "behind host reads",
    "host_writes": "behind host writes",
    "partial_pages": "rest of partial pages",
    "collection": "behind collection or merges",
    "map": "map in flash",
    "bus": "channel",
    "order": "operations elsewhere first",
    "controller": "controller",
    "link": "link",
    "flush": "flush",
    "block_layer": "in the block layer",
    "host_queue": "in queues of the drive",
}
"""Parts of a response time in words."""

WHAT_IFS = {
    "dies": "cells twice as fast",
    "channels": "channels twice as fast",
    "link": "link twice as fast",
    "controller": "controller twice as fast",
    "buffer": "write buffer twice as large",
    "protected": "write buffer that survives a power loss",
    "slots": "twice as many requests at the drive at a time",
    "depth": "twice as many requests outstanding",
    "no_think": "no think time",
    "no_block_layer": "no block layer",
    "spare": "twice the spare",
    "placement": "survivors of collection in blocks of their own",
    "map": "map wholly in RAM",
    "cache": "cache twice as large",
}
"""Changes in words."""

WORK = {
    "host_reads": "reads of the host",
    "host_writes": "programs of the host's data",
    "partial_pages": "reads of the rest of pages written in part",
    "collection": "collection",
    "merges": "merges",
    "map": "the map in flash",
}
"""What keeps dies busy, in words."""

_Words = tuple[str, str]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _utilisations(evidence: Evidence) -> str:
    resources = ("dies", "channels", "link", "controller", "cache")
    busy = [f"{name} {_percent(evidence[name])}" for name in resources if name in evidence]
    return f"busy: {', '.join(busy)}; {_outstanding(evidence)} on average"


def _outstanding(evidence: Evidence) -> str:
    """Only where there is a cache is it known how busy that is."""
    where = " below the cache" if "cache" in evidence else ""
    return f"{text.decimal(evidence['outstanding'])} requests outstanding{where}"


def _resource(name: str, evidence: Evidence, _share: float) -> _Words:
    number = "are" if name.endswith("s") else "is"
    return f"the {name} {number} busy {_percent(evidence[name])} of the time", _utilisations(evidence)


def _work(name: str, evidence: Evidence, share: float) -> _Words:
    if "dies_at_work" in evidence:
        return (
            f"requests wait for {WORK[name]} {_percent(share)} of their time, while "
            f"{text.decimal(evidence['dies_at_work'])} of {text.count(evidence['dies_count'])} dies work",
            _utilisations(evidence),
        )
    kind = "collection" if name == "merges" else name
    return (
        f"the dies are busy {_percent(evidence['dies'])} of the time, with {WORK[name]} for "
        f"{_percent(evidence[f'cells_{kind}'])} of it",
        _utilisations(evidence),
    )


def _uneven(name: str, evidence: Evidence, _share: float) -> _Words:
    kind = name.removeprefix("uneven_")
    return (
        f"one of the {kind} is busy {_percent(evidence['busiest'])} of the time, the mean {_percent(evidence[kind])}: "
        "requests do not spread",
        _utilisations(evidence),
    )


def _waiting(headline: str, evidence: Evidence, share: float) -> _Words:
    where = " below the cache" if "cache" in evidence else ""
    return f"{headline} takes {_percent(share)} of the response times{where}", _utilisations(evidence)


def _host(evidence: Evidence, _share: float) -> _Words:
    return (
        f"the host keeps {_outstanding(evidence)}, the drive has {text.counted(evidence['dies_count'], 'dies')}",
        _utilisations(evidence),
    )


def _thinks(evidence: Evidence, share: float) -> _Words:
    return (
        f"the host thinks for {_percent(share)} of its time, {text.duration(evidence['think_ns'])} after each request",
        _utilisations(evidence),
    )


def _arrivals(evidence: Evidence, _share: float) -> _Words:
    return "no more requests arrive, and the drive keeps up with them", _utilisations(evidence)


_Wording = Callable[[Evidence, float], _Words]

THROUGHPUT: Mapping[str, _Wording] = {
    **{name: partial(_resource, name) for name in ("controller", "link", "channels", "dies", "cache")},
    **{name: partial(_work, name) for name in WORK},
    **{name: partial(_uneven, name) for name in ("uneven_dies", "uneven_channels")},
    "full_buffer": partial(_waiting, "waiting for room in the write buffer"),
    "flush": partial(_waiting, "waiting for flushes"),
    "block_layer": partial(_waiting, "waiting in the block layer"),
    "queue_slots": partial(_waiting, "waiting until the drive takes a request"),
    "host_depth": _host,
    "think_time": _thinks,
    "arrivals": _arrivals,
}
"""What bounds throughput: headline and evidence."""


HOST = {
    "drive": "waiting for the drive below the cache",
    "dirty_limit": "waiting until fewer pages of the cache are dirty",
    "cache": "work of the cache on pages, with waiting for that",
}
"""What requests of a host with a cache wait for, in words."""


def _of_host(name: str, evidence: Evidence, share: float) -> _Words:
    others = ", ".join(f"{_percent(evidence[other])} {words}" for other, words in HOST.items() if other != name)
    return (
        f"requests of the host: {_percent(share)} of their time is {HOST[name]}",
        f"response time {text.duration(evidence['mean_ns'])} on average, {text.duration(evidence['p99_ns'])} at p99; "
        f"{others}",
    )


def _slow(kind: str, finding: Finding) -> _Words:
    evidence = finding["evidence"]
    room = evidence.get("room_share", 0.0)
    buffered = f"{_percent(room)} of the time at p99 is for room in the write buffer; " if room else ""
    return (
        f"slow {kind}: {_percent(finding['share'])} of their time at p99 is {PARTS[finding['name']]}",
        buffered
        + f"response time {text.duration(evidence['p50_ns'])} at p50 ({_percent(evidence['p50_share'])} of it), "
        f"{text.duration(evidence['p99_ns'])} at p99, {text.duration(evidence['p99_9_ns'])} at p99.9 "
        f"({_percent(evidence['p99_9_share'])})",
    )


def _amplified(evidence: Evidence) -> str:
    """Copies may be most of what is programmed, and that less than the host wrote."""
    amplification = evidence.get("write_amplification")
    if amplification is None:
        return ""
    less = ", for not all that the host wrote has left the write buffer" if amplification < 1.0 else ""
    return f"write amplification {text.ratio(amplification)}{less}; "


def _collected(evidence: Evidence, share: float) -> _Words:
    effective = evidence.get("effective_op")
    lives = "" if effective is None else f"; effective over-provisioning {_percent(effective)}"
    valid = evidence.get("valid_share_of_victims")
    # What is copied may be the rest of one that was chosen before.
    victims = "no victim was chosen" if valid is None else f"a victim is {_percent(valid)} valid"
    return (
        f"write amplification: {_percent(share)} of what is programmed are copies of collection",
        f"{_amplified(evidence)}{victims}{lives}",
    )


def _merged(evidence: Evidence, share: float) -> _Words:
    kinds = ", ".join(f"{text.count(evidence[kind])} {kind}" for kind in ("full", "partial", "switch"))
    associated = evidence.get("associativity")
    each = "" if associated is None else f"; {text.decimal(associated)} logical blocks in a reclaim"
    return (
        f"write amplification: {_percent(share)} of what is programmed are copies of merges",
        f"{_amplified(evidence)}merges: {kinds}{each}",
    )


def _copied_within_log(evidence: Evidence, share: float) -> _Words:
    return (
        f"write amplification: {_percent(share)} of what is programmed are copies within the log",
        f"{_amplified(evidence)}{text.count(evidence['second_chance'])} pages on their second chance, "
        f"{text.count(evidence['isolation'])} to the isolation area",
    )


def _map_written(evidence: Evidence, share: float) -> _Words:
    hits = evidence.get("hit_ratio")
    return (
        f"write amplification: {_percent(share)} of what is programmed are pages of the map",
        f"{_amplified(evidence)}look-ups served from RAM: {text.MISSING if hits is None else _percent(hits)}",
    )


def _partial(evidence: Evidence, share: float) -> _Words:
    read = text.count(evidence["read_first"]) if evidence["read_first"] else "none"
    return (
        f"{_percent(share)} of the pages that the host writes are written in part",
        f"{text.counted(evidence['pages'], 'pages')} of {text.size(evidence['page_bytes'])}, for which {read} had to "
        "be read first; writes of whole pages, or smaller pages, would avoid that",
    )


def _held_back(evidence: Evidence, share: float) -> _Words:
    return (
        f"{_percent(share)} of the over-provisioning is erased pages and the map, which collection does not have",
        f"over-provisioning {_percent(evidence['op_over_logical'])}, effective "
        f"{_percent(evidence['effective_op'])}: invalid pages for each valid one, during collection",
    )


def _mixed(evidence: Evidence, share: float) -> _Words:
    return (
        f"write amplification: up to {_percent(share)} of what is programmed comes of hot data in the blocks of cold",
        f"writes are as concentrated as if they fell on {text.percent(evidence['written_share'])} of the pages, yet a "
        f"victim is {_percent(evidence['valid_share_of_victims'])} valid, with even writes "
        f"{_percent(evidence['valid_share_evenly'])}; apart, write amplification "
        f"{text.ratio(evidence['write_amplification'])} could fall towards "
        f"{text.ratio(evidence['write_amplification_apart'])}: ",
    )


def _apart(finding: Finding) -> str:
    """How hot data is kept apart from cold. What is in force already is no change to try."""
    survivors = "--set ftl.page.survivors=own, and " if "placement" in finding["what_ifs"] else ""
    return f"{survivors}a victim policy that looks at age"


def _worn(evidence: Evidence, _share: float) -> _Words:
    return (
        "blocks wear unevenly",
        f"{text.decimal(evidence['erase_mean'])} erases of a block on average, {text.count(evidence['erase_max'])} of "
        "the most worn",
    )


def _never_full(evidence: Evidence, _share: float) -> _Words:
    return (
        "the drive never gets full: nothing had to be erased",
        f"{text.count(evidence['pages_written'])} pages written, {text.count(evidence['physical_pages'])} in flash; "
        "write amplification and wear say nothing of steady state: --set precondition.overwrite=steady",
    )


def _short(evidence: Evidence, _share: float) -> _Words:
    return (
        "the requests are too few for a steady state",
        f"the host wrote {text.significant(evidence['capacities_written'])} times the capacity, and it takes "
        f"{text.significant(evidence['capacities_needed'])}",
    )


def _unsettled(name: str, evidence: Evidence, _share: float) -> _Words:
    return (
        "write amplification has not settled",
        f"it {changed(name, evidence)}",
    )


def _ignored(evidence: Evidence, _share: float) -> _Words:
    took = evidence.get("elapsed_ns")
    return (
        "the trace has times, and the replay ignores them",
        f"the trace lasts {text.duration(evidence['trace_ns'])}"
        + ("" if took is None else f", the replay {text.duration(took)}")
        + "; --set host.replay=open keeps to its times",
    )


def _behind(evidence: Evidence, _share: float) -> _Words:
    return (
        "requests come faster than the drive serves them: response times are those of a lasting queue",
        f"the drive finished {text.duration(evidence['behind_ns'])} after the last arrival",
    )


def _misses(what: str, evidence: Evidence, _share: float) -> _Words:
    return f"the working set is larger than the {what}", f"{_percent(evidence['miss_ratio'])} of the look-ups miss"


def _not_while_idle(evidence: Evidence, _share: float) -> _Words:
    return (
        "nothing is collected in idle time, though it may be",
        f"all {_collection(evidence)} came while there were requests, or within "
        f"{text.duration(evidence['after_ns'])} of them; --set drive.collect=background collects beside "
        "them, a smaller drive.collect.idle.after sooner",
    )


def _all_while_idle(evidence: Evidence, share: float) -> _Words:
    return (
        "idle time has room for all collection: response times are those of requests that leave such pauses",
        f"{_percent(share)} of {_collection(evidence)} came after {text.duration(evidence['after_ns'])} without "
        "requests; as it is without pauses: --set drive.collect=foreground",
    )


def _collection(evidence: Evidence) -> str:
    return f"{text.count(round(evidence['collected']))} copies and erases of collection"


OTHERS: Mapping[tuple[str, str], _Wording] = {
    **{("host", name): partial(_of_host, name) for name in HOST},
    ("write_amplification", "collection"): _collected,
    ("write_amplification", "merges"): _merged,
    ("write_amplification", "log_copies"): _copied_within_log,
    ("write_amplification", "map"): _map_written,
    ("write_amplification", "partial_pages"): _partial,
    ("write_amplification", "spare_held_back"): _held_back,
    ("write_amplification", "hot_with_cold"): _mixed,
    ("wear", "uneven_wear"): _worn,
    ("input", "never_full"): _never_full,
    ("input", "too_short"): _short,
    **{("input", name): partial(_unsettled, name) for name in UNSETTLED},
    ("input", "times_ignored"): _ignored,
    ("input", "queue_grows"): _behind,
    ("input", "map_cache_too_small"): partial(_misses, "cache of the map"),
    ("input", "cache_too_small"): partial(_misses, "cache"),
    ("input", "idle_never_collects"): _not_while_idle,
    ("input", "idle_collects_all"): _all_while_idle,
}
"""The other findings: headline and evidence."""


def words(finding: Finding) -> _Words:
    """A finding as a headline and its evidence."""
    about, name, share, evidence = finding["about"], finding["name"], finding["share"], finding["evidence"]
    if about == "throughput":
        headline, shown = THROUGHPUT[name](evidence, share)
        return f"throughput is bounded: {headline}", shown
    if about.startswith("slow_"):
        return _slow(about.removeprefix("slow_").replace("_below", " below the cache"), finding)
    headline, shown = OTHERS[about, name](evidence, share)
    return headline, shown + _apart(finding) if name == "hot_with_cold" else shown


def top(findings: "list[dict[str, Any]]") -> list[str]:
    """The weightiest findings, a line each."""
    return [f"{number}. {words(finding)[0]}" for number, finding in enumerate(findings[:TOP], 1)]


def page(diagnosis: Diagnosis) -> Page:
    """The page of a diagnosis."""
    sections = [Section("Findings", findings(diagnosis))]
    if diagnosis.response is not None and has_parts(diagnosis.response):
        title = below("What requests wait for", diagnosis.summary)
        sections.append(Section(title, [parts_table(diagnosis.response, diagnosis.summary)]))
    if diagnosis.what_ifs:
        untried = [
            Paragraph(f"{_with_settings(one.name, one.settings)}: could not be tried: {one.why_not}", "soft")
            for one in diagnosis.what_ifs
            if one.summary is None
        ]
        sections.append(Section("What if", [_changes(diagnosis), *_caveat(diagnosis), *_worse(diagnosis), *untried]))
    return Page(
        title=source_text(diagnosis.source),
        chosen=chosen(diagnosis.source),
        partial="the run was stopped before its end" if diagnosis.partial else "",
        remarks=ingest_remarks(diagnosis.ingest),
        sections=sections,
    )


def findings(diagnosis: Diagnosis) -> list[Paragraph]:
    """Findings with their evidence and what would tell more, the weightiest first."""
    shown = []
    for number, finding in enumerate(diagnosis.findings, 1):
        headline, evidence = words(finding)
        if finding["name"] in UNFINISHED:
            evidence += _remedy(diagnosis, finding["evidence"])
        shown += [Paragraph(f"{number}. {headline}", "strong"), Paragraph(evidence, belongs=True)]
        if finding["what_ifs"]:
            changes = ", ".join(WHAT_IFS[name] for name in finding["what_ifs"])
            shown.append(Paragraph(f"would tell: {changes}", "soft", belongs=True))
    return shown or [Paragraph("nothing stands out")]


def _remedy(diagnosis: Diagnosis, evidence: Evidence) -> str:
    settings = {key: one["value"] for key, one in diagnosis.configuration.items()}
    capacity = diagnosis.configuration.get("device.capacity")
    sized = capacity is not None and is_made(capacity["origin"])
    generated = is_generated(diagnosis.source)
    return remedy(settings, diagnosis.summary, evidence, generated=generated, sized=sized).text


COLUMNS = {"all": "all", "p50": "p50", "p99": "p99", "p99_9": "p99.9"}


def has_parts(response: Mapping[str, Any]) -> bool:
    """Whether there are response times to take apart; trims and flushes have none."""
    return bool(response["read"] or response["write"])


def parts_table(response: Mapping[str, Any], summary: Summary) -> Table:
    """The mean response times around percentiles by their parts."""
    groups = [(f"{op}s {word}", response[op][key]) for op in ("read", "write") if response[op]
              for key, word in COLUMNS.items()]  # fmt: skip

    def mean(group: Mapping[str, Any], ns: int) -> str:
        return text.duration(ns / group["requests"]) if ns else text.MISSING

    rows = [
        (label, *(mean(group, group["parts_ns"].get(part, 0)) for _, group in groups))
        for part, label in PARTS.items()
        if any(part in group["parts_ns"] for _, group in groups)
    ]
    whole = ("response time", *(mean(group, group["sum_ns"]) for _, group in groups))
    note = "Means over the requests around a percentile q: those between the percentiles q ± (1 - q) / 2. The parts "
    note += "add up to the response time."
    title = below("Parts of response times", summary)
    return Table(("", *(label for label, _ in groups)), [*rows, whole], title, note=note)


def _with_settings(name: str, settings: Mapping[str, str]) -> str:
    made = " ".join(f"{key}={value}" for key, value in settings.items())
    return f"{WHAT_IFS[name]} ({made})"


def _worse(diagnosis: Diagnosis) -> list[Paragraph]:
    rates = [
        (one["name"], one["before"]["iops"] or 0.0, one["after"]["iops"] or 0.0)
        for one in diagnosis.to_dict()["what_ifs"]
        if one["after"]
    ]
    slower = [
        f"{WHAT_IFS[name]} ({text.short_count(after)} instead of {text.short_count(before)} requests/s)"
        for name, before, after in rates
        if after < (1 - NOTABLE) * before
    ]
    return [Paragraph(f"slower than as it is: {', '.join(slower)}", "soft")] if slower else []


def _changes(diagnosis: Diagnosis) -> Table:
    found = diagnosis.to_dict()["what_ifs"]
    columns = {
        "iops": ("requests/s", text.short_count),
        "read_p99_ns": ("reads p99", text.duration),
        "write_p99_ns": ("writes p99", text.duration),
        "write_amplification": ("write amplification", text.ratio),
    }

    def cells(figures: Mapping[str, float | None]) -> list[str]:
        values = [(figures[key], write) for key, (_, write) in columns.items()]
        return [text.MISSING if value is None else write(value) for value, write in values]

    rows = [("as it is", *cells(found[0]["before"]))]
    rows += [(_with_settings(one["name"], one["settings"]), *cells(one["after"])) for one in found if one["after"]]
    return Table(("", *(label for label, _ in columns.values())), rows, "The same requests with one thing changed")


def _caveat(diagnosis: Diagnosis) -> list[Paragraph]:
    """Collection that has not settled goes on by bursts, and what is compared may be two phases of it."""
    if not any(finding["name"] in UNFINISHED for finding in diagnosis.findings):
        return []
    told = "the drive has not settled: what differs may be in which phase of collection the requests came"
    return [Paragraph(told, "soft")]
