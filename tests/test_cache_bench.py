"""Measurement of the two-pool cache. The sums of times are checked, and counts are compared with a naive cache."""

import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from benches import bench
from conftest import ROOT, Cli
from ssdlab.analyse.cache import benchmark
from ssdlab.analyse.cache.accesses import drawn, of_trace
from ssdlab.analyse.corpus import Corpus, Member

PAGE = 4096
TEXT = Corpus("text", (Member("text", b"".join(b"%06d abcdefgh " % (at % 777) for at in range(5000))),))


def alone(**arguments: Any) -> benchmark.Cell:
    """The single cell of a measurement with one thread and no worker, whose counts are always the same."""
    quick: dict[str, Any] = {"workers": 0, "threads": 1, "runs": 1, "cost_us": 0.0, "page_size": "4KiB"}
    (cell,) = bench(TEXT, **quick, **arguments).cells
    return cell


def lru(pages: list[int], capacity: int) -> list[bool]:
    """Accesses that hit a cache with this many pages."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits = []
    for page in pages:
        hits.append(page in cache)
        cache.pop(page, None)
        if len(cache) == capacity:
            cache.popitem(last=False)
        cache[page] = None
    return hits


@pytest.mark.parametrize(("access", "scan"), [("even", 0.0), ("80/20", 0.25), ("zipf:0.7", 0.0), ("even", 1.0)])
def test_without_a_compressed_pool_it_is_an_ordinary_cache(access: str, scan: float) -> None:
    cell = alone(shares=["0"], policy="lru", access=access, scan=scan, pages=500, accesses=6000, budget="30%")
    pages = (drawn(access, 500, 6000, 0.0, scan) >> np.uint64(1)).tolist()
    hits = lru(pages, cell.memory["raw_pages"])[3000:]
    assert cell.raw_hit_ratio.median == sum(hits) / 3000
    assert cell.compressed_hit_ratio.median == 0 and cell.codec is None
    assert cell.memory["total_bytes"] <= cell.memory["budget_bytes"] == int(0.3 * (max(pages) + 1) * PAGE)


def test_compressed_pages_hit_by_their_number() -> None:
    cell = alone(shares=["50"], codecs=["zstd:1"], access="even", pages=2000, accesses=40_000, budget="20%")
    # Independent accesses hit cached pages with equal probability.
    for hits, pages in (
        (cell.raw_hit_ratio, cell.memory["raw_pages"]),
        (cell.compressed_hit_ratio, cell.memory["compressed_pages"]),
    ):
        assert hits.median == pytest.approx(pages / 2000, abs=0.02)
    assert cell.memory["compressed_pages"] > 2 * cell.memory["raw_pages"]


def test_distributions_match_their_names() -> None:
    def counts(access: str) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        return np.bincount(drawn(access, 1000, 100_000, 0.0, 0.0).astype(np.int64) >> 1, minlength=1000)

    assert counts("even").max() < 160
    for access in ("80/20", "pareto"):
        popular = np.sort(counts(access))[::-1]
        assert popular[:200].sum() == pytest.approx(80_000, abs=800)
    assert popular[:40].sum() == pytest.approx(64_000, abs=800), "four fifths of a fifth"
    assert np.sort(counts("zipf:1"))[-1] > 10_000
    mixed = drawn("even", 100, 1000, 0.5, 0.25)
    assert mixed[3::4].tolist() == [2 * (at % 100) for at in range(250)], "every fourth access scans"
    assert 0.4 < (mixed[np.arange(1000) % 4 != 3] & np.uint64(1)).mean() < 0.6


def test_pages_of_a_trace_are_its_pages() -> None:
    trace = ssdlab.Trace.from_columns(
        op=["read", "flush", "write", "trim", "read"],
        offset=[8192 + 100, 0, 1 << 40, 0, 4096],
        bytes=[4096, 0, 512, 4096, 8192],
    )
    accesses = of_trace(trace, 4096, 100)
    # Pages 2 and 3, a distant page (written), then 1 and 2; they get the numbers 0 to 3.
    assert accesses.tolist() == [2, 4, 7, 0, 2]
    assert of_trace(trace, 4096, 3).tolist() == [0, 2, 5]


def test_a_file_below(tmp_path: Path) -> None:
    measured = bench(
        TEXT, shares=["0", "adaptive"], codecs=["lz4"], pages=300, accesses=3000, writes=0.3, budget="25%",
        directory=tmp_path, page_size="4KiB", threads=3, workers=2, runs=2,
    )  # fmt: skip
    assert "on a file" in measured.title
    assert not list(tmp_path.iterdir()), "the file is removed"
    for cell in measured.cells:
        assert cell.load_us.low > 0
        assert 0 < cell.pages_s.low <= cell.pages_s.median <= cell.pages_s.high


def test_threads_wait_for_their_own_pages() -> None:
    measured = bench(
        TEXT, shares=["0"], pages=300, accesses=3000, budget="25%", cost_us=20.0, page_size="4KiB", threads=3,
        workers=0, runs=1,
    )  # fmt: skip
    (cell,) = measured.cells
    # The time of all accesses in a run is at most that of three threads.
    assert cell.access_us.median * cell.pages_s.median <= 3.001e6


def test_a_simulated_drive_below() -> None:
    drive = ssdlab.Config(
        "tlc-chip", overrides={"device.capacity": "64MiB", "nand.channels": 2, "nand.read": "300us", "device.op": "28%"}
    )
    measured = bench(
        TEXT, shares=["0"], pages=400, accesses=400, writes=0.2, budget="25%", drive=drive, busy=True,
        page_size="4KiB", threads=2, runs=1,
    )  # fmt: skip
    (cell,) = measured.cells
    assert "on a simulated drive" in measured.title and cell.late_us is not None
    # A page takes at least the time of its read.
    assert cell.load_us.median > 300 and cell.late_us.median >= 0
    assert cell.access_p50_us.median <= cell.access_p99_us.median
    with pytest.raises(ssdlab.ConfigError, match="has 67108864 bytes, but the pages take"):
        bench(TEXT, shares=["0"], pages=30_000, accesses=90_000, drive=drive)
    counting = ssdlab.Config("tlc-chip", overrides={"time": "count"})
    with pytest.raises(ssdlab.ConfigError, match='a live drive needs simulated time; set time to "event"'):
        bench(TEXT, shares=["0"], pages=400, drive=counting)


def test_a_monitor_stops_it() -> None:
    with pytest.raises(KeyboardInterrupt):
        bench(TEXT, monitor=lambda *_: True)
    # 2,000 accesses per share.
    stop: ssdlab.Monitor = lambda _phase, done, *_: done >= 4000  # noqa: E731
    quick: dict[str, Any] = {"pages": 500, "accesses": 2000, "runs": 1, "cost_us": 0.0, "codecs": ["lz4"]}
    measured = bench(TEXT, shares=["0", "25", "50"], monitor=stop, **quick)
    assert measured.partial and [cell.share for cell in measured.cells] == ["0", "25"]


def test_cells_are_measured_in_rounds() -> None:
    # 2,000 accesses per run: two of the first cell, one of the other.
    stop: ssdlab.Monitor = lambda _phase, done, *_: done >= 6000  # noqa: E731
    quick: dict[str, Any] = {"pages": 500, "accesses": 2000, "runs": 2, "cost_us": 0.0, "codecs": ["lz4"]}
    measured = bench(TEXT, shares=["0", "25"], monitor=stop, **quick)
    assert [cell.share for cell in measured.cells] == ["0", "25"] and (measured.done, measured.asked) == (3, 4)
    assert measured.partial and measured.page().partial.startswith("3 of 4 runs were measured")
    of_two, of_one = (cell.pages_s for cell in measured.cells)
    assert of_two.low < of_two.high and of_one.low == of_one.high


def test_command_shows_every_cell(cli: Cli, tmp_path: Path) -> None:
    quick = ["--accesses", 2000, "--pages", 500, "--runs", 1, "--budget", "30%", "--share", "0,50%", "--cost", "5us"]
    quick += ["--policy", "lru-k:k=3", "--compressed-policy", "2q"]
    shown = cli("cache", "bench", *quick, "--busy", "--out", "found").stdout
    shown = " ".join(shown.split())
    assert "delay of 5 µs per page (busy-waiting)" in shown and "zstd:1" in shown
    lines = (tmp_path / "found" / "cache-bench.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[:2] for line in lines] == [["share", "codec"], ["0", ""], ["50%", "lz4"], ["50%", "zstd:1"]]
    trace = ROOT / "traces" / "oltp.csv.zst"
    result = json.loads(cli("cache", "bench", *quick, "--trace", trace, "--codec", "lz4", "--json").stdout)["result"]
    assert result["accesses"] == 1000 and len(result["cells"]) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["--budget", "1KiB"], ["--share", "some"], ["--share", "120"], ["--codec", "modelled"], ["--codec", "zst"],
        ["--directory", "nowhere"], ["--access", "poreto"], ["--access", "zipf:x"], ["--scan", "200%"], ["--cost", "x"],
        ["--policy", "lur"], ["--compressed-policy", "lur"], ["--policy", "lru-k:k=99"], ["--dataset", "nowhere"],
        ["--page", "5000"], ["--cost", "1e9"], ["--pages", "1"], ["--share", ""], ["--threads", "100000"],
        ["--drive", "sata"], ["--set", "device.op=7%"], ["--drive", "sata-mlc", "--directory", "."],
    ],
)  # fmt: skip
def test_command_errors_are_one_line(cli: Cli, arguments: list[str]) -> None:
    done = cli("cache", "bench", "--accesses", 100, *arguments, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
