"""Ctrl-C in real processes: status 130, "interrupted" on standard error, no traceback, finished results printed."""

import gzip
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

import ssdlab
from conftest import ROOT, SMALL_SETS
from forked import PATIENCE_SECONDS
from ssdlab import _ssdlab, cli, interrupt
from ssdlab.interrupt import asked_for, handled
from tiers import examples

OLTP = str(ROOT / "traces" / "oltp.csv.zst")
MANY = 10**11
"""Requests that take days."""
LONG = [*SMALL_SETS, "--set", f"workload.requests={MANY}"]
MANY_SIZES = ",".join(map(str, range(1, 15_000)))


def interrupted(
    arguments: Sequence[str],
    at: str,
    folder: Path,
    *,
    interpreter: Sequence[str] = (),
    by: signal.Signals = signal.SIGINT,
) -> tuple[str, str]:
    """Output of a command that gets the signal when a line of its standard error matches `at`."""
    command = [sys.executable, *interpreter, "-m", "ssdlab", *arguments]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        seen = ""
        try:
            while line := process.stderr.readline():
                seen += line
                if re.search(at, line):
                    break
            else:
                pytest.fail(f"it ended by itself and never said {at!r}: {seen}")
            process.send_signal(by)
            out, rest = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 130, rest
    assert "Traceback" not in rest and "ssdlab: interrupted" in rest, rest
    return out, seen + rest


@pytest.mark.parametrize(
    "module", ["click", "ssdlab.cli.command", "ssdlab.cli.options", "ssdlab.model.config", "ssdlab.model.result"]
)
def test_at_start_up(module: str, tmp_path: Path) -> None:
    """Python reports each loaded module; most modules are loaded after this one."""
    _, said = interrupted(["run", *LONG], rf"\| +{re.escape(module)}$", tmp_path, interpreter=["-X", "importtime"])
    assert said.endswith("ssdlab: interrupted\n") or "stopped" in said or "nothing was measured" in said


@pytest.mark.parametrize(
    ("module", "text", "command"),
    [
        # After a KeyboardInterrupt in `exec` of a string, Python would end by the signal.
        ("logging", "exec('raise KeyboardInterrupt')", ["list"]),
        # The extension loads numpy for saved columns; the bindings to numpy would panic.
        ("numpy", "raise KeyboardInterrupt", ["run", *SMALL_SETS, "--out", "out"]),
    ],
)
def test_the_status_is_that_of_an_interrupt_wherever_raised(
    module: str, text: str, command: list[str], tmp_path: Path
) -> None:
    (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "ssdlab", *command]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((".", os.environ.get("PYTHONPATH", "")))}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.returncode == 130 and ended.stderr.splitlines()[-1].startswith("ssdlab: interrupted"), ended.stderr
    assert "Traceback" not in ended.stderr and "panicked" not in ended.stderr


AT_AN_IMPORT = """
import os, signal, sys
at, imports, began = int(os.environ["INTERRUPT_AT"]), 0, False
def on_event(event, arguments):
    global imports, began
    if event == "import":
        began = began or arguments[0] == "ssdlab.interrupt"
        imports += began
        if began and imports == at:
            signal.raise_signal(signal.SIGINT)
        elif began and at == 0:
            os.write(2, b"import\\n")
sys.addaudithook(on_event)
"""
"""Sends itself Ctrl-C at the n-th import; without n, prints their number."""


