"""Experiment tables that summarise other tables, column values, and claims of documents."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from conftest import Cli
from ssdlab.study.experiments import ExperimentResult
from ssdlab.study.experiments.expression import Value

SUMS = """
title = "t"
document = "d"

[axis.load]
light = {}
heavy = {}

[axis.way]
a = {}
b = {}
c = {}

[axis.sum]
worst = { value = "min(gain)" }
best = { value = "max(gain)" }
mean = { value = "mean(gain)" }

[[table]]
name = "rate"
title = "Rate"
value = "numbers"
from = { numbers = "rates.csv" }
rows = "load"
columns = "way"
reference = "theirs.csv"
better = "high"
by = "row"
claim = { says = "a is the fastest", best = "a" }

[[table]]
name = "gain"
title = "Gain"
unit = "%"
value = "numbers"
from = { numbers = "rates.csv" }
rows = "load"
columns = "way"
change_to = { column = "c" }

[[table]]
name = "gains"
title = "Gains"
unit = "%"
from = ["gain"]
rows = "load"
columns = "sum"
claim = { says = "c gains more than a tenth", above = 10 }

[[table]]
name = "guess"
title = "Guess"
value = "guesses / 2"
from = { guesses = "guesses.csv" }
rows = "load"
columns = "way"
better = "low"
by = "row"
claim = { says = "the least guess is the best rate", winners_of = "rate" }

[[table]]
name = "product"
title = "Product"
value = "rate * guess"
from = ["rate", "guess"]
rows = "load"
columns = "way"
"""


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    """An experiment with tables of numbers and tables computed from these."""
    (tmp_path / "rates.csv").write_text("load,a,b,c\nlight,10,20,25\nheavy,8,4,10\n")
    (tmp_path / "theirs.csv").write_text("load,a,b,c\nlight,3,2,1\nheavy,1,,2\n")
    (tmp_path / "guesses.csv").write_text("load,a,b,c\nlight,3,2,1\nheavy,1,2,3\n")
    (tmp_path / "sums.toml").write_text(SUMS)
    return tmp_path / "sums.toml"


@pytest.fixture
def result(sums: Path) -> ExperimentResult:
    return ssdlab.experiments.load(sums).run()


def test_a_table_sums_up_the_rows_of_another(result: ExperimentResult) -> None:
    # From 10 and 20 to 25, from 8 and 4 to 10; the change of c to itself does not count.
    assert result["gains"].ours == pytest.approx(np.array([[25, 150, 87.5], [25, 150, 87.5]]))
    assert result["gains"].seeds == 0 and np.isnan(result["gains"].spread).all()
    assert result["product"].ours == pytest.approx(np.array([[15, 20, 12.5], [4, 4, 15]]))
    assert result["gains"].to_dict()["tables"] == ["gain"]
    assert result["gains"].to_dict()["values"]["mean"] == "mean(gain)"


def test_one_table_alone_brings_its_sources(sums: Path, result: ExperimentResult) -> None:
    experiment = ssdlab.experiments.load(sums)
    for name in ("gains", "guess", "product"):
        alone = experiment.run(tables=[name])
        assert [table.table.name for table in alone.tables] == [name]
        assert alone[name].to_dict() == result[name].to_dict()


def test_a_value_reads_its_own_column(sums: Path) -> None:
    text = SUMS.replace("light = {}\nheavy = {}", "load_1 = {}\nload_2 = {}")
    text = text.replace('value = "rate * guess"', 'value = "max(column.rate) - guess + mean(column.load)"')
    sums.write_text(text)
    for file in ("rates", "theirs", "guesses"):
        path = sums.parent / f"{file}.csv"
        path.write_text(path.read_text().replace("light", "load_1").replace("heavy", "load_2"))
    values = ssdlab.experiments.load(sums).run(tables=["product"])["product"].ours
    assert values == pytest.approx(np.array([[10 - 1.5, 20 - 1, 25 - 0.5], [10 - 0.5, 20 - 1, 25 - 1.5]]) + 1.5)
    sums.write_text(text.replace("column.load", "column.gain"))
    with pytest.raises(ssdlab.ConfigError, match=r"product: value: 'column\.gain' is not available"):
        ssdlab.experiments.load(sums)


def test_missing_cells_give_no_value(sums: Path) -> None:
    (sums.parent / "rates.csv").write_text("load,a,b,c\nlight,,20,25\nheavy,8,4,10\n")
    result = ssdlab.experiments.load(sums).run()
    assert np.isnan(result["gains"].ours[0]).all() and not np.isnan(result["gains"].ours[1]).any()
    assert np.isnan(result["product"].ours).tolist() == [[True, False, False], [False, False, False]]


def test_sums_are_per_seed(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(Path(__file__).parent / "experiment", tmp_path / "small")) / "experiment.toml"
    copy.write_text(
        copy.read_text()
        + """
