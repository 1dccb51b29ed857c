"""The page of `ssdlab explain` in a real browser: forward and back it shows the simulation's states, offline."""

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

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
        # As elements: every valid cell is where the FTL has the page, whatever the order of blocks.
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


@pytest.fixture
def told(window: Any, tmp_path: Path) -> Iterator[Any]:
    """Sentences of all steps of a small drive."""
    shown: list[Shown] = []

    def told(requests: str, **settings: object) -> list[str]:
        sets = {key.replace("__", "."): value for key, value in settings.items()}
        ssdlab.explain(sets, requests).save(tmp_path / "own.html")
        shown.append(Shown(window, tmp_path / "own.html"))
        lines: list[str] = window.evaluate("""() => {
          const [lane] = player.lanes;
          return lane.steps.map((step, at) => stepSentence(lane, step, copyOf(lane.at(at)), lane.at(at + 1)));
        }""")
        return lines

    yield told
    for one in shown:
        one.leave()


def test_a_page_that_breaks_the_sequential_log_is_written_in_a_merge(told: Any) -> None:
    """Before the next page by a full merge to a new data block; behind it by a partial merge to the log block."""
    lines = told("0 1 1 4 4 6", ftl="fast", ftl__fast__log=3)
    broken = [line for line in lines if "ends here" in line]
    ends = "ends here because the new page does not continue it"
    assert [re.sub(r"^S\d+ ", "", line) for line in broken] == [
        f"{ends} (2 of its 4 pages programmed).",
        f"{ends} (1 of its 4 pages programmed).",
    ]
    in_merges = [line for line in lines if "during the merge" in line]
    written = [re.findall(r"^Page (\d+) .*, at (\w)", line)[0] for line in in_merges]
    assert written == [("1", "D"), ("6", "S")]


def test_a_page_in_the_log_has_a_reason(told: Any) -> None:
    """Its place is taken, lies before the last program, or was taken until the merge that made room in the log."""

    def to_the_log(requests: str, **settings: object) -> list[str]:
        lines = told(requests, ftl="fast", ftl__fast__sw=0, **settings)
        return [line.partition(": it goes to the log")[0] for line in lines if "goes to the log" in line]

    order = "The place of page 5 is erased, but later pages are programmed, and the chip requires ascending order"
    empty = {"precondition__fill": "0%", "nand__order": "ascending"}
    assert to_the_log("7 5 5", ftl__fast__log=3, **empty) == [order, "Page 5 has a copy in the log"]
    assert to_the_log("4 8 12 1 4 8 12 5 t2 2", ftl__fast__log=2, nand__order="any")[-1] == (
        "The place of page 2 was taken until the log had room"
    )
    assert to_the_log("5", ftl__fast__log=3) == ["The place of page 5 is taken"]


@pytest.mark.parametrize(
    ("settings", "requests", "awaited"),
    [
        ({"ftl": "fast", "ftl__fast__log": 4}, "0 1 1", "for the merge of a sequential log block"),
        ({"ftl": "sbfast", "ftl__sbfast__sub_block": 4, "ftl__sbfast__log": 4, "ftl__sbfast__slb": 2,
          "nand__order": "ascending"}, "0 3 1", "for the merge of a sequential log block"),
        ({"ftl": "fast", "ftl__fast__log": 2, "ftl__fast__sw": 0}, "1 5 9 13 17 21 25 29 2", "for room in the log"),
        ({"ftl": "bast", "ftl__bast__log": 1}, "1 5", "for room in the log"),
    ],
)  # fmt: skip
def test_waits_of_a_page_are_described(settings: dict[str, object], requests: str, awaited: str, told: Any) -> None:
    [waited] = [line for line in told(requests, **settings) if "The page waited" in line]
    assert waited.startswith(f"The page waited {awaited}: ")


def test_a_trim_invalidates_only_existing_pages(told: Any) -> None:
    lines = told("t5 5 t5 t5", precondition__fill="0%", ftl="bast")
    trims = [line for line in lines if "forgets" in line]
    expected = ["nothing was there", "the copy counts as outdated", "nothing was there"]
    assert trims == [f"The host forgets page 5: {what}." for what in expected]


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
    """Papers count the log block's erase to the merge that emptied it; the merge itself erases a data block."""
    page = page_of("faster-isolation")
    merged = next(at for at, step in enumerate(ssdlab.explain("faster-isolation").recordings[0]["steps"])
                  if step["step"] == "merged" and step["lbn"] == 5)  # fmt: skip
    page.evaluate("(at) => player.go(at + 1)", merged)
    lines = page.locator(".said p").all_inner_texts()
    assert any(line.startswith("Full merge of block 5:") and line.endswith("4 programs, 2 erases.") for line in lines)
    assert lines[-1].startswith("Block 5 is merged: 4 copies, 1 data block erased;")


