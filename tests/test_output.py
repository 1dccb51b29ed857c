"""All commands with --json and all saved findings have the same shape of JSON."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest

import ssdlab
from conftest import ROOT, SMALL, SMALL_SETS
from ssdlab import cli, text
from ssdlab.cli.command import Later
from ssdlab.model.envelope import envelope, written
from ssdlab.model.finding import Finding
from ssdlab.model.source import _digest_of, identify_meanwhile
from ssdlab.study.validation import amplification

OLTP = str(ROOT / "traces" / "oltp.csv.zst")
SCHEMA = json.loads((ROOT / "docs" / "output.schema.json").read_text(encoding="utf-8"))
PLAN = ["--memory", "1GiB", "--data", "10GiB", "--paper"]
BENCH = [
    "--pages",
    "500",
    "--accesses",
    "1000",
    "--budget",
    "30%",
    "--share",
    "0,50",
    "--codec",
    "lz4",
    "--cost",
    "0",
    "--runs",
    "1",
]
CALIBRATE = [*SMALL_SETS, "--set", "time=event", "--regions", "1MiB", "--in-flight", "1,2", "--requests", "50"]

COMMANDS: dict[str, list[str]] = {
    "run": SMALL_SETS,
    "compare": [*SMALL_SETS, "--case", "seed=1", "--case", "seed=2"],
    "sweep": [*SMALL_SETS, "-A", "seed=1,2"],
    "tune": [*SMALL_SETS, "-A", "device.op=20%..40%", "-O", "write_amplification", "--trials", "4"],
    "study show": ["study"],
    "study plot": ["study"],
    "study effects": ["study"],
    "study pareto": ["study", "-O", "write_amplification", "-O", "wear.erases"],
    "fleet run": ["fleet.csv", "--set", "time=count"],
    "fleet show": ["fleet"],
    "fleet generate": ["generated.csv", "--volumes", "3", "--requests", "100"],
    "fit drive": ["--sheet", "read_latency=80us", "--preset", "small-nvme", "--set", "device.capacity=256MiB"],
    "calibrate": CALIBRATE,
    "validate": ["--quick"],
    "find": ["queue"],
    "list": [],
    "presets list": [],
    "presets show": ["tlc-nvme"],
    "config check": [],
    "config show": [],
    "config explain": ["nand.read"],
    "diagnose": [*SMALL_SETS, "--set", "time=event"],
    "explain": ["bast-thrashing"],
    "trace formats": [],
    "trace convert": [OLTP, "converted.csv"],
    "trace generate": ["generated.csv", *SMALL_SETS],
    "trace info": [OLTP],
    "trace intervals": [OLTP],
    "trace analyze": [OLTP],
    "experiment list": [],
    "experiment show": ["sbfast"],
    "experiment run": [str(ROOT / "tests" / "experiment")],
    "advise mapcache": [OLTP, "--fit", "wrap"],
    "advise cache": [OLTP, "--memory", "1MiB,4MiB"],
    "advise drive": [OLTP, "--op", "20%,40%"],
    "cache sim": [OLTP],
    "cache mrc": [OLTP],
    "cache bench": BENCH,
    "cache plan": PLAN,
    "cache-dir": [],
    "compress bench": ["--page", "8KiB", "--codec", "lz4", "--runs", "1", "--threads", "1"],
}
"""Each command with arguments that keep it short."""

ENDLESS = {"serve"}
"""Commands that run until stopped; their own tests compare their output with the schema."""

OF_ITS_OWN = {"view", "config schema", "new", "build"}
"""Print no findings."""


def commands() -> Iterator[tuple[str, Any]]:
    def below(name: str, command: click.Command) -> Iterator[tuple[str, Any]]:
        loaded = command.loaded if isinstance(command, Later) else command
        if isinstance(loaded, click.Group):
            for called, one in loaded.commands.items():
                yield from below(f"{name} {called}".strip(), one)
        else:
            yield name, loaded

    return below("", cli.app)


def test_every_command_prints_json() -> None:
    names = dict(commands())
    without = {name for name, command in names.items() if "json" not in [param.name for param in command.params]}
    assert without == OF_ITS_OWN
    assert {*names} - without == {*COMMANDS, *ENDLESS}


def called(command: str, monkeypatch: pytest.MonkeyPatch, folder: Path, *more: str) -> int | None:
    """Exit status of a command, called in a folder with the files that it needs."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(amplification, "quick_rows", lambda: [*amplification.rows()][:1])
    if command.startswith("study"):
        ssdlab.sweep({"device.op": ["20%", "30%"]}, ssdlab.Config("tlc-chip", overrides=SMALL), out="study")
    if command in ("fleet run", "fleet show"):
        ssdlab.generate_fleet("fleet.csv", volumes=2, requests=100)
        ssdlab.fleet("fleet.csv", {"time": "count"}, out="fleet")
    status: int | None = cli.app([*command.split(), *COMMANDS[command], *more], standalone_mode=False)
    return status


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_prints_one_shape(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert not called(command, monkeypatch, tmp_path, "--json")
    payload = json.loads(capsys.readouterr().out)
    jsonschema.validate(payload, SCHEMA)
    if OLTP in COMMANDS[command]:
        assert payload["source"]["sha256"] == [hashlib.sha256(Path(OLTP).read_bytes()).hexdigest()]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_fits_a_screen(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    saves = any(parameter.name == "figures" for parameter in dict(commands())[command].params)
    assert not called(command, monkeypatch, tmp_path, *(["--out", "out"] if saves else []))
    lines = capsys.readouterr().out.splitlines()
    assert 0 < len(lines) <= (25 if command == "run" else 40)
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("trace", sorted((ROOT / "traces").glob("*.zst")), ids=lambda path: path.name)
def test_a_run_of_a_shipped_trace_prints_a_summary(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    cli.app(["run", str(trace.relative_to(ROOT)), "--out", str(tmp_path)], standalone_mode=False)
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert len(lines) <= 25 and max(map(len, lines)) <= 100
    saved = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["result"]
    for op, moved in (("read", "read"), ("write", "written")):
        latency = saved["latency"][op]
        row = next(line for line in lines if line.startswith(f"  {op} "))
        assert re.split(" {2,}", row.strip()) == [
            op, f"{latency['count']:,}", text.bandwidth(saved["time"][f"bytes_{moved}_per_s"]),
            *(text.duration(latency[name]) for name in ("mean_ns", "p50_ns", "p99_ns", "p99_9_ns")),
        ]  # fmt: skip
    at = next(at for at, line in enumerate(lines) if line.startswith("write amplification (WAF)"))
    assert re.split(" {2,}", lines[at + 1].strip()) == [
        text.ratio(saved["write_amplification"]), text.short_count(saved["time"]["iops"]),
        text.size_decimal(saved["lifetime"]["host_tbw_bytes"]), text.significant(saved["lifetime"]["dwpd_5_years"]),
    ]  # fmt: skip
    assert "TBW of the nominal 1 TB drive" in lines[at]
    elapsed = text.duration(saved["time"]["elapsed_ns"])
    # The drive kept up with the trace, or took longer.
    assert " at its recorded times" in lines[0] and lines[0].endswith((f", {elapsed}", f" of trace in {elapsed})"))
    assert f"Drive: {text.size(saved['device']['capacity_bytes'])} on " in printed


LONG = (
    ["list", "caches"], ["list", "experiments"], ["presets", "show", "enterprise-nvme"], ["config", "explain", "block"],
    ["config", "explain", "ftl.page.trigger"], ["experiment", "show", "pardispatcher"], ["validate", "--quick"],
)  # fmt: skip


@pytest.mark.parametrize("command", LONG, ids=" ".join)
def test_all_prints_what_is_cut_off(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    cli.app(command, standalone_mode=False)
    short = capsys.readouterr().out.splitlines()
    cli.app([*command, "--all"], standalone_mode=False)
    whole = capsys.readouterr().out.splitlines()
    assert len(short) <= 40 and max(map(len, [*short, *whole])) <= 100
    left_out = [line for line in short if line.endswith("more lines: --all")]
    if left_out:
        at = short.index(left_out[0])
        number = int(left_out[0].partition(" ")[0])
        assert short[:at] == whole[:at] and len(whole) == len(short) - 1 + number
    else:
        assert len(whole) >= len(short)


def test_the_schema_refuses_other_shapes() -> None:
    good = envelope("result", {}, source={"kind": "memory", "requests": 0})
    jsonschema.validate(good, SCHEMA)
    broken: list[dict[str, object]] = [
        {"kind": "surprise"},
        {"source": {"kind": "trace", "paths": ["a"]}},
        {"source": {}},
        {"configuration": {"seed": 1}},
        {"notes": [""]},
        {"version": "0.1.0"},
        {"result": 5},
        {"more": 1},
    ]
    for change in broken:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**good, **change}, SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({key: value for key, value in good.items() if key != "notes"}, SCHEMA)


def test_saved_json_equals_printed_json(small: ssdlab.Config, tmp_path: Path) -> None:
    result = ssdlab.simulate(small)
    result.save(tmp_path)
    saved = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    jsonschema.validate(saved, SCHEMA)
    assert saved == json.loads(result.to_json()) and saved["result"] == result.to_dict()
    assert saved["configuration"] == small.to_dict() and saved["notes"] == list(result.page().remarks)


def test_a_deleted_file_has_no_digest(tmp_path: Path) -> None:
    path = tmp_path / "gone.csv"
    path.write_text("time_ns,op,sector,bytes,flags,pid\n0,W,0,4096,0x2,1\n")
    source = ssdlab.TraceFile(path).about
    # The digest is computed once, in the background or now.
    before = _digest_of.cache_info().misses
    identify_meanwhile(source)
    digests = [envelope("result", {}, source=source)["source"]["sha256"]]
    assert _digest_of.cache_info().misses == before + 1
    path.write_text("time_ns,op,sector,bytes,flags,pid\n0,W,8,8192,0x2,1\n0,W,8,8192,0x2,1\n")
    digests.append(envelope("result", {}, source=source)["source"]["sha256"])
    path.unlink()
    digests.append(envelope("result", {}, source=source)["source"]["sha256"])
    assert digests[0] != digests[1] and digests[2] == [None]


def test_table_rows_stay_rows() -> None:
    text = written({"table": [[1, 2], [3, None]], "names": ["a", "b"], "empty": {}, "deep": {"x": [{"y": 1}]}})
    assert "    [1, 2],\n    [3, null]\n" in text and '"names": ["a", "b"]' in text
    assert json.loads(text) == {
        "table": [[1, 2], [3, None]], "names": ["a", "b"], "empty": {}, "deep": {"x": [{"y": 1}]},
    }  # fmt: skip


def test_a_finding_without_figures_cannot_be_made() -> None:
    class EmptyFinding(Finding):
        _page = _json = "nothing"

    with pytest.raises(TypeError, match="to_dict"):
        EmptyFinding()  # type: ignore[abstract]
