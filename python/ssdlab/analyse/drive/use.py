"""Who uses a block device: what is mounted, swapped to or held by another device must not be measured.

`/proc` tells only of mounts that this process can see; the kernel itself refuses to open a device exclusively that
anybody uses, mounts in other namespaces included. So both are asked: the former for the reason, the latter for safety.
"""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
SYS = Path("/sys")


def device_number(path: str | os.PathLike[str]) -> str | None:
    """Major and minor number of a block device, such as `8:1`; None for anything else."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}" if stat.S_ISBLK(found.st_mode) else None


def why_in_use(number: str) -> str | None:
    """Why a block device must be left alone; None if nothing that can be seen uses it.

    A disk is in use if one of its partitions is, a partition if its whole disk is.
    """
    for one in _relatives(number):
        name = _folder(one).name
        for source, where in _mounts():
            if source == one:
                return f"{name} is mounted on {where}"
        for path in _swaps():
            if device_number(path) == one:
                return f"{name} is used as swap"
        for holder in _children(_folder(one) / "holders"):
            return f"{name} is held by {holder.name}"
    return None


def why_file_in_use(path: Path) -> str | None:
    """Why an ordinary file must be left alone; None if nothing that can be seen uses it."""
    if any(_same(path, swap) for swap in _swaps()):
        return "it is used as swap"
    for backing in sorted(SYS.glob("block/loop*/loop/backing_file")):
        if _same(path, backing.read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")):
            return f"it is the disk of {backing.parent.parent.name}"
    return None


def claimed(path: Path) -> bool:
    """Whether the kernel refuses to hand over a block device exclusively.

    Raises:
        OSError: If it cannot be opened at all.
    """
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL))
    except OSError as error:
        if error.errno == errno.EBUSY:
            return True
        raise
    return False


def file_system(path: Path) -> str | None:
    """The type of the file system that a file lies in, such as `ext4`."""
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
    """A device, its partitions, and the disk that it is a partition of."""
    folder = _folder(number)
    relatives = [number]
    relatives += [_number(child) for child in _children(folder) if (child / "partition").exists()]
    if (folder / "partition").exists():
        relatives.append(_number(folder.parent))
    return relatives


def _mount_lines() -> Iterator[list[str]]:
    """The fields of each mount; see proc_pid_mountinfo(5)."""
    lines = (PROC / "self" / "mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    for line in lines.splitlines():
        yield line.split(" ")


def _mounts() -> Iterator[tuple[str, str]]:
    """Device numbers and where they are mounted. Some file systems have a number of their own: their source tells."""
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
    """A path without the kernel's octal escapes of blanks and backslashes."""
    for character in "\t\n ":
        field = field.replace(f"\\{ord(character):03o}", character)
    return field.replace("\\134", "\\")


def _same(path: Path, other: str) -> bool:
    return Path(other).exists() and path.samefile(other)
