"""Write intervals, as a library and on the command line."""

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ssdlab
from conftest import ROOT, Cli, without_progress
from forked import PATIENCE_SECONDS
from tiers import examples

OLTP = ROOT / "traces" / "oltp.csv.zst"


def test_too_many_pages_for_memory_are_one_clear_error(tmp_path: Path) -> None:
    """Each write of 4 GiB in pages of 512 bytes needs 200 MB."""
    size = (1 << 32) - (1 << 12)
    writes = ssdlab.Trace.from_columns(op=["write"] * 40, offset=[at << 32 for at in range(40)], bytes=[size] * 40)
    writes.save(tmp_path / "t.csv")
    most = 1 << 30
    done = subprocess.run(
        [sys.executable, "-m", "ssdlab", "trace", "intervals", "t.csv", "--page", "512B"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )  # fmt: skip
    (told,) = without_progress(done.stderr).splitlines()
    assert done.returncode == 2 and told.startswith("ssdlab: not enough memory for the write intervals; use larger")


def trace_of(ops: list[str], pages: list[int], counts: list[int]) -> ssdlab.Trace:
    return ssdlab.Trace.from_columns(
        op=ops, offset=[page * 4096 for page in pages], bytes=[count * 4096 for count in counts]
    )


def uniform(requests: int, pages: int) -> ssdlab.Trace:
    overrides: dict[str, Any] = {
        "workload.requests": requests,
        "workload.reads": "0%",
        "workload.span": f"{4 * pages}KiB",
    }
    return ssdlab.generate(ssdlab.Config(overrides=overrides))


requests = st.lists(
    st.tuples(st.sampled_from(["read", "write", "trim"]), st.integers(0, 40), st.integers(1, 9)), min_size=1
)


@settings(max_examples=examples(60), deadline=None)
@given(requests, st.lists(st.integers(1, 60), min_size=1, max_size=3))
def test_counts_follow_the_definition(rows: list[tuple[str, int, int]], logs: list[int]) -> None:
    trace = trace_of(*map(list, zip(("write", 0, 1), *rows, strict=True)))
    writes = [page + step for op, page, count in [("write", 0, 1), *rows] if op == "write" for step in range(count)]
    intervals: list[int] = []
    by_page: dict[int, list[int]] = {page: [] for page in writes}
    for at, page in enumerate(writes):
        before = [other for other in range(at) if writes[other] == page]
        if before:
            intervals.append(at - before[-1])
            by_page[page].append(intervals[-1])
    means = [np.mean(own) for own in by_page.values() if own]

    analysed = trace.intervals(logs=[str(log) for log in logs])
    assert (analysed.page_writes, analysed.written_pages) == (len(writes), len(by_page))
    assert analysed.windows.log_pages.tolist() == logs
    for index, log in enumerate(logs):
        for values, of, whole in ((intervals, "writes", len(writes)), (means, "pages", len(by_page))):
            hot, warm = sum(value <= log for value in values), sum(log < value <= 2 * log for value in values)
            columns = analysed.windows._asdict()
            row = [columns[f"{name}_{of}"][index] for name in ("hot", "warm", "cold")]
            assert row == [hot, warm, whole - hot - warm]
    # Below 128, each histogram step is one interval.
    exact = dict(zip(*np.unique([value for value in intervals if value < 128], return_counts=True), strict=True))
    steps = zip(analysed.histogram.lower, analysed.histogram.writes, strict=True)
    assert {lower: count for lower, count in steps if lower < 128} == exact
    assert analysed.histogram.writes.sum() == len(intervals)
    times, pages = np.unique([writes.count(page) for page in by_page], return_counts=True)
    assert analysed.frequency.writes.tolist() == times.tolist() and analysed.frequency.pages.tolist() == pages.tolist()
    assert analysed.time_address.sum() == len(writes)


def test_uniform_writes_follow_the_closed_form() -> None:
    pages = 2000
    intervals = uniform(400_000, pages).intervals(logs=["5%", "25%", "100%"])
    invalidated = intervals.windows.hot_writes / intervals.page_writes
    # One in 200 writes is the first write of its page; the statistical error is below 0.1 %.
    assert np.allclose(invalidated, 1 - (1 - 1 / pages) ** intervals.windows.log_pages.astype(float), atol=0.008)
    log_pages, share = intervals.curve()
    assert np.allclose(share, 1 - (1 - 1 / pages) ** log_pages.astype(float), atol=0.008)
    assert share[0] == 0 and (np.diff(share) > 0).all()
    most, writes = intervals.concentration()
    assert most[-1] == writes[-1] == 1 and (writes >= most - 1e-12).all()


def test_the_page_size_is_the_requested_one() -> None:
    trace = trace_of(["write"] * 3, [0, 1, 2], [1, 1, 1])
    assert trace.intervals(page="8KiB", logs=["1"]).windows.hot_writes.tolist() == [1]
    small = trace.intervals(page="1KiB", logs=["50%", "16KiB"])
    assert (small.page_writes, small.windows.log_pages.tolist()) == (12, [6, 16])
    assert small.windows.cold_pages.tolist() == [12, 12]


def test_a_file_and_its_requests_have_the_same_intervals(tmp_path: Path) -> None:
    phases = []
    file = ssdlab.TraceFile(OLTP)
    streamed = file.intervals(monitor=lambda phase, *_: phases.append(phase))
    assert sorted(set(phases)) == ["count", "scan"]
    loaded = file.load().intervals()
    assert streamed.to_dict()["logs"] == loaded.to_dict()["logs"]
    assert np.array_equal(streamed.time_address, loaded.time_address)
    with pytest.raises(KeyboardInterrupt):
        file.intervals(monitor=lambda *_: True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"logs": ["0"]}, "a log of 0 pages is smaller than a page"),
        ({"logs": ["1%"]}, "a log of 1% of 2 written pages is smaller than a page of 4.00 KiB; use at least 1 page"),
        ({"logs": ["ten"]}, "'ten' is not a log size"),
        ({"page": "100B"}, "use 512B to 1GiB"),
        ({"page": "4"}, "the unit is missing"),
    ],
)
def test_impossible_sizes_are_named(arguments: dict[str, Any], message: str) -> None:
    trace = trace_of(["write", "write"], [0, 5], [1, 1])
    with pytest.raises(ssdlab.TraceError) as error:
        trace.intervals(**arguments)
    assert message in str(error.value).replace('"', "'")


