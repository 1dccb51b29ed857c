"""Job files of fio: parsed as fio does, turned into the same requests, replayed in simulated time."""

import collections
import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ssdlab
from conftest import ROOT, Cli
from ssdlab.model.fio.job import jobs_of
from ssdlab.model.fio.parse import parse, read
from ssdlab.model.fio.requests import JobStream, Permutation
from tiers import examples

Row = tuple[str, int, int]
OPS = ("read", "write", "trim", "flush")


def resolved(text: str, capacity: int | None = None):  # type: ignore[no-untyped-def]
    return jobs_of(parse(Path("x.fio"), text.splitlines()), capacity)


def requests(options: str, most: int = 200_000) -> list[tuple[Row, int]]:
    """Requests of a job with the given options, each with its earliest time."""
    ((job, *_), _) = resolved(f"[j]\n{options}")
    stream, rows = JobStream(job, 1), list[tuple[Row, int]]()
    while len(rows) < most and len(batch := stream.read(4096)):
        columns = {name: column.tolist() for name, column in batch.columns().items()}
        ops = (OPS[op] for op in columns["op"])
        rows += zip(zip(ops, columns["offset"], columns["bytes"], strict=True), columns["time_ns"], strict=True)
    return rows[:most]


def offsets(options: str, most: int) -> Any:
    return np.array([row[1] for row, _ in requests(options, most)])


