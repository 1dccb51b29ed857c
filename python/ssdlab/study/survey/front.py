"""The Pareto front of a study: points that no other point matches in all outcomes and beats in one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ssdlab.lazy import np
from ssdlab.model.finding import Contents, Plot
from ssdlab.study.store.table import csv_rows
from ssdlab.study.survey.outcome import Estimate, Outcome, Survey


class Candidate(NamedTuple):
    """A point of a study, with its outcomes."""

    levels: Mapping[str, str]
    outcomes: tuple[Estimate, ...]
    best: bool
    """True if the point is on the Pareto front."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Front(Survey):
    """The Pareto front: the points with the best trade-offs between several outcomes.

    Files: `report.html`, `front.json`, and `front.csv` with a line per point and half widths of confidence intervals.
    """

    _page = "front"
    _json = "front.json"
    saved = "report.html, front.json and front.csv"

    axes: Sequence[str]
    outcomes: Sequence[Outcome]
    candidates: Sequence[Candidate]
    """Points that have a value for every outcome."""

    @property
    def front(self) -> tuple[Candidate, ...]:
        """Points on the Pareto front, sorted by the first outcome, best first."""
        best = [one for one in self.candidates if one.best]
        return tuple(sorted(best, key=lambda one: one.outcomes[0].mean, reverse=self.outcomes[0].large))

    def _rows(self) -> list[dict[str, Any]]:
        names = [one.figure for one in self.outcomes]
        return [
            {
                **one.levels,
                **{name: estimate.mean for name, estimate in zip(names, one.outcomes, strict=True)},
                **{
                    f"{name}.half_width": estimate.half_width
                    for name, estimate in zip(names, one.outcomes, strict=True)
                },
                "front": one.best,
            }
            for one in self.candidates
        ]

    def to_dict(self) -> dict[str, Any]:
        """Returns all points with their outcomes, ready for JSON."""
        return {
            "outcomes": {one.figure: "max" if one.large else "min" for one in self.outcomes},
            "points": self._rows(),
        }

    def _tables(self) -> Contents:
        return {"front.csv": csv_rows(self._rows())}

    plot = Plot("study.front")

    def __repr__(self) -> str:
        return f"<ssdlab.Front of {len(self.front)} of {len(self.candidates)} points>"


def on_the_front(outcomes: Sequence[Sequence[float]], large: Sequence[bool]) -> list[bool]:
    """Returns a flag for each row: True if no other row is at least as good in every outcome and better in one."""
    costs = np.where(np.array(large), -1.0, 1.0) * np.array(outcomes)
    return [not bool(((costs <= row).all(axis=1) & (costs < row).any(axis=1)).any()) for row in costs]
