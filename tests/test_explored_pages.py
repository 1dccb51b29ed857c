"""Pages of comparisons and other results, and the operations of a run, in a real browser."""

import csv
import io
import math
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from browser import Shown, browser, check_for_everybody, violations, window
from ssdlab import cache
from ssdlab.model.columns import GanttColumns, LatencyColumns
from ssdlab.model.finding import Finding
from ssdlab.view.chart import FORMS
from ssdlab.view.charts.time import time_unit
from ssdlab.view.local import LocalServer

__all__ = ["browser", "window"]

TIMED = ssdlab.Config(
    "tlc-nvme",
    overrides={
        "device.op": "7%",
        "device.reserve": "extra",
        "device.capacity": "32MiB",
        "nand.pages_per_block": 64,
        "nand.channels": 2,
        "nand.dies": 2,
        "time": "event",
        "workload.requests": 4_000,
        "workload.reads": "40%",
    },
)
CASES = {
    "greedy": TIMED,
    "fifo": TIMED.with_overrides({"ftl.page.gc": "fifo"}),
    "more spare": TIMED.with_overrides({"device.op": "30%"}),
}
REQUESTS = ssdlab.generate(TIMED.with_overrides({"workload.requests": 2_000}))


@contextmanager
def shown(finding: Finding, window: Any, folder: Path) -> Iterator[Any]:
    """The page of the finding."""
    path = folder / "report.html"
    path.write_text(finding.report_html(), encoding="utf-8")
    assert path.stat().st_size < 5_000_000
    page = Shown(window, path)
    yield window
    page.leave()


@pytest.fixture
def explored(window: Any, tmp_path: Path) -> Iterator[Callable[[Finding], Any]]:
    with ExitStack() as pages:
        yield lambda finding: pages.enter_context(shown(finding, window, tmp_path))


@pytest.fixture(scope="module")
def compared() -> ssdlab.Comparison:
    return ssdlab.compare(CASES, seeds=2)


