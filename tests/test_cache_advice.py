"""Advice on host memory above a drive."""

import json
import random
from collections import OrderedDict
from functools import cache
from pathlib import Path

import jsonschema
import pytest

import ssdlab
from conftest import ROOT, Cli
from ssdlab.analyse.postgres import hit_ratio
from ssdlab.study.cache_advice import CacheAdvice, CacheChoice, Prices
from sweeps import BASE

PAGE, MIB, GIB = 4096, 1 << 20, 1 << 30
SMALL_SETS = {
    "device.capacity": "8MiB",
    "device.reserve": "extra",
    "nand.page_size": "4KiB",
    "nand.pages_per_block": 32,
    "nand.channels": 1,
    "nand.ways": 1,
    "time": "count",
}
SMALL = ssdlab.Config("small-tlc", overrides=SMALL_SETS)


def read_pages(path: Path, pages: list[int]) -> Path:
    """Saves a trace that reads these pages, one per millisecond."""
    count = len(pages)
    ssdlab.Trace.from_columns(
        time_ns=[10**6 * at for at in range(count)], op=["read"] * count,
        offset=[PAGE * page for page in pages], bytes=[PAGE] * count,
    ).save(path)  # fmt: skip
    return path


def lru_hits(pages: list[int], capacity: int) -> int:
    """Hits of an LRU cache in the second of two passes over the pages, from the definition."""
    cached: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for at, page in enumerate(pages + pages):
        if page in cached:
            hits += at >= len(pages)
            cached.move_to_end(page)
        else:
            cached[page] = None
            if len(cached) > capacity:
                cached.popitem(last=False)
    return hits


def test_hits_equal_a_slow_cache(tmp_path: Path) -> None:
    chance = random.Random(1)
    pages = [min(int(chance.expovariate(1 / 60)), 499) for _ in range(3000)]
    trace = read_pages(tmp_path / "t.parquet", pages)
    advised = ssdlab.advise_cache(trace, SMALL, memory=["64KiB", "256KiB", "1MiB"], compressed=["0%"], jobs=1)
    for choice, capacity in zip(advised.choices, (16, 64, 256), strict=True):
        hits = lru_hits(pages, capacity)
        assert choice.hit_ratio == hits / len(pages)
        assert choice.read_bytes == PAGE * (len(pages) - hits)
        assert (choice.written_bytes, choice.write_amplification) == (0, None)
    saved = [advised.saved_per_gib(choice) for choice in advised.choices]
    reads = [PAGE * (3000 - lru_hits(pages, capacity)) for capacity in (16, 64, 256)]
    assert saved == [(reads[0] - reads[1]) / (192 << 10) * GIB, (reads[1] - reads[2]) / (768 << 10) * GIB, None]


def test_a_cyclic_scan_hits_only_if_it_fits(tmp_path: Path) -> None:
    """With an LRU cache below 100 pages every access misses, from 100 pages on every access of the second pass hits."""
    trace = read_pages(tmp_path / "t.parquet", [*range(100)] * 3)
    advised = ssdlab.advise_cache(
        trace, SMALL, memory=["392KiB", "396KiB", "400KiB"], compressed=["0%"], hit_ratio=0.99, jobs=1
    )
    assert [choice.hit_ratio for choice in advised.choices] == [0, 0, 1]
    assert advised.best is advised.choices[2]


@cache
def any_study() -> ssdlab.Study:
    return ssdlab.sweep({"device.op": ["20%"]}, BASE, jobs=1)


