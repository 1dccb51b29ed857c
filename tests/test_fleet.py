"""Fleets: volumes are those of the trace, drives are single runs, and a fleet is the same however it was run."""

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ssdlab
from conftest import Cli
from fleets import alibaba, written
from ssdlab.model import volumes as parted
from ssdlab.study.fleet import packing
from ssdlab.study.fleet.packing import RULES, packed
from ssdlab.study.store.folder import RUNS
from ssdlab.view.page import Facts
from sweeps import counted
from tiers import examples

CONFIG: dict[str, object] = {"nand.pages_per_block": 32, "time": "event"}
SMALL_BLOCKS = ["--set", "nand.pages_per_block=32"]
SETS = [word for key, value in CONFIG.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of five volumes."""
    return alibaba(tmp_path_factory.mktemp("fleet"), 1)[0]


@pytest.fixture(scope="module")
def alone(trace: Path) -> Path:
    """Its volumes on drives of their own."""
    ssdlab.fleet(trace, CONFIG, out=trace.parent / "alone")
    return trace.parent / "alone"


def printed(cli: Cli, *arguments: object) -> dict[str, Any]:
    """What `ssdlab run` finds."""
    found: dict[str, Any] = json.loads(cli("run", *arguments, *SETS, "--json").stdout)["result"]
    return found


def test_drives_are_single_runs(trace: Path, alone: Path, cli: Cli) -> None:
    found = ssdlab.open_fleet(alone)
    assert not found.partial and len(found.drives) == len(found.volumes) == 5
    for run, drive in enumerate(found.drives):
        path = found.dataset.path(drive.volumes[0])
        own = found.study.result(run)
        assert own == printed(cli, path)
        # The trace itself holds more lines, and the rest is the same.
        assert {**own, "ingest": None} == {**printed(cli, trace, "--device", drive.name), "ingest": None}


def test_drives_that_volumes_share_are_runs_of_merged_files(trace: Path, alone: Path, tmp_path: Path, cli: Cli) -> None:
    found = ssdlab.fleet(trace, CONFIG, pack="round-robin", drives=2, out=tmp_path / "f")
    assert [[one.name for one in drive.volumes] for drive in found.drives] == [
        [one.name for one in found.volumes[start::2]] for start in range(2)
    ]
    for run, drive in enumerate(found.drives):
        paths = [found.dataset.path(one) for one in drive.volumes]
        assert found.study.result(run) == printed(cli, *paths, "--merge")
    # A volume has requests of its own, and the figures of its drive, which are called so.
    rows = {row["name"]: row for row in found.by_volume()}
    assert [*rows] == [one.name for one in found.volumes]
    for run, drive in enumerate(found.drives):
        amplification = found.study.result(run)["write_amplification"]
        its = [rows[one.name] for one in drive.volumes]
        assert {row["drive.write_amplification"] for row in its} == {amplification} and len(its) == 3 - run
        assert {(row["drive"], row["drive.volumes"]) for row in its} == {(drive.name, len(its))}
        host = found.study.result(run)["ingest"]["counts"]
        assert sum(row["requests"] for row in its) == host["requests"]
        # The parts of all response times are those of the volumes.
        for operation, count in (("read", "reads"), ("write", "writes")):
            together = found.study.result(run)["latency"][operation]
            known = {one.name: getattr(one, count) for one in drive.volumes}
            sums = [known[row["name"]] * (row[f"{operation}.mean_ns"] or 0.0) for row in its]
            assert sum(sums) == pytest.approx(together["count"] * together["mean_ns"] if together else 0.0)
            assert all((row[f"{operation}.p99_ns"] is None) == (known[row["name"]] == 0) for row in its)
    found.save(tmp_path / "saved")
    head, *lines = (tmp_path / "saved" / "volumes.csv").read_text(encoding="utf-8").splitlines()
    assert "written_bytes" in head and "drive.write_amplification" in head and len(lines) == 5
    assert found.to_dict()["volumes"] == [*rows.values()]
    assert found.page().sections[-1].title == "Volumes, busiest first"
    # Alone on a drive, volumes have its times.
    for run, row in enumerate(ssdlab.open_fleet(alone).by_volume()):
        summary = ssdlab.open_fleet(alone).study.result(run)["latency"]["write"]
        assert row["write.p99_ns"] == (summary and summary["p99_ns"])
    # Where nobody knows response times of a volume, the page says when they are known.
    serial = ssdlab.fleet(trace, {**CONFIG, "time": "serial"}, pack="round-robin", drives=2)
    when = "response times are known where time is event"
    assert [when in repr(one.page().sections[-1]) for one in (serial, found)] == [True, False]
    # All volumes on a drive are all devices of the trace side by side.
    whole = ssdlab.fleet(trace, CONFIG, pack="name", drives=1, out=tmp_path / "f")
    side_by_side = json.loads(json.dumps(ssdlab.simulate(CONFIG, ssdlab.TraceFile(trace, device="all")).to_dict()))
    names = [one.name for one in whole.drives[0].volumes]
    assert names == sorted(names) and whole.study.result(0)["host"] == side_by_side["host"]


@pytest.mark.parametrize("jobs", [1, 3])
def test_neither_jobs_nor_pieces_matter(
    trace: Path, alone: Path, tmp_path: Path, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parted, "PART_REQUESTS", jobs * 50)
    ssdlab.fleet(trace, CONFIG, out=tmp_path / "f", jobs=jobs)
    for name in (RUNS, "results.parquet", "plan.json"):
        assert (tmp_path / "f" / "study" / name).read_bytes() == (alone / "study" / name).read_bytes()
    for path in (alone / "volumes").glob("*.ssdlab-volume"):
        assert path.read_bytes() == (tmp_path / "f" / "volumes" / path.name).read_bytes()


def test_what_is_there_is_not_done_again(trace: Path, tmp_path: Path) -> None:
    def run(**more: Any) -> int:
        with counted() as keys:
            ssdlab.fleet(trace, CONFIG, out=tmp_path / "f", **more)
        return len(keys)

    assert run() == 5
    made = (tmp_path / "f" / "volumes" / parted.INDEX).stat()
    assert run() == 0
    # Two drives have several volumes, and one has the same as before.
    assert run(pack="name", drives=3) == 2
    assert run() == 0
    assert (tmp_path / "f" / "volumes" / parted.INDEX).stat() == made
    # A trace that was changed is parted again, and only what is new is run.
    with trace.open("r+", encoding="ascii") as file:
        kept = file.read()
        file.write("0,W,0,4096,1577808999000000\n")
    try:
        assert run() == 1
    finally:
        trace.write_text(kept, encoding="ascii")


KILLED = """
import sys
import ssdlab
from ssdlab.model import volumes
volumes.PART_REQUESTS = 64
ssdlab.fleet(sys.argv[1], {config!r}, out=sys.argv[2])
"""


def test_a_fleet_that_is_killed_at_any_moment_comes_to_the_same(trace: Path, alone: Path, tmp_path: Path) -> None:
    """SIGKILL again and again at random moments, until a client comes to its end."""
    for attempt in range(max(1, examples(60) // 60)):
        draw = random.Random(attempt)
        folder = tmp_path / f"killed{attempt}"
        for kills in range(200):
            command = [sys.executable, "-c", KILLED.format(config=CONFIG), str(trace), str(folder)]
            with subprocess.Popen(command) as client:
                try:
                    client.wait(timeout=draw.uniform(0.0, 1.0) + 2.0 * kills)
                    assert client.returncode == 0
                    break
                except subprocess.TimeoutExpired:
                    client.send_signal(signal.SIGKILL)
        else:
            pytest.fail(f"200 clients were killed (seed {attempt})")
        assert (folder / "study" / RUNS).read_bytes() == (alone / "study" / RUNS).read_bytes(), f"seed {attempt}"
        assert {path.name for path in folder.iterdir()} == {"volumes", "study"}


def test_distributions_are_those_of_the_drives(alone: Path) -> None:
    found = ssdlab.open_fleet(alone)
    results = [found.study.result(run) for run in range(5)]
    for figure in ("host.pages_written", "latency.all.p99_ns"):
        values = sorted(_figure(one, figure) for one in results)
        cdf = found.cdf(figure)
        assert cdf.values.tolist() == values and cdf.shares.tolist() == [0.2, 0.4, 0.6, 0.8, 1.0]
        for share in (0.0, 0.1, 0.2, 0.21, 0.5, 0.99, 1.0):
            assert cdf.at(share) == np.quantile(values, share, method="inverted_cdf")
        assert cdf.mean == pytest.approx(np.mean(values), rel=1e-12)
    programs = sum(sum(one["flash"]["programs"].values()) for one in results)
    assert found.write_amplification == pytest.approx(programs / sum(one["host"]["pages_written"] for one in results))
    requests = sorted((one.requests for one in found.volumes), reverse=True)
    assert found.busiest(0.01) == requests[0] / sum(requests)
    told = {"volumes": 0.01, "count": 1, "requests": found.busiest(0.01)}
    assert found.to_dict()["busiest"][0] == told
    assert found.busiest(0.4) == sum(requests[:2]) / sum(requests) and found.busiest(1.0) == 1.0


def _figure(result: dict[str, Any], path: str) -> float:
    for name in path.split("."):
        result = result[name]
    assert isinstance(result, int | float)
    return result


def test_drives_that_wear_out_are_bought_again(alone: Path) -> None:
    found = ssdlab.open_fleet(alone)
    lives = found.study.table["life_years"].to_pylist()
    known = sorted(life for life in lives if life is not None)
    for years in (known[0] / 2, known[0], known[0] * 1.5, known[-1] * 9.5):
        needed = found.asked_for([], years).needed()
        spent = sum(max(-int(-years // life), 1) for life in known)
        worn_out = sum(life < years for life in known)
        assert needed == (years, 5, worn_out, spent + lives.count(None), 0, "trace")


SLOW: dict[str, object] = {
    "nand.pages_per_block": 32, "time": "serial", "nand.channels": 1, "nand.ways": 1, "device.capacity": "8MiB",
    "host.fit": "compact",
}  # fmt: skip


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"host.replay": "open"},
        {"host.replay": "open", "host.replay.open.time_scale": 2.0},
        {"host.repeat.times.count": 2},
        {"host.warmup": 1000},
        {"time": "count"},
    ],
)
def test_lives_are_at_the_rate_of_the_trace_by_hand(tmp_path: Path, how: dict[str, object]) -> None:
    """A fleet writes 2,000 pages to a volume in its first 2 ms, which takes a chip a second, one page to another, and
    none to a third; it is watched for 10 seconds: 2,000 x 4,096 bytes x 8,640 and 4,096 bytes x 8,640 a day.
    """
    lines = [f"1,W,{page * 4096},4096,{1000 + page}" for page in range(2000)]
    lines += ["2,W,0,4096,500000", "3,R,0,4096,10001000"]
    found = ssdlab.fleet(written(tmp_path / "f.csv", lines), {**SLOW, **how})
    slower = 2.0 if "host.replay.open.time_scale" in how else 1.0
    assert found.seconds == pytest.approx(10.0 * slower) and found.rate == "trace"
    lives = {found.drives[row["run"]].name: row["life_years"] for row in found.table.to_pylist()}
    device = found.study.result(0)["device"]
    endured = device["endurance_cycles"] * device["physical_bytes"]
    amplification = found.study.result(0)["write_amplification"]
    assert lives["1"] == pytest.approx(slower * endured / amplification / (2000 * 4096 * 8640) / 365.25)
    if "host.warmup" not in how:
        amplification = found.study.result(1)["write_amplification"]
        assert lives["2"] == pytest.approx(slower * endured / amplification / (4096 * 8640) / 365.25)
    # Nothing wears the third.
    assert lives["3"] is None and found.needed().unknown == 0
    years = lives["1"] * 2.5
    assert found.asked_for([], years).needed() == (years, 3, 1, 5, 0, "trace")
    assert found.page().lead[1].text.startswith(f"life: at the rate of the trace, as if its {10 * slower:.1f} s came")
    assert not any("the projected life" in one for one in found.page().remarks)
    assert found.asked_for(["life_years:min"]).outcomes()[0].figure == "life_years"


@pytest.mark.parametrize(("clock", "unknown"), [("serial", 0), ("count", 1)])
def test_where_a_trace_has_no_times_the_rate_is_that_of_the_replay(tmp_path: Path, clock: str, unknown: int) -> None:
    """Or, where time is not modelled, nobody knows it: then it takes so many drives or more."""
    trace = ssdlab.Trace.from_columns(op=["write"] * 9, offset=[0] * 9, bytes=[4096] * 9)
    pq.write_table(trace.to_arrow().append_column("volume", pa.array([1] * 9)), tmp_path / "t.parquet")
    found = ssdlab.fleet(tmp_path / "t.parquet", {**SLOW, "time": clock})
    needed = found.needed()
    assert (needed.rate, needed.unknown) == ("replay", unknown)
    if not unknown:
        assert found.table["life_years"].to_pylist() == [found.study.result(0)["lifetime"]["years"]]
    assert found.page().lead[1].text == "life: at the rate of the replay, as the trace has no times"
    rows = found.page().sections[0].items[0]
    assert isinstance(rows, Facts)
    facts = dict(rows.rows)
    assert facts["drives needed for 5.00 years"].endswith(" or more") == (unknown > 0)
    assert facts.get("drives whose life is not known") == (str(unknown) if unknown else None)


def test_a_fleet_is_saved_whole(alone: Path, tmp_path: Path) -> None:
    found = ssdlab.open_fleet(alone)
    found.save(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "report.html", "fleet.json", "drives.csv", "drives.parquet", "volumes.csv", "cdf.csv"
    }  # fmt: skip
    assert pq.read_table(tmp_path / "out" / "drives.parquet").equals(found.table)
    assert (tmp_path / "out" / "report.html").read_text(encoding="utf-8").count("data-chart=") == 1
    lines = (tmp_path / "out" / "cdf.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "figure,value,share" and len(lines) == 1 + sum(
        len(found.cdf(one.figure).values) for one in found.outcomes()
    )


def volume(name: str, end: int = 0, written: int = 0) -> parted.Volume:
    return parted.Volume(name, f"{name}.ssdlab-volume", 1, 0, 1, 0, written, end, 0, 0)


MIB = 1 << 20


def test_rules_pack_by_hand() -> None:
    def names(volumes: list[parted.Volume], rule: str, drives: int | None, room: int | None = None) -> list[list[str]]:
        return [[one.name for one in drive.volumes] for drive in packed(volumes, rule, drives, room)]

    some = [volume("d10"), volume("d9"), volume("d1"), volume("a"), volume("d2")]
    assert names(some, "alone", None) == [[one.name] for one in some]
    assert names(some, "round-robin", 2) == [["d10", "d1", "d2"], ["d9", "a"]]
    assert names(some, "name", 2) == [["a", "d1", "d2"], ["d9", "d10"]]
    writing = [volume(str(written), MIB, written) for written in (1, 7, 5, 4, 3)]
    assert names(writing, "write-rate", 2) == [["7", "3"], ["5", "4", "1"]]
    # Five volumes of a mebibyte each, and a drive has room for two.
    assert names(writing, "round-robin", None, 2 * MIB) == [["1", "4"], ["7", "3"], ["5"]]
    # An end within a mebibyte takes all of it from the next volume.
    assert [one.end_bytes for one in packed([volume("a", 5), volume("b", 7)], "name", 1, None)] == [MIB + 7]


@pytest.mark.parametrize("seed", range(max(1, examples(30) // 10)))
def test_every_rule_keeps_every_volume_and_the_room(seed: int) -> None:
    draw = random.Random(seed)
    ends = [draw.randrange(1, 40 * MIB) for _ in range(draw.randrange(1, 60))]
    volumes = [volume(f"v{at}", end, draw.randrange(10**6)) for at, end in enumerate(ends)]
    for rule in RULES:
        drives = packed(volumes, rule, None, 40 * MIB)
        assert sorted(one.name for drive in drives for one in drive.volumes) == sorted(one.name for one in volumes)
        assert all(drive.end_bytes <= 40 * MIB for drive in drives), f"seed {seed}, {rule}"
    few = packed(volumes, "write-rate", len(volumes) // 4 + 1, None)
    rates = [sum(one.written_bytes for one in drive.volumes) for drive in few]
    # No drive lies above another by more than a volume: the last that it got went to the one that had least.
    assert max(rates) - min(rates) <= max(one.written_bytes for one in volumes), f"seed {seed}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plain.csv"], "plain.csv: ssdlab-csv names no volumes; give a file for each volume"),
        (["plain.parquet"], "call the column that names them volume"),
        (["fleet.csv", "--pack", "round-robbin"], "did you mean round-robin"),
        (["fleet.csv", "--pack", "name"], "pack name: say how many drives there are, or how much one holds"),
        (["fleet.csv", "--drives", "2"], "each volume has its own drive"),
        (["fleet.csv", "--pack", "name", "--drives", "6"], "give a number from 1 to 5"),
        (
            ["fleet.csv", *SMALL_BLOCKS, "--set", "device.capacity=8MiB"],
            "5 of 5 volumes are too large: raise device.capacity",
        ),
        (
            ["just.csv", "plain.csv", "--fit", "error", "--set", "device.capacity=4GiB"],
            "volume just.csv ends at 4194308KiB, and a drive holds 4GiB; 1 of 2 volumes are too large",
        ),
        (
            ["fleet.csv", "--pack", "name", "--drives", "1", *SMALL_BLOCKS, "--set", "device.capacity=20MiB"],
            "volumes of drive 0 take",
        ),
        (["missing.csv"], "missing.csv: No such file"),
        (["empty"], "empty: holds no files"),
        (["cache.csv", "--format", "cache-csv"], "holds cache objects"),
        (["fleet.csv", "--set", "device.opp=3%"], "did you mean device.op"),
    ],
)
def test_bad_input_is_one_clear_error(
    trace: Path, cli: Cli, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "fleet.csv").symlink_to(trace)
    plain = ssdlab.Trace.from_columns(op=["write"], offset=[0], bytes=[512])
    plain.save(tmp_path / "plain.csv")
    ssdlab.Trace.from_columns(op=["write"], offset=[4 << 30], bytes=[4096]).save(tmp_path / "just.csv")
    plain.save(tmp_path / "plain.parquet")
    (tmp_path / "empty").mkdir()
    (tmp_path / "cache.csv").write_text("5633898,42932745,512,-1\n", encoding="ascii")
    done = cli("fleet", "run", *arguments, "--out", "f", check=False)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "f" / "study").exists()


def test_folders_of_others_are_left_alone(trace: Path, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "mine.txt").write_text("mine", encoding="ascii")
    done = cli("fleet", "run", trace, "--out", "f", check=False)
    assert done.returncode == 2 and "holds mine.txt and no fleet" in done.stderr
    done = cli("fleet", "show", "f", check=False)
    assert done.returncode == 2 and "holds no fleet; 'ssdlab fleet run --out FOLDER' makes one" in done.stderr


def test_a_drive_that_fails_is_a_row_and_a_remark(tmp_path: Path) -> None:
    lines = [f"{int(page > 9)},W,{page * 8192},4096,{1000 + page}" for page in range(3000)]
    packed_config = {**CONFIG, "device.capacity": "8MiB", "host.fit": "compact"}
    found = ssdlab.fleet(written(tmp_path / "two.csv", lines), packed_config)
    assert [error is None for error in found.study.table["error"].to_pylist()] == [True, False]
    assert found.cdf("write_amplification").values.tolist() == [found.write_amplification]
    assert [remark for remark in found.page().remarks if remark.startswith("1 drive failed: ")]


@pytest.mark.parametrize("shared", [False, True])
def test_a_volume_that_cannot_be_run_is_named_as_the_trace_does(shared: bool, tmp_path: Path) -> None:
    # Of what trims alone there is nothing to be packed.
    files = [written(tmp_path / f"{name}.csv", [f"0,{op},0,4096,0x2,1"]) for name, op in zip("abc", "WDD", strict=True)]
    packed: dict[str, Any] = {"pack": "write-rate", "drives": 2} if shared else {}
    found = ssdlab.fleet(files, {"host.fit": "compact", "time": "count"}, **packed)
    names = ["volume b.csv, volume c.csv"] if shared else ["volume b.csv", "volume c.csv"]
    assert [error.partition(" in the trace")[0] for error in found.study.failures] == [
        f"TraceError: {name}: nothing" for name in names
    ]


def test_a_fleet_of_which_every_drive_failed_is_told(trace: Path, cli: Cli, tmp_path: Path) -> None:
    found = ssdlab.fleet(trace, {"device.capacity": "8TiB", "time": "count"}, pack="name", drives=2)
    assert found.write_amplification is None and found.to_dict()["distributions"] == []
    assert len(found.by_volume()) == 5 and "failed: MemoryError" in found.page().remarks[0]
    found.save(tmp_path)
    large = ["--set", "device.capacity=8TiB", "--set", "time=count"]
    assert cli("fleet", "run", trace, *large, check=False).returncode == 1


def test_a_fleet_says_what_its_runs_would(alone: Path) -> None:
    """Drives of whole blocks that are larger than asked for, and what has not settled."""
    found = ssdlab.open_fleet(alone)
    told = found.study.caveats
    assert told[0].startswith("No capacity set: using ")
    assert told[1].startswith("5 of 5 runs: device.op is rounded up to whole blocks per plane")
    assert any("has not settled" in one for one in told)
    assert {*told} <= {*found.envelope()["notes"]} and told[0] in found.report_html()


def test_one_drive_is_no_drives(trace: Path) -> None:
    found = ssdlab.fleet(trace, CONFIG, pack="name", drives=1)
    assert repr(found) == "<ssdlab.Fleet of 5 volumes on 1 drive>" and found.page().title == "5 volumes on 1 drive"


def test_requests_far_out_of_order_are_told(tmp_path: Path) -> None:
    lines = [f"1,W,0,512,{time}" for time in (*range(200_000, 400_000), 5)]
    found = ssdlab.fleet(written(tmp_path / "late.csv", lines), {**CONFIG, "time": "count"})
    assert found.late == 1 and any("give files in the order of their times" in one for one in found.page().remarks)


def test_the_natural_order_of_names() -> None:
    assert sorted(["a10b", "a9", "10", "9", "a"], key=packing._natural) == ["9", "10", "a", "a9", "a10b"]
