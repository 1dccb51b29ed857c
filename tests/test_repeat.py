"""Traces that are packed, repeated or used for preconditioning, from Python and the command line."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from conftest import ROOT, Cli, notes
from ssdlab.model.remarks import remarks_on

PAGE = 4096
PACKED = ssdlab.Config(
    "tlc-chip",
    overrides={"host.fit": "compact", "device.op": "20%", "nand.pages_per_block": 64, "precondition.overwrite": "none"},
)
"""A drive sized by the trace."""
SMALL = [
    "--preset", "small-tlc", "--set", "device.reserve=extra", "--set", "device.scale=none",
    "--set", "nand.pages_per_block=64",
]  # fmt: skip
"""A drive with 16 planes and single pages as mapping units, which may have a few MiB."""


@pytest.fixture
def sparse() -> ssdlab.Trace:
    """Random writes to 2,000 pages and reads of 1,000 other pages, all far apart and shifted by half a page."""
    rng = np.random.default_rng(1)
    pages = np.sort(rng.choice(1 << 28, 3_000, replace=False)).astype(np.uint64)
    chosen = rng.integers(0, 3_000, 6_000)
    chosen[:3_000] = np.arange(3_000)
    return ssdlab.Trace.from_columns(
        op=np.where(chosen % 3 == 0, "read", "write"),
        offset=pages[chosen] * PAGE + 2048,
        bytes=np.full(6_000, 2048),
        time_ns=np.arange(6_000) * 1_000,
    )


def packed_by_hand(trace: ssdlab.Trace, page: int = PAGE) -> ssdlab.Trace:
    """The trace with each page moved to its rank among all used pages."""
    columns: dict[str, Any] = trace.columns()
    pages = columns["offset"] // page
    columns["offset"] = np.searchsorted(np.unique(pages), pages).astype(np.uint64) * page + columns["offset"] % page
    return ssdlab.Trace.from_columns(**columns)


def figures(result: ssdlab.Result) -> dict[str, object]:
    """The result without lifetimes, which depend on the origin of the capacity, and without `replay`."""
    return {key: value for key, value in result.summary.items() if key not in ("repeat", "diagnosis", "lifetime")}


def test_a_packed_trace_equals_one_packed_by_hand(sparse: ssdlab.Trace, tmp_path: Path) -> None:
    result = ssdlab.simulate(PACKED, sparse)
    assert result.summary["device"]["logical_pages"] == 3_000
    by_hand = PACKED.with_overrides({"host.fit": "error", "device.capacity": f"{3_000 * PAGE}B"})
    assert figures(result) == figures(ssdlab.simulate(by_hand, packed_by_hand(sparse)))
    for name in ("trace.csv", "trace.parquet"):
        sparse.save(tmp_path / name)
        assert ssdlab.simulate(PACKED, tmp_path / name).summary == result.summary, name


def test_the_trace_fills_the_requested_part_of_the_drive(sparse: ssdlab.Trace) -> None:
    half = PACKED.with_overrides({"device.fill": "50%"})
    assert ssdlab.simulate(half, sparse).summary["device"]["logical_pages"] == 6_000
    # A saved configuration gives the same result.
    again = ssdlab.Config(overrides={key: half[key] for key, *_ in half.settings})
    assert ssdlab.simulate(again, sparse).summary["device"]["logical_pages"] == 6_000
    preset = ssdlab.Config("sata-mlc", overrides={"host.fit": "compact", "time": "count", "device.op": "90%"})
    assert preset["device.fill"] == "100%"
    own = PACKED.with_overrides({"device.capacity": "64MiB"})
    assert ssdlab.simulate(own, sparse).summary["device"]["capacity_bytes"] == 64 << 20


def test_replay_times_continue(sparse: ssdlab.Trace, tmp_path: Path) -> None:
    columns = sparse.columns()
    span = int(columns["time_ns"][-1])
    step = span + span // (len(sparse) - 1)
    thrice: dict[str, Any] = {name: np.tile(column, 3) for name, column in columns.items()}
    thrice["time_ns"] = thrice["time_ns"] + np.repeat(np.arange(3, dtype=np.uint64) * step, len(sparse))
    put_together = ssdlab.Trace.from_columns(**thrice)
    for replay in ("closed", "open"):
        config = PACKED.with_overrides({"host.replay": replay, "time": "serial"})
        repeated = ssdlab.simulate(config.with_overrides({"host.repeat.times.count": 3}), sparse)
        by_hand = ssdlab.simulate(config.with_overrides({"host.warmup": 2 * len(sparse)}), put_together)
        assert repeated.summary["repeat"]["replays"] == 3
        assert figures(repeated) == figures(by_hand)
        for name in ("trace.csv.zst", "trace.parquet"):
            sparse.save(tmp_path / name)
            from_file = ssdlab.simulate(config.with_overrides({"host.repeat.times.count": 3}), tmp_path / name)
            assert from_file.summary == repeated.summary
            assert from_file.ingest is not None
            assert ("requests", len(sparse)) in [(row[0], row[-1]) for row in from_file.ingest["counts"]]


def test_a_generated_workload_is_replayed(small: ssdlab.Config) -> None:
    trace = ssdlab.generate(small)
    repeated = small.with_overrides({"host.repeat.times.count": 2})
    assert ssdlab.simulate(repeated).summary == ssdlab.simulate(repeated, trace).summary


def test_steadiness_is_reported(sparse: ssdlab.Trace) -> None:
    steady = ssdlab.simulate(PACKED.with_overrides({"host.repeat": "until-steady"}), sparse)
    repeat = steady.summary["repeat"]
    assert repeat["steady"] and repeat["replays"] == len(repeat["write_amplification"]) > 1
    assert steady.write_amplification == repeat["write_amplification"][-1]
    notes = [remark.text for remark in remarks_on(steady)]
    message = f"was steady after {repeat['replays']} replays of the same requests; the last replay is measured"
    assert f"write amplification {message}" in notes
    cut = ssdlab.simulate(
        PACKED.with_overrides({"host.repeat": "until-steady", "host.repeat.until-steady.most": 2}), sparse
    )
    assert [remark for remark in remarks_on(cut) if "not steady after 2 replays" in remark.text]
    by_trace = ssdlab.simulate(PACKED.with_overrides({"precondition.overwrite": "trace"}), sparse)
    assert by_trace.summary["precondition"]["stable"] and by_trace.summary["precondition"]["replays"] > 1
    assert by_trace.write_amplification == pytest.approx(steady.write_amplification, rel=0.02)
    roomy = PACKED.with_overrides({"precondition.overwrite": "steady", "device.fill": "20%"})
    once = ssdlab.simulate(roomy, sparse)
    assert [remark for remark in remarks_on(once) if "--repeat until-steady" in remark.text]


@pytest.mark.parametrize(
    ("options", "proposed"),
    [
        (["--fit", "wrap"], "; for steady state: --fit compact --repeat until-steady"),
        (["--fit", "compact", "--set", "device.fill=10%"], "; for steady state: --repeat until-steady"),
        (["--set", "host.repeat.until-steady.most=2", "--fit", "wrap"], "; for steady state: --fit compact"),
        (["--set", "host.repeat.until-steady.most=2", "--fit", "compact", "--set", "device.fill=10%"], ""),
        (["--fit", "wrap", "--set", "device.capacity=1MiB"], "; for steady state: --repeat until-steady"),
    ],
)
def test_only_inactive_remedies_are_proposed(cli: Cli, tmp_path: Path, options: list[str], proposed: str) -> None:
    rows = "".join(f"{row},W,{8 * row},4096,0x2,1\n" for row in range(50))
    (tmp_path / "some.csv").write_text(f"time_ns,op,sector,bytes,flags,pid\n{rows}")
    drive = ["--preset", "tlc-chip", "--set", "device.op=100%", "--set", "nand.pages_per_block=64"]
    out = cli("run", "some.csv", *drive, *options, "--all").stdout
    [told] = [note for note in notes(out) if "still reflects the preconditioning" in note]
    assert told.endswith(f"the preconditioning{proposed}")
    diagnosed = " ".join(cli("diagnose", "some.csv", "--no-what-ifs", *drive, *options).stdout.split())
    assert re.search(rf"times the capacity; \S+ times are needed{re.escape(proposed)}(?! --| for)", diagnosed)


def test_more_requests_are_proposed_for_a_generated_workload_and_settle_it(cli: Cli) -> None:
    """Repeating a few requests makes a hot set, whose steady state differs from that of the workload."""
    drive = ["-w", "uniform", *SMALL, "--set", "device.capacity=64MiB"]
    few = ["--set", "workload.requests=9000"]

    def told_by(command: str, *options: str) -> list[str]:
        out = " ".join(cli(command, *drive, *options, "--all").stdout.split())
        return re.findall(r"for steady state: --set \S+", out)

    [told] = told_by("run", *few, "--set", "time=count")
    remedy = told.removeprefix("for steady state: ").split()
    assert remedy[0] == "--set" and remedy[1].startswith("workload.requests=")
    assert told_by("run", *remedy, "--set", "time=count") == []
    [diagnosed] = told_by("diagnose", *few)
    assert diagnosed == told
    # Warm-up and replays are not measured.
    for more in (["--set", "host.warmup=3000"], ["--repeat", "2"]):
        [told] = told_by("run", *few, *more, "--set", "time=count")
        assert int(told.rpartition("=")[2]) >= int(remedy[1].rpartition("=")[2])


def test_warm_up_writes_count_towards_the_replays_needed(cli: Cli, tmp_path: Path) -> None:
    lines = "".join(f"{1000 * at},W,{4096 * (at * 7919 % 8000)},4096\n" for at in range(16_000))
    (tmp_path / "some.csv").write_text(lines)
    columns = ["--columns", "time=0:us,op=1,offset=2,size=3", *SMALL, "--set", "device.capacity=32MiB"]
    for warmup in (0, 15_900):
        out = cli("run", "some.csv", *columns, "--set", f"host.warmup={warmup}", "--set", "time=count").stdout
        [told] = [note for note in notes(out) if "times the capacity" in note]
        assert told.endswith("for steady state: --repeat until-steady"), warmup


def _remedy(out: str) -> list[str]:
    """Options that a note suggests."""
    [note] = [note for note in notes(out) if "for steady state: " in note]
    return note.rpartition("for steady state: ")[2].split()


def test_a_finite_workload_can_only_be_replayed(cli: Cli) -> None:
    drive = [*SMALL, "--set", "device.capacity=64MiB", "--set", "time=count"]
    files = ["-w", "copy_files", "--set", "workload.pattern.copy_files.file_size=1MiB"]
    out = " ".join(notes(cli("run", *files, *drive, "--all").stdout))
    assert "for steady state: --repeat until-steady" in out and "workload.requests" not in out
    # A workload that was cut short is replayed completely: 10 files of 256 requests.
    few = ["--set", "workload.requests=700"]
    whole = ["--set", "workload.requests=2560"]
    out = cli("run", *files, *drive, *few, "--all").stdout
    remedy = _remedy(out)
    assert remedy == [*whole, "--repeat", "until-steady"]
    out = cli("run", *files, *drive, *few, *remedy).stdout
    assert "was steady after" in out and "for steady state" not in out
    at_most = [*few, "--repeat", "until-steady", "--set", "host.repeat.until-steady.most=2"]
    out = cli("run", *files, *drive, *at_most, "--all").stdout
    assert _remedy(out) == whole
    # Case in which even the whole workload would have to be replayed too often.
    tiny = ["--set", "workload.pattern.copy_files.file_size=64KiB", "--set", "workload.requests=16"]
    out = cli("run", *files, *drive, *tiny, "--all").stdout
    out = " ".join(out.split())
    assert "at least" in out and "replays of all 160 requests" in out and "for steady state" not in out


def test_a_trace_too_small_for_its_drive_never_settles(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("time_ns,op,sector,bytes\n0,W,0,4096\n")
    drive = [*SMALL, "--set", "device.capacity=4MiB"]
    out = cli("run", "one.csv", *drive, "--fit", "compact").stdout
    [told] = [note for note in notes(out) if "still reflects the preconditioning" in note]
    written, needed = (float(told.split(before)[1].split()[0]) for before in ("wrote ", "below "))
    replays = int(told.removesuffix(" replays").rpartition("at least ")[2].replace(",", ""))
    assert replays == pytest.approx(needed / written, rel=0.01) and "until-steady" not in told


def test_the_suggested_number_of_replays_is_the_smallest_that_is_steady(tmp_path: Path) -> None:
    """A window consists of whole replays, so two windows need one replay more than flash and requests alone suggest."""
    trace = tmp_path / "few.parquet"
    ssdlab.Trace.from_columns(op=["write"] * 70, offset=[0] * 70, bytes=[16384] * 70).save(trace)
    alike = {"host.repeat": "until-steady", "host.repeat.until-steady.within": "50%"}
    drive = ssdlab.Config("tlc-chip", overrides={"time": "count", "device.capacity": "64MiB", "host.fit": "compact"})
    note = next(remark.text for remark in remarks_on(ssdlab.simulate(drive, trace)) if "at least" in remark.text)
    least = int(note.removesuffix(" replays").rpartition("at least ")[2])
    for most, steady in ((least - 1, False), (least, True)):
        result = ssdlab.simulate(drive.with_overrides({**alike, "host.repeat.until-steady.most": most}), trace)
        assert result.summary["repeat"]["steady"] is steady
    # If only the warm-up writes, replays cannot settle the drive and have no write amplification.
    ssdlab.Trace.from_columns(op=["write", "read"], offset=[0, 0], bytes=[4096, 4096]).save(trace)
    others = [remark.text for remark in remarks_on(ssdlab.simulate(drive.with_overrides({"host.warmup": 1}), trace))]
    assert not [other for other in others if "steady state" in other]


@pytest.mark.parametrize(("space", "op"), [("op=7%", 12.5), ("op=50%", None), ("spare=2%", 11.11)])
def test_rounded_up_space_is_reported(cli: Cli, space: str, op: float | None) -> None:
    blocks = [*SMALL, "--set", "device.capacity=256MiB", "--set", "nand.pages_per_block=512"]
    out = cli("run", *blocks, "--set", f"device.{space}", "--set", "workload.requests=9").stdout
    lines = [line for line in out.splitlines() if "rounded up to whole blocks per plane" in line]
    if op is None:
        assert not lines
    else:
        assert f"device.{space} became {op:.2f} %" in lines[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--repeat", "0"], ["host.repeat.times.count", "0"]),
        (["--repeat", "-1"], ["host.repeat.times.count", "-1"]),
        (["--repeat", "often"], ["host.repeat", "until-steady", "often"]),
        (["--set", "host.repeat.until-steady.within=0%"], ["host.repeat.until-steady.within"]),
        (["--fit", "compact", "--set", "device.capacity=1MiB"], ["device.capacity: 1MiB", "that the trace covers"]),
        (["--fit", "wrap", "--set", "device.fill=50%"], ["device.fill", '"wrap"', "device.capacity"]),
        (["--fit", "compact", "--set", "device.fill=0%"], ["device.fill"]),
        (["--fit", "compact", "--set", "nand.page_size=5000B"], ["nand.page_size", "power of two"]),
    ],
)
def test_impossible_replays_are_refused(cli: Cli, arguments: list[str], words: list[str]) -> None:
    done = cli("run", ROOT / "traces" / "oltp.csv.zst", *arguments, check=False)
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def test_an_error_in_a_trace_is_named_before_any_replay(cli: Cli, tmp_path: Path) -> None:
    rows = "".join(f"{row},W,{8 * row},4096,0x2,1\n" for row in range(50))
    (tmp_path / "bad.csv").write_text(f"time_ns,op,sector,bytes,flags,pid\n{rows}60,W,zero,4096,0x2,1\n")
    done = cli("run", "bad.csv", "--fit", "compact", "--repeat", "until-steady", "--out", "out", check=False)
    assert done.returncode == 2 and "bad.csv:52" in done.stderr and not (tmp_path / "out").exists()


def test_a_trace_without_addresses_cannot_be_packed() -> None:
    trims = ssdlab.Trace.from_columns(op=["trim", "flush"], offset=[0, 0], bytes=[4096, 0])
    for nothing in (trims, ssdlab.Trace.from_columns(op=[], offset=[], bytes=[])):
        with pytest.raises(ssdlab.TraceError, match="has no pages to pack"):
            ssdlab.simulate(PACKED, nothing)


def test_a_trace_without_reads_and_writes_is_described(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("time,op,offset,size\n0,Lesen,0,4096\n1,Schreiben,0,4096\n2,R,0,0\n")
    columns = ("--columns", "time=time:us,op=op,offset=offset,size=size")
    for command in (("run",), ("diagnose",), ("advise", "mapcache")):
        output = cli(*command, "other.csv", *columns, check=False).stderr
        assert output.startswith("ssdlab: other.csv: the trace has no reads and no writes (unknown op: 2 records"), (
            output
        )
        assert "zero length: 1 request" in output and "nand.read" not in output


def test_an_empty_trace_ends_at_once(small: ssdlab.Config) -> None:
    empty = ssdlab.Trace.from_columns(op=[], offset=[], bytes=[])
    result = ssdlab.simulate(small.with_overrides({"host.repeat": "until-steady"}), empty)
    assert result.summary["repeat"] == {
        "replays": 1,
        "steady": True,
        "capacities_written": 0.0,
        "write_amplification": [None],
    }


def test_the_command_line_packs_and_replays(cli: Cli, sparse: ssdlab.Trace, tmp_path: Path) -> None:
    sparse.save(tmp_path / "trace.csv")
    common = [*SMALL, "--fit", "compact", "--set", "device.op=20%"]
    done = cli("run", "trace.csv", *common, "--repeat", "until-steady", "--all", "--out", "out")
    assert "note: write amplification was steady after" in done.stdout
    again = cli("run", "trace.csv", "--config", "out/config.toml", "--json")
    first = json.loads((tmp_path / "out" / "result.json").read_text())
    second = json.loads(again.stdout)
    assert {**first, "configuration": None} == {**second, "configuration": None}
    twice = json.loads(cli("run", "trace.csv", *common, "--repeat", "2", "--json").stdout)["result"]
    assert twice["repeat"]["replays"] == 2 and twice["repeat"]["steady"] is None
    compared = cli("compare", "trace.csv", *common, "--repeat", "2", "--all", "--case", "seed=1", "--case", "seed=2")
    assert "replays, including the measured one" in compared.stdout


def test_advice_uses_the_packed_trace(sparse: ssdlab.Trace) -> None:
    config = ssdlab.Config("mapcache", overrides={"host.fit": "compact", "device.reserve": "extra"})
    by_hand = config.with_overrides({"host.fit": "grow", "device.fill": "100%"})
    advice, expected = (
        ssdlab.advise.map_cache(trace, of, caches=["8KiB"], segments=["1KiB"]).to_dict()
        for trace, of in ((sparse, config), (packed_by_hand(sparse, 8192), by_hand))
    )
    assert advice == expected


def test_the_saved_configuration_of_a_small_trace_repeats_the_run(cli: Cli, tmp_path: Path) -> None:
    columns: dict[str, Any] = {"op": ["W"] * 64, "offset": [at << 18 for at in range(64)], "bytes": [1 << 18] * 64}
    ssdlab.Trace.from_columns(**columns).save(tmp_path / "w.csv")
    for number, more in enumerate((
        [], ["--repeat", "until-steady"], ["--preset", "sata-mlc", "--fit", "compact"],
        [*SMALL, "--fit", "compact", "--set", "ftl=sbfast", "--set", "cache.policy=lru", "--set", "time=serial"],
    )):  # fmt: skip
        first = json.loads(cli("run", "w.csv", *more, "--json", "--out", f"out{number}").stdout)
        again = json.loads(cli("run", "w.csv", "--config", f"out{number}/config.toml", "--json").stdout)
        assert {**first, "configuration": None} == {**again, "configuration": None}, more
