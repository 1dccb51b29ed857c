"""The block layer and its schedulers, in the results that a user sees."""

import re
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from conftest import Cli

SMALL = {
    "device.capacity": "64MiB",
    "time": "event",
    "workload.requests": 2000,
    "workload.reads": "50%",
    "precondition.overwrite": "none",
}

SCHEDULERS = ("noop", "deadline", "anticipatory", "cfq", "pardispatcher", "none", "mq-deadline", "kyber", "bfq", "fios", "flashfq")  # fmt: skip # noqa: E501


def test_schedulers_are_listed_with_their_tunables(cli: Cli) -> None:
    out = cli("list", "schedulers", "--all").stdout
    assert [name for name in SCHEDULERS if not re.search(rf"^{name}  ", out, re.MULTILINE)] == []
    assert re.search(r"^    fifo_batch +16  Maximum requests per batch\.$", out, re.MULTILINE)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_every_scheduler_serves_everything(scheduler: str) -> None:
    tunables = {"block.scheduler.pardispatcher.region_size": "16MiB"} if scheduler == "pardispatcher" else {}
    config = ssdlab.Config("tlc-chip", overrides={**SMALL, "block.scheduler": scheduler, "check": True, **tunables})
    result = ssdlab.simulate(config)
    block = result.summary["drive"]["block"]
    assert block["scheduler"] == scheduler
    assert block["counters"]["bios"] == 2000 == result.summary["latency"]["all"]["count"]
    merged = block["counters"]["back_merges"] + block["counters"]["front_merges"]
    dispatched = block["counters"]["dispatched_reads"] + block["counters"]["dispatched_writes"]
    assert dispatched == 2000 - merged - block["counters"]["request_merges"]
    assert block["merged_share"] == pytest.approx(merged / 2000)


def test_dispatched_requests_are_a_trace(tmp_path: Path) -> None:
    config = ssdlab.Config("tlc-chip", overrides={**SMALL, "block.scheduler": "deadline", "block.record": True})
    result = ssdlab.simulate(config)
    trace = result.dispatched
    assert trace is not None
    counters = result.summary["drive"]["block"]["counters"]
    assert len(trace) == counters["dispatched_reads"] + counters["dispatched_writes"]
    assert trace.bytes[trace.op == 0].sum() == 512 * counters["dispatched_read_sectors"]
    assert (np.diff(trace.time_ns.astype(np.int64)) >= 0).all()
    result.save(tmp_path)
    again = ssdlab.simulate(
        ssdlab.Config("tlc-chip", overrides={"device.capacity": "64MiB", "time": "count"}),
        tmp_path / "dispatched.parquet",
    )
    assert again.summary["host"]["bytes_written"] == result.summary["host"]["bytes_written"]
    # A result without dispatched requests leaves no old file.
    ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=SMALL)).save(tmp_path)
    assert not (tmp_path / "dispatched.parquet").exists()


def test_ineffective_rules_are_named(cli: Cli) -> None:
    sets = ["--preset", "tlc-chip", *(word for key, value in SMALL.items() for word in ("--set", f"{key}={value}"))]
    out = " ".join(cli("run", *sets, "--set", "block.scheduler=cfq", "--all").stdout.split())
    assert "cfq: per-process rules have no effect: all requests come from one" in out
    assert "cfq: rules for synchronous writes have no effect: no write is marked as synchronous" in out
    assert "rules by" not in cli("run", *sets, "--set", "block.scheduler=mq-deadline").stdout


def streams(sync: bool) -> ssdlab.Trace:
    """Three processes; the first sends three times as many requests as each of the others."""
    number = np.arange(3000)
    stream = np.where(number % 5 < 3, 0, number % 5 - 2)
    offset = (number * 7919 % 16000) * 4096
    flags = np.full(3000, 1 if sync else 0)
    columns = {"op": number % 2, "offset": offset, "bytes": np.full(3000, 4096), "flags": flags, "stream": stream}
    return ssdlab.Trace.from_columns(**columns, streams=["greedy", "b", "c"])


