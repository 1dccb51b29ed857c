"""An outcome against an axis, a curve for each value of another."""

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
        self.notes = tuple(notes)
        """What should be known of the runs of the study."""

    @property
    def values(self) -> tuple[list[str], list[str]]:
        """Of both axes, in their order."""
        return [*dict.fromkeys(cell.x for cell in self.cells)], [*dict.fromkeys(cell.by for cell in self.cells)]

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


def grouped(points: Sequence[PointValues], ranges: Mapping[str, Range]) -> tuple[list[PointValues], dict[str, str]]:
    """The points with the parts of a range in which its samples lie for their values, where there are more of these than
    parts; and what is to be known of each such axis.
    """
    told = {}
    for axis, between in ranges.items():
        if len({point.levels[axis] for point in points}) <= PARTS:
            continue
        ends = [between.at(part / PARTS) for part in range(PARTS + 1)]
        names = [f"{low}..{high}" for low, high in pairwise(ends)]
        points = [
            point._replace(
                levels={
                    **point.levels,
                    axis: names[min(max(int(PARTS * between.share(point.levels[axis])), 0), PARTS - 1)],
                }
            )
            for point in points
        ]
        points.sort(key=lambda point: names.index(point.levels[axis]))
        told[axis] = f"the values of {axis} are grouped in {PARTS} parts of its range"
    return [*points], told


def cells(points: Sequence[PointValues], x: str, by: str | None, axes: Sequence[str]) -> list[Cell]:
    """Means over seeds and over the axes that are not shown, which are averaged seed by seed."""
    groups: dict[tuple[str, str], list[PointValues]] = {}
    for point in points:
        groups.setdefault((point.levels[x], point.levels[by] if by else ""), []).append(point)
    found = []
    for (at, other), its in groups.items():
        seeds = min(len(point.values) for point in its)
        found.append(
            Cell(at, other, estimate([sum(point.values[seed] for point in its) / len(its) for seed in range(seeds)]))
        )
    return found
