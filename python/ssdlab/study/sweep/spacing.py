"""Possible values of a setting: multiples, powers of two, divisors of a number."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ssdlab.study.sweep.quantity import SHARE, Quantity, exact


@dataclass(frozen=True)
class Spacing:
    """Rules for the possible values of a setting: integers in bytes, nanoseconds, percent or units."""

    multiple: int = 1
    power_of_two: bool = False
    divides: int | None = None
    """Number of which each value must be a divisor."""

    def nearest(self, value: float, low: Quantity, high: Quantity, *, log: bool) -> str | None:
        """Returns the possible value in a range that is nearest to a number in base units, if there is one."""
        unit = 0.01 if low.base == SHARE else 1.0
        # Rounds before taking the ceiling, because 7 % as a float is not exactly seven times 1 %.
        least, most = math.ceil(round(low.value / unit, 6)), math.floor(round(high.value / unit, 6))
        wanted = value / unit

        def distance(number: int) -> float:
            return abs(math.log(number / wanted)) if log else abs(number - wanted)

        number = min(self._around(wanted, least, most), key=distance, default=None)
        return None if number is None else exact(number, low.base)

    def _around(self, wanted: float, least: int, most: int) -> Iterator[int]:
        """Yields possible values between `least` and `most`, including the possible value nearest to `wanted`."""
        if self.power_of_two:
            numbers: Sequence[int] = [1 << power for power in range(max(most, 0).bit_length())]
        elif self.divides is not None:
            numbers = _divisors(self.divides)
        else:
            first, last = -(-least // self.multiple), most // self.multiple
            below = math.floor(wanted / self.multiple)
            numbers = [self.multiple * min(max(count, first), last) for count in (below, below + 1)]
        for number in numbers:
            divides = self.divides is None or self.divides % number == 0
            if least <= number <= most and number % self.multiple == 0 and divides:
                yield number

    def words(self, base: str) -> str:
        """Describes the possible values for messages."""
        if self.divides is not None:
            return f"divisor of {exact(self.divides, base)}"
        return "power of two" if self.power_of_two else f"multiple of {exact(self.multiple, base)}"


def _divisors(number: int) -> list[int]:
    small = [one for one in range(1, math.isqrt(number) + 1) if number % one == 0]
    return sorted({*small, *(number // one for one in small)})
