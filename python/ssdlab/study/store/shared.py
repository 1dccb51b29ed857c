"""A study in storage that is not mounted, such as `s3://bucket/op`: copies of the files of its folder.

Such storage neither appends to a file nor locks one. So a study is written in a folder of this machine, which begins
with what the storage holds, and its files are copied every minute and at the end, each whole. A client that is killed
loses what the last minute finished. Who begins to write puts its name into `writer`; one that finds another name there
stops, and what it finished stays in its own folder.
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
"""Between two copies of a study that is being written."""

WRITER = "writer"
"""The file that tells who wrote last."""

LOCAL = "file://"


def place(written: str) -> Path | str:
    """Where a study is: a folder, or the address of one in storage that is not mounted."""
    if written.startswith(LOCAL):
        return Path(written.removeprefix(LOCAL))
    return written.rstrip("/") if "://" in written else Path(written)


@contextmanager
def reading(where: Path | str) -> Iterator[Path]:
    """A folder with the study that is there: the folder itself, or a copy.

    Raises:
        ConfigError: If the storage cannot be read.
    """
    if isinstance(where, Path):
        yield where
        return
    with tempfile.TemporaryDirectory(prefix="ssdlab-study-") as made:
        Shared(where, Path(made)).fetch()
        yield Path(made)


@contextmanager
def writing(address: str) -> "Iterator[Shared]":
    """A study to be written; its folder is removed once all of it is in the storage.

    Raises:
        ConfigError: If the storage cannot be read or written, or somebody else began to write the study.
    """
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
    """A study in storage, and its folder here.

    Args:
        address: An address that fsspec understands.
        folder: The folder here.

    Raises:
        ConfigError: If there is no such storage.
    """

    def __init__(self, address: str, folder: Path) -> None:
        self.address, self.folder = address, folder
        self._writer = f"process {os.getpid()} on {socket.gethostname()} {uuid.uuid4().hex}"
        self._copied: dict[str, tuple[int, int]] = {}
        self._copied_at = time.monotonic()
        with self._storage():
            self._files, self._root = fsspec.core.url_to_fs(address)

    def fetch(self) -> None:
        """Copies what the storage holds to the folder here.

        Raises:
            ConfigError: If it cannot be read.
        """
        # The journal first, as readers of a folder do: what is packed meanwhile is then in both rather than in neither.
        with self._storage():
            for name in (PLAN, JOURNAL, RESULTS):
                if self._files.exists(f"{self._root}/{name}"):
                    self._files.get_file(f"{self._root}/{name}", str(self.folder / name))

    def claim(self) -> None:
        """Says who writes from now on.

        Raises:
            ConfigError: If it cannot be written.
        """
        with self._storage():
            self._files.makedirs(self._root, exist_ok=True)
            self._files.pipe_file(f"{self._root}/{WRITER}", self._writer.encode())

    def publish(self) -> None:
        """Copies what has changed to the storage.

        Raises:
            ConfigError: If it cannot be written, or somebody else began to; what is finished stays in the folder here.
        """
        finished = f"what is finished is in {text.path(self.folder)}"
        with self._storage(f"; {finished}"):
            holder = self._files.cat_file(f"{self._root}/{WRITER}").decode(errors="replace")
            if holder != self._writer:
                raise ConfigError(
                    f"{text.path(self.address)}: {holder.rpartition(' ')[0]} began to write it meanwhile; run it again "
                    f"when that one has ended; {finished}"
                )
            # The journal last: it is emptied when what it held is in the results.
            for name in (PLAN, RESULTS, RUNS, JOURNAL):
                path = self.folder / name
                state = (path.stat().st_size, path.stat().st_mtime_ns) if path.exists() else None
                if state is not None and self._copied.get(name) != state:
                    self._files.put_file(str(path), f"{self._root}/{name}")
                    self._copied[name] = state

    def watched(self, monitor: Monitor | None) -> Monitor:
        """A monitor that copies now and then."""

        def watch(phase: str, done: int, total: int | None, requests: int) -> bool:
            if time.monotonic() - self._copied_at >= COPY_SECONDS:
                self.publish()
                self._copied_at = time.monotonic()
            return monitor is not None and bool(monitor(phase, done, total, requests))

        return watch

    @contextmanager
    def _storage(self, more: str = "") -> Iterator[None]:
        """Its errors are of as many kinds as there are kinds of storage."""
        try:
            yield
        except ConfigError:
            raise
        except Exception as error:
            raise ConfigError(
                f"{text.path(self.address)}: {type(error).__name__}: {error}; check the address and your rights{more}"
            ) from None
