"""Notes on the runs of a study, shown before the results."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab.model.config import Config
from ssdlab.model.remarks import over_runs, remarks
from ssdlab.model.sizing import sizing
from ssdlab.model.source import ingest_of

SPACE = {"device.op", "device.spare"}
"""Settings that determine spare space. Drives round spare space to whole blocks."""

MAX_DRIVES = 3
"""Maximum number of notes on setting values that result in the same drive."""


class Ran(NamedTuple):
    """A run of a study that has a result."""

    levels: Mapping[str, str]
    """Values of the axes in this run, written as settings."""
    config: Config
    summary: Mapping[str, Any]


def drive_of(run: Ran, asking: Collection[str] = SPACE) -> tuple[str, ...]:
    """Returns a key that runs share if they have the same drive and values of all axes except settings in `asking`."""
    others = [f"{key}={level}" for key, level in run.levels.items() if key not in asking]
    return *others, json.dumps(run.summary["device"])


def same_drive(one: Ran, other: Ran) -> bool:
    """True if two runs have the same drive and differ only in settings of spare space."""

    def rest(run: Ran) -> dict[str, str]:
        return {key: value for key, value, _ in run.config.settings if key not in SPACE}

    return rest(one) == rest(other) and one.summary["device"] == other.summary["device"]


def caveats(runs: Sequence[Ran], *, by_trace: bool = False) -> list[str]:
    """Returns notes on the runs: capacities derived from traces, settings that result in the same drive, and remarks
    with the number of runs. With `by_trace`, lifetimes at the trace's rate are shown.
    """
    by_run = []
    for one in runs:
        ingest = ingest_of(one.summary["ingest"])
        by_run.append(remarks(one.config, one.summary, ingest, one.levels, generated=ingest is None))
    sized = sizing(((one.config, one.summary) for one in runs), lifetimes=by_trace)
    return [*sized, *_same_drives(runs), *over_runs(by_run)]


def _same_drives(runs: Sequence[Ran]) -> list[str]:
    """Returns notes on spare-space values that result in the same drive because drives consist of whole blocks."""
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
    notes = []
    for (key, *asked), rests in [*same.items()][:MAX_DRIVES]:
        apart = [
            sum(not values_of.keys().isdisjoint(asked) for values_of in by.values()) > 1 for by in drives[key].values()
        ]
        more = f" and {text.count(len(rests) - 1)} more" if len(rests) > 1 else ""
        where = f" with {rests[0]}{more}" if any(apart) else ""
        notes.append(f"{key}={', '.join(asked)} give the same drive{where}, because drives consist of whole blocks")
    left = len(same) - MAX_DRIVES
    more = f"in {text.count(left)} more {'cases' if left > 1 else 'case'}, different values give the same drive"
    return [*notes, more] if left > 0 else notes
