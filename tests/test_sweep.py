"""Sweeps: each row equals a single run, in any way of execution."""

import errno
import json
import random
import re
from collections.abc import Callable, Sequence
from functools import partial
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


def test_rows_equal_single_runs(study: Path, cli: Cli) -> None:
    opened = ssdlab.open_study(study)
    assert (opened.asked, opened.finished, opened.partial, opened.failures) == (12, 12, False, {})
    for row in opened.table.to_pylist():
        point = opened.points[row["run"]]
        alone = ssdlab.simulate(BASE.with_overrides({**point.values, "seed": point.seed}))
        assert opened.result(row["run"]) == json.loads(json.dumps(alone.to_dict()))
        assert row["write_amplification"] == alone.write_amplification
        assert row["device.op"] == float(point.values["device.op"].rstrip("%")) / 100
    last = ["--set", "device.op=40%", "--set", "ftl.page.gc=fifo", "--set", "seed=2"]
    printed = cli("run", *_without(TINY_SETS, "device.op"), *last, "--json")
    assert json.loads(printed.stdout)["result"] == opened.result(11)


def _without(sets: Sequence[str], key: str) -> list[str]:
    """The options of a command without one setting."""
    pairs = zip(sets[::2], sets[1::2], strict=True)
    return [word for pair in pairs if not pair[1].startswith(f"{key}=") for word in pair]


@pytest.mark.parametrize("jobs", [1, 3])
def test_jobs_and_order_do_not_matter(study: Path, tmp_path: Path, jobs: int) -> None:
    question = running.question(AXES, BASE, None, design=Design(), without=[], seeds=2, outcomes=[])
    asked = plan(question)
    keys = [*asked.runs]
    random.Random(jobs).shuffle(keys)
    shuffled = Plan(asked.question, asked.design, asked.columns, asked.rows, {key: asked.runs[key] for key in keys})
    running.run(shuffled, tmp_path / "s", jobs=jobs, cluster=None)
    for name in (RUNS, "results.parquet", "plan.json"):
        assert (tmp_path / "s" / name).read_bytes() == (study / name).read_bytes()


def runs_of(axes: running.Axes, folder: Path, **more: Any) -> int:
    """Number of runs that a sweep performs."""
    with counted() as keys:
        ssdlab.sweep(axes, BASE, out=folder, **more)
    return len(keys)


