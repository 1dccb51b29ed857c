"""Runs fio, which sends requests to a real drive."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import text
from ssdlab.analyse.drive.errors import CalibrationError

REMEDY = "install fio 3 or later ('apt-get install fio', 'dnf install fio'), or simulate a drive"

ENGINES = ("io_uring", "libaio", "psync")
"""fio's I/O engines in order of preference. The last engine is synchronous and needs a thread per request in flight."""

LINK = "target"
"""Name of a link to the drive in fio's working directory, because fio would split the drive's path at colons."""

PATIENCE_SECONDS = 5.0
"""Time limit in seconds for fio to exit after a signal."""


@dataclass(frozen=True)
class Fio:
    """The fio program installed on this machine."""

    program: str
    version: str
    """Version of fio as printed, such as `fio-3.33`."""


@dataclass(frozen=True)
class Job:
    """A fio job that sends random requests to one region for a given time."""

    path: Path
    op: str
    """Operation of the requests: `read` or `write`."""
    request_bytes: int
    offset_bytes: int
    region_bytes: int
    in_flight: int
    engine: str
    direct: bool
    seconds: float
    run: int = 1
    """Number of sequential requests after each random seek."""

    def arguments(self) -> list[str]:
        """Returns fio's options. Only a job whose operation is `write` can write; no job creates or enlarges a file."""
        threads = self.engine == ENGINES[-1]
        return [
            "--name=ssdlab",
            f"--filename={LINK}",
            f"--rw=rand{self.op}" + (f":{self.run}" if self.run > 1 else ""),
            *([] if self.op == "write" else ["--readonly"]),
            "--allow_file_create=0",
            f"--bs={self.request_bytes}",
            f"--offset={self.offset_bytes}",
            f"--size={self.region_bytes}",
            f"--ioengine={self.engine}",
            f"--direct={int(self.direct)}",
            f"--iodepth={1 if threads else self.in_flight}",
            f"--numjobs={self.in_flight if threads else 1}",
            "--thread",
            "--group_reporting",
            "--norandommap",
            "--time_based",
            f"--runtime={max(1, round(1000 * self.seconds))}ms",
        ]


def find() -> Fio:
    """Finds fio in the directories listed in PATH."""
    program = shutil.which("fio")
    if program is None:
        raise CalibrationError(f"fio is not installed, but the measurement needs it; {REMEDY}")
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise CalibrationError(f"{text.path(program)} cannot be run: {error.strerror}; {REMEDY}") from None
    version = done.stdout.strip()
    numbers = re.match(r"fio-(\d+)\.", version)
    if numbers is None:
        said = _line(version or done.stderr) or f"exit status {done.returncode}"
        raise CalibrationError(f"{text.path(program)} did not print a version: {said}; {REMEDY}")
    if int(numbers[1]) < 3:
        raise CalibrationError(f"{text.path(program)} is {version}, which is too old; {REMEDY}")
    return Fio(program, version)


def run(fio: Fio, job: Job, stop: Callable[[], object]) -> tuple[int, float] | None:
    """Runs one fio job. Returns the number of completed requests, and requests per second; None if the job was stopped
    by `stop`, which is called about ten times a second and returns a true value to end fio.
    """
    # fio leaves files behind in its working directory.
    with tempfile.TemporaryDirectory(prefix="ssdlab-fio-") as folder:
        output, errors = Path(folder, "output.json"), Path(folder, "errors")
        Path(folder, LINK).symlink_to(job.path)
        command = [fio.program, *job.arguments(), "--output-format=json", f"--output={output}"]
        with errors.open("wb") as stream:
            # fio runs in a separate session. Ctrl-C then reaches only ssdlab, which ends fio.
            process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True
            )
        try:
            while process.poll() is None:
                if stop():
                    return None
                try:
                    process.wait(timeout=0.1)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            _end(process)
        said = errors.read_text(encoding="utf-8", errors="replace")
        written = output.read_text(encoding="utf-8", errors="replace") if output.exists() else ""
        return _figures(fio, job, process.returncode, written, said)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends fio and its child processes if they are still running."""
    for number in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        try:
            process.wait(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            continue


def _figures(fio: Fio, job: Job, status: int, written: str, said: str) -> tuple[int, float]:
    # fio may print messages before the JSON.
    before, brace, rest = written.partition("{")
    where = text.path(job.path)
    try:
        found: Any = json.JSONDecoder().raw_decode(brace + rest)[0]
        jobs: Sequence[Any] = found["jobs"]
        failed = any(thread["error"] for thread in jobs)
        requests = sum(int(thread[job.op]["total_ios"]) for thread in jobs)
        iops = sum(float(thread[job.op]["iops"]) for thread in jobs)
    except (ValueError, KeyError, TypeError):
        if status or not brace:
            raise CalibrationError(f"fio failed on {where}: {_reason(said, before, status)}") from None
        raise CalibrationError(f"{fio.version} did not report the IOPS of {where} in its JSON; {REMEDY}") from None
    if status or failed:
        raise CalibrationError(f"fio failed on {where}: {_reason(said, before, status)}")
    if not (math.isfinite(iops) and iops > 0 and requests > 0):
        raise CalibrationError(f"{where} completed no requests in {job.seconds:g} s; use a longer measuring time")
    return requests, iops


def _reason(said: str, before: str, status: int) -> str:
    """Returns the reason why fio failed, in one line; fio's own error message is preferred."""
    printed = [*said.splitlines(), *before.splitlines()]
    lines = [line for line in printed if line.strip() and not line.startswith("note:")]
    own = [line.partition("fio:")[2] for line in lines if line.startswith("fio:")]
    # Skips warnings that fio prints before the error.
    first = next((line for line in own if "error" in line), own[0] if own else "")
    return _line(first) or _line(lines[-1] if lines else "") or f"exit status {status} without a message"


def _line(words: str) -> str:
    """Joins words into one line of printable characters."""
    return text.path(" ".join(words.split()))
