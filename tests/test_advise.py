"""Advice on map caches, as a library and on the command line."""

import json
import math
import re
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from conftest import ROOT, Cli
from ssdlab import advise

TRACES = ROOT / "traces"
# The shipped traces end below 23 GiB. Filling the device leaves its last GiB in the largest cache, which no trace uses.
DEVICE = {"device.capacity": "24GiB"}
SMALL = {"device.capacity": "64MiB", "device.op": "50%", "nand.pages_per_block": 64}


def device(overrides: dict[str, Any]) -> ssdlab.Config:
    return ssdlab.Config("mapcache", overrides={**DEVICE, **overrides})


def test_settings_alone_modify_the_documents_device() -> None:
    trace = ssdlab.Trace.from_columns(op=["write"], offset=[4096], bytes=[4096])
    advice = advise.map_cache(trace, {"device.capacity": "24GiB"})
    assert advice.to_dict() == advise.map_cache(trace, device({})).to_dict()


@pytest.mark.parametrize("name", ["varmail", "oltp", "pgbench", "fileserver"])
def test_misses_equal_the_simulations(name: str) -> None:
    trace = ssdlab.read_trace(TRACES / f"{name}.csv.zst")
    advice = advise.map_cache(trace, device({}), caches=["8KiB", "64KiB", "512KiB"], segments=["1KiB", "4KiB"])
    for row, column in ((0, 1), (1, 0), (1, 1), (2, 0), (2, 1)):
        choice = advice.choice(row, column)
        simulated = device(
            {
                "ftl.page.map.segments.cache": f"{choice.cache_bytes}B",
                "ftl.page.map.segments.segment": f"{choice.segment_bytes}B",
                "ftl.page.map.segments.policy": "lru",
                "time": "count",
                "host.warmup": 0,
            }
        )
        summary = ssdlab.simulate(simulated, trace).summary["map"]
        for kind, look_ups, hits in (
            ("reads", advice.read_look_ups, advice.read_hits),
            ("changes", advice.change_look_ups, advice.change_hits),
        ):
            assert (summary[kind]["count"], summary[kind]["hits"]) == (look_ups, hits[row, column]), (name, kind)


def test_advice_on_batched_write_backs_holds_in_the_simulation() -> None:
    trace = ssdlab.read_trace(TRACES / "oltp.csv.zst")
    best = advise.map_cache(trace, device({})).best(0.71)
    assert best is not None and (best.cache_bytes, best.segment_bytes) == (64 << 10, 1 << 10)
    cached = {
        "ftl.page.map.segments.cache": "64KiB",
        "ftl.page.map.segments.segment": "1KiB",
        "ftl.page.map.segments.policy": "lru",
    }
    iops, full = (
        ssdlab.simulate(device({"precondition.overwrite": "none", **changes}), trace).summary["time"]["iops"]
        for changes in (cached, {"ftl.page.map": "ram"})
    )
    assert iops == pytest.approx(best.iops, rel=1e-3)
    assert iops / full == pytest.approx(best.iops_share, rel=1e-3) and iops / full > 0.71


ENTRIES = 8192 // 4
"""Entries of a map page."""


