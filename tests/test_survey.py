"""What a study says, against closed forms: effects, Sobol' indices, intervals, fronts, curves."""

import csv
import itertools
import math
import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import ssdlab
from ssdlab.model.finding import Finding
from ssdlab.study.survey import curves, effects, front, indices
from ssdlab.study.survey.outcome import MORE_IS_BETTER, Outcome, PointValues, estimate, student
from ssdlab.study.sweep import factorial
from ssdlab.study.sweep.axes import axis
from ssdlab.study.sweep.design import Design
from ssdlab.study.sweep.quantity import quantity
from ssdlab.study.tuning.goal import Goal
from ssdlab.view.page import Paragraph, Table
from ssdlab.view.pages.quantities import QUANTITIES

LESS = Outcome("cost", large=False)


def points_of(
    design: Design, axes: Sequence[str], value: Callable[[Mapping[str, float]], Sequence[float]]
) -> list[PointValues]:
    """The points of a design with the values of a function of the numbers at each."""
    found = []
    for levels in design.points([axis(one) for one in axes]):
        numbers = {key: its.value for key, written in levels.items() if (its := quantity(written))}
        found.append(PointValues(levels, tuple(value(numbers))))
    return found


def test_contrasts_of_a_factorial_are_its_coefficients() -> None:
    """y = 3 + 2 a - b + c a / 2, with a, b and c at -1 and 1: an effect is twice its coefficient."""
    names = ["device.op", "workload.reads", "precondition.fill"]
    sign = {0.1: -1.0, 0.3: 1.0}

    def value(at: Mapping[str, float]) -> list[float]:
        a, b, c = (sign[at[name]] for name in names)
        return [3 + 2 * a - b + c * a / 2]

    points = points_of(Design("factorial"), [f"{name}=10%,30%" for name in names], value)
    found, shares, notes = effects.two_level(names, [1, 2, 4], points)
    sizes = {one.term: one.size for one in found}
    assert sizes == pytest.approx({
        names[0]: 4, names[1]: -2, names[2]: 0, f"{names[0]} × {names[1]}": 0, f"{names[0]} × {names[2]}": 1,
        f"{names[1]} × {names[2]}": 0,
    })  # fmt: skip
    variance = {one.term: one.share for one in shares}
    assert variance[names[0]] == pytest.approx(4 / 5.25) and sum(variance.values()) == pytest.approx(1)
    assert notes == [] and found[0].level == "10% → 30%" and found[0].half_width is None


def test_a_fraction_tells_what_it_cannot_tell_apart() -> None:
    names = ["a", "b", "c", "d"]
    columns = factorial.columns(4, 4)
    points = [
        PointValues(dict(zip(names, map(str, levels), strict=True)), (float(levels[0] == levels[1]),))
        for levels in factorial.points(columns)
    ]
    found, _, notes = effects.two_level(names, columns, points)
    assert {one.term: one.size for one in found if abs(one.size) > 1e-12} == {"a × b": 1.0}
    assert "c × d cannot be told from a × b by this design" in notes and len(notes) == 3


def test_a_grid_is_taken_apart_as_analysis_of_variance_does() -> None:
    """Of y = u(i) + v(j) + w(i) v(j), with u, v and w that sum to zero, each part is orthogonal to the others."""
    u, v, w = {0.1: -3.0, 0.2: 1.0, 0.3: 2.0}, {0.5: -1.0, 0.7: 1.0}, {0.1: 1.0, 0.2: 0.0, 0.3: -1.0}
    names = ["device.op", "workload.reads"]

    def value(at: Mapping[str, float]) -> list[float]:
        i, j = at[names[0]], at[names[1]]
        return [10 + u[i] + v[j] + w[i] * v[j]]

    points = points_of(Design("grid"), ["device.op=10%,20%,30%", "workload.reads=50%,70%"], value)
    found, shares = effects.complete(names, points)
    assert [one.size for one in found] == pytest.approx([*u.values(), *v.values()])
    total = 2 * (9 + 1 + 4) + 3 * 2 + 2 * 2
    assert [one.share for one in shares] == pytest.approx([28 / total, 6 / total, 4 / total])


