"""The search for the best configuration finds the optimum, survives interruption, and reports correctly."""

import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

import ssdlab
import tuning
from conftest import Cli
from ssdlab.cli import app
from ssdlab.model.remarks import Spare
from ssdlab.study.survey.outcome import estimate
from ssdlab.study.sweep.axes import Point, axis
from ssdlab.study.sweep.quantity import quantity
from ssdlab.study.tuning import space
from ssdlab.study.tuning.finals import FINALISTS, finalists, judged
from ssdlab.study.tuning.goal import Aims, Constraint, Goal, Measured
from ssdlab.study.tuning.result import Finalist, Trial, Tuned
from ssdlab.study.tuning.search import Search
from ssdlab.study.tuning.space import Space
from ssdlab.view.page import Table
from sweeps import BASE, TINY_SETS, counted
from tiers import TIER, examples

pytest.importorskip("optuna")

SPACE = Space.of(
    [
        axis(one)
        for one in ("device.op=5%..80%", "ftl.page.gc", "ftl.page.gc.d_choices.d=2..40:log", "drive.backlog=1,2,4")
    ]
)
GOAL, BOUND = Goal.of("cost"), Constraint.of("miss<=1")
AIMS = Aims([GOAL], [BOUND])
COARSE: dict[str, object] = {
    "device.capacity": "256MiB", "device.op": "7%", "device.reserve": "extra", "nand.pages_per_block": 512,
    "workload.requests": 500, "time": "count",
}  # fmt: skip
"""A drive of preset tlc-nvme with eight blocks of data per plane, so one more block is 12.5 % of spare space."""


def planted(point: Point) -> Measured:
    """A function with a known smallest feasible value, at a spare share of 0.3; `d_choices` is 8."""
    op = quantity(point["device.op"])
    assert op is not None
    cost = op.value + 0.2 * (point["ftl.page.gc"] != "d_choices") + 0.1 * (point.get("drive.backlog") != "4")
    if "ftl.page.gc.d_choices.d" in point:
        cost += 0.01 * abs(int(point["ftl.page.gc.d_choices.d"]) - 8)
    return Measured(((cost,),), ((0.3 / op.value,),))


def spanned(*axes: str) -> Space:
    return Space.of([axis(ax) for ax in axes])


FEW = spanned("device.op=20%,30%,40%", "ftl.page.gc=greedy,d_choices", "ftl.page.gc.d_choices.d=7..9")
"""A space of 3 and 9 points."""


def searched(seed: int, trials: int, space: Space = SPACE, **more: Any) -> list[Point]:
    """Points of a search of the planted function."""
    search = Search(space, AIMS, seed=seed, batch=4, **more)
    while len([proposal for proposal in search.proposals() if proposal.finished]) < trials and (its := search.open()):
        for one in its:
            search.tell(one.number, planted(one.point))
    points = [proposal.point for proposal in search.proposals()]
    search.close()
    return points


def best(points: Sequence[Point]) -> float:
    """The smallest feasible value among the points."""
    return min((its.means()[0] for its in map(planted, points) if its.feasible([BOUND])), default=float("inf"))


def test_the_planted_optimum_is_found() -> None:
    """The search is within a tenth of the cost; the same number of random points rarely is."""
    tuned = [best(searched(seed, 80)) for seed in range(max(2, examples(2)))]
    assert all(0.3 <= trial <= 0.36 for trial in tuned), tuned
    draw = random.Random(1)

    class Drawn:
        """A trial whose values are drawn uniformly."""

        def suggest_float(self, _name: str, low: float, high: float, log: bool) -> float:
            return draw.uniform(low, high)

        def suggest_int(self, _name: str, low: int, high: int, log: bool = False) -> int:
            return draw.randint(low, high)

        def suggest_categorical(self, _name: str, choices: Sequence[str]) -> str:
            return draw.choice(choices)

    at_random = sorted(best([SPACE.draw(Drawn()) for _ in range(80)]) for _ in range(20))
    assert max(tuned) < at_random[10]


