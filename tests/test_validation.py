"""Write amplification against theory, Filebench workloads against captures."""

import json
import os
from dataclasses import replace
from itertools import pairwise

import pytest

import ssdlab
from ssdlab import validation
from ssdlab.cli import main
from ssdlab.validation import filebench


@pytest.mark.parametrize("row", validation.quick_rows(), ids=lambda row: f"{row.number}-{row.policy}".replace(" ", "-"))
def test_write_amplification_is_within_one_percent_of_theory(row: validation.Row) -> None:
    outcome = validation.run(row)
    assert outcome is not None
    assert abs(outcome.difference) <= 0.01, f"{outcome.ours} instead of {row.reference}"


def test_the_quick_rows_meet_every_kind_of_row() -> None:
    rows, quick = list(validation.rows()), validation.quick_rows()
    assert len(rows) == 160
    assert {row.policy.split(" per")[0].split(" d=")[0] for row in quick} == {
        "FIFO/LRU",
        "greedy",
        "d-choices",
        "random",
    }
    assert {row.pages_per_block for row in quick} == {64, 128, 256}
    assert any(row.hot_spare is not None for row in quick)
    assert any(row.hot_requests is not None and row.hot_spare is None for row in quick)


def test_the_second_row_of_a_split_has_the_split_of_the_first() -> None:
    rows = list(validation.rows())
    for before, row in pairwise(rows):
        if "same split" in row.workload:
            assert row.hot_spare == before.hot_spare is not None


def test_pools_hold_all_blocks_and_pages() -> None:
    for row in validation.rows():
        logical = sum(pool.blocks / pool.alpha for pool in row.pools)
        assert sum(pool.blocks for pool in row.pools) == pytest.approx(
            10_000 if len(row.pools) > 1 else logical * row.alpha
        )
        assert sum(pool.writes for pool in row.pools) == pytest.approx(1)
