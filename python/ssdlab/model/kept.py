"""Cache of preconditioned drives.

Preconditioning a large drive takes minutes. The resulting state is saved in a file for later runs. The file's name is a
checksum of everything that the state depends on, including this build of ssdlab. Results do not depend on the cache.
"""

import hashlib
import logging
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.config import Config
from ssdlab.model.files import locked

DIRECTORY = "SSDLAB_CACHE_DIR"
"""Environment variable for the directory of the cache; an empty value disables the cache."""

LIMIT = "SSDLAB_CACHE_SIZE"
"""Environment variable for the size limit of the cache, such as `4GiB`."""

DEFAULT_LIMIT = "2GiB"

TOLD_BYTES = 100_000_000
"""Total size of all cached drives, in bytes, above which a one-time message shows the cache directory."""

TOLD = ".told"
"""Name of an empty file; its presence means that the message about the cache directory has been shown."""

_SUFFIX = ".drive"

_ABANDONED_SECONDS = 3600
"""Seconds without a write after which an incomplete file counts as abandoned."""

_LOG = logging.getLogger("ssdlab")


def directory() -> Path | None:
    """Returns the cache directory, by default `ssdlab` in `XDG_CACHE_HOME` or `~/.cache`; None if disabled."""
    named = os.environ.get(DIRECTORY)
    if named is not None:
        if os.path.lexists(named) and not Path(named).is_dir():
            raise ConfigError(
                f"{DIRECTORY}: {text.path(named)} is not a directory; set it to a directory, or to an empty string"
            )
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification says to ignore a relative path.
    home = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return home / "ssdlab"


def limit_bytes() -> int:
    """Returns the size limit of the cache in bytes."""
    written = os.environ.get(LIMIT, DEFAULT_LIMIT)
    try:
        return _ssdlab.size(written)
    except ConfigError as error:
        raise ConfigError(f"{LIMIT}: {error}") from None


def drives() -> list[tuple[Path, int]]:
    """Returns the files of cached drives with their sizes in bytes, least recently used first."""
    return [(path, status.st_size) for path, status in _files() if path.suffix == _SUFFIX]


def _files() -> list[tuple[Path, os.stat_result]]:
    kept = directory()
    if kept is None or not kept.is_dir():
        return []
    files = []
    for path in kept.iterdir():
        # Another process may remove the file in the meantime.
        with suppress(OSError):
            if path.is_file() and _SUFFIX in path.suffixes:
                files.append((path, path.stat()))
    return sorted(files, key=lambda file: (file[1].st_mtime_ns, file[0]))


def clear() -> None:
    """Removes all cached drives."""
    for path, _ in _files():
        path.unlink(missing_ok=True)
    kept = directory()
    if kept is not None:
        (kept / TOLD).unlink(missing_ok=True)


@contextmanager
def keeping(config: Config, space: _ssdlab.AddressSpace | None) -> Iterator[Path | None]:
    """Yields the path at which the preconditioned drive of `config` is or will be cached; None if it cannot be cached.
    Afterwards evicts the least recently used drives if the cache exceeds its limit.
    """
    kept = directory()
    limit = limit_bytes()
    key = _ssdlab.kept_key(config._inner, space) if kept is not None and limit > 0 else None
    if kept is None or key is None:
        yield None
        return
    with suppress(OSError):
        # If the directory cannot be created, the run reports that the drive is not cached.
        kept.mkdir(parents=True, exist_ok=True)
    # Another build of ssdlab may precondition drives to other states.
    build = Path(_ssdlab.__file__).stat()
    version = f"{_ssdlab.__version__} {build.st_size} {build.st_mtime_ns}"
    path = kept / (hashlib.sha256(f"{version}\n{key}".encode()).hexdigest()[:32] + _SUFFIX)
    yield path
    with _locked(kept):
        # Sets the time of use explicitly, because two runs may fall in the same tick of the file system's clock.
        now = time.time_ns()
        with suppress(OSError):
            os.utime(path, ns=(now, now))
        _evict(path, limit)
        _tell(kept, limit)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Locks the cache, so that processes and threads do not evict at the same time and remove too many."""
    with ExitStack() as held:
        # The directory may be missing. Network file systems may not support locks; then too many may be evicted.
        with suppress(OSError):
            held.enter_context(locked(directory.resolve(), os.O_RDONLY, wait=True))
        yield


def _evict(used: Path, limit: int) -> None:
    """Removes least recently used drives until the cache is within its limit. Incomplete files do not count."""
    files = _files()
    total = sum(status.st_size for path, status in files if path.suffix == _SUFFIX)
    # The drive `used` is removed first if it alone exceeds the limit. The sort is stable, so all other drives stay in
    # order of last use.
    files.sort(key=lambda file: not (file[0] == used and file[1].st_size > limit))
    for path, status in files:
        if path.suffix != _SUFFIX:
            if time.time() - status.st_mtime > _ABANDONED_SECONDS:
                with suppress(OSError):
                    path.unlink()
        elif total > limit:
            if path == used:
                _LOG.warning(
                    f"the preconditioned drive is not cached: {text.size(status.st_size)} exceeds the limit of "
                    f"{text.size(limit)}; set {LIMIT}={text.exact_size(1 << status.st_size.bit_length())} to cache it"
                )
            with suppress(OSError):
                # Another process may have evicted the cached file already.
                path.unlink(missing_ok=True)
                total -= status.st_size


def _tell(kept: Path, limit: int) -> None:
    """Logs the directory of the cache once, when the cache becomes large."""
    total = sum(size for _, size in drives())
    if total < TOLD_BYTES:
        return
    try:
        (kept / TOLD).touch(exist_ok=False)
    except OSError:
        # The file exists if the message has been shown before. Its creation also fails if the directory is not
        # writable.
        return
    _LOG.warning(
        f"preconditioned drives are cached in {text.path(kept)}: {text.size(total)} of at most {text.size(limit)} "
        f"({LIMIT}); 'ssdlab cache-dir --clear' removes them; {DIRECTORY}=DIR sets another directory"
    )
