"""Statistics of studies against closed forms: effects, Sobol' indices, intervals, fronts, curves."""

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
from ssdlab.study.survey import curves, effects, front
from ssdlab.study.survey.outcome import MORE_IS_BETTER, Outcome, PointValues, estimate, student
from ssdlab.study.sweep import factorial
from ssdlab.study.sweep.axes import axis
from ssdlab.study.sweep.design import Design
from ssdlab.study.sweep.quantity import quantity
from ssdlab.study.tuning.goal import Goal
from ssdlab.view.page import Paragraph, Table

LESS = Outcome("cost", large=False)


def points_of(
    design: Design, axes: Sequence[str], value: Callable[[Mapping[str, float]], Sequence[float]]
) -> list[PointValues]:
    """Points of a design, with the value of a function at each point."""
    points = []
    for levels in design.points([axis(ax) for ax in axes]):
        numbers = {key: its.value for key, written in levels.items() if (its := quantity(written))}
        points.append(PointValues(levels, tuple(value(numbers))))
    return points


def test_contrasts_of_a_factorial_are_its_coefficients() -> None:
    """y = 3 + 2 a - b + c a / 2, with a, b and c at -1 and 1: an effect is twice its coefficient."""
    names = ["device.op", "workload.reads", "precondition.fill"]
    sign = {0.1: -1.0, 0.3: 1.0}

    def value(at: Mapping[str, float]) -> list[float]:
        a, b, c = (sign[at[name]] for name in names)
        return [3 + 2 * a - b + c * a / 2]

    points = points_of(Design("factorial"), [f"{name}=10%,30%" for name in names], value)
    estimates, shares, notes = effects.two_level(names, [1, 2, 4], points)
    sizes = {effect.term: effect.size for effect in estimates}
    assert sizes == pytest.approx({
        names[0]: 4, names[1]: -2, names[2]: 0, f"{names[0]} × {names[1]}": 0, f"{names[0]} × {names[2]}": 1,
        f"{names[1]} × {names[2]}": 0,
    })  # fmt: skip
    variance = {share.term: share.share for share in shares}
    assert variance[names[0]] == pytest.approx(4 / 5.25) and sum(variance.values()) == pytest.approx(1)
    assert notes == [] and estimates[0].level == "10% → 30%" and estimates[0].half_width is None


def test_a_fraction_names_its_confounded_effects() -> None:
    names = ["a", "b", "c", "d"]
    columns = factorial.columns(4, 4)
    points = [
        PointValues(dict(zip(names, map(str, levels), strict=True)), (float(levels[0] == levels[1]),))
        for levels in factorial.points(columns)
    ]
    estimates, _, notes = effects.two_level(names, columns, points)
    assert {effect.term: effect.size for effect in estimates if abs(effect.size) > 1e-12} == {"a × b": 1.0}
    assert "c × d cannot be distinguished from a × b in this design" in notes and len(notes) == 3


def test_a_grid_decomposes_as_in_analysis_of_variance() -> None:
    """With y = u(i) + v(j) + w(i) v(j), where u, v and w sum to zero, the parts are orthogonal."""
    u, v, w = {0.1: -3.0, 0.2: 1.0, 0.3: 2.0}, {0.5: -1.0, 0.7: 1.0}, {0.1: 1.0, 0.2: 0.0, 0.3: -1.0}
    names = ["device.op", "workload.reads"]

    def value(at: Mapping[str, float]) -> list[float]:
        i, j = at[names[0]], at[names[1]]
        return [10 + u[i] + v[j] + w[i] * v[j]]

    points = points_of(Design("grid"), ["device.op=10%,20%,30%", "workload.reads=50%,70%"], value)
    estimates, shares = effects.complete(names, points)
    assert [effect.size for effect in estimates] == pytest.approx([*u.values(), *v.values()])
    total = 2 * (9 + 1 + 4) + 3 * 2 + 2 * 2
    assert [share.share for share in shares] == pytest.approx([28 / total, 6 / total, 4 / total])


