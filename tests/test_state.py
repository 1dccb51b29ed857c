"""Drives that are saved, resumed, and cached between runs."""

import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ssdlab
from conftest import SMALL_SETS, Cli, notes
from ssdlab.model import kept

LARGE = {
    "device.capacity": "1GiB",
    "device.op": "28%",
    "nand.pages_per_block": 256,
    "time": "count",
    "workload.requests": 1_000,
}
"""The smallest drive worth keeping."""

LARGE_SETS = [
    "--preset",
    "tlc-chip",
    *(argument for key, value in LARGE.items() for argument in ("--set", f"{key}={value}")),
]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory for drives."""
    directory = tmp_path / "drives"
    monkeypatch.setenv(kept.DIRECTORY, str(directory))
    return directory


@pytest.fixture
def large() -> ssdlab.Config:
    return ssdlab.Config("tlc-chip", overrides=LARGE)


def _bytes(result: ssdlab.Result) -> str:
    return json.dumps(result.to_dict()) + str({name: list(column) for name, column in result.series.items()})


def test_results_are_the_same_with_and_without_the_cache(large: ssdlab.Config, cache: Path) -> None:
    without = ssdlab.simulate(large, keep=False)
    assert not cache.exists()
    first = ssdlab.simulate(large)
    (drive,) = cache.iterdir()
    written = drive.stat().st_mtime_ns, drive.stat().st_ino
    again = ssdlab.simulate(large)
    assert _bytes(without) == _bytes(first) == _bytes(again)
    # The cached drive was reused and not written again.
    assert [path.stat().st_ino for path in cache.iterdir()] == [written[1]]
    # Runs whose settings do not affect the drive share it; other runs get a separate drive.
    ssdlab.simulate(large.with_overrides({"time": "serial", "host.warmup": 10}))
    assert len(list(cache.iterdir())) == 1
    ssdlab.simulate(large.with_overrides({"seed": 2}))
    assert len(list(cache.iterdir())) == 2


def test_a_damaged_drive_is_replaced_with_a_note(
    large: ssdlab.Config, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = ssdlab.simulate(large)
    (drive,) = cache.iterdir()
    whole = drive.read_bytes()
    drive.write_bytes(whole[:-1])
    with caplog.at_level(logging.WARNING, "ssdlab"):
        assert _bytes(ssdlab.simulate(large)) == _bytes(first)
    assert "the cached drive cannot be used" in caplog.text and "ends early" in caplog.text
    assert drive.read_bytes() == whole


def test_the_cache_keeps_its_limit(large: ssdlab.Config, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssdlab.simulate(large)
    ((oldest, size),) = kept.drives()
    monkeypatch.setenv(kept.LIMIT, f"{2 * size + size // 2}B")
    ssdlab.simulate(large.with_overrides({"seed": 2}))
    # The first drive was used again, so it is the most recently used.
    ssdlab.simulate(large)
    second = kept.drives()[0][0]
    ssdlab.simulate(large.with_overrides({"seed": 3}))
    left = [path for path, _ in kept.drives()]
    assert len(left) == 2 and oldest in left and second not in left
    monkeypatch.setenv(kept.LIMIT, "much")
    with pytest.raises(ssdlab.ConfigError, match=kept.LIMIT):
        ssdlab.simulate(large)


def test_the_limit_is_two_gibibytes() -> None:
    assert kept.limit_bytes() == 2 << 30


def test_a_drive_above_the_limit_is_dropped_with_a_note(
    large: ssdlab.Config, cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A drive of 2 GiB takes about twice as much as one of 1 GiB; a limit between them keeps only the small drive."""
    ssdlab.simulate(large)
    ((small, size),) = kept.drives()
    monkeypatch.setenv(kept.LIMIT, f"{size + size // 2}B")
    with caplog.at_level(logging.WARNING, "ssdlab"):
        ssdlab.simulate(large.with_overrides({"device.capacity": "2GiB"}))
    assert [path for path, _ in kept.drives()] == [small]
    [record] = caplog.records
    assert "the preconditioned drive is not cached" in record.message and f"set {kept.LIMIT}=" in record.message
    # With the remedy in the note, the drive is cached.
    monkeypatch.setenv(kept.LIMIT, record.message.partition(f"{kept.LIMIT}=")[2].split()[0])
    ssdlab.simulate(large.with_overrides({"device.capacity": "2GiB"}))
    assert max(kept_bytes for _, kept_bytes in kept.drives()) > size


