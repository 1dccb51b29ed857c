"""Simulated caches: the API, the command line, and the cache as a layer of a run."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import ssdlab
from conftest import ROOT, Cli
from ssdlab import cache
from ssdlab.analyse.cache.planning import PAPER
from ssdlab.analyse.cache.policies import CachePolicy
from ssdlab.view.chart import Line

OLTP = ROOT / "traces" / "oltp.csv.zst"
STACK = ("lru", "mru", "belady")


def built_in() -> list[CachePolicy]:
    """The policies without the plug-ins of other tests in this process."""
    return [policy for policy in cache.policies() if not policy.name.startswith("python:")]


def loop(length: int = 10, rounds: int = 20) -> ssdlab.Trace:
    """Reads of pages 0, 1, ... in order, repeated."""
    pages = np.tile(np.arange(length), rounds)
    return ssdlab.Trace.from_columns(op=["read"] * pages.size, offset=pages * 4096, bytes=[4096] * pages.size)


def skewed(requests: int = 5000) -> ssdlab.Trace:
    """Reads and writes of one to four pages; some pages are much hotter than others."""
    rng = np.random.default_rng(1)
    offset = (rng.pareto(0.8, requests) * 20).astype(np.uint64) % np.uint64(1500) * np.uint64(4096)
    return ssdlab.Trace.from_columns(
        op=rng.choice(["read", "write"], requests), offset=offset, bytes=rng.integers(1, 5, requests) * 4096
    )


def test_dirty_limit_needs_write_back(cli: Cli) -> None:
    done = cli("cache", "sim", ROOT / "traces" / "oltp.csv.zst", "--dirty", "20%", check=False)
    assert done.returncode == 2 and "only write-back caches have a dirty share" in done.stderr


def test_loop_matches_hand_computed_misses() -> None:
    caches = cache.simulate(loop(), ["lru", "mru", "belady"], [9, "40KiB", "5"])
    assert caches.capacities.tolist() == [5, 9, 10] and caches.policies == ("lru", "mru", "belady")
    # LRU misses every page of a loop that exceeds the cache; a cache for the whole loop misses each page once.
    assert caches.misses[0].tolist() == [200, 200, 10]
    assert caches.hits[0].tolist() == [0, 0, 190]
    assert (caches.misses[2] <= caches.misses[1]).all() and caches.misses[2, 0] < 200
    assert caches.bytes_missed is not None and caches.bytes_missed[0, 2] == 10 * 4096
    assert (caches.accesses, caches.items, caches.footprint_units, caches.unit_bytes) == (200, 10, 10, 4096)
    assert caches.pages_written_back is None and "3 policies, 3 sizes" in repr(caches)


@pytest.mark.parametrize("granularity", ["pages", "objects"])
def test_one_pass_equals_simulation(granularity: str) -> None:
    sizes: list[str | int] = [1, 2, 7, 100, "30%", "100%", "150%"]
    curves = cache.mrc(skewed(), STACK, sizes, granularity=granularity)
    simulated = cache.simulate(skewed(), STACK, sizes, granularity=granularity)
    assert curves.methods == ("one pass",) * 3
    assert np.array_equal(curves.capacities, simulated.capacities)
    assert np.array_equal(curves.miss_ratio, simulated.miss_ratio)
    assert not curves.standard_error.any()


def test_sizes_are_simulated_where_no_pass_exists() -> None:
    trims = ssdlab.Trace.from_columns(op=["read", "trim", "read"], offset=[0, 0, 0], bytes=[4096] * 3)
    assert cache.mrc(trims, ["lru"], [1]).methods == ("simulated",)
    assert cache.mrc(trims, ["lru"], [1]).miss_ratio.tolist() == [[1.0]]
    ignored = cache.mrc(trims, ["lru", "arc", "belady:bypass=1"], [1], ignore_trims=True)
    assert ignored.methods == ("one pass", "simulated", "simulated")
    assert ignored.miss_ratio.tolist() == [[0.5], [0.5], [0.5]]
    assert cache.mrc(skewed(), ["lru"], granularity="sized-objects").methods == ("simulated",)


def test_samples_have_a_standard_error() -> None:
    trace = skewed(30_000)
    exact = cache.mrc(trace, ["lru", "arc", "sieve"], ["20%", "50%"])
    sampled = cache.mrc(trace, ["lru", "arc", "sieve"], ["20%", "50%"], sample="50%", replicas=4)
    assert sampled.methods == ("one pass", "sampled", "sampled")
    assert np.array_equal(sampled.miss_ratio[0], exact.miss_ratio[0]) and not sampled.standard_error[0].any()
    assert (sampled.standard_error[1:] > 0).all()
    # Student's t with three degrees of freedom exceeds 12.9 once in a thousand.
    assert (np.abs(sampled.miss_ratio - exact.miss_ratio)[1:] < 12.9 * sampled.standard_error[1:]).all()
    counted = cache.mrc(trace, ["arc"], sample="200")
    assert counted.sample_rate is not None and abs(counted.sample_rate * exact.items / 200 - 1) < 0.2
    assert abs(counted.items / exact.items - 1) < 0.2
    # If a policy is exact, all items are counted.
    assert sampled.items == exact.items and "pages, estimated" not in sampled.report_html()
    assert "pages, estimated" in counted.report_html() and not counted.to_dict()["footprint_exact"]


def test_figures_do_not_depend_on_jobs_or_source() -> None:
    names = [policy.name for policy in built_in()]
    sizes = ["1%", "10%", "50%"]
    one = cache.simulate(OLTP, names, sizes, jobs=1).to_dict()
    assert cache.simulate(ssdlab.TraceFile(OLTP), names, sizes, jobs=5).to_dict() == one
    loaded = cache.simulate(ssdlab.read_trace(OLTP), names, sizes).to_dict()
    assert loaded["caches"] == one["caches"]
    by_policy = {(cell["policy"], cell["capacity_units"]): cell["misses"] for cell in one["caches"]}
    for (name, capacity), misses in by_policy.items():
        assert misses >= by_policy["belady", capacity], name


def test_streaming_caches_equal_waiting_caches() -> None:
    """A share of the footprint is known only at the end of the trace, so all caches wait for it."""
    names = [policy.name for policy in built_in() if not policy.needs_future]
    follow = cache.simulate(skewed(), names, [37, 200])
    for jobs in (1, 3):
        wait = cache.simulate(skewed(), names, [37, 200, "90%"], jobs=jobs)
        assert (wait.misses[:, :2] == follow.misses).all()
        assert (wait.items, wait.accesses) == (follow.items, follow.accesses)
        again = cache.simulate(skewed(), names, [37, 200], jobs=jobs)
        assert (again.misses == follow.misses).all()


def test_a_displayed_size_is_accepted() -> None:
    shown, whole = (cache.simulate(loop(), "lru", size) for size in ("20.1KiB", "20KiB"))
    assert shown.misses.tolist() == whole.misses.tolist()


def test_sizes_may_be_a_list_an_array_or_a_number() -> None:
    one: Any = 7
    listed: Any = np.array([3, 7])
    assert cache.simulate(loop(), "lru", listed).to_json() == cache.simulate(loop(), "lru", [3, 7]).to_json()
    assert cache.simulate(loop(), "lru", [7]).to_json() == cache.simulate(loop(), "lru", one).to_json()


def test_write_back_does_not_change_hits() -> None:
    names = [policy.name for policy in built_in() if not policy.needs_future]
    plain = cache.simulate(skewed(), names, [10, "20%", "200%"])
    back = cache.simulate(skewed(), names, [10, "20%", "200%"], write_back=True)
    assert np.array_equal(plain.hits, back.hits)
    assert back.pages_written_back is not None and back.pages_dirty is not None and back.evictions is None
    # A cache that holds all pages writes back no page.
    assert not back.pages_written_back[:, 2].any() and (back.pages_dirty[:, 2] > 0).all()
    limited = cache.simulate(skewed(), ["lru"], ["20%"], write_back=True, dirty="10%")
    assert limited.pages_written_back is not None and limited.pages_dirty is not None
    assert limited.pages_written_back[0, 0] > back.pages_written_back[names.index("lru"), 1]
    assert limited.pages_dirty[0, 0] <= limited.capacities[0] // 10


def test_writes_with_fua_are_written_through() -> None:
    """Write-backs and write-throughs equal those of a cache above a drive."""
    pages, flags = np.arange(3000) * 7 % 500, np.where(np.arange(3000) % 10 == 0, 8, 0).astype(np.uint8)
    trace = ssdlab.Trace.from_columns(op=["write"] * 3000, offset=pages * 4096, bytes=[4096] * 3000, flags=flags)
    caches = cache.simulate(trace, ["lru"], ["1MiB"], write_back=True)
    assert caches.pages_written_back is not None and caches.pages_written_through is not None
    assert caches.pages_written_through.tolist() == [[300]]
    assert "pages written through (FUA)" in caches._repr_html_()
    below = ssdlab.simulate(layered(time="count"), trace).summary
    assert below["cache"]["counters"]["written_through"] == 300
    assert below["host"]["pages_written"] == int(caches.pages_written_back[0, 0]) + 300


@pytest.mark.parametrize("size", ["10%", "1000"])
def test_the_monitor_stops_a_simulation(size: str) -> None:
    phases: list[str] = []
    cache.simulate(OLTP, ["lru"], [size], monitor=lambda phase, *_: phases.append(phase))
    assert set(phases) == {"scan", "caches"} and phases == sorted(phases, reverse=True)
    with pytest.raises(KeyboardInterrupt):
        cache.simulate(OLTP, ["lru"], [size], monitor=lambda phase, *_: phase == "scan")


@pytest.mark.parametrize("simulated", [cache.simulate, cache.mrc])
def test_finished_caches_are_returned_when_stopped(simulated: Callable[..., Any]) -> None:
    policies, sizes = ["arc", "clock"], ["5%", "10%"]
    whole = simulated(OLTP, policies, sizes)
    assert not whole.partial
    for most, kept in ((1, (1, 1)), (2, (1, 2)), (3, (1, 2))):
        stop: ssdlab.Monitor = lambda phase, done, *_, most=most: phase == "caches" and done >= most  # noqa: E731
        part = simulated(OLTP, policies, sizes, jobs=1, monitor=stop)
        assert part.partial and part.policies == ("arc",) and part.miss_ratio.shape == kept
        assert part.miss_ratio.tolist() == whole.miss_ratio[: kept[0], : kept[1]].tolist()


def test_sized_objects_are_counted_in_bytes() -> None:
    trace = ssdlab.Trace.from_columns(op=["read"] * 4, offset=[0, 8192, 0, 8192], bytes=[4096, 1024, 4096, 1024])
    caches = cache.simulate(trace, ["lru"], ["2KiB", "100%"], granularity="sized-objects")
    assert caches.capacities.tolist() == [2048, 5120] and caches.unit_bytes == 1
    assert caches.misses.tolist() == [[3, 2]]
    assert caches.too_large is not None and caches.too_large.tolist() == [[2, 0]]
    assert caches.byte_miss_ratio is not None and caches.byte_miss_ratio[0, 0] == 9216 / 10240
    assert caches.outgrown is not None and not caches.outgrown.any()


def test_growth_of_a_cached_object_is_missed() -> None:
    sizes = [4096, 8192, 1 << 20, 4096, 4096]
    trace = ssdlab.Trace.from_columns(op=["read"] * 5, offset=[0, 0, 0, 32768, 0], bytes=sizes)
    caches = cache.simulate(trace, ["lru"], ["1000KiB"], granularity="sized-objects")
    lacking = 4096 + (1 << 20) - 4096
    assert caches.hits.tolist() == [[3]] and caches.outgrown is not None and caches.outgrown.tolist() == [[2]]
    assert caches.bytes_outgrown is not None and caches.bytes_outgrown.tolist() == [[lacking]]
    assert caches.bytes_missed is not None and caches.bytes_missed.tolist() == [[8192 + lacking]]
    assert "up to 2 hits per cache requested more bytes than the cached object has" in caches.report_html()
    curves = cache.mrc(trace, ["lru"], ["1000KiB"], granularity="sized-objects")
    assert curves.byte_miss_ratio is not None and curves.byte_miss_ratio[0, 0] == (8192 + lacking) / sum(sizes)
    assert curves.outgrown is not None and curves.outgrown.tolist() == [[2]]
    assert curves.bytes_outgrown is not None and curves.bytes_outgrown.tolist() == [[lacking]]
    assert "up to 2 hits per cache requested more bytes than the cached object has" in curves.report_html()
    whole = cache.mrc(trace, ["lru"], ["1000KiB"], granularity="sized-objects", sample="100%", replicas=2)
    assert "up to about 2 hits per cache requested more bytes than the cached object has" in whole.report_html()
    assert cache.mrc(trace, ["lru"], ["100%"]).outgrown is None


def test_expiry_matches_hand_computed_hits(cli: Cli) -> None:
    # Page 0 is inserted at 0 s and lives for 3 s. The read at 2 s hits without renewing it, the read at 3 s misses and
    # inserts it again, the read at 5 s hits. Page 1 is requested again after 4 s.
    seconds, pages = [0, 1, 2, 3, 5, 5], [0, 1, 0, 0, 0, 1]
    trace = ssdlab.Trace.from_columns(
        op=["R"] * 6, offset=[4096 * page for page in pages], bytes=[4096] * 6, time_ns=[s * 10**9 for s in seconds]
    )
    caches = cache.simulate(trace, ["lru", "sieve"], [2], ttl="3s")
    assert caches.expired is not None and caches.expired.tolist() == [[2], [2]] and caches.hits.tolist() == [[2], [2]]
    assert caches.to_dict()["ttl_s"] == 3 and caches.to_dict()["caches"][0]["expired"] == 2
    # Each page of a request expires separately.
    wide = ssdlab.Trace.from_columns(op=["R"] * 3, offset=[0] * 3, bytes=[8192] * 3, time_ns=[0, 10**9, 4 * 10**9])
    both = cache.simulate(wide, ["lru"], [2], ttl="3s")
    assert both.expired is not None and (both.expired[0, 0], both.hits[0, 0]) == (2, 2)
    ever = cache.simulate(trace, ["lru"], [2])
    assert ever.expired is None and ever.hits.tolist() == [[4]]
    for arguments, words in (
        (["--ttl", "1500ms"], "ttl 1500ms: must be whole seconds from 1s to"),
        (["--ttl", "5"], "5"),
        (["--ttl", "5s", "--write-back"], "write-back caches do not support expiry"),
        (["--ttl", "5s", "--policy", "belady"], "policy belady does not support expiry"),
    ):
        done = cli("cache", "sim", OLTP, *arguments, check=False)
        assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr


def expiring_lru(requests: list[tuple[int, int, int]], capacity: int) -> tuple[int, int]:
    """Returns hits and expired misses of an LRU cache; a request is (millisecond, object, seconds to live)."""
    until: dict[int, float] = {}
    hits = expired = 0
    for millisecond, key, ttl in requests:
        if key in until and until[key] > millisecond:
            hits += 1
            until[key] = until.pop(key)
            continue
        if key in until:
            expired += 1
            del until[key]
        elif len(until) == capacity:
            del until[next(iter(until))]
        until[key] = millisecond + 1000 * ttl if ttl else math.inf
    return hits, expired


def test_requests_carry_times_to_live(cli: Cli, tmp_path: Path) -> None:
    random = Random(5)
    times = sorted(random.randrange(4_000_000) for _ in range(3000))
    requests = [(time, random.randrange(60), random.choice((0, 0, 1, 5, 40, 300))) for time in times]
    expected = [expiring_lru(requests, size) for size in (5, 40)]
    assert min(min(pair) for pair in expected) > 10
    lines = (f"{time},{key},read,100,{ttl or ''}\n" for time, key, ttl in requests)
    (tmp_path / "keys.csv").write_text("".join(lines))
    columns = "time=0:ms,offset=1,op=2,size=3,stream=4"
    asked = ["keys.csv", "--objects", "--columns", columns, "--size", "5,40", "--ttl", "stream"]
    shown = json.loads(cli("cache", "sim", *asked, "--json").stdout)["result"]
    assert [(cell["hits"], cell["expired"]) for cell in shown["caches"]] == expected and shown["ttl_s"] == "stream"
    assert "set by the stream" in cli("cache", "sim", *asked).stdout
    # In memory 0 also means for ever; a single time to live equals the option.
    for name, ttl in ((None, "stream"), (7, "stream"), ("x", "7s")):
        trace = ssdlab.Trace.from_columns(
            op=["read"] * len(requests), offset=[key for _, key, _ in requests], bytes=[100] * len(requests),
            time_ns=[time * 10**6 for time in times],
            stream=[str(of if name is None else name) for *_, of in requests],
        )  # fmt: skip
        caches = cache.simulate(trace, ["lru"], [40], granularity="objects", ttl=ttl)
        assert caches.expired is not None
        alike = expected[1] if name is None else expiring_lru([(second, key, 7) for second, key, _ in requests], 40)
        assert (caches.hits[0, 0], caches.expired[0, 0]) == alike


def test_streams_that_are_no_times_to_live_are_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "named.csv").write_text("0,1,read,100,5s\n")
    (tmp_path / "many.csv").write_text("".join(f"{ttl},1,read,100,{ttl}\n" for ttl in range(1, 65_600)))
    for trace, stream, words in (
        ("named.csv", "", "the trace has no streams; add stream=COLUMN to --columns, where"),
        ("named.csv", ",stream=4", "stream '5s' is not a number of seconds from 0 to 4294967295"),
        ("many.csv", ",stream=4", "more than 65,535 distinct times to live"),
    ):
        columns = "time=0:s,offset=1,op=2,size=3" + stream
        done = cli("cache", "sim", trace, "--objects", "--ttl", "stream", "--columns", columns, check=False)
        assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_saved_caches_equal_the_simulated_ones(tmp_path: Path) -> None:
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    for number, caches in enumerate(
        (cache.simulate(skewed(), ["lru", "arc"], [10, 100]), cache.mrc(skewed(), ["lru", "arc"], sample="50%"))
    ):
        caches.save(tmp_path / str(number))
        saved = tmp_path / str(number)
        assert sorted(path.name for path in saved.iterdir()) == [
            "caches.csv", "caches.json", "caches.parquet", "report.html",
        ]  # fmt: skip
        rows = caches.to_dict()["caches"]
        assert pq.read_table(saved / "caches.parquet").to_pylist() == rows
        assert pc.read_csv(saved / "caches.csv").num_rows == len(rows)
        assert json.loads((saved / "caches.json").read_text())["result"] == json.loads(json.dumps(caches.to_dict()))
        page = (saved / "report.html").read_text()
        assert "Miss ratios" in page and "data-chart=" in page and page == caches.report_html()
        (legend,) = caches.plot().legends
        assert [entry.get_text() for entry in legend.get_texts()] == ["lru", "arc"]


@pytest.mark.parametrize(
    ("policies", "sizes", "more", "message"),
    [
        (["lur"], ["10%"], {}, "unknown policy 'lur'; did you mean lru?"),
        (
            ["lru-k:l=3"],
            ["10%"],
            {},
            "no parameter 'l'; did you mean k?",
        ),
        (["lru:admision=bloom"], ["10%"], {}, "has no parameter 'admision'; did you mean admission?"),
        (["lru:admission=blom"], ["10%"], {}, "unknown admission 'blom'; did you mean bloom?"),
        (["lru:admission.percent=10"], ["10%"], {}, "write lru:admission=probability:admission.percent=10"),
        (["lru:admission=bloom:remembered=5"], ["10%"], {}, "did you mean admission.remembered?"),
        (["lru:admission=bloom:admission.remembred=5"], ["10%"], {}, "did you mean admission.remembered?"),
        (["lru:admission=bloom:admission.remembered=x"], ["10%"], {}, "use admission.remembered=1048576"),
        (["lru-k:k=99"], ["10%"], {}, "must be from 1 to 16"),
        (["lru-k:k"], ["10%"], {}, "is not NAME=NUMBER"),
        (["lru", "lru"], ["10%"], {}, "listed twice"),
        ([], ["10%"], {}, "no policy to simulate"),
        (["lru"], [], {}, "no cache size to simulate"),
        (["lru"], ["1KiB"], {}, "a cache of 1KiB is smaller than one page of 4KiB"),
        (["lru"], ["0"], {}, "a cache of 0 is smaller than one page"),
        (["lru"], ["0.1%"], {}, "a cache of 0.1% of 10 pages is smaller than one item"),
        (["lru"], ["10MB%"], {}, "is not a percentage"),
        (["lru"], ["ten"], {}, "is not a size"),
        (["lru"], ["1KiB"], {"granularity": "objects"}, "a cache of 1KiB needs object sizes"),
        (["lru"], ["10"], {"granularity": "sized-objects"}, "object sizes differ"),
        (["lirs"], ["10%"], {"granularity": "sized-objects"}, "supports only items of equal size"),
        (["lru"], ["10%"], {"granularity": "page"}, "did you mean pages?"),
        (["lru"], ["10%"], {"page": "3KiB"}, "use a power of two"),
        (["lru"], ["10%"], {"jobs": 0}, "jobs must be at least 1, not 0"),
        (["lru"], ["10%"], {"jobs": 1025}, "jobs must be from 1 to 1024, not 1025"),
        (["belady"], ["10%"], {"write_back": True}, "needs future accesses, so it does not support write-back"),
        (["lru"], ["10%"], {"write_back": True, "granularity": "objects"}, "write-back caches support only pages"),
        (["lru"], ["10%"], {"write_back": True, "ignore_trims": True}, "drops trimmed pages; do not ignore trims"),
        (["lru"], ["10%"], {"dirty": "101%", "write_back": True}, "is above 100%"),
        (["lru"], ["10%"], {"dirty": "12.5%", "write_back": True}, "is not a whole percentage"),
    ],
)
def test_impossible_caches_are_named(policies: list[str], sizes: list[str], more: dict[str, Any], message: str) -> None:
    with pytest.raises(ssdlab.ConfigError) as error:
        cache.simulate(loop(), policies, sizes, **more)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_impossible_samples_are_named() -> None:
    for more, message in (
        ({"sample": "0%"}, "must be above 0%"),
        ({"sample": "0.5"}, 'write "0.5%", or "50%" if you mean a fraction'),
        ({"sample": "1%", "replicas": 1}, "must be from 2 to 64"),
        ({"sample": "3", "replicas": 8}, "is too small for 8 replicas"),
    ):
        with pytest.raises(ssdlab.ConfigError, match=message):
            cache.mrc(loop(), ["arc"], **more)
    flush = ssdlab.Trace.from_columns(op=["flush"], offset=[0], bytes=[0])
    with pytest.raises(ssdlab.TraceError, match="1 request in memory: the trace has no reads and no writes"):
        cache.mrc(flush)


@pytest.mark.parametrize("command", [["sim", "--policy", "lru", "--size", "1MiB"], ["mrc", "--policy", "lru"]])
def test_a_trace_without_cacheable_requests_is_reported(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "trims.csv").write_text("time_ns,op,sector,bytes\n0,D,0,4096\n5,X,0,4096\n")
    done = cli("cache", command[0], "trims.csv", *command[1:], check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith("ssdlab: trims.csv: the trace has no reads and no writes (unknown op: 1 record ")
    assert done.stderr.endswith("so there is nothing to cache; use a trace with reads or writes\n")


def test_the_commands_print_and_save(cli: Cli, tmp_path: Path) -> None:
    asked = ["cache", "sim", str(OLTP), "--policy", "lru,s3-fifo:small=20", "--size", "1MiB,10%"]
    out = cli(*asked, "--out", str(tmp_path / "sim")).stdout
    shown = json.loads(cli(*asked, "--json").stdout)
    for cell in shown["result"]["caches"]:
        assert f"{100 * cell['miss_ratio']:.2f} %" in out and f"{cell['hits']:,}" in out
    assert "written to" in out and (tmp_path / "sim" / "report.html").exists()
    assert "pages written back" in cli(*asked, "--write-back").stdout
    curves = cli("cache", "mrc", str(OLTP), "--policy", "lru,arc", "--sample", "20%", "--out", str(tmp_path / "mrc"))
    assert "one pass" in curves.stdout and "±" in curves.stdout and (tmp_path / "mrc" / "caches.csv").exists()
    listed = " ".join(cli("list", "caches", "--all").stdout.split())
    for policy in built_in():
        assert f"{policy.name} {policy.help}" in listed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sim", "nothere.csv"], "No such file"),
        (["sim", str(OLTP), "--policy", "arcs"], "did you mean arc?"),
        (["sim", str(OLTP), "--size", "1KiB"], "is smaller than one page of 4KiB"),
        (["sim", str(OLTP), "--objects", "--sized-objects"], "only one of"),
        (["sim", str(OLTP), "--sized-objects", "--policy", "arc"], "supports only items of equal size"),
        (["mrc", str(OLTP), "--sample", "101%"], "must be above 0% and at most 100%"),
        (["mrc", str(OLTP), "--replicas", "4"], "replicas need a sample; set a sample such as 1%"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(cli: Cli, tmp_path: Path, arguments: list[str], words: str) -> None:
    done = cli("cache", *arguments, "--out", str(tmp_path / "out"), check=False)
    assert done.returncode == 2 and done.stdout == "" and words in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "out").exists()


def layered(**overrides: Any) -> ssdlab.Config:
    """A small drive with a cache above it."""
    return ssdlab.Config(
        "tlc-chip",
        overrides={
            "device.capacity": "64MiB",
            "cache.policy": "lru",
            "cache.size": "1MiB",
            "cache.dirty": "100%",
            "check": "true",
            **{key.replace("__", "."): value for key, value in overrides.items()},
        },
    )


@pytest.mark.parametrize("time", ["count", "serial", "event"])
def test_a_cache_above_the_drive_hits_as_a_cache_alone(time: str) -> None:
    # Background write-back exists only with time.
    ahead = {"cache__dirty_background": "100%"} if time == "event" else {}
    result = ssdlab.simulate(layered(time=time, **ahead), skewed())
    alone = cache.simulate(skewed(), ["lru"], ["1MiB"], write_back=True)
    summary = result.summary["cache"]
    assert (summary["hits"], summary["misses"]) == (int(alone.hits[0, 0]), int(alone.misses[0, 0]))
    assert alone.pages_written_back is not None and alone.pages_dirty is not None
    assert summary["written_back"] == int(alone.pages_written_back[0, 0])
    assert summary["dirty_pages"] == int(alone.pages_dirty[0, 0])
    assert summary["requests"] == 5000 and 0 < summary["served"] < 5000
    host = result.summary["host"]
    assert host["bytes_written"] == 4096 * summary["written_back"]
    assert host["bytes_read"] == 4096 * (summary["counters"]["read_pages"] - summary["counters"]["read_hits"])
    assert (summary["mean_ns"] is None) == (time == "count")
    assert result.summary["check"]["page_reads_checked"] > 0


def test_a_useless_cache_changes_nothing() -> None:
    plain = ssdlab.Config("tlc-chip", overrides={"device.capacity": "64MiB", "time": "event"})
    trace = skewed()
    without = ssdlab.simulate(plain, trace)
    assert without.summary["cache"] is None
    # A write-through cache of one page only affects pages used twice, and there are none.
    once = ssdlab.Trace.from_columns(op=["write"] * 500, offset=np.arange(500) * 4096, bytes=[4096] * 500)
    through = plain.with_overrides(
        {"cache.policy": "fifo", "cache.size": "4KiB", "cache.writes": "through", "cache.copy": "0ns"}
    )
    left, right = (ssdlab.simulate(config, once).summary for config in (plain, through))
    assert right["cache"]["hits"] == 0 and right["cache"]["misses"] == 500
    # Findings may mention the cache.
    beside = {"cache", "diagnosis"}
    assert {key: value for key, value in left.items() if key not in beside} == {
        key: value for key, value in right.items() if key not in beside
    }


def test_copies_take_time() -> None:
    times = {}
    for copy in ("0ns", "10us"):
        config = layered(time="serial", cache__copy=copy)
        times[copy] = ssdlab.simulate(config, skewed()).summary["cache"]
    pages = times["0ns"]["hits"] + times["0ns"]["misses"]
    assert (times["0ns"]["cache_ns"], times["10us"]["cache_ns"]) == (0, 10_000 * pages)
    assert times["10us"]["mean_ns"] - times["0ns"]["mean_ns"] == pytest.approx(10_000 * pages / 5000)
    # In an open loop, copies wait for each other.
    two = ssdlab.Trace.from_columns(op=["write"] * 2, offset=[0, 4096], bytes=[4096] * 2, time_ns=[0, 0])
    summary = ssdlab.simulate(layered(time="serial", host__replay="open", cache__copy="10us"), two).summary["cache"]
    assert summary["cache_ns"] == 30_000 and summary["served"] == 2


def test_timed_figures_are_the_hosts() -> None:
    result = ssdlab.simulate(layered(time="event"), skewed())
    summary, columns = result.summary, skewed().columns()
    time, below = summary["time"], summary["cache"]["below"]
    for code, op in enumerate(("read", "write")):
        asked = columns["bytes"][columns["op"] == code]
        assert summary["latency"][op]["count"] == len(asked) == result.series[f"{op}_requests"].sum()
        rate = time["bytes_read_per_s" if op == "read" else "bytes_written_per_s"]
        assert rate == pytest.approx(int(asked.sum()) / time["elapsed_ns"] * 1e9)
    assert summary["latency"]["all"]["mean_ns"] == summary["cache"]["mean_ns"]
    assert time["iops"] == pytest.approx(5000 / time["elapsed_ns"] * 1e9) and result.iops == time["iops"]
    assert (below["latency"]["read"]["count"], below["latency"]["write"]["count"]) == (
        summary["host"]["read_requests"],
        summary["host"]["write_requests"],
    )
    assert below["bytes_read_per_s"] == pytest.approx(summary["host"]["bytes_read"] / time["elapsed_ns"] * 1e9)
    waits = summary["cache"]["waits"]
    parts = waits["drive_ns"] + waits["limit_ns"] + summary["cache"]["cache_ns"]
    assert parts == pytest.approx(5000 * summary["cache"]["mean_ns"])


def test_latency_curves_above_a_cache_have_no_drive_waits() -> None:
    def labels(**overrides: Any) -> list[str]:
        chart = ssdlab.simulate(layered(time="event", **overrides), skewed()).plot_latency_percentiles.chart()
        lines = [mark for mark in chart.panels[0].marks if isinstance(mark, Line)]
        assert all((line.intervals is None) == ("cache__policy" not in overrides) for line in lines)
        return [line.name for line in lines]

    assert labels() == ["read", "write"]
    assert "read, waiting" in labels(cache__policy="none")


def test_a_larger_cache_serves_the_host_faster() -> None:
    """Fewer requests reach the drive, but they include write-backs, which take longer."""
    cases = {size: layered(time="event", cache__size=size, cache__dirty="20%") for size in ("1MiB", "4MiB")}
    small, large = (ssdlab.simulate(config, skewed()) for config in cases.values())
    assert large.summary["time"]["elapsed_ns"] < small.summary["time"]["elapsed_ns"]
    assert (large.iops or 0) > (small.iops or 0)
    assert large.summary["latency"]["all"]["mean_ns"] < small.summary["latency"]["all"]["mean_ns"]
    diagnosis = ssdlab.diagnose(cases["1MiB"], skewed())
    tried = next(what_if for what_if in diagnosis.to_dict()["what_ifs"] if what_if["name"] == "cache")
    assert tried["after"]["iops"] > tried["before"]["iops"] == small.iops


@pytest.mark.parametrize("time", ["serial", "event"])
def test_figures_below_the_cache_are_labelled(cli: Cli, time: str) -> None:
    drive = [
        "--preset",
        "tlc-chip",
        "--set",
        "device.capacity=64MiB",
        "--set",
        f"time={time}",
        "--set",
        "workload.requests=3000",
    ]
    run = [*drive, "--workload", "uniform", "--set", "cache.policy=lru", "--set", "cache.size=1MiB"]
    plain, out = (cli("run", *drive, "--workload", "uniform", "--all").stdout, cli("run", *run, "--all").stdout)
    cases = ("--case", "small: cache.size=1MiB", "--case", "large: cache.size=4MiB")
    compared = cli("compare", *run, *cases, "--all").stdout
    assert "elow the cache" not in plain and "above the cache" not in plain
    below = {"Below the cache", "Lifetime, below the cache"}
    below |= {"Speed, below the cache"} if time == "serial" else {"Drive, below the cache"}
    for shown in (out, compared):
        assert all(title in shown for title in below)
        assert ("for host requests, above the cache" in " ".join(shown.split())) == (time == "event")
    if time == "event":
        diagnosed = cli("diagnose", *run, "--no-what-ifs", "--all").stdout
        together = " ".join(diagnosed.split())
        assert "host requests spend " in together and "requests outstanding below the cache" in together
        assert "Parts of response times, below the cache" in diagnosed
        slow = [line for line in diagnosed.splitlines() if ". slow " in line]
        assert slow and all(" below the cache: " in line for line in slow)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
@pytest.mark.parametrize("share", [0.25, 0.75])
def test_even_requests_take_the_planned_time(codec: str, share: float) -> None:
    """The defaults are the document's values, so the mean time of a request equals the document's formula."""
    config = ssdlab.Config(
        "tlc-chip",
        overrides={
            "device.capacity": "256MiB",
            "workload.pattern": "uniform",
            "workload.reads": "100%",
            "workload.requests": 400_000,
            "cache.policy": "lru",
            "cache.size": "32MiB",
            "cache.copy": "0ns",
            "cache.compressed": f"{100 * share}%",
            "cache.codec": codec,
        },
    )
    summary = ssdlab.simulate(config).summary
    device_us = summary["latency"]["read"]["mean_ns"] / 1000
    asked = {"distribution": "even", "compressors": [PAPER[codec]], "device_us": device_us, "share": share}
    plan = cache.plan("32MiB", "256MiB", page="4KiB", **asked)
    expected = next(choice for choice in plan.choices if choice.model == "document")
    # The cache starts empty, which costs about 20,000 of 400,000 requests some of their hits.
    assert summary["cache"]["mean_ns"] / 1000 == pytest.approx(expected.us, rel=0.01)
    assert summary["cache"]["pools"]["ratio"] == pytest.approx(PAPER[codec].ratio, rel=0.01)


@pytest.mark.parametrize("time", ["count", "serial", "event"])
def test_pages_of_both_pools_add_up(time: str) -> None:
    # Requests that are issued one after the other do not wait for each other's pages.
    one = {"host__replay__closed__queue_depth": 1}
    config = layered(time=time, cache__compressed="50%", cache__incompressible="20%", **one)
    summary = ssdlab.simulate(config, skewed()).summary["cache"]
    pools, counters = summary["pools"], summary["counters"]
    moved = pools["transitions"]
    assert pools["raw_hits"] + pools["compressed_hits"] == summary["hits"]
    assert summary["hits"] + summary["misses"] == counters["read_pages"] + counters["written_pages"]
    kept = moved["compressed"]
    left = moved["compressed_hits"] + moved["compressed_overwritten"] + moved["compressed_dropped"]
    assert kept == left + moved["compressed_trimmed"] + pools["compressed_pages"]
    assert pools["compressions"] == kept + moved["incompressible_dropped"] + moved["raw_dropped"]
    assert min(moved["incompressible_dropped"], moved["compressed_dropped"], moved["compressed_overwritten"]) > 0
    assert (pools["raw_capacity_pages"], pools["compressed_capacity_bytes"]) == (128, 512 << 10)
    assert pools["compress_ns"] == 2_000 * pools["compressions"] and pools["restore_ns"] == 1_000 * moved["restored"]
    copied = 1_000 * (summary["hits"] + summary["misses"])
    assert summary["cache_ns"] == copied + pools["compress_ns"] + pools["restore_ns"]


def test_a_pool_that_keeps_nothing_is_a_smaller_raw_cache() -> None:
    half = layered(cache__size="512KiB")
    nothing = layered(cache__compressed="50%", cache__incompressible="100%")
    raw, both = (ssdlab.simulate(config, skewed()).summary for config in (half, nothing))
    assert both["cache"]["counters"] == raw["cache"]["counters"] and both["host"] == raw["host"]
    assert both["cache"]["pools"]["compressions"] == both["cache"]["pools"]["transitions"]["incompressible_dropped"] > 0
    assert raw["cache"]["pools"]["compressions"] == 0 == raw["cache"]["pools"]["compressed_capacity_bytes"]


def test_compare_shows_both_pools(cli: Cli) -> None:
    drive = [
        "--preset",
        "tlc-chip",
        "--set",
        "device.capacity=64MiB",
        "--set",
        "cache.policy=lru",
        "--set",
        "cache.size=1MiB",
    ]
    cases = ["--case", "raw: cache.compressed=0%", "--case", "half: cache.compressed=50%"]
    out = cli("compare", "--workload", "uniform", "--set", "workload.requests=2000", *drive, *cases, "--all").stdout
    for row in ("raw hits", "compressed hits", "pages decompressed", "pages compressed", "time decompressing"):
        assert row in out


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"cache.policy": "lur"}, "did you mean"),
        ({"cache.policy": "belady"}, "cache.policy"),
        ({"cache.policy": "lru", "cache.size": "2KiB"}, "2KiB is less than a page"),
        ({"cache.policy": "lru", "cache.page": "3KiB"}, "3KiB is not a power of two; set it to 2KiB"),
        ({"cache.policy": "lru", "cache.dirty": "2.5%"}, "is not a whole percentage"),
        (
            {"cache.policy": "lru", "cache.dirty_background": "5%", "time": "serial"},
            "cache.dirty_background: a value other than the default needs time = ",
        ),
        ({"cache.policy": "lru-k", "cache.policy.lru-k.k": "99"}, "cache.policy.lru-k.k"),
        ({"cache.policy": "lru", "cache.compressed": "100%"}, "100% of 16384 pages leaves no raw page"),
        ({"cache.policy": "lru", "cache.compressed": "0.001%"}, "0.001% of 16384 pages is less than one page; set it"),
        (
            {"cache.policy": "lru", "cache.compressed": "9%", "cache.codec.zstd.ratio": "1.1", "cache.spread": "0%"},
            "cache.codec.zstd.ratio: pages compress to 90.9% at best",
        ),
        ({"cache.policy": "lru", "cache.compressed_policy": "arc"}, "is not one of fifo"),
    ],
)
def test_an_impossible_cache_above_a_drive_is_named(overrides: dict[str, str], message: str) -> None:
    with pytest.raises(ssdlab.ConfigError) as error:
        ssdlab.simulate(
            ssdlab.Config("tlc-chip", overrides={"device.capacity": "64MiB", "workload.requests": 10, **overrides})
        )
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "columns", "items", "hits"),
    [
        # A B A D D B: the second A and the second D hit; D evicted B.
        ("0,A,8371\n3,B,31\n4,A,8371\n5,D,15572\n6,D,15572\n7,B,31\n", "time=0,op=R,offset=1,size=2", 3, 2),
        # The same with the first D as a trim (2): only the second A hits.
        ("1,A,8371\n1,B,31\n1,A,8371\n2,D,15572\n1,D,15572\n0,B,31\n", "op=0,offset=1,size=2", 3, 1),
        # Twitter: 17 18 17 18 18 18 (delete 17) 17; the first 17 and 18 miss, and 17 after its delete.
        (
            "0,17,213,get,0\n0,18,27,get,0\n0,17,213,gets,0\n1,18,0,set,3600\n2,18,27,add,0\n3,18,27,incr,0\n"
            "4,17,0,delete,0\n5,17,213,get,0\n",
            "time=0:s,offset=1,size=2,op=3,stream=4", 2, 4,
        ),
        # CacheLib: a a b b b b; the first a and b miss.
        (
            "key,op,size,op_count,key_size\na,SET,82,1,40\na,GET,0,1,40\nb,SET,208,1,63\nb,GET,0,3,63\n",
            "op=op,offset=key,size=size,repeat=op_count", 2, 4,
        ),
        # webcachesim has no operations: 71 72 71.
        ("1 71 5000\n2 72 20\n3 71 5000\n", "time=0:s,offset=1,size=2,op=R", 2, 1),
        # Objects of size 0 count too: 1 2 1 1.
        ("1,0\n2,0\n1,0\n1,10\n", "op='R',offset=0,size=1", 2, 2),
    ],
)  # fmt: skip
def test_traces_of_other_caches_are_read(tmp_path: Path, text: str, columns: str, items: int, hits: int) -> None:
    """An LRU cache of two objects; hits by hand."""
    (tmp_path / "keys.txt").write_text(text)
    trace = ssdlab.TraceFile(tmp_path / "keys.txt", columns=columns)
    caches = cache.simulate(trace, ["lru"], [2], granularity="objects")
    assert (caches.items, caches.hits[0, 0]) == (items, hits)


def test_text_keys_are_objects_only(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "keys.csv").write_text("R,A,10\nR,B,10\nR,A,10\n")
    columns = ["--columns", "op=0,offset=1,size=2"]
    done = cli("run", "keys.csv", *columns, check=False)
    assert (
        done.returncode == 2 and 'keys.csv:1: field "offset": "A" is not a whole number; for text keys' in done.stderr
    )
    cli("trace", "convert", "keys.csv", "keys.bin", "--to", "oracle-general", *columns)
    text, binary = (
        json.loads(cli("cache", "sim", *given, "--objects", "--size", "1,2", "--json").stdout)["result"]["caches"]
        for given in (["keys.csv", *columns], ["keys.bin"])
    )
    assert text == binary
