"""A Dask cluster of real processes: a scheduler and two workers."""

import gc
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from conftest import ROOT, Cli
from forked import PATIENCE_SECONDS
from ssdlab.study.work import cluster as work
from ssdlab.study.work.run import execute, execute_some
from sweeps import planned

pytest.importorskip("distributed")

TINY: dict[str, object] = {
    "device.capacity": "8MiB", "nand.pages_per_block": 32, "workload.requests": 2000, "time": "count",
}  # fmt: skip
BASE = ssdlab.Config("tlc-chip", overrides=TINY)
AXES = {"ftl.page.gc": ["greedy", "fifo"], "device.op": "20%..40%:8"}


class Cluster:
    """A scheduler and single-threaded workers in processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(folder), str(Path(ssdlab.__file__).parent.parent))),
            "DASK_DISTRIBUTED__WORKER__DAEMON": "False",
        }
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", "s.json"
        )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (folder / "s.json").exists() or not (folder / "s.json").read_text(encoding="utf-8"):
            assert time.monotonic() < deadline and self.scheduler.poll() is None
            time.sleep(0.05)
        self.address = json.loads((folder / "s.json").read_text(encoding="utf-8"))["address"]
        self.workers = [self.worker() for _ in range(2)]

    def _start(self, program: str, *arguments: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", f"distributed.cli.{program}", *arguments, "--no-dashboard"]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def worker(self, *more: str) -> "subprocess.Popen[bytes]":
        """One more worker."""
        return self._start(
            "dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--local-directory", "here", *more
        )

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.end()


def test_a_cluster_gives_the_local_result(cluster: Cluster, tmp_path: Path, cli: Cli) -> None:
    here = ssdlab.sweep(AXES, BASE, seeds=2, out=tmp_path / "here")
    there = ssdlab.sweep(AXES, BASE, seeds=2, out=tmp_path / "there", cluster=cluster.address)
    assert there.table.equals(here.table) and there.failures == {}
    assert (tmp_path / "here" / "runs.parquet").read_bytes() == (tmp_path / "there" / "runs.parquet").read_bytes()
    sets = [word for key, value in TINY.items() for word in ("--set", f"{key}={value}")]
    done = cli("sweep", "--preset", "tlc-chip", *sets, "-A", "seed=1,2", "--cluster", cluster.address, "--json")
    assert json.loads(done.stdout)["result"]["finished"] == 2
    pytest.importorskip("optuna")
    search: dict[str, Any] = {"outcomes": ["write_amplification"], "trials": 4, "repeats": 2}
    tunings = [ssdlab.tune(["device.op=20%..60%"], BASE, cluster=one, **search) for one in (None, cluster.address)]
    assert tunings[0].to_json() == tunings[1].to_json()


def test_traces_reach_workers_without_them(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers read a trace by its path if it exists there; otherwise the trace is sent once to each worker."""
    fit = BASE.with_overrides({"host.fit": "wrap"})
    trace = ROOT / "traces" / "varmail.csv.zst"
    axes = {"device.op": "20%..40%:6"}
    here = ssdlab.sweep(axes, fit, trace)
    sent: list[str] = []
    send = work.DaskWorkers._send

    def noted(self: work.DaskWorkers, worker: Any, path: str, digest: str) -> str:
        sent.append(worker.address)
        return send(self, worker, path, digest)

    monkeypatch.setattr(work.DaskWorkers, "_send", noted)
    assert ssdlab.sweep(axes, fit, trace, cluster=cluster.address).table.equals(here.table)
    assert sent == []
    # An anonymous function is sent by value, not by its location.
    monkeypatch.setattr(work, "_same_file", lambda path, digest: None)
    assert ssdlab.sweep(axes, fit, trace, cluster=cluster.address).table.equals(here.table)
    assert len(sent) == len(set(sent)) <= 2
    assert list(cluster.folder.rglob("varmail.csv.zst")) != []


