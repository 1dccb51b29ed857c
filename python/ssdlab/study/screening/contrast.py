"""What the tested one gains over the others, and which factors that depends on."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab.model.shape import complete
from ssdlab.study.screening.definition import BASELINES, Figure, Screening
from ssdlab.study.screening.plan import PART, SCHEDULER
from ssdlab.study.store.study import Study
from ssdlab.study.survey import effects
from ssdlab.study.survey.effects import Effect
from ssdlab.study.survey.outcome import Estimate, PointValues, pooled_variance, student
from ssdlab.study.sweep import factorial
from ssdlab.study.sweep.axes import Axis
from ssdlab.study.sweep.design import Design


class Contrast(NamedTuple):
    """A figure, and what of the others the tested one is set against."""

    figure: str
    against: str


Gains = Mapping[Contrast, Sequence[PointValues]]
"""By contrast the gain in points at each point that has all its runs, by seed."""

Results = Mapping[tuple[tuple[tuple[str, str], ...], int], Mapping[str, Mapping[str, Any]]]
"""By point and seed the result of each scheduler."""


def results(study: Study, part: str) -> Results:
    """The results of a part, of points and seeds at which all schedulers came to their end."""
    found: dict[tuple[tuple[tuple[str, str], ...], int], dict[str, dict[str, Any]]] = {}
    asked: dict[tuple[tuple[tuple[str, str], ...], int], int] = {}
    done = {run for run, error in zip(study.table["run"].to_pylist(), study.table["error"].to_pylist(), strict=True)
            if error is None}  # fmt: skip
    for number, row in enumerate(study.points):
        if row.values[PART] != part:
            continue
        point = tuple((name, label) for name, label in row.values.items() if name not in (PART, SCHEDULER))
        asked[point, row.seed] = asked.get((point, row.seed), 0) + 1
        if number in done:
            found.setdefault((point, row.seed), {})[row.values[SCHEDULER]] = complete(study.result(number))
    return {key: its for key, its in found.items() if len(its) == asked[key]}


def gain(figure: Figure, ours: float, others: Sequence[float], against: str) -> float:
    """How much better the tested one is than the best, the mean or the worst of the others, in points: 100 times the
    logarithm of the ratio; nan where one of them is 0.

    Ratios are averaged as logarithms, so that twice and half as much cancel, and one far value does not decide alone.
    """
    if against == "mean":
        other = statistics.fmean(others)
    else:
        other = min(others) if figure.small == (against == "best") else max(others)
    if ours <= 0 or other <= 0:
        return 0.0 if ours == other else math.nan
    return 100 * math.log(other / ours if figure.small else ours / other)


def percent(figure: Figure, points: float) -> float:
    """A gain as people tell it: by how many % less, or more, that is than what the others have."""
    ratio = math.exp(points / 100)
    return 100 * (1 - 1 / ratio) if figure.small else 100 * (ratio - 1)


def gains(screening: Screening, found: Results) -> Gains:
    """The gains at each point."""
    values: dict[Contrast, dict[tuple[tuple[str, str], ...], list[float]]] = {}
    for (point, _), by_scheduler in found.items():
        for figure in screening.figures:
            read = {name: figure.value.of(result) for name, result in by_scheduler.items()}
            ours, others = read[screening.tested], [read[name] for name in screening.others]
            for against in BASELINES:
                known = [one for one in others if one is not None]
                if ours is None or len(known) < len(others):
                    continue
                its = gain(figure, ours, known, against)
                if math.isfinite(its):
                    values.setdefault(Contrast(figure.name, against), {}).setdefault(point, []).append(its)
    return {
        contrast: [PointValues(dict(point), tuple(its)) for point, its in by_point.items()]
        for contrast, by_point in values.items()
    }


def main_effects(axes: Sequence[Axis], design: Design, points: Sequence[PointValues]) -> list[Effect]:
    """What going from the lower to the upper level of each factor does to a gain; none unless all points are there.

    How sure an effect is follows from the spread between seeds, or from that of the effects among themselves, if that
    is larger: in a fraction interactions of three factors add to main effects.
    """
    columns = design.columns(axes)
    if len(points) < design.size(axes):
        return []
    names = [one.name for one in axes]
    found, _, _ = effects.two_level(names, columns, points)
    upward = {one.name: one.levels[1][one.name] for one in axes}
    oriented = []
    for one in found:
        if one.term not in upward:
            continue
        first, _, last = one.level.partition(" → ")
        # A design may begin with the upper level.
        turned = last != upward[one.term]
        oriented.append(one._replace(level=f"{last} → {first}", size=-one.size) if turned else one)
    if factorial.resolution_of(columns) is None:
        return oriented
    among = effects.margin([one.size for one in oriented])
    return [one._replace(half_width=max(among, one.half_width or 0.0)) for one in oriented]


def strongest(found: Sequence[Effect], most: int) -> list[str]:
    """The factors with the largest effects."""
    return [one.term for one in sorted(found, key=lambda one: -abs(one.size))[:most]]


def overall(points: Sequence[PointValues]) -> Estimate:
    """The mean over all points, with the interval that the spread between seeds gives it."""
    mean = statistics.fmean(point.mean for point in points)
    variance, freedom = pooled_variance(points)
    runs = sum(len(point.values) for point in points)
    return Estimate(mean, student(freedom) * math.sqrt(variance / runs) if freedom else None, runs)


def each(points: Sequence[PointValues]) -> list[Estimate]:
    """The gain at each point over its seeds, whose spread is taken as the same for all."""
    variance, freedom = pooled_variance(points)
    return [
        Estimate(
            point.mean,
            student(freedom) * math.sqrt(variance / len(point.values)) if freedom else None,
            len(point.values),
        )
        for point in points
    ]


def largest(points: Sequence[PointValues]) -> PointValues:
    """The point with the largest gain; of equal ones the first."""
    return max(points, key=lambda one: one.mean)
