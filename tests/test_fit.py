"""Fitting a drive: the fio job, readers of measurements, the choice of parameters, and simulated black boxes."""

import json
import math
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from conftest import Cli
from ssdlab.analyse.drive import use
from ssdlab.cli import app as cli_app
from ssdlab.lazy import Numbers
from ssdlab.model.config import Config
from ssdlab.study.fitting import fio_json, load, sheet, table
from ssdlab.study.fitting.fit import Drive, fit_drive, merged
from ssdlab.study.fitting.job import job
from ssdlab.study.fitting.load import Figure, Load, Measured, Queue
from ssdlab.study.fitting.parameters import CATALOGUE
from ssdlab.study.fitting.result import DriveFit, Fitted
from ssdlab.study.fitting.scale import Geometry, exact, scaled
from ssdlab.study.fitting.solve import _with_bounded, choose, deviations, solve, tie
from ssdlab.study.fitting.stages import OPS, STAGES, below_capacity, is_saturated
from ssdlab.study.store.folder import Store
from ssdlab.study.validation import fit as validation
from ssdlab.view.page import Paragraph
from ssdlab.view.pages import fit as fit_page
from tiers import TIER

PROBE = Queue(1, 0.5, 64, "fixed", 10_000)


# The job.


def options(text: str) -> dict[str, dict[str, str]]:
    """Options of each section of a job file."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if line.startswith("["):
            found[line.strip("[]")] = own = {}
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            own[key] = value
    return found


def test_the_job_only_reads_unless_asked() -> None:
    sections = options(job())
    assert sections.pop("global")["filename"] == "${DEVICE}"
    assert {section["rw"] for section in sections.values()} == {"randread", "read"}
    depths = [int(one["iodepth"]) * int(one.get("numjobs", 1)) for one in sections.values() if one["rw"] == "randread"]
    assert depths == [1, 4, 16, 64, 256]
    assert "--readonly" in job() and "DESTROYS" not in job()
    assert "ssdlab fit drive result.json --base client-nvme -o my.toml" in job()
    assert all("stonewall" in section and section["runtime"] == "15" for section in sections.values())


def test_the_job_writes_shares_of_the_sheets_random_writes() -> None:
    text = job(write=True, random_write=100_000)
    sections = options(text)
    assert "--readonly" not in text and "DESTROYS ALL DATA" in text.splitlines()[0]
    # 30 % of 100,000: 5,000 writes of the probe, and six queues that share 25,000 requests, 1 % of them reads.
    assert sections["writers-30"]["rate_iops"] == "42,4125" and sections["writers-30"]["numjobs"] == "6"
    assert sections["probe-30"]["rate_iops"] == "5000,5000"
    assert options(job(write=True, random_write=4_000))["probe-15"]["rate_iops"] == "300,300"
    # The probe and its writers run together, so only the probe waits for the jobs before.
    assert "stonewall" in sections["probe-30"] and "stonewall" not in sections["writers-30"]
    assert [*sections].index("overwrite") < [*sections].index("probe-15")
    with pytest.raises(ssdlab.ConfigError, match=r"such as --sheet random_write=85k/s"):
        job(write=True)


def test_the_job_refuses_a_used_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "drive"
    file.write_bytes(bytes(4096))
    assert f"filename={file}" in job(file)
    monkeypatch.setattr(use, "why_file_in_use", lambda path: "it is used as swap")
    with pytest.raises(ssdlab.CalibrationError, match="is in use: it is used as swap; use another file"):
        job(file)


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize("write", [False, True])
def test_fio_accepts_the_job(write: bool, tmp_path: Path) -> None:
    file = tmp_path / "drive"
    file.write_bytes(bytes(1 << 20))
    (tmp_path / "job").write_text(job(file, write=write, random_write=85_000))
    done = subprocess.run(["fio", "--parse-only", "job"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


# Results of fio.


def entry(name: str, group: int, op: str, *, iops: float = 1000.0, **given: Any) -> dict[str, Any]:
    """An entry of fio's JSON for a job that only read or wrote, with latencies of 50 to 100 us."""
    busy = {
        "total_ios": 1000,
        "iops": iops,
        "lat_ns": {"mean": 60_000.0, "percentile": {"50.000000": 50_000, "99.000000": 90_000, "99.900000": 100_000}},
    }
    idle = {"total_ios": 0, "iops": 0.0, "lat_ns": {"mean": 0.0}}
    other = "write" if op == "read" else "read"
    listed = {key: str(value) for key, value in given.items()}
    return {"jobname": name, "groupid": group, "error": 0, "job options": listed, op: busy, other: idle}


