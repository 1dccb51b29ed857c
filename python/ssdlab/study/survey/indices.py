"""Sobol' indices: the share of an outcome's variance due to an axis, alone and with its interactions."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from ssdlab.lazy import np, sobol_analysis
from ssdlab.study.survey.effects import Share
from ssdlab.study.survey.outcome import CONFIDENCE, PointValues
from ssdlab.study.sweep.design import problem

RESAMPLES = 200
"""Number of bootstrap samples for the confidence intervals of the indices."""


def indices(axes: Sequence[str], points: Sequence[PointValues], seed: int) -> list[Share]:
    """Returns first-order and total Sobol' indices of the axes, then second-order indices of their pairs."""
    outcomes = np.array([point.mean for point in points])
    result: dict[str, Any] = sobol_analysis.analyze(
        problem(axes), outcomes, calc_second_order=True, num_resamples=RESAMPLES, conf_level=CONFIDENCE, seed=seed
    )
    columns = [map(float, result[name]) for name in ("S1", "S1_conf", "ST", "ST_conf")]
    shares = [Share(axis, *values) for axis, *values in zip(axes, *columns, strict=True)]
    for one, other in combinations(range(len(axes)), 2):
        pair = float(result["S2"][one][other]), float(result["S2_conf"][one][other])
        shares.append(Share(f"{axes[one]} × {axes[other]}", *pair))
    return shares
