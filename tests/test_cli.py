"""Output and exit status of the command line, for users and scripts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

import ssdlab
from conftest import ROOT, SMALL_SETS, Cli, notes
from ssdlab.view import terminal
from ssdlab.view.page import Page

OLTP = ROOT / "traces" / "oltp.csv.zst"


def test_version_and_help(cli: Cli) -> None:
    assert cli("--version").stdout == f"ssdlab {ssdlab.__version__}\n"
    assert "compare" in cli().stdout
    for command in (["run"], ["compare"], ["calibrate"], ["validate"], ["trace", "convert"], ["config", "show"],
                    ["presets", "show"], ["list"], ["config", "explain"]):  # fmt: skip
        assert "Example" in cli(*command, "--help").stdout


def test_run_prints_a_table(cli: Cli) -> None:
    out = cli("run", "--workload", "zipf", *SMALL_SETS, "--all").stdout
    for words in (
        "zipf workload, 20,000 requests",
        "write amplification",
        "over-provisioning, with the FTL's reserve",
        "over-provisioning, share of physical flash",
        "garbage collection",
        "p99.99",
        "host writes per day",
        "lifetime at that rate",
    ):
        assert words in out


def test_json_is_the_only_standard_output(cli: Cli) -> None:
    done = cli("run", OLTP, "--fit", "wrap", *SMALL_SETS, "--json")
    result = json.loads(done.stdout)
    assert result["result"]["write_amplification"] > 1 and result["configuration"]["host.fit"]["origin"] == "--fit"
    assert result["source"]["paths"] == [str(OLTP)]


def test_out_writes_everything(cli: Cli, tmp_path: Path) -> None:
    cli("run", *SMALL_SETS, "--out", "deep/result")
    names = {path.name for path in (tmp_path / "deep" / "result").iterdir()}
    assert {"result.json", "report.html", "config.toml", "series.parquet"} <= names
    cli("run", *SMALL_SETS, "--config", "deep/result/config.toml", "--json")


def test_remarks_on_the_trace_are_shown(cli: Cli, tmp_path: Path) -> None:
    rows = "\n".join(f"{row},W,{8 * row},4096,0x2,1" for row in range(50))
    (tmp_path / "some.csv").write_text(
        f"time_ns,op,sector,bytes,flags,pid\n{rows}\n60,W,zero,4096,0x2,1\n70,R,0,0,0x1,1\n"
    )
    failed = cli("run", "some.csv", *SMALL_SETS, check=False)
    assert failed.returncode == 2 and "some.csv:52" in failed.stderr and len(failed.stderr.splitlines()) == 1
    out = cli("run", "some.csv", *SMALL_SETS, "--skip-bad").stdout
    assert "note: " in out and "zero" in out


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("0,R,0,4096,0x1,1\n", "read requests"),
        ("0,F,0,0,0x4,1\n", "flush requests"),
        ("0,W,1,512,0x2,1\n5,D,8,65536,0x2000,1\n", "partial page writes"),
    ],
)
def test_the_smallest_traces_have_results_and_reports(cli: Cli, tmp_path: Path, rows: str, words: str) -> None:
    (tmp_path / "tiny.csv").write_text(f"time_ns,op,sector,bytes,flags,pid\n{rows}")
    assert words in cli("run", "tiny.csv", *SMALL_SETS, "--all", "--out", "result").stdout
    assert "<h2>Erases per block</h2>" in (tmp_path / "result" / "report.html").read_text()


def test_one_request_is_written_in_the_singular(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "tiny.csv").write_text("time_ns,op,sector,bytes,flags,pid\n0,W,0,4096,0x1,1\n")
    assert cli("trace", "convert", "tiny.csv", "one.csv").stdout.splitlines()[0] == "one.csv: 1 request"


def test_a_warm_up_of_all_requests_is_reported(cli: Cli) -> None:
    assert "host.warmup covers all of it" in " ".join(
        notes(cli("run", *SMALL_SETS, "--set", "host.warmup=20000").stdout)
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nothere.csv"], ["nothere.csv", "No such file"]),
        (["run", str(OLTP), "--fit", "error"], ["oltp.csv.zst:59: a write of 4KiB", "--fit compact"]),
        (["run", "--set", "device.opp=7%"], ["device.opp", "did you mean device.op?"]),
        (["run", "--seed", "5"], ["No such option --seed; write --set seed=5; see"]),
        (["compare", "--seed=7"], ["No such option --seed; write --set seed=7; see"]),
        # An invalid value of the setting.
        (["run", "--capacity", "5"], ["No such option --capacity; write --set device.capacity=64GiB; see"]),
        (["run", "--gc", "fifo"], ["; write --set ftl.page.gc=fifo; see"]),
        (["run", "--queue-depth", "4"], ["; write --set host.replay.closed.queue_depth=4; see"]),
        (["run", "--device.op", "7%"], ["; write --set device.op=7%; see"]),
        (["run", "--op"], ["; write --set device.op=12.5%; see"]),
        (["run", "--size", "8KiB"], ["; write --set cache.size=8KiB or --set workload.size=8KiB; see"]),
        (["run", "--presett", "x"], ["No such option --presett; did you mean --preset?; see 'ssdlab run --help'"]),
        (["run", "-Z"], ["No such option -Z; see 'ssdlab run --help'"]),
        (["cache", "sim", "--seed", "3"], ["No such option --seed; see 'ssdlab cache sim --help'"]),
        (["--vresion"], ["did you mean --version?; see 'ssdlab --help'"]),
        (["run", "--set", "device.op=7"], ["device.op", '"7%"']),
        (["run", "--set", "device.op=2000%"], ["device.op", "1000"]),
        (["run", "--preset", "tcl-nvme"], ["ssdlab: --preset: unknown preset", "did you mean", "tlc-nvme"]),
        (["sweep", "-A", "preset=tcl-nvme,dftl"], ["ssdlab: axis: preset: unknown preset"]),
        (
            ["compare", "--case", "a: seed=1", "--case", "b: preset=tcl-nvme"],
            ["ssdlab: --case b: preset: unknown preset"],
        ),
        (["cache", "bench", "--drive", "tcl-nvme"], ["ssdlab: --drive: unknown preset"]),
        (["run", "--config", "nope.toml"], ["nope.toml", "No such file"]),
        (["run", str(OLTP), "--workload", "zipf"], ["not both"]),
        (["run", "-d", "all"], ["--device applies only to a trace"]),
        (["diagnose", "--skip-bad", "--concat"], ["--concat applies only to a trace"]),
        (["sweep", "-A", "device.op=7%,8%", "-f", "msr"], ["--format applies only to a trace"]),
        (["tune", "-A", "device.op=7%..8%", "--merge"], ["--merge applies only to a trace"]),
        (["run", str(OLTP), "--format", "vcsi1"], ["did you mean vscsi1?"]),
        (["run", str(OLTP), "--device", "sdb"], ["sdb"]),
        (["run", "--out", str(OLTP)], ["is a file; choose another directory"]),
        (["run", "--sett", "a"], ["--sett", "ssdlab run --help"]),
        (["frobnicate"], ["frobnicate", "ssdlab --help"]),
        (["compare", "--case", "seed=1"], ["use --case at least twice"]),
        (["compare", "--case", "a: seed=1", "--case", "a: seed=2"], ["same label"]),
        (["compare", "--case", "seed=1", "--case", "twelve"], ["'twelve' must be KEY=VALUE"]),
        (["compare", "--case", "seed=1", "--case", "preset=a preset=b"], ["presets a and b", "--config other.toml"]),
        (
            ["run", "--preset", "faster", "--preset", "sbfast"],
            ["--preset is used more than once", "--config other.toml"],
        ),
        (["run", "-p", "faster", "--preset=sbfast"], ["--preset is used more than once"]),
        (["run", "--out", "a", "-o", "b"], ["--out is used more than once; use it only once"]),
        (["calibrate", "--set", "time=serial"], ["set time=event", "sata-mlc"]),
        (["config", "explain", "nand.raed"], ["did you mean nand.read?"]),
        (["config", "explain", "workload.filebench"], ["did you mean workload.pattern.filebench?"]),
        (["config", "explain", "workload.filebench.personality"], ["did you mean workload.pattern.filebench."]),
        (["list", "vitcims"], ["did you mean victims?"]),
        (["trace", "convert", str(OLTP), "x.foo"], ["x.foo", "does not imply a format"]),
        (
            ["trace", "convert", str(OLTP), "x.txt", "--to", "fiu"],
            ["fiu can be read but not written; choose one of ", ", parquet"],
        ),
        (["trace", "convert", str(OLTP), "x.txt", "--to", "csv"], ["did you mean ssdlab-csv?"]),
        (["trace", "convert", str(OLTP), "no/such/dir.parquet"], ["no/such/dir.parquet", "cannot be written"]),
        (["presets", "show", "x"], ["unknown preset"]),
        (["config", "check", "--preset", "sbfast", "--set", "device.op=0.01%"], ["device.op", "raise it to 0.04%"]),
    ],
)
def test_wrong_input_is_one_line_and_status_2(cli: Cli, tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    done = cli(*arguments, check=False)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("ssdlab: ")
    for word in words:
        assert word in lines[0]
    assert done.stdout == "" and list(tmp_path.iterdir()) == []


def test_a_truncated_trace_leaves_nothing(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "cut.csv.zst").write_bytes(OLTP.read_bytes()[:100_000])
    done = cli("run", "cut.csv.zst", "--fit", "wrap", *SMALL_SETS, "--out", "result", check=False)
    assert done.returncode == 2 and "ends early" in done.stderr and len(done.stderr.splitlines()) == 1
    done = cli("trace", "convert", "cut.csv.zst", "whole.parquet", check=False)
    assert done.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["cut.csv.zst"]


def test_compare_marks_the_best_and_does_not_depend_on_threads(cli: Cli) -> None:
    cases = ["--case", "small: device.op=20%", "--case", "large: device.op=40%", "--case", "ftl.page.gc=fifo"]
    one = cli("compare", OLTP, "--fit", "wrap", *SMALL_SETS, *cases, "--jobs", "1")
    two = cli("compare", OLTP, "--fit", "wrap", *SMALL_SETS, *cases, "--jobs", "2")
    assert one.stdout == two.stdout
    row = next(line for line in one.stdout.splitlines() if line.startswith("  write amplification"))
    small, large, fifo = row.split()[3:]
    assert float(large) < float(small) < float(fifo)
    assert "no best values: the drives differ in flash" in one.stdout
    equal = cli(
        "compare", OLTP, "--fit", "wrap", *SMALL_SETS, "--case", "ftl.page.gc=fifo", "--case", "ftl.page.gc=greedy"
    )
    row = next(line for line in equal.stdout.splitlines() if line.startswith("  write amplification"))
    fifo, greedy, star = row.split()[3:]
    assert star == "*" and float(greedy) < float(fifo)
    as_json = [cli("compare", "--json", *SMALL_SETS, *cases, "--jobs", jobs).stdout for jobs in (1, 2)]
    listed = json.loads(as_json[0])["result"]["cases"]
    assert as_json[0] == as_json[1] and list(listed) == ["small", "large", "ftl.page.gc=fifo"]


def test_compare_fails_as_a_whole(cli: Cli) -> None:
    done = cli("compare", OLTP, *SMALL_SETS, "--case", "host.fit=wrap", "--case", "host.fit=error", check=False)
    assert done.returncode == 2 and done.stdout == "" and "--fit compact" in done.stderr


def test_a_trace_is_not_converted_onto_itself(cli: Cli, tmp_path: Path) -> None:
    trace, linked = tmp_path / "a.csv", tmp_path / "b.csv"
    trace.write_text("0,R,0,512,0x11,7\n")
    linked.symlink_to(trace)
    for target in (trace, linked):
        done = cli("trace", "convert", trace, target, "--to", "mqsim", check=False)
        assert done.returncode == 2 and "is the trace itself; choose another file" in done.stderr
    assert trace.read_text() == "0,R,0,512,0x11,7\n"


def test_traces_are_generated_converted_and_described(cli: Cli) -> None:
    assert (
        "5,000 requests" in cli("trace", "generate", "z.csv.zst", "-w", "zipf", "-s", "workload.requests=5000").stdout
    )
    cli("trace", "convert", "z.csv.zst", "z.parquet")
    infos = [json.loads(cli("trace", "info", name, "--json").stdout)["result"] for name in ("z.csv.zst", "z.parquet")]
    assert infos[0]["profile"] == infos[1]["profile"]
    assert infos[0]["profile"]["requests"]["read"] + infos[0]["profile"]["requests"]["write"] == 5000
    assert "most frequent size" in cli("trace", "info", "z.csv.zst").stdout
    lossy = cli("trace", "convert", OLTP, "o.msr", "--to", "msr").stdout
    assert "note: 6,202 requests omitted" in lossy
    assert "parquet" in cli("trace", "formats").stdout


def test_names_are_listed_with_their_meaning(cli: Cli) -> None:
    assert "faster  FASTer: FAST with a second chance" in cli("list", "ftls", "--all").stdout
    assert "fewest valid pages." in cli("list", "victims").stdout
    assert "uniform     all addresses equally likely" in cli("list", "workloads").stdout


def test_configuration_commands(cli: Cli) -> None:
    assert "tlc-nvme" in cli("presets", "list").stdout
    assert "# source:" in cli("presets", "show", "tlc-nvme").stdout
    assert json.loads(cli("config", "schema").stdout)["title"] == "ssdlab configuration"
    assert cli("config", "check", "--preset", "faster").stdout == "the configuration is valid\n"
    assert "seed = 3  # --set" in cli("config", "show", "--set", "seed=3").stdout
    assert json.loads(cli("config", "show", "--json", "--set", "seed=3").stdout)["configuration"]["seed"] == {
        "value": 3,
        "origin": "--set",
    }


def test_a_reader_that_closes_early_causes_no_error() -> None:
    command = f"{sys.executable} -m ssdlab config schema; echo status $? >&2"
    done = subprocess.run(f"({command}) | head -1", shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == "{\n" and done.stderr in ("status 0\n", "status 1\n")


def test_completion_knows_the_settings() -> None:
    from ssdlab.cli import app
    from ssdlab.cli.command import Later

    def completed(option: str, typed: str) -> list[tuple[str, str | None]]:
        later = app.commands["run"]
        assert isinstance(later, Later)
        command = later.loaded
        context = click.Context(command)
        (parameter,) = (one for one in command.params if one.name == option)
        return [(item.value, item.help) for item in parameter.shell_complete(context, typed)]

    assert ("nand.erase=", "Block erase time (t_BERS).") in completed("set", "nand.e")
    assert "ftl.page.gc=fifo" in [text for text, _ in completed("set", "ftl.page.gc=")]
    assert [name for name, _ in completed("preset", "tlc")] == ["tlc-chip", "tlc-nvme"]


def test_a_path_of_any_characters_gives_one_line(cli: Cli, tmp_path: Path) -> None:
    for name in ("no\nsuch.csv", "no\nsuch.parquet", "odd\x1b[31m.csv"):
        failed = cli("run", name, check=False)
        assert failed.returncode == 2 and len(failed.stderr.splitlines()) == 1
        assert "\x1b" not in failed.stderr
    assert "no\\nsuch.toml" in cli("run", "--config", "no\nsuch.toml", check=False).stderr


def test_pipes_and_devices_are_not_replaced(cli: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for format in ("ssdlab-csv", "parquet"):
        failed = cli("trace", "convert", OLTP, "pipe", "--to", format, check=False)
        assert failed.returncode == 2 and "exists and is" in failed.stderr
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "real.csv").touch()
    (tmp_path / "link.csv").symlink_to("real.csv")
    cli("trace", "generate", "link.csv", *SMALL_SETS)
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "real.csv").stat().st_size > 0


def test_any_terminal_encoding_works(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ssdlab", "run", *SMALL_SETS, "--all"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0 and "p99.99" in done.stdout, done.stderr


def test_a_device_larger_than_memory_is_refused(cli: Cli) -> None:
    sizes = ["--preset", "tlc-chip", "--set", "device.capacity=6TiB", "--set", "nand.pages_per_block=2"]
    rest = ["--set", "device.op=20%", "--set", "precondition.fill=0%", "--set", "precondition.overwrite=none"]
    rest += ["--set", "workload.requests=0"]
    if os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") > 90 << 30:
        pytest.skip("so much memory that the device might fit")
    failed = cli("run", *sizes, *rest, "--check", check=False)
    assert failed.returncode == 2 and len(failed.stderr.splitlines()) == 1, failed.stderr
    assert "of memory" in failed.stderr and "lower device.capacity" in failed.stderr


def test_a_short_run_on_an_empty_drive_needs_little_memory(cli: Cli) -> None:
    """The maps of a drive of 12 TiB have 26 GiB, of which two requests set a few entries."""
    if os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") < 16 << 30:
        pytest.skip("the system may refuse a map of 14 GiB")
    empty = ["--set", "precondition.fill=0%", "--set", "precondition.overwrite=none"]
    large = ["--preset", "client-nvme", "--set", "device.capacity=12TiB"]
    done = cli("run", *large, *empty, "--set", "workload.requests=2", "--json")
    assert json.loads(done.stdout)["result"]["device"]["capacity_bytes"] == 12 << 40


def test_an_unknown_parquet_device_is_an_error(cli: Cli) -> None:
    cli("trace", "generate", "t.parquet", *SMALL_SETS)
    failed = cli("trace", "info", "t.parquet", "--device", "sda", check=False)
    assert failed.returncode == 2 and "not in t.parquet: it has no device column; omit device" in failed.stderr


def test_closed_outputs_are_no_error(tmp_path: Path) -> None:
    ssdlab_command = f"{sys.executable} -m ssdlab"
    for script in (
        f"{ssdlab_command} presets list | true; exit ${{PIPESTATUS[0]}}",
        f"{ssdlab_command} presets list >&-",
    ):
        done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_option_types_match_their_functions(cli: Cli, tmp_path: Path) -> None:
    """A type that ends in None is a union of two types; the type of figures is a literal or None."""
    small = [*SMALL_SETS, "--set", "workload.requests=2000"]
    cli("run", *small, "--out", "drawn", "--figures", "svg")
    assert list((tmp_path / "drawn").glob("*.svg"))
    refused = cli("run", *small, "--out", "drawn", "--figures", "gif", check=False)
    assert refused.returncode == 2 and "'gif' is not one of 'pdf', 'svg', 'png'" in refused.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("run", "--preset=\udcff"),
        ("run", "--set=\udcff"),
        ("run", *SMALL_SETS, "--out", "o\udcff"),
        ("experiment", "show", "\udcff"),
    ],
)
def test_invalid_text_is_one_error_before_anything_runs(command: tuple[str, ...], cli: Cli) -> None:
    refused = cli(*command, check=False)
    assert refused.returncode == 2 and refused.stdout == "" and len(refused.stderr.splitlines()) == 1
    assert "is not UTF-8 text" in refused.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("explain", "--trace", OLTP, "--skip"),
        ("tune", "-O", "write_amplification", "-A", "seed=1,2", "--seeds"),
        ("fleet", "run", OLTP, "--drives"),
    ],
)
def test_a_number_beyond_64_bits_is_too_large(command: tuple[str, ...], cli: Cli) -> None:
    refused = cli(*map(str, command), "99999999999999999999", check=False)
    assert refused.returncode == 2 and f"{command[-1]}': 99999999999999999999 is too large" in refused.stderr


@pytest.mark.parametrize("command", [("--help",), ("list",), ("presets", "list"), ("config", "schema")])
def test_a_full_standard_output_is_named(command: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ssdlab", *command], stdout=full, stderr=-1, text=True, check=False
        )
    assert done.returncode == 2 and done.stderr.startswith("ssdlab: standard output: No space left"), done.stderr


@pytest.mark.parametrize(
    "option", ["--preset", "--config", "--set", "--state", "--save-state", "--workload", "--columns"]
)
def test_an_empty_option_is_named(option: str, cli: Cli) -> None:
    refused = cli("run", f"{option}=", check=False)
    assert (
        refused.returncode == 2
        and f"Invalid value for '{option}'" in refused.stderr
        and " is empty; " in refused.stderr
    )


@pytest.mark.parametrize("command", [("generate", "-"), ("convert", str(OLTP), "-", "--to", "parquet")])
def test_traces_are_written_to_files(command: tuple[str, ...], cli: Cli) -> None:
    refused = cli("trace", *command, check=False)
    assert refused.returncode == 2 and "OUT '-': must be a file name" in refused.stderr


def test_a_configuration_without_its_option_names_the_option(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("seed = 2\n")
    for command in (["config", "check"], ["run", "trace.csv"], ["compare", "trace.csv"]):
        done = cli(*command, "mine.toml", check=False)
        assert done.returncode == 2
        assert done.stderr == "ssdlab: mine.toml: is a configuration file, not a trace; use --config mine.toml\n"


def test_too_many_seeds_are_refused(cli: Cli) -> None:
    done = cli("compare", "--case", "a=1", "--case", "a=2", "--seeds", "1001", check=False)
    assert done.returncode == 2 and "--seeds" in done.stderr and "1<=x<=1000" in done.stderr


def test_a_shown_preset_is_a_file_for_a_run(cli: Cli, tmp_path: Path) -> None:
    for name, *_ in ssdlab.presets():
        file = tmp_path / f"{name}.toml"
        file.write_text(cli("presets", "show", name, "--all").stdout)
        shown, meant = (
            json.loads(cli("config", "show", "--json", *drive).stdout)["configuration"]
            for drive in (("--config", str(file)), ("--preset", name))
        )
        assert {key: one["value"] for key, one in shown.items()} == {key: one["value"] for key, one in meant.items()}


def test_a_truncated_configuration_file_is_refused(cli: Cli, tmp_path: Path) -> None:
    for more in [], ["--all"]:
        (tmp_path / "shown.toml").write_text(cli("config", "show", "--preset", "enterprise-nvme", *more).stdout)
        done = cli("config", "check", "--config", "shown.toml", check=False)
        assert done.returncode == (0 if more else 2) and ("shown.toml:40:" in done.stderr) == (not more)


def test_a_note_wraps_between_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    note = "the configuration of precondition.overwrite.steady was left out"
    terminal.show(Page(title="run", remarks=[note]))
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["run", "note: the", "configuration of", "precondition.overwrite.steady", "was left out"]
