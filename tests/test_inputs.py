"""Inputs of users: pipes, several files, columns, objects of caches, names, and the option named in errors."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import ssdlab
from conftest import ROOT, SMALL_SETS, Cli
from ssdlab import _ssdlab

ROWS = "".join(f"{n * 1000},{'W' if n % 3 else 'R'},{n % 50 * 8},4096\n" for n in range(400))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A small trace as a file."""
    path = tmp_path / "small.csv"
    path.write_text(ROWS)
    return path


def results(text: str) -> object:
    """Returns the JSON result without its source, which differs between a file and a pipe."""
    result = json.loads(text)["result"]
    return {key: value for key, value in result.items() if key not in ("source", "ingest")}


def test_size_shares_are_of_sized_requests(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "flushing.csv").write_text("0,W,0,4096\n1,F,0,0\n2,F,0,0\n3,R,0,4096\n4,R,0,8192\n")
    output = cli("trace", "info", tmp_path / "flushing.csv").stdout
    assert re.search(r"4.00 KiB +2 +66.67 %", output) and re.search(r"8.00 KiB +1 +33.33 %", output)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda trace: ssdlab.fleet([trace, trace.with_name("b.csv")], pack="nme"),
            "pack nme: unknown rule",
        ),
        (
            lambda trace: ssdlab.fleet([trace, trace.with_name("b.csv")], drives=1),
            "drives 1: with the rule alone, each volume has its own",
        ),
        (
            lambda trace: ssdlab.generate_fleet(trace.with_name("f.csv"), like="alibab"),
            "like alibab: unknown fleet profile",
        ),
        (lambda trace: ssdlab.generate_fleet(trace.with_name("f.csv"), volumes=0), "volumes 0: must be from"),
        (lambda _: ssdlab.sweep({"nand.channels": ["none"]}), "axis: nand.channels: expected a whole number"),
        (
            lambda _: ssdlab.sweep(
                {"block.layer": ["single-queue", "multi-queue"]},
                {"block.scheduler": "mq-deadline", "block.wbt_lat": "2ms"},
            ),
            "; to skip these points, add 'block.layer=single-queue' to without",
        ),
        (lambda _: ssdlab.calibrate(in_flight=[0]), "requests in flight must be numbers from 1 to 65536"),
        (lambda trace: ssdlab.experiments.load("sbfast").run(traces={"web": trace}), "did you mean web_0?"),
        (lambda _: ssdlab.cache.plan("1GiB", "2GiB"), "use exactly one of paper, device and device_us"),
    ],
)
def test_python_errors_name_no_command_options(trace: Path, call: Callable[[Path], object], told: str) -> None:
    trace.with_name("b.csv").write_text(ROWS)
    with pytest.raises(ssdlab.ConfigError) as caught:
        call(trace)
    assert told in str(caught.value) and "--" not in str(caught.value)


@pytest.mark.parametrize(
    "command",
    [
        ["run", "TRACE", *SMALL_SETS],
        ["run", "TRACE", *SMALL_SETS, "--repeat", "3"],
        ["run", "TRACE", *SMALL_SETS, "--fit", "compact", "--device", "all"],
        ["trace", "analyze", "TRACE"],
        ["trace", "intervals", "TRACE"],
        ["cache", "sim", "TRACE", "--size", "10%"],
    ],
)
def test_a_pipe_equals_the_file(cli: Cli, trace: Path, command: list[str]) -> None:
    of_file = cli(*(trace if word == "TRACE" else word for word in command), "--json")
    of_pipe = cli(*("-" if word == "TRACE" else word for word in command), "--json", data=ROWS.encode())
    assert results(of_pipe.stdout) == results(of_file.stdout)


def test_compressed_pipes_named_pipes_and_parquet(cli: Cli, tmp_path: Path, trace: Path) -> None:
    plain = ssdlab.read_trace(trace)
    for name in ("t.csv.zst", "t.parquet"):
        plain.save(tmp_path / name)
        done = cli("trace", "info", "-", "--json", data=(tmp_path / name).read_bytes())
        assert json.loads(done.stdout)["result"]["profile"]["requests"] == plain.profile()["requests"]
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    with subprocess.Popen(["sh", "-c", f"cat {trace} > {fifo}"]):
        assert len(ssdlab.read_trace(fifo)) == len(plain)


