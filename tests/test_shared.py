"""A study in remote storage equals one in a folder."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from conftest import Cli
from ssdlab.lazy import fsspec
from ssdlab.study.store import shared
from ssdlab.study.store.folder import JOURNAL, RESULTS, RUNS
from sweeps import AXES, BASE, TINY_SETS


@pytest.fixture
def storage() -> Iterator[Any]:
    """Storage in memory, without locks and without appending to files."""
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def test_an_interrupted_remote_study_ends_as_one_in_a_folder(
    storage: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shared, "COPY_SECONDS", 0.0)
    published: list[int] = []

    def killed(_phase: str, done: int, *_: object) -> bool:
        if done >= 2:
            # State that a reader sees during writing, and that remains if the writer is killed now.
            published.append(ssdlab.open_study("memory://bucket/s").finished)
            return True
        return False

    assert ssdlab.sweep(AXES, BASE, out="memory://bucket/s/", jobs=1, monitor=killed).partial
    assert published[0] >= 1
    totals: list[int | None] = []

    def counting(_phase: str, _done: int, total: int | None, _requests: int) -> bool:
        totals.append(total)
        return False

    whole = ssdlab.sweep(AXES, BASE, out="memory://bucket/s", jobs=1, monitor=counting)
    assert not whole.partial and set(totals) == {len(whole.points) - 2}
    assert ssdlab.open_study("memory://bucket/s").table.equals(whole.table)
    ssdlab.sweep(AXES, BASE, out=tmp_path / "s", jobs=1)
    for name in ("plan.json", RESULTS, RUNS, JOURNAL):
        assert storage.cat_file(f"/bucket/s/{name}") == (tmp_path / "s" / name).read_bytes(), name


def test_the_later_of_two_writers_wins(storage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "COPY_SECONDS", 0.0)

    def another(_phase: str, done: int, *_: object) -> bool:
        if done:
            storage.pipe_file("/s/writer", b"process 7 on there 0123")
        return False

    with pytest.raises(
        ssdlab.ConfigError, match=r"memory://s: process 7 on there has started writing.* are in "
    ) as error:
        ssdlab.sweep(AXES, BASE, out="memory://s", jobs=1, monitor=another)
    # No finished run is lost.
    kept = Path(str(error.value).rpartition(" are in ")[2])
    assert ssdlab.open_study(kept).finished >= 1
    assert not storage.exists(f"/s/{RUNS}")
    for path in kept.iterdir():
        path.unlink()
    kept.rmdir()


def test_a_file_url_is_a_folder(tmp_path: Path) -> None:
    ssdlab.sweep({"seed": ["1", "2"]}, BASE, out=f"file://{tmp_path}/s", jobs=1)
    assert (tmp_path / "s" / "lock").exists() and ssdlab.open_study(f"file://{tmp_path}/s").finished == 2


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://none", "memory://none: contains no study; 'ssdlab sweep --out FOLDER' creates one"),
        ("nix://bucket/op", "nix://bucket/op: ValueError: Protocol not known: nix"),
    ],
)
def test_unreadable_storage_is_named(address: str, message: str) -> None:
    with pytest.raises(ssdlab.ConfigError) as error:
        ssdlab.open_study(address)
    assert str(error.value).startswith(message) and len(str(error.value).splitlines()) == 1


def test_unwritable_storage_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ssdlab.ConfigError, match="Protocol not known: nix"):
        ssdlab.sweep(AXES, BASE, out="nix://bucket/op", jobs=1)
    assert not [*tmp_path.iterdir()]


def test_commands_say_whether_they_take_an_address(cli: Cli) -> None:
    done = cli("sweep", *TINY_SETS, "-A", "seed=1,2", "--out", "nix://b/op", check=False)
    assert done.returncode == 2 and "ssdlab: nix://b/op: ValueError" in done.stderr
    done = cli("study", "show", "nix://b/op", check=False)
    assert done.returncode == 2 and "ssdlab: nix://b/op: ValueError" in done.stderr
    done = cli("run", *TINY_SETS, "--out", "s3://b/op", check=False)
    assert done.returncode == 2 and "--out s3://b/op: only 'ssdlab sweep' writes to an address" in done.stderr
