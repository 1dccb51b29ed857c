"""Notebooks: what is shown of results in them, and the tutorial as one."""

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest

import ssdlab
import tutorial
from conftest import SMALL
from documents import workplace
from tiers import TIER

VOID = {"meta", "br", "input", "hr"}


class Balanced(HTMLParser):
    """Fails where an element is not closed."""

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
        self.words.append(data)


def words(shown: object) -> str:
    """What a reader of the notebook reads."""
    code: str = shown._repr_html_()  # type: ignore[attr-defined]
    parser = Balanced()
    parser.feed(code)
    assert parser.open == [] and "<svg" not in code
    return " ".join(" ".join(parser.words).split())


def test_a_notebook_shows_results_configurations_and_studies(small: ssdlab.Config, tmp_path: Path) -> None:
    result = ssdlab.simulate(small)
    assert f"{result.write_amplification:.3f} write amplification (WAF)" in words(result)
    shown = words(small)
    assert shown.startswith("Configuration")
    assert shown.index("Set setting") < shown.index("device.capacity 16MiB") < shown.index("Defaults")
    compared = ssdlab.compare({"7 %": {"device.op": "20%"}, "30 %": {"device.op": "30%"}}, base=small)
    assert "30 %" in words(compared)
    study = ssdlab.sweep({"device.op": ["20%", "30%"]}, small, outcomes=["write_amplification"], jobs=1)
    assert "device.op" in words(study) and "write_amplification" in words(study)


def test_a_figure_is_explored_in_a_frame_of_its_own(small: ssdlab.Config) -> None:
    figure = ssdlab.simulate(small).plot_latency()
    frame = figure._repr_html_()  # type: ignore[attr-defined]
    page = html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])  # type: ignore[index]
    assert 'title="histogram"' in frame and page.count('class="chart"') == 1 and "Draws the charts of a page" in page
    assert "<svg" in figure._repr_svg_()  # type: ignore[attr-defined]


def test_every_block_of_the_tutorial_is_in_the_notebook() -> None:
    text = tutorial.TUTORIAL.read_text(encoding="utf-8")
    made, kept = tutorial.notebook(text), nbformat.read(tutorial.NOTEBOOK, as_version=4)
    assert [(one["cell_type"], one["source"]) for one in kept["cells"]] == [
        (one["cell_type"], one["source"]) for one in made["cells"]
    ], "run tests/tutorial.py"
    code = [one["source"] for one in made["cells"] if one["cell_type"] == "code"]
    assert sum(one.startswith("!") for one in code) == len(re.findall(r"^\$ ", text, re.MULTILINE))
    assert not [out for cell in kept["cells"] for out in cell.get("outputs", []) if out["output_type"] == "error"]


@pytest.mark.skipif(TIER != "deep", reason="takes minutes; SSDLAB_TESTS=deep runs it")
def test_the_notebook_runs() -> None:
    with workplace():
        folder = Path("docs")
        folder.mkdir()
        done = tutorial.executed(tutorial.notebook(tutorial.TUTORIAL.read_text(encoding="utf-8")), folder)
    assert all(cell["execution_count"] for cell in done["cells"] if cell["cell_type"] == "code")


def test_settings_of_the_small_device_are_those_that_were_made(small: ssdlab.Config) -> None:
    made = words(small).split("Defaults")[0]
    assert all(key in made for key in SMALL)
