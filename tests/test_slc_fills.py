"""Fills of empty drives with an SLC cache: the closed form of the three phases, and fitted rates."""

import math

import pytest

import ssdlab

FILL = {
    "device.capacity": "976752640B",
    "device.scale": "none",
    "nand.erase": "4us",
    "precondition.fill": "0%",
    "precondition.overwrite": "none",
    "workload.pattern": "sequential",
    "workload.size": "128KiB",
    "workload.reads": "0%",
    "workload.requests": 7452,
    "host.replay.closed.queue_depth": 8,
}
WRITTEN = 7452 * 32
"""Pages of a fill."""


def test_a_fill_folds_what_the_closed_form_says() -> None:
    config = ssdlab.Config("980-pro-1tb-slc", overrides={**FILL, "nand.pages_per_block": 3})
    summary = ssdlab.simulate(config).summary
    # A superblock has 3 pages x 64 planes x 4 mapping units; in SLC mode a third of them.
    superblocks, pages = 342, 768
    assert (summary["device"]["blocks"], summary["device"]["pages_per_block"]) == (superblocks, pages)
    # 31 % of the superblocks without the reserve of four.
    cached = math.floor(0.31 * (superblocks - 4)) * pages // 3
    assert summary["slc"]["pages_cached"] == cached == 26_624
    assert summary["slc"]["pages_bypassed"] == WRITTEN - cached
    # Two superblocks stay erased or open; each folded page makes room for two host pages.
    folded = cached - ((superblocks - 2) * pages - WRITTEN) / 2
    whole_blocks = math.ceil(folded / (pages // 3)) * pages // 3
    assert summary["flash"]["programs"]["fold"] == whole_blocks == 15_360


def test_without_bypass_every_page_passes_the_cache() -> None:
    summary = ssdlab.simulate(ssdlab.Config("qlc-client", overrides={**FILL, "nand.pages_per_block": 16})).summary
    assert (summary["slc"]["pages_cached"], summary["slc"]["pages_bypassed"]) == (WRITTEN, 0)
    # A folded page uses the space of one page, a cached page four times as much.
    folded = summary["flash"]["programs"]["fold"]
    assert folded + 4 * (WRITTEN - folded) <= summary["device"]["physical_pages"]


def test_drives_meet_the_rates_of_their_caches() -> None:
    """The first requests go to the cache; its rate is fitted."""
    result = ssdlab.experiments.load("slc-fills").run(tables=["fill"], overrides={"workload.requests": 4000})
    ours = dict(zip(result["fill"].rows, result["fill"].ours[:, 0], strict=True))
    published = {"980-pro": 4.0, "atom-50": 4.5, "nm800-pro": 3.5, "m480": 5.0, "mp44s": 4.0, "fx700": 3.63, "p1": 1.6}
    assert ours == pytest.approx(published, rel=0.07)