def test_requests_at_the_drive_are_distinguished_from_the_hosts(cli: Cli) -> None:
    """Flushes of a drive without a write buffer end in the block layer, and merged requests count as one request."""
    drive = ["--preset", "tlc-nvme", "--set", "device.reserve=extra", "--set", "nand.pages_per_block=512"]
    drive += ["--set", "device.capacity=64MiB", "--set", "workload.requests=300", "--workload", "sequential"]
    drive += ["--set", "precondition.overwrite=none", "--set", "drive.buffer=none"]
    titles = cli("run", *drive, "--all", "--set", "block.scheduler=mq-deadline").stdout.splitlines()
    assert "Below the block layer" in [*map(str.strip, titles)] and "Host" not in [*map(str.strip, titles)]
    assert "Host" in [*map(str.strip, cli("run", *drive, "--all").stdout.splitlines())]
    cases = ("plain: seed=1", "layer: block.scheduler=noop", "cache: cache.policy=lru")
    compared = cli("compare", *drive, *(word for case in cases for word in ("--case", case)), "--all").stdout
    compared = " ".join(compared.split())
    assert " Host (below a block layer or a cache, if the case has one)" in compared
    assert " Drive (below a cache, if the case has one)" in compared


def test_trims_among_block_layer_writes_are_labelled(cli: Cli, tmp_path: Path) -> None:
    """A scheduler distinguishes only reads from other requests, and a trim may be larger than all writes together."""
    trace = ssdlab.Trace.from_columns(op=["write", "trim"], offset=[0, 1 << 20], bytes=[4096, 1 << 20])
    trace.save(tmp_path / "trim.csv")
    sets = {**SMALL, "block.scheduler": "mq-deadline", "block.wbt_lat": "2ms"}
    words = [word for key, value in sets.items() if "workload" not in key for word in ("--set", f"{key}={value}")]
    out = cli("run", "trim.csv", "--preset", "tlc-chip", *words, "--all").stdout
    assert re.search(r"^  writes and trims throttled +0$", out, re.MULTILINE)
    size = "size of a dispatched write or trim, mean"
    assert re.search(rf"^  writes and trims dispatched +2\n  {size} +514 KiB$", out, re.MULTILINE)


def test_fairness_and_interference() -> None:
    config = ssdlab.Config("tlc-chip", overrides={**SMALL, "host.replay.closed.queue_depth": 16})
    drive = ssdlab.simulate(config, streams(sync=True)).summary["drive"]
    rates = np.array([stream["bytes_per_s"] for stream in drive["streams"]])
    assert [stream["stream"] for stream in drive["streams"]] == ["greedy", "b", "c"]
    assert drive["fairness"] == pytest.approx(rates.sum() ** 2 / (3 * (rates**2).sum()))
    # Shares of 3:1:1 have Jain's index 25 / (3 * 11).
    assert drive["fairness"] == pytest.approx(25 / 33, rel=0.01)
    met = drive["interference"]
    counts = [met[name]["count"] if met[name] else 0 for name in ("reads_alone", "reads_beside_writes")]
    assert sum(counts) == 1500 and counts[1] > counts[0]
    assert met["reads_beside_writes"]["mean_ns"] > met["reads_alone"]["mean_ns"] if counts[0] else True


def test_fairness_covers_streams_that_overlap() -> None:
    """A stream of two requests in the middle of the run, served immediately, does not affect fairness."""
    config = ssdlab.Config("tlc-chip", overrides={**SMALL, "host.replay.closed.queue_depth": 16})
    hosts = streams(sync=True)
    columns, number = hosts.columns(), np.arange(len(hosts))
    guest = {**columns, "stream": np.where((number == 1500) | (number == 1501), len(hosts.streams), columns["stream"])}
    trace = ssdlab.Trace.from_columns(**guest, streams=[*hosts.streams, "guest"])
    drive = ssdlab.simulate(config, trace).summary["drive"]
    assert [stream["stream"] for stream in drive["streams"]] == ["greedy", "b", "c", "guest"]
    assert drive["streams"][3]["bytes_per_s"] > 4 * drive["streams"][1]["bytes_per_s"]
    assert drive["fairness"] == pytest.approx(25 / 33, rel=0.01)


def test_processes_wait_for_synchronous_requests() -> None:
    config = {**SMALL, "host.replay": "processes", "block.scheduler": "noop"}
    sync = ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=config), streams(sync=True)).summary["drive"]
    # Each of three processes waits for each of its requests.
    assert sync["queue_depth_max"] == 3
    loose = ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=config), streams(sync=False)).summary["drive"]
    assert loose["queue_depth_max"] > 3


