"""What axes do to an outcome: main effects, interactions, and which share of its variance each explains."""

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import np
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.study.survey.linked import number
from ssdlab.study.survey.outcome import CONFIDENCE, Outcome, PointValues, pooled_variance, student

SAMPLE_MORE = "sample more"
"""What to do about too few points."""

SAME = 1e-12
"""Share of the outcome below which differences are those of rounding."""


class Effect(NamedTuple):
    """What one axis, or two together, do to the outcome."""

    term: str
    """The axis, or two with `×`."""
    level: str
    """The value that does it, or from where to where."""
    size: float
    """By how much the outcome changes."""
    half_width: float | None
    """Of its confidence interval; None where seeds do not tell."""


class Share(NamedTuple):
    """How much of the variance of an outcome over the design a term explains."""

    term: str
    share: float
    half_width: float | None = None
    total: float | None = None
    """With all interactions that the axis takes part in, where that is estimated."""
    total_half_width: float | None = None


class Loss(NamedTuple):
    """The best that is left when an axis is kept at a value; known where a design has every combination."""

    term: str
    level: str
    best: float
    lost: float | None
    """As a share of the best of all; 0 where nothing is lost, None where it is and the best of all is 0."""


class Effects(Finding):
    """Effects on one outcome.

    Saved are `report.html`, `effects.json` and `effects.csv`, a line for each effect; `variance.csv` with shares of the
    variance and `losses.csv` of designs that have these.
    """

    _page = "effects"
    _json = "effects.json"
    _optional = ("variance.csv", "losses.csv")
    saved = "report.html, effects.json and effects.csv, and of designs that have these variance.csv and losses.csv"

    def __init__(
        self,
        *,
        about: str,
        source: Mapping[str, Any] | None,
        outcome: Outcome,
        method: str,
        mean: float,
        effects: Sequence[Effect],
        shares: Sequence[Share],
        losses: Sequence[Loss],
        notes: Sequence[str] = (),
    ) -> None:
        self.about = about
        """The study, in one line."""
        self.source = source
        self.outcome = outcome
        self.method = method
        """How effects were worked out, in words."""
        self.mean = mean
        """Of the outcome over the design."""
        self.effects = tuple(effects)
        self.shares = tuple(shares)
        self.losses = tuple(losses)
        self.notes = tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
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

    def _source(self) -> Mapping[str, Any] | None:
        return self.source

    def _tables(self) -> Contents:
        found = {"effects.csv": _rows(Effect, self.effects)}
        if self.shares:
            found["variance.csv"] = _rows(Share, self.shares)
        if self.losses:
            found["losses.csv"] = _rows(Loss, self.losses)
        return found

    plot = Plot("study.effects")

    def __repr__(self) -> str:
        return f"<ssdlab.Effects on {self.outcome.figure}: {len(self.effects)} effects>"


def _rows(kind: type[Effect | Share | Loss], found: Sequence[tuple[object, ...]]) -> list[Sequence[object]]:
    """The rows of a table in a file: a column for each field."""
    return [kind._fields, *(["" if cell is None else cell for cell in one] for one in found)]