@pytest.mark.parametrize(
    ("arguments", "data", "said"),
    [
        (["run", "-"], b"", "standard input: is empty; there is nothing to replay"),
        (["cache", "sim", "-"], b"rubbish\n", "standard input: no trace format fits; select one with --format"),
        (["run", "-", "-"], b"", "standard input (-) is given twice; pass it only once"),
        (
            ["trace", "info", "-"],
            b"0,R,0,512\n1,R,0,512\n2,R,x,512\n",
            'standard input:3: field "sector": "x" is not a whole number',
        ),
    ],
)
def test_a_bad_pipe_is_one_clear_error(cli: Cli, arguments: list[object], data: bytes, said: str) -> None:
    done = cli(*arguments, data=data, check=False)
    assert done.returncode == 2 and done.stderr.startswith(f"ssdlab: {said}"), done.stderr
    assert len(done.stderr.splitlines()) == 1


FAR = "0,W,0,4096,0x2,1\n# far\n\n5,R,8,0\n10,W,65536,8192,0x2,2\n20,W,8,4096,0x2,1\n"
"""A trace whose line 5 ends beyond a small drive."""

BEYOND = (
    "ends 16392KiB past the end of the device (16MiB); "
    "raise device.capacity, or choose --fit compact, grow, scale or wrap"
)


def refused(config: ssdlab.Config, trace: object, **more: object) -> str:
    """Returns the message of the error that ends a run."""
    with pytest.raises(ssdlab.SimulationError) as caught:
        ssdlab.simulate(config, trace, **more)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("t.csv", ":3"),
        ("t.csv.gz", ":3"),
        ("t.csv.zst", ":3"),
        ("t.fio3", ":5"),
        ("t.vscsi", ":record 2 at byte 40"),
        ("t.blktrace", ":record 2 at byte 48"),
        ("t.parquet", ": row 1"),
    ],
)
def test_a_request_beyond_the_drive_is_located_in_every_format(
    small: ssdlab.Config, tmp_path: Path, name: str, place: str
) -> None:
    (tmp_path / "far.csv").write_text(FAR)
    path = tmp_path / name
    formats = {".fio3": "fio3", ".vscsi": "vscsi2", ".blktrace": "blktrace"}
    ssdlab.read_trace(tmp_path / "far.csv").save(path, format=formats.get(path.suffix))
    assert refused(small, path) == f"{path}{place}: a write of 8KiB at byte 33554432 {BEYOND}"


def test_the_line_number_counts_skipped_lines(cli: Cli, small: ssdlab.Config, tmp_path: Path) -> None:
    (tmp_path / "far.csv").write_text(FAR)
    for command in ("run", "advise mapcache"):
        done = cli(*command.split(), "far.csv", *SMALL_SETS, check=False)
        assert done.stderr.startswith(f"ssdlab: far.csv:5: a write of 8KiB at byte 33554432 {BEYOND}"), done.stderr
    done = cli("run", "-", *SMALL_SETS, data=FAR.encode(), check=False)
    assert done.stderr.startswith("ssdlab: standard input:5: a write of 8KiB at"), done.stderr
    # The host counts requests in the order of issue: the request of the process is the first or the second.
    more = {"host.replay": "processes", "time": "event", "device.op": "30%"}
    path = tmp_path / "order.csv"
    path.write_text("0,R,0,4096,0,1\n" * 20 + "0,R,65536,4096,0,2\n")
    assert refused(small.with_overrides(more), path).startswith(f"{path}:21: a read of 4KiB at byte 33554432 ")
    path.write_text("9,W,65536,4096\n5,W,0,4096\n3,W,131072,4096\n")
    assert refused(small, path).startswith(f"{path}:1: a write of 4KiB at byte 33554432 ")


def test_a_request_beyond_the_drive_names_its_file(small: ssdlab.Config, tmp_path: Path) -> None:
    near, far = tmp_path / "near.csv", tmp_path / "far.csv"
    near.write_text("0,W,0,4096,0x2,1\n10,W,32760,4096,0x2,2\n")
    far.write_text(FAR)
    joined = refused(small, ssdlab.TraceFile(near, far, concat=True))
    assert joined == f"{far}:5: a write of 8KiB at byte 33554432 {BEYOND}"
    # In the merged trace, the request lies behind the 16 MiB of the other file.
    merged = refused(small, ssdlab.TraceFile(near, far, merge=True))
    assert merged.startswith(
        f"{far}:1: a write of 4KiB at byte 16777216 ends 4KiB past the end of the device (16MiB); "
    )
    tables = [path.with_suffix(".parquet") for path in (near, far)]
    for path, table in zip((near, far), tables, strict=True):
        ssdlab.read_trace(path).save(table)
    assert refused(small, ssdlab.TraceFile(*tables, concat=True)).startswith(f"{tables[1]}: row 1: a write of 8KiB at")


