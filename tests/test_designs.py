"""Notation of axes, and the points of every design."""

import itertools
import random
import re
from collections.abc import Sequence

import pytest

import ssdlab
from ssdlab import _ssdlab
from ssdlab.study.sweep import factorial
from ssdlab.study.sweep.axes import Condition, axis
from ssdlab.study.sweep.design import DESIGNS, Design
from ssdlab.study.sweep.fitting import fitted
from ssdlab.study.sweep.plan import plan
from ssdlab.study.sweep.quantity import quantity
from ssdlab.study.sweep.quantity import written as as_written
from ssdlab.study.sweep.running import question


def levels(written: str) -> list[list[str]]:
    return [[*level.values()] for level in axis(written).levels]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("ftl.page.gc=greedy,fifo", [["greedy"], ["fifo"]]),
        ("device.op=3%..30%:10", [[f"{value}%"] for value in range(3, 31, 3)]),
        ("device.capacity=1GiB..64GiB:7:log", [[f"{1 << power}GiB"] for power in range(7)]),
        ("nand.read=25us..1ms:2", [["25000ns"], ["1000000ns"]]),
        ("seed=1..4:4", [["1"], ["2"], ["3"], ["4"]]),
        # Integers stay integers, and each value occurs once.
        ("seed=1..3:5", [["1"], ["2"], ["3"]]),
        ("workload.pattern.zipf.theta=0.5..1:3", [["0.5"], ["0.75"], ["1"]]),
        ('workload.size="4KiB:70%,8KiB:30%",4KiB', [["4KiB:70%,8KiB:30%"], ["4KiB"]]),
        ("device.capacity=1GiB,2GiB workload.requests=10,20", [["1GiB", "10"], ["2GiB", "20"]]),
        ("device.capacity=1GiB..2GiB:3", [["1GiB"], ["1536MiB"], ["2GiB"]]),
    ],
)
def test_values_of_an_axis(written: str, expected: list[list[str]]) -> None:
    assert levels(written) == expected


def test_a_setting_alone_takes_all_its_values() -> None:
    assert {level["ftl.page.gc"] for level in axis("ftl.page.gc").levels} >= {"greedy", "fifo", "cost_benefit"}
    assert axis("nand.copyback").levels == ({"nand.copyback": "false"}, {"nand.copyback": "true"})
    assert {"preset": "tlc-nvme"} in axis("preset").levels


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("device.opp=7%", "did you mean device.op"),
        ("device.op=", "is not KEY=VALUES"),
        ("=7%", "is not KEY=VALUES"),
        ("device.op", r"has no named values \(type: share, 0% to 1000%\)"),
        ("ftl.page.gcc", "did you mean ftl.page.gc"),
        ("ftl.page.gc=fifo ftl.page.gc", "appears twice"),
        ("device.op=7%,7%", "listed twice"),
        ("device.capacity=8MiB..1e30GiB", 'axis device.capacity: "1e30GiB" is too large; the maximum is 16777215TiB'),
        ("nand.read=1us..1e400s:3", 'axis nand.read: "1e400s" is too large; use a smaller number'),
        ("block.frame=modern", 'axis block.frame: was renamed to block.layer = "single-queue" or "multi-queue"'),
        ("device.op=30%..3%:4", "must increase"),
        ("device.op=0%..3%:4:log", "starting above 0"),
        ("device.op=3%..1GiB:4", "have different units"),
        ("device.op=3%..30%:1", "from 2 to 10000"),
        ("device.op=3%..30%:4:ln", "invalid range"),
        ("device.op=7%,,8%", "a value is empty"),
        ("device.op=7%,8% seed=1,2,3", "need the same number of values"),
        ("seed=1 seed=2", "appears twice"),
    ],
)
def test_invalid_axes_are_refused(written: str, message: str) -> None:
    with pytest.raises(ssdlab.ConfigError, match=message):
        axis(written)