def test_finished_runs_are_not_repeated(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    assert runs_of({"device.op": ["20%", "30%"]}, folder) == 2
    assert runs_of({"device.op": ["20%", "30%"]}, folder) == 0
    assert runs_of({"device.op": ["20%", "25%", "30%"]}, folder, seeds=2) == 4
    # Removing a value removes its rows; adding it again needs no new run.
    assert runs_of({"device.op": ["30%"]}, folder) == 0
    assert ssdlab.open_study(folder).asked == 1
    assert runs_of({"device.op": ["20%", "25%", "30%"]}, folder, seeds=2) == 0
    assert pq.read_table(folder / RUNS).num_rows == 6


def test_hidden_runs_of_earlier_sweeps_are_counted(tmp_path: Path) -> None:
    first = ssdlab.sweep(["device.op=20%,30%"], BASE, out=tmp_path / "s")
    assert first.earlier == 0 and not any("earlier" in told for told in first.page().remarks)
    second = ssdlab.sweep(["device.op=30%", "ftl.page.gc=greedy,fifo"], BASE, out=tmp_path / "s")
    # One point of the first sweep is also a point of the second sweep.
    for opened in (second, ssdlab.open_study(tmp_path / "s").asked_for(["write_amplification"])):
        assert opened.earlier == 1
        assert "1 run from earlier sweeps, which this page omits" in opened.page().remarks[0]


@pytest.mark.parametrize("name", ["plan.json", "results.parquet"])
def test_a_full_disk_error_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def full(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device")

    monkeypatch.setattr(store, "write" if name == "plan.json" else "_to_disk", full)
    with pytest.raises(OSError, match="No space left on device") as error:
        ssdlab.sweep(["device.op=20%"], BASE, out=tmp_path / "s")
    assert error.value.filename == str(tmp_path / "s" / name)


def test_equal_runs_run_once(tmp_path: Path) -> None:
    # The same size, written in another unit.
    assert runs_of({"workload.span": ["4MiB", "4096KiB"]}, tmp_path / "s") == 1
    opened = ssdlab.open_study(tmp_path / "s")
    assert opened.finished == 2 and len({*opened.table["key"].to_pylist()}) == 1


def test_spare_space_may_be_a_share_of_all_flash(tmp_path: Path) -> None:
    def memory(key: str, share: str) -> int:
        return Run.of(ssdlab.Config(overrides={key: share}), None).memory_bytes

    assert memory("device.spare", "20%") == memory("device.op", "25%")
    without = ssdlab.Config("tlc-chip", overrides={key: value for key, value in TINY.items() if key != "device.op"})
    swept = ssdlab.sweep({"device.spare": ["20%", "30%"]}, without, out=tmp_path / "s")
    assert (swept.asked, swept.finished, swept.failures) == (2, 2, {})


def test_a_failed_run_is_a_row_with_its_error(tmp_path: Path) -> None:
    trace = ssdlab.Trace.from_columns(op=["write"] * 2, offset=[0, 1 << 30], bytes=[4096] * 2)
    trace.save(tmp_path / "far.parquet")
    trace = ssdlab.Trace.from_columns(op=["write"] * 2, offset=[0, 4096], bytes=[4096] * 2)
    trace.save(tmp_path / "near.parquet")
    both = {"trace": [str(tmp_path / "near.parquet"), str(tmp_path / "far.parquet")], "device.op": ["20%", "30%"]}
    swept = ssdlab.sweep(both, BASE, out=tmp_path / "s")
    errors = swept.table["error"].to_pylist()
    assert [error is not None for error in errors] == [False, False, True, True]
    assert f"SimulationError: {tmp_path}/far.parquet: row 1: a write of 4KiB at byte" in errors[2]
    assert sum(swept.failures.values()) == 2
    assert swept.table["write_amplification"].to_pylist()[2:] == [None, None]
    # The failed run stays a row unless a retry is requested.
    assert runs_of(both, tmp_path / "s") == 0
    assert runs_of(both, tmp_path / "s", retry=True) == 2
    assert ssdlab.open_study(tmp_path / "s").table.equals(swept.table)


def test_a_sweep_fails_if_every_run_fails(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "beyond.csv").write_text("0,W,32768,4096,0x2,1\n", encoding="ascii")
    for capacities, status in (("4MiB,8MiB", 1), ("8MiB,32MiB", 0)):
        done = cli("sweep", "beyond.csv", *TINY_SETS, "-A", f"device.capacity={capacities}", check=False)
        printed = " ".join(done.stdout.split())
        assert done.returncode == status and "beyond.csv:1: a write of 4KiB at byte 16777216" in printed


def test_all_values_out_of_range_are_listed_first(tmp_path: Path) -> None:
    with pytest.raises(ssdlab.ConfigError) as caught:
        ssdlab.sweep({"device.op": ["7%", "5000%"], "workload.reads": ["30%", "200%"]}, BASE, out=tmp_path / "s")
    lines = str(caught.value).splitlines()
    assert [any(bad in line for line in lines) for bad in ("5000%", "200%")] == [True, True]
    assert all(line.startswith("axis: ") for line in lines) and not (tmp_path / "s").exists()


def test_faults_that_differ_in_numbers_are_one_line(tmp_path: Path) -> None:
    """The default drive has superblocks of at least 3 MiB, so capacities below 256 MiB have no valid value."""
    span = "device.capacity=8MiB..16MiB"
    calls: list[Callable[[], object]] = [
        partial(ssdlab.sweep, [f"{span}:3"], out=tmp_path / "s"),
        partial(ssdlab.tune, [span], outcomes=["write_amplification"], trials=1),
    ]
    for refused in calls:
        with pytest.raises(ssdlab.ConfigError) as caught:
            refused()
        [line] = str(caught.value).splitlines()
        assert line.count("device.capacity") == 1 and line.count("raise it to 256MiB") == 1, line
        assert line.endswith("16MiB") and "; similar error with " in line


def test_a_contradictory_point_is_named_with_its_exclusion(cli: Cli, tmp_path: Path) -> None:
    grid = ["-s", "block.scheduler=mq-deadline", "-s", "block.wbt_lat=2ms", "-s", "workload.requests=100"]
    grid += ["-A", "block.layer=single-queue,multi-queue", "-A", "seed=1,2"]
    output = cli("sweep", *grid, check=False).stderr.strip()
    assert output.startswith("ssdlab: --set: block.wbt_lat: ") and len(output.splitlines()) == 1
    assert output.endswith(
        "; at block.layer=single-queue; to skip these points, add 'block.layer=single-queue' to without"
    )
    assert "2 runs" in cli("sweep", *grid, "--without", "block.layer=single-queue", "--out", tmp_path / "s").stdout
    # If no point is valid, the message suggests no exclusion.
    assert "without" not in cli("sweep", *grid, "--set", "device.capacity=1MiB", check=False).stderr


def test_a_grid_of_a_million_runs_needs_confirmation(cli: Cli) -> None:
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
        (["-A", "seed=1,2", "--seeds", "0"], "seeds must be at least 1, not 0"),
        (["-A", "trace=missing.csv"], "missing.csv"),
        (["-A", "preset=nope,tlc-chip"], "nope"),
        (["-A", "seed=1,2", "--without", "seed>0"], "exclude all combinations"),
    ],
)
def test_bad_input_is_one_clear_error(cli: Cli, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = cli("sweep", *TINY_SETS, *arguments, "--out", "s", check=False)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == "" and list(tmp_path.iterdir()) == []


def test_unusable_folders_are_refused(study: Path, tmp_path: Path, cli: Cli) -> None:
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
        ("other", "thesis.tex but no study"),
        ("s", "made by ssdlab 0.0.1"),
        ("old", "another version"),
    ):
        done = cli("sweep", *TINY_SETS, "-A", "seed=1,2", "--out", folder, check=False)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    # Files of another program can still be read.
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
    opened = ssdlab.open_study(tmp_path / "s")
    assert [tuple(row.values.values()) for row in opened.points[::2]] == [
        ("greedy", "20%", "0%"), ("greedy", "30%", "50%"), ("fifo", "20%", "0%")
    ]  # fmt: skip
    # An axis on the command line replaces the axis of the file.
    cli("sweep", "--file", "study.toml", "-A", "ftl.page.gc=greedy", "--seeds", "1", "--out", "t")
    assert ssdlab.open_study(tmp_path / "t").asked == 2
    for wrong, message in (
        ("seedz = 3", "did you mean seeds"), ("seeds = '3'", "a whole number"),
        ("[[axes]]\nseed = 3", "a list of values"),
        ("axes = [3]", "must be tables"), ("x = = 3", "bad.toml"),
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


def test_traces_are_identified_by_their_contents(tmp_path: Path) -> None:
    """A copy of a file in another folder is the same run; a changed file is another run."""
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
    swept = ssdlab.sweep(axes, fit, trace=copy)
    alone = ssdlab.simulate(fit.with_overrides({"device.op": "20%"}), written)
    assert swept.result(0) == json.loads(json.dumps(alone.to_dict()))
    # The result contains the file name if the format names no device.
    other = copy.rename(tmp_path / "other.csv.zst")
    assert TraceRef.of(ssdlab.TraceFile(other)).identity != TraceRef.of(ssdlab.TraceFile(written)).identity
    with pytest.raises(ssdlab.ConfigError, match="save the trace"):
        ssdlab.sweep(axes, BASE, trace=ssdlab.generate(BASE))


def test_a_trace_sizes_the_drive_as_in_a_run() -> None:
    trace = ROOT / "traces" / "pgbench.csv.zst"
    for sizing in ({}, {"host.fit": "compact"}):
        swept = ssdlab.sweep({"device.op": ["20%"]}, {"time": "count", **sizing}, trace)
        single = ssdlab.simulate({"time": "count", "device.op": "20%", **sizing}, trace)
        assert swept.result(0)["device"] == single.to_dict()["device"] and swept.failures == {}


def test_a_preset_can_be_an_axis() -> None:
    small = {"device.capacity": "1GiB", "workload.requests": 500, "precondition.overwrite": "none"}
    swept = ssdlab.sweep({"preset": ["small-nvme", "tlc-chip"]}, small)
    for row, preset in enumerate(("small-nvme", "tlc-chip")):
        alone = ssdlab.simulate(ssdlab.Config(preset, overrides=small))
        assert swept.result(row) == json.loads(json.dumps(alone.to_dict()))


def test_other_tools_read_a_study(study: Path) -> None:
    opened = ssdlab.open_study(study)
    import duckdb

    mean = sum(opened.table["write_amplification"].to_pylist()) / 12
    assert opened.to_polars()["write_amplification"].mean() == pytest.approx(mean)
    assert opened.to_pandas()["write_amplification"].mean() == pytest.approx(mean)
    assert opened.to_duckdb().sql("select avg(write_amplification) from runs").fetchall()[0][0] == pytest.approx(mean)
    sql = f"select avg(write_amplification) from '{study / RUNS}' where \"ftl.page.gc\" = 'fifo'"
    assert duckdb.connect().sql(sql).fetchall()[0][0] > mean
    assert pq.read_table(study / RUNS).equals(opened.table)


@pytest.mark.parametrize("failed", [True, False])
def test_a_study_without_results_has_its_columns(failed: bool, tmp_path: Path) -> None:
    if failed:
        ssdlab.sweep({"device.capacity": ["6TiB", "8TiB"], "device.op": ["7%"]}, BASE, out=tmp_path)
    else:
        # No run ends before the test allows it.
        long = {**BASE, "workload.requests": 10**10}
        ssdlab.sweep({"device.capacity": ["8MiB", "9MiB"], "device.op": ["7%"]}, long, out=tmp_path, monitor=never)
    outcome, rows = ssdlab.open_study(tmp_path), 2 if failed else 0
    named = ["run", "device.capacity", "device.op", "seed", "key", "error"]
    named += ["write_amplification", "latency.all.p99_ns", "time.iops"]
    types = ["int64", "int64", "double", "uint64", "string", "string", *["double"] * 3]
    assert [(field.name, str(field.type)) for field in outcome.table.schema] == [*zip(named, types, strict=True)]
    for frame in (outcome.to_pandas(), outcome.to_polars()):
        assert frame.shape == (rows, len(named)) and [*frame.columns] == named
    sql = "select count(*), count(error), avg(write_amplification) from runs"
    assert outcome.to_duckdb().sql(sql).fetchall() == [(rows, rows, None)]
    assert pq.read_table(tmp_path / RUNS).equals(outcome.table) and outcome.figures == []
    why = "the study has no result: " + ("[12] runs? failed: MemoryError" if failed else "no run has finished")
    for asked in (outcome.curves, outcome.effects, lambda one: outcome.pareto([one] * 2)):
        with pytest.raises(ssdlab.ConfigError, match=why):
            asked("write_amplification")


def never(*_: object) -> bool:
    """Makes a sweep end before its first run ends."""
    return True


def test_outcomes_that_are_always_0_are_counted(study: Path, cli: Cli) -> None:
    figures = ssdlab.open_study(study).figures
    table = ssdlab.open_study(study).table
    zero = [name for name in figures if not any(table[name].to_pylist())]
    shown = cli("study", "show", study, "--outcomes", "--all").stdout
    assert f"{len(figures) - len(zero)} figures available as outcomes" in shown and zero
    assert f"{len(zero)} more figures are 0 in every run; --json lists all figures" in shown
    listed = {line.strip() for line in shown.splitlines()}
    assert not listed & {*zero} and listed >= {*figures} - {*zero} >= {"write_amplification"}
    assert json.loads(cli("study", "show", study, "--outcomes", "--json").stdout)["result"] == figures


def test_no_figure_has_a_settings_name(study: Path) -> None:
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


def test_showing_an_unfinished_study_does_not_exit_as_interrupted(tmp_path: Path, cli: Cli) -> None:
    part = ssdlab.sweep(AXES, BASE, out=tmp_path / "s", jobs=1, monitor=lambda _phase, done, *_: done >= 2)
    left = part.asked - part.finished
    for form in [], ["--json"]:
        done = cli("study", "show", "s", *form)
        assert left and done.stderr == ""
        assert f"{left} of {part.asked} runs remain" in done.stdout or json.loads(done.stdout)["partial"]


def test_rows_left_out_on_a_terminal_are_counted(cli: Cli) -> None:
    sweep = ["sweep", *TINY_SETS, "-A", "device.op=20%..40%:45", "--out", "s"]
    for command in [*sweep, "--dry-run"], sweep, ["study", "show", "s"]:
        printed = cli(*command).stdout
        assert re.search(r"^ *\d+ more (rows|lines): --all$", printed, re.MULTILINE), printed
        whole = cli(*command, "--all").stdout
        assert "--all" not in whole and whole.count("\n") >= 45


def test_equal_points_share_one_row() -> None:
    axes = {"ftl.page.gc": ["greedy", "fifo"]}
    assert "2 of 8 points are distinct; equal points share a row" in str(
        ssdlab.sweep(axes, BASE, design="random", samples=8).page()
    )
    assert "points are distinct" not in str(ssdlab.sweep(axes, BASE).page())


def test_a_repeated_outcome_is_refused(study: Path, cli: Cli) -> None:
    for other in ("wear.erases", "wear.erases:max"):
        for command in (["study", "pareto", study], ["study", "show", study], ["sweep", "-A", "ftl.page.gc"]):
            done = cli(*command, "-O", "wear.erases", "-O", other, check=False)
            assert done.returncode == 2 and "outcome wear.erases: is listed twice; list it once" in done.stderr


def test_a_single_string_is_a_list_of_one_item() -> None:
    swept = ssdlab.sweep("seed=1,2,3", BASE, without="seed=3", outcomes="write_amplification:min", jobs=1)
    assert [point.values["seed"] for point in swept.points] == ["1", "2"]
    assert (
        [outcome.figure for outcome in swept.outcomes()]
        == ["write_amplification"]
        == [outcome.figure for outcome in swept.outcomes("write_amplification")]
    )
    with pytest.raises(ssdlab.ConfigError, match="jobs must be at least 1, not -1"):
        ssdlab.sweep("seed=1", BASE, jobs=-1)
    with pytest.raises(ssdlab.ConfigError, match="without 'seed=4 nonsense'"):
        ssdlab.sweep("seed=1,2", BASE, without="seed=4 nonsense")
    with pytest.raises(ssdlab.ConfigError, match="no table 'figure'"):
        ssdlab.experiments.load("mapcache").select("figure")


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ("wa", "outcome wa: unknown metric wa; docs/results.md lists all metrics, such as write_amplification"),
        ("write_amplificaton:max", "did you mean write_amplification"),
        ("latency.all.p99ns", "did you mean latency.all.p99_ns"),
        ("flash.programs.gcc", "did you mean flash.programs.gc?"),
        ("drive.response.all.p99.parts_ns.buss", "did you mean drive.response.all.p99.parts_ns.bus?"),
        ("lifetime.rate", "unknown metric lifetime.rate"),
        ("time.iops.mean", "unknown metric time.iops.mean"),
        ("time.iops:most", "most is neither min nor max"),
    ],
)
def test_an_impossible_outcome_is_refused_before_any_run(outcome: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ssdlab.ConfigError, match=re.escape(message)):
        ssdlab.sweep("seed=1", BASE, outcomes=outcome, out=tmp_path / "s")
    with pytest.raises(ssdlab.ConfigError, match=re.escape(message)):
        ssdlab.tune("seed=1,2", BASE, outcomes=outcome, out=tmp_path / "s")
    with pytest.raises(ssdlab.ConfigError, match=re.escape(message)):
        ssdlab.fleet(tmp_path, outcomes=outcome, out=tmp_path / "s")
    assert not [*tmp_path.iterdir()]


