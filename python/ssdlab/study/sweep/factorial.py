"""Two-level fractional factorial designs.

Of k factors, m are varied in all combinations, and each further one is the product of some of them (its generator). In
the words that multiply to one, the shortest has as many letters as the resolution: with III, main effects are apart
from each other but not from interactions of two; with IV they are apart from these; with V these are apart from each
other. A factor is a column of m bits, the set of base factors that it is the product of; words of fewer than R letters
do not exist where no R - 1 columns sum to zero (Box and Hunter, "The 2^(k-p) fractional factorial designs",
Technometrics 3, 1961).
"""

from itertools import combinations, product

from ssdlab._ssdlab import ConfigError

RESOLUTIONS = (3, 4, 5)
"""Those that can be asked for."""

MOST_BASE = 14
"""Base factors at most: 16,384 points."""


def columns(factors: int, resolution: int) -> list[int]:
    """Columns of a design of few points with at least that resolution, those of base factors first.

    Raises:
        ConfigError: If none is small enough.
    """
    for base in range(1, MOST_BASE + 1):
        found = _lexicode(base, factors, resolution)
        if found is not None:
            return found
    raise ConfigError(
        f"{factors} axes at resolution {resolution} take more than {1 << MOST_BASE} points; ask for a lower resolution"
    )


def _lexicode(base: int, factors: int, resolution: int) -> list[int] | None:
    """Columns of `base` bits, no `resolution` - 1 or fewer of which sum to zero; None if there are too few of them."""
    chosen: list[int] = []
    # Sums of at most resolution - 2 chosen columns: what the next must not be.
    sums: list[set[int]] = [{0}, *(set[int]() for _ in range(resolution - 2))]
    for column in [*(1 << bit for bit in range(base)), *range(1, 1 << base)]:
        if len(chosen) == factors:
            break
        if any(column in some for some in sums):
            continue
        chosen.append(column)
        for size in range(resolution - 2, 0, -1):
            sums[size] |= {column ^ other for other in sums[size - 1]}
    return chosen if len(chosen) == factors else None


def resolution_of(chosen: list[int]) -> int | None:
    """Letters of the shortest word; None for a full factorial, which has none."""
    base = max(column.bit_length() for column in chosen)
    if len(chosen) == base:
        return None
    return next(
        size for size in range(1, len(chosen) + 1) if any(_sum(some) == 0 for some in combinations(chosen, size))
    )


def _sum(some: tuple[int, ...]) -> int:
    total = 0
    for column in some:
        total ^= column
    return total


def points(chosen: list[int]) -> list[tuple[int, ...]]:
    """The level of each factor, 0 or 1, at each point; the first base factor varies slowest."""
    base = max(column.bit_length() for column in chosen)
    return [tuple(_level(column, levels, base) for column in chosen) for levels in product((0, 1), repeat=base)]


def _level(column: int, levels: tuple[int, ...], base: int) -> int:
    # As the literature has it, signs are multiplied, and the lower level is -1.
    sign = 1
    for bit in range(base):
        if column >> bit & 1:
            sign *= 1 if levels[bit] else -1
    return int(sign > 0)


def generators(chosen: list[int], names: list[str]) -> list[str]:
    """How each factor that is no base factor comes about, such as `d = a b c`."""
    base = max(column.bit_length() for column in chosen)
    return [
        f"{name} = {' × '.join(names[bit] for bit in range(base) if column >> bit & 1)}"
        for name, column in zip(names[base:], chosen[base:], strict=True)
    ]
