"""Calibration of regions and batches: the rule, a simulated drive, and a real one through fio."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from conftest import ROOT, Cli
from forked import PATIENCE_SECONDS
from ssdlab.analyse.drive import fio, use
from ssdlab.study.calibration import knee
from ssdlab.study.calibration.grid import regions_of
from ssdlab.view.pages import calibration

DRIVE = {
    "device.capacity": "256MiB",
    "device.op": "25%",
    "nand.channels": 4,
    "nand.pages_per_block": 64,
    "nand.read": "50us",
    "nand.program": "500us",
    "drive.command": "5us",
}
"""Four dies, filled within milliseconds."""

GRID = ["--regions", "64MiB,256MiB", "--in-flight", "1,4,16", "--requests", "500"]
SETS = ["--preset", "tlc-chip", *(argument for key, value in DRIVE.items() for argument in ("--set", f"{key}={value}"))]


def drive(**overrides: object) -> ssdlab.Config:
    return ssdlab.Config("tlc-chip", overrides={**DRIVE, **overrides})


def small(config: ssdlab.Config | None = None, **arguments: Any) -> ssdlab.Calibration:
    grid: dict[str, Any] = {"regions": ["64MiB", "256MiB"], "in_flight": [1, 4, 16], "requests": 500}
    return ssdlab.calibrate(config or drive(), **{**grid, **arguments})


def made_up(**iops: list[list[float]]) -> ssdlab.Calibration:
    """A calibration with these throughputs."""
    tables = {op: np.array(rows) for op, rows in iops.items()}
    shape = next(iter(tables.values())).shape
    return ssdlab.Calibration(
        source={"kind": "simulated", "bytes": 1 << 40, "overwrite": "none", "rounds": 3, "requests": 1},
        config=None,
        size="4KiB",
        regions=tuple(1 << 30 + row for row in range(shape[0])),
        in_flight=tuple(1 << column for column in range(shape[1])),
        iops=tables,
        is_stopped=any(np.isnan(table).any() for table in tables.values()),
    )


@pytest.mark.parametrize(
    ("curve", "at"),
    [
        ([10, 20, 40, 80], 3),  # The curve is never flat.
        ([10, 20, 40, 41, 41], 2),  # The curve is flat from the third point on, within 5 %.
        ([94.9, 95.0, 100.0], 1),  # 95 % of the maximum is enough, less is not.
        ([50, 100, 70, 40], 1),  # The curve falls after the knee.
        ([7, 7, 7], 0),
        ([7], 0),
    ],
)
def test_the_knee_is_the_fewest_near_the_maximum(curve: list[float], at: int) -> None:
    assert knee.first_close(np.array(curve)) == at


def test_the_region_is_the_smallest_good_for_reads_and_writes() -> None:
    grows = [[50.0, 60.0], [80.0, 96.0], [80.0, 100.0]]
    measured = made_up(read=grows, write=[[10.0, 10.0]] * 3)
    assert measured.region == 1 and measured.region_matters
    assert measured.settings == {
        "block.scheduler.pardispatcher.region_size": "2GiB",
        "block.scheduler.pardispatcher.read_batch": "2",
        "block.scheduler.pardispatcher.write_batch": "1",
    }
    message = "\n".join(calibration.sentences(measured))
    assert "Throughput of reads depends on the region size (largest difference 40.0 %)" in message
    assert "Throughput of writes does not depend on the region size (largest difference 0.0 %)" in message
    assert "The smallest sufficient region, 2.00 GiB, reaches 96.00 % of the maximum reads per second and " in message
    # Writes become slower in larger regions. No region has 95 % of both maxima; the middle one has the best minimum.
    measured = made_up(read=[[50.0], [90.0], [100.0]], write=[[100.0], [80.0], [60.0]])
    assert measured.region == 1 and "No region reaches 95 % of the maximum throughput; 2.00 GiB is closest" in " ".join(
        calibration.sentences(measured)
    )
    measured = made_up(read=[[100.0], [90.0]])
    assert measured.region == 0 and "The smallest region measured, 1.00 GiB, reaches" in " ".join(
        calibration.sentences(measured)
    )


def test_the_largest_sufficient_region_is_named() -> None:
    message = " ".join(calibration.sentences(made_up(read=[[100.0], [99.0], [98.0], [50.0]])))
    assert (
        "The smallest region measured, 1.00 GiB, reaches 100.00 % of the maximum reads per second; the largest region "
        in message
    )
    assert "that reaches 95 % is 4.00 GiB." in message


def test_equal_regions_give_no_advice() -> None:
    measured = made_up(read=[[50.0, 100.0], [51.0, 98.0]])
    assert not measured.region_matters and "region_size" not in "".join(measured.settings)
    assert "Any region size is fine" in " ".join(calibration.sentences(measured))
    assert "Only one region size was measured" in " ".join(calibration.sentences(made_up(read=[[1.0, 2.0]])))
    # Regions that differ less than the rounds of a cell count as equal.
    noisy = made_up(read=[[50.0], [100.0]])
    assert noisy.region_matters
    noisy = replace(noisy, noise={"read": 0.6})
    assert not noisy.region_matters
    assert "(largest difference 50.0 %, difference between rounds 60.0 %)" in " ".join(calibration.sentences(noisy))


def test_a_stopped_calibration_gives_no_advice() -> None:
    measured = made_up(read=[[50.0, 100.0], [51.0, float("nan")]])
    assert measured.partial and measured.settings == {} and measured.region is None and measured.differences == {}
    assert (measured.knee("read", 0), measured.knee("read", 1)) == (2, None)
    assert "Stopped before the end" in calibration.sentences(measured)[0]
    assert json.loads(measured.to_json())["result"]["iops"]["read"][1] == [51.0, None]
    assert "data-chart=" in measured.report_html() and "Partial result" in measured.report_html()


def test_regions_are_powers_of_two_and_the_whole_drive() -> None:
    mebibyte = 1 << 20
    assert regions_of(None, 200 * mebibyte, 4096, "it") == (64 * mebibyte, 128 * mebibyte, 200 * mebibyte)
    assert regions_of(None, 128 * mebibyte, 4096, "it") == (64 * mebibyte, 128 * mebibyte)
    assert regions_of(["2MiB", "1MiB", "2MiB"], 2 * mebibyte, 4096, "it") == (mebibyte, 2 * mebibyte)


def test_simulated_reads_follow_the_law_of_the_dies() -> None:
    measured = small(in_flight=[1, 64], requests=2000)
    # One at a time: command, t_R and the page's transfer over the bus.
    transfer_us = 4 * float(drive()["nand.transfer_per_kib"].removesuffix("us"))
    assert measured.iops["read"][:, 0] == pytest.approx([1e6 / (5 + 50 + transfer_us)] * 2, rel=1e-6)
    most = 4 * 1e6 / (50 + transfer_us)
    assert (measured.iops["read"][:, 1] <= most).all() and (measured.iops["read"][:, 1] > 0.85 * most).all()
    # Addresses do not choose the die of a page-mapped drive.
    assert not measured.region_matters and max(measured.differences.values()) < 0.05
    assert measured.write_amplification is not None and (measured.write_amplification == 1).all()


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_noise_between_seeds_is_not_a_difference_between_regions(seed: int) -> None:
    measured = small(drive(seed=seed), regions=["16MiB", "64MiB", "128MiB", "256MiB"], in_flight=[16, 64], requests=300)
    assert measured.noise["read"] > measured.differences["read"] > 0.05 and not measured.region_matters
    alone = small(drive(seed=seed), regions=["16MiB"], in_flight=[16], requests=300)
    others = [small(drive(seed=seed + more), regions=["16MiB"], in_flight=[16], requests=300) for more in (1, 2)]
    assert measured.iops["read"][0, 0] == alone.iops["read"][0, 0] != others[0].iops["read"][0, 0]


def test_the_number_of_jobs_changes_nothing() -> None:
    assert small(jobs=1).to_json() == small(jobs=4).to_json()


def test_the_host_configuration_is_ignored() -> None:
    plain = small(in_flight=[4])
    others = {
        "workload.pattern": "zipf",
        "workload.pattern.zipf.theta": 0.5,
        "workload.requests": 3,
        "host.warmup": 2,
        "host.replay": "open",
        "host.replay.open.speed": 0.5,
        "workload.arrival.fixed.rate": "1k/s",
        "block.scheduler": "pardispatcher",
        "block.scheduler.pardispatcher.read_batch": 3,
    }
    assert small(drive(**others), in_flight=[4]).iops["read"].tolist() == plain.iops["read"].tolist()
    large = small(drive(**{"workload.size": "16KiB", "workload.align": "16KiB"}), in_flight=[4])
    assert large.size == "16KiB" and (large.iops["read"] < plain.iops["read"]).all()
    # On request the drive is overwritten first, and writes are amplified.
    steady = small(drive(**{"precondition.overwrite": "steady"}), in_flight=[4])
    assert steady.write_amplification is not None and (steady.write_amplification > 1).all()
    assert "Write amplification was" in " ".join(calibration.sentences(steady))


def test_the_drive_queue_limits_requests_in_flight() -> None:
    sata = drive(**{"drive.protocol": "sata"})
    measured = ssdlab.calibrate(sata, regions=["64MiB"], requests=50)
    assert measured.in_flight == (1, 2, 4, 8, 16, 31)
    with pytest.raises(ssdlab.ConfigError, match="32 exceeds the 31 requests"):
        ssdlab.calibrate(sata, regions=["64MiB"], in_flight=[32], requests=50)
    measured = small(drive(**{"drive.buffer": "eager"}))
    assert "write buffer" in measured.remarks[0] and measured.knee("write", 0) == 1


def test_a_monitor_stops_a_simulated_calibration() -> None:
    phases = set()

    def watch(phase: str, done: int, total: int | None, requests: int) -> bool:
        phases.add((phase, total))
        return True

    measured = small(requests=10_000_000, monitor=watch)
    assert measured.partial and phases == {("cells", 36)} and np.isnan(measured.iops["read"]).all()


@pytest.mark.parametrize(
    ("overrides", "arguments", "message"),
    [
        ({"time": "serial"}, {}, "time: a drive with time=serial serves one request at a time"),
        ({"time": "count"}, {}, "set time=event"),
        ({}, {"regions": ["1GiB"]}, "a region of 1GiB does not fit into the drive (256MiB)"),
        ({}, {"regions": ["2KiB"]}, "a region of 2KiB is smaller than a request of 4KiB"),
        ({"workload.size": "4KiB:50%,1MiB:50%"}, {"regions": ["64KiB"]}, "is smaller than a request of 1MiB"),
        ({}, {"regions": []}, "no region to measure"),
        ({}, {"regions": ["64"]}, "the unit is missing"),
        (
            {"device.capacity": "32MiB", "nand.channels": 1, "time": "event"},
            {"regions": None},
            "32MiB) is smaller than",
        ),
        ({}, {"in_flight": []}, "numbers from 1 to 65536"),
        ({}, {"in_flight": [0, 1]}, "numbers from 1 to 65536"),
        ({}, {"requests": 0}, "use at least 1"),
        ({"ftl.page.low": 10_000}, {}, "ftl.page.low"),
        ({"drive.buffer": "eager", "drive.command": "0ns"}, {"requests": 20}, "writes complete in zero time"),
    ],
)
def test_impossible_simulations_are_named(overrides: dict[str, object], arguments: Any, message: str) -> None:
    with pytest.raises(ssdlab.ConfigError) as error:
        small(drive(**overrides), **arguments)
    assert message in str(error.value)


def test_the_command_prints_saves_and_marks(cli: Cli, tmp_path: Path) -> None:
    done = cli("calibrate", *SETS, *GRID, "--out", "deep/out")
    out = done.stdout
    assert "simulated drive of 256 MiB" in out and "reads per second" in out and "writes per second" in out
    assert "does not depend on the region size" in out and "written to deep/out: report.html" in out
    assert "--set block.scheduler.pardispatcher.read_batch=16" in out
    rows = [line for line in out.splitlines() if line.startswith(("  64.0 MiB", "  256 MiB"))]
    assert len(rows) == 4 and all(row.count("*") == 1 for row in rows)
    folder = tmp_path / "deep" / "out"
    assert {path.name for path in folder.iterdir()} == {"report.html", "calibration.json", "calibration.csv"}
    as_json = cli("calibrate", *SETS, *GRID, "--json").stdout
    assert as_json == (folder / "calibration.json").read_text()
    result = json.loads(as_json)["result"]
    with (folder / "calibration.csv").open(newline="") as file:
        cells = [*csv.DictReader(file)]
    assert [float(cell["iops"]) for cell in cells] == [
        iops for op in ("read", "write") for row in result["iops"][op] for iops in row
    ]
    assert cells[0]["op"] == "read" and cells[0]["region_bytes"] == str(64 << 20) and cells[0]["in_flight"] == "1"
    report = (folder / "report.html").read_text()
    assert report.count("data-chart=") == 2 and "read_batch=16" in report
    # The printed settings can be set.
    cli("config", "check", "--set", "block.scheduler=pardispatcher", "--set", "time=event",
        *(word for key, value in result["settings"].items() for word in ("--set", f"{key}={value}")))  # fmt: skip


def test_files_appear_all_or_not_at_all(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "out" / "calibration.csv").mkdir(parents=True)
    failed = cli("calibrate", *SETS, *GRID, "--out", "out", check=False)
    assert failed.returncode == 2 and "is a directory" in failed.stderr
    # Measurements are printed before any file is written.
    assert "reads per second" in failed.stdout and "written to" not in failed.stdout
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["calibration.csv"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--write"], ["need a real drive"]),
        (["--seconds", "1"], ["need a real drive"]),
        (["--offset", "1GiB"], ["need a real drive"]),
        (["--target", "x", "--preset", "sata-mlc"], ["apply only to a simulated drive"]),
        (["--target", "x", "--jobs", "2"], ["apply only to a simulated drive"]),
        (["--in-flight", "1,two"], ["--in-flight 1,two", "1,2,4,8"]),
        (["--target", "nothere"], ["nothere does not exist", "use an existing file or block device"]),
        (["--target", "."], [". is a directory", "use a file or block device"]),
        (["--target", "/dev/null"], ["/dev/null is neither a file nor a block device"]),
        (["--target", "empty"], ["empty is empty"]),
        (["--target", "short"], ["short", "8KiB) is smaller than the default region of 64MiB"]),
        (["--target", "short", "--regions", "16KiB"], ["16KiB does not fit into the measured part of short"]),
        (["--target", "short", "--offset", "1GiB"], ["offset 1GiB is past the end of short"]),
        (["--target", "short", "--size", "100B"], ["multiples of 512 bytes"]),
        (["--target", "short", "--seconds", "0"], ["not 0 s"]),
        (["--target", "short", "--seconds", "nan"], ["not nan s"]),
    ],
)
def test_wrong_input_is_one_line_and_status_2(cli: Cli, tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "short").write_bytes(bytes(8192))
    done = cli("calibrate", *arguments, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("ssdlab: ")
    for word in words:
        assert word in done.stderr


def test_ctrl_c_prints_the_partial_simulation() -> None:
    command = [sys.executable, "-m", "ssdlab", "calibrate", *SETS, *GRID[:-1], "100000000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None and "cells" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130 and "partial result" in out and "no settings are recommended" in out


# Served drive, as /proc and /sys show it.


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A disk sda with partitions sda1 and sda2, a disk sdb and a device dm-0; nothing is in use."""
    numbers = {"sda": "8:0", "sda1": "8:1", "sda2": "8:2", "sdb": "8:16", "dm-0": "253:0"}
    (tmp_path / "sys/dev/block").mkdir(parents=True)
    for name, number in numbers.items():
        folder = tmp_path / "sys/devices" / ("sda" if name.startswith("sda") else "") / name
        if name == "sda":
            folder = folder.parent
        (folder / "holders").mkdir(parents=True)
        (folder / "dev").write_text(f"{number}\n")
        if name[-1].isdigit() and name.startswith("sd"):
            (folder / "partition").write_text(f"{name[-1]}\n")
        (tmp_path / "sys/dev/block" / number).symlink_to(folder)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("21 1 0:20 / /proc rw - proc proc rw\n")
    (tmp_path / "proc/swaps").write_text("Filename\tType\tSize\tUsed\tPriority\n")
    monkeypatch.setattr(use, "PROC", tmp_path / "proc")
    monkeypatch.setattr(use, "SYS", tmp_path / "sys")
    real = use.device_number
    monkeypatch.setattr(use, "device_number", lambda path: numbers.get(Path(path).name) or real(path))
    return tmp_path