def of_fio(options: str, folder: Path) -> list[Row]:
    """Requests that the installed fio issues for a job with the given options."""
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    (folder / "x.fio").write_text(f"[j]\n{options}\n")
    command = ["fio", "--minimal", "x.fio", "--ioengine=null", "--write_iolog=log"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    rows = []
    for line in (folder / "log").read_text().splitlines():
        words = line.split()[-3:]
        if words[0] in OPS:
            rows.append((words[0], int(words[1]), int(words[2])))
        elif words[0] in ("sync", "datasync"):
            rows.append(("flush", 0, 0))
    return rows


SEQUENTIAL = [
    "rw=read\nsize=10k\nbs=4k",
    "rw=read\nsize=64k\nbs=4k\nio_size=100k",
    "rw=read\nsize=64k\nbs=4k\nio_size=30k",
    "rw=read:8k\nsize=64k",
    "rw=read:8k\nsize=60k",
    "rw=read:8k\nsize=64k\nio_size=64k",
    "rw=read:-8k\nsize=64k",
    "rw=read:-8k\nsize=64k\nio_size=128k",
    "rw=write\nsize=64k\nloops=2",
    "rw=write\nsize=64k\nnumber_ios=5",
    "rw=write\nsize=64k\nfsync=4",
    "rw=trim\nsize=64k",
    "rw=trimwrite\nsize=64k",
    "rw=read\nsize=8ki\nbs=1000",
    "rw=read\nsize=50%\nfilesize=128k",
    "rw=write\nsize=64k\noffset=32k\nfilesize=128k",
    "rw=write\nsize=64k\nio_size=256k\nbs=3k",
]


@pytest.mark.parametrize("options", SEQUENTIAL)
def test_sequential_requests_are_those_of_fio(options: str, tmp_path: Path) -> None:
    assert [row for row, _ in requests(options)] == of_fio(options, tmp_path)


@pytest.mark.parametrize("options", ["rw=randread\nsize=62k", "rw=randwrite\nsize=1m", "rw=randtrimwrite\nsize=64k"])
def test_random_requests_visit_each_block_once_as_in_fio(options: str, tmp_path: Path) -> None:
    ours = [row for row, _ in requests(options)]
    assert sorted(ours) == sorted(of_fio(options, tmp_path))
    assert ours != sorted(ours)


def test_every_pass_visits_every_block(tmp_path: Path) -> None:
    options = "rw=randread\nsize=64k\nio_size=200k"
    ours = [offset for (_, offset, _), _ in requests(options)]
    assert len(ours) == len(of_fio(options, tmp_path)) == 50
    assert [len({*ours[start : start + 16]}) for start in (0, 16, 32)] == [16] * 3


@pytest.mark.parametrize(
    "options",
    ["rw=rw\nsize=4m", "rw=randrw\nsize=4m\nrwmixread=30", "rw=rw\nsize=4m\nbs=4k,8k\nrwmixwrite=20"],
)
def test_mixes_agree_with_fio(options: str, tmp_path: Path) -> None:
    """Both shares of reads are within three standard deviations of the setting; sequential reads have no gaps."""
    share = 0.3 if "=30" in options else 0.8 if "=20" in options else 0.5
    ours = [row for row, _ in requests(options)]
    for rows in (ours, of_fio(options, tmp_path)):
        reads = [row for row in rows if row[0] == "read"]
        assert abs(len(reads) / len(rows) - share) <= 3 * math.sqrt(share * (1 - share) / len(rows))
        assert 4 << 20 <= sum(row[2] for row in rows) < (4 << 20) + 8192
    if "randrw" not in options:
        for op, size in (("read", 4096), ("write", 8192 if "8k" in options else 4096)):
            own = [row for row in ours if row[0] == op]
            assert own == [(op, index * size, size) for index in range(len(own))]


def test_split_sizes_have_their_shares(tmp_path: Path) -> None:
    options = "rw=randwrite\nsize=16m\nnorandommap\nbssplit=4k/10:64k/50:32k/"
    for rows in ([row for row, _ in requests(options)], of_fio(options, tmp_path)):
        counts = collections.Counter(row[2] for row in rows)
        for size, share in ((4096, 0.1), (65536, 0.5), (32768, 0.4)):
            assert abs(counts[size] / len(rows) - share) <= 3 * math.sqrt(share * (1 - share) / len(rows))


def test_ranges_of_sizes(tmp_path: Path) -> None:
    """As in fio, a size is the smallest plus a random share of the largest, in multiples of the smallest, capped."""
    options = "rw=write\nsize=16m\nbsrange=4k-16k"
    for rows in ([row for row, _ in requests(options)], of_fio(options, tmp_path)):
        counts = collections.Counter(row[2] for row in rows)
        assert {*counts} == {4096, 8192, 12288, 16384}
        assert abs(counts[4096] / len(rows) - 0.25) <= 3 * math.sqrt(0.25 * 0.75 / len(rows))
        ends = np.cumsum([row[2] for row in rows])
        assert [row[1] for row in rows] == [0, *ends[:-1].tolist()] and ends[-1] == 16 << 20


MANY = 50_000
RANDOM = f"rw=randread\nsize=4m\nbs=4k\nio_size={4096 * MANY}\nnorandommap\nrandom_distribution="


def close(share: float, expected: float, count: int = MANY) -> bool:
    return abs(share - expected) <= 3 * math.sqrt(expected * (1 - expected) / count)


def test_zipf_has_its_closed_form() -> None:
    found = np.sort(np.unique(offsets(f"{RANDOM}zipf:1.2", MANY), return_counts=True)[1])[::-1] / MANY
    hottest = 1 / sum(rank**-1.2 for rank in range(1, 1025))
    assert close(found[0], hottest) and close(found[1], hottest * 2**-1.2)


def test_zipf_beyond_its_table_follows_the_integral() -> None:
    """By the sums of the terms, the first 2^20 of 2^22 blocks have at least half of the probability."""
    from ssdlab.model.fio.job import Distribution
    from ssdlab.model.fio.requests import TABLE, Blocks

    blocks = Blocks(Distribution("zipf", 0.5), 4 * TABLE, 4096, np.random.Generator(np.random.PCG64(1)))
    ranks = np.zeros(4 * TABLE, np.uint64)
    ranks[blocks.scatter.of(np.arange(4 * TABLE, dtype=np.uint64))] = np.arange(4 * TABLE, dtype=np.uint64)
    drawn = ranks[blocks.draw(MANY)]
    masses = np.cumsum(np.arange(1, 4 * TABLE + 1, dtype=np.float64) ** -0.5)
    for below in (TABLE // 4, TABLE, 2 * TABLE):
        assert close(float((drawn < below).mean()), float(masses[below - 1] / masses[-1]))


def test_zones_get_their_shares() -> None:
    share = offsets(f"{RANDOM}zoned:50/5:30/15:20/80", MANY) / (4 << 20)
    # Zones begin at whole blocks: 51 and 204 of 1,024.
    found = [(share < 51 / 1024).mean(), (share < 204 / 1024).mean()]
    assert close(found[0], 0.5) and close(found[1], 0.8)
    absolute = offsets(f"{RANDOM}zoned_abs:60/1m:40/2m", MANY)
    assert close(float((absolute < 1 << 20).mean()), 0.6) and absolute.max() < 3 << 20


def test_pareto_and_normal_have_their_closed_forms() -> None:
    """pareto:h gives a share 1 - h of the requests to the hottest share h of the blocks; a normal distribution gives
    68.27 % to the blocks within one deviation. Both are scattered over the region.
    """
    for written, blocks, expected in (("pareto:0.2", 0.2, 0.8), ("normal:10", 0.2, math.erf(math.sqrt(0.5)))):
        found = np.sort(np.unique(offsets(f"{RANDOM}{written}", MANY), return_counts=True)[1])[::-1]
        hottest = found[: int(1024 * blocks)].sum() / MANY
        # The hottest blocks of a sample have slightly more requests than expected.
        assert expected - 0.01 <= hottest <= expected + 0.02


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 17, 1000, 4097])
def test_a_permutation_has_every_value_once(n: int) -> None:
    assert sorted(Permutation(n, 7).of(np.arange(n, dtype=np.uint64)).tolist()) == [*range(n)]


