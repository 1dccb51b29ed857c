"""Regression tests for display defects: axes, headings, dots, marks and words."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure as Drawn

import ssdlab
from benches import bench
from conftest import ROOT, SMALL, SMALL_SETS, Cli
from ssdlab import cache
from ssdlab.analyse.cache.planning.advice import BUSY, busy
from ssdlab.view.chart import Chart
from ssdlab.view.page import Beside, Figure, Item, Page
from ssdlab.view.pages.cache_bench import verdict
from ssdlab.view.plots.drawing import drawn

OLTP = ROOT / "traces" / "oltp.csv.zst"


def figures(page: Page) -> Iterator[Drawn]:
    """Every figure of a page, drawn."""

    def of(item: Item) -> Iterator[Drawn]:
        if isinstance(item, Figure):
            if item.is_useful():
                figure = item.draw()
                yield drawn(figure) if isinstance(figure, Chart) else figure
        elif isinstance(item, Beside):
            for one in item.items:
                yield from of(one)

    for section in page.sections:
        for item in section.items:
            yield from of(item)


def lone_dots(figure: Drawn) -> int:
    """Axes with nothing but a single point."""
    singles = 0
    for axes in figure.axes:
        points = sum(int(np.isfinite(np.asarray(line.get_ydata(), float)).sum()) for line in axes.lines)
        singles += points == 1 and not axes.patches and not axes.collections and not axes.images
    return singles


def small(overrides: Mapping[str, object]) -> ssdlab.Config:
    return ssdlab.Config("tlc-chip", overrides={**SMALL, **overrides})


def one_write() -> ssdlab.Trace:
    return ssdlab.Trace.from_columns(op=["write"], offset=[0], bytes=[4096])


@pytest.mark.parametrize("erases", [0, 1, 7])
def test_the_axis_of_erases_is_not_negative(erases: int) -> None:
    result = ssdlab.simulate(
        ssdlab.Config("tlc-chip", overrides={**SMALL, "precondition.overwrite": "none"}), one_write()
    )
    result.erase_counts = np.full(20, erases, np.uint32)
    (axes,) = result.plot_erase_counts().axes
    low, high = axes.get_xlim()
    assert -0.5 <= low < erases < high and all(tick >= 0 for tick in axes.get_xticks() if low <= tick <= high)


def findings() -> Iterator[tuple[str, Page]]:
    """Minimal findings."""
    tiny = {"precondition.overwrite": "none"}
    yield "run", ssdlab.simulate(small(tiny), one_write()).page()
    yield "event", ssdlab.simulate(small({**tiny, "time": "event"}), one_write()).page()
    yield "sim", cache.simulate(OLTP, ["lru"], ["10%"]).page()
    yield "mrc", cache.mrc(OLTP, ["lru", "fifo"], ["10%"]).page()
    yield (
        "calibrate",
        ssdlab.calibrate(
            ssdlab.Config("tlc-chip", overrides={**SMALL, "time": "event"}),
            regions=["1MiB"],
            in_flight=[1],
            requests=20,
            jobs=1,
        ).page(),
    )
    yield "compress", ssdlab.compress.bench(codecs=["lz4"], page_sizes=["8KiB"], threads=[1], runs=1).page()
    yield "bench", small_bench(shares=["0"], codecs=["lz4"]).page()


def small_bench(**arguments: object) -> cache.CacheBench:
    given = {"pages": 500, "accesses": 1000, "budget": "30%", "cost_us": 0.0, "runs": 2, "threads": 1, **arguments}
    return bench(**given)


def test_no_chart_is_a_single_dot() -> None:
    for name, page in findings():
        for figure in figures(page):
            assert lone_dots(figure) == 0, name


def test_this_test_detects_a_dot() -> None:
    # The chart is drawn if it is requested alone.
    assert lone_dots(cache.simulate(OLTP, ["lru"], ["10%"]).plot()) == 1


def test_headings_write_kib_unchanged(cli: Cli) -> None:
    cached = cli("cache", "sim", OLTP, "--size", "64KiB,1MiB").stdout
    compressed = cli("compress", "bench", "--runs", "1", "--codec", "lz4", "--page", "8KiB", "--threads", "1").stdout
    pages = [cached, compressed]
    pages += [page for _, page in [("analyze", ssdlab.TraceFile(OLTP).analyze().report_html())]]
    for page in pages:
        assert "KiB" in page and not re.search(r"\d\s?(kib|KIB|Kib)\b", page)


@pytest.mark.parametrize("arguments", [["--page", "3000B"], ["--budget", "600B"], ["--share", "0.0001"]])
def test_messages_name_no_variables(cli: Cli, arguments: list[str]) -> None:
    done = cli("cache", "bench", "--pages", "500", "--accesses", "1000", *arguments, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert " = " not in done.stderr and "_" not in done.stderr


def test_a_remedy_names_an_amount(cli: Cli) -> None:
    small = ["--preset", "enterprise-nvme", "--set", "device.capacity=64MiB"]
    output = cli("config", "check", *small, check=False).stderr
    match = re.search(r"device.capacity: .* raise it to (\S+)", output)
    assert match, output
    cli("config", "check", *small, "--set", f"device.capacity={match[1]}")


def test_calibrate_lists_only_presets_it_can_calibrate(cli: Cli) -> None:
    output = cli("calibrate", *SMALL_SETS, "--set", "time=serial", check=False).stderr
    named = output.rstrip().rpartition(": ")[2].split(", ")
    assert named and all(ssdlab.Config(preset)["time"] == "event" for preset in named)


def test_a_busy_machine_is_reported() -> None:
    assert busy(0.0) == busy(BUSY) == []
    (note,) = busy(0.34)
    assert "waited 34 % of its time" in note


def test_waiting_is_elapsed_minus_processor_time() -> None:
    cell = ssdlab.compress.bench(codecs=["lz4"], page_sizes=["8KiB"], threads=[1], runs=3).cells[0]
    pairs = [
        (cell.compress_cpu_us.median, cell.compress_elapsed_us.median),
        (cell.decompress_cpu_us.median, cell.decompress_elapsed_us.median),
    ]
    assert cell.waited == max(1 - cpu / elapsed for cpu, elapsed in pairs)


def test_a_bench_ends_in_a_verdict() -> None:
    both = small_bench(shares=["0", "50"], codecs=["lz4"])
    raw, compressed = both.cells

    def with_rates(raw_range: tuple[float, float, float], other: tuple[float, float, float]) -> str:
        from dataclasses import replace

        spread = ssdlab.compress.Spread
        cells = (replace(raw, pages_s=spread(*raw_range)), replace(compressed, pages_s=spread(*other)))
        return verdict(replace(both, cells=cells))

    assert with_rates((100, 90, 110), (150, 140, 160)).startswith("Compress (share 50 %, codec lz4): 1.50 times")
    assert with_rates((100, 90, 110), (50, 40, 60)).startswith("Do not compress: the best setting (share 50 %")
    assert with_rates((100, 90, 110), (115, 105, 125)).startswith("Undecided: ")
    assert "p99" in with_rates((100, 90, 110), (115, 105, 125))
    assert verdict(small_bench(shares=["50"], codecs=["lz4"])).startswith("No verdict")
    assert verdict(both) in [sentence.text for sentence in both.page().conclusion]


def test_plans_have_a_99th_percentile(cli: Cli) -> None:
    plan = cache.plan("15GiB", "200GiB", paper=True)
    # More than one in a hundred requests misses, so p99 is a load and the compression of another page.
    for choice in plan.choices:
        load = 110 + choice.compressor.compress_us
        assert choice.p99_us == pytest.approx(load if choice.share or choice.model == "document" else 110)
    assert plan.raw_p99_us == 110
    out = cli("cache", "plan", "--memory", "15GiB", "--data", "200GiB", "--paper").stdout
    assert "p99, us" in out and "112.0" in out


def test_settings_may_be_nested_tables(tmp_path: Path) -> None:
    nested = {**SMALL, "ftl": {"page": {"gc": {"d_choices": {"d": 3}}}}}
    flat = ssdlab.Config("tlc-chip", overrides={**SMALL, "ftl.page.gc.d_choices.d": 3})
    assert ssdlab.Config("tlc-chip", overrides=nested).to_toml() == flat.to_toml()
    assert ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=nested)).to_dict() == ssdlab.simulate(flat).to_dict()
    below = ssdlab.Config("tlc-chip", overrides=SMALL).with_overrides({"ftl": {"page": {"gc": "fifo"}}})
    assert below["ftl.page.gc"] == "fifo"
    with pytest.raises(ssdlab.ConfigError, match=r"ftl\.page: the mapping is empty"):
        ssdlab.simulate({"ftl": {"page": {}}})
    for wrong in ("trace.csv", 5, tmp_path):
        with pytest.raises(ssdlab.ConfigError, match="is not a configuration; pass a Config"):
            ssdlab.simulate(wrong)  # type: ignore[arg-type]