def mount(machine: Path, number: str, where: str, source: str) -> None:
    with (machine / "proc/self/mountinfo").open("a") as file:
        file.write(f"30 21 {number} / {where} rw,relatime shared:1 - ext4 {source} rw\n")


def test_unused_devices_are_unused(machine: Path) -> None:
    mount(machine, "8:16", "/data", "/dev/sdb")
    assert use.why_in_use("8:0") is None and use.why_in_use("8:1") is None


def test_mounted_devices_and_their_disks_are_in_use(machine: Path) -> None:
    mount(machine, "8:1", "/mnt/my\\040disk", "/dev/sda1")
    assert use.why_in_use("8:1") == use.why_in_use("8:0") == "sda1 is mounted on /mnt/my disk"
    # The other partition may be measured.
    assert use.why_in_use("8:2") is None


def test_a_mounted_disk_has_no_free_partitions(machine: Path) -> None:
    mount(machine, "8:0", "/mnt", "/dev/sda")
    assert use.why_in_use("8:2") == "sda is mounted on /mnt"


def test_a_file_system_with_its_own_number_is_found_by_its_source(machine: Path) -> None:
    mount(machine, "0:45", "/mnt", "/dev/sda2")
    assert use.why_in_use("8:2") == "sda2 is mounted on /mnt"