def test_numbers_keep_their_meaning() -> None:
    """All numbers of a range lie between its ends, and the ends are exactly as written."""
    draw = random.Random(5)
    for low, high in (("3%", "30%"), ("1MiB", "3GiB"), ("25us", "40ms"), ("1k/s", "2M/s"), ("0.5", "2"), ("1", "900")):
        between = axis(f"device.op={low}..{high}").range
        assert between is not None
        first, last = quantity(low), quantity(high)
        assert first is not None and last is not None
        for share in [0.0, 1.0, *(draw.random() for _ in range(50))]:
            quantity_ = quantity(between.at(share))
            assert quantity_ is not None and quantity_.base == first.base
            assert first.value <= quantity_.value <= last.value
        ends = [quantity(between.at(share)) for share in (0.0, 1.0)]
        assert [end.value for end in ends if end] == pytest.approx([first.value, last.value])


def test_conditions_match_what_they_compare() -> None:
    axes = [axis("device.op=20%,30%"), axis("ftl.page.gc=greedy,fifo")]
    point = {"device.op": "30%", "ftl.page.gc": "fifo"}
    for written, meets in (
        ("device.op!=30%", False), ("device.op<=30%", True), ("device.op=0.3", False), ("ftl.page.gc!=greedy", True),
    ):  # fmt: skip
        assert Condition.of(written, axes).meets(point) == meets, written
    for wrong in ("seed=1", "ftl.page.gc>fifo", "device.op", ""):
        with pytest.raises(ssdlab.ConfigError, match="without"):
            Condition.of(wrong, axes)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_has_its_announced_points(name: str) -> None:
    axes = [axis("device.op=10%,30%"), axis("workload.reads=0%,50%"), axis("ftl.page.gc=greedy,fifo")]
    design = Design(name, 16 if name in ("random", "latin-hypercube", "sobol", "saltelli") else None).checked(axes, [])
    points = [*design.points(axes)]
    assert len(points) == design.size(axes) and points == [*design.points(axes)]
    assert all(set(point) == {"device.op", "workload.reads", "ftl.page.gc"} for point in points)
    if name in ("grid", "factorial"):
        assert len({*map(str, points)}) == 8
    if name == "one-at-a-time":
        assert [sum(point[key] != points[0][key] for key in point) for point in points] == [0, 1, 1, 1]


def test_a_latin_hypercube_and_a_sobol_sequence_fill_every_stratum() -> None:
    axes = [axis("device.op=0%..100%"), axis("workload.reads=0%..100%")]
    for name in ("latin-hypercube", "sobol"):
        points = [*Design(name, 32).checked(axes, []).points(axes)]
        for key in ("device.op", "workload.reads"):
            strata = [int(float(point[key].rstrip("%")) / 100 * 32) for point in points]
            assert sorted(strata) == [*range(32)], name


@pytest.mark.parametrize(
    ("design", "axes", "message"),
    [
        (Design("gird"), ["seed=1,2"], "did you mean grid"),
        (Design("sobol", 48), ["seed=1,2"], "use 32 or 64"),
        (Design("grid", 8), ["seed=1,2"], "only the designs random, "),
        (Design("grid"), ["device.op=3%..30%"], "needs a range with a number of values"),
        (Design("factorial"), ["seed=1,2,3"], "needs two values"),
        (Design("factorial", resolution=6), ["seed=1,2"], "3, 4 or 5"),
    ],
)
def test_an_unsuitable_design_is_refused(design: Design, axes: Sequence[str], message: str) -> None:
    with pytest.raises(ssdlab.ConfigError, match=message):
        design.checked([axis(ax) for ax in axes], [])


# Runs of the smallest regular fractions, from the table of Box, Hunter and Hunter, "Statistics for Experimenters".
SMALLEST = {
    3: {3: 4, 5: 8, 6: 8, 7: 8, 8: 16, 15: 16, 16: 32},
    4: {4: 8, 5: 16, 8: 16, 9: 32, 16: 32, 17: 64},
    5: {5: 16, 6: 32, 7: 64, 8: 64, 9: 128, 11: 128},
}