def test_a_linear_model_finds_slopes_and_names() -> None:
    """y = 5 + 40 op, plus 2 under fifo."""
    axes = ["device.op=10%..60%", "ftl.page.gc=greedy,fifo"]
    points = [
        PointValues(levels, (5 + 40 * its.value + 2 * (levels["ftl.page.gc"] == "fifo"),))
        for levels in Design("sobol", 32).points([axis(ax) for ax in axes])
        if (its := quantity(levels["device.op"]))
    ]
    estimates, _, notes = effects.sampled(["device.op", "ftl.page.gc"], points)
    slope, fifo = estimates
    low, high = (quantity(end) for end in slope.level.split(" → "))
    assert low and high and slope.size == pytest.approx(40 * (high.value - low.value))
    first, other = fifo.level.split(" → ")
    assert fifo.size == pytest.approx(2.0 if other == "fifo" else -2.0) and {first, other} == {"greedy", "fifo"}
    assert "100.0 %" in notes[0]
    with pytest.raises(ssdlab.ConfigError, match="too few"):
        effects.sampled(["device.op", "ftl.page.gc"], points[:3])


def test_one_at_a_time_effects_start_at_the_first_point() -> None:
    axes = ["device.op=10%,20%,30%", "workload.reads=0%,50%"]
    points = points_of(
        Design("one-at-a-time"), axes, lambda at: [100 * at["device.op"] + 4 * at["workload.reads"] + e for e in (0, 2)]
    )
    estimates = effects.one_at_a_time(["device.op", "workload.reads"], points)
    assert [effect.level for effect in estimates] == ["10% → 20%", "10% → 30%", "0% → 50%"]
    assert [effect.size for effect in estimates] == pytest.approx([10, 20, 2])
    # Two values that differ by 2 have a variance of 2, here with 4 degrees of freedom.
    assert estimates[0].half_width == pytest.approx(student(4) * math.sqrt(2.0))


def test_sobol_indices_of_the_ishigami_function() -> None:
    """sin x + 7 sin² y + 0.1 z⁴ sin x, with known indices (Ishigami and Homma, 1990)."""
    a, b = 7.0, 0.1
    names = ["device.op", "workload.reads", "precondition.fill"]

    def value(at: Mapping[str, float]) -> list[float]:
        x, y, z = (math.pi * (2 * at[name] - 1) for name in names)
        return [math.sin(x) + a * math.sin(y) ** 2 + b * z**4 * math.sin(x)]

    points = points_of(Design("saltelli", 2048), [f"{name}=0%..100%" for name in names], value)
    assert len(points) == 2048 * 8
    indices_by_term = {index.term: index for index in effects.indices(names, points, 1)}
    pi4 = math.pi**4
    v1, v2, v13 = (1 + b * pi4 / 5) ** 2 / 2, a * a / 8, b * b * pi4 * pi4 * (1 / 18 - 1 / 50)
    total = v1 + v2 + v13
    expected = {"device.op": (v1, v1 + v13), "workload.reads": (v2, v2), "precondition.fill": (0.0, v13)}
    for name, (first, whole) in expected.items():
        one = indices_by_term[name]
        assert one.share == pytest.approx(first / total, abs=0.02), name
        assert one.total == pytest.approx(whole / total, abs=0.02), name
    assert indices_by_term["device.op × precondition.fill"].share == pytest.approx(v13 / total, abs=0.03)
    assert indices_by_term["device.op × workload.reads"].share == pytest.approx(0, abs=0.03)


def test_impossible_shares_are_marked_as_estimation_error() -> None:
    """The mark is next to the number and its interval; computed and valid shares are not marked."""
    outcome = Outcome("write_amplification", False)

    def shown(*shares: effects.Share) -> tuple[list[Any], list[str]]:
        finding = effects.Effects(
            about="", source=None, outcome=outcome, method="", mean=1.0, effects=[], shares=shares, losses=[]
        )
        _, table, *others = finding.page().sections[1].items
        assert isinstance(table, Table)
        return [*table.rows], [other.text for other in others if isinstance(other, Paragraph)]

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
    assert note.startswith("* outside 0 to 100 % because of sampling error")
    assert "95 % confidence interval" in note and "--samples" in note
    assert shown(effects.Share("a", 1.0, 0.5, 0.0, 0.5), effects.Share("b", 0.3))[1] == []


def within(rate: float, tries: int) -> bool:
    """Asserts a coverage of 95 %, within four standard deviations for the given number of tries."""
    return abs(rate - 0.95) <= 4 * math.sqrt(0.95 * 0.05 / tries)


def test_intervals_have_their_nominal_coverage() -> None:
    draw = random.Random(2)
    tries = 4000
    held = 0
    for _ in range(tries):
        interval = estimate([draw.gauss(7, 2) for _ in range(4)])
        assert interval.half_width is not None
        held += abs(interval.mean - 7) <= interval.half_width
    assert within(held / tries, tries), held
    assert estimate([3.0]) == (3.0, None, 1)


