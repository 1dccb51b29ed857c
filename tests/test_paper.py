"""Figures of every report for papers, in the widths of two-column formats."""

import csv
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import matplotlib.axis
import matplotlib.figure
import matplotlib.text
import numpy as np
import pytest

import ssdlab
from conftest import SMALL, SMALL_SETS, Cli
from ssdlab.model.finding import Finding
from ssdlab.view.chart import Axis, Bars, Chart, Line, Panel
from ssdlab.view.colours import BLUE
from ssdlab.view.page import Cell, Figure, Page, Section, Table
from ssdlab.view.plots.drawing import drawn
from ssdlab.view.plots.paper import papers, titled
from ssdlab.view.written import tables, with_rows, written

POINTS_PER_INCH = 72


@pytest.fixture(scope="module")
def timed() -> Finding:
    return ssdlab.simulate(ssdlab.Config("tlc-chip", overrides={**SMALL, "time": "event"}))


@pytest.fixture(scope="module")
def curves() -> Finding:
    """A single figure."""
    pages = np.arange(1000) % 37
    trace = ssdlab.Trace.from_columns(op=np.zeros(1000, np.uint8), offset=pages * 4096, bytes=np.full(1000, 4096))
    return ssdlab.cache.mrc(trace, ["lru"], [8, 32, 64])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("figure-*"))


def test_each_figure_is_written_in_both_widths(timed: Finding, tmp_path: Path) -> None:
    timed.save(tmp_path, "pdf")
    shown = [title for _, title, figure in titled(timed.page()) if not figure.draw().is_empty]
    assert len(shown) > 4
    assert len(names(tmp_path)) == 2 * len(shown)
    for name in names(tmp_path):
        whole = (tmp_path / name).read_bytes()
        box = re.search(rb"/MediaBox *\[ *0 0 ([0-9.]+)", whole)
        assert box is not None
        inches = 7.16 if name.endswith("-wide.pdf") else 3.5
        assert float(box[1]) == pytest.approx(inches * POINTS_PER_INCH)
        assert b"/Type3" not in whole


