"""A drive that holds bytes: any FTL over flash in memory or in a file, with loss of power and faults at will."""

import errno
import os
import re
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, SupportsIndex

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import TYPE_CHECKING
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, config_of, layered
from ssdlab.model.unused import unused_when_served

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class Faults:
    """Which faults the flash of a drive has, each once in so many operations; 0 is never."""

    programs: int = 0
    """Programs for each that the chip reports as failed."""
    erases: int = 0
    """Erases for each that the chip reports as failed."""
    reads: int = 0
    """Reads for each page that cannot be read any more."""
    flips: int = 0
    """Programs for each page of which a bit flips."""
    factory: int = 0
    """Blocks for each that is bad from the factory."""
    seed: int = 0
    """Seed of all of it."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, SupportsIndex) or not 0 <= value.__index__() < 1 << 64:
                raise ConfigError(
                    f"{name}={value!r}: operations are counted in whole numbers from 0 and below 2^64; give one"
                )


class Operations(NamedTuple):
    """Flash operations by cause."""

    reads: dict[str, int]
    """Pages read."""
    programs: dict[str, int]
    """Pages programmed."""
    erases: dict[str, int]
    """Blocks erased."""


@dataclass(frozen=True)
class MountReport:
    """What a mount did."""

    full_scan: bool
    """Whether the log was lost, so that all spare areas were read; pages trimmed may be back."""
    clean: bool
    """Whether the drive had been shut down in good order."""
    log_bytes_read: int
    """Bytes of checkpoint and journal read."""
    blocks_scanned: int
    """Blocks whose spare areas were read."""
    spares_read: int
    """Spare areas read."""
    pages_verified: int
    """Pages read to compare their checksums."""
    operations: Operations
    """Operations of the FTL, by cause."""
    time_ns: int | None
    """Simulated time; None where the configuration has no clock."""


def config_of_drive(config: Config | Overrides | None, path: Path | None) -> Config:
    """The configuration of a drive; where none is given and the file at `path` holds a drive, the one it was made with.

    Raises:
        ConfigError: If the configuration is wrong.
        OSError: If the file holds no drive, or `path` is a link to none.
    """
    if path is not None and path.is_symlink() and not path.exists():
        why = f"is a link to {text.path(path.readlink())}, which is not there; mend the link, or name the file itself"
        raise OSError(errno.ENOENT, why, os.fspath(path))
    if config is not None or path is None or not path.exists():
        return config_of(config)
    settings = _ssdlab.drive_settings(path)
    return layered(None, [], [[(os.fspath(path), f"{key}={value}") for key, value in settings]])


def _spared(config: Config, path: Path | None) -> Config:
    """The configuration with blocks to take the place of those that fail, unless the drive is there without them.

    Raises:
        ConfigError: If a new drive has too few blocks for that.
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
    """The bytes of a buffer.

    Raises:
        TypeError: If it is none, holds objects, or lies in pieces.
    """
    # Arrays are buffers too, which their stubs know from Python 3.12 on.
    view = memoryview(data)  # type: ignore[arg-type]
    # Names of fields stand between colons.
    if "O" in re.sub(":[^:]*:", "", view.format):
        raise TypeError("an array of Python objects has no bytes to write; give it a type of numbers")
    if not view.c_contiguous:
        raise TypeError("the buffer does not lie in one piece; copy it first, as numpy.ascontiguousarray does")
    return view.cast("B") if view.nbytes else memoryview(b"")


