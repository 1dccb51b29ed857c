"""Sentences of `ssdlab explain`: the reasons and costs in them."""

import random
import re

import pytest

import ssdlab


def told(requests: str, **settings: object) -> list[str]:
    """Sentences of all steps of a small drive."""
    sets = {key.replace("__", "."): value for key, value in settings.items()}
    sentences: list[str] = ssdlab.explain(sets, requests).recordings[0]["sentences"]
    return sentences


def test_a_page_that_breaks_the_sequential_log_is_written_in_a_merge() -> None:
    """A page before the next page of the log needs a full merge; a page behind it needs a partial merge."""
    lines = told("0 1 1 4 4 6", ftl="fast", ftl__fast__log=3)
    broken = [line for line in lines if "is closed" in line]
    ends = "is closed because the new page does not continue its sequence"
    assert [re.sub(r"^S\d+ ", "", line) for line in broken] == [
        f"{ends} (2 of its 4 pages programmed).",
        f"{ends} (1 of its 4 pages programmed).",
    ]
    in_merges = [line for line in lines if "during the merge" in line]
    written = [re.findall(r"^Host page (\d+) .*, at (\w)", line)[0] for line in in_merges]
    assert written == [("1", "D"), ("6", "S")]


def test_a_page_in_the_log_has_a_reason() -> None:
    """The page's place is used, is before the last program, or was still used when a merge made room in the log."""

    def to_the_log(requests: str, **settings: object) -> list[str]:
        lines = told(requests, ftl="fast", ftl__fast__sw=0, **settings)
        return [line.partition(": it goes to the log")[0] for line in lines if "goes to the log" in line]

    order = (
        "The place of page 5 in its data block is erased, but later pages are programmed, and the chip requires "
        "ascending order"
    )
    empty = {"precondition__fill": "0%", "nand__order": "ascending"}
    assert to_the_log("7 5 5", ftl__fast__log=3, **empty) == [order, "Page 5 has a copy in the log"]
    assert to_the_log("4 8 12 1 4 8 12 5 t2 2", ftl__fast__log=2, nand__order="any")[-1] == (
        "The log was chosen while the place of page 2 in its data block was still programmed"
    )
    assert to_the_log("5", ftl__fast__log=3) == ["The place of page 5 in its data block is already programmed"]


@pytest.mark.parametrize(
    ("settings", "requests", "awaited"),
    [
        ({"ftl": "fast", "ftl__fast__log": 4}, "0 1 1", "for the merge of a sequential log block"),
        ({"ftl": "sbfast", "ftl__sbfast__sub_block": 4, "ftl__sbfast__log": 4, "ftl__sbfast__slb": 2,
          "nand__order": "ascending"}, "0 3 1", "for the merge of a sequential log block"),
        ({"ftl": "fast", "ftl__fast__log": 2, "ftl__fast__sw": 0}, "1 5 9 13 17 21 25 29 2", "for space in the log"),
        ({"ftl": "bast", "ftl__bast__log": 1}, "1 5", "for space in the log"),
    ],
)  # fmt: skip
def test_waits_of_a_page_are_described(settings: dict[str, object], requests: str, awaited: str) -> None:
    [waited] = [line for line in told(requests, **settings) if "The page waited" in line]
    assert waited.startswith(f"The page waited {awaited}: ")


def test_a_trim_invalidates_only_existing_pages() -> None:
    lines = told("t5 5 t5 t5", precondition__fill="0%", ftl="bast")
    trims = [line for line in lines if "is trimmed" in line]
    expected = ["it held no data", "its copy is now outdated", "it held no data"]
    assert trims == [f"Page 5 is trimmed: {what}." for what in expected]


COST = re.compile(r"(\d+) reads?, (\d+) programs?, (\d+) erases?\.$")


def told_cost(sentence: str) -> list[int]:
    """Numbers of reads, programs and erases at the end of a sentence."""
    match = COST.search(sentence)
    assert match is not None, sentence
    return [int(group) for group in match.groups()]


@pytest.mark.parametrize(
    "name", ["bast-thrashing", "fast-full-merge", "faster-fast", "faster-isolation", "greedy-fifo"]
)
def test_costs_of_merges_reclaims_and_collections_cover_all_flash_work(name: str) -> None:
    """Merges are described as the simulator counts them, and reclaims include their merges. The sums equal all copies
    and erases of the scene.
    """
    recordings = ssdlab.explain(name).recordings
    for recording, sentences in ((one, one["summaries"]) for one in recordings):
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
def test_collection_costs_include_moved_map_pages(trigger: dict[str, object]) -> None:
    """The costs include map pages that collection moves or rewrites, but not map pages of host look-ups."""
    draw = random.Random(1)
    requests = " ".join(str(draw.randrange(144)) for _ in range(300))
    settings = {
        "device": {"capacity": "72KiB", "op": "10%"}, "nand": {"page_size": "512B", "pages_per_block": 8},
        "ftl.page.map.dftl": {"cmt": 4, "protected": "50%"},
    }  # fmt: skip
    (recording,) = ssdlab.explain({**settings, **trigger}, requests).recordings
    lines = [
        told_cost(line)
        for span, line in zip(recording["spans"], recording["summaries"], strict=True)
        if span["span"] == "collection"
    ]  # fmt: skip

    def done(kind: str) -> int:
        causes = ("gc", "map_gc", "map_update")
        return sum(step["step"] in (kind, "copy") and step["cause"] in causes for step in recording["steps"])

    erases = sum(recording["end"]["erases"])
    assert [sum(column) for column in zip(*lines, strict=True)] == [done("read"), done("program"), erases]
    rewritten = sum(step["step"] == "program" and step["cause"] == "map_update" for step in recording["steps"])
    assert rewritten > 0 and erases == len(lines)