def test_swap_and_holders_are_found(machine: Path) -> None:
    with (machine / "proc/swaps").open("a") as file:
        file.write("/dev/sda1 partition 1024 0 -2\n")
    assert use.why_in_use("8:0") == "sda1 is used as swap"
    (machine / "sys/dev/block/8:16/holders/dm-0").touch()
    assert use.why_in_use("8:16") == "sdb is used by dm-0"


def test_swap_files_and_loop_disks_are_refused(machine: Path) -> None:
    file = machine / "a file"
    file.write_bytes(bytes(4096))
    assert use.why_file_in_use(file) is None
    backing = machine / "sys/block/loop0/loop/backing_file"
    backing.parent.mkdir(parents=True)
    backing.write_text(f"{file}\n")
    assert use.why_file_in_use(file) == "it is the backing file of loop0"
    with (machine / "proc/swaps").open("a") as swaps:
        swaps.write(f"{str(file).replace(' ', chr(92) + '040')} file 1024 0 -2\n")
    assert use.why_file_in_use(file) == "it is used as swap"
    with pytest.raises(ssdlab.CalibrationError, match="is in use: it is used as swap"):
        ssdlab.calibrate_target(file)


# A script that replaces fio and prints a recorded output.

FAKE = """#!{python}
import json, os, pathlib, signal, sys, time

options = dict(argument.removeprefix("--").partition("=")[::2] for argument in sys.argv[1:])
mode = os.environ.get("FAKE_FIO", "")
if "version" in options:
    print({{"old": "fio-2.99", "other": "file input and output 9"}}.get(mode, "fio-3.33"))
    raise SystemExit
with open({log!r}, "a") as log:
    log.write(json.dumps(options) + "\\n")
if options["ioengine"] == os.environ.get("FAKE_FIO_WITHOUT"):
    print("fio: engine " + options["ioengine"] + " not loadable", file=sys.stderr)
    raise SystemExit(1)
probe = options["runtime"] == "200ms"
if mode == "slow" and not probe:
    if options["iodepth"] != "1":
        signal.signal(signal.SIGINT, lambda *_: sys.exit(128))
        pathlib.Path({log!r} + ".ready").touch()
        time.sleep(3600)
warning, brace, text = pathlib.Path({recorded!r}).read_text().partition("{{")
found = json.loads(brace + text)
op = options["rw"].removeprefix("rand")
in_flight = int(options["iodepth"]) * int(options["numjobs"])
figures = found["jobs"][0][op]
# Eight dies, of which small regions have half.
figures["iops"] = 1000.0 * min(in_flight, 4 if int(options["size"]) < 128 << 20 else 8)
figures["total_ios"] = int(figures["iops"])
if mode == "broken" and not probe:
    found["jobs"][0]["error"] = 5
    print("fio: io_u error on file target: Input/output error: read offset=4096, buflen=4096", file=sys.stderr)
if mode == "idle" and not probe:
    figures["iops"] = figures["total_ios"] = 0
written = warning + json.dumps(found)
if mode == "cut":
    written = written[:400]
if mode == "strange":
    written = '{{"jobs": [{{"read": 5}}]}}'
if mode != "mute":
    pathlib.Path(options["output"]).write_text(written)
sys.exit(1 if mode == "mute" or mode == "broken" and not probe else 0)
"""


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sparse file of 256 MiB; the `fio` on the path is a script that prints a recorded output."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "fio"
    script.write_text(
        FAKE.format(python=sys.executable, log=str(tmp_path / "log"), recorded=str(ROOT / "tests" / "fio.json"))
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    file = tmp_path / "a file: of mine"
    with file.open("wb") as opened:
        opened.truncate(256 << 20)
    return file


def logged(target: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (target.parent / "log").read_text().splitlines()]


def test_a_file_is_read_and_its_knees_are_found(target: Path) -> None:
    measured = ssdlab.calibrate_target(target, in_flight=[1, 2, 4, 8, 16])
    assert measured.regions == (64 << 20, 128 << 20, 256 << 20)
    assert measured.iops["read"].tolist() == [[1000, 2000, 4000, 4000, 4000], *[[1000, 2000, 4000, 8000, 8000]] * 2]
    assert list(measured.iops) == ["read"] and measured.noise == {"read": 0.0}
    assert measured.settings == {
        "block.scheduler.pardispatcher.region_size": "128MiB",
        "block.scheduler.pardispatcher.read_batch": "8",
    }
    assert measured.source["kind"] == "file" and measured.source["fio"] == "fio-3.33"
    assert any("has holes" in remark for remark in measured.remarks)
    jobs = logged(target)
    # A probe of the engine, then three rounds of 15 cells, none of which may write or create a file.
    assert len(jobs) == 1 + 3 * 15
    assert all("readonly" in job and job["rw"] == "randread" and job["allow_file_create"] == "0" for job in jobs)
    assert {job["filename"] for job in jobs} == {"target"}


def test_writes_come_last_and_only_on_request(target: Path) -> None:
    measured = ssdlab.calibrate_target(
        target, write=True, regions=["128MiB"], in_flight=[8], offset="64MiB", size="8KiB", seconds=0.5
    )
    assert measured.iops["write"].tolist() == [[8000]]
    jobs = logged(target)[1:]
    assert [job["rw"] for job in jobs] == ["randread"] * 3 + ["randwrite"] * 3
    assert ["readonly" in job for job in jobs] == [True] * 3 + [False] * 3
    expected = {"offset": str(64 << 20), "size": str(128 << 20), "bs": "8192", "runtime": "500ms", "iodepth": "8"}
    assert all(expected.items() <= job.items() for job in jobs)


def test_engines_are_tried_in_turn(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ssdlab.analyse.drive.target._direct", lambda path: True)
    monkeypatch.setenv("FAKE_FIO_WITHOUT", "io_uring")
    measured = ssdlab.calibrate_target(target, regions=["128MiB"], in_flight=[4])
    assert measured.source["engine"] == "libaio" and measured.source["direct"]
    # Through the page cache libaio serves one request at a time, so threads are used.
    monkeypatch.setattr("ssdlab.analyse.drive.target._direct", lambda path: False)
    measured = ssdlab.calibrate_target(target, regions=["128MiB"], in_flight=[4])
    assert measured.source["engine"] == "psync" and not measured.source["direct"]
    assert "results include the page cache" in measured.remarks[0]
    assert (logged(target)[-1]["iodepth"], logged(target)[-1]["numjobs"]) == ("1", "4")


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("broken", ["fio failed on", "a file: of mine", "Input/output error"]),
        ("mute", ["fio failed on", "exit status 1 without a message"]),
        ("cut", ["fio-3.33 did not report the IOPS of"]),
        ("strange", ["fio-3.33 did not report the IOPS of"]),
        ("idle", ["completed no requests in 1 s; use a longer measuring time"]),
        ("old", ["is fio-2.99, which is too old; install fio 3 or later"]),
        ("other", ["did not print a version: file input and output 9"]),
    ],
)
def test_fio_failures_are_one_line(
    cli: Cli, target: Path, monkeypatch: pytest.MonkeyPatch, mode: str, words: list[str]
) -> None:
    monkeypatch.setenv("FAKE_FIO", mode)
    failed = cli("calibrate", "--target", target, "--in-flight", "1", "--out", "out", check=False)
    assert failed.returncode == 2 and failed.stdout == "" and len(failed.stderr.splitlines()) == 1
    for word in words:
        assert word in failed.stderr
    assert not (target.parent / "out").exists()


