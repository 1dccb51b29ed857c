"""Checks that a real file or block device may be measured."""

import errno
import mmap
import os
import stat
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from ssdlab import text
from ssdlab.analyse.drive import fio, use
from ssdlab.analyse.drive.errors import CalibrationError

BLOCK_BYTES = 4096
"""Alignment in bytes that every drive accepts for direct I/O."""


@dataclass(frozen=True)
class Target:
    """A file or block device that may be measured."""

    path: Path
    """Path of the target with links resolved."""
    kind: str
    """Type of the target: `file` or `block device`."""
    bytes: int
    direct: bool
    """True if the target can be read with direct I/O."""
    remarks: tuple[str, ...]


def inspect(path: Path, write: bool) -> Target:
    """Checks that a file or device may be measured."""
    name = text.path(path)
    if sys.platform != "linux":
        raise CalibrationError(
            f"{name}: only on Linux can ssdlab check that a drive is unused; measure on Linux, or simulate a drive"
        )
    try:
        path = path.resolve(strict=True)
    except FileNotFoundError:
        raise CalibrationError(f"{name} does not exist; use an existing file or block device") from None
    mode = path.stat().st_mode
    if stat.S_ISBLK(mode):
        kind, why = "block device", use.why_in_use(use.device_number(path) or "")
        if why is None and use.claimed(path):
            why = "the kernel refuses exclusive access"
        remedy = "unmount or release it, or use another device"
    elif stat.S_ISREG(mode):
        kind, why = "file", use.why_file_in_use(path)
        remedy = "use another file"
    else:
        what = "a directory" if stat.S_ISDIR(mode) else "neither a file nor a block device"
        raise CalibrationError(f"{name} is {what}; use a file or block device")
    if why is not None:
        raise CalibrationError(f"{name} is in use: {why}; {remedy}")
    with path.open("r+b" if write else "rb", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
    if size == 0:
        raise CalibrationError(f"{name} is empty; use a file with at least 1 GiB of data, or a block device")
    direct = _direct(path)
    remarks = []
    if not direct:
        remarks.append(f"{name} does not allow direct I/O: results include the page cache")
    if kind == "file":
        if path.stat().st_blocks * 512 < size:
            remarks.append(f"{name} has holes, and reads of holes do not reach the drive")
        system = use.file_system(path)
        if system in ("tmpfs", "ramfs"):
            remarks.append(f"{name} is in memory ({system}), so this measures memory instead of a drive")
    return Target(path, kind, size, direct, tuple(remarks))


def _direct(path: Path) -> bool:
    """True if the file can be opened for direct I/O."""
    with mmap.mmap(-1, BLOCK_BYTES) as buffer:
        try:
            opened = os.open(path, os.O_RDONLY | os.O_DIRECT)
            try:
                os.preadv(opened, [buffer], 0)
            finally:
                os.close(opened)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):
                return False
            raise
    return True


def engine_of(found: fio.Fio, probe: fio.Job) -> str:
    """Returns the first fio engine that works with the job."""
    # Leaves out libaio for buffered I/O, because it would be synchronous.
    *engines, last = (engine for engine in fio.ENGINES if probe.direct or engine != "libaio")
    for engine in engines:
        try:
            fio.run(found, replace(probe, engine=engine), lambda: False)
        except CalibrationError:
            continue
        return engine
    fio.run(found, replace(probe, engine=last), lambda: False)
    return last
