"""The report of a run in a real browser: charts show the columns, share a time range, and need no network."""

import csv
import gzip
import hashlib
import io
import json
import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ssdlab
from browser import Shown, browser, check_for_everybody, window
from ssdlab.view import explore
from ssdlab.view.pages.diagnosis import PARTS

__all__ = ["browser", "window"]

BUSY = {
    "device.capacity": "64MiB",
    "device.reserve": "extra",
    "workload.requests": 6_000,
    "gantt.window.from": "100ms",
    "gantt.window.length": "2ms",
}


@pytest.fixture(scope="module")
def result() -> ssdlab.Result:
    return ssdlab.simulate(ssdlab.Config("small-tlc", overrides=BUSY))


@pytest.fixture(scope="module")
def written(result: ssdlab.Result, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "report.html"
    path.write_text(result.report_html(), encoding="utf-8")
    return path


@pytest.fixture
def report(window: Any, written: Path) -> Iterator[Any]:
    """The page of the report."""
    shown = Shown(window, written)
    yield window
    shown.leave()


def number_of(page: Any, heading: str) -> int:
    """Number of the chart with this heading."""
    at: int = page.evaluate("(label) => drawn.findIndex(({ element }) => element.ariaLabel === label)", heading)
    assert at >= 0, heading
    return at


def test_charts_show_the_columns(report: Any, result: ssdlab.Result) -> None:
    page = report
    at = number_of(page, "Write amplification over time")
    rows = list(csv.reader(io.StringIO(page.evaluate("(at) => csv(drawn[at].chart)", at))))
    each = np.array([row[1:] for row in rows[1 : len(result.series["time_ns"]) + 1]], dtype=object)
    assert rows[0] == ["each epoch", "simulated time (ms)", "write amplification (WAF)"]
    flash, host = (result.series[name] for name in ("flash_pages_programmed", "host_pages_written"))
    shown = np.array([float(y) if y else np.nan for y in each[:, 1]])
    assert shown == pytest.approx(np.where(host > 0, flash / np.maximum(host, 1), np.nan), rel=1e-5, nan_ok=True)
    assert each[:, 0].astype(float) == pytest.approx(result.series["time_ns"] / 1e6, rel=1e-5)
    # Also as drawn.
    points = page.evaluate("(at) => drawn[at].plot.getModel().getSeriesByIndex(1).getData().count()", at)
    assert points == len(host)


def tables(page: Any, heading: str) -> list[list[list[str]]]:
    """Rows that "Save CSV" writes for the chart with this heading: each table begins with its headings."""
    written = page.evaluate("(at) => csv(drawn[at].chart)", number_of(page, heading))
    return [[*csv.reader(io.StringIO(word))] for word in written.split("\n\n")]


def test_a_saved_figure_names_its_rows(report: Any, result: ssdlab.Result) -> None:
    page = report
    host = tables(page, "Operations by cause")[0]
    assert host[0] == ["host", "row", "share of operations (%)"]
    assert [row[1].partition(",")[0] for row in host[1:]] == ["reads", "programs", "erases"]
    dies, channels = tables(page, "Utilisation over time")
    assert dies[0][0] == "busy time of dies, by channel (%)"
    assert dies[0][1:4] == ["simulated time (ms), from", "simulated time (ms), to", "die 0 (%)"]
    assert channels[0][-1] == "channel 3 (%)" and len(channels[1]) == len(channels[0])
    assert result.activity is not None
    bars = result.activity.gantt
    requests = [row[5] for table in tables(page, "Operation by operation") for row in table[1:]]
    assert sorted(requests) == sorted(str(number or "") for number in bars.request.tolist())


def test_a_saved_percentile_line_has_percentiles(report: Any, result: ssdlab.Result) -> None:
    headings, *line = tables(report, "Response time by percentile")[0]
    assert headings == ["read", "percentile (%)", "response time (ns)"]
    times = result.latency["read"]
    slower = np.cumsum(times.requests[::-1])[::-1] / times.requests.sum()
    shares, longest = np.array([row[1:] for row in line[:-1]], dtype=float).T
    assert 100 - shares == pytest.approx(100 * slower, rel=6e-5)
    assert longest == pytest.approx(times.upper_ns - 1.0, rel=1e-5)


def test_a_time_range_is_selected_in_all_charts(report: Any, result: ssdlab.Result) -> None:
    page = report
    together = page.evaluate("() => drawn.filter((one) => one.isOverTime).length")
    assert together == 6 and together < page.evaluate("() => drawn.length")
    at = number_of(page, "Requests outstanding")
    page.locator(".chart").nth(at).scroll_into_view_if_needed()
    box = page.locator(".chart").nth(at).bounding_box()
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.4, height)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, height, steps=5)
    page.mouse.up()
    ranges = page.evaluate("() => drawn.filter((one) => one.isOverTime).map((one) => one.range())")
    whole = result.summary["time"]["elapsed_ns"] / 1e6
    begin, end = ranges[0]
    assert 0 < begin < end < whole and end - begin == pytest.approx(0.2 * whole, rel=0.2)
    assert all(bounds == pytest.approx(ranges[0], rel=1e-6) for bounds in ranges)
    page.get_by_role("button", name="Show all").nth(at).click()
    ranges = page.evaluate("() => drawn.filter((one) => one.isOverTime).map((one) => one.range())")
    assert all(bounds == pytest.approx([0, whole], rel=1e-5) for bounds in ranges)