def test_a_request_beyond_the_drive_names_its_row(small: ssdlab.Config, tmp_path: Path) -> None:
    table = pyarrow.table(
        {
            "time_ns": range(5),
            "op": ["write"] * 5,
            "offset": [0, 1 << 30, 4096, 0, 32 << 20],
            "bytes": [4096, 4096, 4096, 4096, 8192],
            "volume": ["a", "b", "a", "b", "a"],
        }
    )
    path = tmp_path / "volumes.parquet"
    pyarrow.parquet.write_table(table, path, row_group_size=2)
    assert refused(small, path) == f"{path}: row 4: a write of 8KiB at byte 33554432 {BEYOND}"
    for device in ("b", "all"):
        message = refused(small, ssdlab.TraceFile(path, device=device))
        assert message.startswith(f"{path}: row 1: a write of 4KiB at byte ")
    trace = ssdlab.Trace.from_frame(table.drop_columns("volume"))
    assert refused(small, trace).startswith("5 requests in memory: row 1: a write of 4KiB at byte 1073741824 ")
    with pytest.raises(ssdlab.SimulationError, match=r"^5 requests in memory: row 1: a write of 4KiB at"):
        ssdlab.advise.map_cache(trace, small)


def test_a_request_beyond_the_drive_is_refused_after_its_trace_was_deleted(
    small: ssdlab.Config, tmp_path: Path
) -> None:
    path = tmp_path / "far.csv"
    path.write_text(FAR)
    message = refused(small, path, monitor=lambda *_: path.unlink(missing_ok=True))
    assert message == f"request 2: a write of 8KiB at byte 33554432 {BEYOND}"