def test_a_straight_model_finds_slopes_and_names() -> None:
    """y = 5 + 40 op, and 2 more under fifo."""
    axes = ["device.op=10%..60%", "ftl.page.gc=greedy,fifo"]
    points = [
        PointValues(levels, (5 + 40 * its.value + 2 * (levels["ftl.page.gc"] == "fifo"),))
        for levels in Design("sobol", 32).points([axis(one) for one in axes])
        if (its := quantity(levels["device.op"]))
    ]
    found, _, notes = effects.sampled(["device.op", "ftl.page.gc"], points)
    slope, fifo = found
    low, high = (quantity(end) for end in slope.level.split(" → "))
    assert low and high and slope.size == pytest.approx(40 * (high.value - low.value))
    first, other = fifo.level.split(" → ")
    assert fifo.size == pytest.approx(2.0 if other == "fifo" else -2.0) and {first, other} == {"greedy", "fifo"}
    assert "100.0 %" in notes[0]
    with pytest.raises(ssdlab.ConfigError, match="too few"):
        effects.sampled(["device.op", "ftl.page.gc"], points[:3])


def test_one_at_a_time_is_told_from_the_first_point() -> None:
    axes = ["device.op=10%,20%,30%", "workload.reads=0%,50%"]
    points = points_of(
        Design("one-at-a-time"), axes, lambda at: [100 * at["device.op"] + 4 * at["workload.reads"] + e for e in (0, 2)]
    )
    found = effects.one_at_a_time(["device.op", "workload.reads"], points)
    assert [one.level for one in found] == ["10% → 20%", "10% → 30%", "0% → 50%"]
    assert [one.size for one in found] == pytest.approx([10, 20, 2])
    # Two values that differ by 2 have a variance of 2, here with 4 degrees of freedom.
    assert found[0].half_width == pytest.approx(student(4) * math.sqrt(2.0))


def test_sobol_indices_of_the_ishigami_function() -> None:
    """sin x + 7 sin² y + 0.1 z⁴ sin x, whose indices are known (Ishigami and Homma, 1990)."""
    a, b = 7.0, 0.1
    names = ["device.op", "workload.reads", "precondition.fill"]

    def value(at: Mapping[str, float]) -> list[float]:
        x, y, z = (math.pi * (2 * at[name] - 1) for name in names)
        return [math.sin(x) + a * math.sin(y) ** 2 + b * z**4 * math.sin(x)]

    points = points_of(Design("saltelli", 2048), [f"{name}=0%..100%" for name in names], value)
    assert len(points) == 2048 * 8
    found = {one.term: one for one in indices.indices(names, points, 1)}
    pi4 = math.pi**4
    v1, v2, v13 = (1 + b * pi4 / 5) ** 2 / 2, a * a / 8, b * b * pi4 * pi4 * (1 / 18 - 1 / 50)
    total = v1 + v2 + v13
    expected = {"device.op": (v1, v1 + v13), "workload.reads": (v2, v2), "precondition.fill": (0.0, v13)}
    for name, (first, whole) in expected.items():
        one = found[name]
        assert one.share == pytest.approx(first / total, abs=0.02), name
        assert one.total == pytest.approx(whole / total, abs=0.02), name
    assert found["device.op × precondition.fill"].share == pytest.approx(v13 / total, abs=0.03)
    assert found["device.op × workload.reads"].share == pytest.approx(0, abs=0.03)


