"""Comparisons of cases: figures over seeds, differences, and saved files."""

import csv
import json
import re
import statistics
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import ssdlab
from conftest import SMALL, SMALL_SETS, Cli
from ssdlab import text
from ssdlab.model.requests import Monitor
from ssdlab.study.compare import Spread
from ssdlab.view.page import Table
from ssdlab.view.pages.comparison import ALIKE, page


def drive(settings: dict[str, object]) -> ssdlab.Config:
    return ssdlab.Config("tlc-chip", overrides={**SMALL, **settings})


CASES = {"greedy": drive({"ftl": {"page": {"gc": "greedy"}}}), "fifo": drive({"ftl": {"page": {"gc": "fifo"}}})}


@pytest.fixture(scope="module")
def comparison() -> ssdlab.Comparison:
    return ssdlab.compare(CASES, seeds=3)


def rows_of(comparison: ssdlab.Comparison, *, all: bool = True) -> dict[str, list[str]]:
    """Cells of the tables on a terminal by row label."""
    shown = [section for section in page(comparison).sections if section.terminal and (all or not section.detail)]
    tables = [item for section in shown for item in section.items]
    rows = [row for table in tables if isinstance(table, Table) for row in table.rows]
    return {str(row[0]): [cell if isinstance(cell, str) else cell.text for cell in row[1:]] for row in rows}


def test_figures_equal_the_single_runs(comparison: ssdlab.Comparison) -> None:
    for label, settings in CASES.items():
        alone = [ssdlab.simulate(settings.with_overrides({"seed": seed})) for seed in (1, 2, 3)]
        assert [run.to_dict() for run in alone] == [run.to_dict() for run in comparison.runs[label]]
        values = [run.write_amplification or 0.0 for run in alone]
        mean = sum(values) / 3
        spread = comparison.figures(label)["write_amplification"]
        assert spread.mean == pytest.approx(mean)
        assert spread.standard_deviation == pytest.approx((sum((v - mean) ** 2 for v in values) / 2) ** 0.5)
        assert spread.standard_deviation


LONG = {label: settings.with_overrides({"workload.requests": 8_000_000}) for label, settings in CASES.items()}
"""Each run takes several times the 50 ms between two reports of progress, so it can be stopped while measuring."""


def stopping(at: str, phase: str) -> Callable[[str], Monitor]:
    """Stops the run with this name in this phase."""
    return lambda name: lambda now, *_: (name, now) == (at, phase)


def test_a_stopped_comparison_averages_complete_runs_only() -> None:
    comparison = ssdlab.compare(LONG, seeds=2)
    cut = ssdlab.compare(LONG, seeds=2, jobs=1, monitor=stopping("fifo, seed 2", "measure"))
    assert [len(cut.runs[label]) for label in LONG] == [2, 1] and cut.partial and not cut.cut_short
    assert cut.figures("greedy") == comparison.figures("greedy")
    assert cut.runs["fifo"][0].to_dict() == comparison.runs["fifo"][0].to_dict()
    shown = page(cut)
    assert shown.partial == "greedy: 2 of 2 runs were finished; fifo: 1 of 2 runs were finished"
    assert shown.legend.startswith("mean of 1 to 2 seeds")
    first = ssdlab.compare(LONG, seeds=2, jobs=1, monitor=stopping("greedy, seed 2", "measure"))
    assert [*first.runs] == ["greedy"] and first.missing == ["fifo"]
    assert "fifo: not measured" in page(first).partial and "*" not in page(first).legend


def test_a_truncated_case_is_neither_better_nor_worse() -> None:
    cut = ssdlab.compare(LONG, jobs=1, monitor=stopping("fifo", "measure"))
    assert cut.cut_short == ["fifo"] and cut.runs["fifo"][0].partial
    assert (
        page(cut).partial == "the comparison was stopped; fifo: a run was stopped before its end"
        and not page(cut).legend
    )
    assert not any("*" in cell for row in rows_of(cut).values() for cell in row)
    with pytest.raises(KeyboardInterrupt, match="nothing has been measured yet"):
        ssdlab.compare(LONG, jobs=1, monitor=stopping("greedy", "fill"))


def test_remarks_of_one_case_name_it() -> None:
    # Spare space is rounded up in each plane.
    few = {"nand.planes": 4, "device.reserve": "extra", "workload.requests": 5_000}
    planes = {label: case.with_overrides(few) for label, case in CASES.items()}
    long = planes["fifo"].with_overrides({"workload": {"requests": 100_000}})
    remarks = page(ssdlab.compare({**planes, "long": long})).remarks
    assert any(line.startswith("device.op=") for line in remarks)
    assert [line.partition(": ")[0] for line in remarks if "reflects the preconditioning" in line] == ["greedy, fifo"]