def fio(*jobs: dict[str, Any], **shared: str) -> list[Measured]:
    text = json.dumps({"fio version": "fio-3.33", "global options": {"bs": "4k", **shared}, "jobs": jobs})
    return fio_json.read(Path("result.json"), f"fio: a warning\n{text}")


def test_a_closed_loop_of_fio_is_a_load() -> None:
    (measured,) = fio(entry("deep", 0, "read", rw="randread", iodepth=16, numjobs=4))
    assert measured.load == Load("deep", (Queue(4, 1.0, 16),))
    assert measured.figures == {
        Figure("read", "iops"): 1000,
        Figure("read", "mean"): 60_000,
        Figure("read", "p50"): 50_000,
        Figure("read", "p99"): 90_000,
        Figure("read", "p99.9"): 100_000,
    }


def test_clones_of_a_job_count_together() -> None:
    clones = [entry("deep", 0, "read", rw="randread", iodepth=8, numjobs=2, iops=rate) for rate in (1000.0, 3000.0)]
    clones[1]["read"]["lat_ns"]["mean"] = 100_000.0
    (measured,) = fio(*clones)
    assert measured.load.outstanding == 16
    assert measured.figures[Figure("read", "iops")] == 4000
    # 1,000 requests at 60 us, 3,000 at 100 us.
    assert measured.figures[Figure("read", "mean")] == pytest.approx(90_000)


def test_jobs_that_run_together_are_queues_of_one_load() -> None:
    probe = entry("probe", 1, "read", rw="randrw", rwmixread=50, rate_iops="5000,5000", iodepth=64)
    probe["write"] = {**probe["read"], "iops": 900.0}
    writers = entry(
        "writers", 1, "write", iops=7000.0, rw="randrw", rwmixread=1, iodepth=64, numjobs=6, rate_iops="10,990",
        rate_process="poisson",
    )  # fmt: skip
    alone = entry("fill", 0, "write", rw="write", bs="128k", iodepth=32)
    skipped = entry("overwrite", 0, "write", rw="randwrite")
    first, second = fio(alone, skipped, probe, writers)
    assert first.load == Load("fill", (Queue(1, 0.0, 32),), "sequential", 131072)
    # Large requests are judged by their bandwidth only.
    assert first.figures == {Figure("write", "iops"): 1000}
    assert second.load == Load("probe", (PROBE, Queue(6, 0.01, 64, "poisson", 1000.0)))
    assert second.figures[Figure("write", "iops")] == 7900 and second.figures[Figure("read", "p99")] == 90_000
    assert Figure("read", "iops") not in second.figures
    # 6 x 990 + 5,000 writes were offered.
    assert second.load.offered_writes == pytest.approx(10_940) and is_saturated(second, [second])


def test_percentiles_come_from_the_histogram_of_json_plus() -> None:
    one = entry("read", 0, "read", rw="randread")
    one["read"]["lat_ns"] = {"mean": 60_000.0}
    one["read"]["clat_ns"] = {"mean": 58_000.0, "bins": {"70000": 10, "50000": 85, "90000": 5}}
    (measured,) = fio(one)
    assert measured.figures[Figure("read", "p50")] == 50_000
    assert measured.figures[Figure("read", "p90")] == 70_000
    assert measured.figures[Figure("read", "p99.9")] == 90_000


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rw": "trim"}, "job one: rw=trim is not supported"),
        ({"rw": "randread", "bssplit": "4k/50:8k/50"}, "job one: bssplit is not supported"),
        ({"rw": "randread", "thinktime": "5"}, "job one: thinktime is not supported"),
        ({"rw": "randread", "bs": "4k,64k"}, "job one: mixed block sizes 4k,64k"),
        ({"rw": "randread", "bs": "huge"}, "job one: bs=huge is not a size"),
        ({"rw": "randread", "iodepth": "many"}, "job one: iodepth=many is not a whole number"),
    ],
)
def test_other_jobs_of_fio_are_refused_in_one_line(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ssdlab.ConfigError) as error:
        fio(entry("one", 0, "read", **given))
    message = str(error.value)
    assert f"result.json: {words}" in message and "'ssdlab fit drive --job'" in message and "\n" not in message


