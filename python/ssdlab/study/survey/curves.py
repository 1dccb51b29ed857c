"""Curves of an outcome over an axis, with a curve per value of another axis."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from ssdlab.model.finding import Contents, Plot
from ssdlab.study.survey.outcome import CONFIDENCE, Estimate, Outcome, PointValues, Survey, estimate
from ssdlab.study.sweep.axes import Range

PARTS = 8
"""Number of intervals for grouping the samples of a sampled axis."""


class Cell(NamedTuple):
    """A point of a curve: the outcome at one value of each shown axis."""

    x: str
    by: str
    """Value on the `by` axis; empty if there is none."""
    estimate: Estimate


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Curves(Survey):
    """An outcome as a function of one or two axes, with its confidence band over seeds.

    Files: `report.html`, `curves.json` and `curves.csv`, with a line per point.
    """

    _page = "curves"
    _json = "curves.json"
    saved = "report.html, curves.json and curves.csv"

    outcome: Outcome
    x: str
    by: str | None
    """Names of the horizontal axis and of the axis that has a curve for each value; None for a single curve."""
    cells: Sequence[Cell]
    others: Sequence[str]
    """Axes over which the outcome is averaged."""
    parts: Mapping[str, Sequence[str]]
    """Intervals of each axis with grouped samples."""

    @property
    def values(self) -> tuple[list[str], list[str]]:
        """Values of the axes `x` and `by` in order."""
        along, between = (
            [*dict.fromkeys(values)] for values in zip(*((one.x, one.by) for one in self.cells), strict=True)
        )
        for axis, values in ((self.x, along), (self.by or "", between)):
            if axis in self.parts:
                values.sort(key=self.parts[axis].index)
        return along, between

    def to_dict(self) -> dict[str, Any]:
        """Returns axes and points of the curves, ready for JSON."""
        return {
            "outcome": self.outcome.figure,
            "x": self.x,
            "by": self.by,
            "confidence": CONFIDENCE,
            "averaged_over": list(self.others),
            "points": [{"x": one.x, "by": one.by, **one.estimate._asdict()} for one in self.cells],
        }

    def _tables(self) -> Contents:
        between = [] if self.by is None else [self.by]
        rows: list[Sequence[object]] = [(self.x, *between, *Estimate._fields)]
        for one in self.cells:
            at = (one.x, one.by) if between else (one.x,)
            rows.append((*at, *one.estimate))
        return {"curves.csv": rows}

    plot = Plot("study.curves")
    plot_map = Plot("study.heat_map")

    def __repr__(self) -> str:
        return f"<ssdlab.Curves of {self.outcome.figure} over {self.x}>"


def grouped(
    points: Sequence[PointValues], ranges: Mapping[str, Range]
) -> tuple[list[PointValues], dict[str, list[str]]]:
    """Groups the samples of each axis with more than `PARTS` sampled values: replaces each value with its interval of
    the range. Returns the points, and the intervals of these axes.
    """
    parts: dict[str, list[str]] = {}
    for axis, between in ranges.items():
        if len({point.levels[axis] for point in points}) > PARTS:
            ends = [between.at(part / PARTS) for part in range(PARTS + 1)]
            parts[axis] = [f"{low}..{high}" for low, high in pairwise(ends)]

    def part_of(axis: str, value: str) -> str:
        # The last interval of a range includes its upper end.
        return parts[axis][min(int(PARTS * ranges[axis].share(value)), PARTS - 1)]

    return [
        one._replace(levels={**one.levels, **{axis: part_of(axis, one.levels[axis]) for axis in parts}})
        for one in points
    ], parts


def cells(points: Sequence[PointValues], x: str, by: str | None) -> list[Cell]:
    """Averages an outcome over the axes that are not shown: separately for each seed, then over the seeds."""
    groups: dict[tuple[str, str], list[PointValues]] = {}
    for point in points:
        groups.setdefault((point.levels[x], point.levels[by] if by else ""), []).append(point)
    cells_of = []
    for (at, other), group in groups.items():
        # Uses only seeds for which all points of the group have a value.
        by_seed = zip(*(point.by_seed for point in group), strict=False)
        means = [sum(values) / len(group) for values in by_seed if None not in values]
        known = estimate(means) if means else Estimate(math.nan, None, 0)
        if any(len(point.values) > len(means) for point in group):
            # The mean uses all values. The confidence interval uses only seeds for which all points have a value.
            known = known._replace(mean=sum(point.mean for point in group) / len(group))
        cells_of.append(Cell(at, other, known))
    return cells_of
