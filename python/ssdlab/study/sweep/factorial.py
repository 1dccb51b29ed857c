"""Two-level fractional factorial designs.

Some factors (base factors) are varied in all combinations. Every other factor is a product of base factors, called its
generator. A word is a set of factors whose product is one, and the resolution is the number of factors in the shortest
word. Resolution III separates main effects from each other. Resolution IV also separates them from interactions of two
factors. Resolution V also separates these interactions from each other. A factor is represented by a bit mask of the
base factors in its product. Every word has at least R factors if no R - 1 masks sum to zero (Box and Hunter, "The
2^(k-p) fractional factorial designs", Technometrics 3, 1961).
"""

from functools import reduce
from itertools import combinations, product
from operator import xor

from ssdlab._ssdlab import ConfigError

RESOLUTIONS = (3, 4, 5)

MAX_BASE = 14
"""Maximum number of base factors, for at most 16,384 points."""


def columns(factors: int, resolution: int) -> list[int]:
    """Returns the columns of a small design with at least the given resolution, base factors first."""
    for base in range(1, MAX_BASE + 1):
        chosen = _lexicode(base, factors, resolution)
        if chosen is not None:
            return chosen
    raise ConfigError(
        f"{factors} axes at resolution {resolution} need more than {1 << MAX_BASE} points; use a lower resolution"
    )


def _lexicode(base: int, factors: int, resolution: int) -> list[int] | None:
    """Returns columns of `base` bits of which no `resolution` - 1 sum to zero; None if there are too few."""
    chosen: list[int] = []
    # XOR sums of up to `resolution` - 2 chosen columns. The next column must differ from all these sums.
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
    """Returns the number of factors in the shortest word; None for a full factorial, which has no words."""
    base = max(column.bit_length() for column in chosen)
    if len(chosen) == base:
        return None
    return next(
        size for size in range(1, len(chosen) + 1) if any(reduce(xor, some) == 0 for some in combinations(chosen, size))
    )


def points(chosen: list[int]) -> list[tuple[int, ...]]:
    """Returns the level (0 or 1) of each factor at each point; the first base factor varies slowest."""
    base = max(column.bit_length() for column in chosen)
    return [tuple(_level(column, levels, base) for column in chosen) for levels in product((0, 1), repeat=base)]


def _level(column: int, levels: tuple[int, ...], base: int) -> int:
    # As in the literature, the lower level counts as -1 and the level of a product is the product of the signs.
    lower = sum(column >> bit & 1 and not levels[bit] for bit in range(base))
    return int(lower % 2 == 0)


def generators(chosen: list[int], names: list[str]) -> list[str]:
    """Returns the generators of all factors that are not base factors, such as `d = a b c`."""
    base = max(column.bit_length() for column in chosen)
    return [
        f"{name} = {' × '.join(names[bit] for bit in range(base) if column >> bit & 1)}"
        for name, column in zip(names[base:], chosen[base:], strict=True)
    ]
