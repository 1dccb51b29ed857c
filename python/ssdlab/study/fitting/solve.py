"""Least-squares fit of a noisy model, in logarithms of its parameters. Fits only parameters that the metrics determine.

Gauss-Newton steps suit simulations. The change `STEP` for computing derivatives is large compared with the noise, and
all simulations of a round run in parallel. The last derivatives also yield the uncertainties.

Each round changes only parameters that the metrics determine. Parameters are chosen in the order of preference. A
parameter is chosen if its uncertainty, and the uncertainties of the parameters chosen before it, stay small enough.

At the best point, derivatives are computed in both directions. If one bottleneck hides another, the metrics respond to
a parameter in one direction only. The metrics then bound the parameter, but do not determine it.

A parameter that is not determined is set to the base drive's value, and the others are fitted again. If this clearly
raises the misfit, the base drive's value contradicts the metrics, and would distort the other parameters. The parameter
is then bounded: it keeps the value that the search found.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ssdlab.lazy import Numbers, np

STEP = 0.1
"""Change of a parameter's logarithm for computing a derivative."""

ROUNDS = 6
"""Maximum number of Gauss-Newton steps."""

SHRINKS = (1.0, 0.4, 0.1)
"""Fractions of the full Gauss-Newton step that the search tries."""

LONGEST = 0.9
"""Largest change of a parameter's logarithm in one step of the search."""

ENOUGH = 0.003
"""The search ends after a step that changes all parameters' logarithms, or reduces the misfit, by less than this."""

LARGE = 3.0
"""Standard deviations above which a residual counts only logarithmically, so that no outlier dominates."""

DETERMINED = 0.15
"""A parameter counts as determined if the standard deviation of its logarithm does not exceed this value."""

WIDE = 2 * DETERMINED
"""Change of a parameter's logarithm for computing its uncertainty, applied in both directions."""

CONTRADICTS = 9.0
"""The base value of a parameter contradicts the metrics if it raises the sum of squared residuals by more than this,
multiplied by the variance of the residuals if that exceeds 1. The limit corresponds to three standard deviations.
"""

VAGUE = 0.7
"""Assumed standard deviation of the logarithm of a parameter that the metrics only bound: a factor of two."""

FELT = 1.0
"""Metrics depend on a parameter if the norm of its derivatives, in standard deviations per unit, is at least this."""

Model = Callable[[Sequence["Numbers"]], "list[Numbers]"]
"""Simulates points, given as logarithms of the parameters; returns the logarithms of all metrics for each point."""


class Tie(NamedTuple):
    """Reason why the metrics do not determine a parameter."""

    others: tuple[int, ...]
    """Indexes of the parameters, if any, that affect the metrics in the same way as this parameter."""
    shares: Mapping[int, float] = {}
    """Changes of determined parameters' logarithms with the same effect as raising this parameter's logarithm by 1."""


@dataclass(frozen=True)
class Solution:
    """Result of the search: its best point, and the uncertainty of each parameter."""

    point: "Numbers"
    deviations: "list[float | None]"
    """Standard deviations of the logarithms; None for parameters that are not determined."""
    ties: dict[int, Tie]
    bounded: frozenset[int]
    """Undetermined parameters whose base value the metrics contradict."""
    misfit: float
    """Root mean square of the residuals, in standard deviations of the metrics."""
    shares: "Numbers"
    """Relative influence (0 to 1) of each metric (row) on each parameter (column)."""


