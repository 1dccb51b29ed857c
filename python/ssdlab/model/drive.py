"""A drive that stores bytes: any FTL on flash in memory or in a file, with simulated power losses and flash faults."""

import errno
import os
import re
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self, SupportsIndex

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import TYPE_CHECKING
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, config_of, layered, rebuilt
from ssdlab.model.unused import unused_when_served

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class Faults:
    """Fault rates of a drive's flash, each as the mean number of operations per fault; 0 means no faults."""

    programs: int = 0
    """Mean number of programs per reported program failure."""
    erases: int = 0
    """Mean number of erases per reported erase failure."""
    reads: int = 0
    """Mean number of page reads per page that becomes unreadable."""
    flips: int = 0
    """Mean number of page programs per program that leaves a flipped bit."""
    factory: int = 0
    """Number of blocks per factory-bad block."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, SupportsIndex) or not 0 <= value.__index__() < 1 << 64:
                raise ConfigError(f"{name}={value!r}: must be a whole number from 0 to 2^64 - 1")


class Operations(NamedTuple):
    """Numbers of flash operations by cause."""

    reads: dict[str, int]
    programs: dict[str, int]
    erases: dict[str, int]


@dataclass(frozen=True)
class MountReport:
    """Report on how a drive was mounted."""

    full_scan: bool
    """True if the log was lost and all spare areas were read; trimmed pages may then contain old data again."""
    clean: bool
    """True if the drive had been shut down cleanly."""
    log_bytes_read: int
    """Bytes read from checkpoint and journal during the mount."""
    blocks_scanned: int
    """Number of blocks whose spare areas were read."""
    spares_read: int
    pages_verified: int
    """Number of pages read to compare their checksums."""
    operations: Operations
    time_ns: int | None
    """Simulated time that the mount took, in nanoseconds; None without a clock."""


STORING_DATA = "small-tlc"
"""Default preset of drives that store data. Every FTL can run on this preset and map whole flash pages, and a drive can
be as small as a few MiB. The default drive of simulations needs at least 256 MiB for its superblocks, and completes
half as many small writes per second.
"""
WITH_RESERVE = ("default", 'device.reserve = "extra"\n')
"""Default settings of drives that store data: the FTL's reserve is added, so small drives have enough blocks."""

OF_DEFAULT_DRIVE = "default (preset "
"""Prefix of the origins of settings that come from the default drive."""


def config_of_drive(config: Config | Overrides | None, path: Path | None) -> Config:
    """Returns the given configuration of a drive; if it is None, the configuration of the drive in the file."""
    if path is not None and path.is_symlink() and not path.exists():
        why = f"is a link to {text.path(path.readlink())}, which does not exist; fix the link, or pass another path"
        raise OSError(errno.ENOENT, why, os.fspath(path))
    if config is not None or path is None or not path.exists():
        config = config_of(config)
        if any(setting.origin.startswith(OF_DEFAULT_DRIVE) for setting in config.settings):
            return rebuilt(STORING_DATA, [WITH_RESERVE, *config._files], config._sets)
        return config
    settings = _ssdlab.drive_settings(path)
    return layered(None, [], [[(os.fspath(path), f"{key}={value}") for key, value in settings]])


def _spared(config: Config, path: Path | None) -> Config:
    """Returns the configuration, changed if necessary to keep spare blocks for replacing bad blocks: if the log would
    use all spare blocks, it gets only half of them. An existing drive keeps its number of log blocks.
    """
    is_there = path is not None and path.exists()
    try:
        spared = config._inner.spared()
    except ConfigError:
        if is_there:
            return config
        raise
    if spared is None:
        return config
    key, value = spared
    there = dict(_ssdlab.drive_settings(path)) if path is not None and is_there else {}
    return config.with_overrides({key: there.get(key, value)})