def test_other_faults_of_a_result_name_the_job() -> None:
    silent = entry("one", 0, "read", rw="randread")
    del silent["read"]["lat_ns"]["percentile"]
    with pytest.raises(ssdlab.ConfigError, match="job one: has no percentiles; add lat_percentiles=1"):
        fio(silent)
    with pytest.raises(
        ssdlab.ConfigError, match="job one: 0 outstanding requests are not supported; use 1 to 1,000,000"
    ):
        fio(entry("one", 0, "read", rw="randread", iodepth=0))
    failed = {**entry("one", 0, "read", rw="randread"), "error": 5}
    with pytest.raises(ssdlab.ConfigError, match="job one: fio reported error 5"):
        fio(failed)
    with pytest.raises(ssdlab.ConfigError, match=r"job one: ran concurrently with other jobs, .* add 'stonewall'"):
        fio(entry("one", 0, "read", rw="randread"), entry("two", 0, "write", rw="randwrite"))
    with pytest.raises(ssdlab.ConfigError, match="no job completed a request"):
        fio(entry("overwrite", 0, "write", rw="randwrite"))
    incomplete = entry("one", 0, "read", rw="randread")
    del incomplete["read"]["lat_ns"]["mean"]
    no_write = entry("one", 0, "read", rw="randread")
    del no_write["write"]
    named = entry("one", 0, "read", rw="randread")
    named["read"]["lat_ns"]["percentile"] = {"median": 50_000}
    for damaged in (incomplete, no_write, named, "one"):
        with pytest.raises(ssdlab.ConfigError, match="fio result is incomplete or damaged; repeat"):
            fio(damaged)  # type: ignore[arg-type]
    for text, words in (("{", "not JSON"), ("[1]", "not JSON"), ('{"jobs": []}', "not a fio result")):
        with pytest.raises(ssdlab.ConfigError, match=words):
            fio_json.read(Path("result.json"), text)


# Tables.


def rows(text: str, device: str | None = None) -> list[Measured]:
    return table.read(Path("loads.csv"), text, device)


def test_a_row_of_ssd_iq_is_a_probe_beside_writers() -> None:
    head = "device,offered_iops_50r50w,read_p50_us,read_p90,read_p999,write_p99\n"
    text = f"{head}one,20000,65,160,497,12\ntwo,20000,1,1,1,1\n"
    (measured,) = rows(text, "one")
    assert measured.load.queues == (PROBE, Queue(6, 0.01, 64, "poisson", 2500.0))
    assert measured.figures == {
        Figure("read", "p50"): 65_000,
        Figure("read", "p90"): 160_000,
        Figure("read", "p99.9"): 497_000,
        Figure("write", "p99"): 12_000,
    }
    with pytest.raises(ssdlab.ConfigError, match=r"has 2 devices; choose a device, such as --device 'one'"):
        rows(text)
    with pytest.raises(ssdlab.ConfigError, match=r"--device three: loads.csv has one, two"):
        rows(text, "three")


def test_a_row_with_a_depth_is_a_closed_loop() -> None:
    deep, large = rows("depth,reads,size,pattern,read_iops,read_mean_us\n8,,,,9000,80\n4,100%,128KiB,sequential,5,\n")
    assert deep == Measured(
        Load("reads, depth 8", (Queue(1, 1.0, 8),)), {Figure("read", "iops"): 9000, Figure("read", "mean"): 80_000}
    )
    assert (large.load.pattern, large.load.size, large.load.outstanding) == ("sequential", 131072, 4)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("depth,speed\n1,2\n", "loads.csv:1: unknown column speed; use columns such as"),
        ("read_p50\n1\n", "loads.csv:1: no column describes the load; add a column background_iops or depth"),
        ("depth,read_p50\n1,fast\n", "loads.csv:2: read_p50: fast is not a number above 0"),
        ("depth,read_p50\n1,-5\n", "loads.csv:2: read_p50: -5 is not a number above 0"),
        ("depth,read_p50\n1.5,5\n", "loads.csv:2: set depth to a whole number"),
        ("depth,read_p50\n1,\n", "loads.csv:2: has no measured value; fill in columns"),
        ("depth,read_p50\n", "loads.csv: has no rows"),
        ("depth,reads,read_p50\n1,half,5\n", "loads.csv:2: reads: "),
        ("depth,reads,read_p50\n1,150%,5\n", "loads.csv:2: a share of 150 % reads is impossible; use 0 to 100 %"),
        (
            "depth,size,read_p50\n1,5KiB,5\n",
            "loads.csv:2: requests of 5KiB are not supported; use a multiple of 4KiB up to 1GiB",
        ),
        (
            "depth,size,read_p50\n1,64GiB,5\n",
            "loads.csv:2: requests of 64GiB are not supported; use a multiple of 4KiB up to 1GiB",
        ),
        (
            "depth,read_p50\n1e9,5\n",
            "loads.csv:2: 1,000,000,000 outstanding requests are not supported; use 1 to 1,000,000",
        ),
        ("depth,read_p100\n1,5\n", "loads.csv:1: column read_p100: a percentile must be above 0 and below 100"),
        ("depth,read_p50,read_p50\n1,5,6\n", "loads.csv:1: column read_p50 appears twice; rename or remove one"),
        ("depth,read_p50\n1,5,6\n", "loads.csv:2: has more cells than the header; remove the extra cells"),
        ("offered_iops_50r50w,read_p50\n4000,5\n", "loads.csv:2: offered_iops_50r50w: must be above 5000"),
    ],
)
def test_faults_of_a_table_name_the_line(text: str, words: str) -> None:
    with pytest.raises(ssdlab.ConfigError) as error:
        rows(text)
    assert str(error.value).startswith(words) and "\n" not in str(error.value)