@pytest.fixture(scope="module")
def comparison(browser: Any, compared: ssdlab.Comparison, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page of the comparison, in a separate window."""
    with shown(compared, browser.new_page(), tmp_path_factory.mktemp("comparison")) as page:
        yield page


def marks(page: Any, label: str, panel: int = 0) -> list[dict[str, Any]]:
    """The marks of the chart with this heading."""
    script = "(l) => drawn.find(({ element }) => element.ariaLabel === l).chart"
    found: list[dict[str, Any]] = page.evaluate(script, label)["panels"][panel]["marks"]
    return found


def quantile(times: LatencyColumns, share: float) -> float:
    """Naively computed upper end of the histogram bucket with the request that has this many slower requests."""
    faster, total = 0, int(times.requests.sum())
    for upper, requests in zip(times.upper_ns.tolist(), times.requests.tolist(), strict=True):
        faster += requests
        if faster / total >= share:
            return float(upper - 1)
    raise AssertionError(share)


def test_curves_of_a_comparison_equal_its_histograms(comparison: Any, compared: ssdlab.Comparison) -> None:
    page = comparison
    for op in ("read", "write"):
        above, below = (marks(page, f"{op.capitalize()}s", panel) for panel in (0, 1))
        assert [line["name"] for line in above] == [*CASES] and [point["name"] for point in below[1:]] == [*CASES][1:]
        for share in (0.5, 0.9, 0.99):
            longest = {case: quantile(one.latency[op], share) for case, one in compared.results.items()}
            for drawn, expected in (
                (above, longest),
                (below[1:], {case: value / longest["greedy"] for case, value in longest.items()}),
            ):
                for line in drawn:
                    at = max(i for i, x in enumerate(line["x"]) if x <= -math.log10(1 - share) + 1e-9)
                    assert line["y"][at] == pytest.approx(expected[line["name"]], rel=1e-5), (op, share, line["name"])


def test_bars_of_a_comparison_equal_its_figures(comparison: Any, compared: ssdlab.Comparison) -> None:
    page = comparison
    figures = {case: compared.figures(case) for case in CASES}
    bars = {mark["name"]: mark["lengths"][0] for mark in marks(page, "At a glance") if mark["kind"] == "Bars"}
    assert bars == {case: pytest.approx(of["write_amplification"].mean, rel=1e-5) for case, of in figures.items()}
    chart = "drawn.find(({ element }) => element.ariaLabel === 'Differences').chart"
    labels = page.evaluate(f"() => {chart}.panels[0].y.ticks.map(([, name]) => name)")
    changes = {mark["name"]: dict(zip(labels, mark["lengths"], strict=True)) for mark in marks(page, "Differences")}
    assert [*changes] == ["fifo", "more spare"]
    for label, figure in (("requests per second", "time.iops"), ("read p99", "latency.read.p99_ns")):
        for case, of in changes.items():
            change = 100 * (figures[case][figure].mean / figures["greedy"][figure].mean - 1)
            assert of[label] == pytest.approx(change, rel=1e-4), (case, figure)


def test_a_case_keeps_its_colour_and_toggles_in_all_charts(comparison: Any) -> None:
    page = comparison
    colours = page.evaluate(
        "() => drawn.flatMap(({ chart }) => chart.panels.flatMap(({ marks }) => marks))"
        ".filter(({ name, kind }) => name && kind !== 'Whiskers').map(({ name, colour }) => [name, colour])"
    )
    assert len({colour for _, colour in colours}) == len({name for name, _ in colours}) == 3
    assert len({tuple(colour) for colour in colours}) == 3
    toggle = "() => drawn[0].plot.dispatchAction({ type: 'legendToggleSelect', name: 'fifo' })"
    page.evaluate(toggle)
    shown = page.evaluate("() => drawn.map(({ plot }) => plot.getOption().legend[0].selected.fifo)")
    assert len(shown) == 6 and not any(shown)
    page.evaluate(toggle)
    assert all(page.evaluate("() => drawn.map(({ plot }) => plot.getOption().legend[0].selected.fifo)"))


def test_a_comparison_is_accessible_and_its_figures_can_be_saved(comparison: Any) -> None:
    page = comparison
    check_for_everybody(page)
    # Sections that were folded while the window grew fill the new width when they are unfolded.
    page.get_by_role("heading", name="Differences").click()
    page.set_viewport_size({"width": 500, "height": 900})
    page.get_by_role("heading", name="Differences").click()
    fits = "() => drawn.every(({ element, plot }) => plot.getWidth() > 0 && element.clientWidth === plot.getWidth())"
    page.wait_for_function(fits)
    for at in (0, 2):
        with page.expect_download() as saved:
            page.locator(".tools").nth(at).get_by_role("button", name="Save PNG").press("Enter")
        assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")
        rows = [*csv.reader(io.StringIO(page.evaluate("(at) => csv(drawn[at].chart)", at)))]
        assert any(row[:1] == ["more spare"] for row in rows)


def test_saved_bars_are_labelled(comparison: Any, compared: ssdlab.Comparison) -> None:
    chart = "drawn.find(({ element }) => element.ariaLabel === 'Differences').chart"
    rows = [*csv.reader(io.StringIO(comparison.evaluate(f"() => csv({chart})")))]
    assert rows[0] == ["fifo", "row", "change from greedy (%)"]
    means = [compared.figures(case)["time.iops"].mean for case in ("fifo", "greedy")]
    [change] = [float(row[2]) for row in rows[: rows.index([])] if row[1] == "requests per second"]
    assert change == pytest.approx(100 * (means[0] / means[1] - 1), rel=1e-4)


REPORTS: dict[str, tuple[int, Callable[[], Finding]]] = {
    "analysis": (7, lambda: REQUESTS.analyze()),
    "intervals": (5, lambda: REQUESTS.intervals()),
    "caches": (1, lambda: cache.simulate(REQUESTS, ["lru", "sieve"], ["1%", "10%"])),
    "plan": (1, lambda: cache.plan("2GiB", "4GiB", paper=True)),
    "sweep": (
        1,
        lambda: ssdlab.sweep({"device.op": ["20%", "30%"]}, TIMED, jobs=1),
    ),
}


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_is_explored(explored: Callable[[Finding], Any], name: str) -> None:
    count, report = REPORTS[name]
    page = explored(report())
    assert page.evaluate("() => drawn.length") == count
    # Anything drawn counts: a path, a shape or a picture, except axes and legend.
    assert page.evaluate("() => drawn.every(({ element }) => element.querySelector('svg path[fill], svg image'))")
    assert violations(page) == []


def test_pages_write_values_as_the_terminal_does(comparison: Any) -> None:
    page = comparison
    for form, write in FORMS.items():
        for value in (0.0, 0.00412, 0.5, 1.0, 12.345, 999.7, 1023.6, 65_536.0, 1.5e6, 2.5e9, 7.3e12):
            if form != "number":
                shown_text = page.evaluate("([form, value]) => FORMS[form](value)", [form, value])
                assert shown_text == write(value), (form, value)


def slowly_waited(bars: GanttColumns, at: int) -> set[int]:
    """Bars that occupied the lane of a bar after its request was ready; checks every bar."""
    begin, end = bars.begin_ns.tolist(), bars.end_ns.tolist()
    same = [i for i in range(len(begin)) if bars.request[i] == bars.request[at] and bars.die[i] == bars.die[at]]
    before = [end[i] for i in same if end[i] <= begin[at]]
    channels = 2

    def place(i: int) -> tuple[int, ...]:
        die = int(bars.die[i])
        return (die // channels,) if bars.bus[i] else (-1, die, int(bars.plane[i]))

    others = [i for i in range(len(begin)) if place(i) == place(at) and bars.request[i] != bars.request[at]]
    ready = max(before, default=int(bars.arrived_ns[at]))
    return {i for i in others if end[i] > ready and begin[i] < begin[at]}


def test_a_picked_request_shows_its_waits(explored: Callable[[Finding], Any]) -> None:
    window = {"gantt.window.from": "20ms", "gantt.window.length": "5ms"}
    result = ssdlab.simulate(TIMED.with_overrides(window))
    assert result.activity is not None
    bars = result.activity.gantt
    page = explored(result)
    page.locator(".requests button").first.press("Enter")
    request = page.evaluate("() => drawn.find(({ requests }) => requests).chart.chosen")
    took = {
        of: int(bars.end_ns[bars.request == of].max() - bars.begin_ns[bars.request == of].min())
        for of in set(bars.request.tolist()) - {0}
    }
    assert took[request] == max(took.values())
    own = sorted(np.flatnonzero(bars.request == request).tolist(), key=lambda i: bars.begin_ns[i])
    rows = page.locator(".requests tbody tr")
    assert rows.count() == len(own)
    waits, waited_at_all = 0, 0
    for row, at in enumerate(own):
        told = rows.nth(row).locator("td").last.inner_text()
        waited = float(rows.nth(row).locator("td").nth(4).inner_text())
        unit_ns = time_unit(int(bars.end_ns.max() - bars.begin_ns.min()))[1]
        same = (bars.request == request) & (bars.die == bars.die[at]) & (bars.end_ns <= bars.begin_ns[at])
        ready = int(bars.end_ns[same].max()) if same.any() else int(bars.arrived_ns[at])
        assert waited * unit_ns == pytest.approx(int(bars.begin_ns[at]) - ready, rel=1e-3, abs=100), row
        waited_at_all += waited > 0 and not same.any()
        blockers = slowly_waited(bars, at)
        waits += len(blockers)
        assert {f"{int(bars.request[i]):,}" for i in blockers if bars.request[i]} == {
            word.split()[1] for word in told.split("; ") if word.startswith("request")
        }, (row, told)
    assert waits > 0 and waited_at_all > 0 and violations(page) == []
    page.locator(".requests button").first.press("Enter")
    assert page.locator(".requests tbody").count() == 0


@contextmanager
def served(result: ssdlab.Result, folder: Path) -> Iterator[LocalServer]:
    """Replies of `ssdlab view --serve` for a run."""
    result.save(folder)
    with LocalServer(folder / "report.html") as server:
        answering = threading.Thread(target=server.serve_forever)
        answering.start()
        try:
            yield server
        finally:
            server.shutdown()
            answering.join()


def test_a_page_explains_missing_later_operations(window: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = ssdlab.simulate(TIMED.with_overrides({"gantt.window.length": "1s"}))
    with served(result, tmp_path) as server:
        window.goto(server.address)
        window.evaluate("() => ready")
        told, later = window.locator(".requests > [aria-live]"), window.get_by_role("button", name="Later operations")
        requests = "drawn.find(({ requests }) => requests).requests"
        slowest = window.evaluate(f"() => {requests}.picks.innerText")
        later.press("Enter")
        window.wait_for_function(f"(before) => {requests}.picks.innerText !== before", arg=slowest)
        assert told.inner_text() == ""

        def fail(first: int) -> str:
            raise ssdlab.ConfigError("no Parquet")

        monkeypatch.setattr(server, "operations", fail)
        later.press("Enter")
        window.wait_for_function(f"() => {requests}.told.innerText")
        assert told.inner_text() == "These operations cannot be shown: no Parquet"


def test_waits_behind_hidden_operations_are_shown(window: Any, tmp_path: Path) -> None:
    """A page of later operations lacks earlier operations, which may keep a lane busy."""
    result = ssdlab.simulate(TIMED.with_overrides({"gantt.window.length": "1s"}))
    assert result.activity is not None
    bars, requests = result.activity.gantt, "drawn.find(({ requests }) => requests).requests"
    with served(result, tmp_path) as server:
        window.goto(server.address)
        window.evaluate("() => ready")
        window.evaluate(f"async () => {requests}.show(2000)")
        told = window.evaluate(f"() => {requests}.bars.map((bar) => [bar.request, {requests}.reasons(bar)])")
    order = np.argsort(bars.begin_ns, kind="stable").tolist()[2000:4000]
    hidden = int(bars.begin_ns[order[0]])
    behind = {
        int(bars.request[at])
        for at in order[:200]
        if bars.request[at] and any(bars.begin_ns[wait] < hidden for wait in slowly_waited(bars, at))
    }
    assert behind
    assert behind <= {request for request, reason in told if "perhaps earlier operations" in reason}


def test_other_operations_are_offered_where_they_exist(window: Any, tmp_path: Path) -> None:
    result = ssdlab.simulate(TIMED.with_overrides({"gantt.window.from": "20ms", "gantt.window.length": "5ms"}))
    assert result.activity is not None and 0 < len(result.activity.gantt.die) < 2_000
    with served(result, tmp_path) as server:
        window.goto(server.address)
        window.evaluate("() => ready")
        assert window.locator(".requests").count() == 1
        assert window.get_by_role("button", name="Later operations").count() == 0


@pytest.mark.parametrize("width", [900, 1280])
def test_titles_and_legends_are_complete_and_avoid_ticks(explored: Callable[[Finding], Any], width: int) -> None:
    page = explored(ssdlab.simulate(TIMED))
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_function("() => drawn.every(({ element, plot }) => element.clientWidth === plot.getWidth())")
    texts = """() => drawn.filter(({ element }) => element.clientWidth > 0).flatMap(({ element }) =>
      [...element.querySelectorAll("svg text")].map((text) => text.textContent))"""
    assert not [text for text in page.evaluate(texts) if "..." in text or "…" in text]
    # A scrolled legend shows its page, such as 1/2.
    parts = """() => [...drawn.find(({ chart }) => chart.panels[0].title === 'reads: mean response time')
      .element.querySelectorAll("svg text")].map((text) => text.textContent)"""
    assert not [text for text in page.evaluate(parts) if "/" in text] and "the rest" in page.evaluate(parts)


def test_an_axis_title_does_not_overlap_long_ticks(explored: Callable[[Finding], Any]) -> None:
    pytest.importorskip("optuna")
    cost = "cost=1e6 * device.physical_bytes"
    page = explored(ssdlab.tune(["device.op=20%..40%"], TIMED, outcomes=[cost], trials=4, repeats=1, jobs=1))
    boxes = """() => [...drawn[0].element.querySelectorAll("svg text")].map((text) =>
      [text.textContent, text.getBoundingClientRect().left, text.getBoundingClientRect().right])"""
    rectangles = page.evaluate(boxes)
    [title] = [right for text, _, right in rectangles if text == "cost"]
    ticks = [left for text, left, _ in rectangles if len(text) > 10 and text.isdigit()]
    assert ticks and title < min(ticks)


@pytest.mark.parametrize("width", [400, 1400])
def test_axis_titles_and_labels_stay_inside_their_figure(explored: Callable[[Finding], Any], width: int) -> None:
    # Labels are as wide as "100 ms" among narrower values, and 99.99 % is next to the end of the axis.
    page = explored(ssdlab.compare({"page": TIMED, "fast": TIMED.with_overrides({"ftl": "fast"})}))
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_function("() => drawn.every(({ element, plot }) => element.clientWidth === plot.getWidth())")
    beyond = """() => drawn.flatMap(({ element }) => {
      const { left, right, top, bottom } = element.querySelector("svg").getBoundingClientRect();
      return [...element.querySelectorAll("svg text")].filter((text) => {
        // The box of a text is a little larger than its letters.
        const box = text.getBoundingClientRect(), free = 1;
        return Math.max(left - box.left, box.right - right, top - box.top, box.bottom - bottom) > free;
      }).map(({ textContent }) => textContent);
    })"""
    assert page.evaluate(beyond) == []


@pytest.mark.parametrize("width", [400, 1400])
def test_legend_names_end_before_the_next_sign(explored: Callable[[Finding], Any], width: int) -> None:
    long = [f"ftl.page.gc={gc}" for gc in ("cost_benefit", "windowed_greedy", "d_choices")]
    page = explored(ssdlab.compare({label: TIMED.with_overrides({"workload.requests": 500}) for label in long}))
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_function("() => drawn.every(({ element, plot }) => element.clientWidth === plot.getWidth())")
    boxes = """() => [...drawn[0].element.querySelectorAll("svg text")]
      .map((text) => [text, text.getBoundingClientRect()])
      .map(([text, box]) => [text.textContent, Math.round(box.top), box.left, box.right])"""
    # Names also appear at the rows; the names of the legend are above all other text.
    rectangles = sorted(page.evaluate(boxes), key=lambda one: one[1])[: len(long)]
    assert [name for name, *_ in rectangles] == long
    sign = 25
    for (_, above, _, right), (_, top, left, _) in pairwise(rectangles):
        assert top > above or left - right > sign
    assert len({top for _, top, *_ in rectangles}) == (3 if width == 400 else 1)


def test_long_names_lose_their_middle_and_show_in_full_under_the_pointer(explored: Callable[[Finding], Any]) -> None:
    long = [f"ftl.page.gc={gc},ftl.page.allocation=fifo,device.op=20%" for gc in ("cost_benefit", "greedy")]
    page = explored(ssdlab.compare({label: TIMED.with_overrides({"workload.requests": 500}) for label in long}))
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function("() => drawn.every(({ element, plot }) => element.clientWidth === plot.getWidth())")
    texts = """() => [...drawn[0].element.querySelectorAll("svg text")]
      .filter(({ textContent }) => textContent.startsWith("ftl"))
      .map((text) => [text.textContent, text.getBoundingClientRect().right])"""
    names = page.evaluate(texts)
    assert len(names) > 2 and all(re.fullmatch(r"ftl.*….*20%", name) and right <= 400 for name, right in names), names
    tip = """() => {
      drawn[0].plot.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: 0 });
      const shown = [...drawn[0].element.children].at(-1);
      return [shown.textContent, shown.getBoundingClientRect().right];
    }"""
    told, right = page.evaluate(tip)
    assert told.startswith(long[0]) and right <= 400


@pytest.mark.parametrize("width", [900, 1280])
def test_every_axis_of_a_study_has_its_name(explored: Callable[[Finding], Any], width: int) -> None:
    axes: dict[str, Any] = {"device.op": ["20%", "30%"], "ftl.page.gc": ["greedy", "fifo"]}
    depth = {"host.replay.closed.queue_depth": [1, 8]}
    page = explored(ssdlab.sweep({**axes, **depth}, TIMED.with_overrides({"workload.requests": 300}), jobs=1))
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_function("() => drawn.every(({ element, plot }) => element.clientWidth === plot.getWidth())")
    names, texts = page.evaluate("""() => [drawn[0].chart.panels[0].x.ticks.map(([, name]) => name),
      [...drawn[0].element.querySelectorAll("svg text")].map(({ textContent }) => textContent)]""")
    assert len(names) == 6
    for name in names:
        assert any(re.fullmatch(re.escape(text).replace("…", ".*"), name) for text in texts), (name, texts)


def test_a_range_names_its_row_as_its_bar_does(explored: Callable[[Finding], Any]) -> None:
    study = ssdlab.sweep({"device.op": ["20%", "30%"]}, TIMED, seeds=2, jobs=1)
    page = explored(study.effects("write_amplification"))
    tip = """(at) => {
      drawn[0].plot.dispatchAction({ type: "showTip", seriesIndex: at, dataIndex: 0 });
      return [...drawn[0].element.children].at(-1).textContent;
    }"""
    of_bar, of_range = (page.evaluate(tip, at) for at in (0, 1))
    row, _, _ = of_bar.partition(": ")
    assert row.startswith("device.op ") and of_range.startswith(f"{row}, range: "), (of_bar, of_range)


def test_tables_of_cases_with_long_names_fit_the_page(explored: Callable[[Finding], Any]) -> None:
    long = [
        f"ftl.page.gc={gc},ftl.page.allocation=fifo,device.op=20%" for gc in ("cost_benefit", "greedy", "d_choices")
    ]
    page = explored(ssdlab.compare({label: TIMED.with_overrides({"workload.requests": 500}) for label in long}))
    page.set_viewport_size({"width": 1400, "height": 800})
    assert (
        page.evaluate("""() => [...document.querySelectorAll(".scroll")]
      .filter((table) => table.scrollWidth > table.clientWidth).length""")
        == 0
    )