@pytest.mark.parametrize("resolution", SMALLEST)
def test_fractions_are_the_smallest_and_have_their_resolution(resolution: int) -> None:
    for factors, runs in SMALLEST[resolution].items():
        columns = factorial.columns(factors, resolution)
        points = factorial.points(columns)
        assert len(points) == runs, factors
        got = factorial.resolution_of(columns)
        assert got is None or got >= resolution
        # Computed from the signs: no product of fewer than R columns is constant.
        signs = [[2 * point[factor] - 1 for point in points] for factor in range(factors)]
        for size in range(1, resolution):
            for some in itertools.combinations(signs[:9], size):
                products = {int(_product(values)) for values in zip(*some, strict=True)}
                assert products == {1, -1}, (factors, size)


def _product(values: Sequence[int]) -> int:
    total = 1
    for value in values:
        total *= value
    return total


def test_generators_are_named() -> None:
    assert factorial.generators(factorial.columns(4, 4), ["a", "b", "c", "d"]) == ["d = a × b × c"]


WHOLE = {"device.capacity": "4GiB", "device.op": "7%", "device.reserve": "extra", "nand.pages_per_block": 512}
"""A 4 GiB drive of preset tlc-nvme. It is no scale model, so its blocks have as many pages as are set."""
USED = {"cache": ["cache.policy=lru"], "block": ["block.scheduler=mq-deadline", "time=event"]}
"""Settings that a section needs before it is checked."""


def numeric() -> list[tuple[str, list[str], str]]:
    """Every setting with a numeric value, the settings that it needs, and its value with these settings."""
    numbers = []
    for key, *_ in _ssdlab.options():
        told = _ssdlab.explain(key)
        assert told is not None
        needed = dict(told[3])
        used = [word for word in USED.get(key.partition(".")[0], []) if word.partition("=")[0] not in needed]
        overrides = [*used, *(f"{choice}={variant}" for choice, variant in needed.items())]
        try:
            config = ssdlab.Config("tlc-nvme", overrides=WHOLE).with_overrides(overrides)
            config.check()
        except ssdlab.ConfigError:
            continue
        value = str(config[key]) if key in config else ""
        number = quantity(value)
        if number is not None and number.value > 0:
            numbers.append((key, overrides, value))
    return numbers


def test_ranges_of_every_setting_hold_values_that_fit_the_table_of_settings() -> None:
    """Goal: no range of a setting yields a value refused as no multiple, power of two or divisor. Method: half to twice
    the default, moved off round numbers.
    """
    settings = numeric()
    assert len(settings) > 150
    checked = set()
    for key, overrides, value in settings:
        its = quantity(value)
        assert its is not None
        low, high = (as_written(factor * its.value, its.base, whole=False) for factor in (0.53, 1.97))
        if its.base == "bytes":
            low, high = f"{round(0.53 * its.value)}B", f"{round(1.97 * its.value)}B"
        elif its.base == "" and its.whole:
            low, high = str(int(0.53 * its.value)), str(int(1.97 * its.value) + 1)
        base = ssdlab.Config("tlc-nvme", overrides=WHOLE).with_overrides(overrides)
        for scale in ("", ":log"):
            if scale and quantity(low).value == 0:  # type: ignore[union-attr]
                continue
            [varied] = fitted([axis(f"{key}={low}..{high}{scale}")], base)
            for share in (0.0, 0.21, 0.5, 0.83, 0.999):
                try:
                    base.with_overrides(varied.at(share)).check()
                except ssdlab.ConfigError as error:
                    assert not re.search("multiple|power of two|divide|whole percentage", str(error)), (key, str(error))
        checked.add(key)
    assert {"device.capacity", "nand.page_size", "cache.page", "ftl.sbfast.sub_block"} <= checked