# Data sheets.


def test_numbers_of_a_sheet_are_loads() -> None:
    loads, values = sheet.read(["capacity=960GB", "sequential_write=1400MB/s", "random_read=530k/s"])
    assert values["capacity"] == 960e9 and [one.load.pattern for one in loads] == ["sequential", "random"]
    # 1,400 MB/s in requests of 128 KiB.
    assert loads[0].figures == {Figure("write", "iops"): pytest.approx(10_681.15, rel=1e-6)}
    assert loads[1].figures == {Figure("read", "iops"): 530_000} and loads[1].load.outstanding == 256


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("sequential_writes=1GB/s", "unknown key; did you mean sequential_write?"),
        ("speed=1GB/s", "unknown key; use capacity, sequential_read"),
        ("read_latency=80", "must have a value, such as read_latency=80us"),
        ("read_latency", "must have a value, such as read_latency=80us"),
        ("random_read=0/s", "must have a value, such as random_read=530k/s"),
    ],
)
def test_faults_of_a_sheet_name_the_key(given: str, words: str) -> None:
    with pytest.raises(ssdlab.ConfigError) as error:
        sheet.read([given])
    assert f"--sheet {given}: {words}" in str(error.value)


# Which parameters the figures determine.


def linear(slopes: list[list[float]], truth: list[float]) -> Any:
    """A model whose logarithms are linear in the logarithms of its parameters; the search starts at 0."""
    matrix = np.array(slopes)
    count = matrix.shape[1]

    def model(points: "Sequence[Numbers]") -> "list[Numbers]":
        return [matrix @ point for point in points]

    return solve(
        model,
        matrix @ np.array(truth),
        np.full(len(matrix), 0.05),
        start=np.zeros(count),
        base=np.full(count, -1.0),
        bounds=(np.full(count, -5.0), np.full(count, 5.0)),
    )


def test_determined_parameters_are_found_with_their_uncertainty() -> None:
    found = linear([[1, 0], [0, 2], [1, 1]], [1.5, -0.7])
    assert found.point == pytest.approx([1.5, -0.7], abs=1e-3) and found.misfit < 0.01 and found.ties == {}
    # Inverse of [[2, 1], [1, 5]], whose determinant is 9, by hand.
    assert found.deviations == pytest.approx([0.05 * math.sqrt(5 / 9), 0.05 * math.sqrt(2 / 9)], rel=1e-3)


def test_a_parameter_tied_to_another_stays_at_the_base() -> None:
    # The second changes all figures as the first does; the third changes none.
    found = linear([[1, 2, 0], [2, 4, 0]], [1.0, 0.5, 1.0])
    assert found.deviations[1:] == [None, None] and found.ties[1].others == (0,) and found.ties[2].others == ()
    assert found.point[1:] == pytest.approx([-1.0, -1.0])


def test_parameters_are_chosen_in_the_order_of_preference() -> None:
    same = np.array([[10.0, 10.0, 0.1], [20.0, 20.0, 0.0]])
    assert choose(same) == [0] and choose(same[:, ::-1]) == [1]
    assert tie(same, 1, [0]).others == (0,) and tie(same, 2, [0]).others == ()
    assert deviations(np.array([[10.0, 0.0], [0.0, 5.0]]), [0, 1]) == pytest.approx([0.1, 0.2])