def test_rates_space_requests() -> None:
    assert [time for _, time in requests("rw=read\nsize=16k\nrate_iops=1000")] == [0, 10**6, 2 * 10**6, 3 * 10**6]
    # 4 KiB at 1 MiB per second: 3.90625 ms.
    assert [time for _, time in requests("rw=write\nsize=12k\nrate=2m,1m")] == [0, 3_906_250, 7_812_500]
    poisson = requests("rw=read\nsize=400m\nrate_iops=1000\nrate_process=poisson", 10_000)
    assert abs(poisson[-1][1] / 1e9 - 10) <= 3 * math.sqrt(10_000) / 1000


def test_sections_inherit_and_files_lie_side_by_side() -> None:
    jobs, notes = resolved(
        "; first\n[global]\nbs=8k ; comment\nsize=64k # another\n[a]\nnumjobs=2\n[global]\nrw=randwrite\n"
        "[b]\nfilename=x\nstonewall\nfoo=1\n[c]\nfilename=x\noffset=64k\n"
    )
    assert [(job.name, job.group, job.ops, job.base, job.size) for job in jobs] == [
        ("a.0", 0, (0,), 0, 65536),
        ("a.1", 0, (0,), 65536, 65536),
        ("b", 1, (1,), 131072, 65536),
        ("c", 1, (1,), 131072 + 65536, 65536),
    ]
    assert notes == ["fio options that have no effect here: foo"]


def test_a_device_without_a_size_has_the_capacity_of_the_drive() -> None:
    ((job,), _) = resolved("[j]\nfilename=/dev/nvme0n1\noffset=25%\n", 1 << 20)
    assert (job.base, job.size) == (1 << 18, 3 << 18)


