"""What a person should know before reading the figures of a study, summed up over its runs."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab.model.config import Config
from ssdlab.model.remarks import over_runs, remarks, sized_by_trace
from ssdlab.model.source import ingest_of

SPACE = {"device.op", "device.spare"}
"""Settings that ask for space beyond the capacity, of which a drive gets whole blocks."""

DRIVES = 3
"""Drives that several values give and that are listed."""


class Ran(NamedTuple):
    """A run that came to its end."""

    levels: Mapping[str, str]
    """Of each axis, as settings take them."""
    config: Config
    summary: Mapping[str, Any]


def drive_of(run: Ran, asking: Collection[str] = SPACE) -> tuple[str, ...]:
    """What a run has in common with others on the same drive, whatever their values of the settings that ask for its
    space.
    """
    others = [f"{key}={level}" for key, level in run.levels.items() if key not in asking]
    return *others, json.dumps(run.summary["device"])


def same_drive(one: Ran, other: Ran) -> bool:
    """Whether two runs differ in nothing but settings that ask for the space of the drive, and have the same drive."""

    def rest(run: Ran) -> dict[str, str]:
        return {key: value for key, value, _ in run.config.settings if key not in SPACE}

    return rest(one) == rest(other) and one.summary["device"] == other.summary["device"]


def caveats(runs: Sequence[Ran], *, by_trace: bool = False) -> list[str]:
    """That traces size the drives, which values give the same one, and how many runs have each remark that a page of
    one run would have.

    Args:
        runs: The runs.
        by_trace: Whether it stands beside lives at the rate of the trace.
    """
    found = []
    for one in runs:
        ingest = ingest_of(one.summary["ingest"])
        found.append(remarks(one.config, one.summary, ingest, one.levels, generated=ingest is None))
    sized = sized_by_trace((one.config, one.summary) for one in runs)
    return [*([sized] if sized else []), *_same_drives(runs), *over_runs(found, by_trace=by_trace)]


def _same_drives(runs: Sequence[Ran]) -> list[str]:
    """Values of the space that was asked for which make no difference, as nothing else is varied between them; with
    which values of the rest, where they make one with others.
    """
    drives: dict[str, dict[str, dict[str, dict[str, None]]]] = {key: {} for key in sorted(SPACE)}
    for one in runs:
        for key in SPACE & one.levels.keys():
            *others, drive = drive_of(one, {key})
            drives[key].setdefault(" ".join(others), {}).setdefault(drive, {})[one.levels[key]] = None
    same: dict[tuple[str, ...], list[str]] = {}
    for key, by_rest in drives.items():
        for rest, by_drive in by_rest.items():
            for values in by_drive.values():
                if len(values) > 1:
                    same.setdefault((key, *values), []).append(rest)
    told = []
    for (key, *asked), rests in [*same.items()][:DRIVES]:
        apart = [sum(not its.keys().isdisjoint(asked) for its in by.values()) > 1 for by in drives[key].values()]
        more = f" and {text.count(len(rests) - 1)} more" if len(rests) > 1 else ""
        where = f" with {rests[0]}{more}" if any(apart) else ""
        told.append(f"{key}={', '.join(asked)} give the same drive{where}, as blocks are whole")
    left = len(same) - DRIVES
    more = f"{text.count(left)} more {'drives are' if left > 1 else 'drive is'} given by several values too"
    return [*told, more] if left > 0 else told