def test_flash_does_not_depend_on_the_ftl() -> None:
    base = drive({"device.capacity": "64MiB", "nand.pages_per_block": 32, "workload.requests": 1000, "time": "count"})
    for change in ({"ftl.page.map": "dftl"}, {"ftl.page.gc": "fifo"}, {"ftl": "fast"}):
        compared = ssdlab.compare({"base": base, "other": base.with_overrides(change)})
        assert len({run.summary["device"]["physical_bytes"] for [run] in compared.runs.values()}) == 1, change
        assert page(compared).legend == "*: best of its row"
    smaller = page(ssdlab.compare({"base": base, "other": base.with_overrides({"device.capacity": "32MiB"})}))
    assert smaller.legend == "no best values: the drives differ in flash (base: 76.9 MiB, other: 38.5 MiB)"


def test_a_single_run_has_no_deviation() -> None:
    assert Spread.of([5.0]) == (5.0, None, 1)
    assert tuple(Spread.of([1.0, 3.0])) == pytest.approx((2.0, 2**0.5, 2))


def test_jobs_do_not_matter(comparison: ssdlab.Comparison) -> None:
    assert ssdlab.compare(CASES, seeds=3, jobs=1).to_json() == comparison.to_json()


def test_the_summary_comes_first(comparison: ssdlab.Comparison) -> None:
    some, every = rows_of(comparison, all=False), rows_of(comparison)
    times = [f"{op} {name}" for op in ("read", "write") for name in ("mean", "p50", "p99", "p99.9")]
    assert [label for label in some if not label.startswith("Cell")] == [
        "capacity", "flash", "write amplification (WAF)", "requests per second", "read bandwidth", "write bandwidth",
        *times, "host writes until worn out (TBW)", "drive writes per day for 5 years (DWPD)",
    ]  # fmt: skip
    assert some["capacity"] == ["16.0 MiB  ", "16.0 MiB  "] and {*some} < {*every}
    further = [section.title for section in page(comparison).sections if section.detail]
    assert further == ["Further metrics that differ", "Equal in all cases"]
    written = some["write amplification (WAF)"]
    assert written[0].endswith(" *") and "±" in written[0] and not written[1].endswith(" *")
    report = comparison.report_html()
    assert "Equal in all cases" in report and "capacity" in report and "Settings that differ" in report
    assert report.count("data-chart=") == 6


def test_values_within_the_deviation_are_equally_good() -> None:
    # The same drive twice, under other seeds: neither is better.
    comparison = ssdlab.compare({"a": drive({}), "b": drive({"seed": 4})}, seeds=3)
    assert comparison.figures("a")["write_amplification"] != comparison.figures("b")["write_amplification"]
    apart = comparison.figures("a")["write_amplification"].mean - comparison.figures("b")["write_amplification"].mean
    deviations = sum(comparison.figures(case)["write_amplification"].standard_deviation or 0.0 for case in "ab")
    stars = [cell.count("*") for cell in rows_of(comparison)["write amplification (WAF)"]]
    assert sum(stars) == (0 if abs(apart) <= deviations else 1)


def test_a_figure_of_one_case_only_is_not_the_best() -> None:
    rows = rows_of(ssdlab.compare({"fast": drive({"ftl": "fast"}), "page": drive({})}))
    of_log = [cells for label, cells in rows.items() if "merges" in label and cells[1:] == [f"{text.MISSING}  "]]
    assert of_log and not any(cell.endswith(" *") for cells in of_log for cell in cells)


def test_times_that_include_waiting_in_one_case_only_are_not_ranked() -> None:
    slow = {"nand.program": "5ms"}
    serial, event = drive({"time": "serial"}), drive({"time": "event", **slow})
    rows = rows_of(ssdlab.compare({"alone": serial, "queued": event}))
    assert any("Service time or response time" in label for label in rows)
    assert [cell.count("*") for cell in rows["write mean"]] == [0, 0]
    rows = rows_of(ssdlab.compare({"alone": serial, "slow": serial.with_overrides(slow)}))
    assert [cell.count("*") for cell in rows["write mean"]] == [1, 0]


def test_a_lifetime_at_a_lower_rate_is_not_better() -> None:
    slow = {"nand.program": "5ms"}
    rows = rows_of(ssdlab.compare({"fast": drive({"time": "event"}), "slow": drive({"time": "event", **slow})}))
    assert [cell.count("*") for cell in rows["write bandwidth"]] == [1, 0]
    assert [cell.count("*") for cell in rows["lifetime at that rate"]] == [0, 0]


def test_a_lifetime_is_listed_below_its_rate_even_if_rates_are_equal() -> None:
    config = drive({"time": "event"})
    trace = ssdlab.generate(config.with_overrides({"workload.arrival.poisson.rate": "100/s"}))
    comparison = ssdlab.compare({"less": config, "more": config.with_overrides({"device.op": "40%"})}, trace)
    rows = rows_of(comparison)
    assert len({cell.strip() for cell in rows["lifetime at that rate"]}) == 2
    assert len({cell.strip() for cell in rows["host writes per day at the trace's rate"]}) == 1


