"""Served drives and their clients, for tests."""

import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ssdlab
from conftest import ROOT
from forked import PATIENCE_SECONDS
from nbd_client import FUA, Client

PAGE = 4096
MIB = 1 << 20
CERTIFICATES = ROOT / "crates" / "drive" / "nbd" / "tests" / "data"
SMALL = {
    "device.capacity": "16MiB",
    "nand.pages_per_block": 16,
    "nand.page_size": "4KiB",
    "nand.channels": 2,
    "nand.ways": 1,
    "nand.dies": 1,
    "nand.planes": 1,
    "drive.buffer": "none",
    "precondition.fill": "0%",
    "precondition.overwrite": "none",
}
PROTECTED = {
    "time": "event",
    "drive.buffer": "watermark",
    "drive.buffer.watermark.size": "64KiB",
    "drive.buffer.watermark.plp": True,
}
EAGER = {"time": "event", "drive.buffer": "eager", "drive.buffer.eager.plp": False}
FTLS = ("page", "bast", "fast", "faster", "sbfast")


def small(ftl: str = "page") -> ssdlab.Config:
    """A small drive, which is filled quickly."""
    return ssdlab.Config("small-tlc", overrides={**SMALL, "ftl": ftl})


def sets(ftl: str = "page") -> list[str]:
    given = (word for key, value in {**SMALL, "ftl": ftl}.items() for word in ("--set", f"{key}={value}"))
    return ["--preset", "small-tlc", *given]


def random_use(client: Client, model: bytearray, seed: int, requests: int) -> None:
    """Writes, trims, zeroes and reads at random; compares reads with a model in memory."""
    chance = random.Random(seed)
    for _ in range(requests):
        count = chance.choice((512, PAGE, 3 * PAGE, 5000, 20_000))
        offset = chance.randrange(0, (client.size - count) // 512) * 512
        match chance.randrange(8):
            case 0:
                client.zero(offset, count)
                model[offset : offset + count] = bytes(count)
            case 1:
                # Partial pages at the ends keep their data.
                first, end = -(-offset // PAGE), (offset + count) // PAGE
                client.trim(offset, count)
                if first < end:
                    model[first * PAGE : end * PAGE] = bytes((end - first) * PAGE)
            case 2 | 3:
                assert client.read(offset, count) == model[offset : offset + count], f"seed {seed}"
            case _:
                data = chance.randbytes(count)
                client.write(offset, data, FUA if chance.randrange(9) == 0 else 0)
                model[offset : offset + count] = data
    client.flush()


def answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as attempt:
        return attempt.connect_ex(str(path)) == 0


@contextmanager
def served(tmp_path: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """`ssdlab serve` as a process, and its socket."""
    path = tmp_path / "s"
    command = [sys.executable, "-m", "ssdlab", "serve", "--socket", str(path), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + PATIENCE_SECONDS
        # A killed server leaves its socket behind.
        while process.poll() is None and not answers(path):
            assert time.monotonic() < until, "nobody answers"
            time.sleep(0.02)
        yield process, path
    finally:
        process.kill()
        process.communicate()