def slow_line(saved: pa.Table, op: str, kind: str, begin_ns: float, end_ns: float) -> dict[float, float]:
    """Number of slower requests and longest time in intervals that overlap a range, computed request by request."""
    rows = [
        row
        for row in saved.to_pylist()
        if (row["op"], row["time"]) == (op, kind) and row["begin_ns"] < end_ns and row["end_ns"] > begin_ns
    ]
    times = sorted(row["upper_ns"] - 1 for row in rows for _ in range(row["requests"]))
    line: dict[float, float] = {}
    for faster, longest in enumerate(times):
        if not faster or times[faster - 1] != longest:
            line[-math.log10((len(times) - faster) / len(times))] = longest
    return line


def test_percentiles_follow_the_time_range(report: Any, result: ssdlab.Result, tmp_path: Path) -> None:
    result.save(tmp_path)
    saved = pq.read_table(tmp_path / "activity_intervals.parquet")
    page = report
    time, curve = number_of(page, "Requests outstanding"), number_of(page, "Response time by percentile")
    lines = f"() => drawn[{curve}].chart.panels[0].marks.map(({{ name, x, y }}) => ({{ name, x, y }}))"
    told = page.locator(".tools output").nth(curve)
    whole = page.evaluate(lines)
    elapsed_ns = result.summary["time"]["elapsed_ns"]
    names = ["read", "read, waiting", "write", "write, waiting"]
    assert told.inner_text() == "" and [line["name"] for line in whole] == names
    shown = []
    for begin, end in ((0.31, 0.42), (0.8, 0.801), (0.0, 0.5)):
        stretch = [begin * elapsed_ns / 1e6, end * elapsed_ns / 1e6]
        page.evaluate(f"(stretch) => drawn[{time}].zoom(stretch)", stretch)
        shown.append(page.evaluate(lines))
        for line in shown[-1]:
            op, _, waiting = line["name"].partition(", ")
            slow = slow_line(saved, op, waiting or "response", begin * elapsed_ns, end * elapsed_ns)
            assert line["x"][:-1] == pytest.approx([*slow], abs=1e-9), line["name"]
            assert waiting or len(slow) > 1
            assert [y or 0 for y in line["y"]] == [*slow.values(), [*slow.values()][-1]]
            # Also as drawn.
            points = "([at, name]) => drawn[at].plot.getModel().getSeriesByName(name)[0].getData().count()"
            assert page.evaluate(points, [curve, line["name"]]) == len(line["x"])
            if not waiting:
                requests = round(1 / 10 ** -(line["x"][-1] - math.log10(2)))
                assert f"{requests:,} {op}s" in told.inner_text()
    assert shown[0] != shown[1] != shown[2] != whole
    # A resized window redraws the same range.
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function(f"() => drawn[{time}].plot.getWidth() === drawn[{time}].element.clientWidth")
    assert page.evaluate(f"() => drawn[{time}].range()[1]") == pytest.approx(0.5 * elapsed_ns / 1e6)
    assert page.evaluate(lines) == shown[2]
    page.get_by_role("button", name="Show all").nth(time).click()
    assert page.evaluate(lines) == whole and told.inner_text() == ""


