"""An append-only journal of lines with checksums.

After a crash, at most the last line is incomplete. Readers skip it, and the next writer removes it.
"""

import os
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from ssdlab.model.files import naming

SYNC_SECONDS = 1.0
"""Maximum time between flushes to disk, in seconds. A power loss loses at most the lines written in this time."""

CHECKSUM = 8
"""Number of hexadecimal digits of the checksum before each line."""


def _line(body: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _text(line: bytes) -> str | None:
    """Returns the text of a journal line; None if the line is incomplete."""
    body = line[CHECKSUM + 1 : -1]
    return body.decode() if line == _line(body) else None


def entries(path: Path) -> Iterator[str]:
    """Yields every complete line of a journal in order; yields nothing if the file is missing."""
    if path.exists():
        with path.open("rb") as file:
            for line in file:
                text = _text(line)
                if text is not None:
                    yield text


class Journal:
    """Journal writer shared by all threads of a process; creates the file if it is missing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        self._end = self._whole()
        os.ftruncate(self._file, self._end)
        self._synced_at = time.monotonic()

    def _whole(self) -> int:
        """Returns the number of bytes up to the end of the last complete line."""
        end = at = 0
        with self._path.open("rb") as file:
            for line in file:
                at += len(line)
                if _text(line) is not None:
                    end = at
        return end

    def append(self, text: str) -> None:
        """Appends a line, which must not contain line breaks. On OSError the journal is unchanged."""
        line = _line(text.encode())
        with self._lock, naming(self._path):
            try:
                written = os.write(self._file, line)
                if written < len(line):
                    # A full disk may accept only part of a line. The attempt to write the rest then raises an error
                    # that states the reason.
                    os.write(self._file, line[written:])
            except OSError:
                os.ftruncate(self._file, self._end)
                raise
            self._end += len(line)
            if time.monotonic() - self._synced_at >= SYNC_SECONDS:
                os.fsync(self._file)
                self._synced_at = time.monotonic()

    def clear(self) -> None:
        """Empties the journal, after its runs have been moved to the Parquet files."""
        with self._lock:
            os.ftruncate(self._file, 0)
            self._end = 0

    def close(self) -> None:
        """Flushes the journal to disk."""
        with naming(self._path):
            os.fsync(self._file)
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
