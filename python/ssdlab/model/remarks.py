"""Remarks on the metrics of a run, or of many runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab.model.config import Config
from ssdlab.model.metrics import Summary
from ssdlab.model.remedy import by_requests, measured, remedy
from ssdlab.model.replayed import OVERLOADED, overload
from ssdlab.model.result import Result
from ssdlab.model.source import ingest_remarks, is_generated
from ssdlab.model.unused import unused

SETTLING_BYTES = 1 << 30
"""Smallest capacity, in bytes, at which preconditioning brings the default drive to steady state."""

NOTICEABLE = 0.1
"""A remark is shown if the actual spare space exceeds the configured spare space by more than this fraction."""

MOSTLY = 0.5
"""A remark is shown if more than this share of the written pages is still in the write buffer at the end of the run."""

UNSETTLED = {
    "unsettled": ("over the whole run", "over the last full write of the flash"),
    "unsettled_replays": ("in the second-to-last replay", "in the last"),
}
"""For each finding, phrases for the two parts of a run whose write amplification is compared."""

UNFINISHED = {"too_short", *UNSETTLED}
"""Names of the findings that report a drive measured before it reached steady state."""


class Remark(NamedTuple):
    """A remark about one or several runs, shown to the user."""

    text: str
    summed: str | None
    """Wording of the remark when it covers several runs; None if it is then omitted."""
    case: str = ""
    """Detail of the remark that differs from run to run."""
    requests: int | None = None
    """Number of requests to generate to avoid the remark; remarks on several runs show the largest."""


class Spare(NamedTuple):
    """Spare space of a drive that has noticeably more spare space than configured."""

    key: str
    """Key of the setting that determines the spare space."""
    asked: str
    has: float


def provided(config: Config) -> str:
    """Returns the name of the over-provisioning metric to which the configured spare space refers."""
    # With `device.reserve = "extra"`, the FTL's reserve is added to the configured spare space.
    return "op_without_reserve" if config["device.reserve"] == "extra" else "op_over_logical"


def other_spare(config: Config, summary: Summary) -> Spare | None:
    """Returns the spare space of a drive if it is noticeably larger than the configured spare space."""
    settings = config.to_dict()
    has = summary["device"][provided(config)]
    key = "device.op"
    if "device.spare" in settings:
        key, has = "device.spare", has / (1 + has)
    asked = settings[key]["value"]
    return Spare(key, asked, has) if has > float(asked.rstrip("%")) / 100 * (1 + NOTICEABLE) else None


def _rounded_up(config: Config, summary: Summary) -> list[Remark]:
    spare = other_spare(config, summary)
    if spare is None:
        return []
    has = text.percent(spare.has)
    return [
        Remark(
            f"{spare.key}={spare.asked} became {has}: rounded up to whole blocks per plane, which is coarse on a drive "
            "this small",
            f"{spare.key} is rounded up to whole blocks per plane",
            f"{spare.asked}: {has}",
        )
    ]


def _state(config: Config, summary: Summary, generated: bool) -> list[Remark]:
    """Returns remarks if the drive was not, or may not have been, in steady state when the measurement began."""
    found = []
    before, repeat = summary["precondition"], summary["repeat"]
    suspicious = {
        finding["name"]: finding["evidence"] for finding in summary["diagnosis"] if finding["about"] == "input"
    }
    if before["stable"] is False:
        if before["replays"] is not None:
            found.append(_unsteady(before["replays"], "during preconditioning", "precondition.overwrite.trace.repeat"))
        else:
            preconditioned = before["host_pages_written"] - before["runs_pages_written"]
            times = text.significant(preconditioned / summary["device"]["logical_pages"])
            unsteady = "write amplification was not steady when preconditioning ended"
            why = "on a drive with few blocks, every garbage collection changes write amplification"
            asked, summed = f"{unsteady} (after writing {times} times the capacity); {why}", f"{unsteady}; {why}"
            # The size of a drive can no longer be changed once an earlier run has written to it.
            if not before["runs_pages_written"]:
                larger = max(SETTLING_BYTES, 1 << (2 * summary["device"]["capacity_bytes"] - 1).bit_length())
                asked, summed = (
                    f"{asked}; use --set device.capacity={text.exact_size(larger)}",
                    f"{summed}; raise device.capacity",
                )
            found.append(Remark(asked, summed))
    if repeat is not None and repeat["steady"]:
        replays = text.counted(repeat["replays"], "replays")
        steady = f"write amplification was steady after {replays} of the same requests; the last replay is measured"
        found.append(Remark(steady, None))
    elif repeat is not None and repeat["steady"] is not None:
        found.append(_unsteady(repeat["replays"], "(the last replay was measured)", "host.repeat"))
    if before["runs_pages_written"] and config["host.fit"] == "compact" and not generated:
        packed = (
            "addresses are packed (--fit compact) on a drive written by earlier runs, so they match only if those runs "
            "replayed this trace; for other traces, use --fit wrap and one device.capacity in all runs"
        )
        found.append(Remark(packed, packed))
    at_random = before["write_amplification"] is not None and before["replays"] is None
    not_settled = (
        "the drive has not settled: less than twice its capacity was written, or write amplification still changed"
    )
    for name in UNFINISHED & suspicious.keys():
        evidence = suspicious[name]
        if name in UNSETTLED:
            fault = f"write amplification {changed(name, evidence)}: the drive has not settled"
        elif at_random:
            times, enough = (text.significant(evidence[f"capacities_{which}"]) for which in ("written", "needed"))
            fault = (
                f"the host wrote {times} times the capacity; below {enough} times, write amplification still reflects "
                "the preconditioning"
            )
        else:
            continue
        words, summed, requests = remedy(
            config, summary, evidence, generated=generated, sized="device.capacity" in config.made
        )
        found.append(Remark(f"{fault}{words}", f"{not_settled}{summed}", requests=requests))
    return found


def changed(name: str, evidence: Mapping[str, float]) -> str:
    """Describes how write amplification changed between the two compared parts of a run."""
    before, then = (text.ratio(evidence[f"write_amplification_{when}"]) for when in ("before", "then"))
    earlier, later = UNSETTLED[name]
    return f"was {before} {earlier} and {then} {later}"


def _in_buffer(summary: Summary) -> list[Remark]:
    """Returns a remark if most written pages are still in the write buffer, because then the WAF is not meaningful."""
    written, buffer = summary["host"]["pages_written"], (summary["drive"] or {}).get("buffer")
    if not buffer:
        return []
    left = buffer["pages_accepted"] - buffer["pages_trimmed"] - summary["flash"]["programs"].get("host", 0)
    if left <= MOSTLY * written:
        return []
    wrong = "were in the write buffer at the end: write amplification is too low, and the projected life too long"
    return [
        Remark(f"{text.count(left)} of {text.counted(written, 'pages')} written {wrong}", f"most pages written {wrong}")
    ]


def _observed(summary: Summary) -> list[str]:
    """Returns remarks on plug-ins, sampled preconditioning and settings of the block layer without effect."""
    unasked = [use["name"] for use in summary.get("plugins", ()) if use["decisions"] == 0]
    found = [f"{name} was never called: the run needed no decision from it" for name in unasked]
    planes, sections = (summary["precondition"][f"sampled_{parts}"] for parts in ("planes", "sections"))
    setting = "(precondition.overwrite.steady.method)"
    if planes is not None:
        found.append(f"the steady state of {planes} planes was copied to the others {setting}")
    if sections is not None:
        found.append(f"the steady state of 1/{sections} of each superblock was copied to the rest {setting}")
    block = (summary["drive"] or {}).get("block")
    return found if block is None else [*found, *(f"{block['scheduler']}: {rule}" for rule in block["idle_rules"])]


def _alike(words: Iterable[str]) -> list[Remark]:
    """Returns remarks with the same wording for one run and for several runs."""
    return [Remark(one, one) for one in words]


def _unsteady(count: int, when: str, key: str) -> Remark:
    remedy = f"{when}; raise {key}.until-steady.most or {key}.until-steady.within"
    return Remark(
        f"write amplification was not steady after {text.counted(count, 'replays')} {remedy}",
        f"write amplification was not steady {remedy}",
    )


def remarks(
    config: Config, summary: Summary, ingest: Mapping[str, Any] | None, varied: Iterable[str] = (), *, generated: bool
) -> list[Remark]:
    """Returns the remarks on a run. A study varies the settings `varied`; `ingest` is the report on reading a trace."""
    same = ingest_remarks(ingest)
    if measured(summary) == 0 and not summary["partial"]:
        same.append("no request was measured: the trace was empty, or host.warmup covers all of it")
    behind = overload(summary)
    return [
        # This remark comes first, because it affects how to interpret all response times.
        *([] if behind is None else [Remark(behind, OVERLOADED)]),
        *_alike(same),
        # A trace in memory has no ingest report; its requests may come from the configured workload.
        *_alike(unused(config, varied, replayed=ingest is not None)),
        *_rounded_up(config, summary),
        *_state(config, summary, generated),
        *_in_buffer(summary),
        *_alike(_observed(summary)),
    ]


def remarks_on(result: Result) -> list[Remark]:
    """Returns the remarks on a result."""
    return remarks(result.config, result.summary, result.ingest, generated=is_generated(result.source))


def over_runs(found: Sequence[Sequence[Remark]]) -> list[str]:
    """Merges remarks with the same wording `summed`, each with its number of runs; omits remarks without it."""
    alike: dict[str, list[tuple[int, Remark]]] = {}
    for run, remark in ((run, remark) for run, remarks in enumerate(found) for remark in remarks):
        if remark.summed is not None:
            alike.setdefault(remark.summed, []).append((run, remark))
    summaries = []
    for words, same in alike.items():
        count = len({run for run, _ in same})
        cases = [*{remark.case: None for _, remark in same if remark.case}]
        shown = f" ({text.listed(cases)})" if cases else ""
        requests = [remark.requests for _, remark in same if remark.requests]
        more = by_requests(max(requests)) if requests else ""
        summaries.append(f"{text.count(count)} of {text.counted(len(found), 'runs')}: {words}{shown}{more}")
    return summaries
