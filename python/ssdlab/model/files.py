"""Writes files atomically."""

import codecs
import csv
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path

from ssdlab._ssdlab import ConfigError, drive_file
from ssdlab.lazy import pa, pq


@contextmanager
def naming(name: object) -> Iterator[None]:
    """Makes every OSError that is raised in the context name this file instead of a temporary file."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        # pyarrow's errors lack the file name, and their wording differs from the operating system's.
        words = error.strerror if error.filename else os.strerror(error.errno)
        raise OSError(error.errno, words, str(name)) from None


_UNFINISHED = ".ssdlab-unfinished-"
"""Prefix of hidden directories for unfinished files."""
_LOCK = ".ssdlab-lock"
"""Name of the lock file in each hidden directory; a directory without a lock file was not created by ssdlab."""


@contextmanager
def _hidden(parent: Path) -> Iterator[Path]:
    """Yields a new directory inside a hidden directory, after removing the hidden directories of killed processes. The
    hidden directory stays locked until it is removed.
    """
    for left in parent.glob(f"{_UNFINISHED}*"):
        with suppress(OSError), locked(left / _LOCK, os.O_RDONLY):
            shutil.rmtree(left, ignore_errors=True)
    while True:
        made = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=parent))
        with ExitStack() as held:
            try:
                held.enter_context(locked(made / _LOCK, os.O_RDWR | os.O_CREAT))
            except (BlockingIOError, FileNotFoundError):
                # Another process mistook the new directory for an abandoned one and is removing it.
                continue
            except OSError:
                # The file system does not support locks. Other processes cannot lock this hidden directory either, so
                # they do not remove it.
                pass
            if not made.exists():
                continue
            try:
                (made / "files").mkdir()
                yield made / "files"
            finally:
                shutil.rmtree(made, ignore_errors=True)
            return


@contextmanager
def locked(file: Path, access: int, *, wait: bool = False) -> Iterator[None]:
    """Holds a lock on a file, after waiting for it if `wait` is true; otherwise raises OSError for a locked file. Also
    raises OSError for a missing file or a link, and if the file system does not support locks.
    """
    opened = os.open(file, access | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(opened)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a path with the same name in a hidden directory next to `path`; on success, moves it to `path`.

    Leaves nothing behind on an error. Replaces the target of a link, but never a device or a directory.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EEXIST, "exists and is not a regular file", str(path))
    with _hidden(path.parent) as hidden:
        yield hidden / path.name
        (hidden / path.name).replace(path)


@contextmanager
def filling(directory: Path) -> Iterator[Path]:
    """Yields a hidden directory inside `directory`, created if missing; on success, moves its files there."""
    directory.mkdir(parents=True, exist_ok=True)
    with _hidden(directory) as hidden:
        yield hidden
        files = sorted(hidden.iterdir())
        # Replaces all files or none: checks all files before replacing any.
        for file in files:
            if (directory / file.name).is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a directory", str(directory / file.name))
        for file in files:
            file.replace(directory / file.name)


def try_filling(directory: Path) -> None:
    """Raises the error that `filling` would raise. Creates missing directories only inside a hidden directory."""
    whole = directory.absolute()
    existing = next(path for path in (whole, *whole.parents) if os.path.lexists(path))
    with _hidden(existing) as hidden:
        (hidden / whole.relative_to(existing)).mkdir(parents=True, exist_ok=True)


def refuse_drive(path: Path, named: str) -> None:
    """Rejects a drive file, which a trace must not overwrite. Messages show the file as `named`."""
    with naming(path):
        is_drive = drive_file(path) is not None
    if is_drive:
        raise ConfigError(f"{named}: is a drive file; choose another file for the trace")


def read_utf8(path: Path, shown: str) -> str:
    """Returns the UTF-8 text of a file with LF line ends; messages show the file as `shown`."""
    # The file is read only once, because it may be a pipe.
    content = path.read_bytes()
    head = content[:64]
    # Text has no zero bytes, so the first few bytes show whether the file is text.
    is_wide = len(head) >= 4 and not (any(head[1::2]) and any(head[::2]))
    if is_wide or head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise ConfigError(f"{shown}: is UTF-16 text; convert it with 'iconv -f UTF-16 -t UTF-8'")
    return content.decode().replace("\r\n", "\n").replace("\r", "\n")


def write(path: Path, contents: "str | pa.Table | Sequence[Sequence[object]]") -> None:
    """Writes a file: text unchanged, rows as CSV, and a table as CSV or Parquet, depending on the suffix."""
    if isinstance(contents, str):
        path.write_text(contents, encoding="utf-8")
    elif not isinstance(contents, Sequence):
        if path.suffix == ".parquet":
            pq.write_table(contents, path)
        else:
            import_module("pyarrow.csv").write_csv(contents, path)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(contents)
