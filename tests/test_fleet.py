"""Fleets: volumes have the requests of the trace, drives equal single runs, in any way of execution."""

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
from ssdlab.model.sizing import SIZED
from ssdlab.study.fleet import packing
from ssdlab.study.fleet.packing import RULES, packed
from ssdlab.study.store.folder import RUNS
from ssdlab.view.page import Facts
from sweeps import counted
from tiers import examples

CONFIG: dict[str, object] = {
    "device.scale": "none", "nand.pages_per_block": 33, "nand.channels": 2, "nand.ways": 2, "nand.planes": 1,
    "time": "event",
}  # fmt: skip
"""Drives that their trace sizes, of small blocks."""
SMALL_BLOCKS = ["--preset", "tlc-chip", "--set", "nand.pages_per_block=32"]
SETS = [word for key, value in CONFIG.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of five volumes."""
    return alibaba(tmp_path_factory.mktemp("fleet"), 1)[0]


@pytest.fixture(scope="module")
def alone(trace: Path) -> Path:
    """The fleet of these volumes, each on its own drive."""
    ssdlab.fleet(trace, CONFIG, out=trace.parent / "alone")
    return trace.parent / "alone"


def printed(cli: Cli, *arguments: object) -> dict[str, Any]:
    """Returns the result of `ssdlab run`."""
    found: dict[str, Any] = json.loads(cli("run", *arguments, *SETS, "--json").stdout)["result"]
    return found


def test_drives_equal_single_runs(trace: Path, alone: Path, cli: Cli) -> None:
    fleet = ssdlab.open_fleet(alone)
    assert not fleet.partial and len(fleet.drives) == len(fleet.volumes) == 5
    for run, drive in enumerate(fleet.drives):
        path = fleet.dataset.path(drive.volumes[0])
        own = fleet.study.result(run)
        assert own == printed(cli, path)
        # Only the number of lines of the trace differs.
        assert {**own, "ingest": None} == {**printed(cli, trace, "--device", drive.name), "ingest": None}


def test_shared_drives_equal_runs_of_merged_files(trace: Path, alone: Path, tmp_path: Path, cli: Cli) -> None:
    fleet = ssdlab.fleet(trace, CONFIG, pack="round-robin", drives=2, out=tmp_path / "f")
    assert [[member.name for member in drive.volumes] for drive in fleet.drives] == [
        [member.name for member in fleet.volumes[start::2]] for start in range(2)
    ]
    for run, drive in enumerate(fleet.drives):
        paths = [fleet.dataset.path(member) for member in drive.volumes]
        assert fleet.study.result(run) == printed(cli, *paths, "--merge")
    # A volume has its own requests, and the figures of its drive with a prefix.
    rows = {row["name"]: row for row in fleet.by_volume()}
    assert [*rows] == [member.name for member in fleet.volumes]
    for run, drive in enumerate(fleet.drives):
        amplification = fleet.study.result(run)["write_amplification"]
        own_rows = [rows[member.name] for member in drive.volumes]
        assert {row["drive.write_amplification"] for row in own_rows} == {amplification} and len(own_rows) == 3 - run
        assert {(row["drive"], row["drive.volumes"]) for row in own_rows} == {(drive.name, len(own_rows))}
        host = fleet.study.result(run)["ingest"]["counts"]
        assert sum(row["requests"] for row in own_rows) == host["requests"]
        # Response-time parts of the volumes add up to the drive's.
        for operation, count in (("read", "reads"), ("write", "writes")):
            together = fleet.study.result(run)["latency"][operation]
            known = {member.name: getattr(member, count) for member in drive.volumes}
            sums = [known[row["name"]] * (row[f"{operation}.mean_ns"] or 0.0) for row in own_rows]
            assert sum(sums) == pytest.approx(together["count"] * together["mean_ns"] if together else 0.0)
            assert all((row[f"{operation}.p99_ns"] is None) == (known[row["name"]] == 0) for row in own_rows)
    fleet.save(tmp_path / "saved")
    head, *lines = (tmp_path / "saved" / "volumes.csv").read_text(encoding="utf-8").splitlines()
    assert "written_bytes" in head and "drive.write_amplification" in head and len(lines) == 5
    assert fleet.to_dict()["volumes"] == [*rows.values()]
    assert fleet.page().sections[-1].title == "Volumes, busiest first"
    # A volume alone on a drive has the response times of the drive.
    for run, row in enumerate(ssdlab.open_fleet(alone).by_volume()):
        summary = ssdlab.open_fleet(alone).study.result(run)["latency"]["write"]
        assert row["write.p99_ns"] == (summary and summary["p99_ns"])
    # If the response times of a volume are unknown, the page states how to get them.
    serial = ssdlab.fleet(trace, {**CONFIG, "time": "serial"}, pack="round-robin", drives=2)
    when = "response times by volume require time=event"
    assert [when in repr(one.page().sections[-1]) for one in (serial, fleet)] == [True, False]
    # All volumes on a drive equal all devices of the trace side by side.
    whole = ssdlab.fleet(trace, CONFIG, pack="name", drives=1, out=tmp_path / "f")
    side_by_side = json.loads(json.dumps(ssdlab.simulate(CONFIG, ssdlab.TraceFile(trace, device="all")).to_dict()))
    names = [member.name for member in whole.drives[0].volumes]
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


def test_finished_work_is_not_repeated(trace: Path, tmp_path: Path) -> None:
    def run(**more: Any) -> int:
        with counted() as keys:
            ssdlab.fleet(trace, CONFIG, out=tmp_path / "f", **more)
        return len(keys)

    assert run() == 5
    made = (tmp_path / "f" / "volumes" / parted.INDEX).stat()
    assert run() == 0
    # Two drives have several volumes, and one drive has the same volume as before.
    assert run(pack="name", drives=3) == 2
    assert run() == 0
    assert (tmp_path / "f" / "volumes" / parted.INDEX).stat() == made
    # A changed trace is split again, and only new drives run.
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


def test_a_fleet_killed_at_any_moment_gives_the_same_result(trace: Path, alone: Path, tmp_path: Path) -> None:
    """Sends SIGKILL at random moments until a client finishes."""
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


def test_distributions_equal_the_drives(alone: Path) -> None:
    fleet = ssdlab.open_fleet(alone)
    results = [fleet.study.result(run) for run in range(5)]
    for figure in ("host.pages_written", "latency.all.p99_ns"):
        values = sorted(_figure(result, figure) for result in results)
        cdf = fleet.cdf(figure)
        assert cdf.values.tolist() == values and cdf.shares.tolist() == [0.2, 0.4, 0.6, 0.8, 1.0]
        for share in (0.0, 0.1, 0.2, 0.21, 0.5, 0.99, 1.0):
            assert cdf.at(share) == np.quantile(values, share, method="inverted_cdf")
        assert cdf.mean == pytest.approx(np.mean(values), rel=1e-12)
    programs = sum(sum(result["flash"]["programs"].values()) for result in results)
    assert fleet.write_amplification == pytest.approx(
        programs / sum(result["host"]["pages_written"] for result in results)
    )
    requests = sorted((member.requests for member in fleet.volumes), reverse=True)
    assert fleet.busiest(0.01) == requests[0] / sum(requests)
    told = {"volumes": 0.01, "count": 1, "requests": fleet.busiest(0.01)}
    assert fleet.to_dict()["busiest"][0] == told
    assert fleet.busiest(0.4) == sum(requests[:2]) / sum(requests) and fleet.busiest(1.0) == 1.0


def _figure(result: dict[str, Any], path: str) -> float:
    for name in path.split("."):
        result = result[name]
    assert isinstance(result, int | float)
    return result


def test_drives_that_the_trace_sized_have_no_life(alone: Path) -> None:
    """The output states no years, and no drive counts as a drive that never wears out."""
    fleet = ssdlab.open_fleet(alone)
    assert "life_years" not in fleet.study.figures and fleet.needed() == (5.0, 5, 0, 5, 5, "trace")
    page = fleet.page()
    assert any(SIZED in remark for remark in page.remarks) and not any(
        "lifetimes assume" in line.text for line in page.lead
    )


def test_worn_out_drives_are_replaced(trace: Path) -> None:
    fleet = ssdlab.fleet(trace, {**CONFIG, "time": "serial", "device.capacity": "1GiB", "host.fit": "compact"})
    lives = fleet.study.table["life_years"].to_pylist()
    known = sorted(life for life in lives if life is not None)
    for years in (known[0] / 2, known[0], known[0] * 1.5, known[-1] * 9.5):
        needed = fleet.asked_for([], years).needed()
        spent = sum(max(-int(-years // life), 1) for life in known)
        worn_out = sum(life < years for life in known)
        assert needed == (years, 5, worn_out, spent + lives.count(None), 0, "trace")


SLOW = ssdlab.Config(
    "tlc-chip", overrides={"nand.pages_per_block": 32, "device.capacity": "8MiB", "host.fit": "compact"}
)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"host.replay": "open"},
        {"host.replay": "open", "host.replay.open.speed": 0.5},
        {"host.repeat.times.count": 2},
        {"host.warmup": 1000},
        {"time": "count"},
    ],
)
def test_lives_follow_the_trace_rate_by_hand(tmp_path: Path, how: dict[str, object]) -> None:
    """A fleet writes 2,000 pages to one volume in its first 2 ms, which takes a chip a second, one page to another, and
    none to a third. It is watched for 10 seconds: 2,000 x 4,096 bytes x 8,640 and 4,096 bytes x 8,640 a day.
    """
    lines = [f"1,W,{page * 4096},4096,{1000 + page}" for page in range(2000)]
    lines += ["2,W,0,4096,500000", "3,R,0,4096,10001000"]
    fleet = ssdlab.fleet(written(tmp_path / "f.csv", lines), SLOW.with_overrides(how))
    slower = 2.0 if "host.replay.open.speed" in how else 1.0
    assert fleet.seconds == pytest.approx(10.0 * slower) and fleet.rate == "trace"
    lives = {fleet.drives[row["run"]].name: row["life_years"] for row in fleet.table.to_pylist()}
    device = fleet.study.result(0)["device"]
    endured = device["endurance_cycles"] * device["physical_bytes"]
    amplification = fleet.study.result(0)["write_amplification"]
    assert lives["1"] == pytest.approx(slower * endured / amplification / (2000 * 4096 * 8640) / 365.25)
    if "host.warmup" not in how:
        amplification = fleet.study.result(1)["write_amplification"]
        assert lives["2"] == pytest.approx(slower * endured / amplification / (4096 * 8640) / 365.25)
    # The third drive does not wear out.
    assert lives["3"] is None and fleet.needed().unknown == 0
    years = lives["1"] * 2.5
    assert fleet.asked_for([], years).needed() == (years, 3, 1, 5, 0, "trace")
    assert (
        fleet.page()
        .lead[1]
        .text.startswith(f"lifetimes assume the write rate of the trace, which repeats every {10 * slower:.1f} s")
    )
    assert not any("the projected life" in remark for remark in fleet.page().remarks)
    assert fleet.asked_for(["life_years:min"]).outcomes()[0].figure == "life_years"


@pytest.mark.parametrize(("clock", "unknown"), [("serial", 0), ("count", 1)])
def test_life_uses_the_replay_rate_without_trace_times(tmp_path: Path, clock: str, unknown: int) -> None:
    """If time is not modelled either, the lifetime is unknown, and the number of drives needed is a lower bound."""
    trace = ssdlab.Trace.from_columns(op=["write"] * 9, offset=[0] * 9, bytes=[4096] * 9)
    pq.write_table(trace.to_arrow().append_column("volume", pa.array([1] * 9)), tmp_path / "t.parquet")
    fleet = ssdlab.fleet(tmp_path / "t.parquet", SLOW.with_overrides({"time": clock}))
    needed = fleet.needed()
    assert (needed.rate, needed.unknown) == ("replay", unknown)
    if not unknown:
        assert fleet.table["life_years"].to_pylist() == [fleet.study.result(0)["lifetime"]["years"]]
    assert (
        fleet.page().lead[1].text
        == "lifetimes assume the write rate of the replay, because the trace has no timestamps"
    )
    rows = fleet.page().sections[0].items[0]
    assert isinstance(rows, Facts)
    facts = dict(rows.rows)
    assert facts["drives needed for 5.00 years"].endswith(" or more") == (unknown > 0)
    assert facts.get("drives with unknown lifetime") == (str(unknown) if unknown else None)


def test_a_fleet_is_saved_completely(alone: Path, tmp_path: Path) -> None:
    fleet = ssdlab.open_fleet(alone)
    fleet.save(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "report.html", "fleet.json", "drives.csv", "drives.parquet", "volumes.csv", "cdf.csv"
    }  # fmt: skip
    assert pq.read_table(tmp_path / "out" / "drives.parquet").equals(fleet.table)
    assert (tmp_path / "out" / "report.html").read_text(encoding="utf-8").count("data-chart=") == 1
    lines = (tmp_path / "out" / "cdf.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "figure,value,share" and len(lines) == 1 + sum(
        len(fleet.cdf(outcome.figure).values) for outcome in fleet.outcomes()
    )


def volume(name: str, end: int = 0, written: int = 0) -> parted.Volume:
    return parted.Volume(name, f"{name}.ssdlab-volume", 1, 0, 1, 0, written, end, 0, 0)


MIB = 1 << 20


def test_rules_pack_by_hand() -> None:
    def names(volumes: list[parted.Volume], rule: str, drives: int | None, room: int | None = None) -> list[list[str]]:
        return [[member.name for member in drive.volumes] for drive in packed(volumes, rule, drives, room)]

    some = [volume("d10"), volume("d9"), volume("d1"), volume("a"), volume("d2")]
    assert names(some, "alone", None) == [[member.name] for member in some]
    assert names(some, "round-robin", 2) == [["d10", "d1", "d2"], ["d9", "a"]]
    assert names(some, "name", 2) == [["a", "d1", "d2"], ["d9", "d10"]]
    writing = [volume(str(written), MIB, written) for written in (1, 7, 5, 4, 3)]
    assert names(writing, "write-rate", 2) == [["7", "3"], ["5", "4", "1"]]
    # Five volumes of 1 MiB each; a drive has room for two.
    assert names(writing, "round-robin", None, 2 * MIB) == [["1", "4"], ["7", "3"], ["5"]]
    # The next volume begins at a multiple of 1 MiB.
    assert [member.end_bytes for member in packed([volume("a", 5), volume("b", 7)], "name", 1, None)] == [MIB + 7]


@pytest.mark.parametrize("seed", range(max(1, examples(30) // 10)))
def test_every_rule_packs_every_volume_within_the_capacity(seed: int) -> None:
    draw = random.Random(seed)
    ends = [draw.randrange(1, 40 * MIB) for _ in range(draw.randrange(1, 60))]
    volumes = [volume(f"v{at}", end, draw.randrange(10**6)) for at, end in enumerate(ends)]
    for rule in RULES:
        drives = packed(volumes, rule, None, 40 * MIB)
        assert sorted(member.name for drive in drives for member in drive.volumes) == sorted(
            member.name for member in volumes
        )
        assert all(drive.end_bytes <= 40 * MIB for drive in drives), f"seed {seed}, {rule}"
    few = packed(volumes, "write-rate", len(volumes) // 4 + 1, None)
    rates = [sum(member.written_bytes for member in drive.volumes) for drive in few]
    # No drive exceeds another by more than a volume, because each volume went to the least loaded drive.
    assert max(rates) - min(rates) <= max(member.written_bytes for member in volumes), f"seed {seed}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plain.csv"], "plain.csv: ssdlab-csv has no volume names; pass a file for each volume"),
        (["plain.parquet"], "rename the column of volume names to 'volume'"),
        (["fleet.csv", "--pack", "round-robbin"], "did you mean round-robin"),
        (["fleet.csv", "--pack", "name"], "pack name: needs the number of drives"),
        (["fleet.csv", "--drives", "2"], "each volume has its own drive"),
        (["fleet.csv", "--pack", "name", "--drives", "6"], "must be from 1 to 5"),
        (
            ["fleet.csv", *SMALL_BLOCKS, "--set", "device.capacity=8MiB"],
            "5 of 5 volumes are too large; raise device.capacity",
        ),
        (
            ["just.csv", "plain.csv", "--fit", "error", "--set", "device.capacity=4GiB"],
            "volume just.csv ends at 4194308KiB, but a drive holds 4GiB; 1 of 2 volumes are too large",
        ),
        (
            ["fleet.csv", "--pack", "name", "--drives", "1", *SMALL_BLOCKS, "--set", "device.capacity=20MiB"],
            "volumes of drive 0 need",
        ),
        (["missing.csv"], "missing.csv: No such file"),
        (["empty"], "empty: has no files"),
        (["cache.csv", "--format", "cache-csv"], "contains cache objects"),
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


def test_folders_of_other_programs_are_not_changed(trace: Path, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "mine.txt").write_text("mine", encoding="ascii")
    done = cli("fleet", "run", trace, "--out", "f", check=False)
    assert done.returncode == 2 and "contains mine.txt but no fleet" in done.stderr
    done = cli("fleet", "show", "f", check=False)
    assert done.returncode == 2 and "contains no fleet; 'ssdlab fleet run --out FOLDER' creates one" in done.stderr


def test_a_failed_drive_is_a_row_and_a_remark(tmp_path: Path) -> None:
    lines = [f"{int(page > 9)},W,{page * 8192},4096,{1000 + page}" for page in range(3000)]
    packed_config = SLOW.with_overrides({"time": "event"})
    fleet = ssdlab.fleet(written(tmp_path / "two.csv", lines), packed_config)
    assert [error is None for error in fleet.study.table["error"].to_pylist()] == [True, False]
    assert fleet.cdf("write_amplification").values.tolist() == [fleet.write_amplification]
    assert [remark for remark in fleet.page().remarks if remark.startswith("1 drive failed: ")]


@pytest.mark.parametrize("shared", [False, True])
def test_a_volume_that_cannot_run_is_named_as_in_the_trace(shared: bool, tmp_path: Path) -> None:
    # A volume with trims only has no pages to pack.
    files = [written(tmp_path / f"{name}.csv", [f"0,{op},0,4096,0x2,1"]) for name, op in zip("abc", "WDD", strict=True)]
    packed: dict[str, Any] = {"pack": "write-rate", "drives": 2} if shared else {}
    fleet = ssdlab.fleet(files, {"host.fit": "compact", "time": "count"}, **packed)
    names = ["volume b.csv, volume c.csv"] if shared else ["volume b.csv", "volume c.csv"]
    assert [error.partition(" has no reads")[0] for error in fleet.study.failures] == [
        f"TraceError: {name}: the trace" for name in names
    ]


def test_a_fleet_fails_if_every_drive_fails(trace: Path, cli: Cli, tmp_path: Path) -> None:
    fleet = ssdlab.fleet(trace, {"device.capacity": "8TiB", "time": "count"}, pack="name", drives=2)
    assert fleet.write_amplification is None and fleet.to_dict()["distributions"] == []
    assert len(fleet.by_volume()) == 5 and "failed: MemoryError" in fleet.page().remarks[0]
    fleet.save(tmp_path)
    large = ["--set", "device.capacity=8TiB", "--set", "time=count"]
    assert cli("fleet", "run", trace, *large, check=False).returncode == 1


def test_a_fleet_repeats_the_notes_of_its_runs(alone: Path) -> None:
    """The notes report drives that are larger than requested because of whole blocks, and unsettled drives."""
    fleet = ssdlab.open_fleet(alone)
    notes = fleet.study.caveats_by_trace
    assert notes[0].startswith("No capacity set: using ")
    assert notes[1].startswith("5 of 5 runs: device.op is rounded up to whole blocks per plane")
    assert any("has not settled" in note for note in notes)
    assert {*notes} <= {*fleet.envelope()["notes"]} and notes[0] in fleet.report_html()


def test_one_drive_is_written_in_the_singular(trace: Path) -> None:
    fleet = ssdlab.fleet(trace, CONFIG, pack="name", drives=1)
    assert repr(fleet) == "<ssdlab.Fleet of 5 volumes on 1 drive>" and fleet.page().title.startswith(
        "5 volumes on 1 drive, "
    )


def test_requests_far_out_of_order_are_reported(tmp_path: Path) -> None:
    lines = [f"1,W,0,512,{time}" for time in (*range(200_000, 400_000), 5)]
    fleet = ssdlab.fleet(written(tmp_path / "late.csv", lines), {**CONFIG, "time": "count"})
    assert fleet.late == 1 and any("pass the files in chronological order" in remark for remark in fleet.page().remarks)


def test_natural_order_of_names() -> None:
    assert sorted(["a10b", "a9", "10", "9", "a"], key=packing._natural) == ["9", "10", "a", "a9", "a10b"]
