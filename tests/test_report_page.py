"""The report of a run in a real browser: its charts hold what the columns hold, move together in time, and need no
network.
"""

import csv
import gzip
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from browser import Opened, browser, check_for_everybody
from ssdlab.view import explore

__all__ = ["browser"]

BUSY = {
    "device.capacity": "64MiB",
    "workload.requests": 6_000,
    "gantt.window.from": "100ms",
    "gantt.window.length": "2ms",
}


@pytest.fixture(scope="module")
def result() -> ssdlab.Result:
    return ssdlab.simulate(ssdlab.Config("small-nvme", overrides=BUSY))


@pytest.fixture
def report(browser: Any, result: ssdlab.Result, tmp_path: Path) -> Iterator[Any]:
    opened: list[Opened] = []

    def report(**options: Any) -> Any:
        path = tmp_path / "report.html"
        path.write_text(result.report_html(), encoding="utf-8")
        opened.append(Opened(browser, path, **options))
        return opened[-1].page

    yield report
    for one in opened:
        assert one.faults == []
        one.page.close()


def number_of(page: Any, heading: str) -> int:
    """The number of the chart that is headed so."""
    at: int = page.evaluate("(label) => drawn.findIndex(({ element }) => element.ariaLabel === label)", heading)
    assert at >= 0, heading
    return at


def test_charts_hold_what_the_columns_hold(report: Any, result: ssdlab.Result) -> None:
    page = report()
    at = number_of(page, "Write amplification over time")
    rows = list(csv.reader(io.StringIO(page.evaluate("(at) => drawn[at].csv()", at))))
    each = np.array([row[1:] for row in rows[1 : len(result.series["time_ns"]) + 1]], dtype=object)
    assert rows[0] == ["each epoch", "x", "y"]
    flash, host = (result.series[name] for name in ("flash_pages_programmed", "host_pages_written"))
    shown = np.array([float(y) if y else np.nan for y in each[:, 1]])
    assert shown == pytest.approx(np.where(host > 0, flash / np.maximum(host, 1), np.nan), rel=1e-5, nan_ok=True)
    assert each[:, 0].astype(float) == pytest.approx(result.series["time_ns"] / 1e6, rel=1e-5)
    # And as it is drawn.
    points = page.evaluate("(at) => drawn[at].plot.getModel().getSeriesByIndex(1).getData().count()", at)
    assert points == len(host)


def test_a_stretch_of_time_is_chosen_in_all_charts_at_once(report: Any, result: ssdlab.Result) -> None:
    page = report()
    together = page.evaluate("() => drawn.filter((one) => one.isOverTime).length")
    assert together == 4 and together < page.evaluate("() => drawn.length")
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
    assert all(one == pytest.approx(ranges[0], rel=1e-6) for one in ranges)
    page.get_by_role("button", name="Show all").nth(at).click()
    ranges = page.evaluate("() => drawn.filter((one) => one.isOverTime).map((one) => one.range())")
    assert all(one == pytest.approx([0, whole], rel=1e-5) for one in ranges)


def test_the_pointer_reads_a_cell_of_the_heat_map(report: Any, result: ssdlab.Result) -> None:
    page = report()
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
    page = report()
    at = number_of(page, "Write amplification over time")
    kind = "(at) => drawn[at].plot.getOption().yAxis[0].type"
    assert page.evaluate(kind, at) == "value"
    tools = page.locator(".tools").nth(at)
    tools.get_by_role("button", name="Logarithmic").press("Enter")
    assert page.evaluate(kind, at) == "log"


def test_everybody_can_use_it_at_any_width(report: Any) -> None:
    check_for_everybody(report())


def test_the_library_is_the_one_that_npm_has() -> None:
    packed = (Path(explore.__file__).parent / "echarts.min.js.gz").read_bytes()
    assert hashlib.sha256(gzip.decompress(packed)).hexdigest() == explore.ECHARTS_SHA256
