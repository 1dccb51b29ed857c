"""Results of log-block FTLs in tables, files, charts and reports."""

import html
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import ssdlab
from conftest import ROOT, SMALL_SETS, Cli
from ssdlab import _ssdlab
from ssdlab._ssdlab import CAUSES
from ssdlab.model import metrics
from ssdlab.view.charts import log as log_plots
from ssdlab.view.pages import tables

LOGGED = ("bast", "fast", "faster", "sbfast")
STREAMS = {"workload.pattern": "streams", "workload.requests": 20_000, "workload.reads": "10%"}


@pytest.fixture(params=LOGGED)
def logged(request: pytest.FixtureRequest, small: ssdlab.Config) -> ssdlab.Result:
    """A run of each log-block FTL."""
    return ssdlab.simulate(small.with_overrides({**STREAMS, "ftl": request.param}))


def test_the_distributions_add_up_to_the_summary(logged: ssdlab.Result) -> None:
    log, summary = logged.log, logged.summary["log"]
    assert log is not None
    assert log.associativity.sum() == log.reclaim_times.sum() == summary["reclaims"] > 0
    assert log.utilisation.sum() == summary["retired_blocks"] > 0
    merged = np.arange(len(log.associativity)) @ log.associativity / summary["reclaims"]
    assert merged == pytest.approx(summary["associativity_mean"])
    assert log.reclaim_ns @ log.reclaim_times / summary["reclaims"] == pytest.approx(summary["reclaim_mean_ns"])
    pages = logged.summary["device"]["pages_per_block"]
    assert len(log.utilisation) == pages + 1
    share = np.arange(pages + 1) @ log.utilisation / summary["retired_blocks"] / pages
    assert share == pytest.approx(summary["utilisation_mean"])
    for kind, cause in (("partial", "partial_merge"), ("full", "full_merge")):
        assert summary["merges"][kind]["copies"] <= logged.summary["flash"]["programs"].get(cause, 0)


def test_files_hold_the_distributions(logged: ssdlab.Result, small: ssdlab.Config, tmp_path: Path) -> None:
    logged.save(tmp_path)
    tables = {name: pyarrow.parquet.read_table(tmp_path / f"log_{name}.parquet") for name in logged.log_arrow()}
    assert tables == logged.log_arrow()
    assert {name: table.column_names for name, table in tables.items()} == {
        "reclaims": ["copies", "erases", "ns", "times"],
        "associativity": ["logical_blocks", "reclaims"],
        "utilisation": ["pages_programmed", "log_blocks"],
    }
    page = ssdlab.simulate(small)
    assert page.log is None and page.summary["log"] is None and page.log_arrow() == {}
    page.save(tmp_path)
    assert list(tmp_path.glob("log_*")) == []


def test_every_cause_has_a_name_and_a_colour(logged: ssdlab.Result) -> None:
    causes, _ = tables.operations(logged.summary)
    assert [cause for cause in causes if cause not in tables.CAUSES] == []
    assert {*tables.CAUSES} == {*CAUSES}


def test_copied_pages_exclude_the_hosts(logged: ssdlab.Result) -> None:
    copied = next(figure for figure in metrics.SHOWN if figure.label == "pages copied").value(logged.summary)
    assert copied == int(logged.series["pages_copied"].sum())
    assert logged.write_amplification == pytest.approx(1 + (copied or 0) / logged.summary["host"]["pages_written"])


def test_log_rows_exist_only_with_a_log(logged: ssdlab.Result, small: ssdlab.Config) -> None:
    shown = tables.sections(logged.summary)
    assert "full merges per page written" in dict(shown["Log"]) and "Merges" not in shown
    assert ("Captures" in shown) == (logged.config["ftl"] != "bast")
    assert ("pages copied to the isolation area" in dict(shown["Log"])) == (logged.config["ftl"] == "faster")
    page = tables.sections(ssdlab.simulate(small).summary)
    assert {"Log", "Captures"} & {*page} == set() and "mapping tables in controller RAM" in dict(page["Device"])


@pytest.mark.parametrize("ftl", ["fast", "faster"])
def test_captures_are_shown_only_with_sequential_log_blocks(small: ssdlab.Config, ftl: str) -> None:
    log = ssdlab.simulate(small.with_overrides({**STREAMS, "ftl": ftl, f"ftl.{ftl}.sw": 0})).summary["log"]
    assert log["capture"] is None and log["capture_by_stream"] == []


def test_streams_are_shown_by_name(small: ssdlab.Config, tmp_path: Path) -> None:
    config = small.with_overrides({**STREAMS, "ftl": "sbfast"})
    expected = ["random", "seq1", "seq2", "seq3", "seq4"]
    trace = ssdlab.generate(config)
    trace.save(tmp_path / "streams.csv")
    trace.save(tmp_path / "streams.parquet")
    for source in (None, trace, tmp_path / "streams.csv", tmp_path / "streams.parquet"):
        by_stream = ssdlab.simulate(config, source).summary["log"]["capture_by_stream"]
        assert [stream["stream"] for stream in by_stream] == expected, source
    columns = trace.columns()
    nameless = ssdlab.Trace.from_columns(
        op=columns["op"], offset=columns["offset"], bytes=columns["bytes"], stream=columns["stream"]
    )
    by_stream = ssdlab.simulate(config, nameless).summary["log"]["capture_by_stream"]
    assert [stream["stream"] for stream in by_stream] == ["1", "2", "3", "4", "5"]
    rows, more = tables.captures(ssdlab.simulate(config).summary)
    assert rows[0][0] == "random" and len(rows) == 5 and more == 0