def lru(pages: list[int], changes: list[bool], entries: int, capacity: int) -> tuple[int, int]:
    """Hits and write-backs of one cache, computed naively; a write-back writes all dirty segments of a map page."""
    cache: OrderedDict[int, bool] = OrderedDict()
    hits = written_back = 0
    for page, change in zip(pages, changes, strict=True):
        segment = page // entries
        hits += segment in cache
        dirty = cache.pop(segment, False)
        if len(cache) == capacity:
            victim, was_dirty = cache.popitem(last=False)
            if was_dirty:
                written_back += 1
                beside = {other for other in cache if other * entries // ENTRIES == victim * entries // ENTRIES}
                cache.update(dict.fromkeys(beside, False))
        cache[segment] = dirty or change
    return hits, written_back


def zipf(requests: int) -> ssdlab.Trace:
    overrides = {
        **SMALL,
        "workload.pattern": "zipf",
        "workload.requests": requests,
        "workload.size": "8KiB",
        "workload.align": "8KiB",
    }
    return ssdlab.generate(ssdlab.Config("mapcache", overrides=overrides))


def small() -> ssdlab.Config:
    return ssdlab.Config("mapcache", overrides=SMALL)


def test_hits_and_write_backs_equal_every_simulated_cache() -> None:
    trace = zipf(4000)
    pages = (trace.offset // 8192).tolist()
    changes = (trace.op == 1).tolist()
    advice = advise.map_cache(
        trace, small(), caches=["4KiB", "8KiB", "20KiB"], segments=["64B", "512B", "1KiB", "4KiB"]
    )
    for row, cache in enumerate(advice.caches.tolist()):
        for column, segment in enumerate(advice.segments.tolist()):
            hits, written_back = lru(pages, changes, segment // 4, cache // segment)
            assert advice.read_hits[row, column] + advice.change_hits[row, column] == hits
            assert advice.write_backs[row, column] == written_back
    assert (advice.read_hits + advice.read_misses == advice.read_look_ups).all()
    assert (advice.change_hits + advice.change_misses == advice.change_look_ups).all()


def test_times_follow_the_model() -> None:
    # A segment of 512 bytes has 128 entries, so pages 0 and 128 are in different segments. 1 KiB caches both.
    rows = [("read", 0), ("write", 128), ("read", 256), ("read", 384), ("write", 1)]
    trace = ssdlab.Trace.from_columns(
        op=[op for op, _ in rows],
        offset=[page * 8192 for _, page in rows],
        bytes=[4096 if op == "read" else 8192 for op, _ in rows],
    )
    advice = advise.map_cache(trace, small(), caches=["1KiB"], segments=["512B"])
    t_r, t_x, program = 70_060, 5_515, 1_575_000
    read, page_read, page_program = t_r + 4 * t_x, t_r + 8 * t_x, program + 8 * t_x
    load = t_r + (t_x + 1) // 2
    assert (advice.host_ns, advice.host_read_ns) == (3 * read + 2 * page_program, 3 * read)
    assert advice.busy_ns.tolist() == [[advice.host_ns + 5 * load + page_read + page_program]]
    assert advice.iops_share[0, 0] == advice.host_ns / advice.busy_ns[0, 0]
    assert advice.read_iops_share[0, 0] == 3 * read / (3 * read + 5 * load)
    assert advice.iops[0, 0] == pytest.approx(advice.full_iops * advice.iops_share[0, 0])
    # 16 segments of 128 entries cache the 8,192 pages in 64, each with 4 bytes in the map of the map.
    assert advice.ram_bytes.tolist() == [[1024 + 4 * 64]]
    assert advice.full_ram_bytes == 4 * 8192
    assert advice.limit[0] == advice.host_ns / (advice.host_ns + 4 * load)
    whole = advise.map_cache(trace, small(), caches=["8KiB"], segments=["8KiB"])
    assert whole.first_look_ups.tolist() == [1] and whole.write_backs.tolist() == [[0]]


def test_the_documents_means_are_reproduced() -> None:
    """In the document, a read of 4 KB takes t_R + 4 t_x; a miss adds t_R and the transfer of the segment."""
    pages = np.random.default_rng(1).integers(0, 8192, 3000)
    trace = ssdlab.Trace.from_columns(op=["read"] * 3000, offset=pages * 8192, bytes=[4096] * 3000)
    advice = advise.map_cache(trace, small(), caches=["8KiB", "16KiB"], segments=["1KiB", "2KiB", "4KiB", "8KiB"])
    mean_us = advice.busy_ns / advice.requests / 1e3
    miss = 1 - advice.hit_ratio
    segment = advice.segments / 1024
    assert np.allclose(mean_us, 70.06 + 4 * 5.515 + miss * (70.06 + segment * 5.515), rtol=1e-12)
    assert np.array_equal(advice.iops_share, advice.read_iops_share)


def test_the_best_choice_takes_the_least_ram() -> None:
    advice = advise.map_cache(
        zipf(20_000), small(), caches=[f"{size}KiB" for size in (4, 8, 16, 24, 32)], segments=["256B", "1KiB", "4KiB"]
    )
    assert (np.diff(advice.hit_ratio, axis=0) >= 0).all()
    assert (np.diff(advice.write_backs.astype(int), axis=0) <= 0).all()
    for target in (0.5, 0.8, 0.9, 0.97, 0.999):
        reached = advice.iops_share >= target
        best = advice.best(target)
        if not reached.any():
            assert best is None
            continue
        assert best is not None and best.iops_share >= target
        assert best.ram_bytes == advice.ram_bytes[reached].min()
        smaller, larger = advice.neighbours(best)
        assert smaller is None or (smaller.segment_bytes, smaller.iops_share <= best.iops_share) == (
            best.segment_bytes,
            True,
        )
        assert larger is None or larger.cache_bytes > best.cache_bytes
        least = advice.least(best.segment_bytes, target)
        assert least is not None and least <= best.cache_bytes
        curve = advice.curve(best.segment_bytes)
        assert (curve.iops_share[curve.cache_bytes < least] < target).all()
    # The whole map hits, except on the first look-up of each segment.
    assert advice.best(1.0) is None and (advice.iops_share[-1] == advice.limit).all()


def test_sources_give_equal_advice() -> None:
    path = TRACES / "oltp.csv.zst"
    phases = []
    streamed = advise.map_cache(ssdlab.TraceFile(path), monitor=lambda phase, *_: phases.append(phase))
    assert set(phases) == {"advise"}
    loaded = advise.map_cache(ssdlab.read_trace(path))
    named = advise.map_cache(path)
    assert streamed.to_dict()["caches"] == loaded.to_dict()["caches"] == named.to_dict()["caches"]
    with pytest.raises(KeyboardInterrupt):
        advise.map_cache(path, monitor=lambda *_: True)
    config = small().with_overrides({"workload.pattern": "zipf", "workload.requests": 3000})
    generated = advise.map_cache(None, config)
    assert generated.source["kind"] == "workload"
    assert generated.to_dict()["caches"] == advise.map_cache(ssdlab.generate(config), config).to_dict()["caches"]
    grown = small().with_overrides({"host.fit": "grow"})
    assert advise.map_cache(path, grown).logical_pages > small_pages()
    assert "7 caches, 4 segment sizes" in repr(streamed)


def small_pages() -> int:
    return (64 << 20) // 8192


def test_the_figure_has_a_curve_for_each_segment_size() -> None:
    advice = advise.map_cache(zipf(2000), small(), caches=["4KiB", "16KiB"], segments=["1KiB", "4KiB"])
    (legend,) = advice.plot().legends
    assert [entry.get_text() for entry in legend.get_texts()] == ["1.00 KiB", "4.00 KiB"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"caches": ["9KiB"]}, "the cache size 9KiB is not a multiple of the segment size 8KiB; use 16KiB"),
        ({"caches": []}, "no sizes to compare"),
        ({"segments": ["3KiB"]}, "the segment size 3KiB is not a power of two; use 2KiB or 4KiB"),
        ({"segments": ["16KiB"]}, "the segment size 16KiB exceeds the page size; lower it to 8KiB"),
        ({"segments": ["8GiB"]}, "8GiB is too large for a page"),
        ({"segments": ["4"]}, "the unit is missing"),
        ({"entry": "3B"}, "the entry size 3B must be a power of two"),
        ({"config": ssdlab.Config("tlc-chip", overrides={"time": "count"})}, "needs simulated time"),
    ],
)
def test_impossible_sizes_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ssdlab.ConfigError) as error:
        advise.map_cache(zipf(10), **{"config": small(), **arguments})
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "more", [{}, {"block.scheduler": "cfq"}, {"gantt": "window"}, {"block.scheduler": "none", "gantt": "window"}]
)
def test_refusing_many_dies_names_a_working_remedy(more: dict[str, str]) -> None:
    config = small().with_overrides({"time": "event", **more})
    with pytest.raises(ssdlab.ConfigError) as error:
        advise.map_cache(zipf(10), config)
    remedy = str(error.value).rpartition("; set ")[2].replace("it", "time", 1)
    named = dict(re.findall(r'([a-z.]+) to "([a-z]+)"', remedy))
    assert named.keys() == {"time", *more}
    assert advise.map_cache(zipf(10), config.with_overrides(named)).requests == 10