@pytest.mark.parametrize("format", ["pdf", "svg", "png"])
def test_equal_findings_give_equal_figures(curves: Finding, tmp_path: Path, format: str) -> None:
    for one in ("a", "b"):
        curves.save(tmp_path / one, format)  # type: ignore[arg-type]
    assert names(tmp_path / "a")
    for name in names(tmp_path / "a"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_figures_of_an_earlier_finding_are_removed(curves: Finding, tmp_path: Path) -> None:
    curves.save(tmp_path, "svg")
    curves.save(tmp_path, "pdf")
    assert {Path(name).suffix for name in names(tmp_path)} == {".pdf"}
    curves.save(tmp_path)
    assert names(tmp_path) == []


def test_figures_of_equal_title_are_numbered() -> None:
    chart = Chart([Panel([Bars("", np.arange(2.0), np.arange(2.0), BLUE)], Axis(), Axis())], 1.0)
    figures = [Figure(lambda: chart), Figure(lambda: chart)]
    files = papers(Page("A page", sections=[Section("Curves: 1", figures)]), "png")
    assert list(files) == [f"figure-curves-1{number}{width}.png" for number in ("", "-2") for width in ("", "-wide")]


def test_commands_write_figures_to_the_folder_of_the_report(tmp_path: Path, cli: Cli) -> None:
    done = cli("compare", *SMALL_SETS, "--case", "seed=1", "--case", "seed=2", "--out", "out", "--figures", "svg")
    assert "figures as figure-*.svg" in " ".join(done.stdout.split())
    assert names(tmp_path / "out")


def test_a_missing_matplotlib_is_one_line_with_its_installation(
    timed: Finding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line says so before running anything."""
    code = "import sys; sys.modules['matplotlib'] = None; from ssdlab.__main__ import main; main()"
    command = [sys.executable, "-c", code, "run", *SMALL_SETS, "--out", "out", "--figures", "pdf"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    message = f"matplotlib is not installed; {sys.executable} -m pip install 'matplotlib>=3.9'"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"ssdlab: {message}\n")
    assert not (tmp_path / "out").exists()

    for name in [name for name in sys.modules if name.startswith(("matplotlib", "ssdlab.view.plots"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ssdlab.ConfigError, match=r"^matplotlib is not installed; "):
        timed.plot_write_amplification()  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def cases() -> ssdlab.Comparison:
    """Two cases; the second takes 6.9 times as long as the first."""
    slow = {"nand.read": "500us", "nand.program": "3ms"}
    return ssdlab.compare(
        {name: ssdlab.Config("tlc-chip", overrides={**SMALL, **also}) for name, also in (("a", {}), ("b_%", slow))}
    )


def test_tables_of_two_cells_by_hand() -> None:
    table = Table(
        ("", "a_b", "50 %"), [(Cell("Times", "strong"), "", ""), ("read p99", Cell("1.20 ms *", "best"), "3 µs")], "T"
    )
    page = Page("A page", sections=[Section("S", [table])])
    assert written(tables(page, all=False), "markdown") == (
        "| T | a\\_b | 50 % |\n| :-- | --: | --: |\n| **Times** |  |  |\n| read p99 | **1.20 ms** | 3 µs |\n"
    )
    assert written(tables(page, all=False), "latex") == (
        "\\begin{tabular}{lrr}\n\\toprule\nT & a\\_b & 50\\,\\% \\\\\n\\midrule\n\\emph{Times} &  &  \\\\\n"
        "read p99 & \\textbf{1.20\\,ms} & 3\\,\\textmu{}s \\\\\n\\bottomrule\n\\end{tabular}\n"
    )
    assert written(tables(page, all=False), "csv") == "T,a_b,50 %\nread p99,1.20 ms,3 µs\n"


def test_rows_and_cells_are_found_by_short_names(cases: ssdlab.Comparison, timed: Finding) -> None:
    [table] = with_rows(cases.page(), ["waf", "read.p99.9", "latency.write.p50_ns"])
    assert [row[0] for row in table.rows] == ["write amplification (WAF)", "read p99.9", "write p50"]
    assert table.headers == ("", "a", "b_%")
    [cell] = with_rows(timed.page(), ["read.p99"])
    assert (cell.headers, cell.rows[0][0]) == (("", "value"), "read p99")
    with pytest.raises(ssdlab.ConfigError, match=r"^--rows wax: unknown name; "):
        with_rows(cases.page(), ["wax"])


def test_commands_print_only_the_tables(cli: Cli, tmp_path: Path) -> None:
    cases = [*SMALL_SETS, "--case", "seed=1", "--case", "seed=2"]
    printed = cli("compare", *cases, "--table", "csv", "--rows", "waf", "--out", "out").stdout
    header, row = csv.reader(printed.splitlines())
    assert header == ["", "seed=1", "seed=2"] and row[0] == "write amplification (WAF)"
    amplification = json.loads((tmp_path / "out" / "comparison.json").read_text())["result"]["cases"]
    assert [f"{case['runs'][0]['write_amplification']:.3f}" for case in amplification.values()] == row[1:]
    refused = cli("compare", *cases, "--table", "csv", "--json", check=False)
    assert refused.stderr == "ssdlab: --table prints tables, not JSON; omit --json\n"


def test_figures_are_chosen_by_name(cases: ssdlab.Comparison, tmp_path: Path, cli: Cli) -> None:
    cases.save(tmp_path, "svg", ["waf", "latency reads"])
    assert names(tmp_path) == [
        f"figure-{name}{width}.svg" for name in ("reads", "write-amplification-over-the-run") for width in ("-wide", "")
    ]
    done = cli("run", *SMALL_SETS, "--out", "out", "--figure", "nothing", check=False)
    assert done.stderr.startswith("ssdlab: --figure nothing: unknown name; choose one of ")
    assert (tmp_path / "out" / "result.json").exists(), "a long run is not lost for a misspelt figure"


def test_runs_of_different_length_share_an_axis_of_shares(cases: ssdlab.Comparison) -> None:
    chart = cases.plot_course.chart()
    assert chart.panels[-1].x.title == "simulated time (% of each run)"
    assert {float(line.x[-1]) for line in chart.panels[0].marks if isinstance(line, Line)} == {100.0}


@pytest.mark.parametrize("count", [2, 12])
def test_texts_of_a_figure_do_not_overlap(count: int) -> None:
    """Compares the boxes of all texts of each figure, one column wide, for cases with names of 30 characters."""
    base = {**SMALL, "workload.requests": 300}
    seeds = {f"a configuration of the drive {seed:02}": {**base, "seed": seed} for seed in range(count)}
    found = ssdlab.compare({name: ssdlab.Config("tlc-chip", overrides=settings) for name, settings in seeds.items()})
    compared = 0
    for section, title, figure in titled(found.page()):
        drawing = drawn(figure.draw(), title, 3.5)
        drawing.saved("png")
        boxes = [(text.get_text(), text.get_window_extent().shrunk(0.98, 0.9)) for text in visible(drawing)]
        for (one, box), (other, with_box) in itertools.combinations(boxes, 2):
            compared += 1
            assert not box.overlaps(with_box), f"{section}, {title}: {one!r} overlaps {other!r}"
    assert compared > 500


def visible(drawing: matplotlib.figure.Figure) -> list[matplotlib.text.Text]:
    """Returns the texts that a reader sees: labels, ticks inside the axes, titles and legends."""
    inside = {id(text) for axes in drawing.axes for axis in (axes.xaxis, axes.yaxis) for tick in axis.get_major_ticks()
              for text in (tick.label1, tick.label2) if not _is_inside(axis, tick)}  # fmt: skip
    every = drawing.findobj(matplotlib.text.Text)
    return [text for text in every if text.get_visible() and text.get_text().strip() and id(text) not in inside]


def _is_inside(axis: matplotlib.axis.Axis, tick: matplotlib.axis.Tick) -> bool:
    low, high = sorted(axis.get_view_interval())
    return bool(low <= tick.get_loc() <= high)


def test_figures_need_a_directory_and_a_known_format(tmp_path: Path, cli: Cli) -> None:
    nowhere = cli("run", *SMALL_SETS, "--figures", "pdf", check=False)
    assert nowhere.returncode == 2
    assert "--figures needs an output directory; add --out DIR" in nowhere.stderr
    with pytest.raises(ssdlab.ConfigError, match="figures: unknown format 'bmp'"):
        papers(Page("A page"), "bmp")  # type: ignore[arg-type]
    unknown = cli("run", *SMALL_SETS, "--figures", "bmp", "--out", "out", check=False)
    assert unknown.returncode == 2
    assert "bmp" in unknown.stderr
    assert not (tmp_path / "out").exists()
