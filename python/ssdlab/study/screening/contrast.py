"""Gains of the tested scheduler over the other schedulers, and the effects of the factors on these gains."""

import math
import statistics
from collections import Counter
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
    """A metric, and the baseline for the tested scheduler: the best, mean or worst value of the other schedulers."""

    figure: str
    against: str


Gains = Mapping[Contrast, Sequence[PointValues]]
"""Gains in log points at all complete points of the design, for each contrast. A point has one gain per seed."""

At = tuple[tuple[tuple[str, str], ...], int]
"""Point and seed of a run."""

Results = Mapping[At, Mapping[str, Mapping[str, Any]]]
"""Run results, keyed by point and seed, and then by scheduler."""


def results(study: Study, part: str) -> Results:
    """Returns the results of one part of a screening, at the points and seeds that all schedulers completed."""
    by_place: dict[At, dict[str, dict[str, Any]]] = {}
    asked: Counter[At] = Counter()
    errors = zip(study.table["run"].to_pylist(), study.table["error"].to_pylist(), strict=True)
    done = {run for run, error in errors if error is None}
    for number, row in enumerate(study.points):
        if row.values[PART] != part:
            continue
        point = tuple((name, label) for name, label in row.values.items() if name not in (PART, SCHEDULER))
        asked[point, row.seed] += 1
        if number in done:
            by_place.setdefault((point, row.seed), {})[row.values[SCHEDULER]] = complete(study.result(number))
    return {at: results for at, results in by_place.items() if len(results) == asked[at]}


def gain(figure: Figure, ours: float, others: Sequence[float], against: str) -> float:
    """Returns the gain over the best, mean or worst of the others in log points.

    A gain in log points is 100 times the natural logarithm of the ratio, so the mean of a doubling and a halving is 0.
    The gain is nan if a value is 0.
    """
    if against == "mean":
        other = statistics.fmean(others)
    else:
        other = min(others) if figure.small == (against == "best") else max(others)
    if ours <= 0 or other <= 0:
        return 0.0 if ours == other else math.nan
    return 100 * math.log(other / ours if figure.small else ours / other)


def percent(figure: Figure, points: float) -> float:
    """Converts a gain from log points to the percentage by which the tested scheduler beats the others."""
    ratio = math.exp(points / 100)
    return 100 * (1 - 1 / ratio) if figure.small else 100 * (ratio - 1)


def gains(screening: Screening, results: Results) -> Gains:
    """Returns the gains at each point."""
    values: dict[Contrast, dict[tuple[tuple[str, str], ...], list[float]]] = {}
    for (point, _), by_scheduler in results.items():
        for figure in screening.figures:
            read = {name: figure.value.of(result) for name, result in by_scheduler.items()}
            ours, others = read[screening.tested], [read[name] for name in screening.others]
            for against in BASELINES:
                known = [one for one in others if one is not None]
                if ours is None or len(known) < len(others):
                    continue
                points = gain(figure, ours, known, against)
                if math.isfinite(points):
                    values.setdefault(Contrast(figure.name, against), {}).setdefault(point, []).append(points)
    return {
        contrast: [PointValues(dict(point), tuple(by_seed)) for point, by_seed in by_point.items()]
        for contrast, by_point in values.items()
    }


def main_effects(axes: Sequence[Axis], design: Design, points: Sequence[PointValues]) -> list[Effect]:
    """Returns the change of a gain from each factor's lower to its upper level; empty if a point is incomplete.

    The confidence interval is based on the spread between seeds or, if larger, among effects, because three-factor
    interactions add to main effects in a fractional factorial.
    """
    columns = design.columns(axes)
    if len(points) < design.size(axes):
        return []
    names = [one.name for one in axes]
    all_effects, _, _ = effects.two_level(names, columns, points)
    upward = {one.name: one.levels[1][one.name] for one in axes}
    oriented = []
    for one in all_effects:
        if one.term not in upward:
            continue
        first, _, last = one.level.partition(" → ")
        # The sign of a factor's effect is reversed if the factor is at its upper level in the first point of the
        # design.
        turned = last != upward[one.term]
        oriented.append(one._replace(level=f"{last} → {first}", size=-one.size) if turned else one)
    if factorial.resolution_of(columns) is None:
        return oriented
    among = effects.margin([one.size for one in oriented])
    return [one._replace(half_width=max(among, one.half_width or 0.0)) for one in oriented]


def strongest(effects_of: Sequence[Effect], most: int) -> list[str]:
    """Returns the names of the factors with the largest effects."""
    return [one.term for one in sorted(effects_of, key=lambda one: -abs(one.size))[:most]]


def overall(points: Sequence[PointValues]) -> Estimate:
    """Returns the mean gain over all points, with a confidence interval from the spread between seeds."""
    mean = statistics.fmean(point.mean for point in points)
    variance, freedom = pooled_variance(points)
    runs = sum(len(point.values) for point in points)
    return Estimate(mean, student(freedom) * math.sqrt(variance / runs) if freedom else None, runs)


def each(points: Sequence[PointValues]) -> list[Estimate]:
    """Returns the mean gain at each point, with confidence intervals from the spread between seeds at all points."""
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
    """Returns the first point with the largest gain."""
    return max(points, key=lambda one: one.mean)