REFUSED = {
    "x": "x.fio:1: x: is before the first section; write [global] above it",
    "[global]": "x.fio: has no job section; add one, such as [job1]",
    "[j": "x.fio:1: [j: is not a section; write it like [job1]",
    "[j]\nbs=4x": "x.fio:2: bs=4x: '4x' is not a number of bytes; write it like 4096, 4k, 1m or 2g",
    "[j]\nsize=1m\nverify=md5": "x.fio:3: verify=md5: verification is not modelled; remove this option",
    "[j]\nsize=1m\nlatency_target=10": "x.fio:3: latency_target=10: searching for a queue depth is not modelled; run",
    "[j]\nsize=1m\nzonemode=zbd": "x.fio:3: zonemode=zbd: zones are not modelled; set zonemode=none",
    "[j]\nsize=1m\nioengine=http": "x.fio:3: ioengine=http: is not a supported I/O engine; use libaio",
    "[j]\nsize=1m\nexitall": "x.fio:3: exitall: ending all jobs when one job ends is not modelled; set runtime",
    "[j]\nsize=1m\ntime_based": "x.fio:3: time_based: needs a runtime; add runtime=10s",
    "[j]\nsize=1m\nruntime=999999999d": "x.fio:3: runtime=999999999d: is too long; lower it to 1000d",
    "[j]\nrw=read": "x.fio:1: [j]: has no size; add size=1g",
    "[j]\nsize=50%": "x.fio:2: size=50%: is a percentage of an unknown size; write it in bytes, or set device.capacity",
    "[j]\nsize=1k": "x.fio:1: [j]: the job's size of 1024 bytes is smaller than a request; raise size to 4096",
    "[j]\nsize=1m\nnumjobs=999": "x.fio:1: [j]: the file has more than 255 jobs; lower numjobs to 255",
    "[j]\nsize=1m\nbssplit=4k/80:8k/30": "x.fio:3: bssplit=4k/80:8k/30: the percentages add up to 110;",
    "[j]\nsize=1m\nread_iolog=log": "x.fio:3: read_iolog=log: a job cannot replay a log; use 'ssdlab run LOG'",
    "include y.fio": "x.fio:1: include y.fio: included files are not supported; copy their lines here",
}


@pytest.mark.parametrize("text", REFUSED)
def test_malformed_jobs_name_line_and_remedy(text: str) -> None:
    with pytest.raises(ssdlab.TraceError) as error:
        resolved(text)
    assert str(error.value).startswith(REFUSED[text])


WORDS = [
    *("[j]", "[global]", "rw=", "bs=", "bssplit=", "size=", "offset=", "random_distribution=", "stonewall", "rate="),
    *("time_based", "runtime=", "numjobs=", "iodepth=", "bsrange=", "thinktime=", "zipf", "zoned", "read", "randrw"),
    *("4k", "1e9", "0x", "100", "0", "/", ":", ",", "%", "-", "=", ";", "\n", "é"),
]


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(st.sampled_from(WORDS) | st.text(max_size=4), max_size=25))
def test_no_text_breaks_the_parser(words: list[str]) -> None:
    text = "".join(words)
    try:
        jobs, _ = resolved(f"[j]\nsize=1m\n{text}", 1 << 30)
        for job in jobs[:2]:
            JobStream(job, 1).read(50)
    except ssdlab.TraceError as error:
        message = str(error)
        assert message.startswith("x.fio:") and len(message.splitlines()) == 1 and ("; " in message or "LOG" in message)


# An empty drive: reads of pages never written take only the time of controller and link.
PLAIN = {"device.capacity": "256MiB", "time": "event", "precondition.fill": "0%", "precondition.overwrite": "none"}


def run(text: str, folder: Path, settings: dict[str, object] | None = None) -> ssdlab.Result:
    (folder / "job.fio").write_text(text)
    return ssdlab.simulate({**PLAIN, **(settings or {})}, folder / "job.fio")


def test_reads_one_by_one_take_the_sum_of_their_times(tmp_path: Path) -> None:
    result = run("[j]\nrw=read\nsize=1m\nbs=4k\niodepth=1\n", tmp_path)
    read = result.summary["jobs"][0]["read"]
    assert (read["requests"], read["bytes"]) == (256, 1 << 20)
    assert read["min_ns"] == read["max_ns"] > 0
    assert result.summary["time"]["elapsed_ns"] == 256 * read["min_ns"] == result.summary["jobs"][0]["elapsed_ns"]