def test_equal_traces_save_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        uniform(5000, 100).intervals().save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == [
        "frequency.parquet",
        "intervals.json",
        "intervals.parquet",
        "report.html",
        "time_address.parquet",
        "windows.parquet",
    ]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    cells = pyarrow.parquet.read_table(tmp_path / "one" / "time_address.parquet").to_pydict()
    assert sum(cells["writes"]) == 5000 and len(cells["writes"]) == 256 * 100
    assert cells["first_page"][:100] == list(range(100)) and cells["page_writes"][-1] == 4981


def test_the_page_is_self_contained() -> None:
    html = uniform(5000, 100).intervals().report_html()
    assert html.count("data-chart=") == 5
    for reference in ("<script src", "<link", "@import", "src=", 'href="http'):
        assert reference not in html
    ids = [part.split('"')[0] for part in html.split(' id="')[1:]]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("pages", [[0], [7, 9], [3, 3, 3]])
def test_the_smallest_traces_have_pages(pages: list[int]) -> None:
    intervals = trace_of(["write"] * len(pages), pages, [1] * len(pages)).intervals(logs=["1", "100%"])
    report, overwritten = intervals.report_html(), pages == [3, 3, 3]
    assert report.count("data-chart=") == (5 if overwritten else 4)
    assert ("No page was written twice." in report) != overwritten
    assert intervals.to_dict()["logs"][0]["hot_writes"] == (2 if pages == [3, 3, 3] else 0)


def test_the_command_prints_and_writes(cli: Cli, tmp_path: Path) -> None:
    cli("trace", "generate", "hot.csv", "-w", "hot_cold", "-s", "workload.requests=20000", "-s", "workload.span=16MiB")
    logs = ["--log", "10%,1MiB,64"]
    out = cli("trace", "intervals", "hot.csv", *logs, "--out", "result").stdout
    assert "second chance" in out and "written to result" in out
    shown = json.loads(cli("trace", "intervals", "hot.csv", *logs, "--json").stdout)
    assert shown == json.loads((tmp_path / "result" / "intervals.json").read_text())
    shown = shown["result"]
    assert [log["log"] for log in shown["logs"]] == ["10%", "1MiB", "64"]
    assert [log["log_pages"] for log in shown["logs"]][1:] == [256, 64]
    for log in shown["logs"]:
        assert f"{100 * log['invalidated_share']:.2f} %" in out
    assert out.startswith(cli("trace", "intervals", "hot.csv", *logs).stdout)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["reads.csv"], ["reads.csv: has no write intervals, because it contains no writes"]),
        (["nothere.csv"], ["nothere.csv", "No such file"]),
        (["reads.csv", "--log", "0"], ["contains no writes"]),
        ([str(OLTP), "--log", "10%,0"], ["is smaller than a page"]),
        ([str(OLTP), "--log", "10%,"], ["is not a log size"]),
        ([str(OLTP), "--page", "4"], ["the unit is missing"]),
        ([str(OLTP), "--out", str(OLTP)], ["is a file; choose another directory"]),
    ],
)
def test_wrong_input_is_one_line_and_status_2(cli: Cli, tmp_path: Path, arguments: list[str], words: list[str]) -> None:
    (tmp_path / "reads.csv").write_text("time_ns,op,sector,bytes,flags,pid\n0,R,0,4096,0x0,1\n")
    done = cli("trace", "intervals", *arguments, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("ssdlab: ")
    for word in words:
        assert word in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["reads.csv"]
