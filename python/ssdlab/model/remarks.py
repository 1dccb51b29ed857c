"""What a person should know before reading the figures of a run, or of many."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab.model.config import SIZED_BY_TRACE, Config
from ssdlab.model.remedy import Summary, by_requests, measured, remedy
from ssdlab.model.result import Result
from ssdlab.model.source import ingest_remarks, is_generated
from ssdlab.model.unused import unused

SETTLING_BYTES = 1 << 30
"""Capacity with which the default drive is steady when preconditioning ends."""

NOTICEABLE = 0.1
"""Share of what was asked for by which a drive may have more space beyond its capacity without a remark."""

MOSTLY = 0.5
"""Share of the pages written above which those that a write buffer holds at the end are told of."""

UNSETTLED = {
    "unsettled": ("over the whole run", "when the flash was written for the last time"),
    "unsettled_replays": ("in the last replay but one", "in the last"),
}
"""Where write amplification was compared."""

UNFINISHED = {"too_short", *UNSETTLED}
"""Findings that say that the drive has not settled."""

CASES = 4
"""Cases of a remark on many runs that are listed."""


class Remark(NamedTuple):
    """What should be known of a run."""

    text: str
    summed: str | None
    """What is said of all runs with it together; None if it need not be known of many."""
    case: str = ""
    """In what these runs differ, in few words."""
    requests: int | None = None
    """How many requests of a generated workload would do; of many runs the most are told."""
    by_trace: str | None = None
    """What is said instead of `summed` beside lives at the rate of the trace; None if it is the same."""


class Spare(NamedTuple):
    """The space beyond its capacity that a drive has, noticeably more than was asked for."""

    key: str
    """The setting that asked for it."""
    asked: str
    has: float


def other_spare(config: Config, summary: Summary) -> Spare | None:
    """The space that a drive has beyond its capacity, if it is noticeably more than was asked for."""
    # With an extra reserve, what is asked for is without it.
    settings = config.to_dict()
    extra = settings["device.reserve"]["value"] == "extra"
    has = summary["device"]["op_without_reserve" if extra else "op_over_logical"]
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
            f"{spare.key}={spare.asked} was asked for and the drive has {has}: it is made of whole "
            "blocks, equally many for each plane, and so small a drive has few of them",
            f"the drive has more than the {spare.key} that was asked for, as it is made of whole blocks, equally many "
            "for each plane",
            f"{spare.asked}: {has}",
        )
    ]


def _state(config: Config, summary: Summary, generated: bool) -> list[Remark]:
    """How the drive came into the state in which it was measured, where that needs to be known."""
    found = []
    before, repeat = summary["precondition"], summary["repeat"]
    suspicious = _suspicious(summary)
    if before["stable"] is False:
        if before["replays"] is not None:
            found.append(_unsteady(before["replays"], "while preconditioning", "precondition.overwrite.trace.repeat"))
        else:
            preconditioned = before["host_pages_written"] - before["runs_pages_written"]
            times = text.significant(preconditioned / summary["device"]["logical_pages"])
            unsteady = "write amplification was not steady when preconditioning ended"
            why = "of a drive of few blocks it goes up and down with each collection"
            asked, summed = f"{unsteady}, after {times} times the capacity; {why}", f"{unsteady}; {why}"
            # A drive that earlier runs have written is as large as it was made.
            if not before["runs_pages_written"]:
                larger = text.exact_size(_larger(summary["device"]["capacity_bytes"]))
                asked, summed = f"{asked}: --set device.capacity={larger}", f"{summed}: raise device.capacity"
            found.append(Remark(asked, summed))
    if repeat is not None and repeat["steady"]:
        replays = text.counted(repeat["replays"], "replays")
        steady = f"write amplification was steady after {replays} of the same requests; the last is measured"
        found.append(Remark(steady, None))
    elif repeat is not None and repeat["steady"] is not None:
        found.append(_unsteady(repeat["replays"], "and the last was measured", "host.repeat"))
    if before["runs_pages_written"] and config["host.fit"] == "compact" and not generated:
        packed = (
            "the addresses of the trace are packed (--fit compact), on a drive that earlier runs have written: its "
            "pages are theirs only if they replayed the same trace; for addresses as they are, give each run one "
            "--preset or --set device.capacity=SIZE, and --fit wrap"
        )
        found.append(Remark(packed, packed))
    at_random = before["write_amplification"] is not None and before["replays"] is None
    not_settled = (
        "the drive has not settled: it was written less than twice over, or write amplification was another at the end"
    )
    for name in UNFINISHED & suspicious.keys():
        evidence = suspicious[name]
        if name in UNSETTLED:
            told = f"write amplification {changed(name, evidence)}: the drive has not settled"
        elif at_random:
            times, enough = (text.significant(evidence[f"capacities_{which}"]) for which in ("written", "needed"))
            told = (
                f"the host wrote {times} times the capacity; below {enough} times, write amplification still tells of "
                "the preconditioning too"
            )
        else:
            continue
        words, summed, requests = remedy(
            config, summary, evidence, generated=generated, sized="device.capacity" in config.made
        )
        found.append(Remark(f"{told}{words}", f"{not_settled}{summed}", requests=requests))
    return found


def _larger(capacity_bytes: int) -> int:
    """A capacity of at least twice as much: of the default drive one that settles."""
    return max(SETTLING_BYTES, 1 << (2 * capacity_bytes - 1).bit_length())


def _suspicious(summary: Mapping[str, Any]) -> dict[str, Mapping[str, float]]:
    """What makes figures tell something else than they seem to, by name, with its evidence."""
    return {one["name"]: one["evidence"] for one in summary["diagnosis"] if one["about"] == "input"}


def changed(name: str, evidence: Mapping[str, float]) -> str:
    """How write amplification changed from one part of what was written to the next."""
    before, then = (text.ratio(evidence[f"write_amplification_{when}"]) for when in ("before", "then"))
    earlier, later = UNSETTLED[name]
    return f"was {before} {earlier} and {then} {later}"


def _in_buffer(summary: Summary) -> list[Remark]:
    """Whether so much of what was written has not reached the flash that write amplification says little."""
    written, buffer = summary["host"]["pages_written"], (summary["drive"] or {}).get("buffer")
    if not buffer:
        return []
    left = buffer["pages_accepted"] - buffer["pages_trimmed"] - summary["flash"]["programs"].get("host", 0)
    if left <= MOSTLY * written:
        return []
    wrong = "were in the write buffer at the end: write amplification is too low, and the projected life too long"
    told = f"{text.count(left)} of {text.counted(written, 'pages')} written {wrong}"
    return [Remark(told, f"most of the pages written {wrong}")]


def _unsteady(count: int, when: str, key: str) -> Remark:
    remedy = f"{when}; raise {key}.until-steady.most, or accept more by {key}.until-steady.within"
    return Remark(
        f"write amplification was not steady after {text.counted(count, 'replays')} {remedy}",
        f"write amplification was not steady {remedy}",
    )


def remarks(
    config: Config, summary: Summary, ingest: Mapping[str, Any] | None, varied: Iterable[str] = (), *, generated: bool
) -> list[Remark]:
    """What a person should know before reading the figures of a run; empty if all is as it should be.

    Args:
        config: Its configuration.
        summary: Its result.
        ingest: How its trace was read, if it replayed one.
        varied: Settings that are varied around it.
        generated: Whether its requests were generated.
    """
    same = ingest_remarks(ingest)
    if measured(summary) == 0 and not summary["partial"]:
        same.append("no request was measured: there was none, or host.warmup took them all")
    found = [
        # A trace in memory, which nobody has read, may be of the workload of its configuration.
        *(Remark(one, one) for one in unused(config, varied, replayed=ingest is not None)),
        *_rounded_up(config, summary),
        *_state(config, summary, generated),
        *_in_buffer(summary),
    ]
    sampled = summary["precondition"]["sampled_planes"]
    if sampled is not None:
        told = (
            f"the steady state is that of {sampled} planes, which the others took over, out of step with each other: "
            "multi-plane commands find no partners (precondition.overwrite.steady.method)"
        )
        found.append(Remark(told, told))
    suspicious = _suspicious(summary)
    # Whether it is the drive that is too slow for the times of the trace, only an open loop tells, as below.
    if "times_ignored" in suspicious and not generated and summary["lifetime"]["rate"] == "replay":
        slow = "requests came more slowly than by the times of the trace, as each waited for one before it"
        life = f"{slow}: the projected life is that at the rate of the replay, and shorter at the rate of the trace"
        found.append(Remark(life, life, by_trace=slow))
    if "queue_grows" in suspicious:
        fast, queue = (
            "requests arrived faster than the drive serves them",
            "response times are those of a lasting queue",
        )
        behind = text.duration(suspicious["queue_grows"]["behind_ns"])
        found.append(Remark(f"{fast}: it finished {behind} after the last arrival, and {queue}", f"{fast}: {queue}"))
    block = (summary["drive"] or {}).get("block")
    if block is not None:
        rules = [f"{block['scheduler']}: {rule}" for rule in block["idle_rules"]]
        found += [Remark(rule, rule) for rule in rules]
    return [*(Remark(one, one) for one in same), *found]


def sized_by_trace(runs: Iterable[tuple[Config, Summary]]) -> str | None:
    """That drives are as large as their traces need because nobody said how large they are; None if somebody did."""
    # Of many runs few have a configuration of their own.
    drives = dict[int, tuple[Config, set[int]]]()
    for config, summary in runs:
        drives.setdefault(id(config), (config, set()))[1].add(summary["device"]["capacity_bytes"])
    found = sorted({one for config, sizes in drives.values() if _is_sized_by_trace(config) for one in sizes})
    if not found:
        return None
    capacity = text.size(found[0]) + (f" to {text.size(found[-1])}" if len(found) > 1 else "")
    return (
        f"no capacity is given, so the trace sizes the drive: {capacity} (--fit compact); for one of your own size: "
        "--set device.capacity=64GiB"
    )


def _is_sized_by_trace(config: Config) -> bool:
    return any(one.key == "host.fit" and one.origin == SIZED_BY_TRACE for one in config.settings)


def remarks_on(result: Result) -> list[Remark]:
    """What a person should know before reading a result."""
    return remarks(result.config, result.summary, result.ingest, generated=is_generated(result.source))


def over_runs(found: Sequence[Sequence[Remark]], *, by_trace: bool = False) -> list[str]:
    """What remarks on each of many runs come to: how many runs have them.

    Args:
        found: The remarks of each run.
        by_trace: Whether they stand beside lives at the rate of the trace.
    """
    if by_trace:
        found = [[one._replace(summed=one.by_trace or one.summed) for one in its] for its in found]
    times = Counter(summed for its in found for summed in {one.summed: None for one in its} if summed is not None)
    told = []
    for summed, count in times.items():
        cases = [*{one.case: None for its in found for one in its if one.summed == summed and one.case}]
        others = [f"{text.count(len(cases) - CASES)} more"] if len(cases) > CASES else []
        shown = f" ({', '.join([*cases[:CASES], *others])})" if cases else ""
        requests = [one.requests for its in found for one in its if one.summed == summed and one.requests]
        more = by_requests(max(requests)) if requests else ""
        told.append(f"{text.count(count)} of {text.counted(len(found), 'runs')}: {summed}{shown}{more}")
    return told
