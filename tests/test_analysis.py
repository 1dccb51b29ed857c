"""Workload analysis."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ssdlab
from conftest import ROOT, Cli
from ssdlab.model.requests import BATCH
from ssdlab.view.page import Figure
from ssdlab.view.pages.workload import remarks, tables
from tiers import examples

OLTP = ROOT / "traces" / "oltp.csv.zst"
KINDS = ("read", "write", "trim")

requests = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 300), st.integers(1, 30), st.integers(0, 10**7)), min_size=1
)


def generated(**settings: Any) -> ssdlab.Trace:
    overrides = {f"workload.{name}".replace("__", "."): value for name, value in settings.items()}
    return ssdlab.generate(ssdlab.Config(overrides=overrides))


def by_kind(columns: Any, key: str) -> dict[tuple[int, str], int]:
    counts = {}
    for kind in KINDS:
        for value, count in zip(getattr(columns, key).tolist(), getattr(columns, f"{kind}s").tolist(), strict=True):
            if count:
                counts[value, kind] = count
    return counts


@settings(max_examples=examples(60), deadline=None)
@given(requests)
def test_columns_follow_the_definition(rows: list[tuple[str, int, int, int]]) -> None:
    ops, starts, sizes, gaps = (list(column) for column in zip(*rows, strict=True))
    times = np.cumsum(gaps).tolist()
    trace = ssdlab.Trace.from_columns(
        op=ops, offset=[1536 * start for start in starts], bytes=[512 * size for size in sizes], time_ns=times
    )
    analysis = trace.analyze(range="64KiB")

    ranges = [1536 * start // 65536 for start in starts]
    assert by_kind(analysis.ranges, "first_byte") == Counter((65536 * n, op) for n, op in zip(ranges, ops, strict=True))
    steps = np.diff(ranges).tolist()
    assert by_kind(analysis.deviations, "lower") == Counter(zip(steps, ops[1:], strict=True))
    assert by_kind(analysis.sizes, "lower") == Counter(zip(sizes, ops, strict=True))
    for power in range(9, 14):
        whole = [(1536 * start | 512 * size) % (1 << power) == 0 for start, size in zip(starts, sizes, strict=True)]
        for kind, share in analysis.alignment_shares(1 << power).items():
            own = [test for test, op in zip(whole, ops, strict=True) if op == kind]
            assert share == (np.mean(own) if own else None)
    pages: set[int] = set()
    windows = analysis.windows
    for row, (op, start, size) in enumerate(zip(ops, starts, sizes, strict=True)):
        first, last = 1536 * start // 4096, (1536 * start + 512 * size - 1) // 4096
        touched = set() if op == "trim" else set(range(first, last + 1))
        pages |= touched
        assert (windows.pages[row], windows.pages_so_far[row]) == (len(touched), len(pages))
    assert analysis.footprint_bytes == 4096 * len(pages)
    arrivals = analysis.to_dict()["arrivals"]
    if len(times) > 1:
        assert arrivals["all"]["mean_ns"] == pytest.approx(np.mean(np.diff(times)))
        assert sum(analysis.gaps.all.tolist()) == len(times) - 1
    assert analysis.duration_ns == times[-1] - times[0]


def test_uniform_requests_follow_the_closed_form() -> None:
    """Of N pages, W uniform requests touch N (1 - (1 - 1/N)^W)."""
    analysis = generated(requests=400_000, span="16MiB").analyze()
    whole = analysis.windows.pages[:-1].astype(float)
    expected = 4096 * (1 - (1 - 1 / 4096) ** analysis.window_requests)
    assert abs(whole.mean() / expected - 1) < 0.01
    requests = analysis.windows.first_request[1:].astype(float)
    assert np.allclose(analysis.windows.pages_so_far[:-1], 4096 * (1 - (1 - 1 / 4096) ** requests), atol=150)
    assert analysis.to_dict()["sequential"]["read"]["continuing_share"] < 0.02


def test_streams_and_arrivals_are_recognised() -> None:
    streams = {"requests": 30_000, "pattern": "sequential", "pattern__sequential__streams": 5, "reads": "100%"}
    figures = generated(**streams, arrival__poisson__rate="10k/s").analyze().to_dict()
    sequential = figures["sequential"]["read"]
    assert figures["streams"] == 5
    assert sequential["after_kind_share"] == 0
    assert sequential["after_stream_share"] == sequential["continuing_share"] > 0.999
    assert sequential["concurrent_runs"] == pytest.approx(5, abs=0.01)
    assert (sequential["runs"], sequential["longest_run"]) == (5, 6000)
    assert figures["arrivals"]["all"]["cv"] == pytest.approx(1, abs=0.05)
    assert figures["dispersion"][0]["index"] == pytest.approx(1, abs=0.15)
    # Requests at a single time have no rate and no burstiness.
    closed = generated(**streams).analyze().to_dict()
    assert (closed["requests_per_s"], closed["arrivals"]["all"]["cv"]) == (None, None)
    assert all(scale["index"] is None for scale in closed["dispersion"])


def test_the_random_read_benchmark_needs_no_separate_pattern() -> None:
    trace = generated(requests=20_000, span="1GiB", size="4KiB", align="4KiB", reads="100%", pattern="uniform")
    figures = trace.analyze().to_dict()
    assert figures["requests"] == {"read": 20_000, "write": 0, "trim": 0, "flush": 0}
    assert figures["alignment"]["4096"]["read"] == 1 and figures["alignment"]["8192"]["read"] == 0
    assert 0.999 * 2**30 < figures["extent"]["end_byte"] <= 2**30
    # 262,144 pages, 20,000 draws: 19,256 distinct pages expected, standard deviation 26.
    assert figures["footprint"]["bytes"] / 4096 == pytest.approx(19_256, abs=160)


def test_a_footprint_beyond_the_bound_is_a_marked_estimate() -> None:
    pages = 4_000_000
    column = np.arange(pages, dtype=np.uint64) * np.uint64(65536)
    trace = ssdlab.Trace.from_columns(op=np.ones(pages, np.uint8), offset=column, bytes=np.full(pages, 4096, np.uint32))
    analysis = trace.analyze()
    footprint = analysis.to_dict()["footprint"]
    assert (analysis.sampling, footprint["exact"]) == (2, False)
    assert footprint["standard_error"] == pytest.approx(4 * (2 / pages) ** 0.5, rel=0.01)
    assert abs(footprint["bytes"] / (4096 * pages) - 1) < 3 * footprint["standard_error"]
    assert "are estimated" in remarks(analysis)[0] and "are estimated" in analysis.report_html()
    # All other figures stay exact.
    assert analysis.ranges.writes.sum() == pages and analysis.windows.writes.sum() == pages


def test_too_many_ranges_are_joined() -> None:
    trace = ssdlab.Trace.from_columns(op=["read", "write"], offset=[0, 2**32], bytes=[512, 512])
    analysis = trace.analyze(range="1KiB")
    assert (analysis.range_bytes, analysis.counted_range_bytes) == (1024, 8192)
    assert analysis.ranges.first_byte.tolist() == [0, 2**32]
    assert "counted in ranges of 8.00 KiB" in remarks(analysis)[0]
    step = analysis.deviations
    assert step.lower[0] <= 2**22 < step.upper[0] and step.writes.tolist() == [1]


def test_a_full_last_window_counts_and_a_short_one_may_be_largest() -> None:
    def working_set(*pages: int) -> tuple[float, int]:
        """Windows that touch this many pages each, 0 for a flush."""
        op = ["write" if count else "flush" for count in pages]
        sizes = [count * 4096 for count in pages]
        trace = ssdlab.Trace.from_columns(op=op, offset=np.zeros(len(pages), np.uint64), bytes=sizes)
        touched = trace.analyze().to_dict()["working_set"]
        return touched["mean_bytes"] / 4096, touched["max_bytes"] // 4096

    assert working_set(3) == (3, 3)
    assert working_set(1, 3) == (2, 3)
    assert working_set(0, 3) == (1.5, 3)
    # Windows of two requests each, and a last window of one request.
    assert working_set(*[1] * 512, 5) == (1, 5)


def test_a_file_and_its_requests_have_the_same_analysis() -> None:
    phases = []
    file = ssdlab.TraceFile(OLTP)
    streamed = file.analyze(monitor=lambda phase, *_: phases.append(phase))
    assert set(phases) == {"scan"}
    one, two = streamed.to_dict(), file.load().analyze().to_dict()
    assert {key: one[key] for key in one if key != "source"} == {key: two[key] for key in two if key != "source"}
    profile = file.profile()
    assert one["requests"] == profile["requests"] and one["streams"] == profile["streams"] > 300
    footprints = [one["footprint"][key] for key in ("bytes", "read_bytes", "written_bytes")]
    assert footprints == [profile[f"{name}footprint_bytes"] for name in ("", "read_", "write_")]
    with pytest.raises(KeyboardInterrupt):
        file.analyze(monitor=lambda *_: True)
    part = file.analyze(monitor=lambda _phase, _done, _total, requests: requests > BATCH)
    assert part.partial and not streamed.partial and sum(part.requests.values()) == BATCH
    assert "only the beginning of the trace was read" in part.report_html()


def test_every_key_is_explained() -> None:
    text = (ROOT / "docs" / "analysis.md").read_text(encoding="utf-8")
    figures = ssdlab.TraceFile(OLTP).analyze().to_dict()
    parts = [figures, figures["footprint"], figures["working_set"], figures["extent"], figures["dispersion"][0]]
    parts += [figures[key][kind] for key in ("sequential", "deviation", "sizes", "arrivals") for kind in ("write",)]
    assert [key for part in parts for key in part if f"`{key}`" not in text] == []
    analysis = ssdlab.TraceFile(OLTP).analyze()
    for name in ("ranges", "deviations", "sizes", "alignments", "runs", "gaps", "windows"):
        assert [column for column in getattr(analysis, name)._fields if f"`{column}`" not in text] == []


def test_equal_traces_save_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        generated(requests=5000, arrival__poisson__rate="1k/s").analyze().save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    tables = ("alignments", "deviations", "gaps", "ranges", "runs", "sizes", "windows")
    assert files == sorted(["analysis.json", "report.html", *(f"{table}.parquet" for table in tables)])
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    windows = pyarrow.parquet.read_table(tmp_path / "one" / "windows.parquet").to_pydict()
    assert sum(windows["reads"]) + sum(windows["writes"]) == 5000 and len(windows["pages"]) == 313


def test_the_page_is_self_contained() -> None:
    html = ssdlab.TraceFile(OLTP).analyze().report_html()
    assert html.count("data-chart=") == 8
    for reference in ("<script src", "<link", "@import", "src=", 'href="http'):
        assert reference not in html
    ids = [part.split('"')[0] for part in html.split(' id="')[1:]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("ops", [["read"], ["trim"], ["write", "flush"], ["flush", "write", "trim", "read"]])
def test_the_smallest_traces_have_pages(ops: list[str]) -> None:
    size = [0 if op == "flush" else 1000 for op in ops]
    analysis = ssdlab.Trace.from_columns(op=ops, offset=[0 for _ in ops], bytes=size).analyze()
    figures = [
        item.draw() for section in analysis.page().sections for item in section.items if isinstance(item, Figure)
    ]
    report = analysis.report_html()
    assert len(figures) == 8 and report.count("data-chart=") == sum(not figure.is_empty for figure in figures) >= 6
    assert all(figure.panels[0].empty in report for figure in figures)
    assert analysis.plot_deviations(log=False).axes
    assert tables(analysis)[0].title == "Requests"


def test_the_command_prints_and_writes(cli: Cli, tmp_path: Path) -> None:
    out = cli("trace", "analyze", OLTP, "--range", "64MiB", "--out", "result").stdout
    assert "in ranges of 64.0 MiB" in out and "written to result" in out
    shown = json.loads(cli("trace", "analyze", OLTP, "--range", "64MiB", "--json").stdout)
    assert shown == json.loads((tmp_path / "result" / "analysis.json").read_text())
    shown = shown["result"]
    assert shown["range_bytes"] == 64 << 20
    assert out.startswith(cli("trace", "analyze", OLTP, "--range", "64MiB").stdout)
    assert f"{shown['requests']['write']:,}" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["empty.csv"], ["empty.csv: contains no requests", "use a trace with reads or writes"]),
        (["flushes.csv"], ["flushes.csv: contains only flushes (2)"]),
        (["nothere.csv"], ["nothere.csv", "No such file"]),
        ([str(OLTP), "--range", "0B"], ["range size 0 bytes is invalid; use 512B to 1TiB"]),
        ([str(OLTP), "--range", "0"], ["the unit is missing"]),
        ([str(OLTP), "--out", str(OLTP)], ["is a file; choose another directory"]),
    ],
)
def test_wrong_input_is_one_line_and_status_2(cli: Cli, tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    head = "time_ns,op,sector,bytes,flags,pid\n"
    (tmp_path / "empty.csv").write_text(head)
    (tmp_path / "flushes.csv").write_text(f"{head}0,F,0,0,0x0,1\n5,F,0,0,0x0,1\n")
    done = cli("trace", "analyze", *arguments, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("ssdlab: ")
    for word in words:
        assert word in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.csv", "flushes.csv"]
