"""Studies whose processes are killed, and runs that kill their worker."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from conftest import Cli
from forked import PATIENCE_SECONDS
from ssdlab.analyse.tasks import at_a_time
from ssdlab.study.executor import Executor
from ssdlab.study.store.folder import RUNS
from ssdlab.study.work import local
from ssdlab.study.work.run import Run, execute
from sweeps import AXES, BASE, TINY, TINY_SETS, planned
from tiers import examples

KILLED = """
import sys
from pathlib import Path
import ssdlab
ssdlab.sweep({axes!r}, ssdlab.Config("tlc-chip", overrides={base!r}), out=sys.argv[1], seeds=6)
"""


def test_a_client_killed_at_any_moment_gives_the_same_dataset(tmp_path: Path) -> None:
    """Sends SIGKILL at random moments until a client finishes."""
    base = {**TINY, "workload.requests": 3000}
    undisturbed = ssdlab.sweep(AXES, ssdlab.Config("tlc-chip", overrides=base), out=tmp_path / "whole", seeds=6)
    code = KILLED.format(axes=AXES, base=base)
    for attempt in range(max(1, examples(40) // 20)):
        draw = random.Random(attempt)
        folder = tmp_path / f"killed{attempt}"
        kills, most = 0, 0
        for _ in range(200):
            early = draw.random() < 0.1
            with subprocess.Popen([sys.executable, "-c", code, str(folder)]) as client:
                try:
                    # Most kills come while the client writes, that is, after it has taken the lock.
                    while not early and client.poll() is None and not _holds(client.pid, folder):
                        time.sleep(0.01)
                    client.wait(timeout=draw.uniform(0.0, 0.5) + 1.5 * kills)
                    assert client.returncode == 0
                    break
                except subprocess.TimeoutExpired:
                    client.send_signal(signal.SIGKILL)
            kills += 1
            if (folder / "plan.json").exists():
                finished = ssdlab.open_study(folder).finished
                assert finished >= most, f"a run was lost (seed {attempt})"
                most = finished
        else:
            pytest.fail(f"200 clients were killed (seed {attempt})")
        study = ssdlab.open_study(folder)
        assert not study.partial and study.table.equals(undisturbed.table), f"seed {attempt}, {kills} kills"
        assert (folder / RUNS).read_bytes() == (tmp_path / "whole" / RUNS).read_bytes()


def _holds(process: int, folder: Path) -> bool:
    lock = folder / "lock"
    return lock.exists() and f"process {process} on" in lock.read_text(encoding="ascii")


def test_workers_end_with_their_client(tmp_path: Path) -> None:
    code = KILLED.format(axes={"seed": "1..2:2"}, base={**TINY, "workload.requests": 10**10})
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "s")]) as client:
        deadline = time.monotonic() + PATIENCE_SECONDS
        children: list[int] = []
        while len(children) < 2:
            assert time.monotonic() < deadline and client.poll() is None
            children = [
                int(word)
                for task in Path(f"/proc/{client.pid}/task").iterdir()
                for word in (task / "children").read_text(encoding="ascii").split()
            ]
            time.sleep(0.05)
        client.send_signal(signal.SIGKILL)
    while [child for child in children if _runs(child)]:
        assert time.monotonic() < deadline, "a worker outlives its client"
        time.sleep(0.05)


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_study_being_written_is_locked(tmp_path: Path, cli: Cli) -> None:
    code = KILLED.format(axes={"seed": "1..2:2"}, base={**TINY, "workload.requests": 10**10})
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "s")]) as client:
        try:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not (tmp_path / "s" / "plan.json").exists():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            done = cli("sweep", *TINY_SETS, "-A", "seed=1,2", "--out", "s", check=False)
            assert done.returncode == 2 and f"is being written by process {client.pid} on" in done.stderr
            # Reading needs no lock.
            assert ssdlab.open_study(tmp_path / "s").partial
        finally:
            client.kill()
    assert ssdlab.sweep(AXES, BASE, out=tmp_path / "s").table.equals(ssdlab.sweep(AXES, BASE).table)


LEFT = """
import os, sys, time
from ssdlab.study.store.folder import _locked
from pathlib import Path
_locked(Path(sys.argv[1]))
if os.fork() == 0:
    time.sleep(0.3)
os._exit(0)
"""


def test_a_lock_inherited_from_a_killed_writer_is_waited_for(tmp_path: Path) -> None:
    """This state occurs if a process is killed between the start of a child and the child's first instruction."""
    folder = tmp_path / "s"
    whole = ssdlab.sweep(AXES, BASE, out=folder).table
    subprocess.run([sys.executable, "-c", LEFT, str(folder)], check=True)
    assert ssdlab.sweep(AXES, BASE, out=folder).table.equals(whole)