def test_a_share_that_none_can_be_is_told_to_be_the_error_of_its_estimate() -> None:
    """Beside the number, with its interval; of shares that are worked out, and of those within, nothing is said."""
    outcome = Outcome("write_amplification", False)

    def shown(*shares: effects.Share) -> tuple[list[Any], list[str]]:
        found = effects.Effects(
            about="", source=None, outcome=outcome, method="", mean=1.0, effects=[], shares=shares, losses=[]
        )
        _, table, *others = found.page().sections[1].items
        assert isinstance(table, Table)
        return [*table.rows], [one.text for one in others if isinstance(one, Paragraph)]

    rows, (note,) = shown(
        effects.Share("a", 1.046, 0.5, 1.2, 0.25),
        effects.Share("b", -0.12, 0.3, 0.4, 0.1),
        effects.Share("c", 0.5, 0.2),
    )
    assert rows == [
        ["a", "104.6 % ± 50.0 *", "120.0 % ± 25.0 *"],
        ["b", "-12.0 % ± 30.0 *", "40.0 % ± 10.0"],
        ["c", "50.0 % ± 20.0", "–"],
    ]
    assert note.startswith("* lies below 0 % or above 100 %, where no share can be: it is estimated from the samples")
    assert "95 % confidence interval" in note and "--samples" in note
    assert shown(effects.Share("a", 1.0, 0.5, 0.0, 0.5), effects.Share("b", 0.3))[1] == []


def within(rate: float, tries: int) -> bool:
    """Whether a rate of coverage is 95 %, up to four standard deviations of so many tries."""
    return abs(rate - 0.95) <= 4 * math.sqrt(0.95 * 0.05 / tries)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    draw = random.Random(2)
    tries = 4000
    held = 0
    for _ in range(tries):
        found = estimate([draw.gauss(7, 2) for _ in range(4)])
        assert found.half_width is not None
        held += abs(found.mean - 7) <= found.half_width
    assert within(held / tries, tries), held
    assert estimate([3.0]) == (3.0, None, 1)


def test_intervals_of_effects_hold_the_truth_as_often_as_they_say() -> None:
    draw = random.Random(3)
    tries, names = 1000, ["device.op", "workload.reads"]
    held = {"contrast": 0, "interaction": 0, "level": 0, "difference": 0, "slope": 0}
    for _ in range(tries):

        def noisy(at: Mapping[str, float]) -> list[float]:
            return [30 * at["device.op"] - 10 * at["workload.reads"] + draw.gauss(0, 1) for _ in range(3)]

        corner = [f"{name}=10%,30%" for name in names]
        contrasts, _, _ = effects.two_level(names, [1, 2], points_of(Design("factorial"), corner, noisy))
        levels, _ = effects.complete(names, points_of(Design("grid"), ["device.op=10%,20%,30%", corner[1]], noisy))
        differences = effects.one_at_a_time(names, points_of(Design("one-at-a-time"), corner, noisy))
        slopes, _, _ = effects.sampled(
            names, points_of(Design("grid"), ["device.op=10%..30%:9", "workload.reads=10%..90%:3"], noisy)
        )
        for name, one, truth in (
            ("contrast", contrasts[0], 6.0), ("interaction", contrasts[2], 0.0), ("level", levels[0], -3.0),
            ("difference", differences[1], -2.0), ("slope", slopes[0], 6.0),
        ):  # fmt: skip
            assert one.half_width is not None
            held[name] += abs(one.size - truth) <= one.half_width
    assert {name: within(count / tries, tries) for name, count in held.items()} == dict.fromkeys(held, True), held


def test_the_front_is_what_no_other_point_beats() -> None:
    draw = random.Random(4)
    for _ in range(50):
        rows = [[draw.randrange(6) for _ in range(3)] for _ in range(20)]
        large = [draw.random() < 0.5 for _ in range(3)]
        slow = []
        for row in rows:
            beaten = False
            for other in rows:
                better = [(b > a) if up else (b < a) for a, b, up in zip(row, other, large, strict=True)]
                worse = [(b < a) if up else (b > a) for a, b, up in zip(row, other, large, strict=True)]
                beaten = beaten or (any(better) and not any(worse))
            slow.append(not beaten)
        assert front.on_the_front(rows, large) == slow