def test_series_hidden_by_a_legend_stay_hidden(report: Any, result: ssdlab.Result) -> None:
    page = report
    time, curve = number_of(page, "Requests outstanding"), number_of(page, "Response time by percentile")
    toggle = f"() => drawn[{curve}].plot.dispatchAction({{ type: 'legendToggleSelect', name: 'read' }})"
    shown = """() => drawn.filter(({ names }) => names.has("read"))
      .map(({ plot }) => plot.getOption().legend[0].selected.read ?? true)"""
    assert len(page.evaluate(shown)) > 2 and all(page.evaluate(shown))
    page.evaluate(toggle)
    assert not any(page.evaluate(shown))
    whole_ms = result.summary["time"]["elapsed_ns"] / 1e6
    page.evaluate(f"(stretch) => drawn[{time}].zoom(stretch)", [0.3 * whole_ms, 0.4 * whole_ms])
    assert not any(page.evaluate(shown))
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function(f"() => drawn[{time}].plot.getWidth() === drawn[{time}].element.clientWidth")
    assert not any(page.evaluate(shown))
    page.emulate_media(color_scheme="dark")
    assert not any(page.evaluate(shown))
    page.evaluate(toggle)
    page.emulate_media(color_scheme="light")
    assert all(page.evaluate(shown))


def test_a_figure_without_time_keeps_its_zoom(report: Any) -> None:
    page = report
    time, curve = number_of(page, "Requests outstanding"), number_of(page, "Response time by percentile")
    gantt = page.evaluate("() => drawn.findIndex(({ requests }) => requests)")
    whole = {at: page.evaluate("(at) => drawn[at].range()", at) for at in (curve, gantt)}
    part = {at: [low + 0.25 * (high - low), low + 0.5 * (high - low)] for at, (low, high) in whole.items()}
    for at, its in part.items():
        page.evaluate("([at, its]) => drawn[at].zoom(its)", [at, its])

    def check(ranges: dict[int, list[float]]) -> None:
        for at, its in ranges.items():
            assert page.evaluate("(at) => drawn[at].range()", at) == pytest.approx(its)

    stretch = "([at, share]) => { const { high } = drawn[at].chart.panels[0].x; drawn[at].zoom([0, share * high]); }"
    page.evaluate(stretch, [time, 0.5])
    check(part)
    page.locator(".requests button").first.press("Enter")
    check(part)
    page.emulate_media(color_scheme="dark")
    check(part)
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function(f"() => drawn[{curve}].plot.getWidth() === drawn[{curve}].element.clientWidth")
    check(part)
    for at in part:
        page.get_by_role("button", name="Show all").nth(at).click()
    page.emulate_media(color_scheme="light")
    check(whole)


def test_parts_of_response_times_over_time_equal_the_columns(report: Any, result: ssdlab.Result) -> None:
    page = report
    chart = f"drawn[{number_of(page, 'Parts of response times over the run')}].chart"
    panels = page.evaluate(f"() => {chart}.panels.map(({{ title, marks }}) => ({{ title, marks }}))")
    assert result.activity is not None and result.activity.course is not None
    course = result.activity.course
    for op, panel in zip(("read", "write"), panels, strict=True):
        assert panel["title"].startswith(op)
        times = course.times[op, "response"]
        count = len(course.parts_ns[op, "own_work"])
        requests = np.bincount(times.interval.astype(int), times.requests, minlength=count)
        sums = {PARTS[part]: course.parts_ns[op, part] for part in PARTS}
        names = [mark["name"] for mark in panel["marks"]]
        rest = np.sum([of for name, of in sums.items() if name not in names], axis=0)
        assert len(names) > 2
        for mark in panel["marks"]:
            mean = [ns / n if n else 0 for ns, n in zip(sums.get(mark["name"], rest), requests, strict=True)]
            assert mark["heights"] == pytest.approx(mean, rel=1e-5)


