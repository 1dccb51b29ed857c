"""Compares NBD servers of ssdlab with `nbdkit memory`: fio's requests per second over a unix socket, and server
processor time per request, alternating.

    python crates/dev/bench/against_nbdkit.py NAME='COMMAND' ...

A command starts a server at `{socket}` with `{size}` bytes, optionally in `{file}`, that ends on SIGTERM. All drives
are first written once, so that no server reads from holes. Loads run in table order. A drive stores pages in the order
of writing, so long requests are timed before and after random writes.
"""

import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from operator import truediv
from pathlib import Path

SIZE = 512 << 20
ROUNDS = 15
SECONDS = 0.5

LOADS = {
    "128 KiB sequential read, depth 4": ("read", "128k", 4, 1),
    "128 KiB sequential write, depth 4": ("write", "128k", 4, 1),
    "4 KiB random read, depth 1": ("randread", "4k", 1, 1),
    "4 KiB random read, depth 32": ("randread", "4k", 32, 1),
    "4 KiB random write, depth 32": ("randwrite", "4k", 32, 1),
    "4 KiB random read, depth 32, 2 jobs": ("randread", "4k", 32, 2),
    "128 KiB sequential read, depth 4, written at random": ("read", "128k", 4, 1),
    "128 KiB sequential write, depth 4, written at random": ("write", "128k", 4, 1),
}
"""Access pattern, block size, queue depth and number of jobs of each fio load."""

NBDKIT = "nbdkit --foreground --unix {socket} memory {size}"


@contextmanager
def serving(command: str, folder: Path) -> Iterator[tuple[str, int]]:
    """Yields the URI and the process number of a server after its whole drive was written once."""
    folder.mkdir()
    socket = folder / "socket"
    words = shlex.split(command.format(socket=socket, size=SIZE, file=folder / "file"))
    silent = subprocess.DEVNULL
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=silent, stderr=silent)
    try:
        while not socket.exists():
            if process.poll() is not None:
                sys.exit(f"{shlex.join(words)} exited with status {process.returncode}")
            time.sleep(0.01)
        uri = f"nbd+unix:///?socket={socket}"
        fio(uri, "write", "1m", 4, 1, "--refill_buffers")
        yield uri, process.pid
    finally:
        process.terminate()
        process.wait()


def fio(uri: str, pattern: str, block: str, depth: int, jobs: int, *options: str) -> tuple[float, int]:
    """Runs a load with fio; returns the requests per second and the number of requests."""
    with tempfile.NamedTemporaryFile() as result:
        command = ["fio", "--name=load", "--ioengine=nbd", f"--uri={uri}", f"--rw={pattern}", f"--bs={block}"]
        command += [f"--iodepth={depth}", f"--numjobs={jobs}", f"--size={SIZE}", "--group_reporting", *options]
        # fio reports its connection on standard output, so the measurement is written to a file.
        command += ["--output-format=json", f"--output={result.name}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
        [job] = json.loads(Path(result.name).read_text())["jobs"]
        directions = (job["read"], job["write"])
        return sum(float(way["iops"]) for way in directions), sum(int(way["total_ios"]) for way in directions)


def worked(process: int) -> float:
    """Returns the processor time of a process in seconds."""
    # User and system time are the 12th and 13th field after the process name, which may contain blanks.
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(commands: dict[str, str]) -> None:
    """Prints a table of medians. A ratio is the median over rounds, because a busy machine slows down whole rounds."""
    for program in ("fio", "nbdkit"):
        if not shutil.which(program):
            print(f"skipped the comparison with nbdkit: {program} is missing; run: apt install {program}")
            return
    timed = (f"--runtime={SECONDS * 1000:.0f}ms", "--time_based")
    print("\n### NBD: requests of fio against `nbdkit memory`\n")
    print(f"Thousand requests per second; medians over {ROUNDS} alternating rounds of {SECONDS} s.\n")
    print("In brackets: microseconds of server processor time per request, over all rounds.\n")
    print("| load | nbdkit |" + "".join(f" {name} | ratio |" for name in commands))
    print("|---|---|" + "---|---|" * len(commands))
    with tempfile.TemporaryDirectory(prefix="ssdlab-nbd-") as folder, ExitStack() as servers:
        every = {"nbdkit": NBDKIT, **commands}
        running = [servers.enter_context(serving(command, Path(folder, name))) for name, command in every.items()]
        for load, (pattern, block, depth, jobs) in LOADS.items():
            rates: list[list[float]] = [[] for _ in running]
            seconds, requests = [0.0] * len(running), [0] * len(running)
            for _ in range(ROUNDS):
                for server, (uri, process) in enumerate(running):
                    before = worked(process)
                    rate, count = fio(uri, pattern, block, depth, jobs, *timed)
                    rates[server].append(rate)
                    seconds[server] += worked(process) - before
                    requests[server] += count
            shown = [
                f"{statistics.median(own) / 1e3:.1f} ({spent / count * 1e6:.1f})"
                for own, spent, count in zip(rates, seconds, requests, strict=True)
            ]
            theirs, *ours = rates
            ratios = [statistics.median(map(truediv, own, theirs)) for own in ours]
            cells = "".join(f" {cell} | **{ratio:.2f}** |" for cell, ratio in zip(shown[1:], ratios, strict=True))
            print(f"| {load} | {shown[0]} |{cells}", flush=True)


if __name__ == "__main__":
    main(dict(argument.split("=", 1) for argument in sys.argv[1:]))
