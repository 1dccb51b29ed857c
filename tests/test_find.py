"""The command `ssdlab find`, and suggestions for unknown settings."""

import json

import pytest

from ssdlab._ssdlab import ConfigError
from ssdlab.cli import app
from ssdlab.study.explain import explain
from ssdlab.study.search import Named, corrected, search

NAMES = [
    Named("cache.size", "setting", "Capacity."),
    Named("drive.buffer.eager.size", "setting", "Capacity of the write-back buffer."),
    Named("sized", "preset", "A drive."),
    Named("size", "term", "Bytes."),
    Named("cache.sizes.most", "setting", "Largest."),
    Named("host.fit", "setting", "Sizes of the drive."),
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("size", ["size", "cache.size", "drive.buffer.eager.size", "sized", "cache.sizes.most", "host.fit"]),
        ("SIZE", ["size", "cache.size", "drive.buffer.eager.size", "sized", "cache.sizes.most", "host.fit"]),
        ("buffer.size", ["drive.buffer.eager.size"]),
        ("cache size", ["cache.size", "cache.sizes.most"]),
        ("writeback", ["drive.buffer.eager.size"]),
        ("write back", ["drive.buffer.eager.size"]),
        ("sise", []),
        (".", []),
    ],
)
def test_equal_names_come_first_and_meanings_last(query: str, found: list[str]) -> None:
    assert [one.name for one in search(query, NAMES)] == found


def test_misspelt_words_are_corrected() -> None:
    assert corrected("Buffr sise", NAMES) == "buffer size"


@pytest.mark.parametrize(
    ("query", "kind", "name"),
    [
        ("host.queue", "setting", "host.replay.closed.queue_depth"),
        ("device.op", "setting", "device.op"),
        ("enterprise-nvme", "preset", "enterprise-nvme"),
        ("d_choices", "value", "ftl.page.gc=d_choices"),
        ("s3-fifo", "cache", "s3-fifo"),
        ("compare", "command", "ssdlab compare"),
        ("mapcache", "command", "ssdlab advise mapcache"),
        ("read p99", "metric", "latency.read.p99_ns"),
        ("TBW", "term", "terabytes written (TBW)"),
        ("qeue depht", "setting", "host.replay.closed.queue_depth"),
    ],
)
def test_all_kinds_of_names_are_found(capsys: pytest.CaptureFixture[str], query: str, kind: str, name: str) -> None:
    app(["find", *query.split(), "--json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)["result"]
    assert next(one["name"] for one in found if one["kind"] == kind) == name


def test_a_search_without_matches_says_so() -> None:
    with pytest.raises(ConfigError, match=r"^nothing matches 'xyzzy'; 'ssdlab list' shows all names$"):
        app(["find", "xyzzy"], standalone_mode=False)


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("host.queue", "; did you mean host.replay.closed.queue_depth?"),
        ("device.overprovisioning", "; did you mean device.op?"),
        ("nand.reed", "; did you mean nand.read?"),
        ("xyzzy", ""),
    ],
)
def test_the_error_for_an_unknown_setting_suggests_settings(key: str, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        explain(key)
    assert str(caught.value) == f"{key}: unknown setting{meant}; 'ssdlab list settings' lists the tables of settings"