def test_a_parameter_behind_another_limit_is_not_determined() -> None:
    """The larger of two times limits three figures; a fourth figure depends only on the second time. The search ends
    where both times are equal. There the figures show only that the first time is not longer.
    """

    def model(points: "Sequence[Numbers]") -> "list[Numbers]":
        return [np.array([max(first, second)] * 3 + [second]) for first, second in points]

    found = solve(
        model,
        np.zeros(4),
        np.full(4, 0.05),
        start=np.array([0.5, 0.0]),
        base=np.array([-0.7, 0.3]),
        bounds=(np.full(2, -5.0), np.full(2, 5.0)),
    )
    assert found.point == pytest.approx([-0.7, 0.0], abs=1e-3)
    # Four figures of 5 % each.
    assert found.deviations[0] is None and found.deviations[1] == pytest.approx(0.05 / math.sqrt(4), rel=1e-3)


def test_a_base_value_that_the_figures_contradict_is_not_kept() -> None:
    """The second parameter adds to one figure only where it is above 0. The figures tell that it is not, and no more.
    At the base's value of 1, that figure would be 40 standard deviations too large.
    """

    def model(points: "Sequence[Numbers]") -> "list[Numbers]":
        return [np.array([first] * 4 + [first + 2 * max(second, 0.0)]) for first, second in points]

    found = solve(
        model,
        np.full(5, 0.3),
        np.full(5, 0.05),
        start=np.array([0.0, 0.5]),
        base=np.array([-1.0, 1.0]),
        bounds=(np.full(2, -5.0), np.full(2, 5.0)),
    )
    assert found.bounded == {1} and found.deviations[1] is None and found.point[1] < 0.1
    assert found.point[0] == pytest.approx(0.3, abs=0.02)
    # The figure that tells it.
    assert found.shares[:, 1] == pytest.approx([0, 0, 0, 0, 1], abs=1e-3)


def test_a_bounded_parameter_makes_others_less_certain() -> None:
    slopes = np.array([[10.0, 5.0]])
    alone, together = deviations(slopes, [0]), deviations(*_with_bounded(slopes, [0], [1]))
    # 5 x 0.7 standard deviations of the figure, from a factor of two, in addition to its own.
    assert alone == pytest.approx([0.1]) and together[0] == pytest.approx(0.1 * math.hypot(1, 5 * 0.7), rel=1e-6)


# The small drive.


def test_the_small_drive_keeps_dies_times_and_over_provisioning() -> None:
    large = Config("tlc-nvme")
    small = scaled(large)
    for key in ("nand.read", "nand.program", "nand.channels", "nand.ways", "nand.planes", "drive.command"):
        assert small[key] == large[key]
    ratio = small["nand.pages_per_block"] / large["nand.pages_per_block"]
    assert ratio < 0.05
    nanos = [ssdlab._ssdlab.nanos(one["nand.erase"]) for one in (small, large)]
    assert nanos[0] / nanos[1] == pytest.approx(ratio, rel=1e-4)
    assert Geometry(small).op == pytest.approx(Geometry(large).op, rel=1e-4)
    small.check()


def test_a_drive_of_few_blocks_gets_more() -> None:
    # Two blocks of 512 pages on each of 16 planes would leave no block to collect: 68.5 MiB are 64 blocks of 17 pages.
    small_blocks = {"device.op": "7%", "device.reserve": "extra", "nand.pages_per_block": 512}
    small = scaled(Config("tlc-nvme", overrides={"device.capacity": "64MiB", **small_blocks}))
    assert Geometry(small).blocks == 64 and small["nand.pages_per_block"] == 17
    small.check()


def test_over_provisioning_changes_without_steps() -> None:
    small = scaled(Config("small-nvme"))
    for op in (0.07, 0.0705, 0.2, 1.0):
        drive = exact(small, {"device.op": f"{100 * op}%"})
        assert Geometry(drive).op == pytest.approx(op, rel=1e-4) and Geometry(drive).blocks == Geometry(small).blocks


def test_a_drive_that_serves_one_request_at_a_time_is_refused() -> None:
    with pytest.raises(ssdlab.ConfigError, match=r"time=serial serves one request at a time; .* --base small-nvme"):
        scaled(Config("tlc-chip"))


# Steps of a fit.


def probe(background: float, write_p50: float, **more: float) -> Measured:
    queues = (PROBE, Queue(6, 0.01, 64, "poisson", background / 6))
    figures = {Figure("write", "p50"): write_p50, Figure("read", "p50"): 60_000.0}
    return Measured(Load(f"{background}", queues), {**figures, **{Figure("write", k): v for k, v in more.items()}})