def test_at_any_import_of_the_program(tmp_path: Path) -> None:
    """Goal: one line and status 130 from our first instruction on. Method: Python calls `sitecustomize` before the
    program; moments are counted by imports, so they do not depend on time. The first is the import of
    `ssdlab.interrupt`, which follows the installer's script and two small modules.
    """
    (tmp_path / "sitecustomize.py").write_text(AT_AN_IMPORT, encoding="utf-8")
    program = Path(sys.executable).with_name("ssdlab")

    def ended(at: int) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "INTERRUPT_AT": str(at)}
        return subprocess.run([program, "list"], env=environment, capture_output=True, text=True, check=False)

    imports = ended(0).stderr.count("import\n")
    assert imports > 30
    for at in sorted({*range(1, 9), *(1 + imports * moment // MOMENTS for moment in range(MOMENTS))}):
        done = ended(at)
        assert (done.returncode, done.stderr, done.stdout) == (130, "ssdlab: interrupted\n", ""), (at, done)


AT_A_CALL = """
import signal, sys
from ssdlab.leaving import leave_at_once
leave_at_once()
name, at, calls = sys.argv.pop(1), int(sys.argv.pop(1)), 0
def on_call(frame, event, _):
    global calls
    if event == "call" and name in ("any", frame.f_code.co_name):
        calls += 1
        if calls == at:
            signal.raise_signal(signal.SIGINT)
sys.setprofile(on_call)
from ssdlab.__main__ import main
try:
    main()
finally:
    sys.setprofile(None)
    print("calls", calls, file=sys.stderr)
"""
"""Sends itself Ctrl-C at the n-th call of a function with this name."""

MOMENTS = 2 + examples(3)


@pytest.mark.parametrize("name", ["any", "__set_name__", "cb"])
def test_at_any_call_of_a_command(name: str, tmp_path: Path) -> None:
    """Goal: status 130 with one line and no traceback, whenever Ctrl-C comes. Method: moments are counted by function
    calls, so they do not depend on time. Python wraps exceptions raised in `__set_name__`, and loses those raised in
    the callback `cb` of an import.
    """

    def ended(at: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", AT_A_CALL, name, str(at), "run", *SMALL_SETS, "--out", "out"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    calls = int(ended(0).stderr.rpartition("calls ")[2])
    assert calls > 1
    for at in {1 + calls * moment // MOMENTS for moment in range(MOMENTS)}:
        one = ended(at)
        lines = [line for line in one.stderr.splitlines() if line.startswith("ssdlab: interrupted")]
        assert one.returncode == 130 and len(lines) == 1, (at, one.stderr)
        assert "Traceback" not in one.stderr and "ignored" not in one.stderr, (at, one.stderr)


WHILE_AN_OBJECT_ENDS = """
import signal, time
from ssdlab.interrupt import raised
class Ends:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
try:
    with raised():
        Ends()
        while True:
            time.sleep(0.01)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_lost_by_python_is_raised_again() -> None:
    command = [sys.executable, "-c", WHILE_AN_OBJECT_ENDS]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("interrupted\n", "", 0)


def test_a_wrapped_interrupt_counts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class PanicError(BaseException):
        """Exception that compiled code raises for an unexpected exception."""

    def wrapped(**_: object) -> None:
        try:
            interrupt._raise(signal.SIGINT, None)
        except KeyboardInterrupt as error:
            raise PanicError from error

    monkeypatch.setattr(interrupt, "_was_raised", False)
    monkeypatch.setattr(cli, "app", wrapped)
    assert (cli.main(), capsys.readouterr().err) == (130, "ssdlab: interrupted\n")


@pytest.fixture(scope="module")
def long_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace that takes long to read: the same write 10^9 times, in gzip members of half a million writes."""
    path = tmp_path_factory.mktemp("long") / "long.csv.gz"
    header, member = b"time_ns,op,sector,bytes,flags,pid\n", gzip.compress(500_000 * b"0,W,8,4096,0x2,\n")
    path.write_bytes(gzip.compress(header) + 2000 * member)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("command", ["info", "analyze"])
def test_while_a_trace_is_described(command: str, long_trace: Path, tmp_path: Path) -> None:
    out, _ = interrupted(["trace", command, str(long_trace)], r"trace: scan .*requests/s", tmp_path)
    assert "only the beginning of the trace was read" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["trace", "intervals"], []),
        (["trace", "convert"], ["out.csv"]),
        (["trace", "convert"], ["out.parquet"]),
        (["cache", "sim"], []),
        (["cache", "mrc"], []),
        (["advise", "mapcache"], []),
        (["run", "--fit", "grow"], []),
    ],
)
def test_while_a_trace_is_read(before: list[str], after: list[str], long_trace: Path, tmp_path: Path) -> None:
    out, _ = interrupted([*before, str(long_trace), *after], r"\w+: \w+ .*requests/s", tmp_path)
    assert out == "" and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_while_a_trace_is_written(by: signal.Signals, tmp_path: Path) -> None:
    interrupted(["trace", "generate", "long.csv", *LONG], r"trace: generate", tmp_path, by=by)
    assert list(tmp_path.iterdir()) == []


MANY_FILES = {
    "workload.pattern": "filebench", "workload.pattern.filebench.files": 10**7,
    "workload.pattern.filebench.file_size": "4KiB", "device.capacity": "256GiB", "time": "count",
    "precondition.fill": "0%", "precondition.overwrite": "none",
}  # fmt: skip
"""A workload whose first request takes most of a minute."""


def test_while_the_files_of_a_workload_are_created(tmp_path: Path) -> None:
    sets = [word for key, value in MANY_FILES.items() for word in ("--set", f"{key}={value}")]
    out, said = interrupted(["run", *sets], "run: prepare", tmp_path)
    assert out == "" and "nothing was measured" in said


@pytest.mark.usefixtures("ctrl_c_interrupts")
def test_ctrl_c_interrupts_a_generator_while_it_creates_files() -> None:
    generator = _ssdlab.Generator(ssdlab.Config(overrides=MANY_FILES)._inner)
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            generator.read(1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert generator.progress()[0] == 0


def test_while_preconditioning(tmp_path: Path) -> None:
    sets = ["--set", "device.capacity=8GiB", "--set", "precondition.overwrite=passes"]
    sets += ["--set", "precondition.overwrite.passes.count=1000"]
    out, said = interrupted(["run", *sets, "--out", "out"], r"run: overwrite \d+ %, write amplification \d", tmp_path)
    # No report with zeros is printed.
    assert out == "" and "preconditioning" in said and list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_while_warming_up(tmp_path: Path) -> None:
    out, said = interrupted(["run", *LONG, "--set", f"host.warmup={MANY}"], r"run: warm-up .*requests/s", tmp_path)
    assert out == "" and "warming up" in said


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="nothing tells who waits for a processor")
def test_waiting_for_a_processor_is_not_silence() -> None:
    """Goal: work on a busy machine is not mistaken for unresponsive work and ended. Method: two busy processes on one
    processor, of which this one waits about half of the time.
    """
    allowed, busy = os.sched_getaffinity(0), "print(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE) as other:
        try:
            for process in (other.pid, 0):
                os.sched_setaffinity(process, {min(allowed)})
            assert other.stdout is not None and other.stdout.readline()
            began, own_began = time.monotonic(), interrupt._own_seconds()
            while time.monotonic() - began < 0.5:
                pass
            own, elapsed = interrupt._own_seconds() - own_began, time.monotonic() - began
            assert own < 0.9 * elapsed
        finally:
            os.sched_setaffinity(0, allowed)
            other.kill()


@pytest.mark.parametrize("command", [["run"], ["compare", "--case", "seed=1", "--case", "seed=2"]])
def test_while_running(command: list[str], tmp_path: Path) -> None:
    out, said = interrupted([*command, *LONG], r"measure.*requests/s", tmp_path)
    assert "partial result" in out and "write amplification" in out, said


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_sweep_keeps_finished_runs_and_continues(by: signal.Signals, tmp_path: Path) -> None:
    few, more = ["-A", "workload.requests=1000,2000"], ["-A", f"workload.requests=1000,2000,{MANY}"]
    arguments = ["sweep", *LONG[:-2], "--jobs", "1", "--out", "s", "--json"]
    out, _ = interrupted([*arguments, *more], r"sweep: runs .*2 of 3 runs", tmp_path, by=by)
    kept = json.loads(out)
    assert kept["partial"] and kept["result"]["finished"] == 2 and kept["result"]["asked"] == 3
    command = [sys.executable, "-m", "ssdlab", *arguments, *few]
    whole = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout)
    assert whole["result"]["rows"] == kept["result"]["rows"] and not whole["partial"]


@pytest.mark.slow
def test_the_partial_result_is_saved(tmp_path: Path) -> None:
    out, _ = interrupted(["run", *LONG, "--json", "--out", "out"], r"measure.*requests/s", tmp_path)
    assert json.loads(out)["partial"] and (tmp_path / "out" / "result.json").read_text(encoding="utf-8") == out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "at"),
    [
        (["experiment", "run", "sbfast", "--set", f"workload.requests={MANY}"], "sbfast: runs"),
        (["validate"], "validate: simulate"),
        (["calibrate", "--preset", "sata-mlc", "--set", "device.capacity=8GiB", "--requests", str(MANY)], "cells"),
    ],
)
def test_while_simulations_run_side_by_side(command: list[str], at: str, tmp_path: Path) -> None:
    interrupted(command, at, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["sim", "mrc"])
