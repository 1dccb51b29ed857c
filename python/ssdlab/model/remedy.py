"""What would give a true answer where a drive has not settled."""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab.model.config import Config

Summary = Mapping[str, Any]


class Remedy(NamedTuple):
    """What would give a true answer."""

    text: str
    """As the end of a sentence."""
    summed: str
    """The same of many runs, without the number of requests."""
    requests: int | None = None


def remedy(
    config: Mapping[str, Any], summary: Summary, evidence: Mapping[str, float], *, generated: bool, sized: bool
) -> Remedy:
    """What would give a true answer where the drive has not settled.

    Args:
        config: The values of all settings.
        summary: The result of the run.
        evidence: What tells that the drive has not settled.
        generated: Whether its requests were generated.
        sized: Whether a person gave the capacity of the drive.
    """
    if not summary["host"]["pages_written"]:
        # Earlier versions judged such runs too.
        words = "; nothing was written while it was measured, so there is none of that"
        return Remedy(words, words)
    done = summary["repeat"]["replays"] if summary["repeat"] else 1
    # Where enough was written and nothing settled, nobody knows how much would do.
    known = "capacities_needed" in evidence
    times, capacities = 2.0 * done, 0.0
    if known:
        before = summary["precondition"]["runs_pages_written"] / summary["device"]["logical_pages"]
        # Of a replay, with its warm-up.
        capacities = (evidence["capacities_written"] - before) / done
        times = (evidence["capacities_needed"] - before) / capacities
    if generated and (requests := _requests(config, summary, times)) is not None:
        return Remedy(by_requests(requests), "", requests)
    rest = _rest(config) if generated else None
    # Packing is for a drive that the trace may size, which takes fewer. One whose capacity was given stays as it is, if
    # what is packed fits at all.
    sizable = not sized and not summary["precondition"]["runs_pages_written"]
    packable = sizable and not generated and config["host.fit"] != "compact"
    replays = _fewest(summary["device"], capacities * (rest.times if rest else 1)) if known else 0
    if not packable and replays > (most := _most_replays()):
        of_all = f" of all {text.count(rest.requests)} requests" if rest else ""
        least = f"; it takes at least {text.count(replays)} replays{of_all}"
        return Remedy(least, f"; it takes more than {most} replays")
    # Of that which is not in force.
    options = [
        *([f"--set workload.requests={rest.requests}"] if rest else []),
        *(["--fit compact"] if packable else []),
        *(["--repeat until-steady"] if config["host.repeat"] != "until-steady" else []),
    ]
    words = f"; for a true answer: {' '.join(options)}" if options else ""
    return Remedy(words, words)


@cache
def _most_replays() -> int:
    """After how many `--repeat until-steady` gives up."""
    most: int = Config(overrides={"host.repeat": "until-steady"})["host.repeat.until-steady.most"]
    return most


def _fewest(device: Mapping[str, Any], capacities: float) -> int:
    """The fewest replays, each of which writes so many capacities, after which write amplification can be steady: two
    windows, each of whole replays that write all of the flash. Whether these are alike nobody knows before.
    """
    replays: int = 2 * math.ceil(device["physical_pages"] / (device["logical_pages"] * capacities))
    return replays


class Rest(NamedTuple):
    """What is left of a workload that ends by itself and was ended before."""

    requests: int
    """With which it ends by itself."""
    times: float
    """So many times those that were made."""


def _rest(config: Mapping[str, Any]) -> Rest | None:
    whole = _whole(config)
    made = _made(config)
    return Rest(whole, whole / made) if whole is not None and made < whole else None


def _whole(config: Mapping[str, Any]) -> int | None:
    """Requests with which a workload ends by itself; None if it goes on."""
    copied = "workload.pattern.copy_files"
    if config["workload.pattern"] != "copy_files":
        return None
    file, request = (_ssdlab.size(config[key]) for key in (f"{copied}.file_size", "workload.size"))
    files: int = config[f"{copied}.files"]
    return files * math.ceil(file / request)


def _made(config: Mapping[str, Any]) -> int:
    """Requests of the workload that a replay made, with its warm-up: what merges them comes below."""
    requests: int = config["workload.requests"]
    whole = _whole(config)
    return requests if whole is None else min(requests, whole)


def _requests(config: Mapping[str, Any], summary: Summary, times: float) -> int | None:
    """So many times the requests of a generated workload, rounded up to two digits; None if it ends by itself before.

    Replays would write where the first requests did and nowhere else: of even writes they make a hot set.
    """
    made, whole = _made(config), _whole(config)
    if made < config["workload.requests"]:
        return None
    # The share of writes among more requests may be less, by three times its deviation.
    room = 1 + 3 / math.sqrt(summary["host"]["write_requests"])
    enough = math.ceil(times * room * made)
    step: int = 10 ** max(len(str(enough)) - 2, 0)
    return math.ceil(enough / step) * step if whole is None or enough <= whole else None


def by_requests(requests: int) -> str:
    """The remedy of so many requests, as the end of a sentence."""
    return f"; for a true answer: --set workload.requests={requests}"


def measured(summary: Summary) -> int:
    """Requests that the host made while it was measured."""
    return sum(summary["host"][f"{op}_requests"] for op in ("read", "write", "trim", "flush"))