def test_a_missing_fio_has_a_remedy(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(
        ssdlab.CalibrationError,
        match=r"fio is not installed, but the measurement needs it; install fio 3 or later \('apt-get install",
    ):
        ssdlab.calibrate_target(target)


def test_json_is_the_only_output_for_a_target(cli: Cli, target: Path) -> None:
    payload = json.loads(cli("calibrate", "--target", target, "--in-flight", "1,8", "--json").stdout)
    batch = payload["result"]["settings"]["block.scheduler.pardispatcher.read_batch"]
    assert batch == "8" and payload["configuration"] is None and payload["source"]["path"] == str(target)


def test_ctrl_c_ends_fio_and_prints_finished_cells(target: Path) -> None:
    command = [sys.executable, "-m", "ssdlab", "calibrate", "--target", str(target), "--in-flight", "1,8"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "FAKE_FIO": "slow"}
    )
    deadline = time.monotonic() + PATIENCE_SECONDS
    # The script reports that it sleeps for an hour, and ends on a signal.
    while not (target.parent / "log.ready").exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130 and "partial result" in out and "1,000" in out and "–" in out


def test_the_real_fio(tmp_path: Path) -> None:
    try:
        program = fio.find()
    except ssdlab.CalibrationError as error:
        pytest.skip(str(error))
    file = tmp_path / "data"
    file.write_bytes(os.urandom(4 << 20))
    before = file.read_bytes()
    grid: dict[str, Any] = {"regions": ["1MiB"], "in_flight": [1, 4], "seconds": 0.3}
    measured = ssdlab.calibrate_target(file, **grid)
    assert measured.source["fio"] == program.version and (measured.iops["read"] > 0).all()
    assert file.read_bytes() == before
    written = ssdlab.calibrate_target(file, write=True, offset="1MiB", **grid)
    assert (written.iops["write"] > 0).all()
    after = file.read_bytes()
    # Only the region was written.
    assert len(after) == len(before) and after[1 << 20 : 2 << 20] != before[1 << 20 : 2 << 20]
    assert after[: 1 << 20] == before[: 1 << 20] and after[2 << 20 :] == before[2 << 20 :]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
