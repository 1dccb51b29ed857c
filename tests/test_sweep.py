"""Sweeps: rows are single runs, and a study is the same however it was run."""

import errno
import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import ssdlab
from conftest import ROOT, Cli
from ssdlab.model import shape
from ssdlab.study.store import folder as store
from ssdlab.study.store.folder import RUNS
from ssdlab.study.survey.outcome import USUAL
from ssdlab.study.sweep import file, pilots, running
from ssdlab.study.sweep.design import Design
from ssdlab.study.sweep.plan import MANY, Plan, plan
from ssdlab.study.sweep.preview import Preview
from ssdlab.study.work.local import LocalWorkers
from ssdlab.study.work.run import Outcome, Run, TraceRef
from ssdlab.view.page import Table
from sweeps import AXES, BASE, TINY, TINY_SETS, counted, planned


def test_conditions_leave_combinations_out() -> None:
    rows = planned(AXES, without=["ftl.page.gc=fifo device.op>=30%"]).rows
    assert [tuple(row.values.values()) for row in rows] == [
        ("greedy", "20%"), ("greedy", "30%"), ("greedy", "40%"), ("fifo", "20%")
    ]  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of six points with two seeds each."""
    folder = tmp_path_factory.mktemp("study") / "s"
    ssdlab.sweep(AXES, BASE, out=folder, seeds=2)
    return folder


def test_rows_are_those_of_single_runs(study: Path, cli: Cli) -> None:
    found = ssdlab.open_study(study)
    assert (found.asked, found.finished, found.partial, found.failures) == (12, 12, False, {})
    for row in found.table.to_pylist():
        point = found.points[row["run"]]
        alone = ssdlab.simulate(BASE.with_overrides({**point.values, "seed": point.seed}))
        assert found.result(row["run"]) == json.loads(json.dumps(alone.to_dict()))
        assert row["write_amplification"] == alone.write_amplification
        assert row["device.op"] == float(point.values["device.op"].rstrip("%")) / 100
    last = ["--set", "device.op=40%", "--set", "ftl.page.gc=fifo", "--set", "seed=2"]
    printed = cli("run", *_without(TINY_SETS, "device.op"), *last, "--json")
    assert json.loads(printed.stdout)["result"] == found.result(11)


def _without(sets: Sequence[str], key: str) -> list[str]:
    """Options without one setting."""
    pairs = zip(sets[::2], sets[1::2], strict=True)
    return [word for pair in pairs if not pair[1].startswith(f"{key}=") for word in pair]


@pytest.mark.parametrize("jobs", [1, 3])
def test_neither_jobs_nor_order_matter(study: Path, tmp_path: Path, jobs: int) -> None:
    question = running.question(AXES, BASE, None, design=Design(), without=[], seeds=2, outcomes=[])
    asked = plan(question)
    keys = [*asked.runs]
    random.Random(jobs).shuffle(keys)
    shuffled = Plan(asked.question, asked.design, asked.columns, asked.rows, {key: asked.runs[key] for key in keys})
    running.run(shuffled, tmp_path / "s", jobs=jobs, cluster=None)
    for name in (RUNS, "results.parquet", "plan.json"):
        assert (tmp_path / "s" / name).read_bytes() == (study / name).read_bytes()


def runs_of(axes: running.Axes, folder: Path, **more: Any) -> int:
    """Runs that a sweep does."""
    with counted() as keys:
        ssdlab.sweep(axes, BASE, out=folder, **more)
    return len(keys)


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    assert runs_of({"device.op": ["20%", "30%"]}, folder) == 2
    assert runs_of({"device.op": ["20%", "30%"]}, folder) == 0
    assert runs_of({"device.op": ["20%", "25%", "30%"]}, folder, seeds=2) == 4
    # Taking a value away takes its rows away, and putting it back costs nothing.
    assert runs_of({"device.op": ["30%"]}, folder) == 0
    assert ssdlab.open_study(folder).asked == 1
    assert runs_of({"device.op": ["20%", "25%", "30%"]}, folder, seeds=2) == 0
    assert pq.read_table(folder / RUNS).num_rows == 6


def test_runs_of_earlier_sweeps_that_are_not_shown_are_counted(tmp_path: Path) -> None:
    first = ssdlab.sweep(["device.op=20%,30%"], BASE, out=tmp_path / "s")
    assert first.earlier == 0 and not any("earlier" in told for told in first.page().remarks)
    second = ssdlab.sweep(["device.op=30%", "ftl.page.gc=greedy,fifo"], BASE, out=tmp_path / "s")
    # One of the first is a point of the second as well.
    for found in (second, ssdlab.open_study(tmp_path / "s").asked_for(["write_amplification"])):
        assert found.earlier == 1
        assert "keeps 1 run of earlier sweeps, not shown" in found.page().remarks[0]


@pytest.mark.parametrize("name", ["plan.json", "results.parquet"])
def test_a_full_disk_is_told_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def full(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device")

    monkeypatch.setattr(store, "write" if name == "plan.json" else "_to_disk", full)
    with pytest.raises(OSError, match="No space left on device") as error:
        ssdlab.sweep(["device.op=20%"], BASE, out=tmp_path / "s")
    assert error.value.filename == str(tmp_path / "s" / name)


def test_equal_runs_run_once(tmp_path: Path) -> None:
    # The same size in other units.
    assert runs_of({"workload.span": ["4MiB", "4096KiB"]}, tmp_path / "s") == 1
    found = ssdlab.open_study(tmp_path / "s")
    assert found.finished == 2 and len({*found.table["key"].to_pylist()}) == 1


def test_space_may_be_said_as_a_share_of_all_flash(tmp_path: Path) -> None:
    def memory(key: str, share: str) -> int:
        return Run.of(ssdlab.Config(overrides={key: share}), None).memory_bytes

    assert memory("device.spare", "20%") == memory("device.op", "25%")
    without = ssdlab.Config("tlc-chip", overrides={key: value for key, value in TINY.items() if key != "device.op"})
    found = ssdlab.sweep({"device.spare": ["20%", "30%"]}, without, out=tmp_path / "s")
    assert (found.asked, found.finished, found.failures) == (2, 2, {})


def test_a_run_that_fails_is_a_row_with_its_error(tmp_path: Path) -> None:
    trace = ssdlab.Trace.from_columns(op=["write"] * 2, offset=[0, 1 << 30], bytes=[4096] * 2)
    trace.save(tmp_path / "far.parquet")
    trace = ssdlab.Trace.from_columns(op=["write"] * 2, offset=[0, 4096], bytes=[4096] * 2)
    trace.save(tmp_path / "near.parquet")
    both = {"trace": [str(tmp_path / "near.parquet"), str(tmp_path / "far.parquet")], "device.op": ["20%", "30%"]}
    found = ssdlab.sweep(both, BASE, out=tmp_path / "s")
    errors = found.table["error"].to_pylist()
    assert [error is not None for error in errors] == [False, False, True, True]
    assert f"SimulationError: {tmp_path}/far.parquet: row 1: a write of 4KiB at byte" in errors[2]
    assert sum(found.failures.values()) == 2
    assert found.table["write_amplification"].to_pylist()[2:] == [None, None]
    # It stays a row, unless it is asked to be run again.
    assert runs_of(both, tmp_path / "s") == 0
    assert runs_of(both, tmp_path / "s", retry=True) == 2
    assert ssdlab.open_study(tmp_path / "s").table.equals(found.table)


def test_a_sweep_of_which_every_run_fails_has_failed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "beyond.csv").write_text("0,W,32768,4096,0x2,1\n", encoding="ascii")
    for capacities, status in (("4MiB,8MiB", 1), ("8MiB,32MiB", 0)):
        done = cli("sweep", "beyond.csv", *TINY_SETS, "-A", f"device.capacity={capacities}", check=False)
        assert done.returncode == status and "beyond.csv:1: a write of 4KiB at byte 16777216" in done.stdout


def test_every_value_out_of_range_is_listed_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ssdlab.ConfigError) as caught:
        ssdlab.sweep({"device.op": ["7%", "5000%"], "workload.reads": ["30%", "200%"]}, BASE, out=tmp_path / "s")
    lines = str(caught.value).splitlines()
    assert [any(bad in line for line in lines) for bad in ("5000%", "200%")] == [True, True]
    assert all(line.startswith("axis: ") for line in lines) and not (tmp_path / "s").exists()


def test_a_point_that_does_not_fit_is_named_with_what_leaves_it_out(cli: Cli, tmp_path: Path) -> None:
    grid = ["-s", "device.capacity=64MiB", "-A", "device.op=0%,60%", "-A", "seed=1,2", "--set", "workload.requests=100"]
    told = cli("sweep", *grid, check=False).stderr.strip()
    assert told.startswith("ssdlab: --set: device.capacity: ") and len(told.splitlines()) == 1
    assert told.endswith("; that is so with device.op=0%; a sweep without 'device.op=0%' leaves that out")
    assert "2 runs" in cli("sweep", *grid, "--without", "device.op=0%", "--out", tmp_path / "s").stdout
    # Where no point fits, leaving some out is no remedy.
    assert "without" not in cli("sweep", *grid, "--set", "device.capacity=1MiB", check=False).stderr


def test_a_grid_of_a_million_runs_has_to_be_meant(cli: Cli) -> None:
    grid = ["-A", "seed=1..1000:1000", "-A", "device.op=3%..30%:1000"]
    done = cli("sweep", *TINY_SETS, *grid, check=False)
    assert done.returncode == 2 and "1,000,000 runs" in done.stderr and "--yes" in done.stderr
    assert MANY < 1_000_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-A", "device.opp=7%,8%"], "did you mean device.op"),
        ([], "nothing is varied"),
        (["-A", "seed=1,2", "-A", "seed=3,4"], "two axes vary seed"),
        (["-A", "seed=1,2", "--file", "no.toml"], "no.toml: No such file"),
        (["-A", "seed=1,2", "--seeds", "0"], "at least one"),
        (["-A", "trace=missing.csv"], "missing.csv"),
        (["-A", "preset=nope,tlc-chip"], "nope"),
        (["-A", "seed=1,2", "--without", "seed>0"], "nothing to run"),
    ],
)
def test_bad_input_is_one_clear_error(cli: Cli, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = cli("sweep", *TINY_SETS, *arguments, "--out", "s", check=False)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == "" and list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_used(study: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("", encoding="utf-8")
    (tmp_path / "s").mkdir()
    for name in ("plan.json", "results.parquet", RUNS, "journal"):
        (tmp_path / "s" / name).write_bytes((study / name).read_bytes())
    asked = json.loads((study / "plan.json").read_text(encoding="utf-8"))
    (tmp_path / "s" / "plan.json").write_text(json.dumps({**asked, "program": "0.0.1 abc"}), encoding="utf-8")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "plan.json").write_text(json.dumps({**asked, "shape": 0}), encoding="utf-8")
    for folder, message in (
        ("other", "thesis.tex and no study"),
        ("s", "made by ssdlab 0.0.1"),
        ("old", "another shape"),
    ):
        done = cli("sweep", *TINY_SETS, "-A", "seed=1,2", "--out", folder, check=False)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    # What another program made can still be read.
    assert ssdlab.open_study(tmp_path / "s").table.equals(ssdlab.open_study(study).table)
    (tmp_path / "s" / "results.parquet").write_bytes((study / "results.parquet").read_bytes()[:500])
    for folder in ("old", "other", "nowhere", "s"):
        done = cli("study", "show", folder, check=False)
        assert done.returncode == 2 and "Traceback" not in done.stderr


FILE = """
preset = "tlc-chip"
design = "grid"
seeds = 2
outcomes = ["write_amplification"]
without = ["ftl.page.gc=fifo device.op>25%"]

