"""Drives whose size follows from the trace: scale models, and drives without a lifetime."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from conftest import Cli
from fleets import written
from ssdlab.model.sizing import NO_LIFETIME, nominal_drive, sizing
from ssdlab.view.page import Facts

PAGE = 4096
CHIP: dict[str, object] = {
    "time": "count", "nand.channels": 1, "nand.ways": 1, "nand.planes": 4, "nand.multiplane": True,
    "nand.page_size": "16KiB", "nand.word_line": 3, "nand.pages_per_block": 96, "device.unit": "4KiB",
    "device.op": "28%", "device.reserve": "inside", "ftl.page.collect": "superblock", "ftl.page.trigger": "victim",
}  # fmt: skip
"""A die with 4 planes, whose superblocks have 32 word lines of 4 x 3 x 4 = 48 pages of 4 KiB."""
MODEL = {**CHIP, "host.fit": "compact", "device.scale.blocks.capacity": "2GiB"}
"""A model of 2 GiB. 524,288 pages x 1.28 / 1,536 = 436.9: the nominal drive has 437 blocks."""
TIMED = {"time": "event", "drive.buffer": "eager"}
NOMINAL_PAGES = 437 * 1536


def drive(settings: dict[str, object]) -> ssdlab.Config:
    """A drive with a preset that has no nominal drive."""
    return ssdlab.Config("tlc-chip", overrides=settings)


def uniform(pages: int, requests: int) -> ssdlab.Trace:
    """Writes of single pages, first each once, then at random."""
    more = np.random.default_rng(1).integers(0, pages, requests) * PAGE
    offset = [*range(0, pages * PAGE, PAGE), *map(int, more)]
    count = len(offset)
    return ssdlab.Trace.from_columns(
        time_ns=[n * 10**6 for n in range(count)], op=["write"] * count, offset=offset, bytes=[PAGE] * count
    )


@pytest.fixture(scope="module")
def trace() -> ssdlab.Trace:
    """Covers 72 MiB, 18,432 pages, 128 blocks of 3 word lines and 144 pages. 128 x 1.28 = 163.8, so 164 blocks."""
    return uniform(18_432, 20_000)


@pytest.mark.parametrize(("capacity", "named"), [(10**12, None), (10**9, "the nominal 1 TB drive")])
def test_a_drive_of_nearly_the_nominal_capacity_is_no_model(capacity: int, named: str | None) -> None:
    model = {"nominal_capacity_bytes": 976_762_584 << 10}
    assert nominal_drive({"device": {"capacity_bytes": capacity, "scale_model": model}}) == named


def test_lifetimes_of_a_scale_model_are_those_of_the_nominal_drive(trace: ssdlab.Trace) -> None:
    result = ssdlab.simulate(drive(MODEL), trace)
    device, life = result.summary["device"], result.summary["lifetime"]
    assert (device["pages_per_block"], device["blocks"], device["reserve_blocks"]) == (144, 164, 3)
    ratio = NOMINAL_PAGES / (164 * 144)
    assert device["scale_model"] == {"nominal_capacity_bytes": 2 << 30, "ratio": ratio, "needed_bytes": 72 << 20}
    endured = device["endurance_cycles"] / result.summary["write_amplification"]
    assert life["host_tbw_bytes"] == pytest.approx(endured * NOMINAL_PAGES * PAGE)
    assert life["dwpd_5_years"] == pytest.approx(endured * 164 * 144 / 18_432 / 5 / 365.25)
    # One write per millisecond is 4.096 MB per second.
    per_day = life["trace_bytes_per_day"]
    assert per_day == pytest.approx(4.096e6 * 86_400, rel=1e-3)
    assert life["trace_years"] == pytest.approx(life["host_tbw_bytes"] / per_day / 365.25)
    # The same drive with its capacity set.
    full = {**CHIP, "nand.pages_per_block": 9, "device.capacity": "72MiB"}
    own = ssdlab.simulate(drive(full), trace).summary
    assert own["device"]["blocks"] == 164 and "scale_model" not in own["device"]
    assert own["write_amplification"] == result.summary["write_amplification"]
    assert life["host_tbw_bytes"] == pytest.approx(own["lifetime"]["host_tbw_bytes"] * ratio)
    assert life["dwpd_5_years"] == own["lifetime"]["dwpd_5_years"]


def test_pages_name_the_nominal_drive(trace: ssdlab.Trace, tmp_path: Path) -> None:
    result = ssdlab.simulate(drive({**MODEL, "device.scale.blocks.capacity": "2GB", **TIMED}), trace)
    note = (
        "Scale model of the nominal 2 GB drive: 72.0 MiB. Lifetimes are for the nominal drive. "
        "Full size: --set device.capacity=2GB"
    )
    assert note in [line.text for line in result.page().lead]
    tiles = result.page().sections[0].items[-1]
    assert isinstance(tiles, Facts)
    labels = [label for label, _ in tiles.rows]
    assert labels[-2:] == ["TBW of the nominal 2 GB drive", "DWPD for 5 years"]
    html = result.report_html()
    assert "Lifetime of the nominal 2 GB drive" in html and NO_LIFETIME not in html
    life = result.summary["lifetime"]
    capacity = 2e9 / (72 << 20)
    daily = life["host_bytes_per_day"] / (72 << 20)
    assert life["host_drive_writes_per_day"] == pytest.approx(daily / capacity, rel=0.02)
    result.save(tmp_path)
    assert ssdlab.Result.load(tmp_path).summary["device"] == result.summary["device"]
    compared = ssdlab.compare({"7": drive(MODEL), "9": drive({**MODEL, "device.op": "35%"})}, trace).page()
    assert any(line.text.startswith("Scale model of the nominal 2.15 GB drive") for line in compared.lead)


def test_the_remark_rounds_a_long_capacity_up(trace: ssdlab.Trace) -> None:
    """1,000,204,886,016 bytes are 931.513 GiB. A drive smaller than the nominal drive would be a scale model too."""
    config = drive({**MODEL, "device.scale.blocks.capacity": "1000204886016B"})
    [remark] = sizing([(config, ssdlab.simulate(config, trace).summary)])
    assert remark.endswith("Full size: --set device.capacity=932GiB")
    full = config.with_overrides({"device.capacity": "932GiB"})
    assert full.pages_per_block == 1536 and config.pages_per_block < 1536


def test_a_trace_too_small_for_a_model_raises_the_capacity() -> None:
    """The smallest model has 128 data blocks of 144 pages, 72 MiB."""
    result = ssdlab.simulate(drive(MODEL), uniform(256, 100))
    device = result.summary["device"]
    assert device["reserve_blocks"] / device["blocks"] <= 0.03 and device["op_over_logical"] == pytest.approx(
        0.285, abs=0.005
    )
    assert device["capacity_bytes"] == 72 << 20
    assert any(
        "instead of 1.00 MiB, because smaller models have too few blocks" in line.text for line in result.page().lead
    )


def test_write_amplification_is_that_of_finer_blocks() -> None:
    """375 MiB of 2 GiB give blocks of 5 instead of 32 word lines, 240 pages. The smallest blocks have 3 word lines."""
    trace = uniform(96_000, 250_000)
    coarse = ssdlab.simulate(drive(MODEL), trace).summary
    fine = ssdlab.simulate(drive({**CHIP, "nand.pages_per_block": 9, "host.fit": "compact"}), trace).summary
    assert [one["device"]["pages_per_block"] for one in (coarse, fine)] == [240, 144]
    assert coarse["write_amplification"] > 1.5
    assert coarse["write_amplification"] == pytest.approx(fine["write_amplification"], rel=0.05)


def test_a_drive_that_the_trace_sized_has_no_lifetime(trace: ssdlab.Trace, cli: Cli, tmp_path: Path) -> None:
    sized = {**CHIP, "host.fit": "compact", "nand.pages_per_block": 9}
    result = ssdlab.simulate(drive(sized), trace)
    life = result.summary["lifetime"]
    unknown = {name for name, value in life.items() if value is None}
    assert {"host_tbw_bytes", "host_drive_writes_per_day", "years", "trace_years"} <= unknown
    assert life["dwpd_5_years"] > 0
    assert NO_LIFETIME in [line.text for line in result.page().lead]
    compared = ssdlab.compare({"a": drive(sized), "b": drive({**sized, "device.op": "40%"})}, trace).page()
    assert [line.text for line in compared.lead].count(NO_LIFETIME) == 1
    trace.save(tmp_path / "t.parquet")
    advised = ssdlab.advise_drive(tmp_path / "t.parquet", drive(sized), op=["28%"])
    assert advised.choices[0].years is None and NO_LIFETIME in advised.page().remarks
    # The lifetime at requested drive writes per day follows from the rating.
    asked = ssdlab.advise_drive(tmp_path / "t.parquet", drive(sized), op=["28%"], dwpd=1.0)
    assert asked.choices[0].years is not None and NO_LIFETIME not in asked.page().remarks
    model = ssdlab.advise_drive(tmp_path / "t.parquet", drive(MODEL), op=["28%"])
    assert model.choices[0].years is not None and NO_LIFETIME not in model.page().remarks
    assert any(note.startswith("Scale model of the nominal 2.15 GB drive") for note in model.page().remarks)


def test_lives_of_a_fleet_of_scale_models_are_of_the_nominal_drives(tmp_path: Path) -> None:
    """Each of 2,000 pages is written five times within 10 seconds."""
    lines = [f"1,W,{n % 2000 * PAGE},{PAGE},{1000 * n}" for n in range(10_000)]
    lines += [f"1,R,0,{PAGE},10000000"]
    fleet = ssdlab.fleet(written(tmp_path / "f.csv", lines), drive(MODEL))
    (row,) = fleet.table.to_pylist()
    summary: dict[str, Any] = fleet.study.result(0)
    endured = summary["device"]["endurance_cycles"] / summary["write_amplification"] * NOMINAL_PAGES * PAGE
    assert row["life_years"] == pytest.approx(endured / (10_000 * PAGE * 8640) / 365.25, rel=1e-3)
    assert any(note.startswith("Scale model of the nominal 2.15 GB drive") for note in fleet.page().remarks)


def test_an_impossible_scale_model_is_one_error(trace: ssdlab.Trace) -> None:
    with pytest.raises(ssdlab.ConfigError) as error:
        ssdlab.simulate(drive({**MODEL, "device.scale.blocks.capacity": "32MiB"}), trace)
    assert str(error.value) == (
        "overrides: device.scale.blocks.capacity: 32MiB is less than the 72MiB that the trace needs; raise it to 128MiB"
    )