def test_a_runtime_ends_at_the_simulated_time(tmp_path: Path) -> None:
    """The last request is issued before the end; then the job waits for its completion."""
    result = run("[j]\nrw=randread\nsize=1m\nruntime=10ms\ntime_based\n", tmp_path)
    (job,) = result.summary["jobs"]
    latency_ns, count = job["read"]["min_ns"], job["read"]["requests"]
    assert job["read"]["max_ns"] == latency_ns
    assert count == math.ceil(10_000_000 / latency_ns) and job["elapsed_ns"] == count * latency_ns


def test_groups_run_one_after_another_with_their_own_depths(tmp_path: Path) -> None:
    text = (
        "[global]\nsize=1m\nrw=read\n[a]\n[b]\nstonewall\nioengine=libaio\niodepth=4\n[c]\nstonewall\nthinktime=1ms\n"
    )
    result = run(text, tmp_path)
    a, b, c = result.summary["jobs"]
    total = sum(job["elapsed_ns"] for job in (a, b, c))
    assert result.summary["time"]["elapsed_ns"] == total
    assert result.summary["drive"]["queue_depth_max"] == 4
    # 255 pauses between 256 reads.
    assert c["elapsed_ns"] == a["elapsed_ns"] + 255 * 1_000_000
    assert [job["group"] for job in (a, b, c)] == [0, 1, 2]


def test_results_do_not_depend_on_anything_else(tmp_path: Path) -> None:
    text = "[global]\nsize=4m\nrw=randrw\nioengine=libaio\niodepth=8\n[a]\nnumjobs=3\n"
    text += "[b]\nrw=randwrite\nbssplit=4k/50:8k/\n"
    first, again = run(text, tmp_path), run(text, tmp_path)
    assert first.to_json() == again.to_json()
    clones = first.summary["jobs"][:3]
    assert all(job["read"]["requests"] + job["write"]["requests"] == 1024 for job in clones)
    first.save(tmp_path / "out")
    assert ssdlab.Result.load(tmp_path / "out").to_json() == first.to_json()


def test_the_job_sizes_the_drive(tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text("[j]\nrw=randwrite\nsize=32m\n")
    result = ssdlab.simulate(None, tmp_path / "job.fio")
    assert result.summary["host"]["bytes_written"] == 32 << 20
    assert result.config["time"] == "event"


def test_json_has_the_form_of_fio(cli: Cli, tmp_path: Path) -> None:
    text = "[global]\nsize=1m\nrw=randread\ngroup_reporting\n[a]\nnumjobs=2\nbs=8k\n[b]\nstonewall\nrw=write\n"
    (tmp_path / "job.fio").write_text(text)
    printed = cli("run", "job.fio", "--set", "device.capacity=256MiB", "--json", "fio").stdout
    ours = json.loads(printed)
    a, b = ours["jobs"]
    assert (a["jobname"], a["groupid"], a["job options"]["bs"], ours["global options"]["rw"]) == (
        "a",
        0,
        "8k",
        "randread",
    )
    assert (a["read"]["total_ios"], a["read"]["io_bytes"], a["write"]["total_ios"]) == (256, 2 << 20, 0)
    assert (b["write"]["total_ios"], b["write"]["io_bytes"], b["groupid"]) == (256, 1 << 20, 1)
    times = a["read"]["clat_ns"]
    assert times["N"] == 256 and times["min"] <= times["percentile"]["50.000000"] <= times["max"]
    assert a["read"]["bw_bytes"] == pytest.approx(1e9 * (2 << 20) / result_ns(printed, 0), rel=1e-3)
    for job, op in ((a, "read"), (b, "write")):
        shares = ranges(job)
        assert sum(share for _, _, share in shares) == pytest.approx(100)
        # The median lies in the range that contains half of the requests.
        below = 0.0
        for low, high, share in shares:
            if low < job[op]["clat_ns"]["percentile"]["50.000000"] < high:
                assert below <= 50 <= below + share
            below += share
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed: the keys are not compared")
    command = ["fio", "--ioengine=null", "--output-format=json", "job.fio"]
    theirs = json.loads(subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60).stdout)
    # A simulation does not count the depths at which requests were submitted.
    assert theirs["jobs"][0].keys() - a.keys() == {"iodepth_level", "iodepth_submit", "iodepth_complete"}
    assert [(low, high) for low, high, _ in ranges(theirs["jobs"][0])] == [(low, high) for low, high, _ in ranges(a)]
    assert theirs["jobs"][0]["read"].keys() == a["read"].keys()
    assert theirs["jobs"][0]["read"]["clat_ns"].keys() == times.keys()
    assert theirs["jobs"][0]["read"]["clat_ns"]["percentile"].keys() == times["percentile"].keys()
    assert [job["read"]["total_ios"] for job in theirs["jobs"]] == [256, 0]


