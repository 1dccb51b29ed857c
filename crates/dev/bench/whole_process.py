"""Python processes that benchmarks measure from start to end."""

import os
import subprocess
import sys
from typing import NamedTuple


class Measurement(NamedTuple):
    """Output of a process, its processor time in seconds (user and system), and its peak memory in MiB."""

    printed: str
    seconds: float
    mebibytes: float


def measured(*arguments: str) -> Measurement:
    """Runs the Python interpreter with the given arguments; ends the benchmark if the process fails."""
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        printed = process.stdout.read() if process.stdout else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} failed with exit status {process.returncode}")
    return Measurement(printed, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
