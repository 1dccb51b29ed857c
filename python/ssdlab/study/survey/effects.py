"""Effects of axes on an outcome: main effects, interactions, and shares of the variance."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import np, sobol_analysis
from ssdlab.model.finding import Contents, Plot
from ssdlab.study.survey.linked import number
from ssdlab.study.survey.outcome import CONFIDENCE, Outcome, PointValues, Survey, pooled_variance, student
from ssdlab.study.sweep.design import problem

SAMPLE_MORE = "sample more"
"""Remedy for a design with too few points."""

RESAMPLES = 200
"""Number of bootstrap samples for the confidence intervals of Sobol' indices."""

SAME = 1e-12
"""Relative difference below which values count as equal."""


class Effect(NamedTuple):
    """Effect of one axis, or of two axes together, on an outcome."""

    term: str
    """Name of the axis, or names of two axes joined by `×`."""
    level: str
    """Axis value with this effect, or two values whose outcomes differ by it; empty for a pair of axes."""
    size: float
    half_width: float | None
    """Half width of the effect's confidence interval; None without repeated seeds."""


class Share(NamedTuple):
    """Share of an outcome's variance that is explained by an axis or a pair of axes."""

    term: str
    share: float
    half_width: float | None = None
    total: float | None = None
    """Share explained by the axis and all its interactions; None if it was not estimated."""
    total_half_width: float | None = None