def test_a_missing_outcome_does_not_hide_the_study(tmp_path: Path, cli: Cli) -> None:
    ssdlab.sweep(
        "seed=1,2", BASE, outcomes=["log.capture.hit_ratio", "write_amplification"], out=tmp_path / "s", jobs=1
    )
    shown = cli("study", "show", tmp_path / "s").stdout
    assert "write_amplification" in shown and "outcome log.capture.hit_ratio: is null" in shown


def test_an_outcome_that_is_always_null_exists(tmp_path: Path) -> None:
    reads = {**BASE, "workload.reads": "100%"}
    asked, why = "write_amplification", "outcome write_amplification: {}is null in every run: nothing was written"
    swept = ssdlab.sweep("seed=1,2", reads, outcomes=asked, out=tmp_path / "s", jobs=1)
    assert swept.missing == (why.format(""),)
    for of in [asked, "map.all.hit_ratio"]:
        with pytest.raises(ssdlab.ConfigError, match=f"outcome {of}: is null in every run: "):
            swept.outcomes([of])
    with pytest.raises(ssdlab.ConfigError, match=why.format(f"{asked} ")):
        ssdlab.tune("device.op=7%,14%", reads, outcomes=asked, out=tmp_path / "t", trials=2, seeds=1, jobs=1)


