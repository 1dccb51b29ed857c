"""Copies traces from pipes to files, so that they can be read again."""

import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

from ssdlab import text
from ssdlab._ssdlab import TraceError

STDIN = Path("-")
"""Path that means standard input."""


def name_of(path: Path) -> str:
    """Formats a path for display in messages."""
    return "standard input" if path == STDIN else text.path(path)


class Copies:
    """Copies of pipes, made on first use and removed together with this object."""

    def __init__(self) -> None:
        self._copied: dict[Path, IO[bytes]] = {}
        self._lock = threading.Lock()

    def file(self, path: Path) -> Path:
        """Returns `path`, or the path of a copy of its contents if it is a pipe."""
        if path != STDIN and not path.is_fifo():
            return path
        with self._lock:
            if path not in self._copied:
                self._copied[path] = _copy(path)
            return Path(self._copied[path].name)

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickling leaves out the copies, so each process makes its own copies.
        return type(self), ()


def _copy(path: Path) -> IO[bytes]:
    if path == STDIN and sys.stdin.isatty():
        raise TraceError(
            "standard input: is a terminal; pipe a trace into it, as in 'zstdcat x.csv.zst | ssdlab run -'"
        )
    copy = tempfile.NamedTemporaryFile(prefix="ssdlab-")  # noqa: SIM115 (removed with this object)
    try:
        with sys.stdin.buffer if path == STDIN else path.open("rb") as source:
            shutil.copyfileobj(source, copy, 1 << 20)
        copy.flush()
    except OSError as error:
        raise TraceError(
            f"{name_of(path)}: cannot be copied to {text.path(copy.name)}: {os.strerror(error.errno or 0)}; free space "
            "there, or set TMPDIR to another directory"
        ) from None
    return copy