def test_what_is_lost_by_keeping_a_value() -> None:
    points = [
        PointValues({"a": a, "b": b}, (cost,))
        for (a, b), cost in zip(itertools.product("xy", "12"), (10.0, 12.0, 15.0, 11.0), strict=True)
    ]
    found = effects.losses(["a", "b"], points, LESS)
    assert [(one.term, one.level, one.best) for one in found] == [
        ("a", "x", 10), ("a", "y", 11), ("b", "1", 10), ("b", "2", 11)
    ]  # fmt: skip
    assert [one.lost for one in found] == pytest.approx([0, 0.1, 0, 0.1])
    assert effects.losses(["a"], points, Outcome("cost", large=True))[0].lost == pytest.approx(0.2)
    free = [PointValues({"a": level}, (cost,)) for level, cost in (("x", 0.0), ("y", 3.0))]
    assert [one.lost for one in effects.losses(["a"], free, LESS)] == [0, None]


def test_curves_are_averaged_seed_by_seed() -> None:
    """What other axes add is the same for each seed, and is no spread."""
    points = [
        PointValues({"x": x, "other": other}, (add + 1.0, add + 3.0))
        for x, (other, add) in itertools.product("ab", (("c", 0.0), ("d", 100.0)))
    ]
    found = curves.cells(points, "x", None)
    assert [(one.x, one.estimate.mean) for one in found] == [("a", 52.0), ("b", 52.0)]
    assert found[0].estimate.half_width == pytest.approx(student(1) * math.sqrt(2 / 2))


def test_curves_take_no_seed_for_another_one_that_has_no_value() -> None:
    """Seeds that all points have differ by 2 and are paired; where there are none, there is no interval."""
    points = [
        PointValues({"x": "a", "other": "c"}, (1.0, 5.0, 3.0)),
        PointValues({"x": "a", "other": "d"}, (101.0, None, 103.0)),
        PointValues({"x": "b", "other": "c"}, (1.0, None)),
        PointValues({"x": "b", "other": "d"}, (None, 7.0)),
    ]
    paired, apart = (one.estimate for one in curves.cells(points, "x", None))
    assert paired.seeds == 2 and paired.mean == (3 + 102) / 2
    assert paired.half_width == pytest.approx(student(1) * math.sqrt(2 / 2))
    assert apart == (4.0, None, 0)


TINY: dict[str, object] = {
    "device.capacity": "8MiB", "nand.pages_per_block": 32, "workload.requests": 500, "time": "count",
}  # fmt: skip


@pytest.mark.parametrize(
    ("axes", "more", "shown"),
    [
        (["device.op=20%,40%", "workload.reads=0%,50%", "ftl.page.gc=greedy,fifo"], {}, "device.op × ftl.page.gc"),
        (
            ["device.op=20%,40%", "workload.reads=0%,50%", "ftl.page.gc=greedy,fifo"],
            {"design": "factorial", "resolution": 3},
            "cannot be told",
        ),
        (["device.op=20%..40%", "workload.reads=0%..50%"], {"design": "saltelli", "samples": 4}, "interactions"),
        (["device.op=20%,30%,40%", "workload.reads=0%,50%"], {"design": "one-at-a-time", "seeds": 2}, "20% → 40%"),
        (["device.op=20%..40%"], {"design": "latin-hypercube", "samples": 8}, "straight model"),
        (
            ["device.op=20%,30%,40%", "workload.reads=0%,50%"],
            {"without": ["device.op<25% workload.reads=0%"]},
            "straight",
        ),
    ],
)  # fmt: skip
def test_effects_of_every_design(axes: list[str], more: dict[str, object], shown: str) -> None:
    study = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY), **more)  # type: ignore[arg-type]
    assert study.failures == {}
    found = study.effects("write_amplification")
    assert shown in str(found.page())
    # More room means fewer copies, whatever the design.
    by_op = [one for one in found.effects if one.term == "device.op"]
    assert by_op[0].size * (1 if by_op[0].level == "20%" else -1) > 0


