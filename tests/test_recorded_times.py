"""Goal: a trace with times is replayed at these times unless the user chooses otherwise, and every result says how.
Method: traces of a few reads of an idle drive, whose times are computed by hand.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from ssdlab.cli.options import replay_sets
from ssdlab.model.config import REPLAYED_AT_TIMES, Config, recorded
from ssdlab.model.remarks import remarks_on
from ssdlab.model.replayed import OVERLOADED
from ssdlab.view.pages import comparison
from ssdlab.view.written import only

DRIVE = {
    "time": "event", "nand.channels": 1, "nand.dies": 1, "device.capacity": "64MiB", "precondition.fill": "100%",
    "precondition.overwrite": "none", "drive.buffer": "none",
}  # fmt: skip
MS = 1_000_000


def drive(**more: Any) -> Config:
    return Config("tlc-chip", overrides={**DRIVE, **more})


def reads(count: int = 3, gap_ns: int = MS) -> ssdlab.Trace:
    return ssdlab.Trace.from_columns(
        op=["R"] * count, offset=[0] * count, bytes=[4096] * count, time_ns=[n * gap_ns for n in range(count)]
    )


def times(result: ssdlab.Result) -> tuple[int, int, int]:
    """Returns the simulated time, and the shortest and longest response time."""
    reads = result.summary["latency"]["read"]
    return result.summary["time"]["elapsed_ns"], reads["min_ns"], reads["max_ns"]


def title(result: ssdlab.Result) -> str:
    return result.page().title


def test_requests_with_times_are_replayed_at_these_times() -> None:
    result = ssdlab.simulate(drive(), reads())
    elapsed_ns, least_ns, most_ns = times(result)
    assert least_ns == most_ns and elapsed_ns == 2 * MS + most_ns
    assert result.config["host.replay"] == "open"
    assert result.config.to_dict()["host.replay"]["origin"] == REPLAYED_AT_TIMES
    chosen = ssdlab.simulate(drive(**{"host.replay": "open"}), reads())
    assert chosen.summary == result.summary
    # At twice the speed, the last read arrives after 1 ms.
    faster = ssdlab.simulate(drive(**{"host.replay.open.speed": 2}), reads())
    assert times(faster) == (MS + most_ns, most_ns, most_ns)
    # In two replays, the second measured from the end of the first, reads come every millisecond.
    assert times(ssdlab.simulate(drive(**{"host.repeat.times.count": 2}), reads()))[0] == 3 * MS


def test_a_stored_result_gives_its_configuration_again() -> None:
    result = ssdlab.simulate(drive(**{"host.replay.open.speed": 2}), reads())
    again = recorded(json.loads(json.dumps(result.config.to_dict())))
    assert again is not None and again["host.replay.open.speed"] == 2
    result = ssdlab.simulate(drive(), reads())
    again = recorded(json.loads(json.dumps(result.config.to_dict())))
    assert again == result.config and again.at_times() is not again


@pytest.mark.parametrize(
    ("settings", "mode", "depth"),
    [
        ({"host.replay": "closed"}, "closed", 32),
        ({"host.replay.closed.queue_depth": 4}, "closed", 4),
        ({"host.replay": "processes"}, "processes", None),
        ({"time": "serial"}, "closed", 32),
        ({}, "open", None),
    ],
)
def test_the_user_chooses_another_mode(settings: dict[str, Any], mode: str, depth: int | None) -> None:
    result = ssdlab.simulate(drive(**settings), reads())
    replay = result.summary["replay"]
    assert (replay["mode"], replay["queue_depth"], replay["recorded_ns"]) == (mode, depth, 2 * MS)


def test_requests_without_times_are_replayed_as_fast_as_possible() -> None:
    result = ssdlab.simulate(drive(), reads(gap_ns=0))
    assert result.summary["replay"]["mode"] == "closed"
    assert title(result).startswith("3 requests in memory as fast as possible, 32 outstanding, ")
    generated = {"workload.requests": 100, "workload.pattern": "uniform"}
    assert ssdlab.simulate(drive(**generated)).summary["replay"]["mode"] == "closed"
    arriving = ssdlab.simulate(drive(**generated, **{"workload.arrival.fixed.rate": "1k/s"}))
    # 100 requests a millisecond apart.
    assert (arriving.summary["replay"]["mode"], arriving.summary["replay"]["recorded_ns"]) == ("open", 99 * MS)
    assert title(arriving).startswith("uniform workload, 100 requests at their generated times, 99.")


def test_every_form_of_a_trace_has_times(tmp_path: Path) -> None:
    """A file, a Parquet file, a data frame and a pipe."""
    trace = reads()
    trace.save(tmp_path / "t.csv")
    trace.save(tmp_path / "t.parquet")
    results = [
        ssdlab.simulate(drive(), form) for form in (tmp_path / "t.csv", tmp_path / "t.parquet", trace.to_arrow())
    ]
    assert [times(result) for result in results] == [times(ssdlab.simulate(drive(), trace))] * 3
    settings = [word for key, value in DRIVE.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "ssdlab", "run", "-", "-p", "tlc-chip", "--json", *settings]
    piped = subprocess.run(command, input=(tmp_path / "t.csv").read_bytes(), capture_output=True, check=True)
    assert json.loads(piped.stdout)["result"]["replay"]["mode"] == "open"


def test_a_sweep_replays_each_trace_in_its_mode(tmp_path: Path) -> None:
    reads().save(tmp_path / "timed.csv")
    reads(gap_ns=0).save(tmp_path / "timeless.csv")
    study = ssdlab.sweep({"trace": [str(tmp_path / "timed.csv"), str(tmp_path / "timeless.csv")]}, drive())
    assert study.table["replay.mode"].to_pylist() == ["open", "closed"]
    both = ssdlab.sweep({"host.replay": ["closed", "open"]}, drive(), trace=tmp_path / "timed.csv")
    assert both.page().title.endswith(", as fast as possible, 32 outstanding or at recorded times")


def test_the_title_names_the_mode() -> None:
    assert title(ssdlab.simulate(drive(), reads())).startswith("3 requests in memory at their recorded times, 2.0")
    faster = title(ssdlab.simulate(drive(**{"host.replay.open.speed": 2}), reads()))
    assert faster.startswith("3 requests in memory at 2x their recorded speed, 1.0")
    closed = title(ssdlab.simulate(drive(**{"host.replay.closed.queue_depth": 4}), reads()))
    assert closed.startswith("3 requests in memory as fast as possible, 4 outstanding (2.00 ms of trace in ")
    serial = title(ssdlab.simulate(drive(time="serial"), reads()))
    assert serial.startswith("3 requests in memory, one request at a time (2.00 ms of trace in ")


def test_a_drive_that_cannot_keep_up_says_by_how_much() -> None:
    """1,501 page writes, 10 us apart, at 500 us each: 30 are complete when the last arrives, at 15.0 ms."""
    free = {"nand.program": "500us", "nand.transfer_per_kib": "0ns", "precondition.fill": "0%"}
    writes = ssdlab.Trace.from_columns(
        op=["W"] * 1501, offset=[4_096 * n for n in range(1501)], bytes=[4_096] * 1501,
        time_ns=[10_000 * n for n in range(1501)],
    )  # fmt: skip
    result = ssdlab.simulate(drive(**free), writes)
    time, replay = result.summary["time"], result.summary["replay"]
    assert (time["elapsed_ns"], time["behind_ns"]) == (750_500_000, 735_500_000)
    assert replay["backlog_requests"] == 1_471 and replay["arrivals_per_s"] == 100_000
    assert time["iops"] == pytest.approx(2_000)
    assert replay["sustained_speed"] == 15 / 750.5
    assert title(result) == "1,501 requests in memory at their recorded times (15.0 ms of trace in 750 ms)"
    assert [remark.text for remark in remarks_on(result) if "keep up" in remark.text] == [
        "the drive cannot keep up: 100 k requests/s arrive, but the drive serves 2.00 k/s, and 1,471 requests were "
        "waiting at the last arrival. Response times include this queue; to avoid it, use --speed 0.019x or "
        "--replay closed"
    ]
    cases = {"slow": drive(**free), "fast": drive(**{**free, "nand.program": "5us"})}
    page = only(comparison.page(ssdlab.compare(cases, writes)), ["waf"])
    assert f"slow: {OVERLOADED}" in [paragraph.text for paragraph in page.lead]


def test_options_set_settings() -> None:
    assert replay_sets(None, None) == []
    assert replay_sets("recorded", "2x") == [("--replay", "host.replay=open"), ("--speed", "host.replay.open.speed=2")]
    assert replay_sets("closed", None) == [("--replay", "host.replay=closed")]
    assert replay_sets("closed:4", None) == [("--replay", "host.replay.closed.queue_depth=4")]
    assert replay_sets("processes", None) == [("--replay", "host.replay=processes")]
    with pytest.raises(ssdlab.ConfigError, match=r"^--replay open: must be recorded, closed, closed:4 or processes$"):
        replay_sets("open", None)
    with pytest.raises(ssdlab.ConfigError, match=r"^--speed 2x: needs the recorded times; omit --replay closed$"):
        replay_sets("closed", "2x")
