"""What a screening found."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.study.experiments.expression import figure
from ssdlab.study.screening import contrast
from ssdlab.study.screening.contrast import Contrast, Gains, Results
from ssdlab.study.screening.definition import Claim, Screening
from ssdlab.study.store.study import Study
from ssdlab.study.survey.effects import Effect
from ssdlab.study.survey.outcome import CONFIDENCE, Estimate, PointValues
from ssdlab.study.sweep.axes import Axis, Point
from ssdlab.study.sweep.design import Design

CAUSES = ("below.flash.programs", "below.flash.erases", "below.log.merges")
"""Where the result of a run has operations by cause."""


@dataclass(frozen=True)
class Part:
    """One design of a screening: that of all factors, or the refinement of a claim."""

    name: str
    factors: tuple[str, ...]
    """That are varied."""
    kept: Point
    """The level of each of the others."""
    results: Results
    gains: Gains
    effects: Mapping[Contrast, Sequence[Effect]]
    """Of going from the lower to the upper level of a factor, in points of gain; none where points are missing."""

    @classmethod
    def of(
        cls, screening: Screening, study: Study, name: str, axes: Sequence[Axis], design: Design, kept: Point
    ) -> Self:
        """The part of a study with that name."""
        results = contrast.results(study, name)
        gains = contrast.gains(screening, results)
        effects = {one: contrast.main_effects(axes, design, points) if axes else [] for one, points in gains.items()}
        return cls(name, tuple(one.name for one in axes), kept, results, gains, effects)


class Answer(NamedTuple):
    """What became of a claim. Gains are in points."""

    claim: Claim
    screened: int
    """Points of the first part."""
    reached: int
    """Of these, those whose mean gain is as large as claimed."""
    telling: Mapping[str, tuple[str, int]]
    """By factor the level that so many of these have, more than by chance."""
    first: float
    """The largest gain of the first part: of so many points the luckiest."""
    again: Estimate | None
    """The largest gain of the refinement, over seeds that the first part did not have."""
    best: PointValues | None
    """Where that is."""
    appears: bool
    """Whether that is as large as claimed, and surely above 0."""


class Operations(NamedTuple):
    """Figures and operations of a cause, as means over seeds."""

    name: str
    """Of the figure, or path in the result of the second drive."""
    by_scheduler: Mapping[str, float]


class Screened(Finding):
    """Gains, effects and answers.

    Saved are `report.html`, `screening.json`, `effects.csv` and `gains.csv`; `study` beside them has every run.
    """

    _page = "screening"
    _json = "screening.json"
    saved = "report.html, screening.json, effects.csv, gains.csv and study"

    def __init__(
        self, *, screening: Screening, form: str, overrides: Sequence[str], study: Study, parts: Sequence[Part]
    ) -> None:
        self.screening = screening
        self.form = form
        self.overrides = tuple(overrides)
        self.study = study
        """Every run."""
        self.parts = tuple(parts)
        """The first with all factors, then the refinement of each claim."""

    @property
    def partial(self) -> bool:
        """Whether runs are still to be done."""
        return self.study.partial

    def answers(self) -> list[Answer]:
        """What became of each claim."""
        first, *refinements = self.parts
        refined = {part.name: part for part in refinements}
        found = []
        for claim in self.screening.claims:
            asked = Contrast(claim.figure, claim.against)
            points = first.gains.get(asked, [])
            if not points:
                continue
            figure = self.screening.figure(claim.figure)
            reached = [one for one in points if contrast.percent(figure, one.mean) >= claim.least]
            again = refined[claim.says].gains.get(asked, []) if claim.says in refined else []
            best = max(zip(again, contrast.each(again), strict=True), key=lambda one: one[1].mean, default=None)
            found.append(
                Answer(
                    claim=claim,
                    screened=len(points),
                    reached=len(reached),
                    telling=_telling(reached),
                    first=contrast.largest(points).mean,
                    again=None if best is None else best[1],
                    best=None if best is None else best[0],
                    appears=best is not None
                    and contrast.percent(figure, best[1].mean) >= claim.least
                    and best[1].mean > (best[1].half_width or 0.0),
                )
            )
        return found

    def operations(self, answer: Answer) -> list[Operations]:
        """Figures, and operations by cause, of every scheduler where the largest gain of a refinement is."""
        if answer.best is None:
            return []
        part = next(one for one in self.parts if one.name == answer.claim.says)
        there = tuple(answer.best.levels.items())
        runs = [its for (point, _), its in part.results.items() if point == there]
        found = [
            Operations(
                one.name,
                {name: statistics.fmean(one.value.of(its[name]) or 0.0 for its in runs) for name in runs[0]},
            )
            for one in self.screening.figures
        ]
        for path in dict.fromkeys(path for its in runs for one in its.values() for path in _operations(one)):
            means = {name: statistics.fmean(figure(its[name], path) or 0.0 for its in runs) for name in runs[0]}
            found.append(Operations(path, means))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "screening": self.screening.to_dict(),
            "form": self.form,
            "overrides": [*self.overrides],
            "asked": self.study.asked,
            "finished": self.study.finished,
            "confidence": CONFIDENCE,
            "parts": [
                {
                    "name": part.name,
                    "factors": [*part.factors],
                    "kept": dict(part.kept),
                    "gains": [
                        {
                            **one._asdict(),
                            **contrast.overall(points)._asdict(),
                            "points": [{"levels": dict(point.levels), "values": [*point.values]} for point in points],
                            "effects": [effect._asdict() for effect in part.effects[one]],
                        }
                        for one, points in part.gains.items()
                    ],
                }
                for part in self.parts
            ],
            "answers": [
                {
                    "says": one.claim.says,
                    "figure": one.claim.figure,
                    "against": one.claim.against,
                    "least": one.claim.least,
                    "screened": one.screened,
                    "reached": one.reached,
                    "telling": {name: [*level] for name, level in one.telling.items()},
                    "first": one.first,
                    "again": None if one.again is None else one.again._asdict(),
                    "appears": one.appears,
                    "levels": None if one.best is None else dict(one.best.levels),
                    "operations": {its.name: its.by_scheduler for its in self.operations(one)},
                }
                for one in self.answers()
            ],
        }

    def _configuration(self) -> dict[str, Any]:
        return self.study._configuration()

    def _tables(self) -> Contents:
        effects: list[Sequence[object]] = [("part", *Contrast._fields, *Effect._fields)]
        gains: list[Sequence[object]] = [
            (
                "part",
                *(one.name for one in self.screening.forms[self.form].factors),
                *Contrast._fields,
                "seeds",
                "gain_points",
            )
        ]
        for part in self.parts:
            for one, found in part.effects.items():
                effects += [(part.name, *one, *("" if cell is None else cell for cell in effect)) for effect in found]
            for one, points in part.gains.items():
                gains += [(part.name, *point.levels.values(), *one, len(point.values), point.mean) for point in points]
        return {"effects.csv": effects, "gains.csv": gains}

    plot = Plot("screening.effects")

    def __repr__(self) -> str:
        return f"<ssdlab.Screened {self.screening.name}: {self.study.finished} of {self.study.asked} runs>"


def _operations(result: Mapping[str, Any]) -> list[str]:
    """Paths of operations by the causes that occurred in a result; of merges how many there were."""
    found = []
    for place in CAUSES:
        node: Any = result
        for name in place.split("."):
            node = (node or {}).get(name)
        for cause, value in (node or {}).items():
            if value:
                found.append(f"{place}.{cause}.count" if isinstance(value, Mapping) else f"{place}.{cause}")
    return found


def _telling(points: Sequence[PointValues]) -> dict[str, tuple[str, int]]:
    """The levels that more of the points have than half of them would by chance, in a design that has each in half.

    All factors are looked at together: with so many, one or other would stand out at the usual confidence.
    """
    found: dict[str, tuple[str, int]] = {}
    for name in points[0].levels if points else ():
        labels = [point.levels[name] for point in points]
        label = max(dict.fromkeys(labels), key=labels.count)
        count, total = labels.count(label), len(labels)
        chance = 2 * sum(math.comb(total, one) for one in range(count, total + 1)) / 2**total
        if chance * len(points[0].levels) < 1 - CONFIDENCE:
            found[name] = label, count
    return found