[set]
"device.capacity" = "8MiB"
"nand.pages_per_block" = 32
"workload.requests" = 500
time = "count"

[[axes]]
"ftl.page.gc" = ["greedy", "fifo"]

[[axes]]
"device.op" = "20%..30%:2"
"workload.reads" = ["0%", "50%"]
"""


def test_a_sweep_in_a_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(FILE, encoding="utf-8")
    cli("sweep", "--file", "study.toml", "--out", "s")
    found = ssdlab.open_study(tmp_path / "s")
    assert [tuple(row.values.values()) for row in found.points[::2]] == [
        ("greedy", "20%", "0%"), ("greedy", "30%", "50%"), ("fifo", "20%", "0%")
    ]  # fmt: skip
    # An axis of the command line takes the place of that of the file.
    cli("sweep", "--file", "study.toml", "-A", "ftl.page.gc=greedy", "--seeds", "1", "--out", "t")
    assert ssdlab.open_study(tmp_path / "t").asked == 2
    for wrong, message in (
        ("seedz = 3", "did you mean seeds"), ("seeds = '3'", "a whole number"),
        ("[[axes]]\nseed = 3", "a list of values"),
        ("axes = [3]", "no table"), ("x = = 3", "bad.toml"),
    ):  # fmt: skip
        (tmp_path / "bad.toml").write_text(wrong, encoding="utf-8")
        with pytest.raises(ssdlab.ConfigError, match=message):
            file.read(tmp_path / "bad.toml")


def test_a_dry_run_lists_runs_and_keeps_nothing(cli: Cli, tmp_path: Path) -> None:
    done = cli(
        "sweep", *TINY_SETS, "-A", "ftl.page.gc=greedy,fifo", "--seeds", "3", "--out", "s", "--dry-run", "--json"
    )
    preview = json.loads(done.stdout)["result"]
    assert (preview["points"], preview["runs"], preview["left"]) == (6, 6, 6) and preview["estimate_s"] > 0
    assert [row["seed"] for row in preview["rows"]] == [1, 2, 3] * 2 and list(tmp_path.iterdir()) == []


def test_traces_are_known_by_what_they_hold(tmp_path: Path) -> None:
    """A trace elsewhere with the same contents is the same run; one that changes is another."""
    written = ROOT / "traces" / "varmail.csv.zst"
    fit = BASE.with_overrides({"host.fit": "wrap"})
    copy = tmp_path / written.name
    copy.write_bytes(written.read_bytes())
    axes = {"device.op": ["20%"]}
    keys = {
        plan(
            running.question(axes, fit, path, design=Design(), without=[], seeds=1, outcomes=[])
        ).rows[0].key
        for path in (written, copy)
    }  # fmt: skip
    assert len(keys) == 1
    found = ssdlab.sweep(axes, fit, trace=copy)
    alone = ssdlab.simulate(fit.with_overrides({"device.op": "20%"}), written)
    assert found.result(0) == json.loads(json.dumps(alone.to_dict()))
    # Its name is told in the result, where the format names no device.
    other = copy.rename(tmp_path / "other.csv.zst")
    assert TraceRef.of(ssdlab.TraceFile(other)).identity != TraceRef.of(ssdlab.TraceFile(written)).identity
    with pytest.raises(ssdlab.ConfigError, match="save the trace"):
        ssdlab.sweep(axes, BASE, trace=ssdlab.generate(BASE))


def test_a_trace_sizes_the_drive_as_in_a_run() -> None:
    trace = ROOT / "traces" / "pgbench.csv.zst"
    for sizing in ({}, {"host.fit": "compact"}):
        found = ssdlab.sweep({"device.op": ["20%"]}, {"time": "count", **sizing}, trace)
        single = ssdlab.simulate({"time": "count", "device.op": "20%", **sizing}, trace)
        assert found.result(0)["device"] == single.to_dict()["device"] and found.failures == {}


def test_a_preset_can_be_an_axis() -> None:
    small = {"device.capacity": "1GiB", "workload.requests": 500, "precondition.overwrite": "none"}
    found = ssdlab.sweep({"preset": ["small-nvme", "tlc-chip"]}, small)
    for row, preset in enumerate(("small-nvme", "tlc-chip")):
        alone = ssdlab.simulate(ssdlab.Config(preset, overrides=small))
        assert found.result(row) == json.loads(json.dumps(alone.to_dict()))


def test_other_tools_read_a_study(study: Path) -> None:
    found = ssdlab.open_study(study)
    import duckdb

    mean = sum(found.table["write_amplification"].to_pylist()) / 12
    assert found.to_polars()["write_amplification"].mean() == pytest.approx(mean)
    assert found.to_pandas()["write_amplification"].mean() == pytest.approx(mean)
    assert found.to_duckdb().sql("select avg(write_amplification) from runs").fetchall()[0][0] == pytest.approx(mean)
    sql = f"select avg(write_amplification) from '{study / RUNS}' where \"ftl.page.gc\" = 'fifo'"
    assert duckdb.connect().sql(sql).fetchall()[0][0] > mean
    assert pq.read_table(study / RUNS).equals(found.table)


@pytest.mark.parametrize("failed", [True, False])
def test_a_study_without_a_result_is_a_table_of_its_columns(failed: bool, tmp_path: Path) -> None:
    if failed:
        ssdlab.sweep({"device.capacity": ["6TiB", "8TiB"], "device.op": ["7%"]}, BASE, out=tmp_path)
    else:
        # No run ends before it is told to.
        long = {**BASE, "workload.requests": 10**10}
        ssdlab.sweep({"device.capacity": ["8MiB", "9MiB"], "device.op": ["7%"]}, long, out=tmp_path, monitor=never)
    found, rows = ssdlab.open_study(tmp_path), 2 if failed else 0
    named = ["run", "device.capacity", "device.op", "seed", "key", "error"]
    named += ["write_amplification", "latency.all.p99_ns", "time.iops"]
    types = ["int64", "int64", "double", "uint64", "string", "string", *["double"] * 3]
    assert [(one.name, str(one.type)) for one in found.table.schema] == [*zip(named, types, strict=True)]
    for frame in (found.to_pandas(), found.to_polars()):
        assert frame.shape == (rows, len(named)) and [*frame.columns] == named
    sql = "select count(*), count(error), avg(write_amplification) from runs"
    assert found.to_duckdb().sql(sql).fetchall() == [(rows, rows, None)]
    assert pq.read_table(tmp_path / RUNS).equals(found.table) and found.figures == []
    why = "the study has no result: " + ("[12] runs? failed: MemoryError" if failed else "none was run")
    for asked in (found.curves, found.effects, lambda one: found.pareto([one] * 2)):
        with pytest.raises(ssdlab.ConfigError, match=why):
            asked("write_amplification")


def never(*_: object) -> bool:
    """Has a sweep end before its first run does."""
    return True


def test_outcomes_that_are_0_in_every_run_are_counted(study: Path, cli: Cli) -> None:
    figures = ssdlab.open_study(study).figures
    table = ssdlab.open_study(study).table
    zero = [name for name in figures if not any(table[name].to_pylist())]
    shown = cli("study", "show", study, "--outcomes").stdout
    assert f"{len(figures) - len(zero)} figures that can be outcomes" in shown and zero
    assert f"{len(zero)} more are 0 in every run; --json lists all" in shown
    listed = {line.strip() for line in shown.splitlines()}
    assert not listed & {*zero} and listed >= {*figures} - {*zero} >= {"write_amplification"}
    assert json.loads(cli("study", "show", study, "--outcomes", "--json").stdout)["result"] == figures


def test_no_figure_is_called_as_a_setting(study: Path) -> None:
    from ssdlab import _ssdlab

    figures = {*ssdlab.open_study(study).figures}
    assert figures & {key for key, *_ in _ssdlab.options()} == set()


@pytest.mark.parametrize("command", ["show", "plot", "effects", "pareto"])
def test_commands_of_a_study_print_and_save(study: Path, cli: Cli, tmp_path: Path, command: str) -> None:
    two = ["-O", "write_amplification", "-O", "wear.erases"] if command == "pareto" else []
    shown = cli("study", command, study, *two, "--out", "out").stdout
    assert "device.op" in shown and {path.suffix for path in (tmp_path / "out").iterdir()} >= {".html", ".json", ".csv"}
    assert "data-chart=" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    for wrong in (["-O", "write_amplificatio"], ["-O", "write_amplification:most"]):
        done = cli("study", command, study, *wrong, check=False)
        assert done.returncode == 2 and "outcome" in done.stderr


def test_to_show_what_is_unfinished_is_no_interruption(tmp_path: Path, cli: Cli) -> None:
    part = ssdlab.sweep(AXES, BASE, out=tmp_path / "s", jobs=1, monitor=lambda _phase, done, *_: done >= 2)
    left = part.asked - part.finished
    for form in [], ["--json"]:
        done = cli("study", "show", "s", *form)
        assert left and done.stderr == ""
        assert f"{left} of {part.asked} runs are still to be done" in done.stdout or json.loads(done.stdout)["partial"]


def test_rows_that_a_terminal_does_not_show_are_said_to_be_where_they_are(cli: Cli) -> None:
    sweep = ["sweep", *TINY_SETS, "-A", "device.op=20%..40%:45"]
    for more, where in (
        ([], "with --out"),
        (["--dry-run", "--out", "s"], "with --json"),
        (["--out", "s"], "with 'ssdlab study show s --out FOLDER'"),
    ):
        printed = cli(*sweep, *more).stdout
        assert re.search(rf"further rows: \d+, {re.escape(where)}$", printed, re.MULTILINE), printed
    for more, where in (([], "with --out"), (["--out", "shown"], "in shown")):
        assert f"further rows: 5, {where}\n" in cli("study", "show", "s", *more).stdout


def test_points_that_are_equal_are_said_to_have_one_row() -> None:
    axes = {"ftl.page.gc": ["greedy", "fifo"]}
    assert "2 of 8 points differ; equal ones have one row" in str(
        ssdlab.sweep(axes, BASE, design="random", samples=8).page()
    )
    assert "points differ" not in str(ssdlab.sweep(axes, BASE).page())


def test_an_outcome_that_is_given_twice_is_refused(study: Path, cli: Cli) -> None:
    for other in ("wear.erases", "wear.erases:max"):
        for command in (["study", "pareto", study], ["study", "show", study], ["sweep", "-A", "ftl.page.gc"]):
            done = cli(*command, "-O", "wear.erases", "-O", other, check=False)
            assert done.returncode == 2 and "outcome wear.erases: is given twice; give it once" in done.stderr


def test_a_single_text_is_one_item_of_a_list() -> None:
    found = ssdlab.sweep("seed=1,2,3", BASE, without="seed=3", outcomes="write_amplification:min", jobs=1)
    assert [one.values["seed"] for one in found.points] == ["1", "2"]
    assert (
        [one.figure for one in found.outcomes()]
        == ["write_amplification"]
        == [one.figure for one in found.outcomes("write_amplification")]
    )
    with pytest.raises(ssdlab.ConfigError, match="-1 jobs: give at least one"):
        ssdlab.sweep("seed=1", BASE, jobs=-1)
    with pytest.raises(ssdlab.ConfigError, match="without 'seed=4 nonsense'"):
        ssdlab.sweep("seed=1,2", BASE, without="seed=4 nonsense")
    with pytest.raises(ssdlab.ConfigError, match="no table 'figure'"):
        ssdlab.experiments.load("mapcache").select("figure")


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ("wa", "outcome wa: no run has a figure called wa; docs/results.md lists them, such as write_amplification"),
        ("write_amplificaton:max", "did you mean write_amplification"),
        ("latency.all.p99ns", "did you mean latency.all.p99_ns"),
        ("flash.programs.gcc", "did you mean flash.programs.gc?"),
        ("drive.response.all.p99.parts_ns.buss", "did you mean drive.response.all.p99.parts_ns.bus?"),
        ("lifetime.rate", "no run has a figure called lifetime.rate"),
        ("time.iops.mean", "no run has a figure called time.iops.mean"),
        ("time.iops:most", "most is neither min nor max"),
    ],
)
def test_an_outcome_that_no_run_can_have_is_told_before_any(outcome: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ssdlab.ConfigError, match=re.escape(message)):
        ssdlab.sweep("seed=1", BASE, outcomes=outcome, out=tmp_path / "s")
    with pytest.raises(ssdlab.ConfigError, match=re.escape(message)):
        ssdlab.tune("seed=1,2", BASE, outcomes=outcome, out=tmp_path / "s")
    with pytest.raises(ssdlab.ConfigError, match=re.escape(message)):
        ssdlab.fleet(tmp_path, outcomes=outcome, out=tmp_path / "s")
    assert not [*tmp_path.iterdir()]


def test_an_outcome_that_no_run_has_does_not_hide_the_study(tmp_path: Path, cli: Cli) -> None:
    ssdlab.sweep("seed=1,2", BASE, outcomes=["wear.erase", "write_amplification"], out=tmp_path / "s", jobs=1)
    shown = cli("study", "show", tmp_path / "s").stdout
    assert (
        "write_amplification" in shown and "outcome wear.erase: no run has a figure of that name; did you mean" in shown
    )


def test_an_outcome_that_is_null_in_every_run_is_not_said_not_to_exist(tmp_path: Path) -> None:
    reads = {**BASE, "workload.reads": "100%"}
    asked, why = "write_amplification", "outcome write_amplification: {}is null in every run: nothing was written"
    found = ssdlab.sweep("seed=1,2", reads, outcomes=asked, out=tmp_path / "s", jobs=1)
    assert found.missing == (why.format(""),)
    for of in [asked, "map.all.hit_ratio"]:
        with pytest.raises(ssdlab.ConfigError, match=f"outcome {of}: is null in every run: "):
            found.outcomes([of])
    with pytest.raises(ssdlab.ConfigError, match=why.format(f"{asked} ")):
        ssdlab.tune("device.op=7%,14%", reads, outcomes=asked, out=tmp_path / "t", trials=2, seeds=1, jobs=1)


def test_figures_of_runs_are_those_that_are_declared(study: Path) -> None:
    found = ssdlab.open_study(study)
    assert all(map(shape.has_figure, found.figures))
    assert set(USUAL) <= {*shape.figures(), "time.iops:max"} and "latency.all.p99_ns" in shape.figures()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[axes]]\n"ftl.page.gc" = ["greedy", "fifoo"]', 'f.toml: axes: ftl.page.gc: "fifoo" is not one of'),
        ('[[axes]]\n"ftl.page.gcc" = ["greedy"]', "f.toml: axis ftl.page.gcc: no setting is called so"),
        ('preset = "fsat"\n[[axes]]\n"seed" = ["1", "2"]', 'f.toml: preset: unknown preset "fsat"'),
        ('set = {"nand.read" = "7"}\n[[axes]]\n"seed" = ["1", "2"]', "f.toml: set: nand.read: "),
    ],
)
def test_what_is_wrong_in_a_file_names_it(cli: Cli, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "f.toml").write_text(text, encoding="utf-8")
    done = cli("sweep", "--file", "f.toml", *TINY_SETS[2:], check=False)
    assert done.returncode == 2 and done.stderr.startswith(f"ssdlab: {message}"), done.stderr


def test_a_dry_run_tells_what_can_never_start_and_unequal_runs(tmp_path: Path) -> None:
    def previewed(axes: dict[str, object], out: Path | None = None) -> Preview:
        return running.preview(planned(axes), out, jobs=2)  # type: ignore[arg-type]

    found = previewed({"device.capacity": ["8MiB", "8TiB"]})
    assert found.too_large == 1 and found.memory_bytes > found.most_bytes
    assert found.pilots is not None and len(found.pilots.seconds) == 1
    assert found.page().remarks[0].startswith("1 run will fail: none may take more than ")
    # As many processes as runs: the longest alone takes as long as all.
    found = previewed({"workload.requests": ["500", "50000"]})
    assert found.pilots is not None and found.range_seconds is None
    assert found.total_seconds == max(found.pilots.seconds.values()) and found.page().remarks == []
    many = previewed({"seed": "1..40:40"})
    assert many.pilots is not None and len(many.pilots.seconds) == 4 and many.range_seconds is not None
    assert many.range_seconds[0] <= many.total_seconds <= many.range_seconds[1]
    each = many.pilots.expected.values()
    assert many.total_seconds == pytest.approx(max(sum(each) / 2, *each))
    ssdlab.sweep({"seed": ["1", "2"]}, BASE, out=tmp_path)
    done = previewed({"seed": ["1", "2"]}, tmp_path)
    assert done.left == 0 and done.to_dict()["pilots_s"] == [] and "pilot" not in str(done.page())


class Timed(LocalWorkers):
    """Runs that take no time, by a clock that says what they would."""

    def __init__(self, now: list[float], took: Callable[[Run], float]) -> None:
        super().__init__(1)
        self._now, self._took = now, took

    def do(self, run: Run) -> Outcome:
        self._now[0] += self._took(run)
        return Outcome(None, None)


def test_a_dry_run_knows_what_each_axis_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests cost in proportion, a clock a hundred times counting; pilots at the first, middle and last run miss that
    few of the runs are slow."""
    axes = {"time": ["count", "event", "serial"], "workload.requests": "1000..10000:10", "seed": "1..3:3"}
    its, now = planned(axes), [0.0]
    slow = {"count": 0.01, "event": 1.0, "serial": 0.01}
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def took(run: Run) -> float:
        return slow[str(run.config["time"])] * float(run.config["workload.requests"])

    points = {row.key: row.values for row in its.rows}
    found = pilots.run(its.runs, points, its.question.axes, Timed(now, took))
    assert found.complete and found.off == pytest.approx((1, 1)) and len(found.seconds) <= 16
    assert found.expected == pytest.approx({key: took(run) for key, run in its.runs.items()})

    def together(run: Run) -> float:
        """What axes do together is in the range."""
        return took(run) * (3 if run.config["time"] == "event" and run.config["workload.requests"] != 1000 else 1)

    found = pilots.run(its.runs, points, its.question.axes, Timed(now, together))
    assert found.off is not None and found.off[1] == pytest.approx(3)


