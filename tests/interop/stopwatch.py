"""Measures the longest time that one client of an NBD server makes another wait.

    python tests/interop/stopwatch.py --server 'ssdlab serve --socket {socket} -s device.capacity={size}B'

One client reads 4 KiB at random, one request after the other, while another issues long requests. Each line shows the
duration of the long request, and the longest read meanwhile. The first line shows the reader alone, because the
machine itself also causes waits.
"""

import argparse
import multiprocessing as processes
import random
import shlex
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from multiprocessing.synchronize import Event
from pathlib import Path

from machine import MIB, background, wait_until

sys.path.append(str(Path(__file__).parents[1]))
from nbd_client import NO_HOLE, READ, Client, connected

PAGE = 4096
LONG = 32 * MIB
"""The longest read and write of the protocol."""


def fill(client: Client) -> None:
    for offset in range(0, client.size, LONG):
        client.write(offset, random.randbytes(MIB) * (min(LONG, client.size - offset) // MIB))


def write_and_flush(client: Client) -> None:
    fill(client)
    client.flush()


def scatter(client: Client) -> None:
    """Writes random pages, as many as a sixteenth of the drive."""
    data = random.randbytes(PAGE)
    for _ in range(client.size // PAGE // 16):
        client.write(random.randrange(client.size // PAGE) * PAGE, data)


def read_all(client: Client) -> None:
    for offset in range(0, client.size, LONG):
        client.read(offset, min(LONG, client.size - offset))


def most(client: Client) -> int:
    """Length of the longest request without data, a 32-bit number."""
    return min(int(client.size), (1 << 32) - MIB)


DEEDS: dict[str, Callable[[Client], object]] = {
    "nothing, for 3 s": lambda client: time.sleep(3),
    "writes of 32 MiB": fill,
    "writes of 32 MiB, and a flush": write_and_flush,
    "random writes of 4 KiB": scatter,
    "reads of 32 MiB": read_all,
    "one write-zeroes, NO_HOLE": lambda client: client.zero(0, most(client), NO_HOLE),
    "one write-zeroes": lambda client: client.zero(0, most(client)),
    "one trim": lambda client: client.trim(0, most(client)),
}


def read_until(path: Path, end: Event, longest: "processes.Queue[float]") -> None:
    """Reads until `end`, and reports the longest read."""
    with connected(path) as client:
        slowest = 0.0
        while not end.is_set():
            began = time.monotonic()
            client.read(random.randrange(client.size // PAGE) * PAGE, PAGE)
            slowest = max(slowest, time.monotonic() - began)
        longest.put(slowest)


def measure(path: Path, name: str, deed: Callable[[Client], object]) -> float:
    end = processes.Event()
    longest: processes.Queue[float] = processes.Queue()
    reader = processes.Process(target=read_until, args=(path, end, longest))
    with connected(path) as client:
        client._socket.settimeout(None)
        reader.start()
        time.sleep(0.2)
        began = time.monotonic()
        deed(client)
        seconds = time.monotonic() - began
    end.set()
    slowest = longest.get()
    reader.join()
    print(f"{name:32} {seconds:8.2f} s   longest read {1e3 * slowest:8.1f} ms", flush=True)
    return slowest


def crowds(path: Path) -> None:
    """Many clients that read no replies, and many connections that send no bytes."""
    with ExitStack() as opened:
        for _ in range(60):
            client = opened.enter_context(connected(path))
            client._socket.settimeout(0.1)
            with suppress(TimeoutError):
                client.ask_and_leave(0, MIB, 200)
        measure(path, "60 clients that take no replies", lambda client: time.sleep(3))
    with ExitStack() as opened:
        for _ in range(64):
            opened.enter_context(socket.socket(socket.AF_UNIX)).connect(str(path))
        began = time.monotonic()
        with connected(path) as client:
            client._ask(READ, 0, 0)
        waited = 1e3 * (time.monotonic() - began)
        print(f"{'64 silent connections':32}              a new client waited {waited:8.1f} ms")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, metavar="COMMAND", help="server command with {socket} and {size}")
    parser.add_argument("--size", type=int, default=4 << 30, metavar="BYTES", help="default: 4 GiB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ssdlab-stopwatch-") as folder:
        path = Path(folder) / "socket"
        with background(*shlex.split(options.server.format(socket=path, size=options.size, folder=folder))) as process:
            wait_until(lambda: path.exists() or process.poll() is not None, "the start of the server", 60)
            slowest = max(measure(path, name, deed) for name, deed in DEEDS.items())
            crowds(path)
            for line in Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").splitlines():
                if line.startswith("VmHWM"):
                    print(f"peak memory of the server: {int(line.split()[1]) / 1024:.0f} MiB")
    print(f"longest wait: {1e3 * slowest:.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
