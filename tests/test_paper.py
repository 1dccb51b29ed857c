"""Figures for papers, from every report, in the widths of two-column formats."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from conftest import SMALL, SMALL_SETS, Cli
from ssdlab.model.finding import Finding
from ssdlab.view.chart import Axis, Bars, Chart, Panel
from ssdlab.view.colours import BLUE
from ssdlab.view.page import Figure, Page, Section
from ssdlab.view.plots.paper import papers, titled

POINTS_PER_INCH = 72


@pytest.fixture(scope="module")
def timed() -> Finding:
    return ssdlab.simulate(ssdlab.Config("tlc-chip", overrides={**SMALL, "time": "event"}))


@pytest.fixture(scope="module")
def curves() -> Finding:
    """One figure."""
    pages = np.arange(1000) % 37
    trace = ssdlab.Trace.from_columns(op=np.zeros(1000, np.uint8), offset=pages * 4096, bytes=np.full(1000, 4096))
    return ssdlab.cache.mrc(trace, ["lru"], [8, 32, 64])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("figure-*"))


def test_each_figure_is_written_in_both_widths(timed: Finding, tmp_path: Path) -> None:
    timed.save(tmp_path, "pdf")
    shown = [title for title, figure in titled(timed.page()) if not figure.draw().is_empty]
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


def test_commands_write_them_beside_the_report(tmp_path: Path, cli: Cli) -> None:
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


def test_figures_need_a_directory_and_a_known_format(tmp_path: Path, cli: Cli) -> None:
    nowhere = cli("run", *SMALL_SETS, "--figures", "pdf", check=False)
    assert nowhere.returncode == 2
    assert "--figures needs a directory; name one with --out DIR" in nowhere.stderr
    with pytest.raises(ssdlab.ConfigError, match="figures: unknown format 'bmp'"):
        papers(Page("A page"), "bmp")  # type: ignore[arg-type]
    unknown = cli("run", *SMALL_SETS, "--figures", "bmp", "--out", "out", check=False)
    assert unknown.returncode == 2
    assert "bmp" in unknown.stderr
    assert not (tmp_path / "out").exists()