def test_a_pilot_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pilots, "SECONDS", 0.01)
    found = running.preview(planned({"workload.requests": ["50000000"]}), None, jobs=1)
    assert found.pilots is not None and not found.pilots.complete and found.total_seconds >= 0.01
    assert "all, at least" in str(found.page())


def test_a_study_without_a_result_has_the_columns_that_it_will_have() -> None:
    found = ssdlab.sweep({"device.capacity": ["6TiB", "8TiB"]}, BASE, outcomes=["wear.erases"])
    assert len(found.failures) == 2
    table = found.page().sections[-1].items[0]
    assert isinstance(table, Table) and table.headers == ("device.capacity", "wear.erases")
    assert [row[-1] for row in table.rows] == ["–", "–"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-A", "trace=a,b.csv"], "a: there is no such file; check the path, and write one with a comma in quotes: "),
        (["-A", "seed=1,2", "-O", "x=device.physical_bytes/2"], "is arithmetic, which 'ssdlab tune' alone takes"),
    ],
)
def test_what_a_sweep_does_not_take_has_a_remedy(cli: Cli, arguments: list[str], message: str) -> None:
    done = cli("sweep", *TINY_SETS, *arguments, check=False)
    assert done.returncode == 2 and message in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [["sweep"], ["tune", "--trials", "2"]])