class Drive:
    """A drive that holds bytes and survives a loss of power.

    What was written before a `flush`, or with `fua`, is there after any `cut_power`; of what came later each page is
    there or not, whole. Without a write buffer (`drive.buffer`) every write is safe. See `docs/device.md`.

    Without a configuration the drive in a file is as it was made. With `faults` that make blocks bad, a log of all
    blocks beyond the data (`ftl.fast.log = "all"`) takes half of them, and the others replace the bad ones; `config`
    says so.

    A `UserWarning` names given settings that nothing uses, such as a write buffer without a clock.

    As a context manager it is closed at the end: shut down in good order, unless an exception passes.

    >>> with Drive({"device.capacity": "64MiB"}) as drive:
    ...     drive.write(4096, b"hello")
    ...     drive.cut_power()
    ...     report = drive.mount()
    ...     drive.read(4096, 5)
    b'hello'

    Raises:
        ConfigError: If the configuration is wrong, or the file holds a drive of another.
        OSError: If the file cannot be opened or is in use, and from every method: `errno` is EINVAL beyond the drive,
            EIO for data that is lost, EROFS for a drive that is worn out (or too bad to be made), ENODEV without power,
            EBADF for one that is closed.
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
            raise OSError(errno.EBADF, "the drive is closed; open it anew")
        return self._opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self.close()
        self._opened = None

    def close(self) -> None:
        """Shuts it down, unless it is off, and lets go of its file, which another may open then.

        A drive in memory is gone. Whatever a closed one is asked for fails, but to be closed again.
        """
        try:
            if self._opened is not None and self._opened.is_on:
                self._opened.shut_down()
        finally:
            self._opened = None

    @property
    def capacity_bytes(self) -> int:
        """Bytes that the host sees."""
        return self._drive.capacity_bytes

    @property
    def page_bytes(self) -> int:
        """Bytes of a page, the atomic unit."""
        return self._drive.page_bytes

    @property
    def is_on(self) -> bool:
        """Whether it has power and is mounted."""
        return self._drive.is_on

    @property
    def is_read_only(self) -> bool:
        """Whether so many blocks have failed that it can only be read."""
        return self._drive.is_read_only

    @property
    def mounted(self) -> MountReport | None:
        """What the latest mount did, be it that of the file that was opened; None if the drive was made anew."""
        report = self._drive.mounted()
        return None if report is None else MountReport(**{**report, "operations": Operations(**report["operations"])})

    def __repr__(self) -> str:
        where = "in memory" if self._path is None else f"in {text.path(self._path)}"
        if self._opened is None:
            return f"<ssdlab.Drive {where}: closed>"
        state = "read-only" if self.is_read_only else "on" if self.is_on else "off"
        return f"<ssdlab.Drive of {text.size(self.capacity_bytes)} {where}, ftl {self.config['ftl']}: {state}>"

    def _check_range(self, offset: int, size: int) -> None:
        """Fails as the drive does where a number is none of its bytes, which begin at 0."""
        if min(offset, size) < 0 or max(offset, size) > self.capacity_bytes:
            raise OSError(
                errno.EINVAL,
                f"{size} bytes from {offset} on are asked for, and the drive has {self.capacity_bytes}, from 0 on",
            )

    def read(self, offset: int, size: int) -> bytes:
        """Bytes from `offset`; zeros where nothing was written."""
        self._check_range(offset, size)
        return self._drive.read(offset, size)

    def write(
        self, offset: int, data: "bytes | bytearray | memoryview | npt.NDArray[Any]", *, fua: bool = False
    ) -> None:
        """Writes bytes; with `fua` they are safe when this returns."""
        written = _bytes_of(data)
        self._check_range(offset, len(written))
        self._drive.write(offset, written, fua)

    def trim(self, offset: int, size: int, *, fua: bool = False) -> None:
        """Forgets the pages that lie wholly inside: they read as zeros."""
        self._check_range(offset, size)
        self._drive.trim(offset, size, fua)

    def write_zeroes(self, offset: int, size: int, *, fua: bool = False) -> None:
        """Makes bytes zero, whole pages by a trim."""
        self._check_range(offset, size)
        self._drive.write_zeroes(offset, size, fua)

    def flush(self) -> None:
        """Makes everything written before safe."""
        self._drive.flush()

    def shut_down(self) -> None:
        """Makes everything safe, writes a checkpoint and switches the power off."""
        self._drive.shut_down()

    def cut_power(self, after: int | None = None, *, torn: bool = True) -> None:
        """Switches the power off: at once, or after so many programs, erases and writes to the log.

        Args:
            after: Operations still done; the request during which the power goes off raises `OSError` (ENODEV).
            torn: Whether the operation after these may be interrupted in the middle.
        """
        if after is not None and not 0 <= after < 1 << 64:
            raise OSError(errno.EINVAL, f"after={after}: operations are counted from 0 and below 2^64")
        self._drive.cut_power(after, torn)

    def mount(self) -> MountReport:
        """Switches the power on and recovers what is on the flash; a cut that was planned is not any more.

        A drive that is on loses its power first: what its write buffer had not programmed is lost, unless that is
        protected.
        """
        self._drive.mount()
        report = self.mounted
        assert report is not None
        return report

    @property
    def operations(self) -> Operations:
        """Flash operations since the drive was made or opened."""
        return Operations(**self._drive.counters())

    @property
    def health(self) -> dict[str, int]:
        """What a health log says, by name: `available_spare` and its threshold, `percentage_used`, `bytes_written`,
        `media_errors`, `power_cycles`, `unsafe_shutdowns`, erases, bad blocks and the like (`docs/device.md`).
        """
        return self._drive.health()

    @property
    def erase_counts(self) -> "npt.NDArray[np.uint32]":
        """Erases of every block."""
        return self._drive.erase_counts()

    @property
    def buffered_pages(self) -> int:
        """Pages that wait in the write buffer."""
        return self._drive.buffered_pages()

    def allocation(self, offset: int = 0, size: int | None = None) -> list[tuple[int, int, bool]]:
        """Runs of bytes as (offset, bytes, whether written)."""
        length = max(self.capacity_bytes - offset, 0) if size is None else size
        self._check_range(offset, length)
        return self._drive.allocation(offset, length)

    def holds(self, offset: int, data: "bytes | bytearray | memoryview | npt.NDArray[Any]") -> bool:
        """Whether the bytes from `offset` are these."""
        expected = _bytes_of(data)
        self._check_range(offset, len(expected))
        step = 1 << 20
        parts = (expected[at : at + step] for at in range(0, len(expected), step))
        return all(self.read(offset + number * step, len(part)) == part for number, part in enumerate(parts))