def test_intervals_of_effects_have_their_nominal_coverage() -> None:
    draw = random.Random(3)
    tries, names = 300, ["device.op", "workload.reads"]
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


def test_the_front_holds_the_unbeaten_points() -> None:
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


def test_loss_from_fixing_a_value() -> None:
    points = [
        PointValues({"a": a, "b": b}, (cost,))
        for (a, b), cost in zip(itertools.product("xy", "12"), (10.0, 12.0, 15.0, 11.0), strict=True)
    ]
    losses = effects.losses(["a", "b"], points, LESS)
    assert [(loss.term, loss.level, loss.best) for loss in losses] == [
        ("a", "x", 10), ("a", "y", 11), ("b", "1", 10), ("b", "2", 11)
    ]  # fmt: skip
    assert [loss.lost for loss in losses] == pytest.approx([0, 0.1, 0, 0.1])
    assert effects.losses(["a"], points, Outcome("cost", large=True))[0].lost == pytest.approx(0.2)
    free = [PointValues({"a": level}, (cost,)) for level, cost in (("x", 0.0), ("y", 3.0))]
    assert [loss.lost for loss in effects.losses(["a"], free, LESS)] == [0, None]


def test_curves_are_averaged_seed_by_seed() -> None:
    """The contribution of other axes is the same for each seed, so it adds no spread."""
    points = [
        PointValues({"x": x, "other": other}, (add + 1.0, add + 3.0))
        for x, (other, add) in itertools.product("ab", (("c", 0.0), ("d", 100.0)))
    ]
    cells = curves.cells(points, "x", None)
    assert [(cell.x, cell.estimate.mean) for cell in cells] == [("a", 52.0), ("b", 52.0)]
    assert cells[0].estimate.half_width == pytest.approx(student(1) * math.sqrt(2 / 2))


def test_curves_pair_only_seeds_that_have_values() -> None:
    """Seeds common to all points differ by 2 and are paired; without such seeds there is no interval."""
    points = [
        PointValues({"x": "a", "other": "c"}, (1.0, 5.0, 3.0)),
        PointValues({"x": "a", "other": "d"}, (101.0, None, 103.0)),
        PointValues({"x": "b", "other": "c"}, (1.0, None)),
        PointValues({"x": "b", "other": "d"}, (None, 7.0)),
    ]
    paired, apart = (cell.estimate for cell in curves.cells(points, "x", None))
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
            "cannot be distinguished",
        ),
        (["device.op=20%..40%", "workload.reads=0%..50%"], {"design": "saltelli", "samples": 4}, "interactions"),
        (["device.op=20%,30%,40%", "workload.reads=0%,50%"], {"design": "one-at-a-time", "seeds": 2}, "20% → 40%"),
        (["device.op=20%..40%"], {"design": "latin-hypercube", "samples": 8}, "linear model"),
        (
            ["device.op=20%,30%,40%", "workload.reads=0%,50%"],
            {"without": ["device.op<25% workload.reads=0%"]},
            "linear",
        ),
    ],
)  # fmt: skip
def test_effects_of_every_design(axes: list[str], more: dict[str, object], shown: str) -> None:
    study = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY), **more)  # type: ignore[arg-type]
    assert study.failures == {}
    estimates = study.effects("write_amplification")
    assert shown in str(estimates.page())
    # With every design, more over-provisioning gives fewer copies.
    by_op = [effect for effect in estimates.effects if effect.term == "device.op"]
    assert by_op[0].size * (1 if by_op[0].level == "20%" else -1) > 0


def test_missing_figures_and_axes_are_named() -> None:
    study = ssdlab.sweep({"device.op": ["20%", "30%"]}, ssdlab.Config("tlc-chip", overrides=TINY))
    with pytest.raises(ssdlab.ConfigError, match="did you mean write_amplification"):
        study.effects("write_amplificatio")
    with pytest.raises(ssdlab.ConfigError, match="unknown axis"):
        study.curves("write_amplification", "device.opp")
    with pytest.raises(ssdlab.ConfigError, match="is used for both x and by"):
        study.curves("write_amplification", "device.op", "device.op")
    with pytest.raises(ssdlab.ConfigError, match="two or more outcomes"):
        study.pareto(["write_amplification"])
    with pytest.raises(ssdlab.ConfigError, match="no result"):
        study.result(7)
    front = study.pareto(["write_amplification", "device.physical_bytes"])
    # Fewer copies need more flash, so both points are on the front.
    assert [point.levels["device.op"] for point in front.front] == ["30%", "20%"]


