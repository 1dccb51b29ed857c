"""I/O schedulers written in Python."""

from collections import deque
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from plugged import DRIVE, figures
from ssdlab.plugin import BlockRequest, IoScheduler

BLOCK = {**DRIVE, "time": "event", "block.merges": "none", "block.nr_requests": 64, "workload.reads": "50%"}
UNBUFFERED = {key: value for key, value in BLOCK.items() if not key.startswith("drive.buffer")}


class Fifo(IoScheduler):
    def __init__(self) -> None:
        self.waiting = deque[BlockRequest]()

    def add(self, request: BlockRequest) -> None:
        self.waiting.append(request)

    def next(self, now: int) -> BlockRequest | None:
        return self.waiting.popleft()


def test_a_scheduler_equals_the_built_in_one() -> None:
    mine = ssdlab.simulate(BLOCK, plugins=[Fifo])
    theirs = ssdlab.simulate({**BLOCK, "block.scheduler": "none"})
    assert mine.summary["drive"]["block"].pop("scheduler") == "python:test_plugin_schedulers.Fifo"
    assert theirs.summary["drive"]["block"].pop("scheduler") == "none"
    assert figures(mine) == figures(theirs)
    # By hand: each of 4,000 requests is added and chosen once.
    assert mine.summary["plugins"][0]["decisions"] == 8000


class Sees(Fifo):
    def __init__(self, seen: list[Any]) -> None:
        super().__init__()
        self.seen = seen

    def __deepcopy__(self, _memo: object) -> "Sees":
        return self

    def next(self, now: int) -> BlockRequest | None:
        request = min(self.waiting, key=lambda request: (not request.is_read, request.offset))
        self.waiting.remove(request)
        self.seen.append((request.offset, request.bytes, request.is_read, request.is_sync, request.process))
        assert request.arrived_ns <= now
        return request

    def done(self, request: BlockRequest, now: int) -> None:
        self.seen.append(("done", request.offset))
        assert now > request.arrived_ns


def test_a_scheduler_sees_and_orders_requests() -> None:
    """By hand: one slot, four requests at time 0. The first is sent immediately; then reads come before writes."""
    trace = ssdlab.Trace.from_columns(
        op=["write", "write", "read", "read"], offset=[0, 8192, 65536, 32768], bytes=[4096, 512, 4096, 8192],
        stream=["a", "b", "b", "a"],
    )  # fmt: skip
    seen: list[Any] = []
    drive = {**UNBUFFERED, "block.slots": 1, "block.plug": False, "host.replay": "open", "drive.buffer": "none"}
    ssdlab.simulate(drive, trace, plugins=[Sees(seen)])
    assert [row for row in seen if row[0] != "done"] == [
        (0, 4096, False, False, 1),
        (32768, 8192, True, True, 1),
        (65536, 4096, True, True, 2),
        (8192, 512, False, False, 2),
    ]
    assert [offset for word, *(offset,) in (row for row in seen if row[0] == "done")] == [0, 32768, 65536, 8192]


class Idles(Fifo):
    """Sends a request only while no other is at the drive."""

    def __init__(self) -> None:
        super().__init__()
        self.busy = False

    def next(self, now: int) -> BlockRequest | None:
        if self.busy:
            return None
        self.busy = True
        return self.waiting.popleft()

    def done(self, request: BlockRequest, now: int) -> None:
        self.busy = False


def test_a_scheduler_may_keep_slots_free() -> None:
    one_slot = ssdlab.simulate({**BLOCK, "block.slots": 1, "block.scheduler": "none"})
    idle = ssdlab.simulate({**BLOCK, "block.slots": 8}, plugins=[Idles])
    assert idle.summary["time"]["elapsed_ns"] == one_slot.summary["time"]["elapsed_ns"]


class Nothing(Fifo):
    def next(self, now: int) -> BlockRequest | None:
        return None


class Twice(Fifo):
    def next(self, now: int) -> BlockRequest | None:
        return self.waiting[0]


class Number(Fifo):
    def next(self, now: int) -> Any:
        return 7


class Raises(Fifo):
    def add(self, request: BlockRequest) -> None:
        request.offset = 0  # type: ignore[misc]


class Endless(Fifo):
    time_limit = 0.3

    def next(self, now: int) -> BlockRequest | None:
        while True:
            pass


@pytest.mark.parametrize(
    ("cls", "line", "message"),
    [
        (Nothing, "def next", "Nothing.next returned None, while the drive is idle and "),
        (Twice, "def next", "which is not a waiting request; return one that was added"),
        (Number, "def next", "Number.next returned 7, which is not a waiting request; return one that was added"),
        (Raises, "request.offset = 0", "Raises.add raised AttributeError"),
        (
            Endless,
            "",
            "Endless.next ran for more than 0.3 s; look for an endless loop, or raise",
        ),
    ],
)
def test_a_faulty_scheduler_ends_the_run_with_its_line(cls: type[IoScheduler], line: str, message: str) -> None:
    with pytest.raises(ssdlab.SimulationError) as caught:
        ssdlab.simulate(BLOCK, plugins=[cls])
    said = str(caught.value)
    assert message in said and "\n" not in said
    file, number, _ = said.split(":", 2)
    assert file.endswith("test_plugin_schedulers.py")
    assert line in Path(__file__).read_text(encoding="utf-8").splitlines()[int(number) - 1]


def test_a_scheduler_without_its_methods_is_refused() -> None:
    class Half(IoScheduler):
        def add(self, request: BlockRequest) -> None:
            pass

    with pytest.raises(ssdlab.ConfigError, match="Half has no method next; define it"):
        ssdlab.simulate(BLOCK, plugins=[Half])