def test_declared_figures_equal_those_of_runs(study: Path) -> None:
    opened = ssdlab.open_study(study)
    assert all(map(shape.has_figure, opened.figures))
    assert set(USUAL) <= {*shape.figures(), "time.iops:max"} and "latency.all.p99_ns" in shape.figures()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[axes]]\n"ftl.page.gc" = ["greedy", "fifoo"]', 'f.toml: axes: ftl.page.gc: "fifoo" is not one of'),
        ('[[axes]]\n"ftl.page.gcc" = ["greedy"]', "f.toml: axis ftl.page.gcc: unknown setting"),
        ('preset = "fsat"\n[[axes]]\n"seed" = ["1", "2"]', 'f.toml: preset: unknown preset "fsat"'),
        ('set = {"nand.read" = "7"}\n[[axes]]\n"seed" = ["1", "2"]', "f.toml: set: nand.read: "),
    ],
)
def test_errors_in_a_file_name_it(cli: Cli, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "f.toml").write_text(text, encoding="utf-8")
    # A file that sets a preset allows no second preset.
    done = cli("sweep", "--file", "f.toml", *(TINY_SETS[2:] if "preset" in text else TINY_SETS), check=False)
    assert done.returncode == 2 and done.stderr.startswith(f"ssdlab: {message}"), done.stderr