[axis.both]
mean = { value = "mean(amplification)" }
greatest = { value = "max(amplification)" }

[[table]]
name = "both"
title = "b"
from = ["amplification"]
rows = "gc"
columns = "both"
"""
    )
    experiment = ssdlab.experiments.load(copy)
    result = experiment.run(tables=["both"])
    assert result["both"].seeds == 2 and result.runs == 18
    columns = ("op_15", "op_30", "op_60")
    by_column = [experiment.configs(experiment.tables[0], "random", column) for column in columns]
    runs = [[ssdlab.simulate(configs[seed]) for configs in by_column] for seed in (0, 1)]
    values = np.array([[cell.write_amplification for cell in line] for line in runs], dtype=float)
    assert result["both"].ours[2] == pytest.approx([values.mean(), values.max(axis=1).mean()])
    assert result["both"].spread[2, 1] == pytest.approx(abs(values.max(axis=1)[0] - values.max(axis=1)[1]))


def test_claims_are_tested_on_the_document_and_ours(cli: Cli, sums: Path, result: ExperimentResult) -> None:
    rate, gains, guess = (result[name].to_dict()["claim"] for name in ("rate", "gains", "guess"))
    # The document has no complete row for the heavy load.
    assert rate["document"] == {"what": "rows", "of": 1, "held": 1, "missed": []}
    assert rate["ours"]["held"] == 0 and rate["ours"]["of"] == 2
    assert rate["ours"]["missed"][0] == {
        "place": "light",
        "value": None,
        "claimed": "a",
        "best": "c",
        "excess": pytest.approx(60),
    }
    assert gains["document"] is None and gains["ours"] == {"what": "cells", "of": 6, "held": 6, "missed": []}
    # Under heavy load, a is claimed to be the best, but c is 20 % better.
    assert (guess["ours"]["held"], guess["ours"]["of"]) == (1, 2)
    assert [(cell["place"], cell["claimed"], cell["best"], cell["excess"]) for cell in guess["ours"]["missed"]] == [
        ("heavy", "a", "c", pytest.approx(20))
    ]
    out = cli("experiment", "run", sums, "--all").stdout
    for line in (
        "claim: a is the fastest",
        "  document: holds in 1 of 1 rows",
        "    fails in light: c: a is 60.00 % off",
        "claim: c gains more than a tenth",
        "  ours: holds in 6 of 6 cells",
        "    fails in heavy: c: a is 20.00 % off",
        "our values are computed from the tables gain",
    ):
        assert line in out.splitlines(), out
    shown = json.loads(cli("experiment", "run", sums, "--json").stdout)["result"]["tables"]
    assert shown[0]["claim"] == result["rate"].to_dict()["claim"] and shown[1]["claim"] is None
    assert cli("experiment", "show", sums).stdout.splitlines()[4].split()[-2:] == ["compared,", "claim"]


def test_one_of_several_labels_may_be_the_best(sums: Path) -> None:
    for best, held in (('["a", "b"]', 0), ('["b", "c"]', 2), ('"c"', 2)):
        sums.write_text(SUMS.replace('best = "a"', f"best = {best}"))
        verdict = ssdlab.experiments.load(sums).run(tables=["rate"])["rate"].verdict("ours")
        assert verdict is not None and (verdict.held, verdict.of) == (held, 2)
        # b is better under light load, and a under heavy load, each by 20 %.
        missed = [(cell.place, cell.claimed) for cell in verdict.missed]
        assert missed == ([] if held else [("light", "b"), ("heavy", "a")])
        assert all(cell.excess == pytest.approx(20) for cell in verdict.missed)


def test_a_bound_excludes_its_own_value(sums: Path) -> None:
    for bound, held in (("above = 25", 4), ("below = 150", 4), ("above = 24.9", 6), ("below = 25", 0)):
        sums.write_text(SUMS.replace("above = 10", bound))
        verdict = ssdlab.experiments.load(sums).run(tables=["gains"])["gains"].verdict("ours")
        assert verdict is not None and (verdict.held, verdict.of) == (held, 6), bound


def test_rows_are_alternatives_for_one_row_of_the_document(cli: Cli, sums: Path) -> None:
    (sums.parent / "theirs.csv").write_text("a,b,c\n10,10,20\n")
    table = ssdlab.experiments.load(sums).run()["rate"]
    assert table.document.tolist() == [[10, 10, 20]] * 2
    expected = [np.sqrt(np.mean(np.array(line) ** 2)) for line in ([0, 100, 25], [-20, -60, -50])]
    assert table.row_rms == pytest.approx(dict(zip(("light", "heavy"), expected, strict=True)))
    out = cli("experiment", "run", sums, "--all").stdout.splitlines()
    assert f"  light: {expected[0]:.2f}" in out and f"  heavy: {expected[1]:.2f}" in out
    assert sum(" document  " in line for line in out) == 1
    (sums.parent / "theirs.csv").write_text("a,b,c\n1,1,1\n2,2,2\n")
    with pytest.raises(ssdlab.ConfigError, match=r"theirs\.csv:3: a row without label appears twice"):
        ssdlab.experiments.load(sums)
    (sums.parent / "theirs.csv").write_text("a,b,c\n")
    with pytest.raises(ssdlab.ConfigError, match="has no row"):
        ssdlab.experiments.load(sums)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("min(a, b, c)", 1.0),
        ("max(c, 7)", 7.0),
        ("mean(c)", 2.5),
        ("mean(c, a) + 1", 4.0),
        ("part_max(c, 1, 2)", 4.0),
        ("part_max(c, k, 2)", 3.0),
        ("part_max(c, 3, 2)", None),
        ("part_max(c, 0, 2)", None),
        ("part_max(c, 1, 5)", None),
        ("share_within(c, times, 1)", 0.25),
        ("100 * share_within(c, times, 3)", 87.5),
        ("share_within(c, times, 0)", 0.0),
        ("share_within(c, times, 9)", 1.0),
        ("share_within(c, never, 9)", None),
        # 2 x^3 - x + 1 at four places and at five.
        ("cubic(at, cube, 4)", 125.0),
        ("cubic(more, cube5, a / 2)", 29.75),
        ("cubic(at, more, 4)", None),
        ("cubic(times, c, 4)", None),
        # From (0, 0) to (2, 1), (4, 4) and (6, 2).
        ("increase(even, three, 1, 3)", 2.0),
        ("increase(even, three, 2, max(even))", 1.0),
        ("increase(even, three, 0, 0)", 0.0),
        ("increase(even, three, 3, 6.5)", None),
        ("increase(even, three, 3, 2)", None),
        ("increase(even, more, 1, 2)", None),
        ("mean(nothing)", None),
        ("mean(empty)", None),
        ("c + 1", None),
    ],
)
def test_functions_of_columns(expression: str, value: float | None) -> None:
    column = {"at": [0, 1, 2, 3], "cube": [1, 2, 15, 52], "more": [-1, 0, 1, 2, 3], "cube5": [0, 1, 2, 15, 52]}
    column |= {"c": [1, 4, 2, 3], "times": [2, 1, 2, 3], "never": [0, 0, 0, 0], "empty": []}
    column |= {"even": [2, 4, 6], "three": [1, 4, 2]}
    assert Value(expression).of({"a": 5, "b": 2.5, "k": 2, **column}) == value


def test_a_cubic_fits_best() -> None:
    places, values = [4, 8, 16, 32, 64], [46.1, 58.9, 62.3, 61.4, 43.7]
    fitted = [Value(f"cubic(at, values, {at})").of({"at": places, "values": values}) for at in places]
    assert fitted == pytest.approx(np.polyval(np.polyfit(places, values, 3), places).tolist())


@pytest.mark.parametrize("expression", ["sum(a)", "mean()", "part_max(a, 1)", "min(a, key=b)", "a.min(b)"])
def test_there_are_no_other_functions(expression: str) -> None:
    with pytest.raises(ValueError, match=r"is not|needs"):
        Value(expression)


def test_columns_of_a_run(sums: Path) -> None:
    sums.write_text("""
