"""The rule for the knee: the least that comes close to the most.

Few requests in flight leave parts of a drive idle, many only wait for each other; so a curve of throughput rises and
then goes flat, or falls again where requests get in each other's way. The knee is the smallest number that reaches 95 %
of the curve's best. Unlike a rule of curvature, it needs no smooth curve and does not depend on which numbers beyond it
were measured.
"""

from collections.abc import Mapping

from ssdlab.lazy import Numbers, np

SHARE = 0.95
"""Of the best; what is closer to it is as good."""


def first_close(curve: "Numbers") -> int:
    """The first entry that reaches `SHARE` of the best."""
    return int((curve >= SHARE * curve.max()).argmax())


def shares(iops: "Mapping[str, Numbers]") -> "Numbers":
    """The best of each region (row) as a share of the best of all, in the operation in which it is worst off."""
    worst: Numbers = np.min([table.max(axis=1) / table.max() for table in iops.values()], axis=0)
    return worst


def region(iops: "Mapping[str, Numbers]") -> int:
    """The first region whose share reaches `SHARE`; where none does, the one with the largest share."""
    worst = shares(iops)
    reached = worst >= SHARE
    return int(reached.argmax()) if reached.any() else int(worst.argmax())


def difference(table: "Numbers") -> float:
    """The largest difference along the first axis, regions or rounds, as a share of the larger throughput."""
    return float((1 - table.min(axis=0) / table.max(axis=0)).max())
