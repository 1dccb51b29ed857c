"""Runs simulations on the workers of a Dask cluster.

Dask transfers code, results and failures. This file chooses the worker of each task, because Dask knows neither how
much memory a run needs nor which run killed a worker:

- A worker gets a run only if the run fits into the worker's free memory.
- A run whose worker died is repeated alone on a worker, to identify the run that kills workers.
- Short runs share a task, because a Dask task costs several times as much as a short run.
- A worker reads its own file if the file at the trace's path has identical contents. Otherwise it receives one copy.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import distributed
from ssdlab.model.source import identified
from ssdlab.study.work.run import Outcome, Run, TraceRef, execute_some, program
from ssdlab.study.work.workers import Stopped, WorkerDied, Workers

SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")
CONNECT_SECONDS = 30.0
WORKERS_SECONDS = 30.0
"""Time limits in seconds for the scheduler's first reply, and for the first worker."""

POLL_SECONDS = 0.5
"""Interval in seconds between checks for dead workers and lost tasks."""

LOGGERS = ("distributed", "distributed.client", "tornado.application", "asyncio")
"""Loggers to which Dask writes tracebacks of failed connections."""

FETCH_SECONDS = 2.0

CHUNK_BYTES = 4 << 20
"""Bytes of a trace in each message."""

AHEAD = 2
"""Maximum number of tasks per worker thread. A limit of two lets the next task be sent while a task executes."""

MAX_BATCH = 8
"""Maximum number of runs per task, large enough to make the overhead of a task small."""

MIN_THREADS, MAX_THREADS = 32, 512
"""Limits of the number of runs submitted together; the minimum leaves runs for workers that join a small cluster."""

UNLIMITED_BYTES = 1 << 62


@dataclass(eq=False)
class PendingRun:
    """A run that waits for a worker, and the future that receives its outcome."""

    run: Run
    alone: bool
    outcome: Future[Outcome] = field(default_factory=Future)


@dataclass(eq=False)
class ClusterWorker:
    """A worker of the cluster and the tasks sent to it."""

    address: str
    threads: int
    limit_bytes: int
    is_checked: bool = False
    """True if the worker has the same version of ssdlab."""
    tasks: int = 0
    used_bytes: int = 0
    """Number of unfinished tasks that were sent to the worker, and the memory that they need."""
    batch: int = 1
    """Number of runs in the worker's next task."""
    alone: bool = False
    """True while the whole worker is reserved for one run."""
    is_gone: bool = False
    traces: dict[TraceRef, TraceRef] = field(default_factory=dict)
    """Traces on the worker, with the paths of their files there."""
    preparing: threading.Lock = field(default_factory=threading.Lock)
    """Lock held while the worker's version is checked or a trace is sent to it."""

    @property
    def load(self) -> float:
        """Number of unfinished tasks per thread."""
        return self.tasks / self.threads

    def next_task(self, pending: Sequence[PendingRun]) -> list[PendingRun]:
        """Returns pending runs to start on this worker now, as one task; empty if the worker cannot take one.

        A task executes its runs one after the other, so it needs the memory of its largest run. A busy worker gets its
        next task in advance only if that task is full.
        """
        if self.alone or self.load >= AHEAD:
            return []
        free_bytes = self.limit_bytes - self.used_bytes
        fitting = (one for one in pending if not one.alone and one.run.memory_bytes <= free_bytes)
        task = [*islice(fitting, self.batch)]
        return task if self.load < 1 or len(task) == self.batch else []


