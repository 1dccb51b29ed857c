"""Placement policies written in Python."""

from pathlib import Path
from typing import Any

import pytest

import ssdlab
from plugged import DRIVE, figures
from ssdlab.plugin import Placement


class Own(Placement):
    def written(self, lpn: int) -> int:
        return 0

    def relocated(self, lpn: int, now: int) -> int:
        return 1


class Shared(Own):
    open_blocks = 1

    def relocated(self, lpn: int, now: int) -> int:
        return 0


@pytest.mark.parametrize(("own", "built_in"), [(Own, "own"), (Shared, "shared")])
@pytest.mark.parametrize("more", [{}, {"nand.channels": 2}])
def test_a_placement_equals_the_built_in_one(own: type[Placement], built_in: str, more: dict[str, Any]) -> None:
    mine = ssdlab.simulate({**DRIVE, **more}, plugins=[own])
    theirs = ssdlab.simulate({**DRIVE, **more, "ftl.page.survivors": built_in})
    # The diagnosis suggests the built-in placement `own`, unless `own` is already chosen.
    # A placement by page reserves more blocks.
    left_out = {"diagnosis": None, "device": None}
    own_figures, built_in_figures = ({**figures(result), **left_out} for result in (mine, theirs))
    assert own_figures == built_in_figures
    (use,) = mine.summary["plugins"]
    assert (use["setting"], use["name"]) == ("ftl.page.survivors", f"python:test_plugin_placements.{own.__name__}")
    assert use["decisions"] > 4000


class Sees(Placement):
    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    def __deepcopy__(self, _memo: object) -> "Sees":
        return self

    def written(self, lpn, now, age, sequential, request_pages, stream, sync):  # type: ignore[no-untyped-def]
        self.seen.append((lpn, now, age, sequential, request_pages, stream, sync))
        return lpn % 2

    def relocated(self, lpn: int, now: int) -> int:
        return lpn % 2


def test_a_placement_sees_each_page_of_the_host() -> None:
    """By hand: pages 3 and 4 in a request, page 5 after them, and page 3 again, after two other pages."""
    trace = ssdlab.Trace.from_columns(
        op=["write"] * 3, offset=[3 * 4096, 5 * 4096, 3 * 4096], bytes=[8192, 4096, 4096], stream=["a", "b", "a"],
        flags=[0, 1, 0],
    )  # fmt: skip
    seen: list[Any] = []
    new = {"precondition.fill": "0%", "precondition.overwrite": "none", "time": "serial", "check": True}
    ssdlab.simulate({**DRIVE, **new}, trace, plugins=[Sees(seen)])
    assert seen == [
        (3, 0, None, False, 2, 1, False),
        (4, 1, None, True, 2, 1, False),
        (5, 2, None, True, 1, 2, True),
        (3, 3, 3, False, 1, 1, False),
    ]


def test_a_placement_is_saved_with_its_drive(tmp_path: Path) -> None:
    """Two halves of a workload together wear the blocks as the whole workload does."""

    class ByAge(Sees):
        def written(self, age):  # type: ignore[no-untyped-def,override]
            return int(age is not None and age < 1000)

    path, config = tmp_path / "a.drive", {**DRIVE, "time": "count", "workload.pattern": "sequential"}
    whole = ssdlab.simulate({**config, "workload.requests": 4096}, plugins=[ByAge([])])
    half = {**config, "workload.requests": 2048}
    first = ssdlab.simulate(half, plugins=[ByAge([])], save_state=path)
    second = ssdlab.simulate(half, plugins=[ByAge([])], state=path)
    assert (first.erase_counts + second.erase_counts).tolist() == whole.erase_counts.tolist()


class TooMany(Own):
    open_blocks = 16


class Beyond(Own):
    def written(self, lpn: int) -> int:
        return 2


class Nothing(Own):
    def relocated(self, lpn: int, now: int) -> Any:
        return None


class Raises(Own):
    def relocated(self, lpn: int, now: int) -> int:
        return [0][lpn + 1]


class Endless(Own):
    time_limit = 0.3

    def written(self, lpn: int) -> int:
        while True:
            pass


@pytest.mark.parametrize(
    ("cls", "line", "message"),
    [
        (Beyond, "def written", "Beyond.written returned 2, which is not the number of an open block; return a whole"),
        (Nothing, "def relocated", "Nothing.relocated returned None, which is not the number of an open block; return"),
        (Raises, "return [0]", "Raises.relocated raised IndexError: list index out of range"),
        (
            Endless,
            "",
            "Endless.written ran for more than 0.3 s; look for an endless loop, or raise",
        ),
    ],
)
def test_a_faulty_placement_ends_the_run_with_its_line(cls: type[Placement], line: str, message: str) -> None:
    with pytest.raises(ssdlab.SimulationError) as caught:
        ssdlab.simulate(DRIVE, plugins=[cls])
    said = str(caught.value)
    assert message in said and "\n" not in said
    file, number, _ = said.split(":", 2)
    assert file.endswith("test_plugin_placements.py")
    assert line in Path(__file__).read_text(encoding="utf-8").splitlines()[int(number) - 1]


def test_a_drive_that_cannot_place_single_pages_says_so() -> None:
    with pytest.raises(ssdlab.ConfigError, match=r"TooMany\.open_blocks is 16; set it to a number from 1 to 15"):
        ssdlab.simulate(DRIVE, plugins=[TooMany])
    with pytest.raises(
        ssdlab.ConfigError,
        match="programs single pages, but this drive programs several pages at once; use preset small-tlc",
    ):
        ssdlab.simulate({"device.capacity": "64MiB"}, plugins=[Own])
