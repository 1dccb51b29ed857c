"""Remedies for a drive that was measured before steady state."""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab.model.config import Config
from ssdlab.model.metrics import Summary


class Remedy(NamedTuple):
    """A remedy for a drive that has not reached steady state, worded as part of a remark."""

    text: str
    """Text of the remedy, which completes the last sentence of the remark."""
    summed: str
    """Text of the remedy in a remark on several runs; omits the number of requests, which may differ between runs."""
    requests: int | None = None


def remedy(
    config: Mapping[str, Any], summary: Summary, evidence: Mapping[str, float], *, generated: bool, sized: bool
) -> Remedy:
    """Returns the remedy for a drive that has not reached steady state. `config` maps all settings to their values,
    `generated` is true for a generated workload, and `sized` if the user set the capacity.
    """
    if not summary["host"]["pages_written"]:
        # Results saved by earlier versions may contain this finding even if the run wrote nothing.
        words = "; nothing was written during the measurement, so the WAF is undefined"
        return Remedy(words, words)
    done = summary["repeat"]["replays"] if summary["repeat"] else 1
    # If enough was written but write amplification still did not settle, the amount of writes needed is unknown.
    known = "capacities_needed" in evidence
    times, capacities = 2.0 * done, 0.0
    if known:
        before = summary["precondition"]["runs_pages_written"] / summary["device"]["logical_pages"]
        # Data written by one replay including its warm-up, in multiples of the drive's capacity.
        capacities = (evidence["capacities_written"] - before) / done
        times = (evidence["capacities_needed"] - before) / capacities
    if generated and (requests := _requests(config, summary, times)) is not None:
        return Remedy(by_requests(requests), "", requests)
    whole = _unfinished(config) if generated else None
    # `--fit compact` sizes the drive for the trace, so fewer replays suffice, unless the user set the capacity.
    sizable = not sized and not summary["precondition"]["runs_pages_written"]
    packable = sizable and not generated and config["host.fit"] != "compact"
    replays = _fewest(summary["device"], capacities * (whole / _made(config) if whole else 1)) if known else 0
    if not packable and replays > (most := _most_replays()):
        of_all = f" of all {text.count(whole)} requests" if whole else ""
        least = f"; steady state takes at least {text.count(replays)} replays{of_all}"
        return Remedy(least, f"; steady state takes more than {most} replays")
    options = [
        *([f"--set workload.requests={whole}"] if whole else []),
        *(["--fit compact"] if packable else []),
        *(["--repeat until-steady"] if config["host.repeat"] != "until-steady" else []),
    ]
    words = f"; for steady state: {' '.join(options)}" if options else ""
    return Remedy(words, words)


@cache
def _most_replays() -> int:
    """Returns the number of replays after which `--repeat until-steady` gives up."""
    most: int = Config(overrides={"host.repeat": "until-steady"})["host.repeat.until-steady.most"]
    return most


def _fewest(device: Mapping[str, Any], capacities: float) -> int:
    """Returns the minimum number of replays before write amplification can be steady. Each replay writes `capacities`
    times the drive's capacity.

    The steady-state check compares two windows. Each window is the smallest whole number of replays that together write
    all of the flash.
    """
    replays: int = 2 * math.ceil(device["physical_pages"] / (device["logical_pages"] * capacities))
    return replays


def _unfinished(config: Mapping[str, Any]) -> int | None:
    """Returns the number of requests of a finite workload of which a run executes only a part; otherwise None."""
    whole = _whole(config)
    return whole if whole is not None and _made(config) < whole else None


def _whole(config: Mapping[str, Any]) -> int | None:
    """Returns the number of requests of a workload that ends by itself; None if it is endless."""
    copied = "workload.pattern.copy_files"
    if config["workload.pattern"] != "copy_files":
        return None
    file, request = (_ssdlab.size(config[key]) for key in (f"{copied}.file_size", "workload.size"))
    files: int = config[f"{copied}.files"]
    return files * math.ceil(file / request)


def _made(config: Mapping[str, Any]) -> int:
    """Returns the number of requests of one replay including its warm-up, before any merging."""
    requests: int = config["workload.requests"]
    whole = _whole(config)
    return requests if whole is None else min(requests, whole)


def _requests(config: Mapping[str, Any], summary: Summary, times: float) -> int | None:
    """Returns `times` times the number of requests of a generated workload, rounded up to two significant digits. None
    if the workload ends before reaching this number.

    Replaying more often is not a substitute for more requests: each replay writes the same addresses again, which
    creates a hot set.
    """
    made, whole = _made(config), _whole(config)
    if made < config["workload.requests"]:
        return None
    # Adds three standard deviations, because the share of writes is random.
    room = 1 + 3 / math.sqrt(summary["host"]["write_requests"])
    enough = math.ceil(times * room * made)
    step: int = 10 ** max(len(str(enough)) - 2, 0)
    return math.ceil(enough / step) * step if whole is None or enough <= whole else None


def by_requests(requests: int) -> str:
    """Returns the remedy "generate more requests", as text that ends a sentence."""
    return f"; for steady state: --set workload.requests={requests}"


def measured(summary: Summary) -> int:
    """Returns the number of measured host requests."""
    return sum(summary["host"][f"{op}_requests"] for op in ("read", "write", "trim", "flush"))
