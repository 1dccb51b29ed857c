"""Drives served from files on disks that are too small."""

import errno
import json
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import ssdlab
from forked import PATIENCE_SECONDS
from nbd_client import NbdError, connected
from serving import EAGER, PAGE, PROTECTED, SMALL, served, sets, small
from ssdlab.cli.serve import recording
from ssdlab.model import parquet


@contextmanager
def small_disk(tmp_path: Path, size: str) -> Iterator[Path]:
    """A file system of this size."""
    where = tmp_path / "disk"
    where.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "small", str(where)]
    if subprocess.run(mount, capture_output=True, timeout=PATIENCE_SECONDS, check=False).returncode != 0:
        pytest.skip("no file system may be mounted here; crates/drive/device/tests/it/full_disk.rs does not need one")
    try:
        yield where
    finally:
        # A server may still have its file open.
        subprocess.run(["umount", "--lazy", str(where)], timeout=PATIENCE_SECONDS, check=True)


def test_a_server_with_a_stopped_drive_ends(tmp_path: Path) -> None:
    config = ssdlab.Config(overrides={**SMALL, **PROTECTED, "drive.buffer.watermark.plp": False})
    with small_disk(tmp_path, "3m") as where:
        server = ssdlab.DriveServer(config, socket=tmp_path / "s", file=where / "disk.drive")
        with connected(tmp_path / "s") as client, pytest.raises(NbdError):
            for page in range(client.size // PAGE):
                client.write(page * PAGE, random.Random(page).randbytes(PAGE))
        with pytest.raises(ssdlab.SsdlabError):
            server.close()
        assert server.wait(0) == "at once"
        server.close()


def test_a_full_disk_loses_neither_record_nor_summary(tmp_path: Path) -> None:
    volatile = {**PROTECTED, "drive.buffer.watermark.plp": "false"}
    more = [word for key, value in volatile.items() for word in ("--set", f"{key}={value}")]
    record, out = tmp_path / "r.parquet", tmp_path / "o"
    with small_disk(tmp_path, "3m") as where:
        place = ["--file", str(where / "disk.drive"), "--record", str(record), "--out", str(out)]
        with served(tmp_path, *place, *sets(), *more) as (process, path):
            with connected(path) as client, pytest.raises(NbdError):
                for page in range(client.size // PAGE):
                    client.write(page * PAGE, random.Random(page).randbytes(PAGE))
            written = page
            process.send_signal(signal.SIGTERM)
            output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 2 and "could not be flushed at shutdown" in errors, errors
    assert "the drive fails and unflushed writes may be lost" in output
    assert "Served drive" in output
    assert len(ssdlab.read_trace(record)) == written
    report = json.loads((out / "service.json").read_text(encoding="utf-8"))
    assert report["result"]["host"]["write_requests"] == written
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "o", "r.parquet"]


def test_a_record_that_does_not_fit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # By default, the first bytes are written after a million requests.
    monkeypatch.setattr(parquet, "ROW_GROUP", 100)
    chance = random.Random(3)
    with small_disk(tmp_path, "8k") as where, ssdlab.DriveServer(small(), socket=tmp_path / "s", record=True) as server:
        record = where / "r.parquet"
        # The error is reported again at the end of the record.
        with (
            connected(tmp_path / "s") as client,
            suppress(OSError, ValueError),
            recording(record) as write,
            pytest.raises(OSError, match="No space") as full,
        ):
            while True:
                for _ in range(200):
                    client.read(chance.randrange(client.size - 1), 1)
                write(server)
    assert full.value.filename == str(record)


@pytest.mark.parametrize("volatile", [True, False])
def test_the_remaining_room_is_reported(tmp_path: Path, volatile: bool) -> None:
    buffer = {**PROTECTED, "drive.buffer.watermark.plp": False} if volatile else {}
    config = ssdlab.Config(overrides={**SMALL, **buffer})
    with small_disk(tmp_path, "3m") as where:
        drive = ssdlab.Drive(config, where / "a.drive")
        with pytest.raises(OSError, match="the drive stopped") as error:
            for page in range(drive.capacity_bytes // PAGE):
                drive.write(page * PAGE, random.Random(page).randbytes(PAGE))
        says = r"stopped, losing \d+ pages from its write buffer: No" if volatile else "stopped: No"
        assert re.search(says, str(error.value)), error.value
        drive.close()
        (where / "a.drive").unlink()
        server = ssdlab.DriveServer(config, socket=tmp_path / "s", file=where / "b.drive")
        with connected(tmp_path / "s") as client, pytest.raises(NbdError):
            for page in range(client.size // PAGE):
                client.write(page * PAGE, random.Random(page).randbytes(PAGE))
        # These writes use the room that the record of the mount needs.
        with connected(tmp_path / "s") as client:
            for page in range(300):
                with suppress(NbdError):
                    client.write(page * PAGE, random.Random(page).randbytes(PAGE))
            with pytest.raises(NbdError) as refused:
                client.read(0, PAGE)
        assert int(str(refused.value)) == (errno.EIO if volatile else errno.ENOSPC)
        with pytest.raises(ssdlab.SsdlabError, match="could not be flushed at shutdown") as ended:
            server.close()
        assert ("lost" in str(ended.value)) == volatile, ended.value


@pytest.mark.parametrize("buffer", [{}, EAGER, PROTECTED], ids=["no buffer", "eager buffer", "protected buffer"])
@pytest.mark.parametrize("ftl", ["page", "fast"])
def test_a_full_disk_loses_nothing(tmp_path: Path, ftl: str, buffer: dict[str, object]) -> None:
    config = ssdlab.Config(overrides={**SMALL, **buffer, "ftl": ftl})
    chance = random.Random(4)
    with small_disk(tmp_path, "3m") as where:
        file = where / "disk.drive"
        with ssdlab.DriveServer(config, socket=tmp_path / "s", file=file), connected(tmp_path / "s") as client:
            model = [bytes(PAGE)] * (client.size // PAGE)

            def fill() -> int | None:
                """Writes every page once; returns the error, if any."""
                for page in chance.sample(range(len(model)), len(model)):
                    data = chance.randbytes(PAGE)
                    try:
                        client.write(page * PAGE, data)
                    except NbdError as error:
                        return int(str(error))
                    model[page] = data
                return None

            assert fill() == errno.ENOSPC
            assert fill() == errno.ENOSPC, "there is still no room"
            # Reads fail too, unless the mount before them finds room for its record.
            try:
                assert client.read(0, PAGE) == model[0]
            except NbdError as error:
                assert int(str(error)) == errno.ENOSPC
            subprocess.run(["mount", "-o", "remount,size=200m", str(where)], timeout=PATIENCE_SECONDS, check=True)
            assert fill() is None
            assert client.read(0, client.size) == b"".join(model)
        with ssdlab.DriveServer(config, socket=tmp_path / "s", file=file), connected(tmp_path / "s") as client:
            assert client.read(0, client.size) == b"".join(model)


def test_a_drive_too_large_for_the_disk_leaves_no_file(tmp_path: Path) -> None:
    with small_disk(tmp_path, "4k") as where:
        with pytest.raises(OSError, match="No space left") as raised:
            ssdlab.DriveServer(small(), socket=tmp_path / "s", file=where / "disk.drive")
        assert raised.value.errno == errno.ENOSPC
        assert list(where.iterdir()) == []


def test_a_disk_smaller_than_the_drive_is_reported(tmp_path: Path) -> None:
    with small_disk(tmp_path, "3m") as where:
        file = where / "disk.drive"
        for size, is_told in (("3m", True), ("200m", False)):
            subprocess.run(["mount", "-o", f"remount,size={size}", str(where)], timeout=PATIENCE_SECONDS, check=True)
            with served(tmp_path, "--file", str(file), *sets()) as (process, path):
                with connected(path) as client:
                    client.write(0, b"here")
                process.send_signal(signal.SIGTERM)
                output, _ = process.communicate(timeout=PATIENCE_SECONDS)
            assert (f"{file} may grow by " in output) == is_told, output
            assert ("requests fail until space is freed, but no acknowledged data is lost" in output) == is_told, output


def test_a_file_above_the_size_limit_is_one_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "disk.drive"
    limited = ["prlimit", "--fsize=1000000", sys.executable, "-m", "ssdlab"]
    command = [*limited, "serve", *sets(), "--socket", str(tmp_path / "s"), "--file", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 2
    assert "the file system does not allow a file of" in done.stderr
    assert list(tmp_path.iterdir()) == []
