"""Workloads written in Python."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from conftest import Cli
from plugged import DRIVE, figures
from ssdlab.plugin import Workload

HERE = "python:test_plugin_workloads."


class Sequential(Workload):
    """The built-in pattern `sequential` with one stream."""

    streams = ("seq1",)

    def requests(self, count, span):  # type: ignore[no-untyped-def]
        for number in range(count):
            yield "write", number * 4096 % span, 4096, None, 1


class InArrays(Sequential):
    def requests(self, count, span):  # type: ignore[no-untyped-def]
        for first in range(0, count, 1000):
            numbers = np.arange(first, min(first + 1000, count))
            yield "write", numbers * 4096 % span, 4096, None, 1


@pytest.mark.parametrize("cls", [Sequential, InArrays])
@pytest.mark.parametrize("more", [{}, {"workload.arrival.poisson.rate": "20k/s"}])
def test_a_workload_equals_the_built_in_one(cls: type[Workload], more: dict[str, Any]) -> None:
    mine = ssdlab.simulate({**DRIVE, **more}, plugins=[cls])
    theirs = ssdlab.simulate({**DRIVE, **more, "workload.pattern": "sequential"})
    assert figures(mine) == figures(theirs)
    (use,) = mine.summary["plugins"]
    assert (use["setting"], use["decisions"]) == ("workload.pattern", 4000)
    assert use["name"] == f"{HERE}{cls.__name__}"


class Mixed(Workload):
    timed = True
    streams = ("log", "data")

    def requests(self):  # type: ignore[no-untyped-def]
        yield "W", 4096, 8192, 5
        yield 0, np.int64(0), np.uint32(512), np.int64(5), 2
        yield ["trim", "read"], np.array([512, 1024]), np.array([512, 1024]), np.array([6, 9]), np.array([1, 2])
        yield "flush", 0, 0, 10


def test_a_workload_sets_every_field() -> None:
    trace = ssdlab.generate({**DRIVE, "workload.pattern": f"{HERE}Mixed"})
    columns = {name: column.tolist() for name, column in trace.columns().items()}
    assert columns == {
        "time_ns": [5, 5, 6, 9, 10],
        "op": [1, 0, 2, 0, 3],
        "offset": [4096, 0, 512, 1024, 0],
        "bytes": [8192, 512, 512, 1024, 0],
        "flags": [0] * 5,
        "stream": [0, 2, 1, 2, 0],
    }
    assert list(trace.streams) == ["", "log", "data"]


def test_a_workload_with_times_is_replayed_at_these_times() -> None:
    result = ssdlab.simulate({**DRIVE, "time": "event", "host.replay": "open"}, plugins=[Mixed])
    assert result.summary["plugins"][0]["decisions"] == 5


class Sees(Workload):
    def requests(self, span, align, count, reads, sizes, seed):  # type: ignore[no-untyped-def]
        assert (span, align, count, reads) == (1 << 20, 8192, 3, 0.25)
        assert (sizes, seed) == ([(4096, 75.0), (8192, 25.0)], 7)
        return [("write", self.rng.randrange(0, span, align), 4096) for _ in range(10)]


def test_a_workload_gets_the_settings_that_it_names() -> None:
    config = {**DRIVE, "workload.pattern": f"{HERE}Sees", "workload.span": "1MiB", "workload.align": "8KiB", "seed": 7,
              "workload.requests": 3, "workload.reads": "25%", "workload.size": "4KiB:75%,8KiB:25%"}  # fmt: skip
    first, second = ssdlab.generate(config), ssdlab.generate(config)
    assert len(first) == 3 and first.offset.tolist() == second.offset.tolist()
    other = {**config, "workload.pattern": f"{HERE}Sequential"}
    assert first.offset.tolist() != ssdlab.generate(other).offset.tolist()


def test_a_workload_starts_again_when_it_is_repeated() -> None:
    config = {**DRIVE, "host.repeat.times.count": 2, "workload.requests": 100}
    assert ssdlab.simulate(config, plugins=[Sequential]).summary["plugins"][0]["decisions"] == 200


class Faulty(Workload):
    """Yields a good request, then `item`."""

    time_limit = 0.3

    def __init__(self, item: object, timed: bool = False) -> None:
        self.item = item

    def requests(self):  # type: ignore[no-untyped-def]
        yield "read", 0, 4096
        yield self.item


class Timed(Faulty):
    timed = True

    def requests(self):  # type: ignore[no-untyped-def]
        yield "read", 0, 4096, 8
        yield self.item


class Raises(Faulty):
    def requests(self):  # type: ignore[no-untyped-def]
        yield "read", 0, 4096
        yield 1 // 0


class Endless(Faulty):
    def requests(self):  # type: ignore[no-untyped-def]
        yield "read", 0, 4096
        while True:
            pass


class Silent(Faulty):
    def requests(self):  # type: ignore[no-untyped-def]
        return 7


def arrays(*offsets: int) -> tuple[str, Any, int]:
    return "write", np.array(offsets), 4096


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (Faulty(7), "requests yielded 7, which is not a request; yield (op, offset, bytes), or arrays"),
        (Faulty(("read", 0)), "requests yielded ('read', 0), which is not a request; yield (op, offset, bytes)"),
        (Faulty(("copy", 0, 1)), 'requests yielded (\'copy\', 0, 1), whose operation is unknown; use "read", "write"'),
        (
            Faulty(("read", np.int64(-1), 1)),
            "yielded ('read', -1, 1), whose offset is invalid; use a whole number of at least 0",
        ),
        (
            Faulty(("read", 0.5, 1)),
            "yielded ('read', 0.5, 1), whose offset is invalid; use a whole number of at least 0",
        ),
        (Faulty(("read", 0, 0)), "yielded ('read', 0, 0), which is a read of 0 bytes; remove it"),
        (Faulty(("read", 0, 1 << 32)), "whose size in bytes exceeds 32 bits; split the request"),
        (
            Faulty(("read", 4 << 20, 512)),
            "which ends at byte 4194816, beyond the span of 4194304 bytes; take the offset modulo the span",
        ),
        (Faulty(("read", 0, 512, 3)), "which has a time; set timed = True in the class"),
        (
            Faulty(("read", 0, 512, None, 1)),
            "whose stream is 1, but the class lists only 0 names in streams; add a name",
        ),
        (Timed(("read", 0, 512)), "which has no time; yield (op, offset, bytes, time_ns)"),
        (
            Timed(("read", 0, 512, 7)),
            "whose time 7 ns is earlier than the previous request's 8 ns; sort the requests by time",
        ),
        (Faulty(arrays(0, -4096)), "where row 1: offset -4096 is not between 0 and"),
        (Faulty(arrays(0, 4 << 20)), "which ends at byte 4198400, beyond the span of 4194304 bytes"),
        (Faulty(("write", np.arange(3), np.arange(2))), "they must be equally long"),
        (Raises(0), "Raises.requests raised ZeroDivisionError: integer division or modulo by zero"),
        (
            Endless(0),
            "Endless.requests ran for more than 0.3 s; look for an endless loop, or raise",
        ),
        (Silent(0), "Silent.requests returned 7, which yields no requests; use yield, or return a list of requests"),
    ],
)
def test_a_faulty_workload_ends_the_run_with_its_line(workload: Workload, message: str) -> None:
    with pytest.raises(ssdlab.SimulationError) as caught:
        ssdlab.simulate(DRIVE, plugins=[workload])
    said = str(caught.value)
    assert message in said and "\n" not in said
    file, line, _ = said.split(":", 2)
    assert file.endswith("test_plugin_workloads.py")
    words = {"Silent": "def requests", "Raises": "1 // 0", "Endless": ""}.get(
        type(workload).__name__, "yield self.item"
    )
    assert words in Path(__file__).read_text(encoding="utf-8").splitlines()[int(line) - 1]


class NoStreams(Sequential):
    streams = "seq1"  # type: ignore[assignment]


def test_wrong_attributes_are_refused() -> None:
    with pytest.raises(ssdlab.ConfigError, match=r"NoStreams\.streams is 'seq1'; set it to a list of stream names"):
        ssdlab.simulate(DRIVE, plugins=[NoStreams])


MINE = """
from ssdlab.plugin import Workload

class Backwards(Workload):
    \"\"\"Writes pages from the last to the first.\"\"\"

    def requests(self, span):
        for offset in range(span - 4096, -1, -4096):
            yield "write", offset, 4096
"""


def test_commands_find_a_workload_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    sets = [word for key, value in DRIVE.items() for word in ("-s", f"{key}={value}")]
    done = cli("run", *sets, "--workload", "python:mine.Backwards")
    # By hand: 4 MiB are 1,024 pages.
    assert "python:mine.Backwards: 1,024 decisions" in done.stderr
    study = ssdlab.sweep({"workload.pattern": ["python:mine.Backwards"]}, DRIVE, out=tmp_path / "study")
    assert study.to_arrow().num_rows == 1


def test_a_workload_is_never_asked_for_nothing() -> None:
    result = ssdlab.simulate({**DRIVE, "workload.requests": 0}, plugins=[Sequential])
    assert f"{HERE}Sequential was never called: the run needed no decision from it" in result.envelope()["notes"]