def test_other_wrong_input_is_named() -> None:
    advice = advise.map_cache(zipf(100), small())
    for target in (0.0, 1.01, -1.0, math.nan):
        with pytest.raises(ssdlab.ConfigError, match="must be above 0% and at most 100%"):
            advice.best(target)
    with pytest.raises(ssdlab.ConfigError, match="was not requested"):
        advice.curve(3)
    with pytest.raises(ssdlab.SimulationError, match="choose --fit compact, grow, scale or wrap"):
        advise.map_cache(TRACES / "oltp.csv.zst", small())
    trims = ssdlab.Trace.from_columns(op=["trim"], offset=[0], bytes=[8192])
    for trace in (trims, ssdlab.Trace.from_columns(op=[], offset=[], bytes=[])):
        with pytest.raises(ssdlab.TraceError, match="in memory: the trace has no reads and no writes"):
            advise.map_cache(trace, small())


def test_the_command_prints_and_reports(cli: Cli) -> None:
    asked = [str(TRACES / "fileserver.csv.zst"), "--cache", "64KiB,128KiB,256KiB", "--segment", "2KiB,8KiB"]
    out = " ".join(cli("advise", "mapcache", *asked, "--target", "95%").stdout.split())
    shown = json.loads(cli("advise", "mapcache", *asked, "--target", "95%", "--json").stdout)["result"]
    best = shown["best"]
    assert (best["cache_bytes"], best["segment_bytes"], shown["target"]) == (131_072, 2048, 0.95)
    assert all(part in out for part in ("95 %", "128 KiB", "2.00 KiB", "96.46 %", "158 KiB"))
    assert "The next smaller cache, 64.0 KiB, reaches" in out and "The next larger cache, 256 KiB, reaches" in out
    assert len(shown["caches"]) == 6
    for cell in shown["caches"]:
        assert f"{100 * cell['iops_share']:.2f} %" in out and f"{100 * cell['hit_ratio']:.2f} %" in out
    far = " ".join(cli("advise", "mapcache", *asked, "--target", "99.5%").stdout.split())
    assert "No cache up to 256 KiB reaches 99.5 %" in far and "a larger cache reaches" in far
    never = cli("advise", "mapcache", *asked, "--target", "100%").stdout
    assert "because the first look-up of each segment misses" in " ".join(never.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["empty.csv"], ["empty.csv: the trace has no reads and no writes", "nothing to compare"]),
        (["nothere.csv"], ["nothere.csv", "No such file"]),
        (["empty.csv", "--target", "0%"], ["--target 0% must be above 0% and at most 100%"]),
        (["empty.csv", "--target", "101%"], ["--target 101% must be above"]),
        (["empty.csv", "--target", "95"], ['write "95%"']),
        (["empty.csv", "--cache", "8KiB,"], ["is not a size"]),
        (["empty.csv", "--cache", "9KiB"], ["is not a multiple of the segment size"]),
        (["empty.csv", "--segment", "3KiB"], ["is not a power of two"]),
        (["empty.csv", "--segment", "16KiB"], ["exceeds the page size"]),
        (["empty.csv", "--set", "time=count"], ["needs simulated time"]),
    ],
)
def test_wrong_input_is_one_line_and_status_2(cli: Cli, tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    (tmp_path / "empty.csv").write_text("time_ns,op,sector,bytes,flags,pid\n0,F,0,0,0x0,1\n")
    done = cli("advise", "mapcache", *arguments, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("ssdlab: ")
    for word in words:
        assert word in done.stderr


def test_the_advised_settings_fit_a_timed_drive(cli: Cli) -> None:
    given = ("advise", "mapcache", str(ROOT / "traces/varmail.csv.zst"), "--fit=compact", "--set", "cache.policy=lru")
    refused = cli(*given, "--set", "time=event", "--set", "cache.dirty_background=50%", check=False)
    assert 'set it to "serial", and cache.dirty_background to 10%' in refused.stderr
    cli(*given, "--set", "time=serial", "--set", "cache.dirty_background=10%")
