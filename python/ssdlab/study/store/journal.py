"""An append-only journal of lines, of which each carries its checksum.

Whatever kills the writer, all lines but the last are whole; a last line that is not is cut off when the journal is next
written to, and left out by readers.
"""

import os
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from ssdlab.model.files import naming

SYNC_SECONDS = 1.0
"""A machine that loses its power forgets no more than this."""

CHECKSUM = 8
"""Hexadecimal digits before each line."""


def _line(text: str) -> bytes:
    body = text.encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _text(line: bytes) -> str | None:
    """What a line says; None if it is not whole."""
    body = line[CHECKSUM + 1 : -1]
    return body.decode() if line == b"%08x %s\n" % (zlib.crc32(body), body) else None


def entries(path: Path) -> Iterator[str]:
    """Every whole line of a journal, in order; nothing if there is none."""
    if path.exists():
        with path.open("rb") as file:
            for line in file:
                text = _text(line)
                if text is not None:
                    yield text


class Journal:
    """A journal that is written to, by any number of threads of one process.

    Args:
        path: The file; made if it is not there.

    Raises:
        OSError: If it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        self._end = self._whole()
        os.ftruncate(self._file, self._end)
        self._synced_at = time.monotonic()

    def _whole(self) -> int:
        """Bytes up to the end of the last whole line."""
        end = at = 0
        with self._path.open("rb") as file:
            for line in file:
                at += len(line)
                if _text(line) is not None:
                    end = at
        return end

    def append(self, text: str) -> None:
        """Writes a line. It may hold no line break.

        Raises:
            OSError: If there is no room for it; then the journal is as it was.
        """
        line = _line(text)
        with self._lock, naming(self._path):
            try:
                written = os.write(self._file, line)
                if written < len(line):
                    # A disk that is full takes a part; the rest tells why.
                    os.write(self._file, line[written:])
            except OSError:
                os.ftruncate(self._file, self._end)
                raise
            self._end += len(line)
            if time.monotonic() - self._synced_at >= SYNC_SECONDS:
                os.fsync(self._file)
                self._synced_at = time.monotonic()

    def clear(self) -> None:
        """Takes out all lines: they have been packed."""
        with self._lock:
            os.ftruncate(self._file, 0)
            self._end = 0

    def close(self) -> None:
        """Leaves the journal on the disk."""
        with naming(self._path):
            os.fsync(self._file)
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()