def test_figures_and_axes_that_are_not_there() -> None:
    study = ssdlab.sweep({"device.op": ["20%", "30%"]}, ssdlab.Config("tlc-chip", overrides=TINY))
    with pytest.raises(ssdlab.ConfigError, match="did you mean write_amplification"):
        study.effects("write_amplificatio")
    with pytest.raises(ssdlab.ConfigError, match="no axis is called"):
        study.curves("write_amplification", "device.opp")
    with pytest.raises(ssdlab.ConfigError, match="both along and between"):
        study.curves("write_amplification", "device.op", "device.op")
    with pytest.raises(ssdlab.ConfigError, match="two outcomes or more"):
        study.pareto(["write_amplification"])
    with pytest.raises(ssdlab.ConfigError, match="no result"):
        study.result(7)
    found = study.pareto(["write_amplification", "device.physical_bytes"])
    # Less copying costs more flash: both are on the front.
    assert [one.levels["device.op"] for one in found.front] == ["30%", "20%"]


def test_lenths_margin_is_worked_out_by_hand_and_errs_as_often_as_it_says() -> None:
    # The median 2 makes 3, and 100 is not below 2.5 times that; the median of the others, 2, makes 3 again.
    assert effects.margin([1, -1, 2, -2, 3, 100]) == pytest.approx(3 * student(2))
    draw = random.Random(7)
    wrong = 0
    for _ in range(400):
        noise = [draw.gauss(0, 1) for _ in range(29)]
        wrong += sum(abs(one) > effects.margin(noise) for one in noise)
    assert 0.02 < wrong / (400 * 29) < 0.07


@pytest.mark.parametrize(
    ("axes", "more", "known"),
    [
        (["device.op=20%,30%,40%", "workload.reads=0%,50%"], {}, True),
        (["device.op=20%,40%", "workload.reads=0%,50%"], {"design": "factorial"}, True),
        (["device.op=20%,40%", "workload.reads=0%,50%", "ftl.page.gc=greedy,fifo"],
         {"design": "factorial", "resolution": 3}, False),
        (["device.op=20%,30%,40%", "workload.reads=0%,50%"], {"design": "one-at-a-time"}, False),
        (["device.op=20%,30%,40%", "workload.reads=0%,50%"], {"without": ["device.op<25% workload.reads=0%"]}, False),
        (["device.op=20%..40%"], {"design": "sobol", "samples": 8}, False),
    ],
)  # fmt: skip
def test_what_a_value_loses_is_told_of_all_combinations_alone(
    axes: list[str], more: dict[str, object], known: bool
) -> None:
    """Else a value would be judged by what was varied with it: reads by the one value of device.op beside them."""
    found = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY), **more).effects("write_amplification")  # type: ignore[arg-type]
    assert bool(found.losses) == known == ("What would be lost by keeping it" in str(found.page()))


def test_over_traces_no_value_is_said_to_lose_anything(tmp_path: Path) -> None:
    """The easiest trace would be the best value, and decide of all others; effects of it are told."""
    drive = ssdlab.Config("tlc-chip", overrides=TINY)
    for name, reads in (("a", "0%"), ("b", "50%")):
        ssdlab.generate(drive.with_overrides({"workload.reads": reads})).save(tmp_path / f"{name}.parquet")
    traces = f"trace={tmp_path / 'a.parquet'},{tmp_path / 'b.parquet'}"
    study = ssdlab.sweep([traces, "device.op=20%,40%"], drive)
    found = study.effects("write_amplification")
    assert found.losses == () and {one.term for one in found.effects} == {"trace", "device.op"}
    (told,) = (one for one in found.page().remarks if "losses are left out" in one)
    assert told.endswith("sweep each trace by itself")
    alone = ssdlab.sweep(["device.op=20%,40%"], drive).effects("write_amplification")
    assert alone.losses and not any("losses are left out" in one for one in alone.page().remarks)


def saved(found: Finding, folder: Path) -> dict[str, list[list[str]]]:
    """The tables that a finding leaves in a folder."""
    found.save(folder)
    return {path.name: list(csv.reader(path.read_text(encoding="utf-8").splitlines())) for path in folder.glob("*.csv")}


