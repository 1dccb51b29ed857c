"""Cells of a calibration: region sizes, queue depths, and medians over rounds."""

from collections.abc import Sequence

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import Numbers, np
from ssdlab.model.numbers import whole
from ssdlab.model.several import several

IN_FLIGHT = tuple(1 << power for power in range(9))
"""Default queue depths: 1 to 256."""

ROUNDS = 3
"""Number of passes over all cells. The median over the passes is the result, and their spread measures the noise."""

MIN_REGION_BYTES = 64 << 20
"""Smallest default region size; region sizes double up to the whole drive."""


def regions_of(asked: Sequence[str] | None, whole_bytes: int, request_bytes: int, what: str) -> tuple[int, ...]:
    """Returns the region sizes in bytes, in ascending order; by default powers of two and the size of the whole drive.

    Messages call the drive or file `what`.
    """
    if asked is None:
        if whole_bytes < MIN_REGION_BYTES:
            raise ConfigError(
                f"{what} ({text.exact_size(whole_bytes)}) is smaller than the default region of "
                f"{text.exact_size(MIN_REGION_BYTES)}; set smaller regions"
            )
        sizes = {whole_bytes}
        size = MIN_REGION_BYTES
        while size < whole_bytes:
            sizes.add(size)
            size *= 2
    else:
        sizes = {_ssdlab.size(one) for one in several(asked)}
    if not sizes:
        raise ConfigError("no region to measure; add at least one, such as 64MiB")
    if max(sizes) > whole_bytes:
        raise ConfigError(
            f"a region of {text.exact_size(max(sizes))} does not fit into {what} ({text.exact_size(whole_bytes)}); "
            "use smaller regions"
        )
    if min(sizes) < request_bytes:
        raise ConfigError(
            f"a region of {text.exact_size(min(sizes))} is smaller than a request of "
            f"{text.exact_size(request_bytes)}; use larger regions"
        )
    return tuple(sorted(sizes))


def in_flight_of(asked: Sequence[int]) -> tuple[int, ...]:
    """Returns the queue depths to measure, ascending."""
    numbers = {whole("in_flight", one) for one in several(asked)}
    if not numbers or not 1 <= min(numbers) <= max(numbers) <= 65536:
        raise ConfigError("requests in flight must be numbers from 1 to 65536, for example 1,2,4,8")
    return tuple(sorted(numbers))


def medians(rounds: "Numbers") -> "Numbers":
    """Returns the median of each cell over the rounds (first axis) that measured the cell; NaN for unmeasured cells."""
    median: Numbers = np.full(rounds.shape[1:], np.nan)
    # Cells without measurements are skipped, because NumPy would print a warning for them.
    reached = np.isfinite(rounds).any(axis=0)
    median[reached] = np.nanmedian(rounds[:, reached], axis=0)
    return median