SPANS = """() => player.lanes.map((lane) => lane.spans.map((span) => spanSentence(lane, span, lane.at(span.from))))"""
COST = re.compile(r"(\d+) reads?, (\d+) programs?, (\d+) erases?\.$")


def told_cost(sentence: str) -> list[int]:
    """Reads, programs and erases at the end of a sentence."""
    match = COST.search(sentence)
    assert match is not None, sentence
    return [int(group) for group in match.groups()]


@pytest.mark.parametrize(
    "name", ["bast-thrashing", "fast-full-merge", "faster-fast", "faster-isolation", "greedy-fifo"]
)
def test_costs_of_merges_reclaims_and_collections_cover_all_flash_work(name: str, page_of: Any) -> None:
    """Merges are described as the simulator counts them, reclaims include their merges; together they are all copies
    and erases of the scene.
    """
    recordings = ssdlab.explain(name).recordings
    for recording, sentences in zip(recordings, page_of(name).evaluate(SPANS), strict=True):
        kinds = ("merge", "reclaim", "collection")
        lines = [(one, line) for one, line in zip(recording["spans"], sentences, strict=True) if one["span"] in kinds]
        for span, line in lines:
            if span["span"] == "merge":
                assert told_cost(line) == [span["copies"], span["copies"], span["erases"]], line
            if span["span"] == "reclaim":
                inside = recording["steps"][span["from"] : span["to"] + 1]
                merges = sum(step["step"] == "merged" for step in inside)
                assert f": {merges or 'no'} logical block{'s' if merges > 1 else ''} merged; " in line
        outermost = [
            line
            for span, line in lines
            if not any(one is not span and one["from"] <= span["from"] and span["to"] <= one["to"] for one, _ in lines)
        ]
        copies = sum(step["step"] == "copy" for step in recording["steps"])
        erases = sum(recording["end"]["erases"]) - sum(block["erases"] for block in recording["start"]["blocks"])
        assert [sum(column) for column in zip(*map(told_cost, outermost), strict=True)] == [copies, copies, erases]


@pytest.mark.parametrize("trigger", [{}, {"ftl.page.trigger.partial": {"low": 2, "step": 1}}])
def test_collection_costs_include_moved_map_pages(window: Any, tmp_path: Path, trigger: dict[str, object]) -> None:
    """Counts map pages that collection moves and rewrites, but none that host look-ups load or write back."""
    draw = random.Random(1)
    requests = " ".join(str(draw.randrange(144)) for _ in range(300))
    settings = {
        "device": {"capacity": "72KiB", "op": "10%"}, "nand": {"page_size": "512B", "pages_per_block": 8},
        "ftl.page.map.dftl": {"cmt": 4, "protected": "50%"},
    }  # fmt: skip
    explanation = ssdlab.explain({**settings, **trigger}, requests)
    explanation.save(tmp_path / "long.html")
    shown = Shown(window, tmp_path / "long.html")
    try:
        (sentences,) = window.evaluate(SPANS)
    finally:
        shown.leave()
    (recording,) = explanation.recordings
    lines = [
        told_cost(line)
        for span, line in zip(recording["spans"], sentences, strict=True)
        if span["span"] == "collection"
    ]  # fmt: skip

    def done(kind: str) -> int:
        causes = ("gc", "map_gc", "map_update")
        return sum(step["step"] in (kind, "copy") and step["cause"] in causes for step in recording["steps"])

    erases = sum(recording["end"]["erases"])
    assert [sum(column) for column in zip(*lines, strict=True)] == [done("read"), done("program"), erases]
    rewritten = sum(step["step"] == "program" and step["cause"] == "map_update" for step in recording["steps"])
    assert rewritten > 0 and erases == len(lines)


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
        # Undo works as for typed requests.
        text.press("Control+z")
        assert text.input_value() == "5 6"
        # Returning to the first step starts anew.
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
        assert "no requests given" in page.locator("#own-fault").inner_text()
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