def test_every_table_is_in_a_file(tmp_path: Path) -> None:
    base = ssdlab.Config("tlc-chip", overrides=TINY)
    grid = ssdlab.sweep(["device.op=20%,40%", "workload.reads=0%,50%"], base, seeds=2)
    found = grid.effects("write_amplification")
    tables = saved(found, tmp_path / "effects")
    assert {name: rows[0] for name, rows in tables.items()} == {
        "effects.csv": [*effects.Effect._fields],
        "variance.csv": [*effects.Share._fields],
        "losses.csv": [*effects.Loss._fields],
    }
    assert [row[0] for row in tables["variance.csv"][1:]] == [one.term for one in found.shares]
    assert [float(row[3]) for row in tables["losses.csv"][1:]] == [one.lost for one in found.losses]
    front = saved(grid.pareto(["write_amplification", "device.physical_bytes"]), tmp_path / "front")["front.csv"]
    ends = [estimate(one.values).half_width for one in grid.values(grid.outcomes(["write_amplification"])[0])]
    at = front[0].index("write_amplification.half_width")
    assert [float(row[at]) for row in front[1:]] == ends
    alone, both = (
        saved(grid.curves("write_amplification", "device.op", by), tmp_path / str(by))["curves.csv"]
        for by in (None, "workload.reads")
    )
    assert alone[0] == ["device.op", "mean", "half_width", "seeds"] and len(alone[1]) == 4
    assert both[0] == ["device.op", "workload.reads", "mean", "half_width", "seeds"]
    sampled = ssdlab.sweep(["device.op=20%..40%", "workload.reads=0%..50%"], base, design="saltelli", samples=4)
    tables = saved(sampled.effects("write_amplification"), tmp_path / "effects")
    assert "total" in tables["variance.csv"][0] and len(tables["variance.csv"]) == 4 and "losses.csv" not in tables


def test_runs_that_failed_are_told_by_all_that_is_made_of_a_study() -> None:
    """There is memory for a drive of 8 TiB nowhere."""
    axes = {"device.capacity": ["8MiB", "16MiB", "8TiB"], "ftl.page.gc": ["greedy", "fifo"]}
    study = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY), seeds=2)
    (failed,) = study.failed
    assert failed.startswith("4 runs failed: ")
    left = "2 of 6 points lack write_amplification and are left out; finish the sweep, or mend what failed"
    found = study.effects("write_amplification")
    assert "the grid has gaps, so a linear fit replaces the analysis of variance" in found.notes
    for shown in (found, study.curves("write_amplification")):
        assert {failed, left} <= {*shown.page().remarks}
    front = study.pareto(["write_amplification", "device.physical_bytes"])
    assert failed in front.page().remarks and any(one.startswith("2 of 6 points lack") for one in front.notes)
    axes["device.capacity"] = ["8MiB", "8TiB"]
    few = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY))
    with pytest.raises(ssdlab.ConfigError, match="2 of 4 points lack write_amplification: finish the sweep, or mend"):
        few.effects("write_amplification")


@pytest.mark.parametrize("design", [{"design": "sobol", "samples": 32}, {"design": "saltelli", "samples": 8}])
def test_samples_are_drawn_by_the_parts_of_their_range(design: dict[str, object]) -> None:
    """A column for each sample would hold one value each."""
    axes = ["device.op=20%..60%", "workload.reads=0%..50%", "ftl.page.gc=greedy,fifo"]
    study = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY), **design)  # type: ignore[arg-type]
    found = study.curves("write_amplification")
    along, between = found.values
    assert along == [f"{20 + 5 * part}%..{25 + 5 * part}%" for part in range(curves.PARTS)]
    assert (found.x, found.by, {*between}) == ("device.op", "ftl.page.gc", {"greedy", "fifo"})
    assert found.others == ("workload.reads",)
    assert found.notes[-1] == "samples of device.op are grouped into 8 parts of its range"
    both = study.curves("write_amplification", "workload.reads", "device.op")
    assert both.values[1] == along and both.values[0][0] == "0%..6.25%"
    alone = study.curves("write_amplification", "device.op")
    lowest = [
        point.mean
        for point in study.values(Outcome("write_amplification", False))
        if (its := quantity(point.levels["device.op"])) and its.value < 0.25
    ]
    assert {one.x: one.estimate.mean for one in alone.cells}["20%..25%"] == pytest.approx(sum(lowest) / len(lowest))