def test_a_report_shows_the_busiest_writing_streams(small: ssdlab.Config) -> None:
    config = small.with_overrides({"ftl": "fast", "host.fit": "wrap"})
    result = ssdlab.simulate(config, ROOT / "traces" / "oltp.csv.zst")
    rows, more = tables.captures(result.summary)
    assert len(rows) == tables.STREAMS_SHOWN and len(rows) + more == len(result.summary["log"]["capture_by_stream"])
    page = result.report_html()
    assert f"{more} more streams" in page and f'<th scope="row">{rows[0][0]}</th>' in page


def test_a_report_has_only_meaningful_charts(logged: ssdlab.Result, small: ssdlab.Config) -> None:
    page = html.unescape(logged.report_html())
    for title in ("Merges", "Service time over the run"):
        assert f"<h2>{title}</h2>" in page
    assert "Cost per reclaim of log space" in page
    # BAST merges one logical block at a time, and FASTer does so in this run.
    assert ("Logical blocks merged per reclaim" in page) == (logged.config["ftl"] in ("fast", "sbfast"))
    ids = [part.split('"')[0] for part in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
    assert "Merges" not in ssdlab.simulate(small).report_html()


def test_charts_of_a_log_need_one(small: ssdlab.Config) -> None:
    result = ssdlab.simulate(small)
    for draw in (result.plot_reclaim_cost, result.plot_associativity, result.plot_log_utilisation):
        with pytest.raises(ValueError, match="needs an FTL with log blocks"):
            draw()
    with pytest.raises(ValueError, match="time was not modelled"):
        ssdlab.simulate(small.with_overrides({"time": "count"})).plot_response_time()


@pytest.mark.parametrize("time", ["serial", "count"])
def test_the_cumulative_cost_of_reclaims_rises_to_all(small: ssdlab.Config, time: str) -> None:
    result = ssdlab.simulate(small.with_overrides({**STREAMS, "ftl": "fast", "time": time}))
    axes = result.plot_reclaim_cost().axes[0]
    x, y = np.asarray(axes.lines[0].get_data(), dtype=float)
    assert (np.diff(x) >= 0).all() and (np.diff(y) >= 0).all() and y[0] == 0 and y[-1] == pytest.approx(100)
    assert ("time per reclaim" if time == "serial" else "pages copied") in axes.get_xlabel()


def test_response_times_over_the_run_equal_the_series(small: ssdlab.Config) -> None:
    result = ssdlab.simulate(small)
    lines = {line.get_label(): line.get_ydata() for line in result.plot_response_time().axes[0].lines}
    assert list(lines) == ["read, maximum", "read, mean", "write, maximum", "write, mean"]
    longest = np.asarray(lines["write, maximum"], dtype=float)
    assert np.nanmax(longest) == result.summary["latency"]["write"]["max_ns"]
    assert (np.asarray(lines["write, mean"], dtype=float)[longest > 0] <= longest[longest > 0]).all()


@pytest.mark.parametrize("ftl", LOGGED)
@pytest.mark.parametrize("ops", [[], ["read"], ["write", "trim"]])
def test_an_idle_log_has_a_report(small: ssdlab.Config, ftl: str, ops: list[str]) -> None:
    trace = ssdlab.Trace.from_columns(op=ops, offset=[512] * len(ops), bytes=[8192] * len(ops))
    result = ssdlab.simulate(small.with_overrides({"ftl": ftl, "precondition.overwrite": "none"}), trace)
    assert log_plots.NO_RECLAIMS in result.report_html()
    assert {"No log block was retired."} == {text.get_text() for text in result.plot_log_utilisation().axes[0].texts}


def test_tables_and_comparisons_show_the_log(cli: Cli) -> None:
    streams = [argument for key, value in STREAMS.items() for argument in ("--set", f"{key}={value}")]
    out = cli("run", *SMALL_SETS, *streams, "--set", "ftl=faster", "--all").stdout
    for words in ("second chance", "isolation area", "data blocks erased", "full merges per page written"):
        assert words in out
    cases = [argument for ftl in ("page", *LOGGED) for argument in ("--case", f"{ftl}: ftl={ftl}")]
    rows = cli("compare", *SMALL_SETS, *streams, *cases, "--all").stdout.splitlines()
    tables = next(row for row in rows if "mapping tables in controller RAM" in row)
    # BAST, the second column, has the smallest values.
    assert tables.split()[9] == "*" and tables.count("*") == 1
    assert next(row for row in rows if "full merges  " in row).split()[2] == "–"
    # Page mapping and BAST capture no streams: they have no value, so no value is marked as the best.
    assert next(row for row in rows if "pseudo-benefit" in row).split()[1:3] == ["–", "–"]
    comparison = json.loads(cli("compare", *SMALL_SETS, *streams, *cases, "--json").stdout)["result"]["cases"]
    page, fast = (comparison[case]["runs"][0] for case in ("page", "fast"))
    assert page["log"] is None and fast["log"]["capture_by_stream"][0]["stream"] == "random"


def test_variants_are_listed_with_their_meaning() -> None:
    # Other tests of this process may have registered plug-ins.
    names = [name for name, _ in _ssdlab.variants("ftl") if not name.startswith("python:")]
    assert names == ["page", *LOGGED]
    assert all(help_text for _, help_text in _ssdlab.variants("ftl"))
    assert _ssdlab.variants("seed") == _ssdlab.variants("no.such.setting") == []