def test_a_screening_is_the_same_on_a_cluster(cluster: Cluster, tmp_path: Path, cli: Cli) -> None:
    small = ROOT / "tests" / "screening.toml"
    for folder, where in (("here", ["--workers", 1]), ("there", ["--cluster", cluster.address])):
        cli("experiment", "run", small, "--set", "workload.requests=20", "--out", folder, *where)
    for name in ("screening.json", "study/runs.parquet"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes(), name
    done = cli("experiment", "run", "thrashing", "--cluster", cluster.address, check=False)
    assert done.returncode == 2 and "runs only on this machine; omit --cluster" in done.stderr


def test_short_runs_share_a_task_and_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [work.PendingRun(run, alone=False) for run in planned({"seed": "1..6:6"}).runs.values()]
    need = asked[0].run.memory_bytes
    worker = work.ClusterWorker("tcp://there", threads=2, limit_bytes=3 * need, batch=4)
    assert worker.next_task([]) == []
    assert worker.next_task(asked) == asked[:4], "one after another they take the memory of one"
    worker.tasks, worker.used_bytes = 2, 2 * need
    assert worker.next_task(asked) == asked[:4], "the next is sent ahead"
    assert worker.next_task(asked[:3]) == [], "and waits until there are enough for it"
    worker.used_bytes += 1
    assert worker.next_task(asked) == [], "there is no memory for it"
    worker.tasks, worker.used_bytes, worker.alone = 1, need, True
    assert worker.next_task(asked) == [], "nothing begins beside a run that is alone"
    large = work.PendingRun(asked[0].run._replace(memory_bytes=4 * need), alone=False)
    idle = work.ClusterWorker("tcp://there", threads=1, limit_bytes=3 * need, batch=4)
    lonely = work.PendingRun(asked[0].run, alone=True)
    assert idle.next_task([large, lonely, *asked]) == asked[:4]

    runs = [request.run for request in asked]
    monkeypatch.setattr("ssdlab.study.work.run.TOGETHER_SECONDS", 0.0)
    assert execute_some(runs) == [execute(runs[0])], "those without time are not begun"
    monkeypatch.setattr("ssdlab.study.work.run.TOGETHER_SECONDS", 1e9)
    assert execute_some(runs) == [execute(run) for run in runs]


def test_a_killed_worker_costs_no_run(cluster: Cluster, tmp_path: Path) -> None:
    here = ssdlab.sweep(AXES, BASE.with_overrides({"workload.requests": 40_000}), seeds=2)
    done: list[ssdlab.Study] = []

    def killing(_phase: str, finished: int, _total: int | None, _requests: int) -> bool:
        if finished >= 4 and cluster.workers[0].poll() is None:
            cluster.workers[0].send_signal(signal.SIGKILL)
            cluster.worker()
        return False

    more = BASE.with_overrides({"workload.requests": 40_000})
    done.append(ssdlab.sweep(AXES, more, seeds=2, cluster=cluster.address, monitor=killing))
    assert cluster.workers[0].wait(timeout=PATIENCE_SECONDS) == -signal.SIGKILL
    assert done[0].table.equals(here.table) and done[0].failures == {}


KILLER = """
import os
from ssdlab.study.work import run as work

execute = work.execute

def dying(run):
    if "seed = 3\\n" in run.config.to_toml():
        os.kill(os.getpid(), 9)
    return execute(run)

work.execute = dying
"""


def test_a_run_that_kills_its_worker_three_times_is_a_failure(cluster: Cluster, tmp_path: Path) -> None:
    (cluster.folder / "killer.py").write_text(KILLER, encoding="utf-8")
    stop = threading.Event()

    def replace() -> None:
        """Replaces a dead worker, as a nanny or the cluster's resource manager does."""
        while not stop.wait(0.1):
            if sum(process.poll() is None for process in cluster.processes) < 3:
                cluster.worker("--preload", "killer")

    for worker in cluster.workers:
        worker.kill()
    thread = threading.Thread(target=replace)
    thread.start()
    try:
        study = ssdlab.sweep({"seed": "1..6:6"}, BASE, cluster=cluster.address)
    finally:
        stop.set()
        thread.join()
    errors = study.table["error"].to_pylist()
    assert [error is not None for error in errors] == [False, False, True, False, False, False], errors
    assert "the run's worker died 3 times" in errors[2]


def test_a_dying_scheduler_leaves_finished_runs(
    cluster: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    more = BASE.with_overrides({"workload.requests": 40_000})

    def killing(_phase: str, finished: int, _total: int | None, _requests: int) -> bool:
        if finished >= 3:
            cluster.scheduler.send_signal(signal.SIGKILL)
        return False

    with pytest.raises(ssdlab.ConfigError, match="connection lost, but finished runs are saved"):
        ssdlab.sweep(AXES, more, seeds=2, out=tmp_path / "s", cluster=cluster.address, monitor=killing)
    # Dask's own log messages about the lost scheduler do not help the user.
    assert capfd.readouterr().err == ""
    assert 3 <= ssdlab.open_study(tmp_path / "s").finished < 32
    study = ssdlab.sweep(AXES, more, seeds=2, out=tmp_path / "s")
    assert study.table.equals(ssdlab.sweep(AXES, more, seeds=2).table)


def test_a_missing_cluster_is_named_with_its_address(cli: Cli, tmp_path: Path) -> None:
    for address, said in (("tcp://127.0.0.1:1", "no Dask scheduler responds"), ("nonsense://x", "is not one of tcp")):
        done = cli("sweep", "-A", "seed=1,2", "--cluster", address, "--out", "s", check=False)
        assert done.returncode == 2 and address in done.stderr and said in done.stderr
        assert list(tmp_path.iterdir()) == [] and len(done.stderr.splitlines()) == 1, done.stderr


def test_a_missing_dask_is_one_line_with_its_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    levels = [logging.getLogger(name).level for name in work.LOGGERS]
    with pytest.raises(ssdlab.ConfigError, match=r"^distributed is not installed; .* install 'distributed>="):
        work.DaskWorkers("tcp://127.0.0.1:1")
    assert [logging.getLogger(name).level for name in work.LOGGERS] == levels


@pytest.mark.parametrize(
    ("answer", "said"),
    [(b"", "no response within 0.5 s"), (b"HTTP/1.0 400 Bad Request\r\n", "no Dask scheduler responds")],
)
def test_other_programs_are_recognised_in_time(
    answer: bytes, said: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A program that sends nothing, and one with another protocol, whose first bytes Dask reads as a huge length."""
    monkeypatch.setattr(work, "CONNECT_SECONDS", 0.5)
    kept: list[socket.socket] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                one, _ = there.accept()
                one.sendall(answer)
                kept.append(one)

    with socket.create_server(("127.0.0.1", 0)) as there:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        address = f"tcp://127.0.0.1:{there.getsockname()[1]}"
        with pytest.raises(ssdlab.ConfigError, match=rf"^cluster {address}: no Dask scheduler responds") as error:
            work.DaskWorkers(address)
        there.shutdown(socket.SHUT_RDWR)
        thread.join()
    for one in kept:
        one.close()
    assert said in str(error.value) and "allocate" not in str(error.value)
    gc.collect()
    assert capfd.readouterr().err == ""
