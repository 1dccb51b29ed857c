"""Finds the smallest over-provisioning with which every configuration of a study has enough blocks."""

from collections.abc import Callable, Sequence

from ssdlab._ssdlab import ConfigError
from ssdlab.model.config import Config

OP = "device.op"

MOST_PERCENT = 100
"""Largest over-provisioning that is tried, in percent."""

STEPS = 100
"""Number of search steps per percent of over-provisioning."""


def smallest_op(configs: Sequence[Config], check: Callable[[Config], object]) -> str | None:
    """Returns the smallest over-provisioning with which no configuration makes `check` raise ConfigError. Returns None
    if they differ in over-provisioning, or if even `MOST_PERCENT` is too little. At least one configuration is invalid.
    """
    given = {str(config[OP]) for config in configs if OP in config}
    if len(given) != 1 or not all(OP in config for config in configs):
        return None
    # Identical configurations are checked only once.
    cases = [*dict.fromkeys(configs)]

    def suffices(steps: int) -> bool:
        try:
            for config in cases:
                check(config.with_overrides({OP: f"{steps / STEPS:.2f}%"}))
        except ConfigError:
            return False
        return True

    too_small, enough = round(float(given.pop().rstrip("%")) * STEPS), MOST_PERCENT * STEPS
    if too_small >= enough or not suffices(enough):
        return None
    while enough - too_small > 1:
        middle = (too_small + enough) // 2
        if suffices(middle):
            enough = middle
        else:
            too_small = middle
    return f"{enough / STEPS:g}%"


def refusal(labels: Sequence[str], op: str, enough: str) -> str:
    """Returns the error for cases with too few blocks at over-provisioning `op`; `enough` suffices for all cases."""
    return (
        f"{', '.join(labels)}: too few blocks with {OP}={op}; the smallest value that suffices for all cases is "
        f"{OP}={enough}"
    )
