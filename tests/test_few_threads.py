"""If the system allows no more threads, a command prints one line and does not hang.

Method: commands of a user with a low process limit, which counts threads too.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

NOBODY = 65534
NEEDED = ("prlimit", "setpriv")

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, NEEDED)),
    reason="only root may run commands of another user, with prlimit and setpriv",
)


def run(processes: int, room: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    room.chmod(0o777)
    user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
    command = [sys.executable, "-m", "ssdlab", *arguments]
    environment = {**os.environ, "HOME": str(room), "XDG_CACHE_HOME": str(room), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        ["prlimit", f"--nproc={processes}", *user, *command],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=room,
        env=environment,
    )


@pytest.fixture
def room() -> Iterator[Path]:
    """A directory of that user, if ssdlab can run as this user. pytest's directory is private."""
    with TemporaryDirectory() as name:
        if run(100, Path(name), "--version").returncode:
            pytest.skip("another user cannot read this installation")
        yield Path(name)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_missing_thread_is_one_line(room: Path, processes: int) -> None:
    trace = room / "trace.csv"
    requests = "".join(f"0,R,{8 * page},4096,0x0,1\n" for page in range(500))
    trace.write_text(f"time_ns,op,sector,bytes,flags,pid\n{requests}")
    page = room / "page"
    page.write_bytes(bytes(20000))
    socket = room / "socket"
    for arguments in (
        ("cache", "sim", str(trace), "--policy", "lru"),
        ("compress", "bench", str(page), "--threads", "8"),
        ("cache", "bench", "--threads", "8"),
        ("serve", "--socket", str(socket), "--set", "device.capacity=64MiB"),
    ):
        done = run(processes, room, *arguments)
        assert done.returncode == 2, (arguments, done)
        assert "thread" in done.stderr, (
            arguments,
            done.stderr,
        )
        assert done.stderr.count("\n") == 1, (arguments, done.stderr)
        assert not socket.exists()
