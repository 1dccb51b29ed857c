"""Designs: rules that choose the points to simulate in the space of the axes."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import qmc, saltelli
from ssdlab.study.sweep import factorial
from ssdlab.study.sweep.axes import Axis, Condition, Point

DESIGNS = {
    "grid": "every combination of the values",
    "random": "points drawn at random",
    "latin-hypercube": "random points, one in each stratum of each axis",
    "sobol": "a scrambled Sobol' sequence, which fills space evenly; the number of points is a power of two",
    "one-at-a-time": "the first value of every axis, then each other value of a single axis",
    "factorial": "two levels of each axis, in a fraction of all combinations that depends on the resolution",
    "saltelli": "the points for estimating Sobol' indices; the number of samples is a power of two",
}

SEARCH = "search"
"""Name of the design of `ssdlab tune` studies, which choose points in batches."""

SCREENING = "screening"
"""Name of the design of screenings, which vary all factors and then refine the strongest factors."""

MEANINGS = {
    **DESIGNS,
    SEARCH: "points that a search has tried",
    SCREENING: "a fraction of all two-level combinations, then all combinations of the strongest factors",
}
"""Descriptions of all types of studies: sweeps, searches, screenings."""

SAMPLED = ("random", "latin-hypercube", "sobol", "saltelli")
"""Names of sampled designs, which have a number of samples and accept ranges without steps."""

DEFAULT_SAMPLES = 64


@dataclass(frozen=True)
class Design:
    """Rule that chooses the points; `samples` and `seed` are for sampled designs."""

    name: str = "grid"
    samples: int | None = None
    resolution: int | None = None
    """Resolution of a fractional factorial design; None for all combinations."""
    seed: int = 1

    def checked(self, axes: Sequence[Axis], conditions: Sequence[Condition]) -> "Design":
        """Checks that the design suits the axes. Returns the design with its number of samples filled in."""
        if self.name not in DESIGNS:
            raise ConfigError(
                f"design {text.path(self.name)}: unknown design; use one of {', '.join(DESIGNS)}"
                f"{text.suggestion(self.name, DESIGNS)}"
            )
        sampled = self.name in SAMPLED
        if self.samples is not None and (not sampled or self.samples < 1):
            remedy = (
                f"only the designs {', '.join(SAMPLED)} use samples; omit the number of samples"
                if not sampled
                else "use 1 or more"
            )
            raise ConfigError(f"design {self.name}: invalid number of samples {self.samples}; {remedy}")
        samples = self.samples or DEFAULT_SAMPLES
        if self.name in ("sobol", "saltelli") and samples & (samples - 1):
            below = 1 << (samples.bit_length() - 1)
            raise ConfigError(
                f"design {self.name}: {samples} samples: must be a power of two to fill space evenly; use {below} or "
                f"{2 * below}"
            )
        if self.seed < 0:
            raise ConfigError(f"design {self.name}: the seed {self.seed} is below 0; use 0 or more")
        if self.resolution is not None and (self.name != "factorial" or self.resolution not in factorial.RESOLUTIONS):
            raise ConfigError(f"resolution {self.resolution}: requires the design factorial, and must be 3, 4 or 5")
        for axis in axes:
            if axis.range is not None and self.name in ("grid", "one-at-a-time"):
                raise ConfigError(
                    f"axis {axis.name}: design {self.name} needs a range with a number of values, as in 3%..30%:10; or "
                    "use design sobol"
                )
            if self.name == "factorial" and len(axis.levels) != 2:
                raise ConfigError(f"axis {axis.name}: a factorial design needs two values, not {len(axis.levels)}")
        if conditions and self.name in ("factorial", "saltelli"):
            raise ConfigError(
                f"design {self.name}: excluding combinations would confound its effects; omit the exclusions"
            )
        return Design(self.name, samples if sampled else None, self.resolution, self.seed)

    def size(self, axes: Sequence[Axis]) -> int:
        """Returns the number of points of the design, including points that conditions exclude."""
        levels = [len(axis.levels) for axis in axes]
        if self.name == "grid":
            return math.prod(levels)
        if self.name == "one-at-a-time":
            return 1 + sum(levels) - len(levels)
        if self.name == "factorial":
            return 1 << max(column.bit_length() for column in self.columns(axes))
        assert self.samples is not None
        return self.samples * (2 * len(axes) + 2 if self.name == "saltelli" else 1)

    def columns(self, axes: Sequence[Axis]) -> list[int]:
        """Returns the columns of a factorial design, one per axis: bit masks of the base factors in its product."""
        if self.resolution is None:
            return [1 << bit for bit in range(len(axes))]
        return factorial.columns(len(axes), self.resolution)

    def points(self, axes: Sequence[Axis]) -> Iterator[Point]:
        """Yields the points of the design in order."""
        if not axes:
            yield {}
        elif self.name == "grid":
            for levels in product(*(axis.levels for axis in axes)):
                yield _together(levels)
        elif self.name == "one-at-a-time":
            first = [axis.levels[0] for axis in axes]
            yield _together(first)
            for at, axis in enumerate(axes):
                for level in axis.levels[1:]:
                    yield _together([*first[:at], level, *first[at + 1 :]])
        elif self.name == "factorial":
            for numbers in factorial.points(self.columns(axes)):
                yield _together([axis.levels[number] for axis, number in zip(axes, numbers, strict=True)])
        else:
            for shares in _SAMPLERS[self.name](len(axes), self.samples or DEFAULT_SAMPLES, self.seed):
                yield _together([axis.at(share) for axis, share in zip(axes, shares, strict=True)])


def _together(levels: Sequence[Point]) -> Point:
    return {key: value for level in levels for key, value in level.items()}


def _random(axes: int, samples: int, seed: int) -> list[list[float]]:
    # With a seed, `random` yields the same numbers in every version of Python.
    draw = random.Random(seed)
    return [[draw.random() for _ in range(axes)] for _ in range(samples)]


def problem(names: Sequence[str]) -> dict[str, object]:
    """Describes the axes in the form that SALib expects; all values range from 0 to 1."""
    return {"num_vars": len(names), "names": [*names], "bounds": [[0.0, 1.0]] * len(names)}


def _saltelli(axes: int, samples: int, seed: int) -> list[list[float]]:
    names = [f"x{number}" for number in range(axes)]
    samples_of: list[list[float]] = saltelli.sample(problem(names), samples, calc_second_order=True, seed=seed).tolist()
    return samples_of


_SAMPLERS: dict[str, Callable[[int, int, int], list[list[float]]]] = {
    "random": _random,
    "latin-hypercube": lambda axes, samples, seed: qmc.LatinHypercube(axes, rng=seed).random(samples).tolist(),
    "sobol": lambda axes, samples, seed: qmc.Sobol(axes, rng=seed).random(samples).tolist(),
    "saltelli": _saltelli,
}