def test_loads_above_the_capacity_are_detected_by_rate_or_median() -> None:
    few, more, most = probe(5_000, 10_000), probe(50_000, 12_000), probe(90_000, 5e6)
    loads = [most, few, more]
    assert [is_saturated(one, loads) for one in loads] == [True, False, False]
    assert below_capacity(loads) == [few, more]
    # With the rate measured, the rate decides: 90,000 x 99 % + 5,000 writes are offered.
    assert not is_saturated(probe(90_000, 5e6, iops=93_000.0), loads)
    assert is_saturated(probe(90_000, 10_000, iops=80_000.0), loads)


def test_slots_follow_from_the_time_that_a_write_takes_longer_than_a_read() -> None:
    """Of 60,000 writes per second, each holds a slot for 2 ms: 120 slots."""
    latencies = {"mean": (3e6, 5e6), "p50": (2e6, 4.5e6)}
    figures = {Figure(op, name): pair[at] for name, pair in latencies.items() for at, op in enumerate(OPS)}
    queues = (PROBE, Queue(6, 0.01, 64, "poisson", 20_000))
    measured = Measured(Load("above", queues), {**figures, Figure("write", "iops"): 60_000})
    stage = next(stage for stage in STAGES if "slots" in stage.parameters)
    (chosen,) = stage.choose([measured])
    slot_time = Figure("write", "mean - read mean")
    assert chosen.figures[slot_time] == 2e6 and str(slot_time) == "write mean - read mean"
    assert CATALOGUE["slots"].guess(Config("small-nvme"), [chosen]) == pytest.approx(120)
    # A table may have medians alone.
    medians = {figure: value for figure, value in measured.figures.items() if figure.name != "mean"}
    (chosen,) = stage.choose([Measured(measured.load, medians)])
    assert chosen.figures[Figure("write", "p50 - read p50")] == 2.5e6


# A fit of a tiny drive with known parameters.

BOX = {
    "device.capacity": "64MiB",
    "device.op": "25%",
    "nand.channels": 4,
    "nand.ways": 1,
    "nand.pages_per_block": 64,
    "nand.read": "45us",
    "nand.program": "300us",
    "drive.command": "1us",
}
TRUTH = {"nand.read": "62us", "nand.program": "410us"}
SETS = [argument for key, value in BOX.items() for argument in ("--set", f"{key}={value}")]


def sheet_of(box: Config) -> dict[str, float]:
    """The figures of a simulated drive that a data sheet would contain."""
    loads = {key: sheet.ENTRIES[key] for key in ("read_latency", "sequential_write")}
    wanted = [Measured(one.load, {one.figure: 1.0}) for one in loads.values()]
    drive = Drive(box, None, None)
    (found,) = drive.figures("sheet", [drive.small], wanted)
    return {key: found[one.load][one.figure] for key, one in loads.items()}


def test_a_sheet_fits_a_tiny_drive(cli: Cli, tmp_path: Path) -> None:
    numbers = sheet_of(Config("small-nvme", overrides={**BOX, **TRUTH}))
    given = [
        f"--sheet=read_latency={numbers['read_latency']:.0f}ns",
        f"--sheet=sequential_write={numbers['sequential_write'] * sheet.LARGE:.0f}B/s",
    ]
    out = cli("fit", "drive", *given, "--base", "small-nvme", *SETS, "-o", "my.toml").stdout
    assert "read p50 of reads, depth 1" in out and "written to my.toml; use it with --config my.toml" in out
    assert "reads at depths 64 and 256: processor time" in out
    found = Config(file=tmp_path / "my.toml")
    for key, value in TRUTH.items():
        ours, true = (ssdlab._ssdlab.nanos(one) for one in (found[key], value))
        assert ours == pytest.approx(true, rel=0.03), key
    assert found["nand.channels"] == 4 and found["device.capacity"] == "64MiB"
    text = (tmp_path / "my.toml").read_text()
    assert 'preset = "small-nvme"' in text and "fitted to read p50 of reads, depth 1" in text


def test_a_fit_is_saved_with_its_residuals(tmp_path: Path) -> None:
    loads = [Measured(sheet.ENTRIES["read_latency"].load, {Figure("read", "p50"): 80_000.0})]
    found = fit_drive(loads, Config("small-nvme", overrides=BOX), source=["a sheet"])
    found.save(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "report.html", "fit.json", "residuals.csv", "drive.toml"
    }  # fmt: skip
    (residual,) = found.residuals
    assert abs(residual.difference) < 0.02 and [*found.values] == ["page_read"]
    assert found.config["nand.read"] == Config(file=tmp_path / "out" / "drive.toml")["nand.read"]
    assert next(one for one in found.fitted if one.name == "read_delay").tied == ("page_read",)
    undetermined = {one.name for one in found.fitted if one.deviation is None}
    assert undetermined == {*CATALOGUE} - {"page_read", "page_types", "pace"}


