"""Remarks on drives whose capacity is derived from the trace: the capacity, and the drive with the lifetimes."""

import math
from collections.abc import Iterable

from ssdlab import text
from ssdlab.model.config import SIZED_BY_TRACE, Config
from ssdlab.model.metrics import Summary

LIFETIMES = "Lifetime"
"""Name of the section that lists the drive's lifetimes."""

SIZED = "Lifetime is unknown, because the drive was sized to fit the trace"
"""Remark on runs without the lifetimes that depend on the size of the drive, because the trace determined the size."""
NO_LIFETIME = f"{SIZED}; set device.capacity"
"""The remark `SIZED`, followed by a remedy."""

MAX_CAPACITY = len("1024GiB")
"""Maximum length, in characters, of a capacity that a remark shows without rounding."""


def nominal_drive(summary: Summary) -> str | None:
    """Returns the name of the nominal drive of a scale model; None for other drives.

    A drive whose capacity rounds to the nominal capacity counts as the nominal drive itself. For example, drives sold
    as 1 TB have 1,000,204,886,016 bytes.
    """
    model = summary["device"].get("scale_model")
    if model is None:
        return None
    nominal = text.size_decimal(model["nominal_capacity_bytes"])
    if nominal == text.size_decimal(summary["device"]["capacity_bytes"]):
        return None
    number, _, unit = nominal.partition(" ")
    return f"the nominal {float(number):g} {unit} drive"


def lifetime_title(summary: Summary) -> str:
    """Returns the title of the section with the lifetimes of a drive."""
    nominal = nominal_drive(summary)
    return LIFETIMES if nominal is None else f"{LIFETIMES} of {nominal}"


def sizing(runs: Iterable[tuple[Config, Summary]], *, lifetimes: bool = True) -> list[str]:
    """Returns notes on drives whose capacity was derived from the trace; `lifetimes` is true if a page shows them."""
    # Runs are grouped by configuration, because many runs share a few configurations.
    drives = dict[int, tuple[Config, list[Summary]]]()
    for config, summary in runs:
        drives.setdefault(id(config), (config, []))[1].append(summary)
    by_trace: list[int] = []
    models: dict[tuple[str, str], list[Summary]] = {}
    unknown = False
    for config, summaries in drives.values():
        is_unset = any(one.key == "host.fit" and one.origin == SIZED_BY_TRACE for one in config.settings)
        for summary in summaries:
            nominal = nominal_drive(summary)
            if nominal is not None:
                models.setdefault((nominal, config["device.scale.blocks.capacity"]), []).append(summary)
                continue
            if is_unset:
                by_trace.append(summary["device"]["capacity_bytes"])
            lifetime = summary["lifetime"]
            unknown |= lifetime["dwpd_5_years"] is not None and lifetime["host_tbw_bytes"] is None
    notes = []
    if by_trace:
        notes.append(
            f"No capacity set: using {_range(by_trace)}, just enough for the pages the trace touches (--fit compact). "
            f"Override with --set device.capacity=64GiB{f'. {SIZED}' if unknown and lifetimes else ''}"
        )
    elif unknown and lifetimes:
        notes.append(NO_LIFETIME)
    notes += [_model(*drive, summaries) for drive, summaries in models.items()]
    return notes


def _model(nominal: str, capacity: str, summaries: list[Summary]) -> str:
    """Returns the note on runs with scale models of the drive `nominal`, whose full capacity is `capacity`."""
    devices = [summary["device"] for summary in summaries]
    has = _range(device["capacity_bytes"] for device in devices)
    needed = [device["scale_model"]["needed_bytes"] for device in devices]
    raised = [bytes for bytes, device in zip(needed, devices, strict=True) if bytes < device["capacity_bytes"]]
    size = f"{has} instead of {_range(raised)}, because smaller models have too few blocks" if raised else has
    if len(capacity) > MAX_CAPACITY:
        # Rounds up, so that the drive is not smaller than the nominal drive.
        capacity = f"{math.ceil(devices[0]['scale_model']['nominal_capacity_bytes'] / 2**30)}GiB"
    return (
        f"Scale model of {nominal}: {size}. Lifetimes are for the nominal drive. Full size: --set "
        f"device.capacity={capacity}"
    )


def _range(sizes: Iterable[int]) -> str:
    """Formats the smallest and the largest of several sizes."""
    ends = sorted({*sizes})
    return text.size(ends[0]) + (f" to {text.size(ends[-1])}" if len(ends) > 1 else "")