def test_several_traces_need_an_explicit_choice(cli: Cli, trace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("500,W,8,4096\n900,W,16,4096\n")
    for command in ("run", "trace info", "cache sim"):
        done = cli(*command.split(), trace, other, check=False)
        assert done.returncode == 2 and "pass --concat to replay them one after another, or --merge" in done.stderr
    plain = ssdlab.read_trace(trace)
    joined = ssdlab.read_trace(trace, other, concat=True)
    assert len(joined) == 402 and joined.time_ns[400:].tolist() == [399_000, 399_400]
    assert joined.offset[400:].tolist() == [4096, 8192]
    merged = ssdlab.read_trace(trace, other, merge=True)
    assert len(merged) == 402 and merged.time_ns[1] == 500
    assert merged.offset[1] >= plain.offset.max() and merged.offset[1] % 4096 == 0
    with pytest.raises(ssdlab.TraceError, match="concat and merge are both set"):
        ssdlab.TraceFile(trace, other, concat=True, merge=True)
    parquet = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, whole in zip(parquet, (plain, ssdlab.read_trace(other)), strict=True):
        whole.save(path)
    with pytest.raises(ssdlab.TraceError, match="2 Parquet files are given"):
        ssdlab.read_trace(*parquet)
    assert ssdlab.read_trace(*parquet, concat=True).time_ns.tolist() == joined.time_ns.tolist()
    mixed = r"a\.parquet is Parquet and .*other\.csv is not; convert"
    for concat in (False, True):
        with pytest.raises(ssdlab.TraceError, match=mixed):
            ssdlab.read_trace(other, parquet[0], concat=concat, merge=not concat)
    with pytest.raises(ssdlab.TraceError, match=mixed):
        ssdlab.fleet([other, parquet[0]], out=tmp_path / "fleet")


def test_columns_of_any_text(cli: Cli, tmp_path: Path) -> None:
    text = tmp_path / "log.txt"
    text.write_text(
        "when;kind;where;much\n" + "".join(f"{n}.5;{'Write' if n % 2 else 'rd'};{n * 8};8\n" for n in range(50))
    )
    spec = "time=0:us,op=1,offset=2:sectors,size=3:sectors"
    by_number = ssdlab.read_trace(text, columns=spec)
    by_heading = ssdlab.read_trace(
        text, columns={"time": "When:us", "op": "kind", "offset": "where:sectors", "size": "much:sectors"}
    )
    assert by_number.columns()["time_ns"].tolist() == [n * 1000 for n in range(50)]
    for name, column in by_number.columns().items():
        assert (column == by_heading.columns()[name]).all(), name
    payload = json.loads(cli("trace", "info", text, "--columns", spec, "--json").stdout)
    assert payload["result"]["profile"]["bytes"] == {"read": 25 * 4096, "write": 25 * 4096, "trim": 0, "flush": 0}
    assert payload["source"]["columns"] == spec
    for wrong, said in (
        ("time=0", 'columns "time=0": op is missing; for a constant, use op='),
        ("op=1,offset=2,size=x", 'log.txt:1: columns size=x: no heading "x"; the headings are "when, kind, '),
    ):
        done = cli("run", text, "--columns", wrong, check=False)
        assert done.returncode == 2 and said in done.stderr, done.stderr
    done = cli("run", text, "--format", "columns", check=False)
    assert done.returncode == 2 and "pass --columns" in done.stderr


@pytest.mark.parametrize(("format", "keeps_writes"), [("oracle-general", False), ("lcs", True), ("cache-csv", False)])
def test_libcachesim_objects_go_through_caches(
    cli: Cli, trace: Path, tmp_path: Path, format: str, keeps_writes: bool
) -> None:
    done = cli("trace", "convert", trace, tmp_path / "objects.bin", "--to", format.upper())
    assert ("as reads" in done.stdout) != keeps_writes
    again = ssdlab.read_trace(tmp_path / "objects.bin")
    assert again.offset.tolist() == ssdlab.read_trace(trace).offset.tolist()
    assert bool(again.op.any()) == keeps_writes
    asked = ("--objects", "--policy", "lru,s3-fifo", "--size", "10,30", "--json")
    assert results(cli("cache", "sim", tmp_path / "objects.bin", *asked).stdout) == results(
        cli("cache", "sim", trace, *asked).stdout
    )
    paged = cli("cache", "mrc", tmp_path / "objects.bin", check=False)
    assert paged.returncode == 2 and paged.stderr.endswith(
        "add --objects, or --sized-objects to include object sizes\n"
    )
    refused = cli("run", tmp_path / "objects.bin", check=False)
    assert refused.returncode == 2
    assert f"objects.bin: contains cache objects ({format}), which have no drive addresses" in refused.stderr
    for advised in (["advise", "mapcache"], ["trace", "intervals"], ["explain", "--trace"]):
        assert refused.stderr == cli(*advised, tmp_path / "objects.bin", check=False).stderr
    with pytest.raises(ssdlab.TraceError, match=r"in memory: contains cache objects"):
        ssdlab.simulate(trace=again)
    as_addresses = cli("trace", "convert", tmp_path / "objects.bin", tmp_path / "sectors.csv", check=False)
    assert as_addresses.returncode == 2 and "choose one of oracle-general, lcs, cache-csv, parquet with --to" in (
        as_addresses.stderr
    )
    with pytest.raises(ssdlab.TraceError, match="ssdlab-csv stores drive requests"):
        again.save(tmp_path / "sectors.csv")
    assert not (tmp_path / "sectors.csv").exists()
    again.save(tmp_path / "objects.parquet")
    assert ssdlab.read_trace(tmp_path / "objects.parquet").offset.tolist() == again.offset.tolist()


@pytest.mark.parametrize("format", ["fio2", "fio3", "blktrace", "MQSim", "parquet", "Vscsi1", "msr"])
def test_exports_read_back(trace: Path, tmp_path: Path, format: str) -> None:
    plain = ssdlab.read_trace(trace)
    plain.save(tmp_path / "out", format=format)
    again = ssdlab.read_trace(tmp_path / "out")
    unit = {"fio2": 100_000, "fio3": 1000, "Vscsi1": 1000, "msr": 100}.get(format, 1)
    for name in ("op", "offset", "bytes"):
        assert (getattr(again, name) == getattr(plain, name)).all(), name
    assert (again.time_ns == plain.time_ns // unit * unit).all()


def test_names_ignore_case(cli: Cli, trace: Path) -> None:
    done = cli("cache", "sim", trace, "--policy", "LRU,S3_FIFO", "--size", "10%", "--json")
    assert [cell["policy"] for cell in json.loads(done.stdout)["result"]["caches"]] == ["LRU", "S3_FIFO"]
    same = cli("cache", "sim", trace, "--policy", "lru,s3-fifo", "--size", "10%", "--json")
    ratios = [[cell["miss_ratio"] for cell in json.loads(one.stdout)["result"]["caches"]] for one in (done, same)]
    assert ratios[0] == ratios[1]
    assert ssdlab.Config("TLC_NVMe", overrides={"FTL.Page.GC": "Cost-Benefit"})["ftl.page.gc"] == "cost_benefit"
    assert cli("presets", "show", "TLC-nvme").stdout == cli("presets", "show", "tlc-nvme").stdout
    assert cli("list", "Schedulers").stdout == cli("list", "schedulers").stdout
    assert cli("config", "explain", "NAND.read").stdout == cli("config", "explain", "nand.read").stdout
    assert len(ssdlab.read_trace(trace, format="SSDLAB_CSV")) == 400
    assert [_ssdlab.named(word, ["a-b", "a_b", "Zipf"]) for word in ("A-B", "a_b", "ZIPF", "x")] == [
        None,
        "a_b",
        "Zipf",
        None,
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["run", "-s", "device.op=7"],
            '--set: device.op: "7" is ambiguous without a % sign; write "7%", or "700%" if you mean a fraction',
        ),
        (
            ["run", "--set", "device.op=0.07"],
            '"0.07" is ambiguous without a % sign; write "0.07%", or "7%" if you mean a fraction',
        ),
        (["run", "-s", "ftl.fast.log=3", "-s", "ftl=bast"], '--set: ftl.fast.log: needs ftl = "fast"'),
        (
            ["run", "--repeat", "3", "-s", "host.repeat=until-steady"],
            '--repeat: host.repeat.times.count: needs host.repeat = "times"',
        ),
        (["compare", "--case", "a: ftl.fast.log=3 ftl=bast", "--case", "b: seed=2"], "--case a: ftl.fast.log: "),
        (
            ["run", "-s", "device.capacity=1.34GiB"],
            "1438814044B is not a multiple of the page size 4KiB; raise it to 1405092KiB",
        ),
        (["run", "--fit", "wrong"], '--fit: host.fit: "wrong" is not one of error, wrap, scale, grow, compact'),
        (["run", "--fit", "scale"], '--fit: host.fit: "scale" needs a trace'),
        (["run", "--repeat", "until"], '--repeat: host.repeat: "until" is not one of times, until-steady'),
        (["run", "--repeat", "0"], "--repeat: host.repeat.times.count: 0 is out of range"),
        (["run", "-w", "zip"], '--workload: workload.pattern: "zip" is not one of'),
        (["compare", "--case", "a: seed=x", "--case", "b: seed=2"], "--case a: seed: expected a whole number"),
        (["calibrate", "--size", "3"], '--size: workload.size: "3" is not a size'),
        (
            ["advise", "mapcache", "t.csv", "--target", "95"],
            '--target: "95" is not a percentage: the % sign is missing; write "95%"',
        ),
        (["advise", "mapcache", "t.csv", "--cache", "8KiB,3"], '--cache: "3" is not a size'),
        (["advise", "mapcache", "t.csv", "--entry", "4"], '--entry: "4" is not a size'),
        (["cache", "plan", "--memory", "0", "--data", "8GiB", "--paper"], '--memory: "0" is not a size'),
        (["cache", "sim", "t.csv", "--page", "4"], '--page: "4" is not a size'),
        (["trace", "analyze", "t.csv", "-r", "16"], '--range: "16" is not a size'),
        (["run", "--save-state", "nowhere/aged.drive"], "--save-state nowhere/aged.drive: directory "),
        (["trace", "intervals", "t.csv", "--log", "10%,12x"], '--log: "12x" is not a log size; use a share'),
        (["cache", "sim", "t.csv", "--size", "10%,12x"], '--size: "12x" is not a size: unknown unit "x"'),
        (["cache", "sim", "t.csv", "--size", "0"], "--size: a cache of 0 is smaller than one page; use a larger cache"),
        (["cache", "mrc", "t.csv", "--size", "12x"], '--size: "12x" is not a size: unknown unit "x"'),
        (["cache", "bench", "--budget", "12x"], '--budget: "12x" is not a size: unknown unit "x"'),
        (["cache", "bench", "--budget", "0.1"], '--budget: "0.1" is not a size: the unit is missing'),
        (
            ["advise", "drive", str(ROOT / "traces/varmail.csv.zst"), "--op", "7%,3"],
            '--op: device.op: "3" is ambiguous without a % sign',
        ),
        (["advise", "drive", "t.csv", "--op", "7%..9%"], "--op: 7%..9% is a range without steps"),
        (
            ["explain", "--set", "ftl=fast", "--requests", "0", "--beside", "ftl=fasst"],
            '--beside: ftl: "fasst" is not one of page, bast, fast, faster, sbfast; did you mean "fast"?',
        ),
        (["explain", "--requests", "0", "--beside", "fl=fast"], "--beside: fl: unknown setting; did you mean ftl?"),
        (["explain", "--set", "ftl=fas", "--requests", "0", "--beside", "ftl=fast"], '--set: ftl: "fas" is not one of'),
        (["cache", "bench", "--pages", "many"], '--pages: "many" is not a whole number'),
        (["cache", "bench", "--writes", "0.1"], '--writes: "0.1" is ambiguous without a % sign'),
        (
            ["cache", "plan", "--memory", "1GiB", "--data", "8GiB", "--paper", "--share", "40"],
            '--share: "40" is not a percentage: the % sign is missing; write "40%"',
        ),
    ],
)
def test_errors_blame_the_typed_option(cli: Cli, arguments: list[str], said: str) -> None:
    done = cli(*arguments, check=False)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_errors_blame_python_keywords() -> None:
    with pytest.raises(ssdlab.ConfigError, match=r'^overrides: device\.op: "7" is ambiguous without a % sign'):
        ssdlab.Config(overrides={"device.op": 7})
    with pytest.raises(ssdlab.ConfigError, match=r"^config: nand\.reed: unknown setting"):
        ssdlab.simulate({"nand": {"reed": "25us"}})
    assert ssdlab.Config(overrides={"workload": {"requests": 1e6}})["workload.requests"] == 1_000_000
    assert ssdlab.Config(overrides={"device.capacity": "8g"})["device.capacity"] == "8GiB"


