"""Events that did not occur count as 0 wherever figures are averaged, bounded or compared."""

import json
import random
import shutil
import statistics
from pathlib import Path

import pytest

import ssdlab
from fleets import written
from ssdlab.model import diagnosis, shape
from ssdlab.model.metrics import SHOWN
from ssdlab.view.pages.comparison import page
from sweeps import BASE

ROOMY = BASE.with_overrides({"precondition.overwrite": "none", "workload.requests": 800})
"""A drive that collects garbage with little spare space, and never with much."""
LEVELS = ["10%", "100%"]
GC, MERGED = "flash.programs.gc", "flash.programs.partial_merge"
LOGGED = ssdlab.Config("tlc-chip", overrides={
    "device.capacity": "16MiB", "nand.pages_per_block": 64, "precondition.overwrite": "none", "time": "count",
    "workload.reads": "50%", "workload.requests": 300, "ftl": "bast", "device.op": "25%",
})  # fmt: skip
"""A drive on which some seeds cause no partial merge."""
SEEDS = 5
RARE = ssdlab.Config("tlc-chip", overrides={
    "time": "event",
    "device.capacity": "16MiB", "nand.pages_per_block": 64, "precondition.overwrite": "none",
    "workload.reads": "97%", "workload.requests": 50,
})  # fmt: skip
"""A workload in which some seeds write nothing."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> ssdlab.Study:
    """One point with garbage collection and one without."""
    return ssdlab.sweep({"device.op": LEVELS}, ROOMY, outcomes=[GC], out=tmp_path_factory.mktemp("absent") / "s")


@pytest.fixture(scope="module")
def compared() -> ssdlab.Comparison:
    return ssdlab.compare({"bast": LOGGED}, seeds=SEEDS)


@pytest.fixture(scope="module")
def rare() -> ssdlab.Comparison:
    return ssdlab.compare({"rare": RARE}, seeds=SEEDS)


def test_all_counts_and_only_counts_may_be_absent(rare: ssdlab.Comparison) -> None:
    idle = next(one.summary for one in rare.runs["rare"] if one.summary["host"]["write_requests"] == 0)
    completed = shape.complete(idle)
    assert [*completed["flash"]["programs"]] == [*completed["flash"]["erases"]] and completed["flash"]["programs"][
        "gc"
    ] == 0
    assert completed["latency"]["write"] == completed["drive"]["interference"]["writes_alone"] == {"count": 0}
    assert completed["drive"]["response"]["write"]["p99"]["sum_ns"] == 0
    assert {*completed["drive"]["response"]["read"]["all"]["parts_ns"]} == {*diagnosis.PARTS}
    assert completed["write_amplification"] is None and completed["log"] is None
    assert shape.complete(completed) == completed and "gc" not in idle["flash"]["programs"]
    untimed = shape.complete({**idle, "latency": None, "drive": None})
    assert untimed["latency"] is None and untimed["drive"] is None


def test_pages_show_absent_counts_as_0(rare: ssdlab.Comparison, compared: ssdlab.Comparison) -> None:
    for summary in (run.summary for finding in (rare, compared) for runs in finding.runs.values() for run in runs):
        whole = shape.complete(summary)
        assert [quantity.label for quantity in SHOWN if quantity.value(summary) != quantity.value(whole)] == []


def test_a_point_without_a_cause_is_on_the_front(study: ssdlab.Study) -> None:
    collected, free = study.table[GC].to_pylist()
    assert collected > 0 and free == 0
    front = study.pareto([GC, "device.physical_bytes"])
    assert len(front.candidates) == 2 and all(candidate.best for candidate in front.candidates)
    assert study.effects(GC).mean == collected / 2
    assert study.table["flash.erases.recovery"].to_pylist() == [0, 0]


@pytest.mark.parametrize("outcome", [GC, f"cost = device.physical_bytes + 1e6 * {GC}"])
def test_a_point_without_a_cause_is_the_best(outcome: str, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    tuned = ssdlab.tune("device.op=10%,100%", ROOMY, outcomes=[outcome], out=tmp_path / "s", trials=2, repeats=1)
    assert [trial.measured.error for trial in tuned.trials] == [None, None]
    assert next(finalist for finalist in tuned.finalists if finalist.best).point == {"device.op": "100%"}


def test_an_absent_count_meets_a_bound(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    tuned = ssdlab.tune(
        "device.op=60%,100%", ROOMY, outcomes=["device.physical_bytes"], constraints=[f"{MERGED}<=100"],
        out=tmp_path / "s", trials=2, repeats=1,
    )  # fmt: skip
    assert next(finalist for finalist in tuned.finalists if finalist.best).point == {"device.op": "60%"}


def test_means_cover_all_seeds(compared: ssdlab.Comparison, tmp_path: Path) -> None:
    copied = [one.summary["flash"]["programs"].get("partial_merge", 0) for one in compared.runs["bast"]]
    assert 0 in copied and any(copied)
    spread = compared.figures("bast")[MERGED]
    assert tuple(spread) == pytest.approx((statistics.fmean(copied), statistics.stdev(copied), SEEDS))
    long = compared.to_arrow().to_pylist()
    assert [label["value"] for label in long if label["figure"] == MERGED] == copied
    swept = ssdlab.sweep({"device.op": ["25%"]}, LOGGED, outcomes=[MERGED], seeds=SEEDS, out=tmp_path / "s")
    [point] = swept.values(swept.outcomes()[0])
    assert point.values == tuple(copied)


def test_means_of_fewer_seeds_say_so(rare: ssdlab.Comparison, tmp_path: Path) -> None:
    runs = [one.summary for one in rare.runs["rare"]]
    written = [run["host"]["write_requests"] for run in runs]
    some = sum(map(bool, written))
    assert 1 < some < SEEDS
    by_figure = rare.figures("rare")
    assert by_figure["latency.write.count"].mean == statistics.fmean(written)
    assert by_figure["latency.write.mean_ns"].seeds == some
    alone = [run["drive"]["interference"]["writes_alone"] for run in runs]
    assert by_figure["drive.interference.writes_alone.count"].mean == sum(run["count"] for run in alone if run) / SEEDS
    assert f"(of {some} seeds)" in str(page(rare))
    swept = ssdlab.sweep({"workload.reads": ["97%"]}, RARE, outcomes=["latency.write.mean_ns"], seeds=SEEDS,
                         out=tmp_path / "s")  # fmt: skip
    assert f"(of {some} seeds)" in str(swept.page())
    rare.save(tmp_path / "c")
    figures = json.loads((tmp_path / "c" / "comparison.json").read_text())["result"]["cases"]["rare"]["figures"]
    assert figures["latency.write.mean_ns"]["seeds"] == some


def test_distributions_cover_all_drives(tmp_path: Path) -> None:
    draw = random.Random(1)
    requests = [(1, draw.randrange(700)) for _ in range(4_000)] + [(2, page) for page in range(5)]
    lines = [f"{volume},W,{page * 4096},4096,{time}" for time, (volume, page) in enumerate(requests)]
    drive = {
        "device.capacity": "4MiB", "device.reserve": "extra", "nand.pages_per_block": 32, "time": "count",
        "precondition.overwrite": "none",
    }  # fmt: skip
    config = ssdlab.Config("tlc-chip", overrides=drive)
    fleet = ssdlab.fleet(written(tmp_path / "io_traces.csv", lines), config, outcomes=[GC], out=tmp_path / "f")
    idle, busy = fleet.cdf(GC).values
    assert idle == 0 < busy


def test_a_cell_of_an_absent_cause_is_0(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parent / "experiment", tmp_path / "e")
    file = tmp_path / "e" / "experiment.toml"
    file.write_text(file.read_text().replace('value = "write_amplification"', f'value = "{MERGED}"', 1))
    table = ssdlab.experiments.load(tmp_path / "e").run(tables=["amplification"])["amplification"]
    assert not table.ours.any() and not table.remarks