def test_lenths_margin_matches_hand_computation_and_nominal_error() -> None:
    # The median 2 gives 3; 100 exceeds 2.5 times 3 and is left out. The median of the others, 2, gives 3 again.
    assert effects.margin([1, -1, 2, -2, 3, 100]) == pytest.approx(3 * student(2))
    draw = random.Random(7)
    wrong = 0
    for _ in range(400):
        noise = [draw.gauss(0, 1) for _ in range(29)]
        wrong += sum(abs(sample) > effects.margin(noise) for sample in noise)
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
def test_losses_are_reported_for_complete_grids_only(axes: list[str], more: dict[str, object], known: bool) -> None:
    """In other designs, a loss would include the effect of settings that were varied together with the value."""
    estimates = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY), **more).effects("write_amplification")  # type: ignore[arg-type]
    assert bool(estimates.losses) == known == ("Loss with one axis fixed" in str(estimates.page()))


def test_no_loss_is_reported_over_traces(tmp_path: Path) -> None:
    """The easiest trace would always be the best value; effects of traces are reported."""
    drive = ssdlab.Config("tlc-chip", overrides=TINY)
    for name, reads in (("a", "0%"), ("b", "50%")):
        ssdlab.generate(drive.with_overrides({"workload.reads": reads})).save(tmp_path / f"{name}.parquet")
    traces = f"trace={tmp_path / 'a.parquet'},{tmp_path / 'b.parquet'}"
    study = ssdlab.sweep([traces, "device.op=20%,40%"], drive)
    estimates = study.effects("write_amplification")
    assert estimates.losses == () and {effect.term for effect in estimates.effects} == {"trace", "device.op"}
    (told,) = (remark for remark in estimates.page().remarks if "losses are not shown" in remark)
    assert told.endswith("sweep each trace separately")
    alone = ssdlab.sweep(["device.op=20%,40%"], drive).effects("write_amplification")
    assert alone.losses and not any("losses are not shown" in remark for remark in alone.page().remarks)


def saved(finding: Finding, folder: Path) -> dict[str, list[list[str]]]:
    """Tables that a finding saves in a folder."""
    finding.save(folder)
    return {path.name: list(csv.reader(path.read_text(encoding="utf-8").splitlines())) for path in folder.glob("*.csv")}


def test_every_table_is_in_a_file(tmp_path: Path) -> None:
    base = ssdlab.Config("tlc-chip", overrides=TINY)
    grid = ssdlab.sweep(["device.op=20%,40%", "workload.reads=0%,50%"], base, seeds=2)
    estimates = grid.effects("write_amplification")
    tables = saved(estimates, tmp_path / "effects")
    assert {name: rows[0] for name, rows in tables.items()} == {
        "effects.csv": [*effects.Effect._fields],
        "variance.csv": [*effects.Share._fields],
        "losses.csv": [*effects.Loss._fields],
    }
    assert [row[0] for row in tables["variance.csv"][1:]] == [share.term for share in estimates.shares]
    assert [float(row[3]) for row in tables["losses.csv"][1:]] == [loss.lost for loss in estimates.losses]
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


def test_failed_runs_are_mentioned_in_every_output() -> None:
    """No machine has memory for a drive of 8 TiB."""
    axes = {"device.capacity": ["8MiB", "16MiB", "8TiB"], "ftl.page.gc": ["greedy", "fifo"]}
    study = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY), seeds=2)
    (failed,) = study.failed
    assert failed.startswith("4 runs failed: ")
    left = "2 of 6 points lack write_amplification and are omitted; finish the sweep, or fix the failed runs"
    estimates = study.effects("write_amplification")
    assert "the grid lacks some points, so a linear fit replaces the analysis of variance" in estimates.notes
    for shown in (estimates, study.curves("write_amplification")):
        assert {failed, left} <= {*shown.page().remarks}
    front = study.pareto(["write_amplification", "device.physical_bytes"])
    assert failed in front.page().remarks and any(note.startswith("2 of 6 points lack") for note in front.notes)
    axes["device.capacity"] = ["8MiB", "8TiB"]
    few = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY))
    with pytest.raises(ssdlab.ConfigError, match="2 of 4 points lack write_amplification: finish the sweep, or fix"):
        few.effects("write_amplification")


