"""Which volumes share a drive."""

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
    ALONE: "a drive for each volume",
    "round-robin": "volumes in turn, in the order in which the trace names them",
    "write-rate": "the volume that writes most first, each to the drive that is written least",
    "name": "volumes by name, as many neighbours to each drive",
}
"""Name and meaning of each."""

ALIGN_BYTES = 1 << 20
"""Volumes that share a drive begin at multiples of this."""


class Drive(NamedTuple):
    """A drive of a fleet."""

    name: str
    volumes: tuple[Volume, ...]

    @property
    def end_bytes(self) -> int:
        """The first byte behind all volumes side by side."""
        before = sum(_aligned(one.end_bytes) for one in self.volumes[:-1])
        return before + self.volumes[-1].end_bytes

    @property
    def touched_bytes(self) -> int:
        """Most that requests can have used."""
        return min(self.end_bytes, sum(one.read_bytes + one.written_bytes for one in self.volumes))


def packed(volumes: Sequence[Volume], rule: str, drives: int | None, capacity_bytes: int | None) -> list[Drive]:
    """The drives of a fleet.

    Args:
        volumes: In order of appearance.
        rule: A name in `RULES`.
        drives: How many; as few as have room for all volumes by this rule if None.
        capacity_bytes: Room on a drive; None where volumes are no matter of room.

    Raises:
        ConfigError: If there is no such rule, or if a volume or the volumes of a drive have no room on it.
    """
    if rule not in RULES:
        raise ConfigError(
            f"pack {text.path(rule)}: there is no rule of that name{text.suggestion(rule, RULES)}; take "
            f"{', '.join(RULES)}"
        )
    large = [one for one in volumes if capacity_bytes is not None and one.end_bytes > capacity_bytes]
    if large and capacity_bytes is not None:
        largest = max(large, key=lambda one: one.end_bytes)
        raise ConfigError(
            f"volume {text.path(largest.name)} ends at {text.exact_size(largest.end_bytes)}, and a drive holds "
            f"{text.exact_size(capacity_bytes)}; {text.count(len(large))} of {text.count(len(volumes))} volumes are "
            "too large: raise device.capacity, or leave out what they do not use with host.fit=compact"
        )
    if rule == ALONE:
        if drives is not None:
            raise ConfigError(
                f"drives {drives}: each volume has its own drive; pack them by another rule to share drives"
            )
        return [Drive(one.name, (one,)) for one in volumes]
    if drives is None:
        if capacity_bytes is None:
            raise ConfigError(
                f"pack {rule}: say how many drives there are, or how much one holds: set device.capacity, and "
                "host.fit=error"
            )
        return _fewest(volumes, rule, capacity_bytes)
    if not 1 <= drives <= len(volumes):
        raise ConfigError(f"drives {drives}: give a number from 1 to {len(volumes)}, as there are so many volumes")
    found = _dealt(volumes, rule, drives)
    full = max(found, key=lambda one: one.end_bytes)
    if capacity_bytes is not None and full.end_bytes > capacity_bytes:
        raise ConfigError(
            f"drives {drives}: {text.count(len(full.volumes))} volumes of drive {full.name} take "
            f"{text.exact_size(full.end_bytes)}, and it holds {text.exact_size(capacity_bytes)}; leave their "
            "number out for as few as have room, or set host.fit=compact"
        )
    return found


def _fewest(volumes: Sequence[Volume], rule: str, capacity_bytes: int) -> list[Drive]:
    """As few drives as have room. More drives may have less room under a rule, so each number is tried."""
    least = math.ceil(sum(one.end_bytes for one in volumes) / capacity_bytes)
    for drives in range(max(least, 1), len(volumes) + 1):
        found = _dealt(volumes, rule, drives)
        if all(one.end_bytes <= capacity_bytes for one in found):
            return found
    # Each has a drive of its own at the end, and room on it.
    raise AssertionError


def _dealt(volumes: Sequence[Volume], rule: str, drives: int) -> list[Drive]:
    """Volumes on as many drives."""
    shares: list[list[Volume]] = [[] for _ in range(drives)]
    if rule == "round-robin":
        for number, one in enumerate(volumes):
            shares[number % drives].append(one)
    elif rule == "write-rate":
        # All volumes are watched as long, so that bytes are rates.
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
    """A key by which `disk10` comes behind `disk9`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _aligned(size: int) -> int:
    return -(-size // ALIGN_BYTES) * ALIGN_BYTES