class DaskWorkers(Workers):
    """Workers of the cluster at a scheduler's address."""

    def __init__(self, address: str) -> None:
        self._name = f"cluster {text.path(address)}"
        self._lock = threading.Lock()
        self._pending: deque[PendingRun] = deque()
        self._workers: dict[str, ClusterWorker] = {}
        self._is_stopped = False
        self._is_broken = False
        self._closed = threading.Event()
        with ExitStack() as cleanup:
            unmute = _mute_dask()
            cleanup.callback(unmute)
            self._client: Any = self._connect(address)
            cleanup.callback(self._client.close)
            deadline = time.monotonic() + WORKERS_SECONDS
            self._refresh()
            while not self._workers:
                if time.monotonic() > deadline:
                    raise ConfigError(f"{self._name}: has no workers; start at least one worker")
                time.sleep(POLL_SECONDS)
                self._refresh()
            cleanup.pop_all()
        self._unmute = unmute
        self._carriers = ThreadPoolExecutor(MAX_THREADS, "carrier")
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def _connect(self, address: str) -> Any:
        scheme, separator, _ = address.partition("://")
        if separator and scheme not in SCHEMES:
            raise ConfigError(
                f"{self._name}: {text.path(scheme)} is not one of {', '.join(SCHEMES)}; write tcp://host:8786"
            )
        try:
            asyncio.run(_greet(address))
            return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False, name="ssdlab")
        except ConfigError:
            # This error already tells the user that Dask is not installed.
            raise
        except TimeoutError:
            reason = f"no response within {CONNECT_SECONDS:g} s"
        except (OSError, ValueError, TypeError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
        except Exception:
            # If the reply uses another protocol, Dask may raise any exception.
            reason = "another program responds"
        raise ConfigError(
            f"{self._name}: no Dask scheduler responds ({reason}); check the address, such as tcp://host:8786"
        )

    @property
    def threads(self) -> int:
        """Number of runs to submit together."""
        threads = sum(worker.threads for worker in self._workers.values())
        return min(max(AHEAD * MAX_BATCH * threads, MIN_THREADS), MAX_THREADS)

    @property
    def most_bytes(self) -> int:
        """Memory in bytes of the largest worker."""
        with self._lock:
            return max((worker.limit_bytes for worker in self._workers.values()), default=UNLIMITED_BYTES)

    def _refresh(self) -> None:
        known = self._client.scheduler_info(n_workers=-1)["workers"]
        with self._lock:
            for address in self._workers.keys() - known.keys():
                self._workers.pop(address).is_gone = True
            for address in known.keys() - self._workers.keys():
                limit = known[address]["memory_limit"] or UNLIMITED_BYTES
                self._workers[address] = ClusterWorker(address, known[address]["nthreads"], limit)
        self._dispatch()

    def _watch(self) -> None:
        while not self._closed.wait(POLL_SECONDS):
            try:
                self._refresh()
            except Exception:
                # Any failure must reach the threads that wait for runs.
                self._is_broken = True
            if self._is_lost:
                self._dispatch()
                return

    @property
    def _is_lost(self) -> bool:
        return self._is_broken or self._client.status != "running"

    def _refusal(self) -> Exception | None:
        """Returns the reason why no further run can start; None if runs can start."""
        if self._is_stopped:
            return Stopped()
        if self._is_lost:
            return ConfigError(
                f"{self._name}: connection lost, but finished runs are saved; restart the scheduler and repeat the "
                "command"
            )
        return None

    def once(self, run: Run, *, alone: bool) -> Outcome:
        """Executes a run on a worker with enough free memory."""
        pending = PendingRun(run, alone)
        with self._lock:
            self._pending.append(pending)
        self._dispatch()
        return pending.outcome.result()

    def _dispatch(self) -> None:
        """Sends pending runs to workers that have enough free memory."""
        with self._lock:
            while self._pending and (refusal := self._refusal()):
                self._pending.popleft().outcome.set_exception(refusal)
            while self._pending and (chosen := self._choose()):
                worker, task = chosen
                for one in task:
                    self._pending.remove(one)
                task_bytes = max(one.run.memory_bytes for one in task)
                worker.tasks += 1
                worker.used_bytes += task_bytes
                worker.alone = task[0].alone
                self._carriers.submit(self._carry, worker, task, task_bytes)

    def _choose(self) -> tuple[ClusterWorker, list[PendingRun]] | None:
        """Returns the least loaded worker that can start a task, and the task; None if no worker can."""
        workers = sorted(self._workers.values(), key=lambda worker: worker.load)
        alone = next((one for one in self._pending if one.alone), None)
        if alone is not None:
            # A worker that is reserved for one run gets no other tasks. The run starts once the worker is idle.
            reserved = next((worker for worker in workers if worker.limit_bytes >= alone.run.memory_bytes), None)
            if reserved is not None and reserved.tasks == 0:
                return reserved, [alone]
            workers = [worker for worker in workers if worker is not reserved]
        return next(((worker, task) for worker in workers if (task := worker.next_task(self._pending))), None)

    def _carry(self, worker: ClusterWorker, task: list[PendingRun], task_bytes: int) -> None:
        """Executes a task on a worker. Runs that the task did not start within its time limit become pending again."""
        done: list[Outcome] = []
        left: list[PendingRun] = []
        try:
            self._check_version(worker)
            runs = [one.run for one in task]
            sent = [run if run.trace is None else run._replace(trace=self._trace(worker, run.trace)) for run in runs]
            done = self._call(worker, execute_some, sent)
            left = task[len(done) :]
            for one, outcome in zip(task, done, strict=False):
                one.outcome.set_result(outcome)
        except BaseException as error:
            for one in task:
                one.outcome.set_exception(error)
        with self._lock:
            self._pending.extendleft(reversed(left))
            worker.batch = max(1, len(done) if left else min(2 * len(done), MAX_BATCH))
            worker.tasks -= 1
            worker.used_bytes -= task_bytes
            worker.alone = False
        self._dispatch()

    def _call(self, worker: ClusterWorker, function: Callable[..., Any], *arguments: object) -> Any:
        """Calls a function on a worker. Raises WorkerDied if the worker dies, Stopped if `stop` is called first."""
        # `pure=False` prevents Dask from merging identical tasks and from remembering their failures.
        future = self._client.submit(
            function, *arguments, workers=[worker.address], allow_other_workers=False, pure=False, retries=0
        )
        # Waits for a callback instead of polling `result`, because a time-out of `result` may raise errors in Dask.
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        try:
            while not (self._is_stopped or worker.is_gone or self._is_lost):
                if not done.wait(POLL_SECONDS):
                    continue
                try:
                    return future.result(timeout=FETCH_SECONDS)
                except TimeoutError:
                    # The worker that holds the result may be gone; the next iteration of the loop checks this.
                    continue
                except (distributed.KilledWorker, CancelledError, OSError):
                    break
            raise self._refusal() or WorkerDied()
        finally:
            with suppress(Exception):
                if future.done():
                    future.release()
                else:
                    future.cancel()

    def _check_version(self, worker: ClusterWorker) -> None:
        """Rejects a worker with another build of ssdlab, whose results could differ."""
        with worker.preparing:
            if worker.is_checked:
                return
            try:
                version = self._call(worker, program)
            except (ImportError, AttributeError, RuntimeError) as error:
                raise ConfigError(
                    f"{self._name}: worker {worker.address} cannot run ssdlab ({error}); install ssdlab {program()} "
                    "there"
                ) from None
            if version != program():
                raise ConfigError(
                    f"{self._name}: worker {worker.address} has ssdlab {version}, but this machine has {program()}; "
                    "install the same version on all machines"
                )
            worker.is_checked = True

    def _trace(self, worker: ClusterWorker, trace: TraceRef) -> TraceRef:
        """Returns the trace with its paths on a worker, after sending files that are missing there."""
        with worker.preparing:
            if trace not in worker.traces:
                paths = [
                    self._call(worker, _same_file, path, digest) or self._send(worker, path, digest)
                    for path, digest in zip(trace.paths, trace.sha256, strict=True)
                ]
                worker.traces[trace] = trace._replace(paths=tuple(paths))
            return worker.traces[trace]

    def _send(self, worker: ClusterWorker, path: str, digest: str) -> str:
        offset = 0
        with Path(path).open("rb") as file:
            while True:
                chunk = file.read(CHUNK_BYTES)
                copy: str = self._call(worker, _receive, digest, Path(path).name, offset, chunk)
                if not chunk:
                    return copy
                offset += len(chunk)

    def stop(self) -> None:
        """Cancels pending runs, and abandons runs that workers are executing."""
        self._is_stopped = True
        self._dispatch()

    def close(self) -> None:
        """Disconnects from the cluster, which keeps running."""
        self._closed.set()
        self._watcher.join()
        is_lost = self._is_lost
        self.stop()
        self._carriers.shutdown()
        with suppress(Exception):
            self._client.close()
        # After a lost connection, logging stays muted, because Dask would report the loss repeatedly.
        if not is_lost:
            self._unmute()


def _mute_dask() -> Callable[[], None]:
    """Silences Dask's tracebacks of lost connections, which ssdlab reports itself; returns a function to undo it."""
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)

    def unmute() -> None:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)

    return unmute