def test_settings_of_a_choice_are_drawn_only_with_it() -> None:
    points = searched(1, 40)
    with_d = [point for point in points if "ftl.page.gc.d_choices.d" in point]
    assert with_d == [point for point in points if point["ftl.page.gc"] == "d_choices"] != []
    assert {point["drive.backlog"] for point in points} == {"1", "2", "4"}


def different(points: Sequence[Point]) -> int:
    return len({str(sorted(point.items())) for point in points})


def test_no_point_is_tried_twice() -> None:
    """A space without further points ends the search early."""
    for seed in range(2):
        points = searched(seed, 80)
        assert different(points) == len(points) == 80
        few = searched(seed, 80, FEW)
        assert different(few) == len(few) == 12


@pytest.mark.parametrize(
    ("axes", "count"),
    [
        (["device.op=7%,10%,14%"], 3),
        (["drive.backlog=1..64:log", "ftl.page.gc=greedy,fifo"], 128),
        (["ftl.page.gc", "ftl.page.gc.d_choices.d=2..6"], None),
        (["device.op=7%..7.05%"], 6),
        (["device.op=9.985%..10.15%"], 5),
        # A hundred even steps from 0, 900 for each of three powers of ten, and four hundred to the end.
        (["device.op=0%..0.05%"], 100 + 3 * 900 + 400 + 1),
    ],
)
def test_every_point_of_a_space_is_known(axes: list[str], count: int | None) -> None:
    """Points of real ranges are values of three digits and the two ends."""
    space = spanned(*axes)
    for seed in range(3):
        points = [*space.points(random.Random(seed))]
        # Each value without parameters is one point; the value with parameters is five points.
        expected = len(space.axes[0].levels) - 1 + 5 if count is None else count
        assert different([point for point, _ in points]) == len(points) == expected
        for point, parameters in points:
            its = space.parameters(point)
            assert its is not None and (its[0], {*its[1]}) == (point, {*parameters})


class Cut(Exception):  # noqa: N818
    """Exception that simulates the end of a process."""


