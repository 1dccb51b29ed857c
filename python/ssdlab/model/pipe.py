"""Traces from pipes: copied to a file, so that they can be read again."""

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
"""Stands for standard input."""


def name_of(path: Path) -> str:
    """A path, for messages."""
    return "standard input" if path == STDIN else text.path(path)


class Copies:
    """The files to read traces from: a pipe is copied when it is first asked for, and kept as long as this is."""

    def __init__(self) -> None:
        self._copied: dict[Path, IO[bytes]] = {}
        self._lock = threading.Lock()

    def file(self, path: Path) -> Path:
        """Where the bytes of `path` are."""
        if path != STDIN and not path.is_fifo():
            return path
        with self._lock:
            if path not in self._copied:
                self._copied[path] = _copy(path)
            return Path(self._copied[path].name)

    def __reduce__(self) -> tuple[Any, ...]:
        # Whoever is told of the trace elsewhere has to copy for himself.
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
            f"{name_of(path)}: cannot be copied to {text.path(copy.name)}: {os.strerror(error.errno or 0)}; make room "
            "there, or set TMPDIR to a directory that has some"
        ) from None
    return copy