def advice(rows: list[tuple[str, str, float, float]], **more: object) -> CacheAdvice:
    """Advice on caches with given memory, compressed share, hit ratio and read p99; each reads 100 MiB times its miss
    ratio from a drive with 10 GiB of flash.
    """
    prices = Prices(dram=3.0, flash=0.1)
    choices = [
        CacheChoice(
            levels={"cache.size": memory, "cache.compressed": share},
            memory_bytes=int(memory.removesuffix("GiB")) * GIB,
            hit_ratio=hits, read_bytes=(1 - hits) * 100 * MIB, written_bytes=0.0, write_amplification=2.0,
            read_p99_ns=p99, years=5.0, flash_bytes=10.0 * GIB, cost=3.0 * int(memory.removesuffix("GiB")) + 1.0,
        )
        for memory, share, hits, p99 in rows
    ]  # fmt: skip
    wanted = {"prices": prices, "read_p99_ns": None, "hit_ratio": None, "above": None, "accesses": False, **more}
    return CacheAdvice(study=any_study(), choices=choices, **wanted)  # type: ignore[arg-type]


ROWS = [("1GiB", "0%", 0.2, 500.0), ("1GiB", "50%", 0.4, 300.0), ("2GiB", "0%", 0.5, 200.0), ("4GiB", "0%", 0.6, 150.0)]


def test_the_cheapest_combination_that_meets_the_goal_is_chosen() -> None:
    assert advice(ROWS).best is None and advice(ROWS).page().conclusion == []
    # Of two caches of 1 GiB, the advice chooses the cache that reads less.
    assert advice(ROWS, read_p99_ns=600.0).best == advice(ROWS).choices[1]
    fast = advice(ROWS, read_p99_ns=250.0)
    assert fast.best is fast.choices[2]
    assert [line.text for line in fast.page().conclusion] == [
        "Choose cache.size=2GiB cache.compressed=0%: the cheapest combination that meets the goal, with a read hit "
        "ratio of 50.00 %, 50.0 MiB read from the drive, a read p99 of 200 ns.",
        "With 2.00 GiB more memory for 6.00: a read hit ratio of 60.00 %, 40.0 MiB read from the drive, a read p99 of "
        "150 ns.",
    ]
    # From 1 to 2 GiB, 30 of 100 MiB are saved; from 2 to 4 GiB, 10 MiB.
    saved = [fast.saved_per_gib(choice) for choice in fast.choices]
    assert saved == [pytest.approx(30 * MIB), None, pytest.approx(5 * MIB), None]
    slow = advice(ROWS, read_p99_ns=100.0)
    assert slow.best is None
    assert (
        slow.page()
        .conclusion[0]
        .text.startswith(
            "No combination meets the goal. Closest: cache.size=4GiB cache.compressed=0%, with a read hit ratio of "
            "60.00 %"
        )
    )


def test_hits_of_the_cache_above_count_too() -> None:
    """Of 100 reads, 90 hit in the cache above. Half of the other 10 hit in this cache, so 95 hit in all."""
    both = advice(ROWS, above=0.9, hit_ratio=0.95)
    assert both.best is both.choices[2] and both.overall(both.choices[2]) == pytest.approx(0.95)
    assert both.to_dict()["caches"][2]["overall_hit_ratio"] == pytest.approx(0.95)
    assert advice(ROWS, hit_ratio=0.95).best is None


@pytest.mark.parametrize(
    ("stats", "ratio"),
    [
        ("backend_type,object,context,reads,hits\nclient backend,relation,normal,10,80\nio worker,wal,init,,10\n", 0.9),
        ("datname,blks_read,blks_hit\na,1,2\nb,1,4\n", 0.75),
        ("relname,heap_blks_read,heap_blks_hit,idx_blks_read,idx_blks_hit\nt,1,1,1,5\n", 0.75),
    ],
)
def test_postgresql_counts_hits(tmp_path: Path, stats: str, ratio: float) -> None:
    file = tmp_path / "stats.csv"
    file.write_text(stats, encoding="utf-8")
    assert hit_ratio(file) == ratio


