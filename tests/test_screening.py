"""Screenings: traces between two drives, gains and effects against hand-computed values, and reproducible studies."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ssdlab
from conftest import ROOT, Cli
from ssdlab.study.experiments.expression import Value
from ssdlab.study.screening import contrast
from ssdlab.study.screening.contrast import Contrast
from ssdlab.study.screening.definition import Figure, Screening
from ssdlab.study.screening.plan import FIRST
from ssdlab.study.screening.result import _telling
from ssdlab.study.survey import effects
from ssdlab.study.survey.outcome import Outcome, PointValues, estimate, student
from ssdlab.study.sweep.axes import Axis
from ssdlab.study.sweep.design import Design
from ssdlab.study.work.below import Taking, issued, taken
from ssdlab.view.page import Table
from ssdlab.view.pages.figures import estimated

SMALL = ROOT / "tests" / "screening.toml"
PAGE = 4096
SHIPPED = "pardispatcher-conditions"


def trace(*requests: tuple[str, int, int], times: list[int] | None = None) -> ssdlab.Trace:
    """A trace of requests with operation, offset and bytes."""
    op, offset, size = zip(*requests, strict=True)
    return ssdlab.Trace.from_columns(op=[*op], offset=[*offset], bytes=[*size], time_ns=times)


def rows(of: ssdlab.Trace) -> list[tuple[int, int, int]]:
    columns = of.columns()
    return list(zip(*(columns[name].tolist() for name in ("op", "offset", "bytes")), strict=True))


def test_a_partition_moves_addresses_and_sync_marks_writes() -> None:
    given = trace(("write", 0, PAGE), ("read", PAGE, 512), ("flush", 0, 0))
    requests = issued(given, Taking(partition=63, sync=True))
    assert rows(requests) == [(1, 63 * 512, PAGE), (0, 63 * 512 + PAGE, 512), (3, 0, 0)]
    assert requests.columns()["flags"].tolist() == [1, 0, 0]
    assert rows(issued(given, Taking())) == rows(given)


def test_the_trace_between_drives_matches_hand_computation() -> None:
    queued = trace(("write", 0, PAGE), ("read", 8 * PAGE, PAGE), ("write", PAGE, PAGE))
    # The two writes were merged, and the read was dispatched last.
    dispatched = trace(("write", 0, 2 * PAGE), ("read", 8 * PAGE, PAGE), times=[0, 2_000_000_000])
    write, read = (1, 0, 2 * PAGE), (0, 8 * PAGE, PAGE)
    assert rows(taken(dispatched, queued, Taking(), PAGE)) == [write, read]
    assert rows(taken(dispatched, queued, Taking(reads=False), PAGE)) == [write]
    assert rows(taken(dispatched, queued, Taking(seconds=1.0), PAGE)) == [write]
    first, second, third = rows(queued)
    every = [first, second, write, write, third, read, read]
    assert rows(taken(dispatched, queued, Taking(events="all"), PAGE)) == every
    # After a second only the first two queued pages had been dispatched.
    assert rows(taken(dispatched, queued, Taking(events="all", seconds=1.0), PAGE)) == every[:4]
    unaligned = trace(("write", 63 * 512, PAGE), ("write", PAGE + 512, 512), ("flush", 0, 0))
    assert rows(taken(unaligned, queued, Taking(pages=True), PAGE)) == [
        (1, 7 * PAGE, PAGE),
        (1, PAGE, PAGE),
        (3, 0, 0),
    ]


@pytest.mark.parametrize(
    ("small", "against", "expected"),
    [
        (True, "best", 20.0),
        (True, "mean", 50.0),
        (True, "worst", 100 * (1 - 40 / 110)),
        (False, "best", 100 * (40 / 110 - 1)),
        (False, "mean", -50.0),
        (False, "worst", -20.0),
    ],
)
def test_a_gain_is_the_change_in_the_good_direction(small: bool, against: str, expected: float) -> None:
    figure = Figure("x", Value("x"), small, "better")
    points = contrast.gain(figure, 40.0, [50.0, 80.0, 110.0], against)
    assert contrast.percent(figure, points) == pytest.approx(expected)


def test_doubling_and_halving_cancel() -> None:
    figure = Figure("x", Value("x"), False, "more")
    both = [PointValues({}, (contrast.gain(figure, ours, [10.0], "mean"),)) for ours in (5.0, 20.0)]
    assert contrast.overall(both).mean == pytest.approx(0.0)


def test_a_gain_over_zero_is_none() -> None:
    figure = Figure("x", Value("x"), True, "fewer")
    assert contrast.gain(figure, 0.0, [0.0, 0.0], "mean") == 0.0
    assert np.isnan(contrast.gain(figure, 1.0, [0.0, 0.0], "mean"))


@pytest.mark.parametrize(
    ("count", "resolution", "base"), [(3, None, 3), (5, 3, 3), (6, 4, 4), (16, 4, 5), (7, 5, 6), (29, 4, 6)]
)
def test_planted_main_effects_are_found_with_their_sign(count: int, resolution: int | None, base: int) -> None:
    """Effects go from the lower to the upper level, even if the design begins with the upper level."""
    axes = [Axis((f"f{one}",), ({f"f{one}": "low"}, {f"f{one}": "high"})) for one in range(count)]
    design = Design("factorial", None, resolution)
    planted = {one.name: (-1.0 if at % 2 else 1.0) * (1.0 + at) for at, one in enumerate(axes)}

    def value(point: dict[str, str]) -> float:
        return 3.0 + sum(size for name, size in planted.items() if point[name] == "high")

    points = []
    for point in design.points(axes):
        its = value(dict(point))
        # Seeds spread by 0.1 to both sides: a variance of 0.02.
        points.append(PointValues(point, (its - 0.1, its + 0.1)))
    assert len(points) == 2**base
    main_effects = contrast.main_effects(axes, design, points)
    assert {main_effect.term: main_effect.size for main_effect in main_effects} == pytest.approx(planted)
    assert {main_effect.level for main_effect in main_effects} == {"low → high"}
    # In a fraction the effects themselves vary widely; with all combinations only the seeds cause variation.
    of_seeds = student(len(points)) * 2 * np.sqrt(0.02 / (2 * len(points)))
    expected = of_seeds if count == base else effects.margin([*planted.values()])
    assert [main_effect.half_width for main_effect in main_effects] == [pytest.approx(expected)] * count
    assert contrast.strongest(main_effects, 2) == [axes[-1].name, axes[-2].name]
    assert contrast.main_effects(axes, design, points[1:]) == []


def test_a_level_is_telling_if_unlikely_by_chance() -> None:
    def points(total: int) -> list[PointValues]:
        return [PointValues({"x": "a", "y": "bc"[one % 2]}, (1.0,)) for one in range(total)]

    # By chance all of n points share one level of a factor in 2 of 2^n cases, with two factors twice as often.
    assert _telling(points(6)) == {} and _telling([]) == {}
    assert _telling(points(7)) == {"x": ("a", 7)}


def test_a_screening_equals_its_single_runs_and_continues_after_an_interruption(tmp_path: Path) -> None:
    small = ssdlab.screening.load(SMALL)
    whole = small.run(out=tmp_path / "whole", jobs=2)
    assert not whole.partial and not whole.study.failures

    # One row by hand.
    form, row = small.forms["short"], whole.study.points[1]
    run = small.run_at(
        {factor.name: row.values[factor.name] for factor in form.factors}, row.values["scheduler"], row.seed, form
    )
    assert run.below is not None and row.values["scheduler"] == "cfq"
    above = ssdlab.simulate(run.config, ssdlab.generate(run.config), diagnose=False)
    assert above.dispatched is not None
    replayed = above.dispatched
    if not run.below.taking.reads:
        writes = replayed.op != 0
        replayed = ssdlab.Trace.from_columns(
            **{name: replayed.columns()[name][writes] for name in ("op", "offset", "bytes")}
        )
    below = ssdlab.simulate(run.below.config, replayed)
    kept = whole.study.result(1)
    assert kept["below"]["wear"] == below.summary["wear"] and kept["time"] == above.summary["time"]
    # It equals the run of its configuration.
    assert above.summary["time"] == ssdlab.simulate(run.config).summary["time"]

    # The gains, from the table.
    table = whole.study.table.to_pylist()
    first = [row for row in table if row["part"] == FIRST]
    by_scheduler = {row["scheduler"]: row["below.wear.erases"] for row in first[:3]}
    others = (by_scheduler["noop"] + by_scheduler["cfq"]) / 2
    points = whole.parts[0].gains[Contrast("erases", "mean")][0].values[0]
    gain = contrast.percent(small.figure("erases"), points)
    assert gain == pytest.approx(100 * (1 - by_scheduler["deadline"] / others))

    stops = iter([False] * 3 + [True] * 1000)
    part = small.run(out=tmp_path / "part", jobs=1, monitor=lambda *_: next(stops))
    assert part.partial and part.study.finished < part.study.asked
    assert "runs remain" in part.page().partial
    again = small.run(out=tmp_path / "part", jobs=1)
    assert again.to_json() == whole.to_json()
    # The third time, no run is repeated.
    seen: list[int | None] = []

    def watch(_phase: str, _done: int, total: int | None, _requests: int) -> bool:
        seen.append(total)
        return False

    assert small.run(out=tmp_path / "part", monitor=watch, jobs=1).to_json() == whole.to_json() and not any(seen)


def test_the_refinement_varies_the_largest_factors_with_fresh_seeds() -> None:
    result = ssdlab.screening.load(SMALL).run(jobs=1)
    first, refined = result.parts
    assert len(refined.factors) == 1 and {*refined.kept} | {*refined.factors} == {*first.factors}
    seeds = {part.name: {seed for _, seed in part.results} for part in result.parts}
    assert seeds == {FIRST: {1, 2}, refined.name: {3, 4, 5}}
    (answer,) = result.answers()
    assert answer.screened == 4 and answer.again is not None and not answer.appears
    said = result.page().conclusion[0].text
    assert said.startswith("Half the erases of the others: does not appear.")
    operations = {operation.name: operation.by_scheduler for operation in result.operations(answer)}
    for scheduler in ("noop", "cfq", "deadline"):
        by_cause = sum(its[scheduler] for name, its in operations.items() if name.startswith("below.flash.erases."))
        assert by_cause == pytest.approx(operations["erases"][scheduler]) and by_cause > 0


def test_its_study_averages_over_the_seeds_of_each_part() -> None:
    study = ssdlab.screening.load(SMALL).run(jobs=2).study
    rows = study.table.to_pylist()
    page = study.page()
    assert study.title == "screening of 18 points over part, bios, reads, ftl, scheduler, 2 to 3 seeds each"
    (table,) = (block for section in page.sections for block in section.items if isinstance(block, Table))
    assert len(table.rows) == 18 and page.legend.startswith("mean ± half the width")
    for *levels, cell in table.rows:
        its = [row["below.wear.erases"] for row in rows if [row[axis] for axis in study.columns] == levels]
        assert len(its) == (2 if levels[0] == FIRST else 3)
        assert cell == estimated("below.wear.erases", estimate(its))
    front = study.pareto(["below.wear.erases", "time.iops"])
    assert (
        len(front.candidates) == 18
        and not front.notes
        and {outcome.seeds for outcome in front.front[0].outcomes} <= {2, 3}
    )
    # Three seeds of one part and two of the other: the mean covers all five.
    for at in study.curves("below.wear.erases", "reads").cells:
        points = [point for point in study.values(Outcome("below.wear.erases", False)) if point.levels["reads"] == at.x]
        assert at.estimate.mean == pytest.approx(sum(point.mean for point in points) / len(points))
        assert at.estimate.seeds == 2


def test_its_study_names_points_that_lack_a_seed() -> None:
    study = ssdlab.screening.load(SMALL).run(jobs=2).study
    assert study.to_dict()["seeds"] is None and "(of " not in str(study.page())
    name = "below.wear.erases"
    first, *others = study.table[name].to_pylist()
    assert first is not None
    study.table = study.table.set_column(study.table.schema.get_field_index(name), name, [[None, *others]])
    assert str(study.page()).count("(of 1 seed)") == 1


def test_the_command_prints_and_saves_it(cli: Cli, tmp_path: Path) -> None:
    done = cli("experiment", "run", SMALL, "--out", "out", "--jobs", 1, "--set", "workload.requests=100")
    assert "Main effects" in done.stdout and "operations of the second drive" in done.stdout
    saved = json.loads((tmp_path / "out" / "screening.json").read_text(encoding="utf-8"))
    assert saved["kind"] == "screening" and saved["result"]["overrides"] == ["workload.requests=100"]
    assert (tmp_path / "out" / "effects.csv").read_text(encoding="utf-8").startswith("part,figure,against,term,")
    gains = (tmp_path / "out" / "gains.csv").read_text(encoding="utf-8").splitlines()
    assert gains[0].endswith(",seeds,gain_points")
    assert "screening of" in cli("study", "show", "out/study").stdout
    shown = cli("experiment", "show", SHIPPED, "--all").stdout
    assert "A17_slots" in shown and "compares pardispatcher with noop, deadline, anticipatory, cfq" in shown
    refused = cli("experiment", "run", SMALL, "--only", "x", check=False)
    assert refused.returncode != 0 and "neither tables nor traces" in refused.stderr
    refused = cli("experiment", "run", "thrashing", "--full", check=False)
    assert refused.returncode != 0 and "has no short form" in refused.stderr


def test_every_point_of_the_shipped_screening_has_a_valid_configuration() -> None:
    shipped = ssdlab.screening.load(SHIPPED)
    assert ssdlab.screening.load(SHIPPED.upper()).name == shipped.name
    for form in shipped.forms.values():
        for number, point in enumerate(form.design.points(form.axes)):
            shipped.run_at(point, [*shipped.schedulers][number % len(shipped.schedulers)], 1, form)


def _without_claim(source: str) -> str:
    return source.replace('against = "mean"', 'against = "median"')


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda source: source.replace("title", "titel"), "titel: unknown key; did you mean title?"),
        (lambda source: source.replace('tested = "deadline"', 'tested = "fifo"'), "tested: 'fifo' is not one of"),
        (_without_claim, "against: 'median' is not one of best, mean, worst"),
        (lambda source: source.replace("reads = false }", "read = false }"), "trace: read: unknown key"),
        (lambda source: source.replace("reads = false }", "reads = 3 }"), "reads: 3 is not true or false"),
        (lambda source: source.replace("seeds = 2", "seeds = 1"), "too few for confidence intervals"),
        (lambda source: source.replace("resolution = 3", "resolution = 7"), "resolution: 7 is not one of"),
        (lambda source: source.replace("page = {}", "page = {}\nmore = {}"), "must have two levels"),
        (lambda source: source.replace("form.full.factor.reads", "form.full.factor.read"), "unknown factor read"),
        (lambda source: source.replace("reads = false }", "partition = -1 }"), "partition: -1 is below 0"),
        (lambda source: source.replace("[figure.erases]", "[figure]\nx = 3\n[figure.erases]"), "3 is not a table"),
        (lambda source: source + "[", "correct the file"),
    ],
)
def test_a_faulty_file_is_one_clear_error(change: Callable[[str], str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "faulty.toml"
    path.write_text(change(SMALL.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(ssdlab.ConfigError) as raised:
        ssdlab.screening.load(path)
    assert message in str(raised.value) and "faulty.toml" in str(raised.value)


def test_unknown_figures_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "other.toml"
    source = SMALL.read_text(encoding="utf-8").replace("below.wear.erases", "below.wear.eraser")
    path.write_text(source, encoding="utf-8")
    result = ssdlab.screening.load(path).run(overrides=["workload.requests=20"], jobs=1)
    assert "no point has a value of 'below.wear.eraser'" in result.page().remarks[0] and result.answers() == []
    unrecorded = ssdlab.screening.load(SMALL).run(overrides=["workload.requests=20", "block.record=false"], jobs=1)
    assert unrecorded.study.failures and all("block.record" in error for error in unrecorded.study.failures)


def test_settings_are_checked_before_anything_runs(tmp_path: Path) -> None:
    small: Screening = ssdlab.screening.load(SMALL)
    with pytest.raises(ssdlab.ConfigError, match="uses its own seeds"):
        small.run(overrides=["seed=3"])
    with pytest.raises(ssdlab.ConfigError, match=r"noop at .*bios extents"):
        small.run(overrides=["device.capacity=16KiB"], out=tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_page_lists_the_varied_open_points() -> None:
    shipped = ssdlab.screening.load(SHIPPED)
    factors = {
        int(match[1]) for factor in shipped.forms["short"].factors if (match := re.match(r"A(\d+)_", factor.name))
    }
    page = (ROOT / "docs" / "conditions.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (A\d.*?) \| (varied|not varied)", page, re.MULTILINE)
    told = {kind: {int(one) for points, its in lines if its == kind for one in re.findall(r"A(\d+)", points)}
            for kind in ("varied", "not varied")}  # fmt: skip
    assert told["varied"] == factors and told["varied"] | told["not varied"] == {*range(1, 18)}
    assert not told["varied"] & told["not varied"]
