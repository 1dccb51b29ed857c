"""Components in Python below `plugins/`: equal to built-in components, or compared with hand computations."""

from pathlib import Path

import pytest

import ssdlab
from plugged import DRIVE

PYTHON = Path(__file__).parents[1] / "plugins" / "python"
TRACE = Path(__file__).parents[1] / "traces" / "oltp.csv.zst"


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the components importable like installed modules, for one test."""
    monkeypatch.syspath_prepend(PYTHON)


@pytest.mark.parametrize("more", [{}, {"time": "event", "workload.pattern": "zipf"}])
def test_page_mapping_in_python_equals_the_built_in_one(more: dict[str, object]) -> None:
    drive = {**DRIVE, "workload.reads": "30%", "check": True, **more}
    page = {"gc": "greedy", "survivors": "shared", "allocation": "fifo", "trigger": "victim"}
    theirs = ssdlab.simulate({**drive, **{f"ftl.page.{key}": value for key, value in page.items()}})
    mine = ssdlab.simulate({**drive, "ftl": "python:page_mapping.PageMapping"})
    for key in ("programs", "reads", "erases"):
        assert mine.summary["flash"][key] == theirs.summary["flash"][key]
    assert mine.summary["flash"]["programs"]["gc"] > 0
    assert mine.erase_counts.tolist() == theirs.erase_counts.tolist()


def misses(trace: ssdlab.Trace, policies: list[str], sizes: list[str]) -> dict[str, list[int]]:
    rows = ssdlab.cache.simulate(trace, policies, sizes).to_arrow().to_pylist()
    return {policy: [row["misses"] for row in rows if row["policy"] == policy] for policy in policies}


def test_s4_fifo_without_skipping_is_s3_fifo() -> None:
    mine, theirs = "python:s4_fifo.S4Fifo(skip=0)", "s3-fifo:simulator=1"
    found = misses(ssdlab.read_trace(TRACE), [mine, theirs], ["1MiB", "4MiB", "16MiB", "64MiB"])
    assert found[mine] == found[theirs]


def test_s4_fifo_skips_uses_soon_after_insertion() -> None:
    """By hand: 40 pages, so the small FIFO has 4. Pages 0 to 3 fill it, and 4 to 39 the main FIFO.

    With `skip=0.5`, a use counts from the second page inserted after: int(0.5 * 4) = 2. Pages 3 and 0 are used twice
    each. Page 3 is the newest of 4, so its uses do not count; page 0 is the oldest. The next eviction moves page 0 to
    the main FIFO, and takes page 1.
    """
    from s4_fifo import S4Fifo  # type: ignore[import-not-found]

    policy = S4Fifo(skip=0.5)
    policy.capacity = 40
    for page in range(40):
        policy.insert(page)
    assert list(policy.small) == [0, 1, 2, 3]
    for page in (3, 3, 0, 0):
        policy.hit(page)
    assert (policy.uses[3], policy.uses[0]) == (0, 2)
    assert policy.evict() == 1


def test_strace_gives_the_requests_computed_by_hand(tmp_path: Path) -> None:
    """A failed call, a call at the end of the file, a call without an offset and an exit give no request."""
    path = tmp_path / "trace.txt"
    path.write_text(
        '7 100.000000 pwrite64(3</d/db>, "a, 1"..., 8192, 4096) = 8192\n'
        '8 100.000250 pread64(3</d/db>, "b"..., 8192, 16384) = 512\n'
        "8 100.000300 pread64(3</d/db>, 0x55, 8192, 16384) = -1 EIO (Input/output error)\n"
        '8 100.000400 pread64(3</d/db>, "", 8192, 65536) = 0\n'
        "7 100.000500 fsync(3</d/db>) = 0\n"
        '7 100.000600 write(1, "x", 1) = 1\n'
        "7 100.000700 +++ exited with 0 +++\n"
    )
    rows = ssdlab.read_trace(path, format="python:strace.Strace").columns()
    assert [rows[name].tolist() for name in ("op", "offset", "bytes", "time_ns")] == [
        [1, 0, 3], [4096, 16384, 0], [8192, 512, 0], [0, 250_000, 500_000]
    ]  # fmt: skip
    path.write_text("7 100.000000 pwrite64(\nno line of strace\n")
    with pytest.raises(ssdlab.TraceError, match=r"trace.txt:2: .*strace.py:26: .*not a line of strace -ttt output"):
        ssdlab.read_trace(path, format="python:strace.Strace")