def test_nothing_is_averaged_over_an_axis_that_is_linked_to_one_that_is_shown() -> None:
    axes = ["device.capacity=8MiB,16MiB workload.requests=500,1000", "device.op=30%,40%"]
    study = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY))
    assert study.curves("write_amplification", "workload.requests").others == ("device.op",)
    assert study.curves("write_amplification", "device.op", "workload.requests").others == ()
    found = study.curves("write_amplification", by="workload.requests")
    assert (found.x, found.others) == ("device.op", ())


def test_settings_that_change_together_are_one_axis_with_all_their_names(tmp_path: Path) -> None:
    both, levels = "device.op, ftl.page.gc", ["20%, greedy", "40%, fifo"]
    base = ssdlab.Config("tlc-chip", overrides=TINY)
    axes = ["device.op=20%,40% ftl.page.gc=greedy,fifo", "workload.reads=0%,50%"]
    study = ssdlab.sweep(axes, base)
    found = study.effects("write_amplification")
    assert [one.level for one in found.effects if one.term == both] == levels
    assert [one.term for one in found.shares] == [both, "workload.reads", f"{both} × workload.reads"]
    assert [one.level for one in found.losses if one.term == both] == levels
    assert both in str(found.page()) and {row[0] for row in saved(found, tmp_path)["effects.csv"]} > {both}
    drawn = study.curves("write_amplification")
    assert (drawn.x, drawn.by, drawn.values[0]) == (both, "workload.reads", levels)
    (panel,) = drawn.plot.chart().panels
    assert panel.x.title == both and [label for _, label in panel.x.ticks] == levels
    assert saved(drawn, tmp_path)["curves.csv"][0][0] == both
    # What is asked for comes first, and what is shown by itself is not named again.
    assert study.curves("write_amplification", "ftl.page.gc").x == "ftl.page.gc, device.op"
    apart = study.curves("write_amplification", "device.op", "ftl.page.gc")
    assert (apart.x, apart.by, apart.others) == ("device.op", "ftl.page.gc", ("workload.reads",))
    assert study.curves("write_amplification", "workload.reads").others == ("device.op", "ftl.page.gc")

    designs: list[dict[str, Any]] = [
        {"design": "factorial"}, {"design": "one-at-a-time"}, {"design": "saltelli", "samples": 4},
    ]  # fmt: skip
    for design in designs:
        of_design = ssdlab.sweep(axes, base, **design).effects("write_amplification")
        assert (both, " → ".join(levels)) in [(one.term, one.level) for one in of_design.effects]
    # The numbers of the first still lie on a line.
    line = "device.op=20%,30%,40% workload.requests=500,600,700"
    (slope,) = ssdlab.sweep(line, base, design="random", samples=16).effects("write_amplification").effects
    assert (slope.term, slope.level) == ("device.op, workload.requests", "20%, 500 → 40%, 700")


def test_an_outcome_that_does_not_change_is_not_explained() -> None:
    points = [PointValues({"a": str(level)}, (0.1 + 0.2 if level % 2 else 0.3,)) for level in range(6)]
    _, _, notes = effects.sampled(["a"], points)
    assert notes == ["the outcome is the same at all points, so there is nothing to explain"]