def test_a_trace_sizes_the_default_drive(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "far.csv"
    # Far beyond the default drive.
    path.write_text("".join(f"{n},W,{n * 8 + (n % 2 << 40)},4096\n" for n in range(60_000)))
    plain = cli("run", path, "--no-cache")
    asked = cli("run", path, "--no-cache", "--fit", "compact")
    assert plain.stdout == asked.stdout
    assert "\nScale model of the nominal 1 TB drive: 384 MiB instead of 234 MiB, " in plain.stdout
    for own in (["--set", "device.capacity=4GiB"], ["--fit", "error"], ["--preset", "tlc-nvme"]):
        done = cli("run", path, "--no-cache", *own, "--set", "precondition.overwrite=none", check=False)
        assert done.returncode == 2 and "; raise device.capacity, or choose --fit" in done.stderr, (own, done.stderr)
    # A trace of one page is smaller than any drive, so the drive has the smallest possible size.
    tiny = ssdlab.simulate(trace=ssdlab.Trace.from_columns(op=[1], offset=[0], bytes=[4096]))
    assert tiny.summary["device"]["capacity_bytes"] == 384 << 20
    config = ssdlab.Config().for_trace()
    assert config["host.fit"] == "compact" and config["device.fill"] == "100%"
    assert ssdlab.Config()["host.fit"] == "error"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["run", "given"], ROWS),
        (["run", "given", "--format", "msr"], ROWS),
        (["trace", "info", "given", "--columns", "time=0,op=1,offset=2,size=3"], ROWS),
        (["run", "--config", "given"], '[device]\ncapacity = "16MiB"\n'),
        (["sweep", "--file", "given"], '[axes]\n"device.op" = ["7%"]\n'),
        (["experiment", "run", "./given"], 'title = "T"\n'),
        (["cache", "plan", "--memory", "1GiB", "--data", "2GiB", "--paper", "--curve", "given"], "policy,misses\n"),
    ],
)  # fmt: skip
def test_utf_16_is_named_with_its_conversion(
    cli: Cli, tmp_path: Path, arguments: list[str], text: str, encoding: str
) -> None:
    name = "given.toml" if "experiment" in arguments else "given"
    (tmp_path / name).write_bytes(text.encode(encoding))
    done = cli(*(argument.replace("given", name) for argument in arguments), check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert done.stderr.endswith(f"{name}: is UTF-16 text; convert it with 'iconv -f UTF-16 -t UTF-8'\n"), done.stderr
