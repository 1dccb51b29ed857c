"""Finds the knee of a throughput curve: the smallest number of requests in flight with nearly the best throughput.

Throughput rises while more requests in flight occupy idle parts of a drive. Then it stays flat, or falls if requests
conflict. The knee is the smallest number of requests in flight that reaches 95 % of the best throughput. Unlike a rule
based on curvature, this rule needs no smooth curve, and does not depend on the number of points after the knee.
"""

from collections.abc import Mapping

from ssdlab.lazy import Numbers, np

SHARE = 0.95
"""A throughput counts as equal to the best if it reaches this share of the best throughput."""


def first_close(curve: "Numbers") -> int:
    """Returns the index of the first throughput that reaches `SHARE` of the best."""
    return int((curve >= SHARE * curve.max()).argmax())


def shares(iops: "Mapping[str, Numbers]") -> "Numbers":
    """Returns the best throughput of each region (row) relative to the best of all, the lower of reads and writes."""
    worst: Numbers = np.min([table.max(axis=1) / table.max() for table in iops.values()], axis=0)
    return worst


def region(iops: "Mapping[str, Numbers]") -> int:
    """Returns the first region (row) whose share reaches `SHARE`; if none does, the region with the largest share."""
    worst = shares(iops)
    reached = worst >= SHARE
    return int(reached.argmax()) if reached.any() else int(worst.argmax())


def difference(table: "Numbers") -> float:
    """Returns the largest difference between rows of the same column, as a fraction of the higher throughput."""
    return float((1 - table.min(axis=0) / table.max(axis=0)).max())
