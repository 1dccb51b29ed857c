"""Outcomes: figures that a study is asked about, and their means over seeds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import special
from ssdlab.model import shape
from ssdlab.model.metrics import METRICS

CONFIDENCE = 0.95
"""How often an interval holds the true mean."""

USUAL = ("write_amplification", "latency.all.p99_ns", "time.iops:max")
"""Outcomes unless others are named."""


ARITHMETIC = frozenset("=+*/()")
"""Characters of no figure."""


MORE_IS_BETTER = frozenset(metric.name for metric in METRICS if metric.better == "more")
"""Figures that are maximised by default; all others are minimised."""


def is_large(figure: str, sense: str) -> bool:
    """Whether more is better, by what an outcome says: `min`, `max` or nothing."""
    return sense == "max" or (not sense and figure in MORE_IS_BETTER)


class Outcome(NamedTuple):
    """A figure, and which way is better."""

    figure: str
    """Its dotted path in a result."""
    large: bool
    """Whether more is better."""

    @classmethod
    def read(cls, written: str) -> "Outcome":
        """The outcome of a text such as `write_amplification`, `time.iops` or `life_years:max`.

        Raises:
            ConfigError: If it says neither min nor max.
        """
        figure, _, sense = written.partition(":")
        if sense not in ("", "min", "max"):
            raise ConfigError(f"outcome {text.path(written)}: {text.path(sense)} is neither min nor max")
        return cls(figure, is_large(figure, sense))

    @classmethod
    def of(cls, written: str, known: Sequence[str]) -> "Outcome":
        """As `read`, of runs.

        Raises:
            ConfigError: If no run has that figure as a number.
        """
        found = cls.read(written)
        if found.figure not in known:
            raise ConfigError(unknown(found.figure, known))
        return found


def unknown(figure: str, known: Sequence[str]) -> str:
    """That no run has a figure."""
    return f"outcome {text.path(figure)}: " + (
        null(figure)
        or f"no run has a figure of that name{text.suggestion(figure, known)}; "
        "'ssdlab study show PATH --outcomes' lists them"
    )


def null(figure: str) -> str:
    """That a figure which no run has as a number is null in all; empty of one that results do not name."""
    if figure not in shape.figures():
        return ""
    writes = figure == "write_amplification"
    return (
        f"is null in every run: {'nothing was written' if writes else 'nothing it tells of was simulated or occurred'}"
    )


def check_figure(where: str, figure: str) -> None:
    """Checks, before anything runs, that a result may have a figure.

    Raises:
        ConfigError: If none has.
    """
    if not shape.has_figure(figure):
        raise ConfigError(
            f"{where}: no run has a figure called {text.path(figure)}{text.suggestion(figure, shape.figures())}; "
            "docs/results.md lists them, such as write_amplification"
        )


def check_distinct(outcomes: Iterable[Outcome]) -> None:
    """Checks that no figure is asked for twice.

    Raises:
        ConfigError: If one is.
    """
    seen: set[str] = set()
    for one in outcomes:
        if one.figure in seen:
            raise ConfigError(f"outcome {text.path(one.figure)}: is given twice; give it once")
        seen.add(one.figure)


def check_outcomes(written: Sequence[str]) -> None:
    """As `check_figure`, of outcomes.

    Raises:
        ConfigError: If one is none, or is given twice.
    """
    for one in written:
        if ARITHMETIC & {*one}:
            raise ConfigError(
                f"outcome {text.path(one)}: is arithmetic, which 'ssdlab tune' alone takes; name the figures in "
                "it, and work it out from the dataset"
            )
        check_figure(f"outcome {text.path(one)}", Outcome.read(one).figure)
    check_distinct(map(Outcome.read, written))


class Estimate(NamedTuple):
    """A mean over the seeds of a point."""

    mean: float
    half_width: float | None
    """Of the interval that holds the true mean with `CONFIDENCE`; None of fewer than two seeds."""
    seeds: int
    """How many tell it: of a mean over several points, those that all of them have."""


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of equally distributed values, with Student's interval."""
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return Estimate(mean, None, 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return Estimate(mean, student(count - 1) * math.sqrt(variance / count), count)


def student(freedom: float) -> float:
    """How many standard errors the interval is wide on each side, with so many degrees of freedom."""
    return float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2))


class PointValues(NamedTuple):
    """The values of an outcome at a point of a design."""

    levels: Mapping[str, str]
    """Of each axis, as settings take them."""
    by_seed: tuple[float | None, ...]
    """Of each seed, in the order in which all points have them; None of one that has no value."""

    @property
    def values(self) -> tuple[float, ...]:
        """Those that there are."""
        return tuple(one for one in self.by_seed if one is not None)

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return math.fsum(self.values) / len(self.values)


def pooled_variance(points: Sequence[PointValues]) -> tuple[float, int]:
    """The variance between seeds of a point, taken as the same for all, and its degrees of freedom."""
    freedom = sum(len(point.values) - 1 for point in points)
    if freedom == 0:
        return math.nan, 0
    total = math.fsum((value - point.mean) ** 2 for point in points for value in point.values)
    return total / freedom, freedom