def test_the_slowest_requests_are_listed(report: Any, result: ssdlab.Result) -> None:
    page = report
    chart = f"drawn[{number_of(page, 'The slowest requests')}]"
    marks = page.evaluate(f"() => {chart}.chart.panels[0].marks")
    assert result.activity is not None and result.activity.course is not None
    slow = result.activity.course.slowest
    for mark in marks:
        at = [at for at, op in enumerate(slow.op) if op == mark["name"]]
        assert mark["y"] == pytest.approx(slow.response_ns[at].astype(float), rel=1e-5)
        assert mark["x"] == pytest.approx(slow.ended_ns[at] / 1e6, rel=1e-5)
    first = slow.op.index("read")
    format = f"{chart}.plot.getOption().tooltip[0].formatter"
    point = [slow.ended_ns[first] / 1e6, float(slow.response_ns[first])]
    shown_text = page.evaluate(f"(value) => {format}({{ seriesIndex: 0, dataIndex: 0, value }})", point)
    assert shown_text.startswith("read: ") and f"at byte {slow.offset[first]:,}" in shown_text
    assert shown_text.endswith(PARTS[slow.part[first]])


def test_the_pointer_reads_a_cell_of_the_heat_map(report: Any, result: ssdlab.Result) -> None:
    page = report
    chart = page.locator(".chart").nth(number_of(page, "Utilisation over time"))
    chart.scroll_into_view_if_needed()
    chart.hover(position={"x": 200, "y": 60})
    read = page.locator(".tools output").nth(number_of(page, "Utilisation over time")).inner_text()
    die = int(read.split(",")[0].removeprefix("die "))
    begin_ms, percent = float(read.split("from ")[1].split(":")[0]), float(read.split(": ")[1].removesuffix(" %"))
    assert result.activity is not None
    activity = result.activity
    cell = round(begin_ms * 1e6 / activity.die_bin_ns)
    assert percent == pytest.approx(activity.dies_busy_ns[die, cell] / activity.die_bin_ns * 100, abs=0.1)


def test_an_axis_can_be_logarithmic(report: Any) -> None:
    page = report
    at = number_of(page, "Write amplification over time")
    kind = "(at) => drawn[at].plot.getOption().yAxis[0].type"
    assert page.evaluate(kind, at) == "value"
    tools = page.locator(".tools").nth(at)
    tools.get_by_role("button", name="Logarithmic").press("Enter")
    assert page.evaluate(kind, at) == "log"


def test_the_page_is_accessible_at_any_width(report: Any) -> None:
    check_for_everybody(report)


WORDS = """() => [...document.querySelectorAll("td, th")].flatMap((cell) => {
    const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        for (const word of node.data.matchAll(/[^\\s-]+-*/g)) {
            const range = document.createRange();
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(word[0]);
        }
    }
    return broken;
})"""
"""Words of tables that wrap; a hyphen ends a word, and so does a dot in a setting's name."""

MARKED = """(at) => [...drawn[at].element.querySelectorAll("svg text")]
    .filter(({ textContent }) => / %$/.test(textContent)).map((label) => label.getBoundingClientRect())
    .map(({ left, right }) => [left, right]).sort(([a], [b]) => a - b)"""
"""Ends of the percentile labels."""


def test_words_are_not_split_and_labels_do_not_overlap_on_a_phone(report: Any) -> None:
    page = report
    at = number_of(page, "Response time by percentile")
    for width in (320, 400, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("() => drawn.every(({ element, plot }) => element.clientWidth === plot.getWidth())")
        assert page.evaluate(WORDS) == []
        labels = page.evaluate(MARKED, at)
        assert len(labels) > 2
        assert all(after[0] - before[1] > 8 for before, after in pairwise(labels)), width


def test_the_library_equals_npms() -> None:
    packed = (Path(explore.__file__).parent / "echarts.min.js.gz").read_bytes()
    assert hashlib.sha256(gzip.decompress(packed)).hexdigest() == explore.ECHARTS_SHA256


def test_data_cannot_end_a_script() -> None:
    written = explore.data([{"title": "<!--<script>", "name": "</script>"}])  # type: ignore[list-item]
    assert "<" not in written and json.loads(written) == [{"title": "<!--<script>", "name": "</script>"}]
