"""Preconditioned drives, kept from one run to the next.

Preconditioning a large drive takes minutes, and every run of the same drive would do it again. The state that it comes
to is kept in a file, whose name is a checksum of everything that it depends on, this build of ssdlab included. Results
are the same with and without.
"""

import fcntl
import hashlib
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.config import Config

DIRECTORY = "SSDLAB_CACHE_DIR"
"""The variable that names the directory; nothing is kept if it is empty."""

LIMIT = "SSDLAB_CACHE_SIZE"
"""The variable that says how much may be kept, such as `4GiB`."""

DEFAULT_LIMIT = "2GiB"

TOLD_BYTES = 100_000_000
"""When so much is kept for the first time, a note says where."""

TOLD = ".told"
"""Empty file in the directory once that was said."""

_SUFFIX = ".drive"

_ABANDONED_SECONDS = 3600
"""A file that is incomplete and was not written to for so long has been abandoned."""

_LOG = logging.getLogger("ssdlab")


def directory() -> Path | None:
    """Where drives are kept; None if they are not.

    It is that of `SSDLAB_CACHE_DIR`, else `ssdlab` in `XDG_CACHE_HOME` or `~/.cache`.
    """
    named = os.environ.get(DIRECTORY)
    if named is not None:
        if os.path.lexists(named) and not Path(named).is_dir():
            raise ConfigError(f"{DIRECTORY}: {text.path(named)} is no directory; name one, or give it no value")
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME")
    # A relative path there is to be ignored, says the XDG specification.
    home = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return home / "ssdlab"


def limit_bytes() -> int:
    """Bytes that may be kept."""
    written = os.environ.get(LIMIT, DEFAULT_LIMIT)
    try:
        return _ssdlab.size(written)
    except ConfigError as error:
        raise ConfigError(f"{LIMIT}: {error}") from None


def drives() -> list[tuple[Path, int]]:
    """The files of drives with their bytes, least recently used first."""
    return [(path, found.st_size) for path, found in _files() if path.suffix == _SUFFIX]


def _files() -> list[tuple[Path, os.stat_result]]:
    kept = directory()
    if kept is None or not kept.is_dir():
        return []
    found = []
    for path in kept.iterdir():
        # Another process may remove it meanwhile.
        with suppress(OSError):
            if path.is_file() and _SUFFIX in path.suffixes:
                found.append((path, path.stat()))
    return sorted(found, key=lambda file: (file[1].st_mtime_ns, file[0]))


def clear() -> None:
    """Removes all drives.

    Raises:
        OSError: If one cannot be removed.
    """
    for path, _ in _files():
        path.unlink(missing_ok=True)
    kept = directory()
    if kept is not None:
        (kept / TOLD).unlink(missing_ok=True)


@contextmanager
def keeping(config: Config, space: _ssdlab.AddressSpace | None) -> Iterator[Path | None]:
    """Yields the file for the preconditioned drive of `config`, whether it is there or not; None if none is to be kept.

    Afterwards the drives used longest ago are removed until the rest is within the limit. The first time that much is
    kept, a note says where.
    """
    kept = directory()
    limit = limit_bytes()
    key = _ssdlab.kept_key(config._inner, space) if kept is not None and limit > 0 else None
    if kept is None or key is None:
        yield None
        return
    with suppress(OSError):
        # If it cannot be made, the run says that nothing is kept.
        kept.mkdir(parents=True, exist_ok=True)
    path = kept / (hashlib.sha256(f"{_build()}\n{key}".encode()).hexdigest()[:32] + _SUFFIX)
    yield path
    with _locked(kept):
        # Of the system's own clock two runs may see the same tick.
        now = time.time_ns()
        with suppress(OSError):
            os.utime(path, ns=(now, now))
        _evict(path, limit)
        _tell(kept, limit)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Keeps other processes, and threads, from removing drives meanwhile: together they would remove too many."""
    try:
        held = os.open(directory, os.O_RDONLY)
    except OSError:
        # Nothing can be kept there.
        yield
        return
    try:
        # Some file systems of networks have no locks; there more drives may go than have to.
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _build() -> str:
    """What tells this build of ssdlab from others, whose models may come to other states."""
    found = Path(_ssdlab.__file__).stat()
    return f"{_ssdlab.__version__} {found.st_size} {found.st_mtime_ns}"


def _evict(used: Path, limit: int) -> None:
    """Removes drives that were used longest ago until the rest is within the limit.

    A drive larger than that goes alone, not after all others. Files that are being written do not count yet.
    """
    files = _files()
    total = sum(found.st_size for path, found in files if path.suffix == _SUFFIX)
    # Stable: the others stay in their order.
    files.sort(key=lambda file: not (file[0] == used and file[1].st_size > limit))
    for path, found in files:
        if path.suffix != _SUFFIX:
            if time.time() - found.st_mtime > _ABANDONED_SECONDS:
                with suppress(OSError):
                    path.unlink()
        elif total > limit:
            if path == used:
                _LOG.warning(
                    f"the preconditioned drive is not kept for the next run: {text.size(found.st_size)} is more than "
                    f"{text.size(limit)}; set {LIMIT}={text.exact_size(1 << found.st_size.bit_length())} to keep it"
                )
            with suppress(OSError):
                # Another process may have removed it.
                path.unlink(missing_ok=True)
                total -= found.st_size


def _tell(kept: Path, limit: int) -> None:
    """Says once where drives are kept, when they take much."""
    total = sum(size for _, size in drives())
    if total < TOLD_BYTES:
        return
    try:
        (kept / TOLD).touch(exist_ok=False)
    except OSError:
        # It was said before, or the directory takes no more files.
        return
    _LOG.warning(
        f"preconditioned drives are kept in {text.path(kept)}: {text.size(total)} now, {text.size(limit)} at most "
        f"({LIMIT}); 'ssdlab cache-dir --clear' removes them, {DIRECTORY}=DIR keeps them elsewhere"
    )
