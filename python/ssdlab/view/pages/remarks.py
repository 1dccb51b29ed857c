"""What a person should know before reading the figures of a run."""

import math
from collections.abc import Mapping
from typing import Any

from ssdlab import text
from ssdlab.model.config import SIZED_BY_TRACE, Config
from ssdlab.model.source import ingest_remarks
from ssdlab.view.pages import diagnosis
from ssdlab.view.pages.quantities import Summary
from ssdlab.view.times import served_alone

MOST_REPLAYS = 100
"""Replays after which the default of host.repeat.until-steady.most gives up."""

NOTICEABLE = 0.1
"""Share of what was asked for by which a drive may have more space beyond its capacity without a remark."""

BEHIND_SHARE = 0.1
"""Share of the simulated time by which a drive may finish after the last arrival without a remark."""


def clock_remark(config: Config) -> str | None:
    """What a reader of times must know of the model of time; None where there are no times."""
    if served_alone(config):
        return "times are service times of one flash chip without a queue, not those of a drive with many"
    if config["time"] == "serial":
        return "times are those of one flash chip that does one operation at a time, not of a drive with many"
    if config["time"] == "event":
        return "times include queues, host link, channels and dies, and of the controller a fixed time for each request"
    return None


def sized_by_trace(config: Config, summary: Summary) -> str | None:
    """That the drive is as large as the trace needs because nobody said how large it is; None if somebody did."""
    fit = next(setting for setting in config.settings if setting.key == "host.fit")
    if fit.origin != SIZED_BY_TRACE:
        return None
    capacity = text.size(summary["device"]["capacity_bytes"])
    return (
        f"no capacity is given, so the trace sizes the drive: {capacity} (--fit compact); for one of your own size: "
        "--set device.capacity=64GiB"
    )


def rounded_up(config: Config, summary: Summary) -> str | None:
    """That the drive has noticeably more space beyond its capacity than was asked for; None if it has not."""
    # With an extra reserve, what is asked for is without it.
    has = summary["device"]["effective_op_over_logical" if config["device.reserve"] == "extra" else "op_over_logical"]
    key = "device.op"
    if any(setting.key == "device.spare" for setting in config.settings):
        key, has = "device.spare", has / (1 + has)
    asked = float(config[key].rstrip("%")) / 100
    if has <= asked * (1 + NOTICEABLE):
        return None
    return (
        f"{key}={config[key]} was asked for and the drive has {text.percent(has)}: it is made of whole "
        "blocks, equally many for each plane, and so small a drive has few of them"
    )


def _state(config: Config, summary: Summary, replayed: bool) -> list[str]:
    """How the drive came into the state in which it was measured, where that needs to be known."""
    found = []
    before, repeat = summary["precondition"], summary["repeat"]
    suspicious = {one["name"]: one["evidence"] for one in summary["diagnosis"] if one["about"] == "input"}
    if before["replays"] is not None and before["stable"] is False:
        found.append(_unsteady(before["replays"], "while preconditioning", "precondition.overwrite.trace.repeat"))
    if repeat is not None and repeat["steady"]:
        replays = text.counted(repeat["replays"], "replays")
        found.append(f"write amplification was steady after {replays}; the last is measured")
    elif repeat is not None and repeat["steady"] is not None:
        found.append(_unsteady(repeat["replays"], "and the last was measured", "host.repeat"))
    at_random = before["write_amplification"] is not None and before["replays"] is None
    if "too_short" in suspicious and at_random:
        written, needed = (suspicious["too_short"][f"capacities_{which}"] for which in ("written", "needed"))
        replays = math.ceil(needed / written * (repeat["replays"] if repeat else 1))
        # A drive that the trace sizes takes fewer.
        too_many = replays > MOST_REPLAYS and not (replayed and config["host.fit"] != "compact")
        remedy = f", for {text.count(replays)} replays" if too_many else _truer(config, replayed)
        times, enough = text.significant(written), text.significant(needed)
        found.append(
            f"the host wrote {times} times the capacity, and up to {enough} write amplification still tells of the "
            f"preconditioning too{remedy}"
        )
    for name in diagnosis.UNSETTLED.keys() & suspicious:
        changed = diagnosis.changed(name, suspicious[name])
        found.append(f"write amplification {changed}: the drive has not settled{_truer(config, replayed)}")
    return found


def _truer(config: Config, replayed: bool) -> str:
    """What would give a true answer, of that which is not in force; only addresses of a trace can be made compact."""
    options = [
        *(["--fit compact"] if replayed and config["host.fit"] != "compact" else []),
        *(["--repeat until-steady"] if config["host.repeat"] != "until-steady" else []),
    ]
    return f"; for a true answer: {' '.join(options)}" if options else ""


def _unsteady(count: int, when: str, key: str) -> str:
    return (
        f"write amplification was not steady after {text.counted(count, 'replays')} {when}; raise "
        f"{key}.until-steady.most, or accept more by {key}.until-steady.within"
    )


def remarks(config: Config, summary: Summary, ingest: Mapping[str, Any] | None) -> list[str]:
    """What a person should know before reading the figures of a run; empty if all is as it should be."""
    found = ingest_remarks(ingest)
    rounded = rounded_up(config, summary)
    if rounded:
        found.append(rounded)
    requests = sum(summary["host"][f"{op}_requests"] for op in ("read", "write", "trim", "flush"))
    if requests == 0 and not summary["partial"]:
        found.append("no request was measured: there was none, or host.warmup took them all")
    found += _state(config, summary, replayed=ingest is not None)
    sampled = summary["precondition"]["sampled_planes"]
    if sampled is not None:
        found.append(
            f"the steady state is that of {sampled} planes, which the others took over, out of step with each other: "
            "multi-plane commands find no partners (precondition.overwrite.steady.method)"
        )
    time = summary["time"]
    if time and time["behind_ns"] and time["behind_ns"] > BEHIND_SHARE * time["elapsed_ns"]:
        found.append(
            f"requests arrived faster than the drive serves them: it finished {text.duration(time['behind_ns'])} after "
            "the last arrival, and response times are those of a growing queue"
        )
    block = (summary["drive"] or {}).get("block")
    if block is not None:
        found += [f"{block['scheduler']}: {rule}" for rule in block["idle_rules"]]
    return found
