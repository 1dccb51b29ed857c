"""Workers of a Dask cluster.

A run is sent to a worker of our choice: one with a free thread and with memory for it. So no worker has more than its
limit, and a run that ends its worker is known and not only suspected: it is tried again with a worker to itself. Traces
are read where they lie if the worker finds the same contents there; else they are sent, once to each worker.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import distributed
from ssdlab.model.source import identified
from ssdlab.study.work.run import Outcome, Run, TraceRef, execute, program
from ssdlab.study.work.workers import Stopped, WorkerDied, Workers

SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")
"""How schedulers are reached."""

CONNECT_SECONDS = 5.0
"""After which a scheduler that does not answer counts as unreachable."""

WORKERS_SECONDS = 30.0
"""After which a cluster without workers is given up."""

FETCH_SECONDS = 2.0
"""After which a result that is ready and does not arrive is asked for again."""

LOOK_SECONDS = 0.5
"""Between two looks at which workers there are."""

CHUNK_BYTES = 4 << 20
"""A trace is sent in parts of this size."""

AHEAD = 4
"""Runs that are sent to a worker for each of its threads: while one is done the next are on their way."""

LEAST_THREADS, MOST_THREADS = 32, 512
"""Runs that wait for the cluster at a time: more than it has threads, as it may grow."""


@dataclass
class _Place:
    """A worker."""

    slots: int
    limit_bytes: float
    checked: bool = False
    """Whether it is known to have our program."""
    running: int = 0
    taken_bytes: float = 0
    traces: dict[TraceRef, TraceRef] = field(default_factory=dict)
    """Traces by how they are found here."""
    asking: threading.Lock = field(default_factory=threading.Lock)
    gone: bool = False
    waiting: set[threading.Event] = field(default_factory=set)
    """Of those who wait for a run here, to be told when it ends or cannot end."""

    def leave(self) -> None:
        """Tells all who wait that nothing more comes."""
        self.gone = True
        for one in [*self.waiting]:
            one.set()

    def has_room(self, bytes: float, *, alone: bool) -> bool:
        """Whether a run can begin here."""
        if alone:
            return self.running == 0
        return self.running < self.slots and self.taken_bytes + bytes <= self.limit_bytes


class DaskWorkers(Workers):
    """The workers of the cluster whose scheduler has an address.

    Raises:
        ConfigError: If it cannot be reached, or has no workers.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._where = f"cluster {text.path(address)}"
        scheme, separator, _ = address.partition("://")
        if separator and scheme not in SCHEMES:
            raise ConfigError(
                f"{self._where}: {text.path(scheme)} is none of {', '.join(SCHEMES)}; write tcp://host:8786"
            )
        try:
            self._client: Any = distributed.Client(
                address, timeout=CONNECT_SECONDS, set_as_default=False, name="ssdlab"
            )
        except (OSError, ValueError, TypeError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise ConfigError(
                f"{self._where}: no scheduler answers ({reason}); check the address, such as tcp://host:8786"
            ) from None
        self._changed = threading.Condition()
        self._places: dict[str, _Place] = {}
        self._stopped = False
        self._lost = False
        self._closed = threading.Event()
        try:
            deadline = time.monotonic() + WORKERS_SECONDS
            self._look()
            while not self._places:
                if time.monotonic() > deadline:
                    raise ConfigError(f"{self._where}: has no workers; start some, or wait until they are there")
                time.sleep(LOOK_SECONDS)
                self._look()
        except BaseException:
            self._client.close()
            raise
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    @property
    def threads(self) -> int:
        """Enough to keep all threads of all workers busy, and those of workers that join."""
        slots = sum(place.slots for place in self._places.values())
        return min(max(2 * slots, LEAST_THREADS), MOST_THREADS)

    @property
    def most_bytes(self) -> int:
        """The memory of the largest worker."""
        with self._changed:
            most = max((place.limit_bytes for place in self._places.values()), default=math.inf)
        return 1 << 62 if math.isinf(most) else int(most)

    def _look(self) -> None:
        """Takes note of workers that have come and gone."""
        info = self._client.scheduler_info(n_workers=-1)["workers"]
        for address in self._places.keys() - info.keys():
            with self._changed:
                self._places.pop(address).leave()
        for address in info.keys() - self._places.keys():
            limit = info[address]["memory_limit"] or math.inf
            with self._changed:
                self._places[address] = _Place(AHEAD * info[address]["nthreads"], limit)
        with self._changed:
            self._changed.notify_all()

    def _watch(self) -> None:
        while not self._closed.wait(LOOK_SECONDS):
            try:
                if self._client.status != "running":
                    raise OSError("the scheduler is gone")
                self._look()
            except Exception:
                # Whatever it is, those who wait have to be told.
                with self._changed:
                    self._lost = True
                    for place in self._places.values():
                        place.leave()
                    self._changed.notify_all()
                return

    def once(self, run: Run, *, alone: bool) -> Outcome:
        """Does a run on a worker that has room for it.

        Raises:
            ConfigError: If the worker has another program, or the cluster is lost.
        """
        with self._room(run, alone=alone) as (address, place):
            self._check(address, place)
            sent = run if run.trace is None else run._replace(trace=self._trace(address, place, run.trace))
            outcome: Outcome = self._ask(address, place, execute, sent)
            return outcome

    def _ask(self, address: str, place: _Place, function: Callable[..., Any], *arguments: object) -> Any:
        """What a function returns on a worker.

        Raises:
            WorkerDied: If the worker is gone before that is here.
            Stopped: If all are to end.
        """
        # Without a key of its own Dask would take equal tasks for one, and keep what failed.
        future = self._client.submit(
            function, *arguments, workers=[address], allow_other_workers=False, pure=False, retries=0
        )
        told = threading.Event()
        place.waiting.add(told)
        future.add_done_callback(lambda _: told.set())
        try:
            while not (self._stopped or place.gone):
                if not future.done():
                    told.wait(LOOK_SECONDS)
                    continue
                try:
                    return future.result(timeout=FETCH_SECONDS)
                except TimeoutError:
                    # Done, but the worker that has it may be gone; then that shows soon.
                    continue
                except (distributed.KilledWorker, CancelledError, OSError):
                    raise WorkerDied from None
            if self._stopped:
                raise Stopped
            raise WorkerDied
        finally:
            place.waiting.discard(told)
            with suppress(Exception):
                if future.done():
                    future.release()
                else:
                    future.cancel()

    def _check(self, address: str, place: _Place) -> None:
        """Refuses a worker that would come to other results."""
        with place.asking:
            if place.checked:
                return
            try:
                theirs = self._ask(address, place, program)
            except (ImportError, AttributeError, RuntimeError) as error:
                raise ConfigError(
                    f"{self._where}: worker {address} cannot run ssdlab ({error}); install there what is installed here"
                ) from None
            if theirs != program():
                raise ConfigError(
                    f"{self._where}: worker {address} has ssdlab {theirs}, and this is {program()}; install the same "
                    "everywhere"
                )
            place.checked = True

    @contextmanager
    def _room(self, run: Run, *, alone: bool) -> Iterator[tuple[str, _Place]]:
        """A worker for a run while it lasts."""

        def found() -> str | None:
            free = [
                (place.running / place.slots, address)
                for address, place in self._places.items()
                if place.has_room(run.memory_bytes, alone=alone)
            ]
            return min(free)[1] if free else None

        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._lost or found() is not None)
            if self._stopped:
                raise Stopped
            if self._lost:
                raise ConfigError(f"{self._where}: was lost; what is finished is kept, so start it and sweep again")
            address = found()
            assert address is not None
            place = self._places[address]
            slots = place.slots if alone else 1
            place.running += slots
            place.taken_bytes += run.memory_bytes
        try:
            yield address, place
        finally:
            with self._changed:
                place.running -= slots
                place.taken_bytes -= run.memory_bytes
                self._changed.notify_all()

    def _trace(self, address: str, place: _Place, trace: TraceRef) -> TraceRef:
        """The trace as the worker finds it, sent to it if it does not."""
        with place.asking:
            if trace not in place.traces:
                paths = [
                    self._ask(address, place, _found, path, digest) or self._send(address, place, path, digest)
                    for path, digest in zip(trace.paths, trace.sha256, strict=True)
                ]
                place.traces[trace] = trace._replace(paths=tuple(paths))
            return place.traces[trace]

    def _send(self, address: str, place: _Place, path: str, digest: str) -> str:
        with Path(path).open("rb") as file:
            offset = 0
            while True:
                chunk = file.read(CHUNK_BYTES)
                there: str = self._ask(address, place, _receive, digest, Path(path).name, offset, chunk)
                offset += len(chunk)
                if not chunk:
                    return there

    def stop(self) -> None:
        """Gives up what is being done; workers finish what they are at, and nobody hears of it."""
        with self._changed:
            self._stopped = True
            for place in self._places.values():
                place.leave()
            self._changed.notify_all()

    def close(self) -> None:
        """Leaves the cluster as it is."""
        self._closed.set()
        self._watcher.join()
        with suppress(Exception):
            self._client.close()


def _found(path: str, digest: str) -> str | None:
    """On a worker: the path, if the same file is there."""
    return path if identified({"kind": "trace", "paths": [path]})["sha256"] == [digest] else None


def _receive(digest: str, name: str, offset: int, chunk: bytes) -> str:
    """On a worker: takes a part of a file; where it is kept."""
    path = Path(distributed.get_worker().local_directory) / "ssdlab-traces" / digest / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("r+b" if offset else "wb") as file:
        file.seek(offset)
        file.write(chunk)
    return str(path)
