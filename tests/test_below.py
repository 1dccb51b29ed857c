"""Experiments that record and replay the requests that a scheduler dispatches to the drive; tables of changes."""

from pathlib import Path

import numpy as np
import pytest

import ssdlab

EXPERIMENT = """
title = "Below a scheduler"
document = "Nothing: a test"
preset = "tlc-chip"

[set]
device.capacity = "64MiB"
nand.page_size = "4KiB"
nand.pages_per_block = 64
precondition.overwrite = "none"
workload.requests = 3000
workload.reads = "30%"
time = "event"

[axis.scheduler]
noop = { block.scheduler = "noop" }
deadline = { block.scheduler = "deadline" }

[axis.below]
page = { below = { ftl = "page" } }
fast = { below = { ftl = "fast" } }

[axis.ftl]
page = { ftl = "page" }

[[table]]
name = "erases"
title = "Erases below"
value = "wear.erases"
rows = "below"
columns = "scheduler"
[table.below]
time = "count"

[[table]]
name = "reduction"
title = "Change of erases"
unit = "%"
value = "wear.erases"
rows = "below"
columns = "scheduler"
change_to = { column = "deadline" }
reference = "erases.csv"
compare = "points"
[table.below]
time = "count"

[[table]]
name = "whole"
title = "Erases of the whole stack"
value = "wear.erases"
rows = "ftl"
columns = "scheduler"
[table.set]
block.record = true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    (tmp_path / "erases.csv").write_text("below,noop,deadline\npage,200,150\nfast,1000,900\n")
    return tmp_path


def test_a_cell_replays_its_schedulers_requests(folder: Path) -> None:
    experiment = ssdlab.experiments.load(folder)
    result = experiment.run(jobs=2)
    # Two recordings, which the full stack uses too, and four replays, which the second table uses too.
    assert (result.runs, result.finished) == (6, 6)
    table = experiment.tables[0]
    (first,) = experiment.configs(table, "fast", "deadline")
    (below,) = experiment.configs_below(table, "fast", "deadline")
    assert first["block.record"] and first["ftl"] == "page" and below["ftl"] == "fast"
    assert (below["block.scheduler"], below["time"], below["device.capacity"]) == ("direct", "count", "64MiB")
    recorded = ssdlab.simulate(first)
    assert recorded.dispatched is not None
    replayed = ssdlab.simulate(below, recorded.dispatched)
    assert result["erases"].ours[1, 1] == replayed.summary["wear"]["erases"]
    # On the same FTL, the recording causes the same operations as the full stack.
    assert result["whole"].ours[0].tolist() == result["erases"].ours[0].tolist()


def test_changes_are_in_percent_and_summed_up_by_row(folder: Path) -> None:
    result = ssdlab.experiments.load(folder).run(jobs=2)
    erases, reduction = result["erases"].ours, result["reduction"]
    assert reduction.document[:, 0] == pytest.approx([-25, -10]) and np.isnan(reduction.document[:, 1]).all()
    assert reduction.ours[:, 0] == pytest.approx(100 * (erases[:, 1] / erases[:, 0] - 1))
    assert np.isnan(reduction.ours[:, 1]).all()
    assert reduction.difference[:, 0] == pytest.approx(reduction.ours[:, 0] - reduction.document[:, 0])


def test_faults_are_named(folder: Path) -> None:
    file = folder / "experiment.toml"

    def refused(before: str, after: str, message: str) -> None:
        file.write_text(EXPERIMENT.replace(before, after, 1))
        with pytest.raises(ssdlab.ConfigError, match=message):
            ssdlab.experiments.load(folder).run()

    refused('change_to = { column = "deadline" }', 'change_to = { column = "deadlin" }', "change_to: column: column 'deadlin' does not exist; .*did you mean")  # fmt: skip # noqa: E501
    refused(
        '[table.below]\ntime = "count"', "", r"table erases: below: is missing, but axis below has settings for 'below'"
    )
    refused('below = { ftl = "fast" }', 'below = "fast"', r"\[axis.below\]: fast: below: 'fast' is not a table")
    refused('below = { ftl = "fast" }', 'below = { ftl = "fasst" }', r"\[axis.below\] fast: below: ftl: .*did you mean")
