"""Contents to compress: the user's files, or a built-in corpus."""

import os
import random
import struct
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.several import several

FILE_LIMIT_BYTES = 64 << 20
"""Maximum number of bytes that the corpus takes from one file."""
LIMIT_BYTES = 1 << 30
"""Maximum number of bytes that the corpus takes from all files together."""
DEFAULT_BYTES = 1 << 20
"""Size of each file of the default corpus, in bytes."""

DEFAULT = (
    "default corpus (1 MiB each): Python sources, machine code, a block trace as CSV and as binary records, table "
    "rows, two database indexes and noise"
)


@dataclass(frozen=True)
class Member:
    """A file of a corpus. Each file is compressed separately."""

    name: str
    """Path of the file, or description of generated contents."""
    data: bytes


@dataclass(frozen=True)
class Corpus:
    """Contents to compress, with a report on skipped files."""

    title: str
    """Describes the corpus in one line."""
    members: tuple[Member, ...]
    """Non-empty files of the corpus, in order."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Reasons why files were skipped, by path."""
    shortened: tuple[str, ...] = ()
    """Names of files that were truncated."""

    @property
    def bytes(self) -> int:
        """Total bytes of all files of the corpus."""
        return sum(len(member.data) for member in self.members)

    def remarks(self) -> list[str]:
        """Returns remarks on skipped and truncated files."""
        remarks = []
        if self.skipped:
            path, why = next(iter(self.skipped.items()))
            left_out = text.counted(len(self.skipped), "files")
            remarks.append(f"{left_out} skipped; the first is {text.path(path)}: {why}")
        if self.shortened:
            remarks.append(
                f"{text.count(len(self.shortened))} files truncated to their first {text.size(FILE_LIMIT_BYTES)}; "
                f"the first is {text.path(self.shortened[0])}"
            )
        return remarks


def read(paths: Sequence[str | os.PathLike[str]]) -> Corpus:
    """Reads the given files, and all files in the given directories in the order of their names. Links in directories
    are not followed. Unreadable, special and empty files are skipped and reported.

    Raises:
        ConfigError: If no file remains.
    """
    members, skipped, shortened = [], {}, []
    room = LIMIT_BYTES
    for path, why in _files(several(paths)):
        name = str(path)
        if why is None and room == 0:
            why = f"the corpus is limited to {text.size(LIMIT_BYTES)}"
        if why is None:
            try:
                with path.open("rb") as file:
                    length = min(FILE_LIMIT_BYTES, room)
                    data = file.read(length)
                    if len(data) == length and file.read(1):
                        shortened.append(name)
            except OSError as error:
                why = error.strerror or str(error)
            else:
                if data:
                    members.append(Member(name, data))
                    room -= len(data)
                else:
                    why = "the file is empty"
        if why is not None:
            skipped[name] = why
    title = ", ".join(text.path(os.fspath(path)) for path in paths)
    corpus = Corpus(title, tuple(members), skipped, tuple(shortened))
    if not members:
        remark = "".join(f" ({remark})" for remark in corpus.remarks())
        raise ConfigError(f"{title}: no readable, non-empty files{remark}; use other files or directories")
    return corpus


def _files(paths: Sequence[str | os.PathLike[str]]) -> Iterator[tuple[Path, str | None]]:
    """Yields each file with the reason why it is skipped; the reason is None if the file is to be read."""
    for given in map(Path, paths):
        if not given.is_dir():
            yield given, _fault(given)
            continue
        unreadable: list[OSError] = []
        for directory, folders, names in os.walk(given, onerror=unreadable.append):
            folders.sort()
            for name in sorted(names):
                path = Path(directory) / name
                if not path.is_symlink():
                    yield path, _fault(path)
        for error in unreadable:
            yield Path(error.filename), error.strerror


def _fault(path: Path) -> str | None:
    return None if path.is_file() or not path.exists() else "not a regular file"


