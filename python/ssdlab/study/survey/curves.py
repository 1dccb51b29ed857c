"""An outcome against an axis, a curve for each value of another."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.study.survey.outcome import CONFIDENCE, Estimate, Outcome, PointValues, estimate
from ssdlab.study.sweep.axes import Range

PARTS = 8
"""Of a range, in which its samples are taken together."""


class Cell(NamedTuple):
    """A point of a curve."""

    x: str
    by: str
    """The value of the other axis; empty without one."""
    estimate: Estimate


class Curves(Finding):
    """An outcome over one or two axes, with its confidence band over seeds.

    Saved are `report.html`, `curves.json` and `curves.csv`, a line for each point of a curve.
    """

    _page = "curves"
    _json = "curves.json"
    saved = "report.html, curves.json and curves.csv"

    def __init__(
        self,
        *,
        about: str,
        source: Mapping[str, Any] | None,
        outcome: Outcome,
        x: str,
        by: str | None,
        cells: Sequence[Cell],
        others: Sequence[str],
        parts: Mapping[str, Sequence[str]],
        notes: Sequence[str] = (),
    ) -> None:
        self.about = about
        self.source = source
        self.outcome = outcome
        self.x = x
        """The axis that curves go along."""
        self.by = by
        """The axis that tells curves apart."""
        self.cells = tuple(cells)
        self.others = tuple(others)
        """Axes over which is averaged."""
        self.parts = parts
        """Of the axes whose samples are taken together: the parts of their ranges, in order."""
        self.notes = tuple(notes)
        """What should be known of the runs of the study."""

    @property
    def values(self) -> tuple[list[str], list[str]]:
        """Of both axes, in their order."""
        along, between = (
            [*dict.fromkeys(values)] for values in zip(*((one.x, one.by) for one in self.cells), strict=True)
        )
        for axis, values in ((self.x, along), (self.by or "", between)):
            if axis in self.parts:
                values.sort(key=self.parts[axis].index)
        return along, between

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "outcome": self.outcome.figure,
            "x": self.x,
            "by": self.by,
            "confidence": CONFIDENCE,
            "averaged_over": list(self.others),
            "points": [{"x": one.x, "by": one.by, **one.estimate._asdict()} for one in self.cells],
        }

    def _source(self) -> Mapping[str, Any] | None:
        return self.source

    def _tables(self) -> Contents:
        between = [] if self.by is None else [self.by]
        rows: list[Sequence[object]] = [(self.x, *between, *Estimate._fields)]
        for one in self.cells:
            at = (one.x, one.by) if between else (one.x,)
            rows.append((*at, *("" if part is None else part for part in one.estimate)))
        return {"curves.csv": rows}

    plot = Plot("study.curves")
    plot_map = Plot("study.heat_map")

    def __repr__(self) -> str:
        return f"<ssdlab.Curves of {self.outcome.figure} over {self.x}>"


def grouped(
    points: Sequence[PointValues], ranges: Mapping[str, Range]
) -> tuple[list[PointValues], dict[str, list[str]]]:
    """The points with the part of a range in which a sample lies for its value, where there are more of these than
    parts; and the parts of each such axis.
    """
    parts: dict[str, list[str]] = {}
    for axis, between in ranges.items():
        if len({point.levels[axis] for point in points}) > PARTS:
            ends = [between.at(part / PARTS) for part in range(PARTS + 1)]
            parts[axis] = [f"{low}..{high}" for low, high in pairwise(ends)]

    def part_of(axis: str, value: str) -> str:
        # The upper end belongs to the last part.
        return parts[axis][min(int(PARTS * ranges[axis].share(value)), PARTS - 1)]

    return [
        one._replace(levels={**one.levels, **{axis: part_of(axis, one.levels[axis]) for axis in parts}})
        for one in points
    ], parts


def cells(points: Sequence[PointValues], x: str, by: str | None) -> list[Cell]:
    """Means over seeds and over the axes that are not shown, which are averaged seed by seed."""
    groups: dict[tuple[str, str], list[PointValues]] = {}
    for point in points:
        groups.setdefault((point.levels[x], point.levels[by] if by else ""), []).append(point)
    found = []
    for (at, other), its in groups.items():
        # What a point lacks of a seed is lacking in the mean over the points of that seed.
        by_seed = zip(*(point.by_seed for point in its), strict=False)
        means = [sum(values) / len(its) for values in by_seed if None not in values]
        known = estimate(means) if means else Estimate(math.nan, None, 0)
        if any(len(point.values) > len(means) for point in its):
            # Its interval is that of the seeds that all have.
            known = known._replace(mean=sum(point.mean for point in its) / len(its))
        found.append(Cell(at, other, known))
    return found