def test_a_figure_that_runs_lack_is_no_failure_and_what_is_better_is_as_the_sweep_was_told() -> None:
    base = ssdlab.Config("tlc-chip", overrides=TINY)
    axes = {"workload.reads": ["0%", "50%", "100%"]}
    study = ssdlab.sweep(axes, base, outcomes=["host.bytes_read:max"])
    with pytest.raises(ssdlab.ConfigError, match="1 of 3 points lack write_amplification: all runs are finished"):
        study.effects("write_amplification")
    (left,) = (one for one in study.curves("write_amplification").page().remarks if "lack" in one)
    assert left.endswith("leave these levels out, or ask for another figure")
    assert study.effects("host.bytes_read").outcome.large
    assert not study.effects("host.bytes_read:min").outcome.large
    assert study.asked_for(["host.bytes_read"]).outcomes()[0].large


def test_a_front_is_of_the_points_that_have_all_outcomes() -> None:
    """Samples that are alike are one, and lack nothing; where no point has all, there is no front."""
    base = ssdlab.Config("tlc-chip", overrides=TINY)
    study = ssdlab.sweep(
        {"ftl.page.gc": ["greedy", "fifo"], "device.op": ["20%", "40%"]}, base, design="random", samples=8
    )
    found = study.pareto(["write_amplification", "device.physical_bytes"])
    assert len(found.candidates) == len({tuple(point.values.values()) for point in study.points}) == 4
    assert not any("lack" in note for note in found.notes)

    study = ssdlab.sweep({"ftl": ["page", "fast"]}, base)
    with pytest.raises(ssdlab.ConfigError, match=r"no point has collection.victims and log.reclaims together; name"):
        study.pareto(["collection.victims", "log.reclaims"])


@pytest.mark.parametrize(
    ("axes", "lacking"),
    [
        ({"workload.reads": ["0%", "100%"]}, "1 of 2 points lack write_amplification and"),
        ({"ftl": ["page", "fast"], "workload.reads": ["0%", "100%"]},
         "3 of 4 points lack write_amplification or log.reclaims and"),
    ],
)  # fmt: skip
def test_points_lack_no_figure_which_they_have(axes: dict[str, list[str]], lacking: str) -> None:
    study = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY))
    asked = ["write_amplification", "device.physical_bytes", *(["log.reclaims"] if "ftl" in axes else [])]
    (told,) = (note for note in study.pareto(asked).notes if "lack" in note)
    assert told.startswith(f"{lacking} are left out")


def test_means_over_seeds_want_scipy_before_anything_runs(tmp_path: Path) -> None:
    code = """
import sys

class Without:
    def find_spec(self, name, path, target=None):
        if name == "scipy":
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Without())
from ssdlab.__main__ import main
main()
"""
    sets = [word for key, value in TINY.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-c", code, "sweep", *sets, "-A", "device.op=10%,20%", "--seeds", "2", "-o", "s"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    installs = f"{sys.executable} -m pip install 'salib>=1.5' 'scipy>=1.15'"
    assert (done.returncode, done.stderr) == (2, f"ssdlab: scipy is not installed; {installs}\n")
    assert not (tmp_path / "s").exists()


def test_what_a_comparison_calls_better_is_better_of_an_outcome() -> None:
    high = {one.path for one in QUANTITIES if one.better == "high" and isinstance(one.path, str)}
    assert high == MORE_IS_BETTER and "time.iops" in high
    for figure, large in {"time.iops": True, "time.iops:min": False, "write_amplification": False}.items():
        assert Outcome.read(figure).large is Goal.of(figure).large is large
    assert Goal.of("speed=time.iops").large and not Goal.of("idle=1 / time.iops").large


def test_one_of_a_kind_is_not_many() -> None:
    """A study of one point, its front, and advice on a trace of one request."""
    drive = {"device.capacity": "32MiB", "workload.requests": 1, "workload.reads": "0%"}
    study = ssdlab.sweep({"seed": [1]}, drive)
    assert study.title == "grid of 1 point over seed"
    assert study.pareto(["write_amplification", "time.iops"]).page().title == "1 of 1 point is on the front"
    trace = ssdlab.Trace.from_columns(op=["write"], offset=[0], bytes=[4096])
    [told, *_] = ssdlab.advise.map_cache(trace).page().lead
    assert isinstance(told, Paragraph) and told.text.startswith("1 request, 2 look-ups; ")
