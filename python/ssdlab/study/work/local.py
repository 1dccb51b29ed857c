"""Worker processes on this machine.

Processes isolate runs better than threads: a crash, or a kill for lack of memory, ends only one run. A worker is a
separate program (`process.py`) that reads runs from a pipe and ends when the pipe is closed, so no worker outlives its
parent.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from ssdlab.study.work.run import Outcome, Run
from ssdlab.study.work.workers import Stopped, WorkerDied, Workers

PROGRAM = "ssdlab.study.work.process"

LENGTH = 8
"""Number of bytes of the length before each message."""


SHARE = 0.8
"""Share of the machine's free memory that runs may use; the rest is left to other programs."""

CGROUP = Path("/sys/fs/cgroup")


def free_bytes() -> int:
    """Returns the free memory of the machine or, if smaller, of this process's control group."""
    free = _meminfo() or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limit = (CGROUP / "memory.max").read_text(encoding="ascii").strip()
        if limit != "max":
            used = int((CGROUP / "memory.current").read_text(encoding="ascii"))
            free = min(free, max(int(limit) - used, 0))
    except (OSError, ValueError):
        # Without cgroups v2, only the machine's free memory is known.
        return free
    return free


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    available = [line.split() for line in lines if line.startswith("MemAvailable:")]
    return int(available[0][1]) << 10 if available else None


class Admission:
    """Admits runs while their total memory is within a limit."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._taken = 0
        self._changed = threading.Condition()

    @contextmanager
    def of(self, bytes: int, stopped: Callable[[], bool]) -> Iterator[None]:
        """Waits until `bytes` of memory are available, and reserves them until the context exits.

        Raises Stopped if `stopped` returns True; the caller must call `wake` when its result changes.
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
        """Makes all waiting threads check their condition again."""
        with self._changed:
            self._changed.notify_all()


class _Process:
    """A worker process on this machine."""

    def __init__(self) -> None:
        package = str(Path(__file__).parents[3])
        path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )

    def do(self, run: Run) -> Outcome:
        """Executes a run. Raises WorkerDied if the process ends first."""
        assert self._process.stdin is not None and self._process.stdout is not None
        message = pickle.dumps(run)
        try:
            self._process.stdin.write(len(message).to_bytes(LENGTH, "big") + message)
            self._process.stdin.flush()
        except OSError:
            raise WorkerDied from None
        head = self._process.stdout.read(LENGTH)
        body = self._process.stdout.read(int.from_bytes(head, "big")) if len(head) == LENGTH else b""
        if not body or len(body) < int.from_bytes(head, "big"):
            raise WorkerDied
        outcome: Outcome = pickle.loads(body)
        return outcome

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


class LocalWorkers(Workers):
    """At most `jobs` worker processes on this machine, started on demand; by default with most of the free memory."""

    def __init__(self, jobs: int, limit_bytes: int | None = None) -> None:
        self._jobs = jobs
        self._admission = Admission(limit_bytes or int(SHARE * free_bytes()))
        self._idle: SimpleQueue[_Process] = SimpleQueue()
        self._all: set[_Process] = set()
        self._lock = threading.Lock()
        self._stopped = False

    @property
    def threads(self) -> int:
        """Number of worker processes."""
        return self._jobs

    @property
    def most_bytes(self) -> int:
        """Memory limit in bytes of all processes together."""
        return self._admission.limit_bytes

    def once(self, run: Run, *, alone: bool) -> Outcome:
        """Executes a run in a worker process."""
        with self._admission.of(self.most_bytes if alone else run.memory_bytes, lambda: self._stopped):
            process = self._take()
            try:
                outcome = process.do(run)
            except WorkerDied:
                with self._lock:
                    self._all.discard(process)
                process.end()
                if self._stopped:
                    raise Stopped from None
                raise
            self._idle.put(process)
            return outcome

    def _take(self) -> _Process:
        try:
            return self._idle.get_nowait()
        except Empty:
            with self._lock:
                if self._stopped:
                    raise Stopped from None
                process = _Process()
                self._all.add(process)
                return process

    def stop(self) -> None:
        """Kills all worker processes."""
        with self._lock:
            self._stopped = True
            running = [*self._all]
        self._admission.wake()
        for process in running:
            process._process.kill()

    def close(self) -> None:
        """Kills all worker processes and waits until they have exited."""
        self.stop()
        for process in self._all:
            process.end()
        self._all.clear()
