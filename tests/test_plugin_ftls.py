"""FTLs written in Python: every operation is checked, and faults are named with their line."""

import re
from pathlib import Path

import pytest

import ssdlab
from plugged import DRIVE, random_trace
from ssdlab.plugin import Ftl


class PageMapping(Ftl):
    """Any logical page in any flash page; the block with the fewest valid pages is collected."""

    def start(self) -> None:
        self.place: dict[int, int] = {}
        self.owner: dict[int, int] = {}
        self.valid = [0] * self.flash.blocks
        self.free = list(range(self.flash.blocks))
        self.at = self.end = 0

    def next_page(self) -> int:
        if self.at == self.end:
            self.at = self.free.pop() * self.flash.pages_per_block
            self.end = self.at + self.flash.pages_per_block
        self.at += 1
        return self.at - 1

    def put(self, lpn: int, page: int) -> None:
        self.trim(lpn)
        self.place[lpn], self.owner[page] = page, lpn
        self.valid[page // self.flash.pages_per_block] += 1

    def must_be_copied(self, page: int) -> bool:
        return page in self.owner

    def collect(self) -> None:
        size = self.flash.pages_per_block
        full = set(range(self.flash.blocks)) - {*self.free, (self.end - 1) // size}
        victim = min(full, key=lambda block: self.valid[block])
        for page in range(victim * size, (victim + 1) * size):
            if self.must_be_copied(page):
                target = self.next_page()
                self.flash.copy(page, target)
                self.put(self.owner[page], target)
        self.flash.erase(victim)
        self.free.append(victim)

    def write(self, lpn: int) -> None:
        while self.at == self.end and len(self.free) < 2:
            self.collect()
        page = self.next_page()
        self.flash.program(page, lpn)
        self.put(lpn, page)

    def read(self, lpn: int) -> None:
        if lpn in self.place:
            self.flash.read(self.place[lpn])

    def trim(self, lpn: int) -> None:
        if lpn in self.place:
            page = self.place.pop(lpn)
            del self.owner[page]
            self.valid[page // self.flash.pages_per_block] -= 1


CHECKED = {**DRIVE, "workload.reads": "30%", "check": True, "precondition.overwrite": "none"}


@pytest.mark.parametrize("more", [{}, {"time": "count"}, {"time": "serial"}, {"nand.planes": 2}])
def test_an_ftl_in_python_passes_every_check(more: dict[str, object]) -> None:
    result = ssdlab.simulate({**CHECKED, **more}, plugins=[PageMapping])
    assert result.config["ftl"] == "python:test_plugin_ftls.PageMapping"
    assert result.summary["check"]["page_reads_checked"] > 0
    flash = result.summary["flash"]
    assert flash["programs"]["gc"] == flash["reads"]["gc"] > 0 and flash["erases"].keys() == {"gc"}
    assert result.to_json() == ssdlab.simulate({**CHECKED, **more}, plugins=[PageMapping]).to_json()


def test_page_mapping_in_python_by_hand() -> None:
    """By hand: the drive of `test_a_policy_sees_the_blocks_of_its_plane` in `test_plugins.py`. Blocks are opened from
    the last to the first.

    Before the 17th page, block 0 is free and blocks 4 to 1 are full. Block 4 has only page 3, which is copied.
    """
    pages = [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 4, 0, 5, 0, 5, 3]
    trace = ssdlab.Trace.from_columns(
        op=["write"] * len(pages), offset=[4096 * page for page in pages], bytes=[4096] * len(pages)
    )
    drive = {
        "device.capacity": "32KiB",
        "device.op": "150%",
        "nand.pages_per_block": 4,
        "precondition.fill": "0%",
        "precondition.overwrite": "none",
        "time": "serial",
        "check": True,
    }
    result = ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=drive), trace, plugins=[PageMapping])
    assert result.summary["flash"]["programs"] == {"host": 17, "gc": 1}
    assert result.erase_counts.tolist() == [0, 0, 0, 0, 1]


def test_an_ftl_is_saved_with_its_drive(tmp_path: Path) -> None:
    """Every read of a page is checked, also of pages that were written before the drive was saved. Two halves of a
    trace together wear the blocks as the whole does.
    """
    path, config = tmp_path / "a.drive", {**CHECKED, "time": "count"}
    whole = ssdlab.simulate(config, random_trace(1, 2), plugins=[PageMapping])
    first = ssdlab.simulate(config, random_trace(1), plugins=[PageMapping], save_state=path)
    second = ssdlab.simulate(config, random_trace(2), plugins=[PageMapping], state=path, save_state=path)
    assert (first.erase_counts + second.erase_counts).tolist() == whole.erase_counts.tolist()
    assert second.erase_counts.sum() > 0
    everything = ssdlab.Trace.from_columns(op=["read"] * 1024, offset=range(0, 2**22, 4096), bytes=[4096] * 1024)
    last = ssdlab.simulate(config, everything, plugins=[PageMapping], state=path)
    # The count continues.
    assert last.summary["check"]["page_reads_checked"] == 1024 + second.summary["check"]["page_reads_checked"]


class Unsaved(PageMapping):
    def start(self) -> None:
        super().start()
        self.pages_of = lambda block: range(block)


class Forgets(PageMapping):
    """Saves all attributes except the places of two pages."""

    def save(self) -> bytes:
        del self.place[5], self.place[6]
        return super().save()


def test_a_faulty_saved_ftl_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "a.drive"
    with pytest.raises(ssdlab.SsdlabError, match=r"Unsaved.save raised .*; define save and load in Unsaved$"):
        ssdlab.simulate(CHECKED, plugins=[Unsaved], save_state=path)
    assert not path.exists()
    ssdlab.simulate(CHECKED, plugins=[Forgets], save_state=path)
    with pytest.raises(ssdlab.ConfigError, match=r"saved with .*Forgets.*, but this run has .*PageMapping"):
        ssdlab.simulate(CHECKED, plugins=[PageMapping], state=path)
    reads = ssdlab.Trace.from_columns(op=["read"] * 8, offset=range(0, 2**15, 4096), bytes=[4096] * 8)
    with pytest.raises(ssdlab.SimulationError, match=r"Forgets.read returned None, without reading flash page"):
        ssdlab.simulate(CHECKED, reads, plugins=[Forgets], state=path)


class LostUpdate(PageMapping):
    def put(self, lpn: int, page: int) -> None:
        if lpn != 7 or lpn not in self.place:
            super().put(lpn, page)


class DoubleProgram(PageMapping):
    def next_page(self) -> int:
        return super().next_page() - (self.at % 5 == 4)


class ValidErased(PageMapping):
    def collect(self) -> None:
        size = self.flash.pages_per_block
        victim = (self.end // size + 1) % self.flash.blocks
        self.flash.erase(victim)
        self.free.append(victim)


class TrimForgotten(PageMapping):
    def write(self, lpn: int) -> None:
        if lpn != 3:
            super().write(lpn)


class CopyForgotten(PageMapping):
    def must_be_copied(self, page: int) -> bool:
        return super().must_be_copied(page) and self.owner[page] != 11


class BlocksLeaked(PageMapping):
    time_limit = 0.3

    def collect(self) -> None:
        super().collect()
        self.free.pop()


class ReadsNothing(PageMapping):
    def read(self, lpn: int) -> None:
        pass


class ReadsErased(PageMapping):
    def read(self, lpn: int) -> None:
        self.flash.read(self.end - 1 if self.at < self.end else 10**6)


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (LostUpdate, "is the only copy of logical page 7; copy it first"),
        (DoubleProgram, "raised ValueError: program of page"),
        (ValidErased, "is the only copy of logical page"),
        (TrimForgotten, "without programming logical page 3; call self.flash.program"),
        (CopyForgotten, "is the only copy of logical page 11; copy it first"),
        (BlocksLeaked, "ran for more than 0.3 s"),
        (ReadsNothing, "without reading flash page"),
        (ReadsErased, "the page is not programmed"),
    ],
)
def test_a_faulty_ftl_ends_the_run_with_its_line(cls: type[Ftl], message: str) -> None:
    with pytest.raises(ssdlab.SimulationError) as caught:
        ssdlab.simulate({**CHECKED, "time": "serial"}, plugins=[cls])
    assert re.search(r"test_plugin_ftls.py:\d+: \w+\.(read|write) ", str(caught.value))
    assert message in str(caught.value)
