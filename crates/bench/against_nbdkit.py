"""Requests per second of fio over a unix socket: our server against `nbdkit memory`, in turns, in the same run.

The argument is a command that starts a server at `{socket}` with `{size}` bytes, and ends with its standard input. Both
serve memory that was written once, so that neither answers from holes.
"""

import json
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = 512 << 20
ROUNDS = 5
SECONDS = 2

LOADS = {
    "4 KiB random read, depth 1": ("randread", "4k", 1, 1),
    "4 KiB random read, depth 32": ("randread", "4k", 32, 1),
    "4 KiB random write, depth 32": ("randwrite", "4k", 32, 1),
    "4 KiB random read, depth 32, 2 jobs": ("randread", "4k", 32, 2),
    "128 KiB sequential read, depth 4": ("read", "128k", 4, 1),
    "128 KiB sequential write, depth 4": ("write", "128k", 4, 1),
}
"""Pattern, block, depth and jobs of fio."""

NBDKIT = "nbdkit --foreground --unix {socket} memory {size}"


@contextmanager
def serving(command: str, socket: Path) -> Iterator[str]:
    """The URI of a server that was written once."""
    words = shlex.split(command.format(socket=socket, size=SIZE))
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        while not socket.exists():
            if process.poll() is not None:
                sys.exit(f"{shlex.join(words)} ended with {process.returncode}")
            time.sleep(0.01)
        uri = f"nbd+unix:///?socket={socket}"
        fio(uri, "write", "1m", 4, 1, "--refill_buffers")
        yield uri
    finally:
        process.terminate()
        process.wait()


def fio(uri: str, pattern: str, block: str, depth: int, jobs: int, *options: str) -> float:
    """Requests per second."""
    with tempfile.NamedTemporaryFile() as result:
        command = ["fio", "--name=load", "--ioengine=nbd", f"--uri={uri}", f"--rw={pattern}", f"--bs={block}"]
        command += [f"--iodepth={depth}", f"--numjobs={jobs}", f"--size={SIZE}", "--group_reporting", *options]
        # fio says on standard output that it has connected, so its result goes to a file.
        command += ["--output-format=json", f"--output={result.name}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
        [job] = json.loads(Path(result.name).read_text())["jobs"]
        return float(job["read"]["iops"] + job["write"]["iops"])


def main(command: str) -> None:
    """Prints a table of medians."""
    for program in ("fio", "nbdkit"):
        if not shutil.which(program):
            print(f"not compared with nbdkit: {program} is missing; Debian has it in the package of that name")
            return
    timed = (f"--runtime={SECONDS}", "--time_based")
    with tempfile.TemporaryDirectory(prefix="ssdlab-nbd-") as folder:
        ours_socket, theirs_socket = Path(folder, "ours"), Path(folder, "theirs")
        with serving(command, ours_socket) as ours, serving(NBDKIT, theirs_socket) as theirs:
            print(f"medians of {ROUNDS} rounds in turns, thousand requests per second\n")
            print(f"{'load':36} {'ours':>7} {'nbdkit':>7} {'ratio':>6}")
            for name, (pattern, block, depth, jobs) in LOADS.items():
                rounds = [
                    [fio(uri, pattern, block, depth, jobs, *timed) for uri in (ours, theirs)] for _ in range(ROUNDS)
                ]
                own, other = (statistics.median(column) for column in zip(*rounds, strict=True))
                print(f"{name:36} {own / 1e3:7.1f} {other / 1e3:7.1f} {own / other:5.2f}x", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