def test_write_back_is_throttled_and_otherwise_not_mentioned() -> None:
    sets = {**SMALL, "block.scheduler": "none", "host.replay": "processes"}
    # One flow of unawaited writes, and two processes that read.
    blocks = {
        wbt_lat: ssdlab.simulate(
            ssdlab.Config("tlc-chip", overrides={**sets, "block.wbt_lat": wbt_lat}), streams(sync=False)
        ).summary["drive"]["block"]
        for wbt_lat in ("0ns", "1ns")
    }
    assert "throttling" not in blocks["0ns"]
    assert blocks["0ns"]["counters"]["bios"] == blocks["1ns"]["counters"]["bios"] == 3000
    # No read is as fast as the target.
    throttling = blocks["1ns"]["throttling"]
    assert throttling["held_back"] > 0 < throttling["held_back_ns"]
    assert throttling["steps_down"] > 0


def test_hardware_queues_have_their_own_requests() -> None:
    sets = {**SMALL, "block.scheduler": "none", "host.replay.closed.queue_depth": 12, "block.slots": 4}
    run = {
        queues: ssdlab.simulate(
            ssdlab.Config("tlc-chip", overrides={**sets, "block.hardware_queues": queues}), streams(sync=True)
        ).summary["drive"]["block"]["counters"]
        for queues in (1, 3)
    }
    # Twelve requests outstanding, but four allowed; or four for each of three processes, one of which has most.
    assert run[1]["bios_waited"] > run[3]["bios_waited"] > 0
    assert run[1]["bios"] == run[3]["bios"] == 3000


def test_more_requests_wait_in_the_layer_than_the_drive_holds() -> None:
    # A plug that merges would hide the waiting requests.
    reads = {"workload.reads": "100%", "workload.requests": 5000, "drive.protocol": "sata"}
    sets = {**SMALL, **reads, "block.scheduler": "noop", "block.plug": False}

    def outstanding(depth: int) -> tuple[float, float]:
        """Mean number of requests in layer and drive, and in the drive alone, by Little's law."""
        overrides = {**sets, "host.replay.closed.queue_depth": depth}
        run = ssdlab.simulate(ssdlab.Config("tlc-chip", overrides=overrides)).summary
        alone, counters = run["drive"]["interference"]["reads_alone"], run["drive"]["block"]["counters"]
        per_ns = run["time"]["iops"] / 1e9
        assert counters["dispatched_reads"] == alone["count"]
        return (
            run["latency"]["all"]["mean_ns"] * per_ns,
            alone["mean_ns"] * per_ns * counters["dispatched_reads"] / counters["bios"],
        )

    in_all, in_drive = outstanding(64)
    assert in_all == pytest.approx(64, rel=0.03)
    assert in_drive == pytest.approx(31, rel=0.03)
    in_all, in_drive = outstanding(16)
    assert in_all == pytest.approx(16, rel=0.03)
    assert in_drive == pytest.approx(16, rel=0.03)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({"block.scheduler": "cqf"}, 'block.scheduler: "cqf" .*did you mean "cfq"'),
        (
            {"block.scheduler.deadline.fifo_bach": 4},
            "unknown setting; did you mean block.scheduler.deadline.fifo_batch",
        ),
        ({"block.scheduler.deadline.read_expire": "0ns"}, "read_expire: 0ns is out of range: 1ms to"),
        ({"block.scheduler.deadline.read_expire": "1500us"}, "1.5ms is not a multiple of 1ms; set it to 1ms"),
        ({"block.scheduler.pardispatcher.read_batch": 0}, "read_batch: 0 is out of range: 1 to"),
        (
            {"block.scheduler": "noop", "block.max_request": "5000B"},
            "block.max_request: 5kB is not a multiple of 512B; lower it to 4608B",
        ),
        (
            {"block.scheduler": "cfq", "block.wbt_lat": "2ms"},
            "block.wbt_lat: the single-queue layer has no write-back throttling",
        ),
        (
            {"block.scheduler": "cfq", "block.hardware_queues": 2},
            "block.hardware_queues: the single-queue layer has only one queue",
        ),
        ({"block.scheduler": "cfq", "time": "serial"}, 'set time to "event"'),
        ({"block.frame": "modern"}, 'block.frame: was renamed to block.layer = "single-queue" or "multi-queue"'),
    ],
)
def test_bad_settings_are_refused_with_the_remedy(sets: dict[str, str | int], message: str) -> None:
    with pytest.raises(ssdlab.ConfigError, match=message):
        ssdlab.simulate(ssdlab.Config("tlc-chip", overrides={**SMALL, **sets}))