class Loss(NamedTuple):
    """Best outcome with an axis fixed at a value, and its loss relative to the best outcome of all points."""

    term: str
    level: str
    best: float
    lost: float | None
    """Loss relative to the best outcome of all points; None if that outcome is 0 and `best` is not 0."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Effects(Survey):
    """Effects of all axes on one outcome.

    Files: `report.html`, `effects.json`, and `effects.csv` with a line per effect. Some designs also have
    `variance.csv` with shares of the variance, and `losses.csv`.
    """

    _page = "effects"
    _json = "effects.json"
    _optional = ("variance.csv", "losses.csv")
    saved = "report.html, effects.json and effects.csv; for some designs also variance.csv and losses.csv"

    outcome: Outcome
    method: str
    mean: float
    effects: Sequence[Effect]
    shares: Sequence[Share]
    losses: Sequence[Loss]

    def to_dict(self) -> dict[str, Any]:
        """Returns method, effects, shares of the variance and losses, ready for JSON."""
        return {
            "outcome": self.outcome.figure,
            "better": "max" if self.outcome.large else "min",
            "method": self.method,
            "confidence": CONFIDENCE,
            "mean": self.mean,
            "effects": [one._asdict() for one in self.effects],
            "shares": [one._asdict() for one in self.shares],
            "losses": [one._asdict() for one in self.losses],
        }

    def _tables(self) -> Contents:
        tables: dict[str, Sequence[Sequence[object]]] = {"effects.csv": [Effect._fields, *self.effects]}
        if self.shares:
            tables["variance.csv"] = [Share._fields, *self.shares]
        if self.losses:
            tables["losses.csv"] = [Loss._fields, *self.losses]
        return tables

    plot = Plot("study.effects")

    def __repr__(self) -> str:
        return f"<ssdlab.Effects on {self.outcome.figure}: {len(self.effects)} effects>"


def two_level(
    axes: Sequence[str], columns: Sequence[int], points: Sequence[PointValues]
) -> tuple[list[Effect], list[Share], list[str]]:
    """Returns the effects (contrasts) of a two-level design with the given columns.

    A main effect is the mean at the second level minus the mean at the first level. An interaction is half the
    difference between the effects of one axis at both levels of the other axis.
    """
    outcomes = np.array([point.mean for point in points])
    levels = {axis: list(dict.fromkeys(point.levels[axis] for point in points)) for axis in axes}
    signs = {
        axis: np.array([1.0 if point.levels[axis] == levels[axis][1] else -1.0 for point in points]) for axis in axes
    }
    variance, freedom = pooled_variance(points)
    runs = sum(len(point.values) for point in points)
    half = student(freedom) * 2 * math.sqrt(variance / runs) if freedom else None
    total = float(((outcomes - outcomes.mean()) ** 2).sum())
    effects, shares, notes = [], [], []
    names: dict[int, str] = {}
    terms = [(axis,) for axis in axes] + [*combinations(axes, 2)]
    column_of = dict(zip(axes, columns, strict=True))
    for term in terms:
        column, sign = 0, np.ones(len(points))
        for axis in term:
            column ^= column_of[axis]
            sign = sign * signs[axis]
        name = " × ".join(term)
        if column in names:
            notes.append(f"{name} cannot be distinguished from {names[column]} in this design")
            continue
        names[column] = name
        size = float(2 * (sign * outcomes).mean())
        level = f"{levels[term[0]][0]} → {levels[term[0]][1]}" if len(term) == 1 else ""
        effects.append(Effect(name, level, size, half))
        shares.append(Share(name, _ratio(len(points) * size * size / 4, total)))
    return effects, shares, notes


def margin(sizes: Sequence[float]) -> float:
    """Returns Lenth's margin of error: if most effects are null, an effect with a larger size is significant.

    Unlike the spread between seeds, the margin includes interactions that a fractional design confounds with main
    effects (Lenth, "Quick and easy analysis of unreplicated factorials", Technometrics 31, 1989).
    """
    magnitudes = sorted(map(abs, sizes))
    first = 1.5 * statistics.median(magnitudes)
    error = 1.5 * statistics.median([size for size in magnitudes if size < 2.5 * first] or [0.0])
    return student(len(magnitudes) / 3) * error


def complete(axes: Sequence[str], points: Sequence[PointValues]) -> tuple[list[Effect], list[Share]]:
    """Returns the effects of a full grid (mean at each value minus overall mean), and an analysis of its variance."""
    outcomes = np.array([point.mean for point in points])
    mean = float(outcomes.mean())
    total = float(((outcomes - mean) ** 2).sum())
    variance, freedom = pooled_variance(points)
    effects, shares = [], []
    explained: dict[tuple[str, ...], float] = {}
    for term in [*((axis,) for axis in axes), *combinations(axes, 2)]:
        keys = [tuple(point.levels[axis] for axis in term) for point in points]
        groups = {key: [at for at, other in enumerate(keys) if other == key] for key in dict.fromkeys(keys)}
        between = sum(len(at) * (float(outcomes[at].mean()) - mean) ** 2 for at in groups.values())
        name = " × ".join(term)
        if len(term) == 1:
            explained[term] = between
            for key, at in groups.items():
                size = float(outcomes[at].mean()) - mean
                half = None
                if freedom:
                    inside = sum(len(points[one].values) for one in at)
                    everywhere = sum(len(point.values) for point in points)
                    # The mean at this axis value and the overall mean are correlated, because the overall mean includes
                    # the same outcomes.
                    half = student(freedom) * math.sqrt(variance * (1 / inside - 1 / everywhere))
                effects.append(Effect(name, key[0], size, half))
        else:
            explained[term] = between - explained[term[:1]] - explained[term[1:]]
        shares.append(Share(name, _ratio(max(explained[term], 0.0), total)))
    return effects, shares


def sampled(
    axes: Sequence[str], points: Sequence[PointValues], remedy: str = SAMPLE_MORE
) -> tuple[list[Effect], list[Share], list[str]]:
    """Fits a linear model by least squares, for designs that have no analysis of their own.

    The effect of a numeric axis is the change of the outcome from its minimum to its maximum, the effect of a named
    value the difference from the first named value. The error includes non-linearity and interactions.
    """
    columns, labels = [np.ones(len(points))], []
    for axis in axes:
        values = [point.levels[axis] for point in points]
        numbers = [number(value) for value in values]
        if all(one is not None for one in numbers) and len(set(values)) > 2:
            x = np.array([one.value for one in numbers if one is not None])
            columns.append((x - x.min()) / (x.max() - x.min()))
            labels.append((axis, f"{values[int(x.argmin())]} → {values[int(x.argmax())]}"))
        else:
            first, *others = dict.fromkeys(values)
            for other in others:
                columns.append(np.array([float(value == other) for value in values]))
                labels.append((axis, f"{first} → {other}"))
    design = np.stack(columns, axis=1)
    outcomes = np.array([point.mean for point in points])
    freedom = len(points) - design.shape[1]
    if freedom < 1 or np.linalg.matrix_rank(design) < design.shape[1]:
        raise ConfigError(
            f"{text.counted(len(points), 'points')} are too few or too similar to estimate the effects of "
            f"{'one axis' if len(axes) == 1 else text.counted(len(axes), 'axes')}; {remedy}"
        )
    coefficients, *_ = np.linalg.lstsq(design, outcomes)
    residuals = outcomes - design @ coefficients
    error = float(residuals @ residuals) / freedom
    spread = np.linalg.inv(design.T @ design).diagonal()
    total = float(((outcomes - outcomes.mean()) ** 2).sum())
    effects = [
        Effect(axis, level, float(size), student(freedom) * math.sqrt(error * float(factor)))
        for (axis, level), size, factor in zip(labels, coefficients[1:], spread[1:], strict=True)
    ]
    if np.ptp(outcomes) <= SAME * np.abs(outcomes).max():
        return effects, [], ["the outcome is the same at all points, so there is nothing to explain"]
    fitted = 1 - _ratio(float(residuals @ residuals), total)
    return effects, [], [f"the linear model explains {100 * fitted:.1f} % of the variance"]


def one_at_a_time(axes: Sequence[str], points: Sequence[PointValues]) -> list[Effect]:
    """Returns, for each axis value, the difference from the first point, where all axes have their first value."""
    first, *others = points
    variance, freedom = pooled_variance(points)
    effects = []
    for point in others:
        axis = next(axis for axis in axes if point.levels[axis] != first.levels[axis])
        half = None
        if freedom:
            half = student(freedom) * math.sqrt(variance * (1 / len(point.values) + 1 / len(first.values)))
        level = f"{first.levels[axis]} → {point.levels[axis]}"
        effects.append(Effect(axis, level, point.mean - first.mean, half))
    return effects


def losses(axes: Sequence[str], points: Sequence[PointValues], outcome: Outcome) -> list[Loss]:
    """Returns the loss from fixing an axis at each value while the other axes are free; needs all combinations."""
    choose = max if outcome.large else min
    best = choose(point.mean for point in points)
    losses_of = []
    for axis in axes:
        for level in dict.fromkeys(point.levels[axis] for point in points):
            own = choose(point.mean for point in points if point.levels[axis] == level)
            losses_of.append(Loss(axis, level, own, abs((own - best) / best) if best else 0.0 if own == best else None))
    return losses_of


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


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