def _bytes_of(data: object) -> memoryview:
    """Returns a view of a buffer's bytes; raises TypeError if it holds objects, or is not a contiguous buffer."""
    # Type checkers recognize arrays as buffers only from Python 3.12 on.
    view = memoryview(data)  # type: ignore[arg-type]
    # In a buffer's format, `O` stands for Python objects, except in field names, which are enclosed in colons. Field
    # names are therefore removed first.
    if "O" in re.sub(":[^:]*:", "", view.format):
        raise TypeError("an array of Python objects has no bytes to write; use a numeric type")
    if not view.c_contiguous:
        raise TypeError("the buffer is not contiguous; copy it with numpy.ascontiguousarray")
    return view.cast("B") if view.nbytes else memoryview(b"")


class Drive:
    """A drive that stores bytes and survives power loss.

    Data written before a `flush`, or with `fua`, survives every power loss (`cut_power`). A page written after the last
    flush survives completely or not at all. Without a write buffer (`drive.buffer`) every write is durable. See
    `docs/device.md`.

    Without a configuration, an existing drive keeps its own configuration. If the log would use all spare blocks
    (`ftl.fast.log = "all"`) and `faults` make blocks bad, the log uses only half of the spare blocks. The other half
    replaces bad blocks; `config` shows the change.

    A `UserWarning` names settings that have no effect, such as a write buffer without a clock.

    As a context manager, the drive is shut down cleanly at the end, unless an exception is raised.

    >>> with Drive({"device.capacity": "64MiB"}) as drive:
    ...     drive.write(4096, b"hello")
    ...     drive.cut_power()
    ...     report = drive.mount()
    ...     drive.read(4096, 5)
    b'hello'

    Raises:
        ConfigError: If the configuration is invalid, or differs from the drive in the file.
        OSError: If the file cannot be opened or is in use. Methods raise it with these values of `errno`: EINVAL for
            addresses beyond the drive, EIO for lost data, EROFS for a drive that is worn out or has too many bad
            blocks, ENODEV without power, EBADF for a closed drive.
    """

    @takes(path="drive.ssd", faults=Faults(programs=1000))
    def __init__(
        self,
        config: Config | Overrides | None = None,
        path: str | os.PathLike[str] | None = None,
        faults: Faults | None = None,
    ) -> None:
        where = None if path is None else Path(path)
        faults = Faults() if faults is None else faults
        self.config = config_of_drive(config, where)
        if faults.programs or faults.erases or faults.factory:
            self.config = _spared(self.config, where)
        if config is not None:
            for idle in unused_when_served(self.config):
                warnings.warn(idle, stacklevel=3)
        self._path = path
        plan = list(asdict(faults).items())
        self._opened: _ssdlab.FlashDrive | None = _ssdlab.FlashDrive(self.config._inner, where, plan)

    @property
    def _drive(self) -> _ssdlab.FlashDrive:
        if self._opened is None:
            raise OSError(errno.EBADF, "the drive is closed; open it again")
        return self._opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        self._opened = None

    def close(self) -> None:
        """Shuts down the drive, unless it is off, and closes its file.

        The contents of a drive in memory are lost. Other methods of a closed drive fail.
        """
        try:
            if self._opened is not None and self._opened.is_on:
                self._opened.shut_down()
        finally:
            self._opened = None

    @property
    def capacity_bytes(self) -> int:
        """Logical capacity of the drive in bytes."""
        return self._drive.capacity_bytes

    @property
    def page_bytes(self) -> int:
        """Page size in bytes. Page writes are atomic."""
        return self._drive.page_bytes

    @property
    def is_on(self) -> bool:
        """True if the drive has power and is mounted."""
        return self._drive.is_on

    @property
    def is_read_only(self) -> bool:
        """True if the drive is read-only because too many blocks have failed."""
        return self._drive.is_read_only

    @property
    def mounted(self) -> MountReport | None:
        """Report of the latest mount, also of the automatic mount of an existing drive; None for a new drive."""
        report = self._drive.mounted()
        return None if report is None else MountReport(**{**report, "operations": Operations(**report["operations"])})

    def __repr__(self) -> str:
        where = "in memory" if self._path is None else f"in {text.path(self._path)}"
        if self._opened is None:
            return f"<ssdlab.Drive {where}: closed>"
        state = "read-only" if self.is_read_only else "on" if self.is_on else "off"
        return f"<ssdlab.Drive of {text.size(self.capacity_bytes)} {where}, ftl {self.config['ftl']}: {state}>"

    def _check_range(self, offset: int, size: int) -> None:
        """Raises EINVAL for a range that is not inside the drive."""
        if min(offset, size) < 0 or max(offset, size) > self.capacity_bytes:
            raise OSError(
                errno.EINVAL,
                f"range of {size} bytes at offset {offset} exceeds the drive's capacity of {self.capacity_bytes} bytes",
            )

    def read(self, offset: int, size: int) -> bytes:
        """Reads `size` bytes from `offset`; bytes that were never written are zero."""
        self._check_range(offset, size)
        return self._drive.read(offset, size)

    def write(
        self, offset: int, data: "bytes | bytearray | memoryview | npt.NDArray[Any]", *, fua: bool = False
    ) -> None:
        """Writes bytes; with `fua` they are durable on return."""
        written = _bytes_of(data)
        self._check_range(offset, len(written))
        self._drive.write(offset, written, fua)

    def trim(self, offset: int, size: int, *, fua: bool = False) -> None:
        """Trims the pages that lie completely inside the range; these pages then read as zeros."""
        self._check_range(offset, size)
        self._drive.trim(offset, size, fua)

    def write_zeroes(self, offset: int, size: int, *, fua: bool = False) -> None:
        """Sets bytes to zero; trims whole pages."""
        self._check_range(offset, size)
        self._drive.write_zeroes(offset, size, fua)

    def flush(self) -> None:
        """Makes all earlier writes durable."""
        self._drive.flush()

    def shut_down(self) -> None:
        """Flushes, writes a checkpoint and switches the power off."""
        self._drive.shut_down()

    def cut_power(self, after: int | None = None, *, torn: bool = True) -> None:
        """Cuts the power, either at once or after a number of programs, erases and log writes.

        Args:
            after: Number of operations that still complete. The request during which the power fails raises `OSError`
                (ENODEV).
            torn: True if the next operation may be interrupted in the middle.
        """
        if after is not None and not 0 <= after < 1 << 64:
            raise OSError(errno.EINVAL, f"after={after}: must be from 0 to 2^64 - 1")
        self._drive.cut_power(after, torn)

    def mount(self) -> MountReport:
        """Switches the power on and recovers the data on flash; cancels a planned power cut.

        If the drive is on, it loses power first; data in its write buffer is lost unless the buffer is protected.
        """
        self._drive.mount()
        report = self.mounted
        assert report is not None
        return report

    @property
    def operations(self) -> Operations:
        """Flash operations since the drive was created or opened."""
        return Operations(**self._drive.counters())

    @property
    def health(self) -> dict[str, int]:
        """Entries of the health log by name, such as `available_spare` and its threshold, `percentage_used`,
        `bytes_written`, `media_errors`, `power_cycles`, `unsafe_shutdowns`, and numbers of erases and bad blocks (see
        `docs/device.md`).
        """
        return self._drive.health()

    @property
    def erase_counts(self) -> "npt.NDArray[np.uint32]":
        """Erase count of every block of the drive."""
        return self._drive.erase_counts()

    @property
    def buffered_pages(self) -> int:
        """Number of pages in the drive's write buffer."""
        return self._drive.buffered_pages()

    def allocation(self, offset: int = 0, size: int | None = None) -> list[tuple[int, int, bool]]:
        """Splits a byte range into written and unwritten runs; each run is a tuple (offset, bytes, True if written)."""
        length = max(self.capacity_bytes - offset, 0) if size is None else size
        self._check_range(offset, length)
        return self._drive.allocation(offset, length)

    def holds(self, offset: int, data: "bytes | bytearray | memoryview | npt.NDArray[Any]") -> bool:
        """True if the bytes from `offset` equal `data`."""
        expected = _bytes_of(data)
        self._check_range(offset, len(expected))
        step = 1 << 20
        parts = (expected[at : at + step] for at in range(0, len(expected), step))
        return all(self.read(offset + number * step, len(part)) == part for number, part in enumerate(parts))
