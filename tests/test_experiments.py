"""Experiments: our tables compared with tables of documents."""

import csv
import json
import math
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from conftest import Cli
from forked import PATIENCE_SECONDS
from ssdlab.study.experiments import ExperimentResult, TableResult
from ssdlab.study.experiments.expression import Value
from ssdlab.view.pages.experiment import sentences

SMALL = Path(__file__).parent / "experiment"
"""An experiment of three tables with invented document values."""


@pytest.fixture(scope="module")
def result() -> ExperimentResult:
    return ssdlab.experiments.load(SMALL).run(jobs=2)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The small experiment, for tests that break it."""
    return Path(shutil.copytree(SMALL, tmp_path / "small"))


def spoil(copy: Path, before: str, after: str, file: str = "experiment.toml") -> None:
    text = (copy / file).read_text()
    assert before in text
    (copy / file).write_text(text.replace(before, after, 1))


def test_tables_are_read_with_their_references() -> None:
    experiment = ssdlab.experiments.load(SMALL)
    assert (experiment.name, experiment.preset) == ("experiment", "sbfast")
    amplification, erases, seconds = experiment.tables
    assert amplification.rows.labels == ("greedy", "fifo", "random")
    assert amplification.comparison.reference == ((2.84, 1.9, 1.33), (2.8, 2.05, 1.4), (3.9, 2.6, 3.0))
    assert erases.comparison.reference is not None and erases.comparison.reference[2] == (
        60.0,
        40.0,
        None,
    )
    assert seconds.comparison.reference is None
    assert (amplification.runs.seeds, seconds.runs.seeds) == ((1, 2), (1,))


def test_a_cell_is_its_settings_and_equal_cells_run_once(result: ExperimentResult) -> None:
    experiment = result.experiment
    configs = experiment.configs(experiment.tables[0], "fifo", "op_30")
    assert [(config["seed"], config["ftl.page.gc"], config["device.op"]) for config in configs] == [
        (1, "fifo", "30%"),
        (2, "fifo", "30%"),
    ]
    # Two tables share all runs; the third uses the runs of one seed. Only the workload uses the seed.
    assert (result.runs, result.finished) == (18, 18)
    values = [ssdlab.simulate(config).write_amplification for config in configs]
    assert values[0] is not None and values[1] is not None
    table = result["amplification"]
    assert table.ours[1, 1] == pytest.approx((values[0] + values[1]) / 2)
    assert table.spread[1, 1] == pytest.approx(abs(values[0] - values[1]))
    assert table.seeds == 2 and result["seconds"].seeds == 1


def test_a_row_may_name_a_preset(copy: Path) -> None:
    spoil(copy, 'fifo = { ftl.page.gc = "fifo" }', 'fifo = { preset = "faster" }')
    experiment = ssdlab.experiments.load(copy)
    table = experiment.tables[0]
    erase, capacity = ({row: experiment.configs(table, row, "op_30")[0][key] for row in ("greedy", "fifo")} for key in ("nand.erase", "device.capacity"))  # fmt: skip # noqa: E501
    # All settings override a preset, wherever the preset is named.
    assert erase == {"greedy": "2ms", "fifo": "1.5ms"} and capacity["greedy"] == capacity["fifo"]
    spoil(copy, '"faster"', '"fastr"')
    with pytest.raises(ssdlab.ConfigError, match=r"\[axis\.gc\] fifo: unknown preset .* did you mean \"faster\"\?"):
        experiment = ssdlab.experiments.load(copy)
        experiment.configs(experiment.tables[0], "fifo", "op_30")


def test_user_settings_override_all_others() -> None:
    experiment = ssdlab.experiments.load(SMALL)
    one = experiment.run(tables=["amplification"], overrides={"device.op": "60%", "seed": 7})
    # The user's settings make the columns equal and fix the seed, so three victims remain.
    assert one.runs == 3 and one["amplification"].seeds == 1
    assert (one["amplification"].ours[:, 0] == one["amplification"].ours[:, 2]).all()


def test_results_do_not_depend_on_the_number_of_jobs(result: ExperimentResult) -> None:
    assert ssdlab.experiments.load(SMALL).run(jobs=1).to_json() == result.to_json()


def test_winners(result: ExperimentResult) -> None:
    first, second, _ = result["amplification"].winners
    ours = result["amplification"].ours
    assert (first.of, first.document, first.ours, first.agrees) == ("op_15", ("fifo",), ("greedy",), False)
    assert first.excess == pytest.approx(100 * (ours[1, 0] / ours[0, 0] - 1))
    assert (second.document, second.ours, second.agrees, second.excess) == (("greedy",), ("greedy",), True, 0.0)
    assert result["seconds"].winners == ()


def made(table: ssdlab.experiments.Table, document: list[list[float]], ours: list[list[float]]) -> TableResult:
    arrays = np.array(document, dtype=float), np.array(ours, dtype=float)
    return TableResult(table, *arrays, spread=np.zeros(arrays[0].shape), seeds=1, remarks=())


def test_ties_share_the_win_and_unfinished_columns_have_none() -> None:
    table = ssdlab.experiments.load(SMALL).tables[0]
    nan = math.nan
    one = made(table, [[1, nan, nan], [1, 2, nan], [3, 3, nan]], [[2, 1, 3], [1, 4, nan], [1, 3, 1]])
    first, second = one.winners
    assert first.document == ("greedy", "fifo") and first.ours == ("fifo", "random") and first.excess == 0
    # The document has no value in the first row, so this row does not compete, although it is our best. The third
    # column is not finished.
    assert first.agrees and one.stars("ours") == {(1, 0), (2, 0), (0, 1)}
    assert "winners among cells with values in the document: 1 of 2 columns agree" in sentences(one)
    assert second.document == ("fifo",) and second.ours == ("random",) and second.agrees is False
    # If the document has a single value, it has no best value.
    single = made(table, [[1, nan, nan], [2, nan, nan], [nan, 3, nan]], [[1, 1, 3], [2, 4, nan], [3, 3, 1]])
    assert [(winner.of, winner.document, winner.ours) for winner in single.winners] == [
        ("op_15", ("greedy",), ("greedy",)),
        ("op_30", (), ("greedy",)),
    ]
    assert single.stars("document") == {(0, 0)} and single.stars("ours") == {(0, 0), (0, 1)}
    assert "winners: 1 of 1 column agree" in sentences(single)
    # If all values are equal, no value is the best.
    alike = made(table, [[nan] * 3] * 3, [[1, 2, 3], [1, 3, 2], [1, 4, 2]])
    assert [(winner.of, winner.ours) for winner in alike.winners] == [
        ("op_30", ("greedy",)),
        ("op_60", ("fifo", "random")),
    ]


def test_differences(copy: Path, result: ExperimentResult) -> None:
    table = result["amplification"]
    assert table.difference == pytest.approx(100 * (table.ours / table.document - 1))
    assert table.misses[2, 2] and not table.misses[0, 2]
    rms, largest = table.rms, table.largest
    assert rms == pytest.approx(np.sqrt((table.difference**2).mean()))
    assert largest is not None and largest[:2] == ("random", "op_15")

    offset = result["erases"]
    ours, document = offset.ours, offset.document
    assert offset.difference[1, 0] == pytest.approx(100 * ((ours[1, 0] - ours[0, 0]) - (48 - 44)) / 48)
    assert offset.difference[0, 2] == pytest.approx(100 * ((ours[0, 2] - ours[1, 2]) - (20 - 21)) / 20)
    assert np.isnan(offset.difference[[0, 0, 1, 2], [0, 1, 2, 2]]).all()
    assert offset.anchors.sum() == 3

    spoil(copy, 'compare = "offset"', 'compare = "ratio"')
    spoil(copy, 'anchor = { row = { op_15 = "greedy", op_30 = "greedy", op_60 = "fifo" } }', 'anchor = { row = "fifo", column = "op_30" }')  # fmt: skip # noqa: E501
    ratio = ssdlab.experiments.load(copy).run(tables=["erases"])["erases"]
    expected = 100 * (ours / ours[1, 1] / (document / document[1, 1]) - 1)
    known = ~np.isnan(ratio.difference)
    assert known.sum() == 7 and ratio.difference[known] == pytest.approx(expected[known])
    spoil(copy, "tolerance = 10", 'tolerance = 1\ncompare = "points"')
    points = ssdlab.experiments.load(copy).run(tables=["amplification"])["amplification"]
    assert points.difference == pytest.approx(table.ours - table.document)
    assert points.misses.sum() == 1 and points.to_dict()["difference_unit"] == "points"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("a.b", 3.0),
        ("1e3 * (a.b + a.c) / -2", -4000.0),
        ("a.c - a.b", 2.0),
        ("a.nothing", None),
        ("a.b / a.zero", None),
        ("a.missing + 1", None),
        ("a.flag", None),
        ("a", None),
    ],
)
def test_values_are_arithmetic_on_figures(expression: str, value: float | None) -> None:
    summary = {"a": {"b": 3, "c": 5.0, "zero": 0, "nothing": None, "flag": True}}
    assert Value(expression).of(summary) == value


@pytest.mark.parametrize("expression", ["", "a +", "f(a)", "a[0]", "'text'", "a ** 2", "a if b else c", "True", "1 .x"])
def test_values_are_nothing_else(expression: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        Value(expression)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('title = "Over', 'titel = "Over', ["titel", "did you mean title?"]),
        ('document = "Nobody, Numbers for a test, 2024"', "", ["document", "is missing"]),
        ("seeds = [1, 2]", "seeds = [1, 1]", ["seeds", "once"]),
        ("seeds = [1, 2]", "seeds = 3", ["seeds", "3 is not a list"]),
        ('rows = "gc"', 'row = "gc"', ["table amplification", "row:", "did you mean rows?"]),
        ('rows = "gc"', 'rows = "gcc"', ["rows", "did you mean gc?"]),
        ('better = "low"', 'better = "lower"', ["better", "did you mean low?"]),
        ('better = "low"', 'by = "row"', ["by", "better"]),
        ("tolerance = 10", "tolerance = 0", ["tolerance", "above 0"]),
        ("tolerance = 10", 'tolerance = "10%"', ["tolerance", "is not a number"]),
        ('name = "amplification"', 'name = "a/b"', ["name", "letters"]),
        ('name = "erases"', 'name = "amplification"', ["amplification", "twice"]),
        ('value = "write_amplification"', 'value = "write amplification"', ["value", "is not an expression"]),
        ('reference = "numbers.csv"', 'reference = "number.csv"', ["number.csv", "No such file"]),
        ('reference = "numbers.csv"', "", ["where", "without a reference"]),
        ('where = { metric = "waf" }', "", ["numbers.csv", "no row 'greedy' in column metric", "waf, erases"]),
        ('where = { metric = "waf" }', 'where = { metrics = "waf" }', ["metrics", "did you mean metric?"]),
        ('compare = "offset"', "", ["anchor", "offset"]),
        ('op_60 = "fifo" }', 'op_60 = "fio" }', ["anchor", "row", "did you mean fifo?"]),
        (', op_60 = "fifo" }', " }", ["anchor", "with all columns"]),
        ("[axis.gc]", "[axis.unused]\nx = {}\n[axis.gc]", ["axis.unused", "no table uses this axis"]),
        ('greedy = { ftl.page.gc = "greedy" }', "greedy = 1", ["[axis.gc]", "greedy", "is not a table"]),
        ('greedy = { ftl.page.gc = "greedy" }', 'greedy = { "ftl.page.gc" = "greedy" }', ["ftl.page.gc", "quotes"]),
        ("fifo = { ftl", "fifi = { ftl", ["numbers.csv", "no row 'fifi'", "did you mean fifo?"]),
        ("op_15 = { device", "op_14 = { device", ["numbers.csv", "no column 'op_14'", "did you mean op_15?"]),
        ("[axis.gc]", "[axis.gc", ["line 15"]),
    ],
)
def test_a_wrong_experiment_is_one_line(cli: Cli, copy: Path, before: str, after: str, words: list[str]) -> None:
    spoil(copy, before, after)
    done = cli("experiment", "show", copy, check=False)
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done.stderr
    for word in ("small/experiment.toml", *words):
        assert word in done.stderr


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("2.05", "2,05", ["numbers.csv:3", "6 cells"]),
        ("2.05", "2.o5", ["numbers.csv:3", "'2.o5' is not a number"]),
        ("waf,random", "waf,fifo", ["numbers.csv:4", "twice"]),
    ],
)
def test_a_wrong_reference_is_one_line(copy: Path, before: str, after: str, words: list[str]) -> None:
    spoil(copy, before, after, "numbers.csv")
    with pytest.raises(ssdlab.ConfigError) as caught:
        ssdlab.experiments.load(copy)
    assert len(str(caught.value).splitlines()) == 1
    for word in ("table amplification", *words):
        assert word in str(caught.value)


def test_references_may_have_several_shapes(copy: Path) -> None:
    # Without labels there is one row. The reference may have more columns and rows than the table.
    (copy / "numbers.csv").write_text("op_15,op_30,op_60\n98.7,99.1,\n")
    document = """
        title = "t"
        document = "d"
        [axis.size]
        any = {}
        [axis.op]
        op_15 = {}
        op_60 = {}
        [[table]]
        name = "n"
        title = "t"
        value = "wear.erases"
        rows = "size"
        columns = "op"
        reference = "numbers.csv"
    """
    (copy / "one.toml").write_text(document)
    assert ssdlab.experiments.load(copy / "one.toml").tables[0].comparison.reference == ((98.7, None),)
    (copy / "numbers.csv").write_text("size,op_15,op_30,op_60\nsome,1,2,3\nany,4,5,6\n")
    experiment = ssdlab.experiments.load(copy / "one.toml")
    assert experiment.name == "one" and experiment.tables[0].comparison.reference == ((4.0, 6.0),)


FORMULA = """
title = "t"
document = "d"

