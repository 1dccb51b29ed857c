"""Drives that store data, from Python; `crates/drive/device` tests that no data is lost."""

import errno
import re
import threading
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from conftest import Cli
from ssdlab import Drive
from ssdlab.model.drive import Faults

SMALL = {
    "device.capacity": "4MiB", "nand.pages_per_block": 16, "nand.channels": 1, "nand.ways": 1, "drive.buffer": "none",
    "device.op": "25%", "precondition.fill": "0%", "precondition.overwrite": "none",
}  # fmt: skip
FTLS = ["page", "bast", "fast", "faster", "sbfast"]
BUFFERED = {
    **SMALL,
    "time": "event",
    "drive.buffer": "watermark",
    "drive.buffer.watermark.size": "256KiB",
    "drive.buffer.watermark.plp": False,
}


@pytest.mark.parametrize("ftl", FTLS)
def test_bytes_survive_a_cut(ftl: str) -> None:
    drive = Drive({**SMALL, "ftl": ftl})
    data = np.arange(100_000, dtype=np.uint32)
    for _ in range(3):
        drive.write(12_345, data)
    drive.cut_power()
    assert not drive.is_on
    with pytest.raises(OSError, match="the drive is off") as error:
        drive.read(0, 1)
    assert error.value.errno == errno.ENODEV
    report = drive.mount()
    assert not report.clean and not report.full_scan and report.spares_read > 0
    assert drive.holds(12_345, data) and not drive.holds(12_346, data)
    assert drive.read(0, 12_345) == bytes(12_345)
    assert drive.health["unsafe_shutdowns"] == 1


def test_a_planned_power_cut_happens_after_its_operations() -> None:
    drive = Drive(SMALL)
    drive.cut_power(after=5, torn=False)
    with pytest.raises(OSError, match="the drive is off"):
        for page in range(10):
            drive.write(page * drive.page_bytes, b"x" * drive.page_bytes)
    drive.mount()
    # One of the five operations wrote the block's number to the log.
    written = [drive.read(page * drive.page_bytes, 1) == b"x" for page in range(10)]
    assert written == [True] * 4 + [False] * 6


def test_a_buffer_loses_unflushed_data() -> None:
    drive = Drive(BUFFERED)
    drive.write(0, b"safe", fua=True)
    drive.write(0, b"gone")
    assert drive.buffered_pages == 1
    assert drive.read(0, 4) == b"gone"
    drive.cut_power()
    drive.mount()
    assert drive.read(0, 4) == b"safe"
    drive.trim(0, drive.page_bytes, fua=True)
    drive.cut_power()
    drive.mount()
    assert drive.read(0, 4) == bytes(4)


def test_power_loss_protection_makes_every_write_safe() -> None:
    drive = Drive({**BUFFERED, "drive.buffer.watermark.plp": True})
    drive.write(0, b"safe", fua=True)
    assert (drive.buffered_pages, sum(drive.operations.programs.values())) == (1, 0)
    drive.cut_power()
    drive.mount()
    assert drive.read(0, 4) == b"safe"


def test_a_drive_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "drive.ssd"
    with Drive(SMALL, path) as drive:
        drive.write(5_000, b"kept")
        with pytest.raises(OSError, match="another process uses the drive") as error:
            Drive(SMALL, path)
        assert error.value.errno == errno.EBUSY
    for use in (lambda: drive.read(0, 1), drive.flush, drive.mount, lambda: drive.capacity_bytes):
        with pytest.raises(OSError, match="the drive is closed; open it again") as error:
            use()
        assert error.value.errno == errno.EBADF
    drive.close()
    with pytest.raises(ssdlab.ConfigError, match="created with"):
        Drive({**SMALL, "ftl": "fast"}, path)
    drive = Drive(SMALL, path)
    assert drive.read(5_000, 4) == b"kept"
    assert drive.allocation() == [(0, 4096, False), (4096, 4096, True), (8192, (4 << 20) - 8192, False)]
    assert drive.health["unsafe_shutdowns"] == 0


