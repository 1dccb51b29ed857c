"""Presets of real drives: response times computed by hand, and the tables that compare the presets with measurements."""

import math
from collections.abc import Mapping

import pytest

import ssdlab
from ssdlab.study.experiments import ExperimentResult

SMALL = {"device.capacity": "768MiB", "nand.pages_per_block": 12, "device.reserve": "extra"}
"""A client drive with few small superblocks: times of single requests do not depend on its size."""


def one_at_a_time(size: str, reads: str, pattern: str = "sequential") -> float:
    """Mean response time in us of requests that are alone in preset `client-nvme`; all program units take part equally."""
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
