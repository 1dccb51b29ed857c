"""Components in Python below `plugins/`: equal to built-in ones where there are such, else worked by hand."""

from pathlib import Path

import pytest

import ssdlab
from plugged import DRIVE

PYTHON = Path(__file__).parents[1] / "plugins" / "python"
TRACE = Path(__file__).parents[1] / "traces" / "oltp.csv.zst"


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the components modules like installed ones; later tests do not see them."""
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
