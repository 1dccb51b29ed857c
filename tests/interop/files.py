"""Kernel file systems on the server: nbdfuse makes the server a file, and a loop device makes the file a disk."""

import hashlib
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from machine import MIB, Machine, MissingError, background, needs, run, wait_until


@contextmanager
def disk(machine: Machine, uri: str) -> Iterator[str]:
    """A loop device over the server."""
    file = machine.folder / "disk"
    file.touch()
    with background("nbdfuse", file, uri):
        try:
            wait_until(lambda: file.stat().st_size > 0, "the mount of nbdfuse")
            device = run("losetup", "--find", "--show", "--direct-io=on", file).strip()
            try:
                yield device
            finally:
                run("losetup", "--detach", device, seconds=30)
        finally:
            run("umount", file, seconds=30)


@contextmanager
def mounted(device: str, folder: Path) -> Iterator[Path]:
    folder.mkdir(exist_ok=True)
    run("mount", device, folder, seconds=60)
    try:
        yield folder
    finally:
        try:
            run("umount", folder, seconds=60)
        except (RuntimeError, subprocess.TimeoutExpired):
            # No file system may stay mounted when the server ends.
            run("umount", "--lazy", folder, seconds=30)
            raise


def _fill(folder: Path) -> dict[str, str]:
    """Writes files of many sizes; returns their checksums."""
    sums = {}
    for number in range(200):
        data = os.urandom(number * 997)
        path = folder / f"{number % 7}" / f"file-{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        sums[str(path.relative_to(folder))] = hashlib.sha256(data).hexdigest()
        if number % 5 == 4:
            path.unlink()
            del sums[str(path.relative_to(folder))]
    return sums


def answers(socket_path: Path) -> bool:
    """True if a server listens there; a killed server leaves its socket behind."""
    with socket.socket(socket.AF_UNIX) as attempt:
        return attempt.connect_ex(str(socket_path)) == 0


def needs_mounts() -> None:
    """Ends the check if the kernel or the user's rights do not allow a disk."""
    needs("nbdfuse", "losetup")
    if os.geteuid() != 0:
        raise MissingError("mounting needs root")
    if not Path("/dev/fuse").exists() or not Path("/dev/loop-control").exists():
        raise MissingError("this kernel has no FUSE or no loop devices")


def _holds_files(machine: Machine, make: list[str], check: list[str]) -> None:
    needs_mounts()
    needs(make[0], check[0])
    folder = machine.folder / "mounted"
    with machine.server(size=512 * MIB) as uri, disk(machine, uri) as device:
        run(*make, device)
        with mounted(device, folder):
            sums = _fill(folder)
            run("fstrim", folder)
        run(*check, device)
        with mounted(device, folder):
            found = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in sums}
            assert found == sums
        run(*check, device)


def ext4(machine: Machine) -> None:
    _holds_files(machine, ["mkfs.ext4", "-q"], ["e2fsck", "-fn"])


def xfs(machine: Machine) -> None:
    _holds_files(machine, ["mkfs.xfs", "-q"], ["xfs_repair", "-n"])
