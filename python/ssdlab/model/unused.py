"""Finds settings that the user set but that have no effect."""

from collections.abc import Iterable
from functools import cache

from ssdlab import _ssdlab, text
from ssdlab.model.config import Config

RUN_ONLY = ("precondition", "host", "workload", "check")
"""Sections whose settings apply only to runs, not to served drives."""

SERVED = {"precondition.fill": "0%", "precondition.overwrite": "none", "drive.buffer": "none"}
"""Settings that have a fixed value for every served drive. Setting exactly this value causes no remark."""


@cache
def _conditions(key: str) -> list[tuple[str, str, bool]]:
    """Returns the conditions under which a setting is used: another setting, a value, and whether the other setting
    must have this value or must not have it. Empty if the key is not a setting, such as `trace`.
    """
    explanation = _ssdlab.explain(key)
    conditions = []
    for used in () if explanation is None else explanation[4]:
        # A condition is a string in which ` = ` or ` is not ` separates a setting from its value.
        word = " = " if " = " in used else " is not "
        other, _, value = used.partition(word)
        conditions.append((other, value, word == " = "))
    return conditions


def unused(config: Config, varied: Iterable[str], but: Iterable[str] = (), *, replayed: bool = False) -> list[str]:
    """Returns remarks on settings without effect that the user set, or that a study varies, except `but`.

    A setting from a file gets no remark if the same file also sets the other setting on which it depends, because the
    file may hold a complete configuration.
    """
    keys = [key for key in {**config.made, **dict.fromkeys(varied)} if key not in but]
    # Workload settings from a file get no remark when a trace is replayed, because the same file may also be used for
    # generated workloads.
    instead = [key for key in keys if replayed and key.startswith("workload.") and ":" not in config.made.get(key, "")]
    idle: dict[str, list[str]] = {}
    for key in [key for key in keys if key not in instead]:
        for other, value, same in _conditions(key):
            file, colon, _ = config.made.get(key, "").rpartition(":")
            if (config[other] == value) != same and not (colon and config.made.get(other, "").startswith(f"{file}:")):
                idle.setdefault(other, []).append(key)
    return [
        *([f"ignoring {text.listed(instead)} because a trace is replayed"] if instead else []),
        *(f"ignoring {text.listed(keys)} because {other} is {config[other]}" for other, keys in idle.items()),
    ]


def unused_when_served(config: Config, *, preconditioned: bool = False) -> list[str]:
    """Returns remarks on user settings that have no effect on a served drive, preconditioned by the server or not."""
    so_anyway = [key for key in config.made if config[key] == SERVED.get(key)]
    sections = [name for name in RUN_ONLY if not (preconditioned and name == "precondition")]
    idle = [key for key in config.made if key.partition(".")[0] in sections and key not in so_anyway]
    why = "because clients send the requests" + ("" if preconditioned else ", and the drive is not preconditioned")
    remarks = [f"ignoring {text.listed(idle)} {why}"] if idle else []
    return [*remarks, *unused(config, (), but=[*idle, *so_anyway])]
