"""Assigns volumes to drives."""

import heapq
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.volumes import Volume

ALONE = "alone"
RULES = {
    ALONE: "one drive per volume",
    "round-robin": "volumes assigned to drives in turn, in the order of the trace",
    "write-rate": "heaviest writers first, each to the drive with the fewest writes so far",
    "name": "volumes sorted by name, an equal number of consecutive volumes per drive",
}
"""Descriptions of the rules that assign volumes to drives, by name."""

ALIGN_BYTES = 1 << 20
"""Alignment in bytes of the start of each volume on a shared drive."""


class Drive(NamedTuple):
    """A drive of a fleet, with its volumes."""

    name: str
    volumes: tuple[Volume, ...]

    @property
    def end_bytes(self) -> int:
        """End in bytes of the last volume, with all volumes of the drive laid end to end."""
        before = sum(_aligned(one.end_bytes) for one in self.volumes[:-1])
        return before + self.volumes[-1].end_bytes

    @property
    def touched_bytes(self) -> int:
        """Upper bound on the number of distinct bytes that requests access."""
        return min(self.end_bytes, sum(one.read_bytes + one.written_bytes for one in self.volumes))


def packed(volumes: Sequence[Volume], rule: str, drives: int | None, capacity_bytes: int | None) -> list[Drive]:
    """Assigns volumes, in order of appearance, to drives by a rule in `RULES`.

    Without a number of `drives`, the fleet is the smallest with enough capacity. If `capacity_bytes` is None, volumes
    always fit.
    """
    if rule not in RULES:
        raise ConfigError(
            f"pack {text.path(rule)}: unknown rule; use one of {', '.join(RULES)}{text.suggestion(rule, RULES)}"
        )
    large = [one for one in volumes if capacity_bytes is not None and one.end_bytes > capacity_bytes]
    if large and capacity_bytes is not None:
        largest = max(large, key=lambda one: one.end_bytes)
        raise ConfigError(
            f"volume {text.path(largest.name)} ends at {text.exact_size(largest.end_bytes)}, but a drive holds "
            f"{text.exact_size(capacity_bytes)}; {text.count(len(large))} of {text.count(len(volumes))} volumes are "
            "too large; raise device.capacity, or set host.fit=compact to skip unused space"
        )
    if rule == ALONE:
        if drives is not None:
            raise ConfigError(
                f"drives {drives}: with the rule {ALONE}, each volume has its own drive; omit the number of drives, or "
                "use another rule"
            )
        return [Drive(one.name, (one,)) for one in volumes]
    if drives is None:
        if capacity_bytes is None:
            raise ConfigError(
                f"pack {rule}: needs the number of drives; set drives, or set device.capacity and host.fit=error"
            )
        return _fewest(volumes, rule, capacity_bytes)
    if not 1 <= drives <= len(volumes):
        raise ConfigError(f"drives {drives}: must be from 1 to {len(volumes)}, the number of volumes")
    dealt = _deal(volumes, rule, drives)
    full = max(dealt, key=lambda one: one.end_bytes)
    if capacity_bytes is not None and full.end_bytes > capacity_bytes:
        raise ConfigError(
            f"drives {drives}: {text.count(len(full.volumes))} volumes of drive {full.name} need "
            f"{text.exact_size(full.end_bytes)}, but a drive holds {text.exact_size(capacity_bytes)}; omit the number "
            "of drives to use as few as possible, or set host.fit=compact"
        )
    return dealt


def _fewest(volumes: Sequence[Volume], rule: str, capacity_bytes: int) -> list[Drive]:
    """Returns the smallest fleet that holds all volumes. Tries numbers of drives in ascending order, because with some
    rules volumes may fit on n drives but not on n + 1 drives.
    """
    least = math.ceil(sum(one.end_bytes for one in volumes) / capacity_bytes)
    for drives in range(max(least, 1), len(volumes) + 1):
        dealt = _deal(volumes, rule, drives)
        if all(one.end_bytes <= capacity_bytes for one in dealt):
            return dealt
    raise AssertionError("a fleet with one drive per volume has enough capacity")


def _deal(volumes: Sequence[Volume], rule: str, drives: int) -> list[Drive]:
    shares: list[list[Volume]] = [[] for _ in range(drives)]
    if rule == "round-robin":
        for number, one in enumerate(volumes):
            shares[number % drives].append(one)
    elif rule == "write-rate":
        # Uses bytes written instead of write rates, because all volumes cover the same time span.
        loads = [(0, 0, number) for number in range(drives)]
        for one in sorted(volumes, key=lambda one: -one.written_bytes):
            written, held, number = heapq.heappop(loads)
            shares[number].append(one)
            heapq.heappush(loads, (written + one.written_bytes, held + 1, number))
    else:
        ordered = sorted(volumes, key=lambda one: _natural(one.name))
        for number, one in enumerate(ordered):
            shares[number * drives // len(ordered)].append(one)
    return [Drive(str(number), tuple(share)) for number, share in enumerate(shares)]


def _natural(name: str) -> list[tuple[int, str]]:
    """Returns a sort key that orders numbers in names by value: `disk10` comes after `disk9`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _aligned(size: int) -> int:
    return -(-size // ALIGN_BYTES) * ALIGN_BYTES
