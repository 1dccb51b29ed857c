"""What a person should know before reading the figures of a run, or of many."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab.model.config import Config
from ssdlab.model.source import ingest_remarks

Summary = Mapping[str, Any]

MOST_REPLAYS = 100
"""Replays after which the default of host.repeat.until-steady.most gives up."""

NOTICEABLE = 0.1
"""Share of what was asked for by which a drive may have more space beyond its capacity without a remark."""

BEHIND_SHARE = 0.1
"""Share of the simulated time by which a drive may finish after the last arrival without a remark."""

UNSETTLED = {
    "unsettled": ("over the whole run", "when the flash was written for the last time"),
    "unsettled_replays": ("in the last replay but one", "in the last"),
}
"""Where write amplification was compared."""

CASES = 4
"""Cases of a remark on many runs that are listed."""


class Remark(NamedTuple):
    """What should be known of a run."""

    text: str
    summed: str | None
    """What is said of all runs with it together; None if it need not be known of many."""
    case: str = ""
    """In what these runs differ, in few words."""


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
    has = summary["device"]["effective_op_over_logical" if extra else "op_over_logical"]
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


def _state(config: Config, summary: Summary, replayed: bool) -> list[Remark]:
    """How the drive came into the state in which it was measured, where that needs to be known."""
    found = []
    before, repeat = summary["precondition"], summary["repeat"]
    suspicious = {one["name"]: one["evidence"] for one in summary["diagnosis"] if one["about"] == "input"}
    if before["replays"] is not None and before["stable"] is False:
        found.append(_unsteady(before["replays"], "while preconditioning", "precondition.overwrite.trace.repeat"))
    if repeat is not None and repeat["steady"]:
        replays = text.counted(repeat["replays"], "replays")
        found.append(Remark(f"write amplification was steady after {replays}; the last is measured", None))
    elif repeat is not None and repeat["steady"] is not None:
        found.append(_unsteady(repeat["replays"], "and the last was measured", "host.repeat"))
    at_random = before["write_amplification"] is not None and before["replays"] is None
    truer = _truer(config, replayed)
    not_settled = (
        "the drive has not settled: it was written less than twice over, or write amplification was another at the end"
    )
    if "too_short" in suspicious and at_random:
        written, needed = (suspicious["too_short"][f"capacities_{which}"] for which in ("written", "needed"))
        replays = math.ceil(needed / written * (repeat["replays"] if repeat else 1))
        # A drive that the trace sizes takes fewer.
        too_many = replays > MOST_REPLAYS and not (replayed and config["host.fit"] != "compact")
        remedy = f", for {text.count(replays)} replays" if too_many else truer
        times, enough = text.significant(written), text.significant(needed)
        told = (
            f"the host wrote {times} times the capacity, and up to {enough} write amplification still tells of the "
            f"preconditioning too{remedy}"
        )
        summed = f"{not_settled}; it takes more than {MOST_REPLAYS} replays" if too_many else f"{not_settled}{truer}"
        found.append(Remark(told, summed))
    for name in UNSETTLED.keys() & suspicious:
        told = f"write amplification {changed(name, suspicious[name])}: the drive has not settled{truer}"
        found.append(Remark(told, f"{not_settled}{truer}"))
    return found


def changed(name: str, evidence: Mapping[str, float]) -> str:
    """How write amplification changed from one part of what was written to the next."""
    before, then = (text.ratio(evidence[f"write_amplification_{when}"]) for when in ("before", "then"))
    earlier, later = UNSETTLED[name]
    return f"was {before} {earlier} and {then} {later}"


def _truer(config: Config, replayed: bool) -> str:
    """What would give a true answer, of that which is not in force; only addresses of a trace can be made compact."""
    options = [
        *(["--fit compact"] if replayed and config["host.fit"] != "compact" else []),
        *(["--repeat until-steady"] if config["host.repeat"] != "until-steady" else []),
    ]
    return f"; for a true answer: {' '.join(options)}" if options else ""


def _unsteady(count: int, when: str, key: str) -> Remark:
    remedy = f"{when}; raise {key}.until-steady.most, or accept more by {key}.until-steady.within"
    return Remark(
        f"write amplification was not steady after {text.counted(count, 'replays')} {remedy}",
        f"write amplification was not steady {remedy}",
    )


def remarks(config: Config, summary: Summary, ingest: Mapping[str, Any] | None) -> list[Remark]:
    """What a person should know before reading the figures of a run; empty if all is as it should be."""
    same = ingest_remarks(ingest)
    requests = sum(summary["host"][f"{op}_requests"] for op in ("read", "write", "trim", "flush"))
    if requests == 0 and not summary["partial"]:
        same.append("no request was measured: there was none, or host.warmup took them all")
    found = [*_rounded_up(config, summary), *_state(config, summary, replayed=ingest is not None)]
    sampled = summary["precondition"]["sampled_planes"]
    if sampled is not None:
        told = (
            f"the steady state is that of {sampled} planes, which the others took over, out of step with each other: "
            "multi-plane commands find no partners (precondition.overwrite.steady.method)"
        )
        found.append(Remark(told, told))
    time = summary["time"]
    if time and time["behind_ns"] and time["behind_ns"] > BEHIND_SHARE * time["elapsed_ns"]:
        fast, queue = (
            "requests arrived faster than the drive serves them",
            "response times are those of a growing queue",
        )
        behind = text.duration(time["behind_ns"])
        found.append(Remark(f"{fast}: it finished {behind} after the last arrival, and {queue}", f"{fast}: {queue}"))
    block = (summary["drive"] or {}).get("block")
    if block is not None:
        rules = [f"{block['scheduler']}: {rule}" for rule in block["idle_rules"]]
        found += [Remark(rule, rule) for rule in rules]
    return [*(Remark(one, one) for one in same), *found]


def over_runs(found: Sequence[Sequence[Remark]]) -> list[str]:
    """What remarks on each of many runs come to: how many runs have them."""
    times = Counter(summed for its in found for summed in {one.summed: None for one in its} if summed is not None)
    told = []
    for summed, count in times.items():
        cases = [*{one.case: None for its in found for one in its if one.summed == summed and one.case}]
        more = [f"{text.count(len(cases) - CASES)} more"] if len(cases) > CASES else []
        shown = f" ({', '.join([*cases[:CASES], *more])})" if cases else ""
        told.append(f"{text.count(count)} of {text.counted(len(found), 'runs')}: {summed}{shown}")
    return told
