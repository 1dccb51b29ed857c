"""Display of results in notebooks."""

import html
import pydoc
import re
import sys
import types
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from conftest import SMALL
from ssdlab.model import notebook as progress
from ssdlab.view.plots.drawing import Drawing

VOID = {"meta", "br", "input", "hr"}


class BalancedParser(HTMLParser):
    """Fails if an element is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)


def words(shown: Any) -> str:
    """Text that a reader of the notebook sees."""
    code = shown._repr_html_()
    parser = BalancedParser()
    # A word may be broken here, but counts as one word.
    parser.feed(code.replace("<wbr>", ""))
    assert parser.open == [] and "<svg" not in code
    return " ".join(" ".join(parser.words).split())


def test_a_notebook_shows_results_configurations_and_studies(small: ssdlab.Config, tmp_path: Path) -> None:
    result = ssdlab.simulate(small)
    assert f"{result.write_amplification:.3f} write amplification (WAF)" in words(result)
    shown = words(small)
    assert shown.startswith("Configuration")
    assert shown.index("Set setting") < shown.index("device.capacity 16MiB") < shown.index("Defaults")
    compared = ssdlab.compare({"more": small.with_overrides({"device.op": "30%"}), "as it is": small}, jobs=1)
    assert "as it is" in words(compared)
    study = ssdlab.sweep({"device.op": ["20%", "30%"]}, small, outcomes=["write_amplification"], jobs=1)
    assert "device.op" in words(study) and "write_amplification" in words(study)


def test_help_on_a_plot_method_shows_its_signature() -> None:
    helped = pydoc.plain(pydoc.render_doc(ssdlab.Comparison.plot_latency_percentiles))
    assert "op: str = 'read'" in helped and "-> 'Figure'" in helped


def test_a_figure_is_explored_in_its_own_frame(small: ssdlab.Config) -> None:
    figure = ssdlab.simulate(small).plot_latency()
    assert isinstance(figure, Drawing)
    frame = figure._repr_html_()
    written = re.search(r'srcdoc="([^"]*)"', frame)
    assert written
    page = html.unescape(written[1])
    assert 'title="histogram"' in frame and page.count('class="chart"') == 1 and "Draws the charts of a page" in page
    assert "<svg" in figure._repr_svg_()


def test_settings_of_the_small_device_are_the_changed_ones(small: ssdlab.Config) -> None:
    made = words(small).split("Defaults")[0]
    assert all(key in made for key in SMALL)


class FakeDisplay:
    """Replacement of `IPython.display` that records shown and replaced outputs of a cell."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def HTML(self, code: str) -> str:  # noqa: N802
        return code

    def display(self, code: str, display_id: bool) -> "FakeDisplay":
        assert display_id
        self.shown.append(code)
        return self

    def update(self, code: str) -> None:
        self.shown.append(code)


def test_a_notebook_shows_progress_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, small: ssdlab.Config) -> None:
    display = FakeDisplay()
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0)
    monkeypatch.setattr(progress, "UPDATE_SECONDS", 0)
    assert ssdlab.simulate(small).write_amplification and display.shown == []
    shell = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=True))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    ssdlab.simulate(small)
    first, *_, last = display.shown
    assert first.startswith("<progress") and last == ""
    display.shown.clear()
    ssdlab.simulate(small, monitor=lambda *_: False)
    assert display.shown == []