@pytest.mark.parametrize("provision", ["device.op", "device.spare"])
@pytest.mark.parametrize("ftl", [{"ftl": "page", "ftl.page.gc": "fifo"}, {"ftl": "bast", "ftl.bast.log": "4"}])
def test_the_message_on_other_settings_opens_the_drive(ftl: dict[str, str], provision: str, tmp_path: Path) -> None:
    path = tmp_path / "drive.ssd"
    with Drive({**SMALL, "ftl": "fast", "ftl.fast.log": 8}, path) as drive:
        drive.write(5_000, b"kept")
    other = {**SMALL, **ftl, "nand.page_size": "8KiB", "nand.program": "1ms"}
    del other["device.op"]
    other[provision] = "30%"
    says = f"created with ftl = fast, but the configuration has {ftl['ftl']}; set (.*?)((?:; remove .*?)*), or"
    with pytest.raises(ssdlab.ConfigError, match=says) as error:
        Drive(other, path)
    [(remedy, left)] = re.findall(says, str(error.value))
    out = re.findall("; remove (?:any )?([^;]+)", left)
    assert out == [*(["device.spare"] if provision == "device.spare" else []), f"ftl.{ftl['ftl']}.*"]
    typed = dict(setting.split("=") for setting in remedy.split(" and "))
    assert {"ftl", "ftl.fast.log", "device.op", "nand.page_size"} <= {*typed} and "nand.program" not in typed
    kept = {key: value for key, value in other.items() if not any(fnmatch(key, pattern) for pattern in out)}
    for config in ({**kept, **typed}, None):
        with Drive(config, path) as drive:
            assert drive.read(5_000, 4) == b"kept"
            assert drive.config["ftl"] == "fast"


def test_errors_have_their_numbers() -> None:
    drive = Drive(SMALL)
    with pytest.raises(OSError, match="exceeds the drive's capacity of 4194304") as error:
        drive.read(0, (4 << 20) + 1)
    assert error.value.errno == errno.EINVAL
    for call in (
        lambda: drive.read(-1, 4),
        lambda: drive.read(0, -4),
        lambda: drive.read(1 << 64, 4),
        lambda: drive.write(-1, b"data"),
        lambda: drive.trim(-4096, 4096),
        lambda: drive.trim(0, -1),
        lambda: drive.write_zeroes(-1, 1),
        lambda: drive.allocation(-1),
        lambda: drive.allocation(1 << 65),
    ):
        with pytest.raises(OSError, match="4194304") as error:
            call()
        assert error.value.errno == errno.EINVAL
    with pytest.raises(ssdlab.ConfigError, match="store the data in a file"):
        Drive({**SMALL, "device.capacity": "4TiB"})
    with pytest.raises(TypeError, match="bytes-like"):
        drive.write(0, "text")  # type: ignore[arg-type]
    damaged = Drive(SMALL, faults=Faults(flips=1))
    damaged.write(0, b"x")
    with pytest.raises(OSError, match="logical page 0 cannot be read") as error:
        damaged.read(0, 1)
    assert error.value.errno == errno.EIO


@pytest.mark.parametrize("ftl", FTLS)
def test_failing_programs_cost_blocks_but_no_data(ftl: str) -> None:
    log = {} if ftl == "page" else {f"ftl.{ftl}.log": 8}
    drive = Drive({**SMALL, "device.op": "50%", "ftl": ftl, **log}, faults=Faults(programs=400, seed=2))
    pages = drive.capacity_bytes // drive.page_bytes
    content = [bytes(drive.page_bytes)] * pages
    chance = np.random.default_rng(3)
    with pytest.raises(OSError, match="worn out and read-only") as error:
        for _ in range(100_000):
            page = int(chance.integers(pages))
            data = chance.bytes(drive.page_bytes)
            drive.write(page * drive.page_bytes, data)
            content[page] = data
    assert error.value.errno == errno.EROFS
    assert drive.health["bad_blocks"] > 0
    for _ in range(2):
        pages_read = [drive.read(at * drive.page_bytes, drive.page_bytes) for at in range(pages)]
        # The page of the failed write may have been stored.
        assert [
            at for at in range(pages) if pages_read[at] not in (content[at], data if at == page else content[at])
        ] == []
        drive.cut_power()
        drive.mount()


def test_the_cause_of_wear_out_is_reported_before_a_block_is_marked() -> None:
    """Under BAST, failing blocks hold data until they are merged."""
    drive = Drive({**SMALL, "device.op": "10%", "ftl": "bast"}, faults=Faults(programs=30))
    with pytest.raises(OSError, match="worn out") as error:
        for at in range(6000):
            drive.write(at * 7919 % 1024 * 4096, b"x" * 4096)
    bad, blocks = drive.health["bad_blocks"], drive.health["blocks"]
    assert bad == 0 and error.value.errno == errno.EROFS and str(error.value).endswith(
        f"too many of its {blocks} blocks failed ({bad} are marked as bad); copy the data to another drive"
    )  # fmt: skip


