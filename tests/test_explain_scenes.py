"""Scenes of page mapping for lectures: their counts equal counts computed by hand, and the counts of a slow twin."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import ssdlab


def pages_of(requests: str) -> list[int]:
    """Numbers of the pages that a scene writes."""
    ends = [[int(end) for end in word.split("-")] for word in requests.split()]
    return [page for first, *last in ends for page in range(first, (last or [first])[0] + 1)]


def greedy(valid: dict[int, list[int]], _closed: list[int]) -> int:
    return min(valid, key=lambda block: (len(valid[block]), block))


def fifo(_valid: dict[int, list[int]], closed: list[int]) -> int:
    return closed[0]


def twin(blocks: int, size: int, writes: list[int], choose: Callable[[Any, Any], int]) -> tuple[int, list[int]]:
    """Naive page mapping with one open block; returns the number of copies and the erases of each block."""
    pages: list[list[int]] = [[] for _ in range(blocks)]
    place: dict[int, tuple[int, int]] = {}
    free, closed, copies, erases = list(range(1, blocks)), [], 0, [0] * blocks
    block = 0

    def take() -> int:
        taken = min(free, key=lambda number: (erases[number], number))
        free.remove(taken)
        return taken

    def program(page: int) -> None:
        place[page] = block, len(pages[block])
        pages[block].append(page)

    for written in writes:
        if len(pages[block]) == size:
            closed.append(block)
        while len(pages[block]) == size:
            if len(free) > 1:
                block = take()
                continue
            valid = {
                number: [page for at, page in enumerate(pages[number]) if place[page] == (number, at)]
                for number in closed
            }
            victim = choose(valid, closed)
            closed.remove(victim)
            if valid[victim]:
                block = take()
                for page in valid[victim]:
                    program(page)
                copies += len(valid[victim])
                if len(pages[block]) == size:
                    closed.append(block)
            pages[victim] = []
            erases[victim] += 1
            free.append(victim)
        program(written)
    return copies, erases


@pytest.mark.parametrize(
    ("name", "copies", "erases"),
    [
        ("why-gc", [6], [3]),
        ("over-provisioning", [11, 0], [9, 6]),
        ("hot-cold", [9, 2], [10, 8]),
        ("wear-levelling", [0, 8], [5, 7]),
        ("slc-cache", [12, 0], [6, 0]),
    ],
)
def test_scenes_have_the_counts_computed_by_hand(name: str, copies: list[int], erases: list[int]) -> None:
    explanation = ssdlab.explain(name)
    host = len(pages_of(explanation.scene.requests))
    for at, recording in enumerate(explanation.recordings):
        kinds = Counter(step["step"] for step in recording["steps"])
        assert (kinds["program"], kinds["copy"], kinds["erase"]) == (host, copies[at], erases[at])
        # By hand: add the valid pages of the victims.
        assert sum(step["valid"] for step in recording["steps"] if step["step"] == "victim") == copies[at]
        programs = host + copies[at]
        assert f"{programs} / {host} = {programs / host:.2f}" in explanation.scene.text or programs == host


@pytest.mark.parametrize("name", ["why-gc", "over-provisioning", "hot-cold", "wear-levelling"])
def test_a_slow_twin_copies_and_erases_the_same(name: str) -> None:
    explanation = ssdlab.explain(name)
    for recording in explanation.recordings:
        drive, page = recording["drive"], recording["drive"]["ftl"]["page"]
        if page["survivors"] == "own":
            continue
        choose = {"greedy": greedy, "fifo": fifo}[page["victims"]["name"]]
        before = [*range(drive["filled"]), *pages_of(explanation.scene.before)]
        requests = pages_of(explanation.scene.requests)
        done, _ = twin(drive["blocks"], drive["pages_per_block"], before, choose)
        copies, erases = twin(drive["blocks"], drive["pages_per_block"], before + requests, choose)
        assert copies - done == sum(step["step"] == "copy" for step in recording["steps"])
        assert erases == recording["end"]["erases"]


def test_victims_of_the_first_scene_have_two_valid_pages() -> None:
    [recording] = ssdlab.explain("why-gc").recordings
    assert [step["valid"] for step in recording["steps"] if step["step"] == "victim"] == [2, 2, 2]


def test_greedy_spares_the_cold_block_that_fifo_moves() -> None:
    greedy_, fifo_ = (recording["end"] for recording in ssdlab.explain("wear-levelling").recordings)
    assert greedy_["erases"] == [2, 0, 2, 1, 0] and fifo_["erases"] == [2, 2, 1, 1, 1]
    assert {ppn // 4 for ppn in greedy_["map"][4:]} == {1}


def test_an_slc_cache_is_fast_until_it_is_full() -> None:
    """By hand: 0.1 ms for each of four pages; then a pair needs two reads, a word line, an erase and two programs."""
    slc, native = ssdlab.explain("slc-cache").recordings
    ends = [span["to"] for span in slc["spans"] if span["span"] == "request"]
    pair_ns = 2 * 25_000 + 800_000 + 2_000_000 + 2 * 100_000
    assert [slc["ended_ns"][end] for end in ends] == [400_000 + pairs * pair_ns for pairs in range(7)]
    assert native["ended_ns"][-1] == 8 * 800_000
    assert slc["end"]["erases"] == [3, 3, *[0] * 7]
    assert (slc["title"], native["title"]) == ("Page mapping, greedy, SLC cache", "Page mapping, greedy")
    folds = [line for line in slc["sentences"] if "is folded" in line]
    assert folds[0] == "Free space is short: B0 of the SLC cache is folded, with 2 valid pages." and len(folds) == 6