def test_a_dry_run_reports_impossible_and_unequal_runs(tmp_path: Path) -> None:
    def previewed(axes: dict[str, object], out: Path | None = None) -> Preview:
        return running.preview(planned(axes), out, jobs=2)  # type: ignore[arg-type]

    preview = previewed({"device.capacity": ["8MiB", "8TiB"]})
    assert preview.too_large == 1 and preview.memory_bytes > preview.most_bytes
    assert preview.pilots is not None and len(preview.pilots.seconds) == 1
    assert preview.page().remarks[0].startswith("1 run will fail: ")
    # With a process per run, the longest run alone takes as long as all.
    preview = previewed({"workload.requests": ["500", "50000"]})
    assert preview.pilots is not None and preview.range_seconds is None
    assert preview.total_seconds == max(preview.pilots.seconds.values()) and preview.page().remarks == []
    many = previewed({"seed": "1..40:40"})
    assert many.pilots is not None and len(many.pilots.seconds) == 4 and many.range_seconds is not None
    assert many.range_seconds[0] <= many.total_seconds <= many.range_seconds[1]
    each = many.pilots.expected.values()
    assert many.total_seconds == pytest.approx(max(sum(each) / 2, *each))
    ssdlab.sweep({"seed": ["1", "2"]}, BASE, out=tmp_path)
    done = previewed({"seed": ["1", "2"]}, tmp_path)
    assert done.left == 0 and done.to_dict()["pilots_s"] == [] and "pilot" not in str(done.page())