@pytest.mark.parametrize("ftl", FTLS)
def test_flash_may_fail_under_every_ftl(ftl: str, tmp_path: Path) -> None:
    path, faults = tmp_path / "drive.ssd", Faults(programs=1000)
    asked = {**SMALL, "device.capacity": "16MiB", "ftl": ftl, "device.spare": "25%"}
    del asked["device.op"]
    changed = [] if ftl == "page" else [f"ftl.{ftl}.log"]
    config = ssdlab.Config("small-tlc", overrides=asked)
    for opened in (config, config, None):
        with Drive(opened, path, faults) as drive:
            drive.write(0, b"kept")
            differ = [key for key in config if drive.config[key] != config[key]]
            # A file stores the drive's settings, but not the preconditioning.
            assert [key for key in differ if not key.startswith("precondition.")] == changed


@pytest.mark.parametrize("ftl", FTLS[1:])
def test_a_drive_without_spare_blocks_names_a_remedy(ftl: str) -> None:
    asked = {**SMALL, "ftl": ftl, f"ftl.{ftl}.log": 10, "device.spare": "15%"}
    del asked["device.op"]
    Drive(asked).close()
    with pytest.raises(ssdlab.ConfigError, match=r"create a new drive .* and without device\.spare") as error:
        Drive(asked, faults=Faults(programs=1000))
    (enough,) = re.findall("with device.op=([0-9]+%)", str(error.value))
    del asked["device.spare"]
    Drive({**asked, "device.op": enough}, faults=Faults(programs=1000)).close()


@pytest.mark.parametrize("faults", [Faults(programs=2000), Faults(erases=500)])
@pytest.mark.parametrize(
    ("ftl", "capacity", "op"), [("fast", "4MiB", "7%"), ("sbfast", "16MiB", "7%"), ("faster", "16MiB", "10%")]
)
def test_a_drive_with_too_little_spare_space_names_enough(ftl: str, capacity: str, op: str, faults: Faults) -> None:
    """Half of such a small log is not valid for this FTL, and the user did not set the log."""
    asked = {"nand.pages_per_block": 32, "device.capacity": capacity, "ftl": ftl}
    config = ssdlab.Config("tlc-chip", overrides=asked)
    Drive(config.with_overrides({"device.op": op})).close()
    with pytest.raises(ssdlab.ConfigError, match="too few spare blocks") as error:
        Drive(config.with_overrides({"device.op": op}), faults=faults)
    (enough,) = re.findall("create a new drive with device.op=([0-9]+%)", str(error.value))
    Drive(config.with_overrides({"device.op": enough}), faults=faults).close()