@pytest.mark.parametrize(("key", "vary"), [("random_write", True), ("read_latency", False)])
def test_figures_of_writes_count_by_how_much_simulations_vary(
    key: str, vary: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CaughtError(Exception):
        pass

    def caught(_model: object, _measured: "Numbers", spreads: "Numbers", **_: object) -> None:
        raise CaughtError(spreads.tolist())

    monkeypatch.setattr("ssdlab.study.fitting.fit.solve", caught)
    entry = sheet.ENTRIES[key]
    value = 90_000.0
    with pytest.raises(CaughtError) as stopped:
        fit_drive([Measured(entry.load, {entry.figure: value})], Config("small-nvme", overrides=BOX))
    ([spread],) = stopped.value.args
    assert spread > entry.figure.spread(value) if vary else spread == entry.figure.spread(value)


def test_a_fitted_preset_names_each_variant_once(tmp_path: Path) -> None:
    """TOML allows no parameters below a choice, so the parameters of a variant alone are written."""
    base = Config("client-nvme", overrides={"device.scale.blocks.capacity": "960GB", "device.capacity": "960GB"})
    changes = {"drive.pace": "tokens", "drive.pace.tokens.burst": "3"}
    pace = Fitted("pace", 13_000.0, None, figures=(("above", Figure("write", "iops")),), bounded=True)
    fit = DriveFit(base=base, small=base, sources=(), changes=changes, fitted=[pace], residuals=[])
    (tmp_path / "my.toml").write_text(fit.to_toml())
    read = Config(file=tmp_path / "my.toml")
    assert (read["drive.pace"], read["drive.pace.tokens.interval"], read["device.scale"]) == (
        "tokens",
        "13us",
        "blocks",
    )
    assert read["device.scale.blocks.capacity"] == "960GB" and "(a bound)" in fit.to_toml()


def test_another_capacity_is_the_nominal_one_of_a_scale_model() -> None:
    loads = [Measured(sheet.ENTRIES["read_latency"].load, {Figure("read", "p50"): 80_000.0})]
    large = fit_drive(loads, Config("client-nvme"), capacity=960_000_000_000)
    assert large.config["device.scale.blocks.capacity"] == large.config["device.capacity"] == "960GB"
    small = fit_drive(loads, Config("small-nvme", overrides={**BOX, "device.scale": "none"}), capacity=64 << 20)
    assert "device.scale.blocks.capacity" not in small.config


def test_repeated_loads_are_simulated_once_with_all_their_figures() -> None:
    alone, again = Load("alone", (Queue(1, 1.0, 1),)), Load("again", (Queue(1, 1.0, 1),))
    median, tail = Figure("read", "p50"), Figure("read", "p90")
    loads = [Measured(alone, {median: 1.0}), Measured(again, {tail: 1.0}), Measured(alone, {tail: 2.0})]
    joined = merged(loads)
    assert [one.figures for one in joined] == [{median: 1.0, tail: 2.0}, {tail: 1.0}]
    drive = Drive(Config("small-nvme", overrides=BOX), None, None)
    (found,) = drive.figures("test", [drive.small], joined)
    assert len(drive._done) == 1 and found[alone][tail] == found[again][tail] >= found[alone][median]


def test_saved_simulations_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [Measured(Load("alone", (Queue(1, 1.0, 1),)), {Figure("read", "p50"): 1.0, Figure("read", "iops"): 1.0})]
    base = Config("small-nvme", overrides=BOX)
    with Store(tmp_path / "runs") as store:
        drive = Drive(base, store=store)
        first = drive.figures("test", [drive.small], wanted)
    monkeypatch.setattr("ssdlab.study.executor.simulate", lambda *_, **__: pytest.fail("simulated again"))
    with Store(tmp_path / "runs") as store:
        assert Drive(base, store=store).figures("test", [drive.small], wanted) == first


def test_figures_that_determine_nothing_say_what_to_measure(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "half.csv").write_text("depth,reads,read_p99\n4,50%,300\n")
    failed = cli("fit", "drive", "half.csv", *SETS, check=False)
    assert failed.returncode == 2 and failed.stdout == ""
    assert "half.csv: no parameter of the drive can be determined; measure reads at depths 1 to 256" in failed.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "nothing to fit; add a fio result, a table or --sheet numbers"),
        (["--write"], "--write needs --job"),
        (["--job", "--base", "tlc-nvme"], "--job only prints a job for fio; omit files, --base"),
        (
            ["some.toml"],
            "some.toml: is neither a fio .json file nor a .csv table; pass a configuration with --config",
        ),
        (["some.txt"], "some.txt: is neither a fio .json file nor a .csv table; pass a configuration"),
        (["--job", "-o", "none/my.toml"], "--out none/my.toml: directory none does not exist; create it first"),
    ],
)
def test_wrong_arguments_are_one_line(cli: Cli, arguments: list[str], words: str) -> None:
    failed = cli("fit", "drive", *arguments, check=False)
    assert failed.returncode == 2 and words in failed.stderr and len(failed.stderr.splitlines()) == 1


