"""Outcomes: the metrics that a study compares, and their means over seeds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import special
from ssdlab.model import shape
from ssdlab.model.finding import Finding
from ssdlab.model.metrics import METRICS

CONFIDENCE = 0.95
"""Confidence level of all confidence intervals, as a fraction."""

USUAL = ("write_amplification", "latency.all.p99_ns", "time.iops:max")

ARITHMETIC = frozenset("=+*/()")
"""Characters that identify an outcome as an arithmetic expression; metric names do not contain them."""

MORE_IS_BETTER = frozenset(metric.name for metric in METRICS if metric.better == "more")
"""Metrics to maximize by default; all other metrics are minimized."""


def is_large(figure: str, sense: str) -> bool:
    """True if a larger value of the metric is better; `sense` is `min`, `max` or empty for the default."""
    return sense == "max" or (not sense and figure in MORE_IS_BETTER)


class Outcome(NamedTuple):
    """A metric that a study compares."""

    figure: str
    """Dotted path of the metric in a result."""
    large: bool
    """True if a larger value is better."""

    @classmethod
    def read(cls, written: str) -> "Outcome":
        """Parses an outcome such as `write_amplification`, `time.iops` or `life_years:max`."""
        figure, _, sense = written.partition(":")
        if sense not in ("", "min", "max"):
            raise ConfigError(
                f"outcome {text.path(written)}: {text.path(sense)} is neither min nor max; write :min or :max"
            )
        return cls(figure, is_large(figure, sense))

    @classmethod
    def of(cls, written: str, known: Sequence[str]) -> "Outcome":
        """Parses an outcome and checks that runs have its metric."""
        outcome = cls.read(written)
        if outcome.figure not in known:
            raise ConfigError(unknown(outcome.figure, known))
        return outcome


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Survey(Finding):
    """Base class of the analyses of a study: its title, the source of its requests and notes on its runs."""

    about: str
    source: Mapping[str, Any] | None
    notes: Sequence[str] = ()

    def _source(self) -> Mapping[str, Any] | None:
        return self.source


def unknown(figure: str, known: Sequence[str]) -> str:
    """Returns the error message for a metric that no run has."""
    return f"outcome {text.path(figure)}: " + (
        null(figure)
        or f"no run has this metric; 'ssdlab study show PATH --outcomes' lists all metrics"
        f"{text.suggestion(figure, known)}"
    )


def null(figure: str) -> str:
    """Returns the error for a metric that is null in all runs; empty if results never have the metric."""
    if figure not in shape.figures():
        return ""
    writes = figure == "write_amplification"
    return "is null in every run: " + (
        "nothing was written" if writes else "what it measures was not simulated or did not occur"
    )


def check_figure(where: str, figure: str) -> None:
    """Checks, before any run, that the metric exists."""
    if not shape.has_figure(figure):
        raise ConfigError(
            f"{where}: unknown metric {text.path(figure)}; docs/results.md lists all metrics, such as "
            f"write_amplification{text.suggestion(figure, shape.figures())}"
        )


def check_distinct(outcomes: Iterable[Outcome]) -> None:
    """Raises an error if two outcomes have the same metric."""
    seen: set[str] = set()
    for one in outcomes:
        if one.figure in seen:
            raise ConfigError(f"outcome {text.path(one.figure)}: is listed twice; list it once")
        seen.add(one.figure)


def check_outcomes(written: Sequence[str]) -> None:
    """Checks outcomes, as users write them, before any run."""
    for one in written:
        if ARITHMETIC & {*one}:
            raise ConfigError(
                f"outcome {text.path(one)}: only 'ssdlab tune' supports arithmetic; use plain metrics as outcomes, and "
                "compute the value from the dataset"
            )
        check_figure(f"outcome {text.path(one)}", Outcome.read(one).figure)
    check_distinct(map(Outcome.read, written))


class Estimate(NamedTuple):
    """Mean of an outcome over the seeds of a point, with its confidence interval."""

    mean: float
    half_width: float | None
    """Half width of the confidence interval with the level `CONFIDENCE`; None with fewer than two seeds."""
    seeds: int
    """Number of seeds; for several points, of seeds for which all points have a value."""


def estimate(values: Sequence[float]) -> Estimate:
    """Returns the mean of values with Student's confidence interval."""
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return Estimate(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return Estimate(mean, student(count - 1) * math.sqrt(variance / count), count)


def student(freedom: float) -> float:
    """Returns the half width of Student's confidence interval in standard errors, for the given degrees of freedom."""
    return float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2))


class PointValues(NamedTuple):
    """The values of an outcome at a point of a design."""

    levels: Mapping[str, str]
    """Values of the axes at the point, written as settings."""
    by_seed: tuple[float | None, ...]
    """Values of the outcome in seed order; None for missing values."""

    @property
    def values(self) -> tuple[float, ...]:
        """Values that are not missing."""
        return tuple(one for one in self.by_seed if one is not None)

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return math.fsum(self.values) / len(self.values)


def pooled_variance(points: Sequence[PointValues]) -> tuple[float, int]:
    """Returns the variance between seeds, assumed equal at all points, and its degrees of freedom."""
    freedom = sum(len(point.values) - 1 for point in points)
    if freedom == 0:
        return math.nan, 0
    total = math.fsum((value - point.mean) ** 2 for point in points for value in point.values)
    return total / freedom, freedom