@cache
def default() -> Corpus:
    """Returns the built-in corpus, which makes results comparable between machines. Its contents are typical of page
    caches.

    The corpus has text, machine code and logs, like other corpora for compressors. It also has rows and indexes of a
    database, as in the paper's extended corpus (Harper 2018, table 2), and incompressible noise. Generated files are
    the same everywhere; sources and machine code depend on the installation.
    """
    members = {
        "python-sources": _python_sources(),
        "machine-code": Path(str(_ssdlab.__file__)).read_bytes(),
        "trace-csv": _filled(f"{time},{'RW'[kind]},{at},{size}\n".encode() for time, kind, at, size in _requests()),
        "trace-binary": _filled(
            struct.pack("<QQIBBH", time, at, size, kind, 0, 0) for time, kind, at, size in _requests()
        ),
        "table-rows": _filled(_pages(_rows())),
        "integer-index": _index(iter(range(1 << 32))),
        "timestamp-index": _index(_times(random.Random(5))),
        "noise": random.Random(4).randbytes(DEFAULT_BYTES),
    }
    return Corpus(DEFAULT, tuple(Member(name, data[:DEFAULT_BYTES]) for name, data in members.items() if data))


def _python_sources() -> bytes:
    sources, length = [], 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        if length >= DEFAULT_BYTES:
            break
        sources.append(path.read_bytes())
        length += len(sources[-1])
    return b"".join(sources)


def _low(draw: random.Random) -> float:
    """Draws a random number from 0 to 1, with small numbers more likely."""
    # The last bits of a power would differ between machines.
    return draw.random() * draw.random()


def _requests() -> Iterator[tuple[int, int, int, int]]:
    """Yields requests as tuples of time in ns, operation, offset and length. Low addresses are more frequent."""
    draw = random.Random(1)
    time = 0
    while True:
        time += int(draw.random() * 160_000)
        yield (
            time,
            int(draw.random() < 0.3),
            int(_low(draw) * _low(draw) * (1 << 24)) << 12,
            (1 + int(draw.random() * 8)) << 12,
        )


def _filled(parts: Iterator[bytes]) -> bytes:
    filled = bytearray()
    while len(filled) < DEFAULT_BYTES:
        filled += next(parts)
    return bytes(filled)


_SYLLABLES = ("an", "bel", "cor", "da", "el", "fin", "ga", "hel", "is", "jo", "ka", "lin", "mar", "no", "ol", "per")
_DATABASE_PAGE_BYTES = 8192


def _pages(rows: Iterator[bytes]) -> Iterator[bytes]:
    """Yields database pages. A page has a header and pointers to its rows at the front, and the rows at the back."""
    row = next(rows)
    number = 0
    while True:
        pointers: list[bytes] = []
        body: list[bytes] = []
        end = _DATABASE_PAGE_BYTES
        while 24 + 4 * (len(pointers) + 1) <= end - len(row):
            end -= len(row)
            pointers.append(struct.pack("<HH", end, len(row)))
            body.append(row)
            row = next(rows)
        header = struct.pack("<QHHHHQ", number * 8192, 0, 24 + 4 * len(pointers), end, 8192, 0)
        head = header + b"".join(pointers)
        yield head + bytes(end - len(head)) + b"".join(reversed(body))
        number += 1


def _times(draw: random.Random) -> Iterator[int]:
    """Yields growing timestamps in microseconds."""
    time = 1_700_000_000_000_000
    while True:
        time += int(draw.random() * 2_000_000)
        yield time


def _rows() -> Iterator[bytes]:
    """Yields database rows: a key, a name, small and large integers, a timestamp in microseconds and random bytes."""
    draw = random.Random(2)
    names = ["".join(draw.choices(_SYLLABLES, k=2 + at % 3)).capitalize() for at in range(2000)]
    for key, time in enumerate(_times(draw)):
        person = names[int(_low(draw) * 2000)], names[int(_low(draw) * 2000)]
        name = " ".join(person).encode()
        numbers = int(_low(draw) * 1000), int(draw.random() * 10_000_000)
        head = struct.pack("<IHB", key, 8 + len(name), len(name))
        yield head + name + struct.pack("<HIQ", *numbers, time) + draw.randbytes(8)


def _index(keys: Iterator[int]) -> bytes:
    """Returns leaf pages of a database index. Each entry is a key of eight bytes with the page and slot of its row."""
    draw = random.Random(3)
    return _filled(
        _pages(struct.pack("<IHHQ", int(draw.random() * 100_000), int(draw.random() * 60), 16, key) for key in keys)
    )