def ranges(job: dict[str, Any]) -> list[tuple[float, float, float]]:
    """Lower and upper bounds of response times in nanoseconds, with the percentage of requests between them."""
    rows, low = [], 0.0
    for name, unit in (("latency_ns", 1), ("latency_us", 1_000), ("latency_ms", 1_000_000)):
        for bound, share in job[name].items():
            high = math.inf if bound.startswith(">=") else unit * float(bound)
            rows.append((low, high, share))
            low = high
    return rows


def result_ns(printed: str, job: int) -> float:
    """Length of a job in nanoseconds, from its rate."""
    read = json.loads(printed)["jobs"][job]["read"]
    return float(read["total_ios"] / read["iops"] * 1e9)


def test_a_diagnosis_of_a_job_tries_changes(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[j]\nrw=randwrite\nsize=16m\nbs=4k\nioengine=libaio\niodepth=4\n")
    found = ssdlab.diagnose(None, job)
    assert any(one.summary is not None for one in found.what_ifs), found.what_ifs
    # The depth is the job's own.
    assert all("host.replay" not in one.why_not or one.name == "depth" for one in found.what_ifs)


def test_settings_that_contradict_a_job_are_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text("[j]\nrw=read\nsize=1m\n")
    for setting, message in (
        ("host.replay=open", "host.replay: fio job job.fio decides how requests are issued; remove host.replay"),
        (
            "host.replay.closed.queue_depth=2",
            "host.replay.closed.queue_depth: fio job job.fio decides how requests are",
        ),
        ("host.warmup=5", "host.warmup: fio job job.fio has no warm-up phase; set host.warmup to 0"),
        ("time=count", 'time: fio job job.fio runs its jobs concurrently; set time to "event"'),
    ):
        assert message in cli("run", "job.fio", "--set", setting, check=False).stderr
    (tmp_path / "large.fio").write_text("[j]\nrw=read\nsize=1g\n")
    beyond = cli("run", "large.fio", "--set", "device.capacity=256MiB", check=False).stderr
    assert "large.fio:1: [j]: ends at byte 1073741824, past the end of the device (256MiB); lower size" in beyond
    plain = cli("run", "--workload", "uniform", "--set", "workload.requests=10", "--json", "fio", check=False).stderr
    assert "--json fio: this format requires a run of a fio job file; run a job file, or use --json" in plain


EXAMPLES = Path("/usr/share/doc/fio/examples")


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason=f"fio's examples are not in {EXAMPLES} (Debian: fio-examples)")
def test_examples_of_fio_run_or_are_refused_as_documented() -> None:
    section = (ROOT / "docs" / "fio.md").read_text(encoding="utf-8").partition("## The examples of fio\n")[2]
    run, refused = (
        [name for row in table.splitlines() if row.startswith("| ") for name in row.split(" | ")[0][2:].split(", ")][1:]
        for table in section.split("These do not apply")
    )
    installed = {path.stem: path for path in EXAMPLES.glob("*.fio")}
    for name in (*run, *refused):
        if name not in installed:
            continue
        try:
            jobs, _ = jobs_of(read(installed[name]), 8 << 30)
        except ssdlab.TraceError as error:
            assert name in refused, error
        else:
            assert name in run and all(len(JobStream(job, 1).read(10)) for job in jobs), name
    version = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    assert version != "fio-3.33" or sorted([*run, *refused]) == sorted(installed)