def test_while_caches_are_simulated(command: str, tmp_path: Path) -> None:
    arguments = ["cache", command, OLTP, "--policy", "arc", "--size", MANY_SIZES, "--json"]
    out, _ = interrupted(arguments, r"caches \d+ %, [1-9]\d* of 14999 caches", tmp_path)
    assert 0 < out.count('"policy"') < 14_999


@pytest.mark.slow
def test_while_codecs_are_measured(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"".join(b"%d " % (number * number) for number in range(100_000)))
    slow = ["--codec", "zlib:9,zlib:8", "--runs", "1000"]
    out, _ = interrupted(["compress", "bench", str(text), *slow], r"runs \d+ %, [1-9]\d* of", tmp_path)
    assert out == ""
    plan = ["cache", "plan", "--memory", "4GiB", "--data", "100GiB", "--device-us", "80"]
    text.write_bytes(100 * text.read_bytes())
    out, _ = interrupted([*plan, "--compressor", "zlib:9", str(text)], r"cache: runs \d+ %", tmp_path)
    assert out == ""


@pytest.mark.slow
def test_while_a_cache_is_measured(tmp_path: Path) -> None:
    few = ["--pages", "1000", "--accesses", "4000", "--cost", "0us", "--codec", "lz4", "--share", "0,25,50"]
    arguments = ["cache", "bench", *few, "--runs", "1000", "--json"]
    # A run may be finished before the signal, depending on the machine; a finished run is printed.
    out, _ = interrupted(arguments, r"cache: accesses \d+ %, run \d+ of 3000", tmp_path)
    assert not out or json.loads(out)["partial"]