@pytest.mark.parametrize("writes", [20, 1000])
def test_reopening_a_file_does_not_change_its_failure_rate(writes: int, tmp_path: Path) -> None:
    """1 in 100 of 2,000 programs fails: 20 ± 4.5. A failed block becomes bad at its next erase at the latest."""
    config = {**SMALL, "device.capacity": "16MiB", "device.op": "100%", "nand.pages_per_block": 8}
    path, pages = tmp_path / "drive.ssd", 4096
    for opened in range(2000 // writes):
        with Drive(config, path, Faults(programs=100)) as drive:
            for number in range(writes):
                drive.write((opened * writes + number) % pages * 4096, bytes(4096))
    with Drive(config, path) as drive:
        for number in range(3 * pages):
            drive.write(number % pages * 4096, bytes(4096))
        assert 8 <= drive.health["bad_blocks"] <= 36


def test_a_file_with_log_all_keeps_it(tmp_path: Path) -> None:
    config = {**SMALL, "ftl": "fast"}
    with Drive(config, tmp_path / "drive.ssd") as drive:
        drive.write(0, b"kept")
    with Drive(config, tmp_path / "drive.ssd", Faults(erases=1000)) as drive:
        assert drive.read(0, 4) == b"kept" and drive.config["ftl.fast.log"] == "all"
    with pytest.raises(ssdlab.ConfigError, match=r"create a new drive with device\.op="):
        Drive(config, tmp_path / "drive.ssd", Faults(programs=1000))


@pytest.mark.parametrize(
    ("ftl", "faults"),
    [("page", Faults(reads=20, seed=2)), ("fast", Faults(reads=20, seed=0)), ("fast", Faults(flips=20, seed=2))],
)
def test_a_mount_never_returns_behind_a_flush_after_data_loss(ftl: str, faults: Faults) -> None:
    """Goal: flushed data reads as written or as an error. Method: faults during mounts that program a protected
    buffer's contents.
    """
    buffer = {"time": "event", "drive.buffer": "watermark", "drive.buffer.watermark.size": "32KiB"}
    small = {"device.capacity": "256KiB", "device.op": "100%", "nand.page_size": "4KiB", "nand.pages_per_block": 8}
    one_die = {f"nand.{level}": 1 for level in ("channels", "ways", "dies", "planes")}
    drive = Drive({**buffer, **small, **one_die, "ftl": ftl, "drive.buffer.watermark.plp": True}, None, faults)
    for value, pages in ((1, 64), (2, 32)):
        for page in range(pages):
            drive.write(page * 4096, bytes([value]) * 4096)
        drive.flush()
    lost = 0
    for _ in range(4):
        for page in range(64):
            try:
                assert drive.read(page * 4096, 1) == bytes([2 if page < 32 else 1])
            except OSError as error:
                assert error.errno == errno.EIO
                lost += 1
        drive.cut_power()
        drive.mount()
    assert lost > 0


def test_operations_equal_a_simulation() -> None:
    drive = Drive({**SMALL, "ftl": "fast"})
    requests = [(page * 3 % 200, page % 3 + 1) for page in range(600)]
    for page, count in requests:
        drive.write(page * 4096, bytes(count * 4096))
    offsets, sizes = [page * 4096 for page, _ in requests], [count * 4096 for _, count in requests]
    trace = ssdlab.Trace.from_columns(op=["write"] * len(requests), offset=offsets, bytes=sizes)
    result = ssdlab.simulate(drive.config, trace)
    assert drive.operations.programs == {k: v for k, v in result.to_dict()["flash"]["programs"].items() if v}


def test_threads_take_turns() -> None:
    drive = Drive(SMALL)

    def fill(part: int) -> None:
        for page in range(part, 256, 4):
            drive.write(page * 4096, bytes([part]) * 4096)

    threads = [threading.Thread(target=fill, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert drive.read(0, 256 * 4096) == b"".join(bytes([page % 4]) * 4096 for page in range(256))


def test_a_drive_with_a_failing_block_can_be_closed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Drive(SMALL, tmp_path / "d.drive") as drive:
        drive.write(0, b"kept")
        drive.flush()
        raise ZeroDivisionError
    again = Drive(SMALL, tmp_path / "d.drive")
    assert again.read(0, 4) == b"kept" and again.health["unsafe_shutdowns"] == 1
    again.close()
    Drive(SMALL, tmp_path / "d.drive").close()


def test_health_lasts_as_long_as_the_file(tmp_path: Path) -> None:
    path = tmp_path / "d.drive"
    with Drive({**SMALL, "nand.endurance": 10}, path) as drive:
        assert drive.mounted is None, "it was made anew"
        assert drive.health["available_spare"] == 100 and drive.health["percentage_used"] == 0
        for _ in range(4):
            drive.write(0, bytes(drive.capacity_bytes))
        drive.write_zeroes(0, 10_000)
        drive.read(0, 100)
        health = drive.health
        assert (health["bytes_written"], health["bytes_read"]) == (4 * drive.capacity_bytes, 100), "zeroes are no data"
        assert health["percentage_used"] == 100 * health["erases"] // (10 * health["blocks"]) > 0
    for mounts in (1, 2, 3):
        again = Drive(SMALL, path)
        assert again.mounted is not None and again.mounted.clean == (mounts == 1)
        assert (again.health["power_cycles"], again.health["unsafe_shutdowns"]) == (mounts, mounts - 1)
        assert again.health["bytes_written"] == 4 * again.capacity_bytes
        # Like a killed process.
        del again
    last = Drive(SMALL, path)
    assert last.mount() == last.mounted


def test_a_drive_describes_itself(tmp_path: Path) -> None:
    path = tmp_path / "d.drive"
    with Drive(SMALL, path) as drive:
        assert repr(drive) == f"<ssdlab.Drive of 4.00 MiB in {path}, ftl page: on>"
        drive.cut_power()
        assert repr(drive).endswith(": off>")
    assert repr(drive) == f"<ssdlab.Drive in {path}: closed>"
    assert "in memory" in repr(Drive(SMALL))


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (Faults, {"programs": 1.5}, "^programs=1.5: must be a whole number from 0 to 2"),
        (Faults, {"seed": "x"}, "^seed='x': must be a whole number"),
        (Faults, {"erases": None}, "^erases=None: must be a whole number"),
        (Drive, {"faults": 5}, r"^faults: 5 is not a Faults; pass a Faults, such as Faults\(programs=1000, "),
        (Drive, {"faults": {"programs": 9}}, "^faults: dict is not a Faults"),
        (Drive, {"path": 5}, "^path: 5 is not a path; pass a path, such as 'drive.ssd', or None$"),
    ],
)
def test_a_wrong_argument_type_is_named_with_its_remedy(
    kind: Callable[..., object], given: dict[str, object], message: str
) -> None:
    with pytest.raises(ssdlab.ConfigError, match=message):
        kind(**given)


def test_fault_counts_accept_any_whole_number() -> None:
    counts: dict[str, Any] = {"programs": np.uint64(400), "seed": np.int32(2)}
    Drive({**SMALL, "device.op": "50%"}, faults=Faults(**counts)).close()


@pytest.mark.parametrize("target", ["new.drive", "nowhere/new.drive", "link"])
def test_a_broken_link_is_named_with_its_target(cli: Cli, tmp_path: Path, target: str) -> None:
    (tmp_path / "link").symlink_to(target)
    why = f"is a link to {target}, which does not exist; fix the link, or pass another path"
    for config in (SMALL, None):
        with pytest.raises(FileNotFoundError, match=why):
            Drive(config, tmp_path / "link")
    sets = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    done = cli("serve", "--socket", "s", "--file", "link", *sets, check=False)
    assert (done.returncode, done.stderr) == (2, f"ssdlab: link: {why}\n")
    assert (tmp_path / "link").is_symlink() and len([*tmp_path.iterdir()]) == 1


def test_a_read_only_drive_is_not_created(tmp_path: Path) -> None:
    path = tmp_path / "d.drive"
    with pytest.raises(OSError, match="would be read-only: ") as error:
        Drive(SMALL, path, Faults(factory=2))
    assert error.value.errno == errno.EROFS and "PosixPath" not in str(error.value) and str(path) in str(error.value)
    assert not path.exists()


def test_unusable_numbers_and_paths_are_bad_input() -> None:
    drive = Drive(SMALL)
    for call in (lambda: drive.cut_power(-1), lambda: drive.cut_power(1 << 64), lambda: drive.holds(-1, b"")):
        with pytest.raises(OSError) as error:
            call()
        assert error.value.errno == errno.EINVAL
    for data, why in (
        (np.array([object()]), "an array of Python objects has no bytes"),
        (np.zeros(9)[::2], "is not contiguous"),
        ("text", "bytes-like"),
    ):
        with pytest.raises(TypeError, match=why):
            drive.write(0, data)  # type: ignore[arg-type]
    drive.write(0, np.empty((0, 3)))
    fields = np.array([(7, 8)], [("Offset", "<u4"), ("O", "u1")])
    drive.write(0, fields)
    assert drive.holds(0, fields.tobytes())
    with pytest.raises(TypeError, match="an array of Python objects"):
        drive.write(0, np.zeros(1, [("a", "O")]))
    with pytest.raises(ssdlab.ConfigError, match="programs=-1: must be a whole number from 0"):
        Faults(programs=-1)
    with pytest.raises(ssdlab.ConfigError, match=r"path: .* contains a zero byte"):
        Drive(SMALL, "a\0b")


def test_a_buffer_without_a_clock_is_reported_as_unused() -> None:
    """With one plane, time is serial by default, without a write buffer: each page is programmed immediately."""
    with pytest.warns(UserWarning, match="ignoring drive.buffer because time is serial") as told:
        drive = Drive({**SMALL, "drive.buffer": "watermark"})
    assert [note.filename for note in told] == [__file__]
    drive.write(0, bytes(drive.page_bytes))
    assert drive.buffered_pages == 0


def test_a_deleted_file_makes_nothing_safe(tmp_path: Path) -> None:
    path = tmp_path / "drive.ssd"
    with pytest.raises(OSError, match="file was deleted"), Drive(SMALL, path) as drive:
        drive.write(0, b"here")
        path.unlink()
        with pytest.raises(OSError, match="file was deleted"):
            drive.flush()
        assert drive.read(0, 4) == b"here", "it can still be copied"
