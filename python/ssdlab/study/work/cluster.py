"""Workers of a Dask cluster.

A run is sent to a worker of our choice: one with a free thread and with memory for it. So no worker has more than its
limit, and a run that ends its worker is known and not only suspected: it is tried again with a worker to itself. A task
of Dask costs several times what a short run takes, so short runs share one. Traces are read where they lie if the
worker finds the same contents there; else they are sent, once to each worker.
"""

import asyncio
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import distributed
from ssdlab.model.source import identified
from ssdlab.study.work.run import Outcome, Run, TraceRef, execute_some, program
from ssdlab.study.work.workers import Stopped, WorkerDied, Workers

SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")
"""How schedulers are reached."""

CONNECT_SECONDS = 5.0
"""After which a scheduler that does not answer counts as unreachable."""

LOGGERS = ("distributed", "distributed.client", "tornado.application", "asyncio")
"""Through which Dask tells, page by page, of connections that fail."""

WORKERS_SECONDS = 30.0
"""After which a cluster without workers is given up."""

FETCH_SECONDS = 2.0
"""After which a result that is ready and does not arrive is asked for again."""

LOOK_SECONDS = 0.5
"""Between two looks at which workers there are."""

CHUNK_BYTES = 4 << 20
"""A trace is sent in parts of this size."""

AHEAD = 2
"""Tasks that a worker has for each of its threads: while one is done the next is on its way."""

MOST_TOGETHER = 8
"""Runs that share a task: more would gain little, as the cost of a task is then less than that of its runs."""

LEAST_THREADS, MOST_THREADS = 32, 512
"""Runs that wait for the cluster at a time: more than it has threads, as it may grow."""


@dataclass(eq=False)
class _Asked:
    """A run that somebody waits for."""

    run: Run
    alone: bool
    outcome: Future[Outcome] = field(default_factory=Future)


