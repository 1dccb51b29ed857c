"""Views of a victim policy in Python: they are true in every call, though only changed elements are written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from plugged import BY_HAND, DRIVE, WRITTEN, random_trace
from ssdlab.plugin import VictimPolicy

OUTSIDE = 2**31
"""Value of `valid` for a block that is not closed."""


class Shared(VictimPolicy):
    """Policy whose object is shared by all runs, so that tests can read its attributes."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __deepcopy__(self, _memo: object) -> "Shared":
        return self

    def save(self) -> bytes:
        return b""

    def load(self, state: bytes) -> None:
        pass


class Twin(Shared):
    """Recomputes each view from other views, or from its own choices, and keeps a copy of all views."""

    def __init__(self) -> None:
        super().__init__()
        self.areas: dict[int, dict[str, Any]] = {}

    def choose(  # type: ignore[no-untyped-def]
        self, valid, closed_at, erases, invalidated_at, valid_pages, owner, holds_map, least_valid, oldest, now,
        pages_per_block,
    ):  # fmt: skip
        closed = valid < OUTSIDE
        assert (valid[~closed] == OUTSIDE).all() and (valid[closed] <= pages_per_block).all()
        assert (valid_pages[closed].sum(axis=1) == valid[closed]).all()
        assert valid_pages.shape == (len(valid), pages_per_block)
        assert least_valid == valid.argmin()
        assert closed[oldest] and closed_at[oldest] == closed_at[closed].min()
        assert (closed_at <= now).all() and (invalidated_at <= now).all() and not holds_map.any()
        views = (valid, closed_at, erases, invalidated_at, valid_pages, owner, holds_map)
        before = self.areas.get(id(valid))
        if before is not None:
            assert all(view is same for view, same in zip(views, before["views"], strict=True))
            # The block chosen last was erased once.
            before["erases"][before["chosen"]] += 1
            assert erases.tolist() == before["erases"]
            fewer = closed & (closed_at == before["closed_at"]) & (valid < before["valid"])
            assert (invalidated_at[fewer] > before["now"]).all()
            same = closed & (closed_at == before["closed_at"]) & (valid == before["valid"])
            assert (invalidated_at[same] == before["invalidated_at"][same]).all()
        self.areas[id(valid)] = {
            "views": views, "erases": erases.tolist(), "chosen": least_valid, "closed_at": closed_at.copy(),
            "valid": valid.copy(), "invalidated_at": invalidated_at.copy(), "now": now,
        }  # fmt: skip
        self.calls.append([now, least_valid, oldest, *(view.tolist() for view in views)])
        return least_valid


PLANES: dict[str, object] = {"nand.planes": 2, "ftl.page.collect": "plane"}
DIES: dict[str, object] = {"nand.planes": 2, "nand.ways": 2, "ftl.page.collect": "die", "nand.pages_per_block": 8}
SUPERBLOCKS: dict[str, object] = {
    "nand.channels": 2, "nand.planes": 2, "ftl.page.collect": "superblock", "nand.pages_per_block": 8,
    "device.capacity": "8MiB",
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "areas"),
    [({}, 1), (PLANES, 2), (DIES, 2), (SUPERBLOCKS, 1), ({"ftl.page.survivors": "shared"}, 1)],
)
def test_views_are_true_in_every_call(more: dict[str, object], areas: int, tmp_path: Path) -> None:
    """Goal: arrays with updates of changed elements equal arrays that are written completely.

    Method: a run from a saved drive begins with whole arrays. So a run in four parts has the same views in each call as
    a run in one.
    """
    config = {**DRIVE, "time": "count", "precondition.overwrite": "none", **more}
    one, several = Twin(), Twin()
    ssdlab.simulate(config, random_trace(0, 1, 2, 3), plugins=[one])
    assert len(one.areas) == areas and len(one.calls) > 100
    path = tmp_path / "a.drive"
    for seed in range(4):
        several.areas.clear()
        trace = random_trace(seed)
        ssdlab.simulate(config, trace, plugins=[several], state=path if seed else None, save_state=path)
    assert several.calls == one.calls
    owners = {owner for call in one.calls for owner in call[8]}
    assert owners == {0, 1, 2, 3}


class Owners(Shared):
    def choose(self, owner, least_valid):  # type: ignore[no-untyped-def]
        self.calls.append(owner.tolist())
        return least_valid


