"""Conformance tests of components in Python: small random inputs show every kind of bug with few operations."""

import pytest

import ssdlab
from ssdlab.plugin import Counterexample, Plugin, check
from test_plugin_caches import Forgets, Keeps, Lru
from test_plugin_ftls import (
    BlocksLeaked,
    CopyForgotten,
    DoubleProgram,
    LostUpdate,
    PageMapping,
    ReadsErased,
    ReadsNothing,
    TrimForgotten,
    ValidErased,
)
from test_plugin_placements import Own
from test_plugin_workloads import Sequential
from test_plugins import Chance, CostBenefit, Fifo, Full, Greedy, Open


@pytest.mark.parametrize("cls", [PageMapping, Greedy, Fifo, CostBenefit, Lru, Own])
def test_a_component_without_a_bug_passes(cls: type[Plugin]) -> None:
    check(cls, worlds=12)


def test_an_object_is_checked_with_its_arguments() -> None:
    check(Chance(), worlds=4)


def test_other_kinds_are_refused() -> None:
    with pytest.raises(
        ssdlab.ConfigError, match=r"^check: cannot check a workload; pass an FTL, or a victim, placement"
    ):
        check(Sequential)


class TrimsNext(PageMapping):
    """FTL with a bug: a trim also unmaps the next page."""

    def trim(self, lpn: int) -> None:
        super().trim(lpn)
        if self.flash.blocks > 1 and lpn + 1 in self.place and lpn % 2:
            super().trim(lpn + 1)


class Counts(PageMapping):
    """FTL with a bug: its choice of a free block depends on the number of drives created before."""

    drives = 0

    def start(self) -> None:
        super().start()
        Counts.drives += 1
        # All free blocks are equal, so only the erases of each block differ.
        self.free.sort(reverse=Counts.drives % 2 == 0)


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (LostUpdate, "LostUpdate."),
        (DoubleProgram, "DoubleProgram."),
        (ValidErased, "only copy"),
        (TrimForgotten, "TrimForgotten."),
        (TrimsNext, "TrimsNext."),
        (CopyForgotten, "only copy"),
        (ReadsNothing, "ReadsNothing."),
        (ReadsErased, "ReadsErased."),
        (Open, "not closed"),
        (Full, "without an invalid page"),
        (Forgets, "Forgets."),
        (Keeps, "Keeps."),
    ],
)
def test_a_bug_is_found_with_few_operations(cls: type[Plugin], words: str) -> None:
    with pytest.raises(Counterexample) as caught:
        check(cls)
    found = caught.value
    assert words in found.problem, found
    assert 1 <= len(found.operations) <= 20, found
    lines = str(found).splitlines()
    assert lines[0] == found.problem and lines[1].startswith("device.capacity=")
    assert len(lines) == len(found.operations) + 3 and lines[-1] == "to reproduce: call check with seed=1"


def test_an_endless_call_is_reported() -> None:
    with pytest.raises(Counterexample, match=r"BlocksLeaked\.write ran for more than 0\.3 s"):
        check(BlocksLeaked)


def test_a_component_that_is_not_deterministic_is_found() -> None:
    with pytest.raises(Counterexample, match="two identical runs"):
        check(Counts)