@pytest.fixture
def ctrl_c_interrupts() -> Iterator[None]:
    """Restores the effect of Ctrl-C, which background jobs of a shell ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_sighup_ignored_by_nohup_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with handled(signal.default_int_handler):
            assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    with handled(signal.default_int_handler):
        assert signal.getsignal(signal.SIGHUP) is signal.default_int_handler


@pytest.mark.usefixtures("ctrl_c_interrupts")
def test_a_ctrl_c_during_an_import_reaches_the_following_work(tmp_path: Path) -> None:
    """The import requests the interrupt and ends; the waiting work then notices the request in its monitor."""
    path = tmp_path / "loaded.py"
    path.write_text("import signal; signal.raise_signal(signal.SIGINT); done = True", encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    began, alarm = time.monotonic(), signal.getsignal(signal.SIGALRM)
    try:
        with interrupt.handled(interrupt._raise):
            assert importlib.import_module("loaded").done
            with asked_for() as request:
                while not request.ask():
                    assert time.monotonic() - began < PATIENCE_SECONDS
    finally:
        sys.path.remove(str(tmp_path))
        signal.signal(signal.SIGALRM, alarm)


@pytest.mark.usefixtures("ctrl_c_interrupts")
@pytest.mark.parametrize("work", ["never asks again", "hears it"])
def test_an_interrupt_missed_by_finished_work_is_not_lost(work: str) -> None:
    ended, raised = False, nullcontext() if work == "hears it" else pytest.raises(KeyboardInterrupt)
    with raised, asked_for() as request:
        assert not request.ask()
        signal.raise_signal(signal.SIGINT)
        ended = work == "hears it" and request.ask()
    assert ended == (work == "hears it")
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
