"""A study in remote storage such as `s3://bucket/op`, whose files are copies of the files in a local folder.

Remote storage can neither append to a file nor lock it. So a study is written to a local folder, which starts as a copy
of the remote study. The files of the folder are copied back every minute and at the end. If the client is killed, at
most the results of the last minute are lost. A writer puts its name into the remote file `writer`, and stops if it
later finds another name there.
"""

import os
import shutil
import socket
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import fsspec
from ssdlab.model.requests import Monitor
from ssdlab.study.store.folder import JOURNAL, PLAN, RESULTS, RUNS

COPY_SECONDS = 60.0
"""Interval in seconds at which a study in progress is copied to the remote storage."""

WRITER = "writer"
"""Remote file that contains the name of the last writer."""

LOCAL = "file://"


def place(written: str) -> Path | str:
    """Returns the folder of a study as a path, or its address in remote storage as text."""
    if written.startswith(LOCAL):
        return Path(written.removeprefix(LOCAL))
    return written.rstrip("/") if "://" in written else Path(written)


@contextmanager
def reading(where: Path | str) -> Iterator[Path]:
    """Yields the folder of a study, or a temporary copy of a remote study."""
    if isinstance(where, Path):
        yield where
        return
    with tempfile.TemporaryDirectory(prefix="ssdlab-study-") as made:
        Shared(where, Path(made)).fetch()
        yield Path(made)


@contextmanager
def writing(address: str) -> "Iterator[Shared]":
    """Yields a remote study for writing; removes its local folder after all files have been copied."""
    folder = Path(tempfile.mkdtemp(prefix="ssdlab-study-"))
    try:
        shared = Shared(address, folder)
        shared.fetch()
        shared.claim()
    except BaseException:
        shutil.rmtree(folder)
        raise
    try:
        yield shared
    finally:
        shared.publish()
        shutil.rmtree(folder)


class Shared:
    """A remote study at an address that fsspec supports, and its local folder."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address, self.folder = address, folder
        self._writer = f"process {os.getpid()} on {socket.gethostname()} {uuid.uuid4().hex}"
        self._copied: dict[str, tuple[int, int]] = {}
        self._copied_at = time.monotonic()
        with self._storage():
            self._files, self._root = fsspec.core.url_to_fs(address)

    def fetch(self) -> None:
        """Copies the files of the remote storage to the local folder."""
        # Copies the journal first. In this order, runs that another process moves from the journal to the Parquet files
        # in the meantime are copied twice rather than missed.
        with self._storage():
            for name in (PLAN, JOURNAL, RESULTS):
                if self._files.exists(f"{self._root}/{name}"):
                    self._files.get_file(f"{self._root}/{name}", str(self.folder / name))

    def claim(self) -> None:
        """Registers this process as the writer of the remote study."""
        with self._storage():
            self._files.makedirs(self._root, exist_ok=True)
            self._files.pipe_file(f"{self._root}/{WRITER}", self._writer.encode())

    def publish(self) -> None:
        """Copies changed files of the local folder to the remote storage."""
        finished = f"finished runs are in {text.path(self.folder)}"
        with self._storage(f"; {finished}"):
            holder = self._files.cat_file(f"{self._root}/{WRITER}").decode(errors="replace")
            if holder != self._writer:
                raise ConfigError(
                    f"{text.path(self.address)}: {holder.rpartition(' ')[0]} has started writing there; repeat the "
                    f"command after that process has ended; {finished}"
                )
            # Copies the journal last, because the journal is emptied once the results contain its lines.
            for name in (PLAN, RESULTS, RUNS, JOURNAL):
                path = self.folder / name
                state = (path.stat().st_size, path.stat().st_mtime_ns) if path.exists() else None
                if state is not None and self._copied.get(name) != state:
                    self._files.put_file(str(path), f"{self._root}/{name}")
                    self._copied[name] = state

    def watched(self, monitor: Monitor | None) -> Monitor:
        """Returns a monitor that also copies files to the remote storage at intervals."""

        def watch(phase: str, done: int, total: int | None, requests: int) -> bool:
            if time.monotonic() - self._copied_at >= COPY_SECONDS:
                self.publish()
                self._copied_at = time.monotonic()
            return monitor is not None and bool(monitor(phase, done, total, requests))

        return watch

    @contextmanager
    def _storage(self, more: str = "") -> Iterator[None]:
        """Converts errors of any storage library to ConfigError."""
        try:
            yield
        except ConfigError:
            raise
        except Exception as error:
            raise ConfigError(
                f"{text.path(self.address)}: {type(error).__name__}: {error}; check the address and your "
                f"permissions{more}"
            ) from None