EVICTS = """
import sys
from pathlib import Path
from ssdlab.model import kept
sys.stdin.readline()
with kept._locked(kept.directory()):
    kept._evict(Path("none"), 500)
"""


def test_concurrent_evictions_remove_no_more_than_one_process_would(cache: Path) -> None:
    """Ten drives of 100 bytes with a limit of 500 bytes: exactly the five least recently used drives are removed."""
    cache.mkdir()
    for number in range(10):
        path = cache / f"{number}.drive"
        path.write_bytes(bytes(100))
        os.utime(path, (1000 + number, 1000 + number))
    command = [sys.executable, "-c", EVICTS]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, text=True) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    assert sorted(path.name for path in cache.iterdir()) == [f"{number}.drive" for number in range(5, 10)]


def test_a_drive_removed_by_another_process_counts_as_removed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process removes the oldest file between listing and removing, on a file system without locks."""
    cache.mkdir()
    for number in range(4):
        path = cache / f"{number}.drive"
        path.write_bytes(bytes(100))
        os.utime(path, (1000 + number, 1000 + number))
    listed = kept._files()
    (cache / "0.drive").unlink()
    monkeypatch.setattr(kept, "_files", lambda: listed)
    kept._evict(Path("none"), 300)
    assert sorted(path.name for path in cache.iterdir()) == ["1.drive", "2.drive", "3.drive"]


def test_files_being_written_stay_unless_abandoned(cache: Path) -> None:
    cache.mkdir()
    now = time.time()
    for name, age_seconds in (("a.drive.1.0.part", 60), ("b.drive.2.0.part", 7200), ("c.drive", 30)):
        (cache / name).write_bytes(bytes(100))
        os.utime(cache / name, (now - age_seconds, now - age_seconds))
    kept._evict(Path("none"), 50)
    assert [path.name for path in cache.iterdir()] == ["a.drive.1.0.part"]


def test_the_first_large_cached_drive_prints_the_cache_directory(
    large: ssdlab.Config, cache: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kept, "TOLD_BYTES", 1)
    with caplog.at_level(logging.WARNING, "ssdlab"):
        ssdlab.simulate(large)
        ssdlab.simulate(large.with_overrides({"seed": 2}))
    [record] = caplog.records
    assert record.message.startswith(f"preconditioned drives are cached in {cache}: ")
    for word in (kept.LIMIT, kept.DIRECTORY, "ssdlab cache-dir --clear", "at most 2.00 GiB"):
        assert word in record.message
    kept.clear()
    assert [*cache.iterdir()] == []
    # Below 100 MB there is no note.
    assert cli("run", *LARGE_SETS).stderr == "" and kept.drives()


def test_drives_are_cached_in_a_directory_or_not_at_all(small: ssdlab.Config, cache: Path, cli: Cli) -> None:
    cache.write_text("mine", encoding="utf-8")
    with pytest.raises(ssdlab.ConfigError, match=f"^{kept.DIRECTORY}: .*drives is not a directory; set it to a dir"):
        ssdlab.simulate(small)
    assert cli("cache-dir", check=False).stderr.startswith(f"ssdlab: {kept.DIRECTORY}: ")
    assert cache.read_text(encoding="utf-8") == "mine"


def test_a_small_drive_is_not_cached(small: ssdlab.Config, cache: Path) -> None:
    ssdlab.simulate(small)
    assert not kept.drives()


def test_a_run_resumes_a_saved_drive(small: ssdlab.Config, tmp_path: Path) -> None:
    drive = tmp_path / "aged.drive"
    first = ssdlab.simulate(small, save_state=drive)
    second = ssdlab.simulate(small, state=drive)
    before = first.summary["precondition"]["host_pages_written"] + first.summary["host"]["pages_written"]
    assert second.summary["precondition"]["host_pages_written"] == before
    with pytest.raises(
        ssdlab.ConfigError,
        match=r"77 erase blocks \(device.op\), but this run has 84; restore the earlier value of device.op, or save",
    ):
        ssdlab.simulate(small.with_overrides({"device.op": "30%"}), state=drive)
    with pytest.raises(ssdlab.ConfigError, match="does not exist"):
        ssdlab.simulate(small, save_state=tmp_path / "nowhere" / "aged.drive")


def test_writes_of_earlier_runs_count_for_settling(small: ssdlab.Config, tmp_path: Path) -> None:
    state, needed = tmp_path / "aged.drive", 2
    small = small.with_overrides({"workload.requests": 2_000})
    results = [ssdlab.simulate(small, save_state=state)]
    device = results[0].summary["device"]
    each = results[0].summary["host"]["pages_written"]
    runs = -(-needed * device["physical_pages"] // each)
    results += [ssdlab.simulate(small, state=state, save_state=state) for _ in range(runs)]
    written = [result.summary["precondition"]["runs_pages_written"] for result in results]
    assert written == [run * each for run in range(runs + 1)]
    short = ["too_short" in {finding["name"] for finding in result.summary["diagnosis"]} for result in results]
    assert short == [(run + 1) * each < needed * device["physical_pages"] for run in range(runs + 1)]
    assert short[0] and not short[-1]


@pytest.mark.parametrize("first", [500, 20_000])
@pytest.mark.parametrize("overwrite", ["none", "steady"])
def test_resumed_and_warmed_up_runs_have_the_same_findings(
    small: ssdlab.Config, tmp_path: Path, first: int, overwrite: str
) -> None:
    """Writes of a warm-up, an earlier run or a replay all count towards a settled or full drive."""
    state, last = tmp_path / "aged.drive", 700
    small = small.with_overrides({"precondition.overwrite": overwrite, "precondition.fill": "50%"})
    requests = ssdlab.generate(small.with_overrides({"workload.requests": first + last})).to_arrow()
    parts = [ssdlab.Trace.from_arrow(requests.slice(*part)) for part in ((0, first), (first, last))]
    ssdlab.simulate(small, parts[0], save_state=state)
    later = ssdlab.simulate(small, parts[1], state=state)
    whole = ssdlab.simulate(small.with_overrides({"host.warmup": first}), ssdlab.Trace.from_arrow(requests))
    assert later.summary["host"] == whole.summary["host"]

    def inputs(result: ssdlab.Result) -> list[dict[str, object]]:
        return [finding for finding in result.summary["diagnosis"] if finding["about"] == "input"]

    assert inputs(later) == inputs(whole)
    # The second pass of a trace: after a warm-up of one pass, or as the second replay.
    trace, times = tmp_path / "t.parquet", {"host.repeat.times.count": 2}
    parts[1].save(trace)
    replayed = ssdlab.simulate(small.with_overrides(times), trace)
    twice = ssdlab.simulate(small.with_overrides({"host.warmup": last}), ssdlab.TraceFile(trace, trace, concat=True))
    assert replayed.summary["flash"] == twice.summary["flash"]
    assert inputs(replayed) == inputs(twice)
    if overwrite == "none":
        assert (first == 500) == any(finding["name"] == "too_short" for finding in inputs(later))


def test_saving_a_drive_replaces_only_the_file_behind_a_link(small: ssdlab.Config, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    drive, link, pipe, circle = (tmp_path / name for name in ("real/aged.drive", "link", "pipe", "circle"))
    link.symlink_to(drive)
    circle.symlink_to(circle)
    os.mkfifo(pipe)
    for _ in "made", "replaced":
        ssdlab.simulate(small, save_state=link)
        assert link.is_symlink() and drive.is_file()
    ssdlab.simulate(small, state=drive)
    for taken in pipe, circle:
        with pytest.raises(ssdlab.ConfigError, match=f"{taken}: exists and is not a regular file; choose another file"):
            ssdlab.simulate(small, save_state=taken)
    assert pipe.is_fifo() and circle.is_symlink()


def test_a_stopped_run_saves_nothing(small: ssdlab.Config, tmp_path: Path) -> None:
    result = ssdlab.simulate(small, save_state=tmp_path / "aged.drive", monitor=lambda *_: True)
    assert result.partial and not list(tmp_path.iterdir())


def test_the_command_line_saves_and_resumes(cli: Cli, tmp_path: Path) -> None:
    sets = [*SMALL_SETS, "--set", "workload.requests=2000"]
    cli("run", *sets, "--save-state", "aged.drive")
    assert "pages written" in cli("run", "--all", *sets, "--state", "aged.drive").stdout
    wrong = cli("run", *sets, "--state", "aged.drive", "--set", "device.capacity=32MiB", check=False)
    assert wrong.returncode == 2 and "device.capacity = 16MiB, but this run has 32MiB" in wrong.stderr
    (tmp_path / "trace").write_text("not a drive at all, but long enough")
    wrong = cli("run", *sets, "--state", "trace", check=False)
    assert wrong.returncode == 2 and "not an ssdlab drive file" in wrong.stderr


def test_the_command_line_shows_and_clears_the_cache(cli: Cli, cache: Path) -> None:
    cli("run", *LARGE_SETS)
    shown = cli("cache-dir").stdout.splitlines()
    assert shown[0] == str(cache) and shown[1].startswith("1 drives, ")
    cli("run", *LARGE_SETS, "--set", "seed=2", "--no-cache")
    assert len(kept.drives()) == 1
    assert cli("cache-dir", "--clear").stdout.splitlines()[1].startswith("0 drives, 0 B")
    assert not kept.drives()


def test_streams_keep_their_order_across_resumption(tmp_path: Path) -> None:
    """The first writer after the resumption is not the first writer overall."""
    drive = {"ftl": "sbfast", "ftl.sbfast.log": 8, "device.capacity": "4MiB", "device.op": "50%"}
    config = ssdlab.Config("tlc-chip", overrides={**drive, "nand.pages_per_block": 16})

    def rows(first: int, pids: list[str]) -> str:
        writes = [(first + number, pids[number % 3], (number * 37 % 900) * 8) for number in range(600)]
        return "".join(f"{at},W,{sector},4096,0x2,{pid}\n" for at, pid, sector in writes)

    before, after = rows(0, ["9", "10", "sync"]), rows(600, ["sync", "10", "9"])
    for name, part in (("before", before), ("after", after), ("whole", before + after)):
        (tmp_path / f"{name}.csv").write_text(f"time_ns,op,sector,bytes,flags,pid\n{part}")
    ssdlab.simulate(config, tmp_path / "before.csv", save_state=tmp_path / "aged.drive")
    went_on = ssdlab.simulate(config, tmp_path / "after.csv", state=tmp_path / "aged.drive")
    undisturbed = ssdlab.simulate(config.with_overrides({"host.warmup": 600}), tmp_path / "whole.csv")
    captures = [result.summary["log"]["capture_by_stream"] for result in (went_on, undisturbed)]
    assert [capture["stream"] for capture in captures[0]] == ["9", "10", "sync"]
    assert captures[0] == captures[1]


def test_packed_addresses_of_two_runs_differ(cli: Cli, tmp_path: Path) -> None:
    """Each trace makes a drive of its size and packs its addresses: page 0 of one trace is not page 0 of the other."""
    near, far = tmp_path / "near.csv", tmp_path / "far.csv"
    for trace, start in ((near, 0), (far, 1 << 21)):
        lines = [f"{time}000,W,{start + time * 8},4096,," for time in range(2_000)]
        trace.write_text("\n".join(["time_ns,op,sector,bytes,flags,pid", *lines, ""]))
    state = ("--state", str(tmp_path / "aged.drive"))
    for drive, packed in (([], True), (["--preset", "small-nvme", "--fit", "wrap"], False)):
        cli("run", str(near), *drive, "--save-state", state[1])
        told = notes(cli("run", str(far), *drive, *state, "--all").stdout)
        mismatch = "addresses are packed (--fit compact) on a drive written"
        assert any(note.startswith(mismatch) for note in told) == packed


def test_a_resumed_drive_gets_no_advice_to_resize(cli: Cli, tmp_path: Path) -> None:
    """If a drive has not settled, the note suggests packed addresses for a first run, but not for a resumed run."""
    lines = [f"{time}000,W,{time * 7919 % 1000 * 8192},4194304,," for time in range(400)]
    (tmp_path / "few.csv").write_text("\n".join(["time_ns,op,sector,bytes,flags,pid", *lines, ""]))
    drive = ["--preset", "tlc-chip"]
    state = str(tmp_path / "aged.drive")
    for more, remedy in (
        (["--save-state", state], "--fit compact --repeat until-steady"),
        (["--state", state], "--repeat until-steady"),
    ):
        out = cli("run", str(tmp_path / "few.csv"), *drive, "--fit", "wrap", *more).stdout
        [told] = [line for line in out.splitlines() if "for steady state: " in line]
        assert told.endswith(f"for steady state: {remedy}")