[axis.segment]
1K = {}
8K = {}

[axis.cache]
c_16 = {}
c_64 = {}

[[table]]
name = "rate"
title = "Rate"
value = "1000 / (100 + misses * (70 + 5 * segment) - cache)"
from = { misses = "misses.csv" }
rows = "segment"
columns = "cache"
reference = "rates.csv"
"""


@pytest.fixture
def formula(tmp_path: Path) -> Path:
    """A table computed without simulation."""
    (tmp_path / "misses.csv").write_text("segment,c_16,c_64\n1K,0.5,0\n8K,1.5,\n")
    (tmp_path / "rates.csv").write_text("segment,c_16,c_64\n1K,8,30\n8K,4,20\n")
    (tmp_path / "formula.toml").write_text(FORMULA)
    return tmp_path / "formula.toml"


def test_a_table_can_be_computed_from_another(cli: Cli, formula: Path) -> None:
    result = ssdlab.experiments.load(formula).run()
    table = result["rate"]
    # 75 per miss in the first row and 110 in the second row, in which one number of misses is missing.
    assert table.ours[0] == pytest.approx([1000 / (100 + 0.5 * 75 - 16), 1000 / (100 - 64)])
    assert table.ours[1, 0] == pytest.approx(1000 / (100 + 1.5 * 110 - 16)) and np.isnan(table.ours[1, 1])
    assert (result.runs, result.partial, table.seeds, table.missing) == (0, False, 0, ())
    as_dict = table.to_dict()
    assert as_dict["from"] == {"misses": "misses.csv"} and as_dict["spread"] == [[None] * 2] * 2
    assert "our values are computed from misses.csv, not simulated" in cli("experiment", "run", formula).stdout
    assert "data-chart=" in result.report_html()
    # No runs, so no seeds.
    assert cli("experiment", "show", formula).stdout.splitlines()[-1].split()[-2:] == ["–", "compared"]


def test_tables_and_labels_can_be_written_once(formula: Path) -> None:
    """`like` copies the keys of an earlier table, `each` makes one label per item."""
    experiment = ssdlab.experiments.load(formula)
    twin = '[[table]]\nname = "twin"\nlike = "rate"\ntitle = "Again"\nunit = "1"\n'
    formula.write_text(f"{FORMULA}\n{twin}")
    rate, again = ssdlab.experiments.load(formula).tables
    assert (again.title, again.unit) == ("Again", "1") and again.note == rate.note
    assert (again.rows, again.source, again.comparison) == (rate.rows, rate.source, rate.comparison)
    formula.write_text(f"{FORMULA}\n{twin.replace('rate', 'rat')}")
    with pytest.raises(
        ssdlab.ConfigError, match=r"table twin: like: 'rat' is not an earlier table; .*did you mean rate"
    ):
        ssdlab.experiments.load(formula)

    labels = [label for label in experiment.tables[0].rows.labels if label.endswith("K")]
    lines = [f"{label} = {{}}" for label in labels]
    series = f'"{{}}K" = {{ each = [{", ".join(label[:-1] for label in labels)}] }}'
    assert all(line in FORMULA for line in lines)
    short = FORMULA.replace("\n".join(lines), series)
    formula.write_text(short)
    assert short != FORMULA and ssdlab.experiments.load(formula).tables == experiment.tables
    for wrong, said in (("each = 4", "each: must be a list"), ("each = [4, 4]", "appears twice")):
        formula.write_text(short.replace(series, f'"{{}}K" = {{ {wrong} }}'))
        with pytest.raises(ssdlab.ConfigError, match=said):
            ssdlab.experiments.load(formula)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('{ misses = "misses.csv" }', "{}", ["from", "is empty"]),
        ('{ misses = "misses.csv" }', '{ misses = "miss.csv" }', ["from: misses", "miss.csv", "No such file"]),
        ('{ misses = "misses.csv" }', "{ misses = 3 }", ["from: misses", "3 is not text"]),
        ('"misses.csv" }', '"misses.csv", hits = "misses.csv" }', ["from: hits", "is not used in 'value'"]),
        ("{ misses =", "{ segment =", ["value", "'misses' is not available", "use one of segment"]),
        ("misses * (", "mises * (", ["value", "'mises' is not available", "did you mean misses?"]),
        ("- cache", "- time.iops", ["value", "'time.iops'", "use one of misses, segment, cache"]),
        ("8K = {}", "8Kx2 = {}", ["value", "segment", "'8Kx2' does not contain exactly one number"]),
        ('rows = "segment"', 'rows = "segment"\nseeds = [1]', ["seeds", "nothing is simulated"]),
        ('rows = "segment"', 'rows = "segment"\nset = { time = "count" }', ["set", "nothing is simulated"]),
        (
            'columns = "cache"',
            'columns = "segment"',
            ["value", "'segment' is not available", "use one of misses"],
        ),
        ("misses", "cache", ["from: cache", "is already the name of an axis"]),
    ],
)
def test_impossible_computations_are_one_line(formula: Path, before: str, after: str, words: list[str]) -> None:
    whole = before == "misses"
    formula.write_text(FORMULA.replace(before, after, -1 if whole else 1))
    with pytest.raises(ssdlab.ConfigError) as caught:
        ssdlab.experiments.load(formula)
    assert len(str(caught.value).splitlines()) == 1
    for word in ("formula.toml: table rate", *words):
        assert word in str(caught.value)


def test_chart_lines_are_columns_or_rows(formula: Path) -> None:
    def labels(lines: str) -> list[object]:
        formula.write_text(FORMULA + lines)
        axes = ssdlab.experiments.load(formula).run()["rate"].plot_lines().axes[0]
        return [line.get_label() for line in axes.lines[::2]]

    assert labels("") == labels('lines = "column"') == ["c_16", "c_64"]
    assert labels('lines = "row"') == ["1K", "8K"]


def test_a_wrong_setting_is_named_with_its_place(cli: Cli, copy: Path) -> None:
    spoil(copy, 'op_15 = { device.op = "15%" }', "op_15 = { device.op = 15 }")
    done = cli("experiment", "run", copy, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "small/experiment.toml: [axis.op] op_15: device.op" in done.stderr and '"15%"' in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["show", "sbfats"], ["unknown experiment", "did you mean sbfast?", "ssdlab experiment list"]),
        (["run", SMALL, "--only", "erase"], ["no table 'erase'", "did you mean erases?"]),
        (["run", SMALL, "--set", "device.opp=7%"], ["--set", "did you mean device.op?"]),
        (["run", SMALL, "--out", SMALL / "numbers.csv"], ["is a file"]),
    ],
)
def test_wrong_input_is_one_line_and_status_2(cli: Cli, arguments: list[object], words: list[str]) -> None:
    done = cli("experiment", *arguments, check=False)
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


def test_an_unknown_figure_is_reported(copy: Path) -> None:
    spoil(copy, 'value = "time.elapsed_ns / 1e9"', 'value = "time.elapsed / 1e9"')
    table = ssdlab.experiments.load(copy).run(tables=["seconds"])["seconds"]
    assert np.isnan(table.ours).all()
    assert "time.elapsed" in table.remarks[0] and "did you mean time.elapsed_ns?" in table.remarks[0]


def test_run_prints_the_tables(cli: Cli) -> None:
    out = cli("experiment", "run", SMALL, "--only", "amplification").stdout
    lines = out.splitlines()
    assert lines[0] == "Over-provisioning and victims" and "Nobody" in lines[1]
    assert sum("document  " in line for line in lines) == 3 and sum(" ours  " in line for line in lines) == 3
    assert (
        "1.900 *" in out
        and " !" in out
        and "!: difference beyond the tolerance" in " ".join(out.split())
        and "MISS" not in out
        and "winners: 2 of 3 columns agree" in out
    )
    out = " ".join(lines)
    assert "5 beyond 10 %" in out and "The numbers are made up" in out and "seconds" not in out


def test_json_is_one_object_and_nothing_else(cli: Cli, result: ExperimentResult) -> None:
    whole = json.loads(cli("experiment", "run", SMALL, "--json", "--jobs", "1").stdout)
    assert whole == json.loads(result.to_json()) and whole["result"] == result.to_dict()
    assert whole["kind"] == "experiment" and whole["partial"] is False
    amplification, erases, seconds = whole["result"]["tables"]
    assert (amplification["rows"], amplification["cols"]) == (["greedy", "fifo", "random"], ["op_15", "op_30", "op_60"])
    assert amplification["document"][0] == [2.84, 1.9, 1.33] and len(amplification["ours"]) == 3
    assert erases["document"][2] == [60.0, 40.0, None] and erases["ours"][2][2] is not None
    assert seconds["document"] == [[None] * 3] * 3 and seconds["unit"] == "s"


def test_out_writes_everything_for_any_number_of_jobs(cli: Cli, tmp_path: Path) -> None:
    assert "written to one" in cli("experiment", "run", SMALL, "--out", "one", "--jobs", "1").stdout
    cli("experiment", "run", SMALL, "--out", "two", "--jobs", "2")
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["amplification.csv", "erases.csv", "experiment.json", "report.html", "seconds.csv"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    lines = list(csv.DictReader((tmp_path / "one" / "erases.csv").read_text().splitlines()))
    assert list(lines[0]) == ["row", "column", "document", "ours", "difference", "spread"] and len(lines) == 9
    assert (lines[8]["row"], lines[8]["document"], lines[0]["difference"]) == ("random", "", "")
    page = (tmp_path / "one" / "report.html").read_text()
    # Two tables have three heat maps and lines; the table without a reference has one heat map and lines.
    assert page.count("data-chart=") == 10 and " !</span>" in page


def test_figures_can_be_drawn_separately(result: ExperimentResult) -> None:
    figure = result["amplification"].plot("difference")
    assert len(figure.axes[0].texts) == 9
    assert result["seconds"].plot_lines().axes[0].lines[0].get_label() == "greedy"
    with pytest.raises(ValueError, match="no values to draw"):
        result["seconds"].plot("document")


def test_a_stopped_run_is_partial_and_correct(result: ExperimentResult) -> None:
    experiment = ssdlab.experiments.load(SMALL)
    none = experiment.run(monitor=lambda *_: True, overrides={"workload.requests": 10**12})
    assert none.partial and none.finished == 0 and np.isnan(none["seconds"].ours).all()
    assert "0 of 18" in none.report_html()
    some = experiment.run(jobs=1, monitor=lambda _phase, done, _total, _requests: done > 0)
    if some.partial:
        ours = some["seconds"].ours
        assert (np.isnan(ours) | (ours == result["seconds"].ours)).all()


@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_ctrl_c_prints_finished_cells(json_option: list[str]) -> None:
    arguments = ["experiment", "run", str(SMALL), "--set", "workload.requests=1000000000000", *json_option]
    process = subprocess.Popen(
        [sys.executable, "-m", "ssdlab", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None and "experiment: runs 0 %" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    if json_option:
        payload = json.loads(out)
        assert payload["partial"] is True and payload["result"]["tables"][0]["ours"] == [[None] * 3] * 3
    else:
        assert "partial result: 0 of 18 simulations were run" in out and "2.840" in out


def test_shipped_experiments_can_be_read_and_shown(cli: Cli) -> None:
    names = ssdlab.experiments.names()
    listed = [line for line in cli("experiment", "list").stdout.splitlines() if line[0] != " "]
    shipped = sorted([*names, *ssdlab.screening.names()])
    assert [line.split()[0] for line in listed] == shipped and {"faster", "mapcache", "sbfast", "thrashing"} <= {*names}
    for name in names:
        experiment = ssdlab.experiments.load(name)
        out = " ".join(cli("experiment", "show", name, "--all").stdout.split())
        assert experiment.document in out and all(table.name in out for table in experiment.tables)
        assert cli("experiment", "show", name, "--toml").stdout == experiment.source


@pytest.mark.parametrize("name", ssdlab.experiments.names())
def test_every_cell_of_shipped_experiments_has_a_valid_configuration(name: str) -> None:
    known = next(variants for key, *_, variants in ssdlab._ssdlab.options() if key == "ftl")
    if missing := {"bast", "fast", "faster", "sbfast"} - {*known}:
        pytest.skip(f"ssdlab does not know the FTLs {', '.join(sorted(missing))} yet")
    experiment = ssdlab.experiments.load(name)
    for table in (table for table in experiment.tables if table.simulated):
        for row in table.rows.labels:
            for column in table.columns.labels:
                for config in experiment.configs(table, row, column):
                    config.check()