@pytest.mark.parametrize("design", [{"design": "sobol", "samples": 32}, {"design": "saltelli", "samples": 8}])
def test_samples_are_grouped_by_parts_of_their_range(design: dict[str, object]) -> None:
    """Tables group samples into ranges of an axis; otherwise each column would contain a single sample."""
    axes = ["device.op=20%..60%", "workload.reads=0%..50%", "ftl.page.gc=greedy,fifo"]
    study = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY), **design)  # type: ignore[arg-type]
    averaged = study.curves("write_amplification")
    along, between = averaged.values
    assert along == [f"{20 + 5 * part}%..{25 + 5 * part}%" for part in range(curves.PARTS)]
    assert (averaged.x, averaged.by, {*between}) == ("device.op", "ftl.page.gc", {"greedy", "fifo"})
    assert averaged.others == ("workload.reads",)
    assert averaged.notes[-1] == "values of device.op are grouped into 8 bins"
    both = study.curves("write_amplification", "workload.reads", "device.op")
    assert both.values[1] == along and both.values[0][0] == "0%..6.25%"
    alone = study.curves("write_amplification", "device.op")
    lowest = [
        point.mean
        for point in study.values(Outcome("write_amplification", False))
        if (its := quantity(point.levels["device.op"])) and its.value < 0.25
    ]
    assert {cell.x: cell.estimate.mean for cell in alone.cells}["20%..25%"] == pytest.approx(sum(lowest) / len(lowest))


def test_no_average_over_an_axis_linked_to_a_shown_one() -> None:
    axes = ["device.capacity=8MiB,16MiB workload.requests=500,1000", "device.op=30%,40%"]
    study = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY))
    assert study.curves("write_amplification", "workload.requests").others == ("device.op",)
    assert study.curves("write_amplification", "device.op", "workload.requests").others == ()
    averaged = study.curves("write_amplification", by="workload.requests")
    assert (averaged.x, averaged.others) == ("device.op", ())


def test_linked_settings_are_one_axis_with_all_names(tmp_path: Path) -> None:
    both, levels = "device.op, ftl.page.gc", ["20%, greedy", "40%, fifo"]
    base = ssdlab.Config("tlc-chip", overrides=TINY)
    axes = ["device.op=20%,40% ftl.page.gc=greedy,fifo", "workload.reads=0%,50%"]
    study = ssdlab.sweep(axes, base)
    estimates = study.effects("write_amplification")
    assert [effect.level for effect in estimates.effects if effect.term == both] == levels
    assert [share.term for share in estimates.shares] == [both, "workload.reads", f"{both} × workload.reads"]
    assert [loss.level for loss in estimates.losses if loss.term == both] == levels
    assert both in str(estimates.page()) and {row[0] for row in saved(estimates, tmp_path)["effects.csv"]} > {both}
    drawn = study.curves("write_amplification")
    assert (drawn.x, drawn.by, drawn.values[0]) == (both, "workload.reads", levels)
    (panel,) = drawn.plot.chart().panels
    assert panel.x.title == both and [label for _, label in panel.x.ticks] == levels
    assert saved(drawn, tmp_path)["curves.csv"][0][0] == both
    # The requested setting comes first; a setting that is shown separately is not named again.
    assert study.curves("write_amplification", "ftl.page.gc").x == "ftl.page.gc, device.op"
    apart = study.curves("write_amplification", "device.op", "ftl.page.gc")
    assert (apart.x, apart.by, apart.others) == ("device.op", "ftl.page.gc", ("workload.reads",))
    assert study.curves("write_amplification", "workload.reads").others == ("device.op", "ftl.page.gc")

    designs: list[dict[str, Any]] = [
        {"design": "factorial"}, {"design": "one-at-a-time"}, {"design": "saltelli", "samples": 4},
    ]  # fmt: skip
    for design in designs:
        of_design = ssdlab.sweep(axes, base, **design).effects("write_amplification")
        assert (both, " → ".join(levels)) in [(effect.term, effect.level) for effect in of_design.effects]
    # The numbers of the first setting are still an axis with a line.
    line = "device.op=20%,30%,40% workload.requests=500,600,700"
    (slope,) = ssdlab.sweep(line, base, design="random", samples=16).effects("write_amplification").effects
    assert (slope.term, slope.level) == ("device.op, workload.requests", "20%, 500 → 40%, 700")


def test_a_constant_outcome_is_not_explained() -> None:
    points = [PointValues({"a": str(level)}, (0.1 + 0.2 if level % 2 else 0.3,)) for level in range(6)]
    _, _, notes = effects.sampled(["a"], points)
    assert notes == ["the outcome is the same at all points, so there is nothing to explain"]