def solve(
    model: Model,
    measured: "Numbers",
    spreads: "Numbers",
    *,
    start: "Numbers",
    base: "Numbers",
    bounds: "tuple[Numbers, Numbers]",
) -> Solution:
    """Finds the parameters with the smallest misfit. All numbers are logarithms except `spreads`.

    Args:
        model: Simulates the drive.
        measured: Measured metrics.
        spreads: Relative standard deviation of each metric.
        start: Start values of the parameters, in the order of preference.
        base: Values for undetermined parameters.
        bounds: Least and largest values of the parameters.
    """
    count = len(start)

    def residuals(figures: "Numbers") -> "Numbers":
        raw: Numbers = np.nan_to_num((figures - measured) / spreads, posinf=1e3, neginf=-1e3)
        return raw

    def misfit_of(raw: "Numbers") -> float:
        return float(((LARGE * np.arcsinh(raw / LARGE)) ** 2).sum())

    def steps(point: "Numbers", step: float) -> "list[Numbers]":
        inside = [step if low <= at + step <= high else -step for at, low, high in zip(point, *bounds, strict=True)]
        return [point + one * axis for one, axis in zip(inside, np.eye(count), strict=True)]

    def derivatives(point: "Numbers", here: "Numbers", step: float = STEP) -> "Numbers":
        moved = steps(point, step)
        columns = [
            (residuals(figures) - here) / (shifted[at] - point[at])
            for at, (shifted, figures) in enumerate(zip(moved, model(moved), strict=True))
        ]
        return np.array(columns).T

    def descend(point: "Numbers", held: set[int]) -> "tuple[Numbers, Numbers]":
        """Descends from the given point; returns the best point found, and its residuals."""
        here = residuals(model([point])[0])
        for _ in range(ROUNDS):
            slopes = derivatives(point, here)
            chosen = choose(slopes, held)
            if not chosen:
                break
            step = np.zeros(count)
            # Weights the derivatives to reduce the influence of outliers.
            weights = 1 / np.sqrt(1 + (here / LARGE) ** 2)
            counted = LARGE * np.arcsinh(here / LARGE)
            step[chosen] = -np.linalg.lstsq(weights[:, None] * slopes[:, chosen], counted, rcond=None)[0]
            longest = float(np.abs(step).max())
            step *= min(1.0, LONGEST / longest) if longest else 1.0
            tried = [np.clip(point + part * step, *bounds) for part in SHRINKS]
            results = [residuals(one) for one in model(tried)]
            best = min(range(len(tried)), key=lambda at: misfit_of(results[at]))
            before, after = misfit_of(here), misfit_of(results[best])
            moved = float(np.abs(tried[best] - point).max())
            if after > before:
                break
            point, here = tried[best], results[best]
            if moved < ENOUGH or before - after < ENOUGH * max(before, 1.0):
                break
        return point, here

    held: set[int] = set()
    # For each bounded parameter, the change of the residuals if the parameter is set to the base drive's value.
    bounded: dict[int, Numbers] = {}
    point, here = descend(start, held)
    while True:
        slopes = weaker(derivatives(point, here, WIDE), derivatives(point, here, -WIDE))
        chosen = choose(slopes, held)
        excess = max(1.0, math.sqrt(misfit_of(here) / max(len(here) - len(chosen), 1)))
        others = [at for at in reversed(range(count)) if at not in chosen and at not in held]
        if not others:
            break
        for at in others:
            held.add(at)
            settled, after = descend(np.where(np.arange(count) == at, base, point), held)
            if misfit_of(after) - misfit_of(here) <= CONTRADICTS * excess**2:
                point, here = settled, after
            else:
                bounded[at] = after - here
    known = deviations(*_with_bounded(slopes, chosen, sorted(bounded)))
    return Solution(
        point,
        [excess * known[chosen.index(at)] if at in chosen else None for at in range(count)],
        {at: tie(slopes, at, chosen) for at in range(count) if at not in chosen},
        frozenset(bounded),
        math.sqrt(misfit_of(here) / max(len(here), 1)),
        _shares(np.column_stack([bounded.get(at, slopes[:, at]) for at in range(count)])),
    )


def _with_bounded(slopes: "Numbers", chosen: Sequence[int], bounded: Sequence[int]) -> "tuple[Numbers, list[int]]":
    """Extends the derivatives by one row per bounded parameter, for the assumed deviation `VAGUE` of its logarithm.
    Also returns the indexes of the chosen and bounded parameters.
    """
    return np.vstack([slopes, np.eye(slopes.shape[1])[list(bounded)] / VAGUE]), [*chosen, *bounded]


def weaker(up: "Numbers", down: "Numbers") -> "Numbers":
    """Returns each parameter's derivatives for the direction of change (up or down) that affects the metrics less."""
    norms = [np.linalg.norm(slopes, axis=0) for slopes in (up, down)]
    return np.where(norms[0] <= norms[1], up, down)


def deviations(slopes: "Numbers", chosen: Sequence[int]) -> list[float]:
    """Returns the standard deviation of each chosen parameter; infinity if the metrics cannot tell them apart."""
    if not chosen:
        return []
    _, values, rows = np.linalg.svd(slopes[:, list(chosen)], full_matrices=False)
    if len(slopes) < len(chosen) or values[-1] < 1e-9:
        return [math.inf] * len(chosen)
    return [float(np.sqrt(((rows[:, at] / values) ** 2).sum())) for at in range(len(chosen))]


def choose(slopes: "Numbers", held: Collection[int] = ()) -> list[int]:
    """Returns the parameters that the metrics determine, in the order of preference. Omits the parameters in `held`."""
    chosen: list[int] = []
    for at in range(slopes.shape[1]):
        if at not in held and max(deviations(slopes, [*chosen, at])) <= DETERMINED:
            chosen.append(at)
    return chosen


def tie(slopes: "Numbers", at: int, chosen: Sequence[int]) -> Tie:
    """Returns the reason why the metrics do not determine the given parameter."""
    own = slopes[:, at]
    if float(np.linalg.norm(own)) < FELT or not chosen:
        return Tie(())
    shares = np.linalg.lstsq(slopes[:, list(chosen)], own, rcond=None)[0]
    parts = [float(abs(share) * np.linalg.norm(slopes[:, other])) for share, other in zip(shares, chosen, strict=True)]
    others = tuple(other for part, other in zip(parts, chosen, strict=True) if part > 0.3 * max(parts))
    return Tie(others, dict(zip(chosen, shares.tolist(), strict=True)))


def _shares(slopes: "Numbers") -> "Numbers":
    squares = slopes**2
    sums = squares.sum(axis=0)
    shares: Numbers = squares / np.where(sums > 0, sums, 1)
    return shares
