"""Settings that a person made and that nothing uses."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from ssdlab import _ssdlab, text
from ssdlab.model.config import Config

MOST = 4
"""Settings that are listed."""

RUN_ONLY = ("precondition", "host", "workload", "check")
"""What of a configuration only a run uses."""

SERVED = {"precondition.fill": "0%", "precondition.overwrite": "none", "drive.buffer": "none"}
"""Values that say what is so anyway where a served drive does not use the setting."""


class Condition(NamedTuple):
    """What has to be so for anything to use a setting."""

    key: str
    value: str
    same: bool
    """Whether the other setting is to have the value, or another."""


@cache
def _conditions(key: str) -> tuple[Condition, ...]:
    """Of a setting; none for the name of something else that a study varies."""
    told = _ssdlab.explain(key)
    found = []
    for used in () if told is None else told[4]:
        # As the table of settings words it.
        word = " = " if " = " in used else " is not "
        other, _, value = used.partition(word)
        found.append(Condition(other, value, word == " = "))
    return tuple(found)


def unused(config: Config, varied: Iterable[str], but: Iterable[str] = (), *, replayed: bool = False) -> list[str]:
    """Settings that a person made, or a study varies, and that nothing uses; `but` these.

    A file that says both, as that of a whole configuration does, means it so.

    Args:
        config: The configuration.
        varied: Settings that are varied around it.
        but: Settings that are told otherwise.
        replayed: Whether the requests are those of a trace.
    """
    keys = [key for key in {**config.made, **dict.fromkeys(varied)} if key not in but]
    # A file may be for runs of its workload as well.
    instead = [key for key in keys if replayed and key.startswith("workload.") and ":" not in config.made.get(key, "")]
    idle: dict[str, list[str]] = {}
    for key in [key for key in keys if key not in instead]:
        for other, value, same in _conditions(key):
            file, colon, _ = config.made.get(key, "").rpartition(":")
            if (config[other] == value) != same and not (colon and config.made.get(other, "").startswith(f"{file}:")):
                idle.setdefault(other, []).append(key)
    return [
        *([f"nothing uses {_listed(instead)}, as a trace is replayed"] if instead else []),
        *(f"nothing uses {_listed(keys)}, as {other} is {config[other]}" for other, keys in idle.items()),
    ]


def unused_when_served(config: Config) -> list[str]:
    """Settings that a person made and that nothing uses while the drive is served."""
    so_anyway = [key for key in config.made if config[key] == SERVED.get(key)]
    idle = [key for key in config.made if key.partition(".")[0] in RUN_ONLY and key not in so_anyway]
    why = "as a drive that is served begins empty or as its file has it, and does what its clients ask for"
    found = [f"nothing uses {_listed(idle)}, {why}"] if idle else []
    return [*found, *unused(config, (), but=[*idle, *so_anyway])]


def _listed(keys: Sequence[str]) -> str:
    more = [f"{text.count(len(keys) - MOST)} more"] if len(keys) > MOST else []
    return ", ".join([*keys[:MOST], *more])