@pytest.mark.parametrize("space", [SPACE, FEW])
def test_an_interrupted_search_continues_with_the_same_trials(
    space: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interruption comes during a proposal, between two proposals, or between two trials of a batch."""
    whole = searched(3, 12, space)
    draw = random.Random(3)
    suggest, tell, add, cuts = Space.draw, Search.tell, Search._add, 0

    def sometimes(function: Any) -> Any:
        def cut(*arguments: Any, **more: Any) -> Any:
            if draw.random() < 0.1:
                raise Cut
            proposal = function(*arguments, **more)
            if draw.random() < 0.1:
                raise Cut
            return proposal

        return cut

    monkeypatch.setattr(Space, "draw", sometimes(suggest))
    monkeypatch.setattr(Search, "tell", sometimes(tell))
    monkeypatch.setattr(Search, "_add", sometimes(add))
    while True:
        try:
            proposal = searched(3, 12, space, database=tmp_path / "trials?{x}%41.db")
            break
        except Cut:
            cuts += 1
    assert proposal == whole and cuts > 2


TUNE = [
    "tune", *TINY_SETS, "--set", "workload.requests=2000", "-A", "device.op=20%..80%", "-A", "ftl.page.gc=greedy,fifo",
    "-O", "device.physical_bytes", "-C", "write_amplification<=1.6", "--trials", "8", "--repeats", "2", "--out",
]  # fmt: skip


def test_a_killed_client_reaches_the_same_end(tmp_path: Path, cli: Cli) -> None:
    """The client is killed at random moments, with one worker and with two."""
    cli(*TUNE, "whole", "--jobs", "1")
    for attempt in range(examples(20) // 20 or 1):
        draw, folder, kills = random.Random(attempt), tmp_path / f"killed{attempt}", 0
        while kills < 1 + 4 * (TIER == "deep"):
            with subprocess.Popen(
                [sys.executable, "-m", "ssdlab", *TUNE, str(folder)], stdout=subprocess.DEVNULL
            ) as one:
                while one.poll() is None and not (folder / "trials.db").exists():
                    time.sleep(0.01)
                time.sleep(draw.uniform(0, 1))
                one.send_signal(signal.SIGKILL)
            kills += 1
        cli(*TUNE, folder, "--jobs", "2")
        names = {path.name for path in folder.iterdir()}
        assert {"best.toml", "report.html", "trials.csv", "trials.db", "tuning.json"} < names
        for name in ("best.toml", "report.html", "trials.csv", "tuning.json", "runs.parquet", "results.parquet"):
            assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), f"{name}, seed {attempt}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished search in a folder."""
    folder = tmp_path_factory.mktemp("tuned") / "t"
    tuned(folder).save(folder)
    return folder


def tuned(out: Path | None = None, **more: Any) -> Tuned:
    given: dict[str, Any] = {
        "outcomes": ["cost=device.physical_bytes / 1e6", "write_amplification"], "seeds": 2, "trials": 8, "repeats": 3,
        **more,
    }  # fmt: skip
    return ssdlab.tune(["device.op=20%..80%", "ftl.page.gc=greedy,fifo"], BASE, out=out, **given)


def test_reported_figures_equal_single_runs(folder: Path) -> None:
    """Trials, fresh seeds and the original configuration equal single runs; `best.toml` repeats the best run."""
    result = tuned(folder)
    assert not result.partial and len(result.tried) == 8
    for one in result.finalists:
        for searched, seeds in ((one.searched, (1, 2)), (one.fresh, (3, 4, 5))):
            single = [ssdlab.simulate(BASE.with_overrides({**one.point, "seed": seed})).to_dict() for seed in seeds]
            assert searched.goals[1] == tuple(its["write_amplification"] for its in single)
            assert searched.goals[0] == tuple(its["device"]["physical_bytes"] / 1e6 for its in single)
    fresh = [ssdlab.simulate(BASE.with_overrides({"seed": seed})).write_amplification for seed in (3, 4, 5)]
    assert result.unchanged is not None and list(result.unchanged.goals[1]) == fresh
    front = [finalist for finalist in result.finalists if finalist.best]
    assert len(front) > 1
    for at, one in enumerate(front, 1):
        config = ssdlab.Config(file=folder / f"best-{at}.toml")
        assert ssdlab.simulate(config).write_amplification == one.searched.goals[1][0]
        means = [estimate(values).mean for values in one.fresh.goals]
        others = [[estimate(values).mean for values in its.fresh.goals] for its in result.finalists]
        assert not any(all(a <= b for a, b in zip(other, means, strict=True)) and other != means for other in others)


def test_a_search_is_a_study(folder: Path) -> None:
    study = ssdlab.open_study(folder)
    assert study.finished == 16 and study.columns == ("device.op", "ftl.page.gc")
    assert (
        "search of 8 points" in study.title and "write_amplification" in study.effects("write_amplification").to_json()
    )


def test_more_trials_continue_without_repeating_runs(folder: Path, tmp_path: Path) -> None:
    with counted() as keys:
        first = tuned(folder)
        assert keys == []
        # The result equals a single search that starts from a study with some of the runs.
        more = tuned(tmp_path / "more", trials=12, warm_start=folder)
        assert len({*keys}) == len(keys)
    assert [trial.point for trial in more.trials[:8]] == [trial.point for trial in first.trials]
    assert [trial.warm for trial in more.trials] == [True] * 8 + [False] * 12
    assert different([trial.point for trial in more.trials]) == 20


def test_a_search_ends_with_its_space(tmp_path: Path) -> None:
    """With fewer points than trials, every point is tried, and the output says so, also after resumption."""

    def search(out: Path | None, **more: Any) -> Tuned:
        sizes = ["device.op=20%,30%,40%,50%,60%"]
        return ssdlab.tune(sizes, BASE, outcomes=["write_amplification"], out=out, trials=8, repeats=2, **more)

    one, two = search(tmp_path / "one", jobs=1), search(tmp_path / "two", jobs=2)
    assert one.to_dict() == two.to_dict() and len(one.tried) == 5 and one.exhausted and not one.partial
    assert sorted(its.point["device.op"] for its in one.tried) == ["20%", "30%", "40%", "50%", "60%"]
    assert one.page().lead[1].text == "all 5 points of the search space were tried"
    again = search(tmp_path / "one", warm_start=None)
    assert again.to_dict() == one.to_dict()
    rest = search(None, warm_start=tmp_path / "one")
    assert [its.warm for its in rest.trials] == [True] * 5 and not rest.partial and rest.best == one.best
    cut = search(tmp_path / "cut", monitor=lambda _phase, done, _total, _requests: done > 4)
    assert cut.partial and not cut.exhausted and search(tmp_path / "cut").to_dict() == one.to_dict()


def test_an_interrupted_search_keeps_finished_trials(tmp_path: Path) -> None:
    result = tuned(tmp_path / "t", monitor=lambda _phase, done, _total, _requests: done > 8)
    assert result.partial and len(result.tried) == 4 and result.best is None
    assert "trials remain" in result.page().partial
    [said], least = result.page().conclusion, min(result.trials, key=lambda one: one.measured.means()[0])
    sets = " ".join(f"--set {key}={value}" for key, value in least.point.items())
    assert said.text.startswith(f"Best so far in cost, not yet checked with fresh seeds: {sets} (cost ")
    missed = tuned(constraints=["write_amplification<=1"], monitor=lambda _phase, done, _total, _requests: done > 8)
    assert missed.page().conclusion[0].text.startswith("So far no trial meets the constraints; closest: --set ")
    result.save(tmp_path / "t")
    assert not (tmp_path / "t" / "best-1.toml").exists()
    assert result.written == "report.html, tuning.json and trials.csv"
    whole = tuned(tmp_path / "t")
    assert not whole.partial and whole.trials[: len(result.tried)] == result.trials
    assert whole.written.startswith("report.html, tuning.json, trials.csv") and "best-1.toml" in whole.written
    study = ssdlab.open_study(tmp_path / "t")
    [told] = [remark for remark in study.page().remarks if remark.startswith("the folder contains")]
    assert told.startswith(f"the folder contains {study.earlier} runs with fresh seeds or from unfinished trials")


def test_an_outcome_without_values_is_named() -> None:
    result = tuned(outcomes=["x=1/(write_amplification-write_amplification)"])
    assert not result.partial and [sentence.text for sentence in result.page().conclusion] == [
        "No trials can be compared: no trial has a value of x in all its runs. Choose a figure that is never null and "
        "never divides by 0."
    ]


def test_a_search_without_runnable_points_says_why() -> None:
    trace = tuning.TRACES / "pgbench.csv.zst"
    result = ssdlab.tune(["device.op=20%..80%"], BASE, trace, outcomes=["wear.erases"], trials=4, repeats=1)
    page = result.page()
    assert result.best is None and not result.partial and not page.legend
    assert [sentence.text for sentence in page.conclusion] == ["No trial succeeded."]
    assert page.remarks[0].startswith(f"4 trials failed, most often: SimulationError: {trace}:")


def test_finalists_are_judged_by_fresh_seeds() -> None:
    """If the best trials break the constraint with fresh seeds, the next trials become finalists."""
    seen = [Trial({"a": str(at)}, False, Measured(((float(at),),), ((0.9,),))) for at in (4, 1, 3, 2, 5)]
    seen += [Trial({"a": "0"}, False, Measured(((0.0,),), ((1.1,),))), Trial({"a": "x"}, False, Measured(error="no"))]
    few = finalists(seen, AIMS, itemgetter("a"))
    assert [[trial.point["a"] for trial in group] for group in few] == [["1", "2", "3"], ["4", "5"]]
    assert len(few[0]) == FINALISTS
    fresh = {"1": 1.2, "2": 0.9, "3": 0.8}
    chosen = judged(
        [Finalist(BASE, it.point, it.measured, Measured(it.measured.goals, ((fresh[it.point["a"]],),)), False)
         for it in few[0]],
        AIMS,
    )  # fmt: skip
    assert [(finalist.point["a"], finalist.best) for finalist in chosen] == [("2", True), ("3", False), ("1", False)]
    # If no trial meets the constraint, the trials that miss it least are the finalists.
    none = finalists([point for point in seen if point.point["a"] == "0"], AIMS, itemgetter("a"))
    assert [[trial.point["a"] for trial in group] for group in none] == [["0"]]


def test_a_finalist_that_breaks_the_constraint_with_a_seed_ranks_lower() -> None:
    """Two finalists have the same cost; one of them meets the constraint only on average."""
    fresh = {"a": (0.5, 1.4), "b": (0.9, 0.95)}
    spare = Spare("device.op", "26%", 0.375)
    finalists = [
        Finalist(
            BASE, {"device.op": name}, Measured(((1.0,),), ((0.9,),)), Measured(((1.0, 1.0),), (its,)), False, spare
        )
        for name, its in fresh.items()
    ]
    order = judged(finalists, AIMS)
    assert [(point.point["device.op"], point.fresh.kept([BOUND])) for point in order] == [("b", 2), ("a", 1)]
    tuned = Tuned(
        base=BASE, source=None, axes=["device.op"], goals=[GOAL], constraints=[BOUND], seeds=1, repeats=2, asked=0,
        exhausted=False, trials=[], finalists=order, unchanged=Measured(((1.0, 1.0),), ((1.2, 1.3),)), importance={},
    )  # fmt: skip
    assert [sentence.text for sentence in tuned.page().conclusion] == [
        "Choose --set device.op=b; rounded to whole blocks, its over-provisioning is 37.50 %.",
        "This configuration meets the constraints with 2 of 2 fresh seeds.",
        "The second-best configuration is equally good, but meets the constraints with only 1 of 2 fresh seeds.",
    ]
    table = next(item for section in tuned.page().sections for item in section.items if isinstance(item, Table))
    assert [row[0] for row in table.rows][-1] == "as given" and table.rows[-1][-1] == "0 of 2"


def test_a_search_reports_the_drives_actual_space() -> None:
    drive = ssdlab.Config("tlc-nvme", overrides=COARSE)
    result = ssdlab.tune(["device.op=14%,21%"], drive, outcomes=["write_amplification"], trials=4, repeats=1)
    assert result.best is not None and result.best.spare is not None and result.best.spare.has == 0.25
    assert "its over-provisioning is 25.00 %" in result.page().conclusion[0].text
    assert {"14%, 21%", "21%, 14%"} & {told.split("=")[1].split(" give")[0] for told in result.envelope()["notes"][:1]}
    assert any("the drive has not settled" in told for told in result.envelope()["notes"])


def test_the_original_drive_is_not_advised(cli: Cli, tmp_path: Path) -> None:
    """Over-provisioning close to the original value gives the same drive, because blocks are whole."""
    sets = {**COARSE, "device.op": "14%"}
    drive = ["--preset", "tlc-nvme", *(f"-s{key}={value}" for key, value in sets.items())]
    search = ["-O", "device.physical_bytes", "--trials", "4", "--repeats", "1"]
    for tried, first, as_given in (
        ("15%,40%", "Keep the current drive; --set device.op=15% gives the same drive.", True),
        ("14%,40%", "Keep the current drive; --set device.op=14% gives the same drive.", True),
        ("30%,40%", "Choose --set device.op=30%; rounded to whole blocks, its over-provisioning is ", False),
    ):
        asked = ["tune", *drive, *search, "-A", f"device.op={tried}"]
        output = cli(*asked, "--out", tried).stdout
        assert first in output and ("run the best configuration with: " in output) is not as_given
        tuning = json.loads((tmp_path / tried / "tuning.json").read_text(encoding="utf-8"))
        assert tuning["result"]["finalists"][0]["as_given"] is as_given


def test_no_drive_is_a_finalist_twice() -> None:
    """If several values of over-provisioning give the same drive, one of them is run with fresh seeds."""
    drive = ssdlab.Config("tlc-nvme", overrides=COARSE)
    search: dict[str, Any] = {"trials": 8, "repeats": 1}
    best = ssdlab.tune(["device.op=7%..26%"], drive, outcomes=["device.physical_bytes"], **search)
    front = ssdlab.tune(
        ["device.op=7%..60%"], drive, outcomes=["device.physical_bytes", "write_amplification"], **search
    )
    for tuned_search in (best, front):
        assert any("give the same drive" in told for told in tuned_search.notes)
        flash = [finalist.fresh.goals[0] for finalist in tuned_search.finalists]
        assert len(flash) == len({*flash}) > 1


def test_decisive_settings_are_important() -> None:
    search = Search(SPACE, AIMS, seed=1, batch=4)
    for _ in range(10):
        for one in search.open():
            search.tell(one.number, planted(one.point))
    shares = search.importance()
    assert shares["miss <= 1"]["device.op"] > 0.8
    assert (
        sum(shares["cost"].values()) == pytest.approx(1)
        and shares["cost"]["drive.backlog"] < shares["cost"]["device.op"]
    )


def test_drawn_values_fit_the_table_of_settings() -> None:
    """Capacities are whole pages, page sizes are powers of two; a space of three page sizes ends after three trials."""
    one_die = {"nand.channels": 1, "nand.ways": 1, "device.reserve": "extra"}
    base = ssdlab.Config("small-tlc", overrides={**one_die, "nand.pages_per_block": 16, "workload.requests": 100})
    axes = ["device.capacity=8MiB..16MiB", "nand.page_size=4KiB..16KiB:log"]
    result = ssdlab.tune(axes, base, outcomes=["write_amplification"], trials=8, repeats=1)
    assert len(result.trials) == 8 and [trial.measured.error for trial in result.trials] == [None] * 8
    assert {trial.point["nand.page_size"] for trial in result.trials} <= {"4KiB", "8KiB", "16KiB"}
    few = ssdlab.tune(axes[1:], base, outcomes=["write_amplification"], trials=8, repeats=1)
    assert few.exhausted and sorted(trial.point["nand.page_size"] for trial in few.trials) == ["16KiB", "4KiB", "8KiB"]


def test_points_that_cannot_run_are_skipped() -> None:
    """Points with an end of a batch before its begin are invalid; the other points are searched."""
    low, high = "ftl.page.trigger.batch.low", "ftl.page.trigger.batch.high"
    axes = [f"{low}=2,6,7", f"{high}=4,5,8", "ftl.page.trigger=batch"]
    result = ssdlab.tune(axes, BASE, outcomes=["write_amplification"], trials=8, repeats=1)
    failed = [int(trial.point[low]) >= int(trial.point[high]) for trial in result.trials]
    assert [trial.measured.error is not None for trial in result.trials] == failed and 0 < sum(failed) < 8
    assert result.best is not None and result.best.fresh.error is None
    assert f"{sum(failed)} trials failed" in " ".join(result.page().remarks)


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        ("device.op=20%..2000%", "axis device.op: 2000% is not a valid end of the range; use 1000%, for example"),
        (
            "nand.pages_per_block=1..64",
            "axis nand.pages_per_block: 1 is not a valid end of the range; use 2, for example: ",
        ),
        (
            "device.op=1100%..2000%",
            "axis device.op: neither end of the range is valid: 1100% is out of range: 0% to "
            "1000%; same error with 2000%",
        ),
    ],
)
def test_an_impossible_range_end_is_named(axis: str, words: str) -> None:
    with pytest.raises(ssdlab.ConfigError) as error:
        ssdlab.tune([axis], BASE, outcomes=["write_amplification"], trials=1)
    assert words in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing is varied"),
        (["-A", "device.op=5%..9%"], "the search has no outcome"),
        (["-A", "device.opp=5%..9%", "-O", "seed"], "did you mean device.op"),
        (["-A", "device.op", "-O", "seed"], "device.op: the setting has no named values (type: share, 0% to 1000%)"),
        (["-A", "device.op=5%..9000%", "-O", "wear.erases"], "axis device.op: 9000% is not a valid end of the range"),
        (["-A", "trace=a.csv", "-O", "seed"], "a search cannot vary the trace"),
        (["-A", "device.op=5%..9%", "-O", "write_amplificatoin"], "did you mean write_amplification?"),
        (["-A", "device.op=5%..9%", "-O", "a=2**3"], "is not arithmetic on metrics"),
        (["-A", "device.op=5%..9%", "-O", "time.iops:large"], "large is neither min nor max"),
        (
            ["-A", "device.op=5%..9%", "-O", "wear.erases", "-C", "wear.erases<7"],
            "is not a comparison; write write_amplification<=2",
        ),
        (["-A", "device.op=5%..9%", "-O", "wear.erases", "-C", "device.memory_bytes<=20ms"], "a size such as 64MiB"),
        (["-A", "device.op=5%..9%", "-O", "wear.erases", "--warm-start", "no"], "no: contains no study"),
        (
            ["-A", "device.op=5%..9%", "-O", "wear.erases", "--cluster", "tcp://127.0.0.1:1"],
            "no Dask scheduler responds",
        ),
    ],
)
def test_bad_input_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ssdlab.ConfigError, match=re.escape(message)):
        app(["tune", *TINY_SETS, *arguments, "--out", "t"], standalone_mode=False)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_keeps_one_question(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ssdlab.ConfigError, match="a search with different outcomes, seeds; use another folder; a warm"):
        tuned(folder, outcomes=["write_amplification"], seeds=1)
    with pytest.raises(ssdlab.ConfigError, match="contains a search; use another folder"):
        ssdlab.sweep({"seed": ["1", "2"]}, BASE, out=folder)
    ssdlab.sweep({"seed": ["1", "2"]}, BASE, out=tmp_path / "s")
    with pytest.raises(ssdlab.ConfigError, match="contains a sweep; use another folder"):
        tuned(tmp_path / "s")
    with pytest.raises(ssdlab.ConfigError, match="no run of this study can be reused"):
        tuned(warm_start=tmp_path / "s", seeds=3)


