"""The page of `ssdlab explain` in a real browser: it shows the states of the simulation, offline."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import ssdlab
from browser import Shown, browser, violations_in_both_schemes, window
from ssdlab.analyse import steps
from ssdlab.view import stepper

__all__ = ["browser", "window"]

SCENES = steps.scenes()

WALK = """() => {
  document.body.hidden = true;
  const drawn = () => player.lanes.map(({ state }) => JSON.stringify(state));
  const seen = [];
  for (let tick = 0; tick <= player.last; tick++) { player.go(tick); seen.push(drawn()); }
  const end = player.lanes.map(({ state }) => ({ map: state.map, erases: state.blocks.map(({ erases }) => erases) }));
  for (let tick = player.last; tick >= 0; tick--) {
    player.go(tick);
    const now = drawn();
    if (now.some((state, lane) => state !== seen[tick][lane])) return { differs: tick };
  }
  document.body.hidden = false;
  return { end, first: seen[0].map((state) => JSON.parse(state)), ticks: player.last };
}"""
"""Takes every step forward and back; drawings must be equal both ways. Positions on the screen do not matter, so the
page is hidden, which saves a layout per step.
"""

CELLS = """(lane) => [...document.querySelectorAll(".lane")[lane].querySelectorAll(".cell")].map((cell) =>
  [cell.textContent, cell.classList.contains("valid"), cell.classList.contains("old")])"""


@pytest.fixture
def page_of(window: Any, tmp_path: Path) -> Iterator[Any]:
    shown: list[Shown] = []

    def page_of(name: str, **media: str) -> Any:
        path = tmp_path / f"{name}.html"
        ssdlab.explain(name).save(path)
        shown.append(Shown(window, path, **media))
        return window

    yield page_of
    for one in shown:
        one.leave()


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_shows_the_simulation_forward_and_back(name: str, page_of: Any) -> None:
    recordings = ssdlab.explain(name).recordings
    page = page_of(name)
    walked = page.evaluate(WALK)
    assert "differs" not in walked, f"step {walked.get('differs')} differs on the way back"
    assert walked["ticks"] >= max(len(recording["steps"]) for recording in recordings)
    for lane, recording in enumerate(recordings):
        end, logical = recording["end"], recording["drive"]["logical_pages"]
        assert walked["end"][lane]["map"][:logical] == end["map"]
        assert walked["end"][lane]["erases"] == end["erases"]
        assert walked["first"][lane]["map"] == recording["start"]["map"]
        # In the elements of the page, every valid cell is where the FTL has the page, in any order of blocks.
        page.evaluate("() => player.go(player.last)")
        cells = page.evaluate(CELLS, lane)
        valid = sorted(int(text) for text, is_valid, _ in cells if is_valid and not text.startswith("m"))
        assert valid == [lpn for lpn, ppn in enumerate(end["map"]) if ppn is not None]
        assert all(text for text, is_valid, outdated in cells if is_valid or outdated)


@pytest.mark.parametrize("name", SCENES)
def test_the_middle_of_a_scene_equals_another_recordings_start(name: str, page_of: Any) -> None:
    explanation = ssdlab.explain(name)
    words = explanation.scene.requests.split()
    half = len(words) // 2
    before = f"{explanation.scene.before} {' '.join(words[:half])}"
    later = steps.Explanation(replace(explanation.scene, before=before, requests=" ".join(words[half:])))
    page = page_of(name)
    page.evaluate("() => player.go(player.last)")
    for lane, recording in enumerate(later.recordings):
        at = len(explanation.recordings[lane]["steps"]) - len(recording["steps"])
        drawn = page.evaluate("([lane, at]) => player.lanes[lane].at(at)", [lane, at])
        for block in drawn["blocks"]:
            del block["since"]
        assert drawn == recording["start"]


@pytest.mark.parametrize("name", SCENES)
def test_every_step_of_a_scene_has_a_sentence(name: str, page_of: Any) -> None:
    page = page_of(name)
    shown_text = page.evaluate("""() => {
      document.body.hidden = true;
      return Array.from({ length: player.last }, (_, at) => {
        player.go(at + 1);
        return [...document.querySelectorAll(".said")].map((one) => one.textContent);
      }).flat();
    }""")
    assert all(line.strip() for line in shown_text)
    assert not [line for line in shown_text if "undefined" in line or "NaN" in line or "null" in line]


def test_merges_are_described_in_the_papers_words(page_of: Any) -> None:
    page = page_of("bast-full-merge")
    page.get_by_role("button", name="Next merge").click()
    message = "Full merge of block 1: newest pages from D1, L5; 12 reads, 12 programs, 2 erases."
    assert page.locator(".said .span").first.inner_text() == message
    assert page.get_by_role("button", name="Next merge").is_disabled()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator(".arrows path").count() == 1
    page.keyboard.press("End")
    rows = page.locator(".counters tr").all_inner_texts()
    assert ["erases", "2", "2"] in [row.split("\t") for row in rows]
    page.keyboard.press("Home")
    assert page.locator(".now").inner_text() == "Before the first request."


def test_a_merge_and_the_erased_log_block_are_distinguished(page_of: Any) -> None:
    """In papers, the erase of a log block belongs to the merge that emptied it; the merge also erases a data block."""
    page = page_of("faster-isolation")
    merged = next(at for at, step in enumerate(ssdlab.explain("faster-isolation").recordings[0]["steps"])
                  if step["step"] == "merged" and step["lbn"] == 5)  # fmt: skip
    page.evaluate("(at) => player.go(at + 1)", merged)
    lines = page.locator(".said p").all_inner_texts()
    assert any(line.startswith("Full merge of block 5:") and line.endswith("4 programs, 2 erases.") for line in lines)
    assert lines[-1].startswith("Block 5 is merged: 4 copies, 1 data block erased;")


def test_two_ftls_meet_at_each_request(page_of: Any) -> None:
    page = page_of("fast-thrashing")
    assert page.locator(".lane h2").all_inner_texts() == ["FAST", "SBFAST"]
    number = page.evaluate("""() => {
      const wrong = [];
      for (let tick = 1; tick <= player.last; tick++) {
        const at = player.lanes.map((lane) => {
          const k = player.stepsAt(lane, tick);
          return lane.requests.findIndex(({ from, to }) => from < k && k <= to + 1);
        });
        if (new Set(at).size !== 1) wrong.push([tick, at]);
      }
      return wrong;
    }""")
    assert number == []


def test_playing_ends_and_can_be_paused(page_of: Any) -> None:
    page = page_of("bast-locality")
    page.locator("#speed").fill("5")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => player.tick > 3")
    page.get_by_role("button", name="Pause").click()
    at = page.evaluate("() => player.tick")
    assert page.locator("#where").inner_text().startswith(f"{at} / ")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => player.tick === player.last")
    assert page.get_by_role("button", name="Play").is_visible()


def test_without_the_simulator_a_page_says_that_it_plays_a_recording(
    page_of: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(stepper, "SIMULATOR", tmp_path / "none.wasm")
    page = page_of("bast-locality")
    assert "built without the WebAssembly simulator" in page.locator("#own-note").inner_text()
    assert page.locator("#own-form").is_hidden()


@pytest.mark.skipif(not stepper.SIMULATOR.exists(), reason="the simulator was not built; make wasm")
class TestSimulatorInThePage:
    @pytest.mark.parametrize("name", SCENES)
    def test_it_records_what_the_extension_records(self, name: str, page_of: Any) -> None:
        explanation = ssdlab.explain(name)
        page = page_of(name)
        for recording in explanation.recordings:
            question = {
                "drive": recording["drive"],
                "before": explanation.scene.before,
                "requests": explanation.scene.requests,
            }
            answer = page.evaluate("async (question) => (await ready)(question)", question)
            assert answer == {"recording": recording}

    def test_a_clicked_page_is_written(self, page_of: Any) -> None:
        page = page_of("bast-thrashing")
        page.locator(".cell.valid", has_text="13").first.click()
        assert page.locator("#own-text").input_value() == "13"
        assert page.locator("#requests li").all_inner_texts() == ["write 13"]
        page.evaluate("() => player.go(player.last)")
        page.locator("#own-op").select_option("read")
        page.locator(".cell.valid", has_text="7").first.click()
        assert page.locator("#own-text").input_value() == "13 r7"
        assert page.evaluate("() => player.requestAt(player.tick)") == 1
        page.get_by_role("button", name="Back to the scene").click()
        assert page.locator("#own-text").input_value() == "0 4 8 12 4 8 12 0 0 4 12 8"

    def test_a_click_after_a_run_continues_the_typed_requests(self, page_of: Any) -> None:
        page = page_of("greedy-fifo")
        text = page.locator("#own-text")
        text.fill("5 6")
        text.press("Control+Enter")
        assert page.locator("#requests li").all_inner_texts() == ["write 5", "write 6"]
        assert page.evaluate("() => player.tick") == 0
        page.locator(".cell.valid", has_text="7").first.click()
        assert text.input_value().startswith("5 6 ")
        # Clicked requests can be undone like typed requests.
        text.press("Control+z")
        assert text.input_value() == "5 6"
        # After a return to the first step, a click starts a new list of requests.
        page.get_by_role("button", name="Run").click()
        page.evaluate("() => { player.go(1); player.go(0); }")
        page.locator(".cell.valid").first.click()
        assert " " not in text.input_value()

    def test_requests_are_typed(self, page_of: Any) -> None:
        page = page_of("greedy-fifo")
        page.locator("#own-text").fill("0-3 r5 t6 7")
        page.get_by_role("button", name="Run").click()
        assert page.locator("#requests li").all_inner_texts() == ["write 0–3", "read 5", "trim 6", "write 7"]
        assert "differs" not in page.evaluate(WALK)
        page.locator("#own-text").fill("99")
        page.get_by_role("button", name="Run").click()
        assert "request 1 (page 99) is invalid; use pages 0 to 23" in page.locator("#own-fault").inner_text()
        page.locator("#own-text").fill(" ")
        page.get_by_role("button", name="Run").click()
        assert "no requests" in page.locator("#own-fault").inner_text()
        page.locator("#own-text").fill("x")
        page.get_by_role("button", name="Run").click()
        assert "x is not a request" in page.locator("#own-fault").inner_text()


@pytest.mark.parametrize("name", ["fast-thrashing", "faster-isolation", "dftl-miss"])
def test_the_page_is_accessible(name: str, page_of: Any) -> None:
    page = page_of(name, reduced_motion="reduce")
    for tick in ("Math.floor(player.last / 2)", "player.last"):
        page.evaluate(f"() => player.go({tick})")
        assert violations_in_both_schemes(page) == []


@pytest.mark.parametrize("name", SCENES)
def test_no_width_scrolls_sideways(name: str, page_of: Any) -> None:
    page = page_of(name)
    page.evaluate("() => player.go(player.last)")
    for width in (400, 900, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


AT = """(seconds) => {
  const svg = document.documentElement;
  svg.pauseAnimations();
  svg.setCurrentTime(seconds);
  return [...svg.querySelectorAll("text")].filter((text) => getComputedStyle(text).visibility === "visible")
    .map((text) => text.textContent);
}"""
"""Texts that an animated picture shows at a time."""


@pytest.mark.parametrize("name", ["why-gc", "over-provisioning"])
def test_an_animation_shows_each_picture_in_turn(name: str, window: Any, tmp_path: Path) -> None:
    explanation = ssdlab.explain(name)
    explanation.save_animation(tmp_path / "steps.svg", 10, 30)
    pictures = [
        [text.text or "" for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
        for path in explanation.save_svg(tmp_path / "steps", 10, 30)
    ]
    window.goto((tmp_path / "steps.svg").as_uri())
    # The second round shows the same pictures as the first.
    for at in (0, 1, 7, 20, 21, 28):
        assert sorted(window.evaluate(AT, 2 * at + 1)) == sorted(pictures[at % 21]), at
    drawn = (tmp_path / "steps.svg").read_text(encoding="utf-8")
    assert "<script" not in drawn and drawn.count("http") == 1
