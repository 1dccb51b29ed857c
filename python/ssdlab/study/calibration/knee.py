"""Finds the knee of a curve: the smallest value that comes close to the best.

Throughput rises while requests in flight occupy idle parts of a drive. Then it stays flat, or falls if requests
conflict. The knee is the smallest number that reaches 95 % of the best throughput. Unlike a curvature rule, it needs no
smooth curve and does not depend on the numbers measured after the knee.
"""

from collections.abc import Mapping

from ssdlab.lazy import Numbers, np

SHARE = 0.95
"""Share of the best throughput that counts as equal to the best."""


def first_close(curve: "Numbers") -> int:
    """Returns the first index whose value reaches `SHARE` of the best."""
    return int((curve >= SHARE * curve.max()).argmax())


def shares(iops: "Mapping[str, Numbers]") -> "Numbers":
    """Returns the best throughput of each region (row) as a share of the overall best, for the operation with the
    lowest share.
    """
    worst: Numbers = np.min([table.max(axis=1) / table.max() for table in iops.values()], axis=0)
    return worst


def region(iops: "Mapping[str, Numbers]") -> int:
    """Returns the first region whose share reaches `SHARE`; if there is none, the region with the largest share."""
    worst = shares(iops)
    reached = worst >= SHARE
    return int(reached.argmax()) if reached.any() else int(worst.argmax())


def difference(table: "Numbers") -> float:
    """Returns the largest difference along the first axis (regions or rounds), relative to the larger throughput."""
    return float((1 - table.min(axis=0) / table.max(axis=0)).max())