@pytest.mark.parametrize(
    ("lacking", "installs"),
    [
        (["optuna"], f"{sys.executable} -m pip install"),
        (["optuna", "pip"], f"uv pip install --python {sys.executable}"),
    ],
)
def test_a_missing_optuna_is_one_line_with_its_installation(tmp_path: Path, lacking: list[str], installs: str) -> None:
    code = f"import sys; sys.modules |= dict.fromkeys({lacking}); from ssdlab.__main__ import main; main()"
    command = [sys.executable, "-c", code, "tune", *TINY_SETS, "-A", "device.op=5%..9%", "-O", "wear.erases"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"ssdlab: optuna is not installed; {installs} 'optuna>=5.0' 'scipy>=1.15'\n"


@pytest.mark.parametrize("draws", [1, 40])
def test_a_search_killed_while_drawing_draws_the_same_point(
    draws: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, left = space._suggested, iter(range(draws))

    def killed(*arguments: Any) -> Any:
        next(left)
        return drawn(*arguments)

    database = tmp_path / "trials.db"
    with monkeypatch.context() as patched, pytest.raises((RuntimeError, StopIteration)):
        patched.setattr(space, "_suggested", killed)
        searched(1, 20, database=database)
    assert searched(1, 20, database=database) == searched(1, 20)


@pytest.mark.skipif(TIER != "deep", reason="twenty minutes; SSDLAB_TESTS=deep runs it")
@pytest.mark.parametrize("problem", tuning.PROBLEMS, ids=lambda problem: problem.name)
def test_search_beats_random_points(problem: tuning.Problem) -> None:
    row = tuning.compared(problem)
    assert row.ahead and row.wins > row.losses