title = "t"
document = "d"
preset = "sbfast"
[set]
device.capacity = "8MiB"
workload = { requests = 6000, reads = "0%", size = "2KiB", align = "2KiB" }
ftl.fast.log = 4
[axis.half]
half_1 = {}
half_2 = {}
[axis.limit]
20ms = {}
200ms = {}
[axis.any]
any = {}
[[table]]
name = "longest"
title = "l"
value = "part_max(series.write_latency_max_ns, half, 2)"
rows = "any"
columns = "half"
[[table]]
name = "within"
title = "w"
value = "share_within(log_reclaims.ns, log_reclaims.times, 1e6 * limit)"
rows = "any"
columns = "limit"
""")
    experiment = ssdlab.experiments.load(sums)
    result = experiment.run()
    assert result.runs == 1
    run = ssdlab.simulate(experiment.configs(experiment.tables[0], "any", "half_1")[0])
    longest = run.series["write_latency_max_ns"]
    assert result["longest"].ours.tolist() == [[longest[:256].max(), longest[256:].max()]]
    assert run.log is not None
    within = [run.log.reclaim_times[run.log.reclaim_ns <= limit].sum() for limit in (20e6, 200e6)]
    assert result["within"].ours == pytest.approx(np.array([within]) / run.log.reclaim_times.sum())
    assert 0 < result["within"].ours[0, 0] < result["within"].ours[0, 1]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('from = ["gain"]', 'from = ["gian"]', ["gains: from", "'gian' is not an earlier table", "did you mean gain?"]),
        ('from = ["gain"]', "from = []", ["gains: from", "is empty"]),
        ('from = ["gain"]', 'from = ["gain", "rate"]', ["gains: from: rate", "is not used in 'value'"]),
        ('value = "min(gain)"', 'value = "min(gian)"', ["gains: value", "'gian' is not available"]),
        ('value = "min(gain)"', 'value = "minimum(gain)"', ["[axis.sum]: worst: value", "'minimum' is not one of"]),
        ('value = "min(gain)"', "value = 3", ["[axis.sum]: worst: value", "3 is not text"]),
        ('mean = { value = "mean(gain)" }', "mean = {}", ["gains: value", "is missing"]),
        ('best = "a"', 'best = "d"', ["rate: claim: best", "'d' is not one of a, b, c"]),
        ('best = "a"', "best = []", ["rate: claim: best", "is empty"]),
        (', best = "a"', "", ["rate: claim", "one of below, above, best, winners_of"]),
        ("above = 10", "above = 10, below = 20", ["gains: claim", "exactly one condition"]),
        ("above = 10", 'best = "light"', ["gains: claim: best", "has no effect without better"]),
        (
            'winners_of = "rate"',
            'winners_of = "gain"',
            ["guess: claim: winners_of", "'gain' is not an earlier table with the key 'better'"],
        ),
        (
            'winners_of = "rate"',
            'winners_of = "product"',
            ["guess: claim: winners_of", "'product' is not an earlier table"],
        ),
        ('says = "a is the fastest", ', "", ["rate: claim: says", "is missing"]),
    ],
)
def test_a_wrong_sum_or_claim_gives_one_line(sums: Path, before: str, after: str, words: list[str]) -> None:
    assert before in SUMS
    sums.write_text(SUMS.replace(before, after, 1))
    with pytest.raises(ssdlab.ConfigError) as caught:
        ssdlab.experiments.load(sums)
    assert len(str(caught.value).splitlines()) == 1
    for word in ("sums.toml: ", *words):
        assert word in str(caught.value)


def test_file_copies_in_one_row_equal_the_tables() -> None:
    tables = {table.name: table for table in ssdlab.experiments.load("thrashing").tables}
    square, row = (tables[name].comparison.reference for name in ("copy_files_seconds", "copy_files_assumptions"))
    assert square is not None and row is not None
    assert row[0] == sum(square, ()) and tables["copy_files_assumptions"].alternatives
