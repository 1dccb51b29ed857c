"""Sobol' indices: which share of the variance of an outcome is due to an axis, alone and with all others."""

from collections.abc import Sequence
from typing import Any

from ssdlab.lazy import np, sobol_analysis
from ssdlab.study.survey.effects import Share
from ssdlab.study.survey.outcome import CONFIDENCE, PointValues
from ssdlab.study.sweep.design import problem

RESAMPLES = 200
"""Bootstrap samples of the confidence intervals."""


def indices(axes: Sequence[str], points: Sequence[PointValues], seed: int) -> list[Share]:
    """First-order, total and second-order indices of a Saltelli design, in the order of axes and of their pairs."""
    outcomes = np.array([point.mean for point in points])
    found: dict[str, Any] = sobol_analysis.analyze(
        problem(axes), outcomes, calc_second_order=True, num_resamples=RESAMPLES, conf_level=CONFIDENCE, seed=seed
    )
    shares = [
        Share(
            axis,
            float(found["S1"][at]),
            float(found["S1_conf"][at]),
            float(found["ST"][at]),
            float(found["ST_conf"][at]),
        )
        for at, axis in enumerate(axes)
    ]
    for one, first in enumerate(axes):
        for other in range(one + 1, len(axes)):
            pair = float(found["S2"][one][other]), float(found["S2_conf"][one][other])
            shares.append(Share(f"{first} × {axes[other]}", *pair))
    return shares