def test_a_trace_that_no_run_could_read_is_refused_before_any(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    for name in ("a.csv", "b.csv"):
        ssdlab.Trace.from_columns(op=["write"], offset=[0], bytes=[4096]).save(tmp_path / name)
    (tmp_path / "none.txt").write_text("This is no trace.\n")
    studied = [*command, *TINY_SETS, "-A", "device.op=20%,40%", "-O", "wear.erases", "--out", "kept"]
    for traces, message in (
        (["a.csv", "b.csv"], "ssdlab: 2 files given; pass --concat"),
        (["none.txt"], "ssdlab: none.txt: "),
    ):
        done = cli(*studied, *traces, check=False)
        assert done.returncode == 2 and done.stderr.startswith(message) and len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "kept" / "results.parquet").exists()


def test_a_trace_with_a_comma_in_its_name_is_an_axis_in_quotes(cli: Cli, tmp_path: Path) -> None:
    for name in ("a,b.csv", "c.csv"):
        ssdlab.Trace.from_columns(op=["write"], offset=[0], bytes=[4096]).save(tmp_path / name)
    done = cli("sweep", *TINY_SETS, "-A", 'trace="a,b.csv",c.csv', "--json")
    assert [row["trace"] for row in json.loads(done.stdout)["result"]["rows"]] == ["a,b.csv", "c.csv"]


def test_curves_and_effects_are_of_the_first_outcome_of_the_study(cli: Cli, tmp_path: Path) -> None:
    """Of reads alone there is no write amplification."""
    base = BASE.with_overrides({"time": "serial"})
    axes = {"device.op": ["20%", "40%"]}
    ssdlab.sweep(axes, base, outcomes=["time.iops", "write_amplification"], out=tmp_path / "asked")
    ssdlab.sweep(axes, base.with_overrides({"workload.reads": "100%"}), out=tmp_path / "reads")
    for name, first in (("asked", "time.iops"), ("reads", "latency.all.p99_ns")):
        assert cli("study", "plot", tmp_path / name).stdout.startswith(f"{first} over device.op")
        assert cli("study", "effects", tmp_path / name).stdout.startswith(f"effects on {first}, ")
