"""Memory for runs: how much is free, and which runs wait."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ssdlab.study.work.workers import Stopped

SHARE = 0.8
"""Share of the free memory for runs; the rest is for other programs."""

CGROUP = Path("/sys/fs/cgroup")


def free_bytes() -> int:
    """Returns the free memory of the machine, limited by this process's control group."""
    free = _meminfo() or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limit = (CGROUP / "memory.max").read_text(encoding="ascii").strip()
        if limit != "max":
            used = int((CGROUP / "memory.current").read_text(encoding="ascii"))
            free = min(free, max(int(limit) - used, 0))
    except (OSError, ValueError):
        # No control group of version 2.
        return free
    return free


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split() for line in lines if line.startswith("MemAvailable:")]
    return int(found[0][1]) << 10 if found else None


class Admission:
    """Admits runs while their memory is within a limit."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._taken = 0
        self._changed = threading.Condition()

    @contextmanager
    def of(self, bytes: int, stopped: Callable[[], bool]) -> Iterator[None]:
        """Waits for memory and holds it inside the block.

        Raises:
            Stopped: If `stopped` becomes true; call `wake` after the change.
        """
        with self._changed:
            self._changed.wait_for(lambda: stopped() or self._taken + bytes <= self.limit_bytes)
            if stopped():
                raise Stopped
            self._taken += bytes
        try:
            yield
        finally:
            with self._changed:
                self._taken -= bytes
                self._changed.notify_all()

    def wake(self) -> None:
        """Makes all waiting threads check again."""
        with self._changed:
            self._changed.notify_all()