def test_seeds_that_change_nothing_are_reported() -> None:
    still = drive({"precondition.overwrite": "none", "workload.pattern": "sequential", "workload.reads": "0%"})
    comparison = ssdlab.compare({"a": still, "b": still.with_overrides({"ftl.page.gc": "fifo"})}, seeds=2)
    assert ALIKE in comparison.page().remarks and ALIKE in json.loads(comparison.to_json())["notes"]


def test_saved_tables_hold_the_figures(comparison: ssdlab.Comparison, tmp_path: Path) -> None:
    comparison.save(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"report.html", "comparison.json", "comparison.csv", "comparison.parquet"}
    rows = {row["figure"]: row for row in csv.DictReader((tmp_path / "comparison.csv").read_text().splitlines())}
    long = pq.read_table(tmp_path / "comparison.parquet").to_pylist()
    for case in CASES:
        values = [label["value"] for label in long if (label["figure"], label["case"]) == ("wear.erases", case)]
        assert len(values) == 3 and {label["seed"] for label in long} == {1, 2, 3}
        assert float(rows["wear.erases"][case]) == pytest.approx(statistics.fmean(values))
        deviation = float(rows["wear.erases"][f"{case} standard_deviation"])
        assert deviation == pytest.approx(statistics.stdev(values))
    whole = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))
    case = whole["result"]["cases"]["fifo"]
    assert case["settings"] == {"ftl.page.gc": "fifo"} and [run["seed"] for run in case["runs"]] == [1, 2, 3]
    assert "ftl.page.gc" not in whole["configuration"] and whole["configuration"]["device.op"]["value"] == "20%"
    assert whole["result"]["spread"] == "sample standard deviation"


def test_the_command_prints_and_saves(cli: Cli, tmp_path: Path) -> None:
    cases = ["--case", "ftl.page.gc=greedy", "--case", "ftl.page.gc=fifo"]
    out = cli("compare", *SMALL_SETS, *cases, "--seeds", "2", "--out", "found").stdout
    assert re.search(r"^\d+ further metrics differ, \d+ are equal \(--all shows them\)", out, re.MULTILINE)
    assert "mean of 2 seeds ± standard deviation (omitted if 0)" in out
    assert "written to found: report.html, comparison.json, comparison.csv and comparison.parquet" in out
    assert "pages copied" not in out and "pages copied" in cli("compare", *SMALL_SETS, *cases, "--all").stdout
    assert len([*(tmp_path / "found").iterdir()]) == 4


@pytest.mark.parametrize("cases", [{}, {"a": {"seed": "x"}}, {"a": 5}])
def test_impossible_comparisons_are_an_error(cases: dict[str, object]) -> None:
    with pytest.raises(ssdlab.ConfigError):
        ssdlab.compare(cases)  # type: ignore[arg-type]
    with pytest.raises(ssdlab.ConfigError, match="at least one case and at least one seed"):
        ssdlab.compare(CASES, seeds=0)
    for nameless in ([CASES["greedy"]], ssdlab.Config(), 5):
        with pytest.raises(
            ssdlab.ConfigError, match=r"cases must be a mapping from names to cases, not .*; use, for example,"
        ):
            ssdlab.compare(nameless)  # type: ignore[arg-type]
    for jobs in (0, -1):
        with pytest.raises(ssdlab.ConfigError, match=f"jobs must be at least 1, not {jobs}"):
            ssdlab.compare(CASES, jobs=jobs)


def test_switches_are_written_as_in_files() -> None:
    comparison = ssdlab.compare({"on": drive({"check": True}), "off": drive({"check": False})})
    [table] = page(comparison).sections[1].items
    assert isinstance(table, Table)
    assert [text for _, *text in table.rows] == [["true", "false"]]


def test_names_of_cases_are_text() -> None:
    plain = {"device.capacity": "256MiB", "workload.requests": 1000, "time": "count"}
    comparison = ssdlab.compare({1: plain, 2: plain})  # type: ignore[dict-item]
    assert [*comparison.runs] == ["1", "2"] and "1, 2" in repr(comparison)
    with pytest.raises(ssdlab.ConfigError, match="two cases have the same name"):
        ssdlab.compare({1: plain, "1": plain})  # type: ignore[dict-item]


def test_truncated_bars_are_marked(small: ssdlab.Config) -> None:
    """Without a mark, a truncated bar would look like a complete bar."""
    slow = small.with_overrides({"time": "serial", "nand.read": "1ms", "nand.program": "90ms"})
    quick = slow.with_overrides({"nand.read": "10us", "nand.program": "100us"})
    slower = slow.with_overrides({"nand.read": "1100us"})
    for first, second, cut in ((quick, slow, True), (slow, slower, False)):
        [panel] = ssdlab.compare({"one": first, "two": second}).plot_differences.chart().panels
        assert panel.x.title.endswith("; bars that end at the frame are cut off") == cut