def test_missing_figures_are_no_failure_and_direction_follows_the_sweep() -> None:
    base = ssdlab.Config("tlc-chip", overrides=TINY)
    axes = {"workload.reads": ["0%", "50%", "100%"]}
    study = ssdlab.sweep(axes, base, outcomes=["host.bytes_read:max"])
    with pytest.raises(ssdlab.ConfigError, match="1 of 3 points lack write_amplification: all runs have finished"):
        study.effects("write_amplification")
    (left,) = (remark for remark in study.curves("write_amplification").page().remarks if "lack" in remark)
    assert left.endswith("omit these axis values, or choose another metric")
    assert study.effects("host.bytes_read").outcome.large
    assert not study.effects("host.bytes_read:min").outcome.large
    assert study.asked_for(["host.bytes_read"]).outcomes()[0].large


def test_a_front_needs_points_with_all_outcomes() -> None:
    """Equal samples are one point and have all outcomes; if no point has all outcomes, there is no front."""
    base = ssdlab.Config("tlc-chip", overrides=TINY)
    study = ssdlab.sweep(
        {"ftl.page.gc": ["greedy", "fifo"], "device.op": ["20%", "40%"]}, base, design="random", samples=8
    )
    front = study.pareto(["write_amplification", "device.physical_bytes"])
    assert len(front.candidates) == len({tuple(point.values.values()) for point in study.points}) == 4
    assert not any("lack" in note for note in front.notes)

    study = ssdlab.sweep({"ftl": ["page", "fast"]}, base)
    with pytest.raises(ssdlab.ConfigError, match=r"no point has values for all of collection.victims and log.reclaims"):
        study.pareto(["collection.victims", "log.reclaims"])


@pytest.mark.parametrize(
    ("axes", "lacking"),
    [
        ({"workload.reads": ["0%", "100%"]}, "1 of 2 points lack write_amplification and"),
        ({"ftl": ["page", "fast"], "workload.reads": ["0%", "100%"]},
         "3 of 4 points lack write_amplification or log.reclaims and"),
    ],
)  # fmt: skip
def test_no_point_lacks_a_figure_it_has(axes: dict[str, list[str]], lacking: str) -> None:
    study = ssdlab.sweep(axes, ssdlab.Config("tlc-chip", overrides=TINY))
    asked = ["write_amplification", "device.physical_bytes", *(["log.reclaims"] if "ftl" in axes else [])]
    (told,) = (note for note in study.pareto(asked).notes if "lack" in note)
    assert told.startswith(f"{lacking} are omitted")


def test_means_over_seeds_require_scipy_before_any_run(tmp_path: Path) -> None:
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
    study = ["sweep", "--preset", "tlc-chip", *sets, "-A", "device.op=10%,20%", "--seeds", "2", "-o", "s"]
    command = [sys.executable, "-c", code, *study]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    installs = f"{sys.executable} -m pip install 'salib>=1.5' 'scipy>=1.15'"
    assert (done.returncode, done.stderr) == (2, f"ssdlab: scipy is not installed; {installs}\n")
    assert not (tmp_path / "s").exists()


def test_outcomes_use_the_direction_of_comparisons() -> None:
    assert {"time.iops", "lifetime.host_tbw_bytes", "log.capture.hit_ratio"} <= MORE_IS_BETTER
    for figure, large in {"time.iops": True, "time.iops:min": False, "write_amplification": False}.items():
        assert Outcome.read(figure).large is Goal.of(figure).large is large
    assert Goal.of("speed=time.iops").large and not Goal.of("idle=1 / time.iops").large


def test_singular_is_used_for_one() -> None:
    """A study of one point, its front, and advice on a trace of one request."""
    drive = {"device.capacity": "32MiB", "device.op": "25%", "workload.requests": 1, "workload.reads": "0%"}
    study = ssdlab.sweep({"seed": [1]}, ssdlab.Config("tlc-chip", overrides=drive))
    assert study.title == "grid of 1 point over seed"
    assert study.pareto(["write_amplification", "time.iops"]).page().title == "1 of 1 point is on the Pareto front"
    trace = ssdlab.Trace.from_columns(op=["write"], offset=[0], bytes=[4096])
    [told, *_] = ssdlab.advise.map_cache(trace).page().lead
    assert isinstance(told, Paragraph) and told.text.startswith("1 request, 2 look-ups; ")