class Timed(LocalWorkers):
    """Runs that take no time, with a clock that reports planned times."""

    def __init__(self, now: list[float], took: Callable[[Run], float]) -> None:
        super().__init__(1)
        self._now, self._took = now, took

    def do(self, run: Run) -> Outcome:
        self._now[0] += self._took(run)
        return Outcome(None, None)


def test_a_dry_run_estimates_the_cost_of_each_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is proportional to the requests; timing takes a hundred times as long as counting. Pilot runs only at
    the first, middle and last run would not show that few runs are slow.
    """
    axes = {"time": ["count", "event", "serial"], "workload.requests": "1000..10000:10", "seed": "1..3:3"}
    its, now = planned(axes), [0.0]
    slow = {"count": 0.01, "event": 1.0, "serial": 0.01}
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def took(run: Run) -> float:
        return slow[str(run.config["time"])] * float(run.config["workload.requests"])

    points = {row.key: row.values for row in its.rows}
    estimates = pilots.run(its.runs, points, its.question.axes, Timed(now, took))
    assert estimates.complete and estimates.off == pytest.approx((1, 1)) and len(estimates.seconds) <= 16
    assert estimates.expected == pytest.approx({key: took(run) for key, run in its.runs.items()})

    def together(run: Run) -> float:
        """The estimated range covers interactions of axes."""
        return took(run) * (3 if run.config["time"] == "event" and run.config["workload.requests"] != 1000 else 1)

    estimates = pilots.run(its.runs, points, its.question.axes, Timed(now, together))
    assert estimates.off is not None and estimates.off[1] == pytest.approx(3)


def test_a_slow_pilot_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pilots, "SECONDS", 0.01)
    preview = running.preview(planned({"workload.requests": ["50000000"]}), None, jobs=1)
    assert preview.pilots is not None and not preview.pilots.complete and preview.total_seconds >= 0.01
    assert "minimum time of all runs" in str(preview.page())


def test_a_study_without_results_has_its_future_columns() -> None:
    swept = ssdlab.sweep({"device.capacity": ["6TiB", "8TiB"]}, BASE, outcomes=["wear.erases"])
    assert len(swept.failures) == 2
    table = swept.page().sections[-1].items[0]
    assert isinstance(table, Table) and table.headers == ("device.capacity", "wear.erases")
    assert [row[-1] for row in table.rows] == ["–", "–"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-A", "trace=a,b.csv"], "a: does not exist; check the path, and put quotes around a path with a comma: "),
        (["-A", "seed=1,2", "-O", "x=device.physical_bytes/2"], "only 'ssdlab tune' supports arithmetic"),
    ],
)
def test_unsupported_sweep_input_has_a_remedy(cli: Cli, arguments: list[str], message: str) -> None:
    done = cli("sweep", *TINY_SETS, *arguments, check=False)
    assert done.returncode == 2 and message in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [["sweep"], ["tune", "--trials", "2"]])
def test_an_unreadable_trace_is_refused_before_any_run(cli: Cli, tmp_path: Path, command: list[str]) -> None:
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


def test_a_trace_with_a_comma_is_quoted_in_an_axis(cli: Cli, tmp_path: Path) -> None:
    for name in ("a,b.csv", "c.csv"):
        ssdlab.Trace.from_columns(op=["write"], offset=[0], bytes=[4096]).save(tmp_path / name)
    done = cli("sweep", *TINY_SETS, "-A", 'trace="a,b.csv",c.csv', "--json")
    assert [row["trace"] for row in json.loads(done.stdout)["result"]["rows"]] == ["a,b.csv", "c.csv"]


def test_curves_and_effects_use_the_first_outcome(cli: Cli, tmp_path: Path) -> None:
    """A workload of reads has no write amplification, so the first outcome has no value there."""
    base = BASE.with_overrides({"time": "serial"})
    axes = {"device.op": ["20%", "40%"]}
    ssdlab.sweep(axes, base, outcomes=["time.iops", "write_amplification"], out=tmp_path / "asked")
    ssdlab.sweep(axes, base.with_overrides({"workload.reads": "100%"}), out=tmp_path / "reads")
    for name, first in (("asked", "time.iops"), ("reads", "latency.all.p99_ns")):
        assert cli("study", "plot", tmp_path / name).stdout.startswith(f"{first} over device.op")
        assert cli("study", "effects", tmp_path / name).stdout.startswith(f"effects on {first} (")