DYING = """
import os, sys
from pathlib import Path
from ssdlab.study.work import process
from ssdlab.study.work.run import execute

def dying(run):
    with open({log!r}, "a") as log:
        log.write(run.key + "\\n")
    first = {once!r} in run.config.to_toml() and not Path({mark!r}).exists()
    if first:
        Path({mark!r}).touch()
    if first or {always!r} in run.config.to_toml():
        os.kill(os.getpid(), 9)
    return execute(run)

process.execute = dying
process.main()
"""


def test_a_run_that_kills_its_worker_three_times_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, mark = tmp_path / "log", tmp_path / "mark"
    code = DYING.format(always="seed = 3\n", once="seed = 5\n", log=str(log), mark=str(mark))
    (tmp_path / "dying_worker.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(local, "PROGRAM", "dying_worker")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(Path(ssdlab.__file__).parent.parent))))
    study = ssdlab.sweep({"seed": "1..8:8"}, BASE, out=tmp_path / "s", jobs=2)
    errors = study.table["error"].to_pylist()
    assert [at for at, error in enumerate(errors, 1) if error] == [3] and "the run's worker died 3 times" in errors[2]
    done = log.read_text(encoding="ascii").split()
    tries = {seed: done.count(study.points[seed - 1].key) for seed in range(1, 9)}
    assert tries == {1: 1, 2: 1, 3: 3, 4: 1, 5: 2, 6: 1, 7: 1, 8: 1}
    monkeypatch.undo()
    alone = ssdlab.sweep({"seed": "1..8:8"}, BASE)
    assert [row for row in study.table.to_pylist() if not row["error"]] == [
        row for row in alone.table.to_pylist() if row["run"] != 2
    ]


PEAK = """
import json, sys
from ssdlab.study.work.run import Run, execute
import ssdlab
run = Run.of(ssdlab.Config("tlc-chip", overrides=json.loads(sys.argv[1])), None)
assert execute(run).error is None
# What getrusage tells has the memory of the parent in it, from before the program began.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(run.memory_bytes, int(peak) << 10)
"""


@pytest.mark.parametrize("more", [{}, {"check": True}, {"ftl": "faster"}, {"ftl.page.map": "dftl"}])
@pytest.mark.parametrize("capacity", ["256MiB", "8GiB"])
def test_the_memory_of_a_run_is_within_its_estimate(capacity: str, more: dict[str, object]) -> None:
    overrides = {"device.capacity": capacity, "workload.requests": 1000, "precondition.overwrite": "none", **more}
    environment = {**os.environ, "SSDLAB_CACHE_DIR": ""}
    command = [sys.executable, "-c", PEAK, json.dumps(overrides)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    said, peak = map(int, done.stdout.split())
    assert said / 4 < peak <= said


def test_no_more_runs_start_than_memory_allows(tmp_path: Path) -> None:
    asked = planned({"seed": "1..6:6"})
    need = max(run.memory_bytes for run in asked.runs.values())
    with local.LocalWorkers(4, limit_bytes=2 * need) as workers:
        outcomes = Executor("runs", 6, workers=workers)
        taken: list[int] = []
        admission = workers._admission

        def noted(run: Run) -> Any:
            finished = outcomes.do(run)
            taken.append(admission._taken)
            return finished

        done = outcomes.run([lambda run=run: noted(run) for run in asked.runs.values()])  # type: ignore[misc]
        assert all(task is not None and task.error is None for task in done) and max(taken) <= 2 * need
        # The number of processes never exceeded the memory limit.
        assert len(workers._all) <= 2
    with local.LocalWorkers(2, limit_bytes=need - 1) as workers:
        outcome = workers.do(next(iter(asked.runs.values())))
        assert outcome.result is None and "MemoryError: the run needs about" in (outcome.error or "")


def test_a_defect_of_a_run_is_a_row() -> None:
    run = next(iter(planned({"seed": "1..2:2"}).runs.values()))
    assert execute(run).error is None
    broken = ssdlab.Config(overrides={"device.capacity": "8MiB"})
    assert "ConfigError" in (execute(run._replace(config=broken)).error or "")


def test_as_many_tasks_run_as_usable_processors() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert at_a_time(None) == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert at_a_time(None) <= len(allowed) and at_a_time(3) == 3