def two_level(
    axes: Sequence[str], columns: Sequence[int], points: Sequence[PointValues]
) -> tuple[list[Effect], list[Share], list[str]]:
    """Contrasts of a two-level design: the mean at the second level less that at the first; of two axes together, half
    the difference between the effects of one at both levels of the other.

    Args:
        axes: Their names.
        columns: Of the design, as `factorial.columns` gives them.
        points: In the order of the design.
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
    told: dict[int, str] = {}
    terms = [(axis,) for axis in axes] + [*combinations(axes, 2)]
    column_of = dict(zip(axes, columns, strict=True))
    for term in terms:
        column, sign = 0, np.ones(len(points))
        for axis in term:
            column ^= column_of[axis]
            sign = sign * signs[axis]
        name = " × ".join(term)
        if column in told:
            notes.append(f"{name} cannot be told from {told[column]} by this design")
            continue
        told[column] = name
        size = float(2 * (sign * outcomes).mean())
        level = f"{levels[term[0]][0]} → {levels[term[0]][1]}" if len(term) == 1 else ""
        effects.append(Effect(name, level, size, half))
        shares.append(Share(name, _ratio(len(points) * size * size / 4, total)))
    return effects, shares, notes


def margin(sizes: Sequence[float]) -> float:
    """From where on an effect stands out from the others, if most of them are nothing: Lenth's margin of error.

    It takes in what interactions add to main effects that a fraction does not tell from them, as the spread between
    seeds does not (Lenth, "Quick and easy analysis of unreplicated factorials", Technometrics 31, 1989).
    """
    found = sorted(map(abs, sizes))
    first = 1.5 * statistics.median(found)
    error = 1.5 * statistics.median([size for size in found if size < 2.5 * first] or [0.0])
    return student(len(found) / 3) * error


def complete(axes: Sequence[str], points: Sequence[PointValues]) -> tuple[list[Effect], list[Share]]:
    """Effects of a grid without gaps: how far the mean at each value lies from the mean of all, and the analysis of
    variance.
    """
    outcomes = np.array([point.mean for point in points])
    mean = float(outcomes.mean())
    total = float(((outcomes - mean) ** 2).sum())
    variance, freedom = pooled_variance(points)
    effects, shares = [], []
    explained: dict[tuple[str, ...], float] = {}
    for term in [*((axis,) for axis in axes), *combinations(axes, 2)]:
        keys = [tuple(point.levels[axis] for axis in term) for point in points]
        groups = {key: [at for at, its in enumerate(keys) if its == key] for key in dict.fromkeys(keys)}
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
                    # The mean of all holds the values of this level as well.
                    half = student(freedom) * math.sqrt(variance * (1 / inside - 1 / everywhere))
                effects.append(Effect(name, key[0], size, half))
        else:
            explained[term] = between - explained[term[:1]] - explained[term[1:]]
        shares.append(Share(name, _ratio(max(explained[term], 0.0), total)))
    return effects, shares


def sampled(
    axes: Sequence[str], points: Sequence[PointValues], remedy: str = SAMPLE_MORE
) -> tuple[list[Effect], list[Share], list[str]]:
    """Effects of a design without structure, by least squares: from the least to the greatest value of a number that
    lies on a straight line, and of every name against the first.

    The error is that of the model, which takes in what is not straight and how axes interact.

    Raises:
        ConfigError: If there are too few points; `remedy` is what to do then.
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
            f"{text.counted(len(points), 'points')}: too few, or too alike, for the effects of "
            f"{'one axis' if len(axes) == 1 else text.counted(len(axes), 'axes')}; {remedy}"
        )
    coefficients, *_ = np.linalg.lstsq(design, outcomes)
    residuals = outcomes - design @ coefficients
    error = float(residuals @ residuals) / freedom
    spread = np.linalg.inv(design.T @ design).diagonal()
    total = float(((outcomes - outcomes.mean()) ** 2).sum())
    effects = [
        Effect(axis, level, float(size), student(freedom) * math.sqrt(error * float(its)))
        for (axis, level), size, its in zip(labels, coefficients[1:], spread[1:], strict=True)
    ]
    if np.ptp(outcomes) <= SAME * np.abs(outcomes).max():
        return effects, [], ["the outcome is the same at all points, so there is nothing to explain"]
    fitted = 1 - _ratio(float(residuals @ residuals), total)
    return effects, [], [f"the straight model explains {100 * fitted:.1f} % of the variance"]


def one_at_a_time(axes: Sequence[str], points: Sequence[PointValues]) -> list[Effect]:
    """How far each value lies from the first point, at which all axes have their first value."""
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
    """What is lost, at best, by keeping an axis at a value: the others are free.

    Of all combinations only: elsewhere a value would be judged by what else was varied with it.
    """
    choose = max if outcome.large else min
    best = choose(point.mean for point in points)
    found = []
    for axis in axes:
        for level in dict.fromkeys(point.levels[axis] for point in points):
            its = choose(point.mean for point in points if point.levels[axis] == level)
            found.append(Loss(axis, level, its, abs((its - best) / best) if best else 0.0 if its == best else None))
    return found


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