def test_percentiles_of_histograms_lie_within_their_bucket() -> None:
    columns = ssdlab.LatencyColumns(*(np.array(one, np.uint64) for one in ([100, 200], [110, 220], [50, 50])))
    assert load._quantile(columns, Figure("read", "p25")) == pytest.approx(105)
    assert load._quantile(columns, Figure("read", "p75")) == pytest.approx(210)


# Validation of fits.


def test_a_missed_parameter_or_capacity_fails_the_validation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    far = validation.Found("program", 1e6, 1.2e6, 0.02)
    unsure = validation.Found("slots", 100, 150, 0.2)
    missing = validation.Found("spare", 0.07, 0.1, None)
    near = validation.Found("page_read", 50e3, 52e3, 0.03)
    assert [one.passed for one in (far, unsure, missing, near)] == [False, True, True, True]
    boxes = [validation.Box(1, (far, unsure, missing, near))]
    held_out = [validation.HeldOut("PM9A3", 76_600, 73_170)]
    assert held_out[0].passed and not validation.HeldOut("PM9A3", 76_600, 72_000).passed
    found = validation.FitValidation(boxes, held_out)
    monkeypatch.setattr(validation, "run", lambda count, **_: found)
    assert cli_app(["validate", "fit", "--quick", "--all"], standalone_mode=False) == 1
    out = capsys.readouterr().out
    assert "1 of 2 identifiable parameters within 10 %; maximum write rate within 5 % for 1 of 1 drive" in out
    # The parameter and the drive with known parameters.
    assert out.count("MISS") == 2
    assert out.count("uncertain by more than 5 %") == 1 and out.count("no measured figure depends on it") == 1


def test_of_tied_parameters_their_combination_is_judged() -> None:
    work = Fitted("read_work", 1.29e3, None, tied=("page_read",), shares={"page_read": 0.05, "slots": 0.0})
    read, slots = Fitted("page_read", 51e3, 0.02), Fitted("slots", 41.0, 0.04)
    found = validation.judged({"page_read": 50e3, "read_work": 1e3, "slots": 40.0}, [read, work, slots])
    # Times of 1.29 us for 1 us (and 0.1 us, as read_work may be 0) leave 0.05 x log(1.1 / 1.39) = -1.17 % to t_R.
    assert [one.tied for one in found] == [("read_work",), ("page_read",), ()]
    assert found[0].error == pytest.approx(51 / (50 * (1.1 / 1.39) ** 0.05) - 1)
    assert found[0].passed and not found[1].identifiable and found[2].error == pytest.approx(0.025)


def test_the_reference_has_a_third_of_each_drives_capacity() -> None:
    path = Path(validation.__file__).with_name(validation.REFERENCE)
    for name in validation.SHEETS:
        loads = table.read(path, path.read_text(encoding="utf-8"), name)
        assert [round(one.load.offered_writes) for one in loads] == [9_950, 19_850, 29_750]


@pytest.mark.skipif(TIER != "deep", reason="hours; SSDLAB_TESTS=deep runs it")
def test_ten_black_boxes_are_recovered() -> None:
    outcomes = validation.run().boxes
    assert [outcome for outcome in outcomes if not outcome.passed] == []
    assert sum(one.identifiable for outcome in outcomes for one in outcome.parameters) >= 20


def test_a_sheet_with_the_writes_of_an_empty_drive_is_fitted_and_named() -> None:
    loads, _ = sheet.read(["sequential_write=6600MB/s", "random_write=1000k/s"])
    fit = fit_drive(loads, ssdlab.Config("small-nvme"))
    page = fit_page.page(fit)
    text = [block.text for block in page.conclusion if isinstance(block, Paragraph)]
    assert any("looks like the rate of an empty drive" in line for line in text), text
    assert fit.said(next(one for one in fit.fitted if one.name == "program")) == (
        "write bandwidth of sequential writes"
    )
