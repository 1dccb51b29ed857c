"""Files that appear whole or not at all."""

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
    """An OSError tells this name of what could not be written, not that of a file on the way there."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        # Errors of pyarrow name no file, and have words of their own.
        words = error.strerror if error.filename else os.strerror(error.errno)
        raise OSError(error.errno, words, str(name)) from None


_UNFINISHED = ".ssdlab-unfinished-"
"""What the names of hidden directories begin with."""
_LOCK = ".ssdlab-lock"
"""A file in each: a directory without it is somebody else's, whatever it is called."""


@contextmanager
def _hidden(parent: Path) -> Iterator[Path]:
    """A new directory in a hidden one that is locked until it is removed; those of processes that were killed are
    removed first.
    """
    for left in parent.glob(f"{_UNFINISHED}*"):
        with suppress(OSError), _locked(left / _LOCK, os.O_RDONLY):
            shutil.rmtree(left, ignore_errors=True)
    while True:
        made = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=parent))
        with ExitStack() as held:
            try:
                held.enter_context(_locked(made / _LOCK, os.O_RDWR | os.O_CREAT))
            except (BlockingIOError, FileNotFoundError):
                # Another process takes it for one that was left.
                continue
            except OSError:
                # Where there are no locks nobody removes it.
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
def _locked(file: Path, access: int) -> Iterator[None]:
    """Nobody else has the file locked, until the process ends at the latest.

    Raises:
        OSError: If somebody has, there is no such file, or there are no locks.
    """
    opened = os.open(file, access | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(opened)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a path beside `path`, with the same name in a hidden directory; moves it to `path` on success.

    Keeping the name keeps what writers derive from it. On an error nothing is left behind. A link keeps
    pointing where it points: the file there is replaced, but never a device or a directory.

    Raises:
        OSError: If that is what `path` names, or its directory cannot be written.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EEXIST, "exists and is no ordinary file", str(path))
    with _hidden(path.parent) as hidden:
        yield hidden / path.name
        (hidden / path.name).replace(path)


@contextmanager
def filling(directory: Path) -> Iterator[Path]:
    """Yields a hidden directory inside `directory`, which is made if need be; moves its files there on success.

    Raises:
        OSError: If `directory` cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with _hidden(directory) as hidden:
        yield hidden
        files = sorted(hidden.iterdir())
        # All or none: what cannot be replaced is found before anything is.
        for file in files:
            if (directory / file.name).is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a directory", str(directory / file.name))
        for file in files:
            file.replace(directory / file.name)


def try_filling(directory: Path) -> None:
    """Fails where `filling` would, and makes nothing: what is missing of `directory` is made in a hidden one.

    Raises:
        OSError: If `directory` cannot be made or written.
    """
    whole = directory.absolute()
    existing = next(path for path in (whole, *whole.parents) if os.path.lexists(path))
    with _hidden(existing) as hidden:
        (hidden / whole.relative_to(existing)).mkdir(parents=True, exist_ok=True)


def refuse_drive(path: Path, named: str) -> None:
    """A trace would take the place of the file, which a server may even be at.

    Raises:
        ConfigError: If a drive is there, of which messages tell as it is `named`.
        OSError: If it cannot be read.
    """
    with naming(path):
        found = drive_file(path)
    if found is not None:
        raise ConfigError(f"{named}: that is a drive; name another file for the trace")


def read_utf8(path: Path, shown: str) -> str:
    """The text of a file, which messages show as `shown`, with lines that end in LF.

    Raises:
        ConfigError: If it is UTF-16, as spreadsheets and shells of Windows write it.
        OSError: If it cannot be read.
        UnicodeDecodeError: If it is something else.
    """
    # Once: it may be a pipe.
    content = path.read_bytes()
    head = content[:64]
    # Text has no zeros, so that few bytes tell; of a trace, which may be records of bytes, the reader asks for more.
    is_wide = len(head) >= 4 and not (any(head[1::2]) and any(head[::2]))
    if is_wide or head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise ConfigError(f"{shown}: is UTF-16 text; convert it with 'iconv -f UTF-16 -t UTF-8'")
    return content.decode().replace("\r\n", "\n").replace("\r", "\n")


def write(path: Path, contents: "str | pa.Table | Sequence[Sequence[object]]") -> None:
    """Writes text as it is, rows as CSV, and a table as CSV or Parquet, by the name of the file."""
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
