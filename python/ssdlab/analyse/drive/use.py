"""Checks if a block device is in use: mounted, used as swap, or held by another device.

`/proc` gives the reason, but lists only mounts that this process can see. So this module also tries to open the device
exclusively. The kernel refuses an exclusive open of any device in use, even if the mount is in another namespace.
"""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
SYS = Path("/sys")


def device_number(path: str | os.PathLike[str]) -> str | None:
    """Returns the major and minor number of a block device, such as `8:1`; None for other files."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}" if stat.S_ISBLK(status.st_mode) else None


def why_in_use(number: str) -> str | None:
    """Describes how a block device is used; None if no use is visible.

    A disk is in use if one of its partitions is in use, and a partition is in use if its disk is.
    """
    for related in _relatives(number):
        name = _folder(related).name
        for source, where in _mounts():
            if source == related:
                return f"{name} is mounted on {where}"
        for path in _swaps():
            if device_number(path) == related:
                return f"{name} is used as swap"
        for holder in _children(_folder(related) / "holders"):
            return f"{name} is used by {holder.name}"
    return None


def why_file_in_use(path: Path) -> str | None:
    """Describes how an ordinary file is used; None if no use is visible."""
    if any(_same(path, swap) for swap in _swaps()):
        return "it is used as swap"
    for backing in sorted(SYS.glob("block/loop*/loop/backing_file")):
        if _same(path, backing.read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")):
            return f"it is the backing file of {backing.parent.parent.name}"
    return None


def claimed(path: Path) -> bool:
    """True if the kernel refuses to open a block device exclusively."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL))
    except OSError as error:
        if error.errno == errno.EBUSY:
            return True
        raise
    return False


def file_system(path: Path) -> str | None:
    """Returns the type of a file's file system, such as `ext4`."""
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    return next((fields[fields.index("-") + 1] for fields in _mount_lines() if fields[2] == number), None)


def _folder(number: str) -> Path:
    return (SYS / "dev" / "block" / number).resolve()


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _number(folder: Path) -> str:
    return (folder / "dev").read_text(encoding="ascii").strip()


def _relatives(number: str) -> list[str]:
    """Returns a device and its partitions; for a partition, also its disk."""
    folder = _folder(number)
    relatives = [number]
    relatives += [_number(child) for child in _children(folder) if (child / "partition").exists()]
    if (folder / "partition").exists():
        relatives.append(_number(folder.parent))
    return relatives


def _mount_lines() -> Iterator[list[str]]:
    """Yields the fields of each mount; see proc_pid_mountinfo(5)."""
    lines = (PROC / "self" / "mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    for line in lines.splitlines():
        yield line.split(" ")


def _mounts() -> Iterator[tuple[str, str]]:
    """Yields device number and mount point of each mount, and again for its source if that is a block device."""
    for fields in _mount_lines():
        where = _plain(fields[4])
        yield fields[2], where
        source = device_number(_plain(fields[fields.index("-") + 2]))
        if source is not None:
            yield source, where


def _swaps() -> list[str]:
    swaps = PROC / "swaps"
    if not swaps.exists():
        return []
    lines = swaps.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return [_plain(line.split()[0]) for line in lines[1:]]


def _plain(field: str) -> str:
    """Decodes the kernel's octal escapes of blanks and backslashes in a mount field."""
    for character in "\t\n ":
        field = field.replace(f"\\{ord(character):03o}", character)
    return field.replace("\\134", "\\")


def _same(path: Path, other: str) -> bool:
    return Path(other).exists() and path.samefile(other)
