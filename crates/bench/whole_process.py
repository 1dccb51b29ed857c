"""Processes of Python that benchmarks measure from start to end."""

import os
import subprocess
import sys
from typing import NamedTuple


class Took(NamedTuple):
    """What a process printed, its processor time in seconds (user and system), and the most MiB that it held."""

    printed: str
    seconds: float
    mebibytes: float


def measured(*arguments: str) -> Took:
    """Runs the interpreter with these arguments; if that fails, so does the benchmark."""
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        printed = process.stdout.read() if process.stdout else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} ended with {process.returncode}")
    return Took(printed, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
