"""Costs of a map in flash in results, tables, charts and reports."""

import json

import pytest

import ssdlab
from conftest import SMALL_SETS, Cli
from ssdlab.model import metrics
from ssdlab.view.pages import tables

MAPS: dict[str, dict[str, str | int]] = {
    "segments": {"ftl.page.map.segments.cache": "4KiB", "ftl.page.map.segments.segment": "1KiB"},
    "dftl": {"ftl.page.map.dftl.cmt": 256},
}
CAUSES = ("map_load", "map_write_back", "map_update", "map_gc")


@pytest.fixture(params=MAPS)
def mapped(request: pytest.FixtureRequest, small: ssdlab.Config) -> ssdlab.Result:
    """A run of each map in flash."""
    return ssdlab.simulate(small.with_overrides(MAPS[request.param]))


def test_every_map_cause_occurs_with_its_own_name_and_colour(mapped: ssdlab.Result) -> None:
    causes, _ = tables.operations(mapped.summary)
    assert {*CAUSES} <= {*causes} <= {*tables.CAUSES}
    assert len({tables.CAUSES[cause].colour for cause in causes}) == len(causes)


def test_map_rows_equal_the_summary(mapped: ssdlab.Result) -> None:
    of_map, flash = mapped.summary["map"], mapped.summary["flash"]
    shown = dict(tables.sections(mapped.summary)["Map"])
    assert shown["hit ratio"] == f"{100 * (of_map['all']['hits'] / of_map['all']['count']):.2f} %"
    assert shown["hit ratio, reads"] == f"{100 * of_map['reads']['hit_ratio']:.2f} %"
    assert shown["hit ratio, writes and trims"] == f"{100 * of_map['changes']['hit_ratio']:.2f} %"
    assert shown["map pages read"] == f"{sum(flash['reads'].get(cause, 0) for cause in CAUSES):,}"
    assert shown["map pages programmed"] == f"{sum(flash['programs'].get(cause, 0) for cause in CAUSES):,}"
    own = of_map["pages_programmed"] / mapped.summary["host"]["pages_written"]
    assert shown["map pages programmed per page written"] == f"{own:.3f}"
    assert shown["map pages in flash"] == "4"


def test_programs_are_the_hosts_the_copies_and_the_maps(mapped: ssdlab.Result) -> None:
    copied = next(figure for figure in metrics.SHOWN if figure.label == "pages copied").value(mapped.summary)
    host, of_map = mapped.summary["host"]["pages_written"], mapped.summary["map"]["pages_programmed"]
    assert copied == mapped.summary["flash"]["programs"]["gc"]
    assert mapped.write_amplification == pytest.approx((host + copied + of_map) / host)


def test_ram_is_cache_and_directory(small: ssdlab.Config) -> None:
    def ram(**overrides: str | int) -> int:
        device = ssdlab.simulate(small.with_overrides({"workload.requests": 0, **overrides})).summary["device"]
        return int(device["mapping_table_bytes"])

    # 4,096 pages: a map of 16 KiB in 16 segments or in 4 map pages.
    assert ram() == 4 * 4096
    assert ram(**MAPS["segments"]) == 4096 + 4 * 16
    assert ram(**MAPS["dftl"]) == 8 * 256 + 4 * 4


def test_a_map_in_ram_has_no_rows(small: ssdlab.Config) -> None:
    result = ssdlab.simulate(small)
    assert result.summary["map"] is None and "Map" not in tables.sections(result.summary)
    assert "map hit ratio" not in result.report_html()


def test_without_look_ups_there_are_no_ratios(small: ssdlab.Config) -> None:
    result = ssdlab.simulate(small.with_overrides({**MAPS["dftl"], "workload.requests": 0}))
    assert "hit ratio" not in dict(tables.sections(result.summary)["Map"])
    assert result.report_html()


def test_tables_comparisons_and_reports_show_the_map(cli: Cli, mapped: ssdlab.Result) -> None:
    cases = ["--case", "ram: ftl=page"]
    for name, sets in MAPS.items():
        cases += ["--case", f"{name}: {' '.join(f'{key}={value}' for key, value in sets.items())}"]
    rows = cli("compare", *SMALL_SETS, *cases, "--all").stdout.splitlines()
    own = next(row for row in rows if "map pages programmed per page written" in row).split()[6:]
    assert own[0] == "–" and own.count("*") == 1
    comparison = json.loads(cli("compare", *SMALL_SETS, *cases, "--json").stdout)["result"]["cases"]
    ram, dftl = (comparison[case]["runs"][0] for case in ("ram", "dftl"))
    assert ram["map"] is None and dftl["map"]["pages"] == 4
    assert "map write-back" in cli("run", *SMALL_SETS, "--set", "ftl.page.map.dftl.cmt=64", "--all").stdout
    page = mapped.report_html()
    assert "map hit ratio" in page and "<h3>Map</h3>" in page and "map collection" in page
