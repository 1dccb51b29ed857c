"""The journal of a study keeps all complete lines, even if it is truncated or damaged."""

import errno
import os
import random
import threading
from pathlib import Path

import pytest

from ssdlab.study.store.journal import Journal, entries

LINES = [f'{{"run": {number}, "name": "é {"x" * number}"}}' for number in range(40)]


def written(path: Path, lines: list[str] = LINES) -> None:
    with Journal(path) as journal:
        for line in lines:
            journal.append(line)


def test_lines_are_read_in_order(tmp_path: Path) -> None:
    assert list(entries(tmp_path / "none")) == []
    written(tmp_path / "j", LINES[:20])
    written(tmp_path / "j", LINES[20:])
    assert list(entries(tmp_path / "j")) == LINES


def test_a_cut_journal_keeps_whole_lines_and_continues(tmp_path: Path) -> None:
    path = tmp_path / "j"
    written(path)
    whole = path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    draw = random.Random(1)
    for cut in [0, 1, len(whole) - 1, *(draw.randrange(len(whole)) for _ in range(60))]:
        path.write_bytes(whole[:cut])
        left = sum(end <= cut for end in ends)
        assert list(entries(path)) == LINES[:left], cut
        written(path, ["more"])
        assert list(entries(path)) == [*LINES[:left], "more"], cut


def test_a_changed_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "j"
    written(path)
    whole = path.read_bytes()
    draw = random.Random(2)
    for _ in range(60):
        at = draw.randrange(len(whole) - 1)
        changed = bytearray(whole)
        changed[at] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        kept = list(entries(path))
        assert len(kept) >= len(LINES) - 2 and set(kept) < set(LINES), at


def test_a_full_disk_leaves_the_journal_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j"
    write = os.write
    with Journal(path) as journal:
        for line in LINES[:5]:
            journal.append(line)
        room = 20

        def full(file: int, data: bytes) -> int:
            nonlocal room
            if room == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            done = write(file, data[:room])
            room -= done
            return done

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left") as caught:
            journal.append(LINES[5])
        assert caught.value.filename == str(path)
        assert list(entries(path)) == LINES[:5]
        monkeypatch.undo()
        journal.append(LINES[6])
    assert list(entries(path)) == [*LINES[:5], LINES[6]]


def test_many_threads_write_complete_lines(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with Journal(path) as journal:

        def write(name: int) -> None:
            for line in LINES:
                journal.append(f"{name} {line}")

        threads = [threading.Thread(target=write, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(entries(path)) == sorted(f"{name} {line}" for name in range(8) for line in LINES)
