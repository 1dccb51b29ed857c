"""Files that appear whole or not at all."""

import csv
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from ssdlab.lazy import pa, pq


@contextmanager
def naming(name: object) -> Iterator[None]:
    """An OSError tells this name of what could not be written, not that of a file on the way there."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror or os.strerror(error.errno), str(name)) from None


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
    hidden = Path(tempfile.mkdtemp(prefix=".ssdlab-", dir=path.parent))
    try:
        yield hidden / path.name
        (hidden / path.name).replace(path)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


@contextmanager
def filling(directory: Path) -> Iterator[Path]:
    """Yields a hidden directory inside `directory`, which is made if need be; moves its files there on success.

    Raises:
        OSError: If `directory` cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    hidden = Path(tempfile.mkdtemp(prefix=".ssdlab-", dir=directory))
    try:
        yield hidden
        files = sorted(hidden.iterdir())
        # All or none: what cannot be replaced is found before anything is.
        for file in files:
            if (directory / file.name).is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a directory", str(directory / file.name))
        for file in files:
            file.replace(directory / file.name)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


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