def test_a_block_belongs_to_the_stream_that_opened_it() -> None:
    """By hand: the drive of `test_a_policy_sees_the_blocks_of_its_plane` in `test_plugins.py`. The host opens blocks 0
    to 3 with its pages 1, 5, 9 and 13. Garbage collection opens block 4 for page 3, from block 0, which the first
    stream opened. Blocks 4 and 0 are written by other streams too.
    """
    streams = [2, 1, 1, 1, 3, 3, 3, 3, 1, 2, 2, 2, 3, 1, 1, 1, 1, 1, 3, 1]
    trace = ssdlab.Trace.from_columns(
        op=["write"] * len(WRITTEN), offset=[4096 * page for page in WRITTEN], bytes=[4096] * len(WRITTEN),
        stream=[f"stream {number}" for number in streams],
    )  # fmt: skip
    policy = Owners()
    ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=BY_HAND), trace, plugins=[policy])
    # Names get numbers in the order of appearance: stream 2 is the first.
    assert policy.calls == [[1, 3, 2, 3, 0], [1, 3, 2, 3, 1]]


class MapBlocks(Shared):
    """Takes a block of map pages that frees pages now and then."""

    def choose(self, valid, holds_map, valid_pages, pages_per_block, least_valid):  # type: ignore[no-untyped-def]
        assert holds_map.dtype == bool and (valid[holds_map] == valid_pages[holds_map].sum(axis=1)).all()
        self.calls.append(int(holds_map.sum()))
        candidates = (holds_map & (valid < pages_per_block)).nonzero()[0]
        return candidates[0] if len(candidates) and len(self.calls) % 3 == 0 else least_valid


def test_a_policy_sees_which_blocks_hold_map_pages() -> None:
    drive = {
        **DRIVE,
        "device.op": "30%",
        "ftl.page.map": "dftl",
        "ftl.page.map.dftl.cmt": 64,
        "check": True,
        "workload.requests": 2000,
    }
    policy = MapBlocks()
    summary = ssdlab.simulate(drive, plugins=[policy]).summary
    assert max(policy.calls) > 0 and summary["flash"]["programs"]["map_gc"] > 0
    # The drive has few map pages, and blocks for twice as many.
    assert max(policy.calls) < 10


class Keeps(Shared):
    """Keeps the arrays of its first call, and copies of them."""

    def choose(self, valid, erases, valid_pages, least_valid):  # type: ignore[no-untyped-def]
        if not self.calls:
            self.kept = valid, erases, valid_pages
            self.copies = [array.copy() for array in self.kept]
        assert all(kept is array for kept, array in zip(self.kept, (valid, erases, valid_pages), strict=True))
        self.calls.append((valid.tolist(), erases.tolist(), valid_pages.tolist()))
        return least_valid


def test_a_kept_array_shows_the_latest_call_and_outlives_the_run() -> None:
    policy = Keeps()
    ssdlab.simulate(DRIVE, plugins=[policy])
    assert tuple(array.tolist() for array in policy.kept) == policy.calls[-1]
    assert tuple(array.tolist() for array in policy.copies) == policy.calls[0] != policy.calls[-1]
    for array in policy.kept:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


class Answers(VictimPolicy):
    """Returns the right block as another type."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def choose(self, least_valid):  # type: ignore[no-untyped-def]
        return eval(self.answer, {"np": np, "block": least_valid})


@pytest.mark.parametrize("answer", ["block", "np.int64(block)", "np.uint8(block)", "np.array(block)"])
def test_any_whole_number_is_an_answer(answer: str) -> None:
    mine = ssdlab.simulate(DRIVE, plugins=[Answers(answer)])
    assert mine.write_amplification == ssdlab.simulate({**DRIVE, "ftl.page.gc": "greedy"}).write_amplification


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("str(block)", "'"),
        ("[block]", "["),
        ("np.arange(2)", "array"),
        ("2**40", str(2**40)),
        ("-(2**70)", "-"),
        ("np.float64(block)", ""),
        ("float('nan')", "nan"),
    ],
)
def test_any_other_answer_is_an_error(answer: str, shown: str) -> None:
    with pytest.raises(ssdlab.SimulationError, match="not the number of a block; return a whole number from 0") as said:
        ssdlab.simulate(DRIVE, plugins=[Answers(answer)])
    assert f"Answers.choose returned {shown}" in str(said.value)