@pytest.mark.parametrize(
    ("axes", "key", "expected"),
    [
        # Equal steps of 2.75 KiB from 5 KiB lie nearest to these powers of two; 4 KiB lies below the range.
        (["nand.page_size=5KiB..16KiB:5"], "nand.page_size", ["8KiB", "16KiB"]),
        (["cache.page=512B..4KiB:4:log"], "cache.page", ["512B", "1KiB", "2KiB", "4KiB"]),
        # 8 MiB, 12 MiB and 16 MiB, each plus 1 KiB, rounded to whole pages of the default 4 KiB inside the range.
        (["device.capacity=8193KiB..16385KiB:3"], "device.capacity", ["8196KiB", "12MiB", "16MiB"]),
        # Capacities must be whole pages of each size tried: multiples of 16 KiB. 9230 / 16 is 576.9.
        (
            ["device.capacity=9230KiB..9270KiB:2", "nand.page_size=4KiB..16KiB:3:log"],
            "device.capacity",
            ["9232KiB", "9264KiB"],
        ),
        # Divisors of 512 pages a block.
        (["ftl.sbfast.sub_block=9..70:4"], "ftl.sbfast.sub_block", ["16", "32", "64"]),
        # Blocks of a scale model of 4 GiB have 128 pages; 256 and 512 do not divide them.
        (["ftl.sbfast.sub_block=100..600:3"], "ftl.sbfast.sub_block", ["128"]),
        (["block.scheduler.deadline.read_expire=1500us..4ms:3"], "block.scheduler.deadline.read_expire",
         ["2000000ns", "3000000ns", "4000000ns"]),
        (["cache.dirty=10.5%..12.5%:3"], "cache.dirty", ["11%", "12%"]),
        # The values of a list are used unchanged.
        (["nand.page_size=5KiB,16KiB"], "nand.page_size", ["5KiB", "16KiB"]),
    ],
)  # fmt: skip
def test_steps_of_a_range_are_possible_values(axes: list[str], key: str, expected: list[str]) -> None:
    base = ssdlab.Config("small-tlc", overrides={"nand.page_size": "4KiB", "nand.pages_per_block": 512})
    fitted_axes = fitted([axis(ax) for ax in axes], base)
    assert [level[key] for fitted_axis in fitted_axes for level in fitted_axis.levels if key in level] == expected


@pytest.mark.parametrize("design", ["random", "latin-hypercube", "sobol", "saltelli"])
def test_every_design_draws_possible_values(design: str) -> None:
    """8 MiB to 16 MiB in pages of up to 16 KiB: multiples of 16 KiB, 512 to 1,024 of them."""
    base = ssdlab.Config(
        "tlc-nvme", overrides={**WHOLE, "nand.pages_per_block": 16, "nand.channels": 1, "nand.ways": 1}
    )
    axes = ["device.capacity=8MiB..16MiB", "nand.page_size=4KiB..16KiB:log", "workload.align=512B..32KiB"]
    asked = question(axes, base, None, design=Design(design, 16), without=(), seeds=1, outcomes=())
    rows = plan(asked).rows
    assert len(rows) == 16 * (8 if design == "saltelli" else 1)
    capacities = {_ssdlab.size(row.values["device.capacity"]) for row in rows}
    assert all(size % (16 << 10) == 0 and 8 << 20 <= size <= 16 << 20 for size in capacities) and len(capacities) > 8
    assert {row.values["nand.page_size"] for row in rows} == {"4KiB", "8KiB", "16KiB"}


def test_a_range_without_a_possible_value_is_refused() -> None:
    base = ssdlab.Config("small-tlc", overrides={"nand.page_size": "4KiB"})
    for of_key, ends, message in [
        ("nand.page_size", "5KiB..7KiB", "the range 5KiB to 7KiB contains no power of two; widen the range"),
        ("device.capacity", "8193KiB..8195KiB", "the range 8193KiB to 8195KiB contains no multiple of 4KiB"),
    ]:
        with pytest.raises(ssdlab.ConfigError, match=f"axis {of_key}: {message}"):
            fitted([axis(f"{of_key}={ends}")], base)