@dataclass(eq=False)
class _Place:
    """A worker."""

    address: str
    threads: int
    limit_bytes: float
    checked: bool = False
    """Whether it is known to have our program."""
    tasks: int = 0
    """That it has been sent, and has not answered."""
    taken_bytes: int = 0
    """What these take."""
    together: int = 1
    """Runs for which a task has time."""
    alone: bool = False
    """Whether it does a run beside which nothing may go on."""
    traces: dict[TraceRef, TraceRef] = field(default_factory=dict)
    """Traces by how they are found here."""
    asking: threading.Lock = field(default_factory=threading.Lock)
    gone: bool = False
    waiting: set[threading.Event] = field(default_factory=set)
    """Of those who wait for a task here, to be told when it ends or cannot end."""

    @property
    def load(self) -> float:
        """Tasks by thread."""
        return self.tasks / self.threads

    def leave(self) -> None:
        """Tells all who wait that nothing more comes."""
        self.gone = True
        for one in [*self.waiting]:
            one.set()

    def task_of(self, asked: Sequence[_Asked]) -> list[_Asked]:
        """Those of the runs with which a task can begin here, or be sent ahead: then only as many as it has time for.

        A task does its runs one after another, so that it takes the memory of the largest.
        """
        if self.alone or self.load >= AHEAD:
            return []
        left_bytes = self.limit_bytes - self.taken_bytes
        fitting = (one for one in asked if not one.alone and one.run.memory_bytes <= left_bytes)
        found = [*islice(fitting, self.together)]
        return found if self.load < 1 or len(found) == self.together else []


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
        self._heard = _silenced()
        try:
            asyncio.run(_greeted(address))
            self._client: Any = distributed.Client(
                address, timeout=CONNECT_SECONDS, set_as_default=False, name="ssdlab"
            )
        except ConfigError:
            # Dask is not installed.
            self._heard()
            raise
        # What answers may be any program, so that any error may come of what it says.
        except Exception as error:
            self._heard()
            if isinstance(error, TimeoutError):
                reason = f"nothing in {CONNECT_SECONDS:g} s"
            elif isinstance(error, OSError | ValueError | TypeError):
                reason = " ".join(str(error).split()).rstrip(".")
            else:
                reason = "another program does"
            raise ConfigError(
                f"{self._where}: no scheduler answers ({reason}); check the address, such as tcp://host:8786"
            ) from None
        self._lock = threading.Lock()
        self._asked: deque[_Asked] = deque()
        self._places: dict[str, _Place] = {}
        self._stopped = False
        self._lost = False
        self._closed = threading.Event()
        self._carriers = ThreadPoolExecutor(MOST_THREADS, "carrier")
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
            self._heard()
            raise
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    @property
    def threads(self) -> int:
        """Enough to keep all threads of all workers busy, and those of workers that join."""
        threads = sum(place.threads for place in self._places.values())
        return min(max(AHEAD * MOST_TOGETHER * threads, LEAST_THREADS), MOST_THREADS)

    @property
    def most_bytes(self) -> int:
        """The memory of the largest worker."""
        with self._lock:
            most = max((place.limit_bytes for place in self._places.values()), default=math.inf)
        return 1 << 62 if math.isinf(most) else int(most)

    def _look(self) -> None:
        """Takes note of workers that have come and gone."""
        info = self._client.scheduler_info(n_workers=-1)["workers"]
        with self._lock:
            for address in self._places.keys() - info.keys():
                self._places.pop(address).leave()
            for address in info.keys() - self._places.keys():
                limit = info[address]["memory_limit"] or math.inf
                self._places[address] = _Place(address, info[address]["nthreads"], limit)
        self._hand_out()

    def _watch(self) -> None:
        while not self._closed.wait(LOOK_SECONDS):
            try:
                if self._client.status != "running":
                    raise OSError("the scheduler is gone")
                self._look()
            except Exception:
                # Whatever it is, those who wait have to be told.
                self._lost = True
                self._leave()
                return

    def _leave(self) -> None:
        """Tells all who wait that nothing more comes."""
        with self._lock:
            for place in self._places.values():
                place.leave()
        self._hand_out()

    def _end(self) -> Exception | None:
        """Why no run begins any more, if none does."""
        if self._stopped:
            return Stopped()
        if self._lost:
            return ConfigError(f"{self._where}: was lost; what is finished is kept, so start it and sweep again")
        return None

    def once(self, run: Run, *, alone: bool) -> Outcome:
        """Does a run on a worker that has room for it.

        Raises:
            ConfigError: If the worker has another program, or the cluster is lost.
        """
        asked = _Asked(run, alone)
        with self._lock:
            self._asked.append(asked)
        self._hand_out()
        return asked.outcome.result()

    def _hand_out(self) -> None:
        """Sends runs that wait to workers that have room for them."""
        with self._lock:
            while self._asked and (end := self._end()):
                self._asked.popleft().outcome.set_exception(end)
            while self._asked and (found := self._next()):
                place, task = found
                for one in task:
                    self._asked.remove(one)
                place.tasks += 1
                place.alone = task[0].alone
                bytes = max(one.run.memory_bytes for one in task)
                place.taken_bytes += bytes
                self._carriers.submit(self._carry, place, task, bytes)

    def _next(self) -> tuple[_Place, list[_Asked]] | None:
        """The worker that has least to do, and runs for it."""
        places = sorted(self._places.values(), key=lambda one: one.load)
        alone = next((one for one in self._asked if one.alone), None)
        if alone is not None:
            # Nothing begins at the place that is emptied for it.
            empties = next((one for one in places if one.limit_bytes >= alone.run.memory_bytes), None)
            if empties is not None and empties.tasks == 0:
                return empties, [alone]
            places = [one for one in places if one is not empties]
        return next(((place, task) for place in places if (task := place.task_of(self._asked))), None)

    def _carry(self, place: _Place, task: list[_Asked], bytes: int) -> None:
        """Has a worker do runs; those for which there was no time wait again."""
        try:
            self._check(place)
            runs = [one.run for one in task]
            sent = [one if one.trace is None else one._replace(trace=self._trace(place, one.trace)) for one in runs]
            done: list[Outcome] = self._ask(place, execute_some, sent)
        except BaseException as error:
            for one in task:
                one.outcome.set_exception(error)
            done, left = [], []
        else:
            for one, outcome in zip(task, done, strict=False):
                one.outcome.set_result(outcome)
            left = task[len(done) :]
        with self._lock:
            self._asked.extendleft(reversed(left))
            place.together = max(1, len(done) if left else min(2 * len(done), MOST_TOGETHER))
            place.tasks -= 1
            place.alone = False
            place.taken_bytes -= bytes
        self._hand_out()

    def _ask(self, place: _Place, function: Callable[..., Any], *arguments: object) -> Any:
        """What a function returns on a worker.

        Raises:
            WorkerDied: If the worker is gone before that is here.
            Stopped: If all are to end.
        """
        # Without a key of its own Dask would take equal tasks for one, and keep what failed.
        future = self._client.submit(
            function, *arguments, workers=[place.address], allow_other_workers=False, pure=False, retries=0
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

    def _check(self, place: _Place) -> None:
        """Refuses a worker that would come to other results."""
        with place.asking:
            if place.checked:
                return
            try:
                theirs = self._ask(place, program)
            except (ImportError, AttributeError, RuntimeError) as error:
                raise ConfigError(
                    f"{self._where}: worker {place.address} cannot run ssdlab ({error}); install there what is "
                    "installed here"
                ) from None
            if theirs != program():
                raise ConfigError(
                    f"{self._where}: worker {place.address} has ssdlab {theirs}, and this is {program()}; install the "
                    "same everywhere"
                )
            place.checked = True

    def _trace(self, place: _Place, trace: TraceRef) -> TraceRef:
        """The trace as the worker finds it, sent to it if it does not."""
        with place.asking:
            if trace not in place.traces:
                paths = [
                    self._ask(place, _found, path, digest) or self._send(place, path, digest)
                    for path, digest in zip(trace.paths, trace.sha256, strict=True)
                ]
                place.traces[trace] = trace._replace(paths=tuple(paths))
            return place.traces[trace]

    def _send(self, place: _Place, path: str, digest: str) -> str:
        with Path(path).open("rb") as file:
            offset = 0
            while True:
                chunk = file.read(CHUNK_BYTES)
                there: str = self._ask(place, _receive, digest, Path(path).name, offset, chunk)
                offset += len(chunk)
                if not chunk:
                    return there

    def stop(self) -> None:
        """Gives up what is being done; workers finish what they are at, and nobody hears of it."""
        self._stopped = True
        self._leave()

    def close(self) -> None:
        """Leaves the cluster as it is."""
        self._closed.set()
        self._watcher.join()
        self.stop()
        self._carriers.shutdown()
        with suppress(Exception):
            self._client.close()
        if not self._lost:
            self._heard()


def _silenced() -> Callable[[], None]:
    """Silences what Dask logs of lost connections, page by page, as we tell of them in a line; what undoes that."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.CRITICAL + 1)

    def heard() -> None:
        for one, level in zip(loggers, levels, strict=True):
            one.setLevel(level)

    return heard


async def _greeted(address: str) -> None:
    """Asks who is at an address: a client of Dask waits for long, or reads without end, if that is no scheduler.

    Raises:
        Exception: If no scheduler answers in time.
    """
    async with asyncio.timeout(CONNECT_SECONDS):
        arguments = distributed.Security().get_connection_args("client")
        comm = await distributed.comm.connect(address, timeout=CONNECT_SECONDS, **arguments)
        try:
            await comm.write({"op": "identity", "reply": True})
            if (await comm.read())["type"] != "Scheduler":
                raise OSError("another program of Dask does")
        finally:
            comm.abort()


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
