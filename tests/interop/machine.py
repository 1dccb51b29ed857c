"""Shared by the checks: servers, commands with time limits, and mounts that are always undone."""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL, SIGTERM

MIB = 1 << 20

PACKAGES = {
    "fio": "fio",
    "nbdcopy": "libnbd-bin",
    "nbdfuse": "libnbd-bin",
    "nbdinfo": "libnbd-bin",
    "nbdkit": "nbdkit",
    "nbdsh": "python3-libnbd",
    "qemu-img": "qemu-utils",
    "pgbench": "postgresql",
    "qemu-io": "qemu-utils",
    "mkfs.xfs": "xfsprogs",
}
"""Programs of the checks, and their Debian packages."""


class MissingError(Exception):
    """The check cannot run on this machine; the text is the reason."""


def install() -> None:
    """Installs the packages of missing programs, if this user may."""
    packages = sorted({package for program, package in PACKAGES.items() if not shutil.which(program)})
    if not packages or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    install = ["install", "--yes", "--no-install-recommends"]
    # One package at a time, so that an unavailable package does not block others; its checks report it as missing.
    for arguments in [["update"], *([*install, package] for package in packages)]:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "-qq", *arguments], env=environment, capture_output=True, check=False)


def needs(*programs: str) -> None:
    """Ends the check if a program is missing."""
    for program in programs:
        if not shutil.which(program):
            package = PACKAGES.get(program)
            raise MissingError(f"{program} is missing" + (f"; apt-get install {package}" if package else ""))


def run(*command: str | Path, seconds: float = 120) -> str:
    """Returns the output of a command. Failure or a timeout fails the check."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds, check=False)
    if done.returncode:
        words = shlex.join(str(word) for word in command)
        raise RuntimeError(f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_until(is_so: Callable[[], bool], what: str, seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            raise RuntimeError(f"{what} did not happen within {seconds} s")
        time.sleep(0.02)


@contextmanager
def background(*command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a command in the background and ends it by its process id."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> int:
    """Ends a process by closing its input, then SIGTERM, then SIGKILL; returns its status."""
    assert process.stdin
    process.stdin.close()
    for signal in (None, SIGTERM, SIGKILL):
        if signal is not None:
            process.send_signal(signal)
        try:
            return process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            continue
    raise RuntimeError(f"process {process.pid} cannot be ended")


class Machine:
    """The environment of a check: its own folder, and servers on demand."""

    def __init__(self, command: str, folder: Path, certificates: Path | None, makes_drives: bool) -> None:
        self.makes_drives = makes_drives
        self.command = command
        self.folder = folder
        self.certificates = certificates

    @contextmanager
    def server(self, size: int = 256 * MIB, options: str = "") -> Iterator[str]:
        """URI of a new server, which must end cleanly on request."""
        socket = self.folder / "socket"
        words = shlex.split(f"{self.command.format(socket=socket, size=size)} {options}")
        with background(*words) as process:
            wait_until(lambda: socket.exists() or process.poll() is not None, "the start of the server")
            if process.poll() is not None:
                raise RuntimeError(f"{shlex.join(words)} ended with {process.returncode}")
            yield f"nbd+unix:///?socket={socket}"
            status = end(process)
            if status != 0:
                raise RuntimeError(f"the server ended with {status}")

    def random_file(self, name: str, size: int) -> Path:
        path = self.folder / name
        path.write_bytes(os.urandom(size))
        return path
