"""The Pareto front: points that no other beats in every outcome."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ssdlab.lazy import np
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.study.survey.outcome import Estimate, Outcome


class Candidate(NamedTuple):
    """A point with its outcomes."""

    levels: Mapping[str, str]
    outcomes: tuple[Estimate, ...]
    best: bool
    """Whether it is on the front."""


class Front(Finding):
    """Which points are worth a look, by several outcomes at once.

    Saved are `report.html`, `front.json` and `front.csv`, a line for each point with half the widths of its intervals.
    """

    _page = "front"
    _json = "front.json"
    saved = "report.html, front.json and front.csv"

    def __init__(
        self,
        *,
        about: str,
        source: Mapping[str, Any] | None,
        axes: Sequence[str],
        outcomes: Sequence[Outcome],
        candidates: Sequence[Candidate],
        notes: Sequence[str] = (),
    ) -> None:
        self.about = about
        self.source = source
        self.axes = tuple(axes)
        self.outcomes = tuple(outcomes)
        self.candidates = tuple(candidates)
        """Every point."""
        self.notes = tuple(notes)
        """What should be known of the runs of the study."""

    @property
    def front(self) -> tuple[Candidate, ...]:
        """The points that no other beats, best first in the first outcome."""
        found = [one for one in self.candidates if one.best]
        return tuple(sorted(found, key=lambda one: one.outcomes[0].mean, reverse=self.outcomes[0].large))

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                **one.levels,
                **{its.figure: got.mean for its, got in zip(self.outcomes, one.outcomes, strict=True)},
                **{
                    f"{its.figure}.half_width": got.half_width
                    for its, got in zip(self.outcomes, one.outcomes, strict=True)
                },
                "front": one.best,
            }
            for one in self.candidates
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "outcomes": {one.figure: "max" if one.large else "min" for one in self.outcomes},
            "points": self._rows(),
        }

    def _source(self) -> Mapping[str, Any] | None:
        return self.source

    def _tables(self) -> Contents:
        rows = self._rows()
        cells = [["" if cell is None else cell for cell in row.values()] for row in rows]
        return {"front.csv": [[*rows[0]], *cells]}

    plot = Plot("study.front")

    def __repr__(self) -> str:
        return f"<ssdlab.Front of {len(self.front)} of {len(self.candidates)} points>"


def on_the_front(outcomes: Sequence[Sequence[float]], large: Sequence[bool]) -> list[bool]:
    """Which rows no other row beats: none is at least as good in everything and better in something."""
    costs = np.where(np.array(large), -1.0, 1.0) * np.array(outcomes)
    return [not bool(((costs <= row).all(axis=1) & (costs < row).any(axis=1)).any()) for row in costs]