async def _greet(address: str) -> None:
    """Checks that a Dask scheduler answers, because Dask's client hangs if another program uses the address."""
    async with asyncio.timeout(CONNECT_SECONDS):
        arguments = distributed.Security().get_connection_args("client")
        # Tries the port first, because Dask would retry a closed port until the time limit.
        if (where := urlsplit(address)).port:
            _, writer = await asyncio.open_connection(where.hostname, where.port)
            writer.close()
        comm = await distributed.comm.connect(address, timeout=CONNECT_SECONDS, **arguments)
        try:
            await comm.write({"op": "identity", "reply": True})
            if (await comm.read())["type"] != "Scheduler":
                raise OSError("a Dask program responds, but it is not a scheduler")
        finally:
            comm.abort()


def _same_file(path: str, digest: str) -> str | None:
    """Returns the path if the file at this path has the given checksum; otherwise None. Called on a worker."""
    return path if identified({"kind": "trace", "paths": [path]})["sha256"] == [digest] else None


def _receive(digest: str, name: str, offset: int, chunk: bytes) -> str:
    """Writes a chunk of a file and returns the file's path. Called on a worker."""
    path = Path(distributed.get_worker().local_directory) / "ssdlab-traces" / digest / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("r+b" if offset else "wb") as file:
        file.seek(offset)
        file.write(chunk)
    return str(path)