def test_one_screen_and_its_files(cli: Cli, tmp_path: Path) -> None:
    """Goal: output and files agree. Method: 100 pages are read in turn; 400 KiB hold all, and 64 KiB give no hit."""
    read_pages(tmp_path / "t.parquet", [*range(100)] * 3)
    (tmp_path / "stats.csv").write_text("blks_hit,blks_read\n97,3\n", encoding="utf-8")
    sets = [word for key, value in SMALL_SETS.items() for word in ("--set", f"{key}={value}")]
    done = cli(
        "advise", "cache", "t.parquet", "--preset", "small-tlc", *sets, "--memory", "64KiB,400KiB", "--stats",
        "stats.csv", "--hit-ratio", "98%", "--dram-cost", "3/GiB", "--flash-cost", "0.08", "--out", "a", "--jobs", "1",
        "--figures", "svg",
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100
    assert "the trace contains only misses of existing caches" in done.stdout
    assert "Choose cache.size=400KiB cache.compressed=0%: the cheapest combination that meets the goal" in done.stdout
    saved = json.loads((tmp_path / "a" / "cache-advice.json").read_text(encoding="utf-8"))
    jsonschema.validate(saved, json.loads((ROOT / "docs" / "output.schema.json").read_text(encoding="utf-8")))
    assert [*(tmp_path / "a").glob("figure-*.svg")]
    assert saved["kind"] == "cache-advice" and len(saved["result"]["caches"]) == 4
    row = saved["result"]["caches"][2]
    assert (row["hit_ratio"], row["overall_hit_ratio"]) == (1, 1)
    assert row["cost"] == pytest.approx((3 * (400 << 10) + 0.08 * row["flash_bytes"]) / GIB)
    assert (tmp_path / "a" / "cache-advice.csv").read_text(encoding="utf-8").count("\n") == 5


def test_default_sizes_follow_the_footprint(tmp_path: Path) -> None:
    """1,000 pages are 4,000 KiB. Half of this is 2,000 KiB, rounded down to 1 MiB. The smallest size is 64 KiB."""
    trace = read_pages(tmp_path / "t.parquet", [*range(1000)])
    advised = ssdlab.advise_cache(trace, SMALL, compressed=["0%"], accesses=True, jobs=1)
    sizes = [choice.levels["cache.size"] for choice in advised.choices]
    assert sizes == ["64KiB", "128KiB", "256KiB", "512KiB", "1MiB"]
    assert not any("misse" in remark for remark in advised.page().remarks)


@pytest.mark.parametrize(
    ("stats", "says"),
    [
        ("", "stats.csv: has no columns with hits and reads; use a CSV export of pg_stat_io, pg_stat_database"),
        ("blks_hit,blks_read\nx,1\n", "stats.csv:2: blks_hit: 'x' is not a count"),
        ("blks_hit,blks_read\n1\n", "stats.csv:2: blks_read: no value"),
        (
            "blks_hit,blks_read\n0,0\n",
            "stats.csv: all counters are 0; run the workload, then export the CSV again",
        ),
    ],
)
def test_bad_statistics_are_refused(tmp_path: Path, stats: str, says: str) -> None:
    file = tmp_path / "stats.csv"
    file.write_text(stats, encoding="utf-8")
    with pytest.raises(ssdlab.ConfigError) as error:
        hit_ratio(file)
    assert says in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--memory", "many"], "--memory: "),
        (["--compressed", "200%"], "--compressed: "),
        (["--hit-ratio", "2"], "--hit-ratio: "),
        (["--dram-cost", "3"], "the cost of flash is missing"),
        (["--dram-cost", "cheap", "--flash-cost", "1"], "--dram-cost cheap: the cost per GiB must be a number"),
        (["--dram-cost", "-1", "--flash-cost", "1"], "--dram-cost: must be a number above 0, not -1"),
        (["--read-p99", "1ms", "--set", "time=count"], 'set time to "event"'),
        (["-A", "cache.size=1MiB"], "axis cache.size: already varied by memory; set its values with memory"),
        (["--stats", "none.csv"], "none.csv: No such file"),
        (["--stats", "t.parquet", "--accesses"], "--stats needs a trace of cache misses"),
    ],
)
def test_bad_input_is_one_line(cli: Cli, tmp_path: Path, arguments: list[str], says: str) -> None:
    read_pages(tmp_path / "t.parquet", [1, 2, 3])
    done = cli("advise", "cache", "t.parquet", *arguments, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert says in done.stderr
