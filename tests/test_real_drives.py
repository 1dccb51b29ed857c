"""Presets of real drives: response times computed by hand, and tables that compare the presets with measurements."""

import math
from collections.abc import Mapping

import pytest

import ssdlab
from ssdlab.study.experiments import ExperimentResult

SMALL = {"device.capacity": "768MiB", "nand.pages_per_block": 12, "device.reserve": "extra"}
"""A client drive with few small superblocks: times of single requests do not depend on its size."""


def one_at_a_time(size: str, reads: str, pattern: str = "sequential") -> float:
    """Returns the mean response time in us of requests that are alone in the drive of preset `client-nvme`."""
    settings = {
        **SMALL,
        "precondition.overwrite": "none",
        "host.replay.closed.queue_depth": 1,
        "host.replay.closed.think": "5ms",
        "workload.pattern": pattern,
        "workload.size": size,
        "workload.align": size,
        "workload.reads": reads,
        "workload.requests": 6144 if size == "128KiB" else 12_288,
    }
    summary = ssdlab.simulate(ssdlab.Config("client-nvme", overrides=settings)).summary
    return float(summary["latency"]["all"]["mean_ns"]) / 1e3


COMMAND, READ, WRITE = 1.29, 16.7, 8.0
"""Work of a processor, and the delays of reads and writes."""
CELLS = (31.8, 41.0, 52.0)
"""t_R of the three pages of a word line."""
BUS = 4 * 0.853
"""Bus transfer of 4 KiB."""


def link(kib: int) -> float:
    """Transfer over the host link in us: packets of 256 bytes with 24 bytes each, at 7,877 MB/s."""
    return kib * 1024 * (256 + 24) / 256 / 7877


def test_four_kib_by_hand() -> None:
    read = COMMAND + READ + sum(CELLS) / 3 + BUS + link(4)
    assert one_at_a_time("4KiB", "100%") == pytest.approx(read, abs=0.01)
    assert one_at_a_time("4KiB", "0%") == pytest.approx(COMMAND + link(4) + WRITE, abs=0.01)


def test_128_kib_by_hand() -> None:
    """Three requests of 128 KiB read two program units of 192 KiB: 16 mapping units of each page on four planes."""
    row = 16 * BUS
    # While the 16 units of one row are on the bus, the cells read the next row.
    two_rows = [CELLS[0] + 2 * row, CELLS[1] + 2 * row]
    # The last row of one program unit, and the first row of the next, on another channel.
    apart = max(CELLS[2], CELLS[0]) + row
    read = COMMAND + READ + (two_rows[0] + apart + two_rows[1]) / 3 + link(128)
    assert one_at_a_time("128KiB", "100%") == pytest.approx(read, abs=0.1)
    assert one_at_a_time("128KiB", "0%") == pytest.approx(COMMAND + link(128) + WRITE, abs=0.1)


TINY = {
    "device.capacity": "192MiB",
    "nand.pages_per_block": 3,
    "workload.requests": 6000,
    "host.warmup": 500,
    "workload.span": "device",
    "seed": 1,
}
"""A drive with 64 superblocks of one program unit per die."""


def run(preset: str, *settings: Mapping[str, object]) -> dict[str, object]:
    merged = {key: value for some in settings for key, value in some.items()}
    return ssdlab.simulate(ssdlab.Config(preset, overrides=merged)).summary


def cell(result: ExperimentResult, table: str, row: str, column: str, which: str = "ours") -> float:
    table_result = result[table]
    values = getattr(table_result, which)
    return float(values[table_result.rows.index(row), table_result.columns.index(column)])


@pytest.fixture(scope="module")
def tiny() -> ExperimentResult:
    tables = ["read_p99_us", "capacity", "saturated", "amplification"]
    return ssdlab.experiments.load("real-drives").run(tables=tables, overrides=TINY)


def queues(rate: int) -> dict[str, object]:
    """The probe and six writers with `rate` requests per second each, in queues of depth 64."""
    return {
        "workload.queues": f"1:fixed:10k/s:50%,6:poisson:{rate}/s:1%",
        "host.replay.open.depth": 64,
        "nand.erase": "219us",
    }


def test_cells_are_figures_of_the_probe(tiny: ExperimentResult) -> None:
    [probe] = [
        stream
        for stream in run("pm9a3-960", TINY, queues(4167))["drive"]["streams"]  # type: ignore[index]
        if stream["stream"] == "queue1"
    ]
    assert cell(tiny, "read_p99_us", "pm9a3-960", "30k fitted") == probe["read"]["p99_ns"] / 1e3
    assert cell(tiny, "read_p99_us", "pm9a3-960", "30k fitted", "document") == 318


def test_the_other_arbitration_and_the_capacity(tiny: ExperimentResult) -> None:
    for table, row, column, settings in (
        ("saturated", "7450-pro-960 fifo", "writes_per_s", {"drive.protocol.nvme.arbitration": "fifo"}),
        ("capacity", "7450-pro-960", "writes_per_s", {}),
    ):
        time = run("7450-pro-960", TINY, queues(15833), settings)["time"]
        assert cell(tiny, table, row, column) == time["bytes_written_per_s"] / 4096  # type: ignore[index]


def test_loads_are_those_of_the_measurement() -> None:
    """The writers share the load less 5,000 requests per second, half of the probe's."""
    for axis in ("load", "higher_load"):
        [table] = [one for one in ssdlab.experiments.load("real-drives").tables if one.columns.name == axis][:1]
        for label, settings in table.columns.settings.items():
            probe, writers = str(settings["workload.queues"]).split(",")
            assert probe == "1:fixed:10k/s:50%"
            count, arrival, rate, reads = writers.split(":")
            assert (count, arrival, reads) == ("6", "poisson", "1%")
            load = 1000 * int(label.split("k")[0])
            assert 6 * int(rate.removesuffix("/s")) == pytest.approx(load - 5000, abs=3)


def closed_form(alpha: float) -> float:
    """Returns the write amplification of greedy collection with large blocks: alpha / (alpha + W0(-alpha e^-alpha))."""
    wanted, low, high = -alpha * math.exp(-alpha), -1.0, 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.exp(middle) < wanted else (low, middle)
    return alpha / (alpha + low)


def test_amplification_of_the_7450_max(tiny: ExperimentResult) -> None:
    for percent in (50, 60, 70, 80, 90, 100):
        used_gib = 800_166_076_416 / 2**30 * percent / 100
        closed = cell(tiny, "amplification", f"{percent}%", "closed_form", "document")
        assert closed == pytest.approx(closed_form(1079 / used_gib), abs=1e-4)
        # 1.036 for metadata and parity.
        assert cell(tiny, "amplification", f"{percent}%", "measured", "document") == pytest.approx(
            1.036 * closed, rel=0.006
        )
