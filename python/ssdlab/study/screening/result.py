"""Results of a screening."""

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
"""Dotted paths of the program, erase and merge counts in the second drive's result."""


@dataclass(frozen=True)
class Part:
    """Part of a screening that varies all factors, or refines a claim by varying the strongest factors."""

    name: str
    factors: tuple[str, ...]
    kept: Point
    """Levels of the factors that are not varied."""
    results: Results
    gains: Gains
    effects: Mapping[Contrast, Sequence[Effect]]
    """Effects of raising each factor, in log points of gain; empty if points of the design are missing."""

    @classmethod
    def of(
        cls, screening: Screening, study: Study, name: str, axes: Sequence[Axis], design: Design, kept: Point
    ) -> Self:
        """Evaluates the named part of the screening; `study` has the runs of all parts."""
        results = contrast.results(study, name)
        gains = contrast.gains(screening, results)
        effects = {one: contrast.main_effects(axes, design, points) if axes else [] for one, points in gains.items()}
        return cls(name, tuple(one.name for one in axes), kept, results, gains, effects)


class Answer(NamedTuple):
    """Evaluation of a claim. Gains are in log points (100 times a logarithm)."""

    claim: Claim
    screened: int
    """Number of points in the first part of the screening, which varies all factors."""
    reached: int
    telling: Mapping[str, tuple[str, int]]
    """Level of each factor that is significantly overrepresented among the points that reach the claimed gain, and how
    many of them have it. Factors without such a level are omitted.
    """
    first: float
    """Largest gain in the first part, biased upwards because it is a maximum."""
    again: Estimate | None
    """Largest gain in the refinement, which uses fresh seeds."""
    best: PointValues | None
    """Point with the largest gain in the refinement, if any."""
    appears: bool
    """True if the largest gain reaches the claimed gain and is significantly above 0."""


class Operations(NamedTuple):
    """Mean over seeds of a metric, or of the number of operations with one cause, by scheduler."""

    name: str
    """Name of the metric, or dotted path of the count in the second drive's result."""
    by_scheduler: Mapping[str, float]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Screened(Finding):
    """Result of a screening: gains, effects and evaluations of claims.

    Files: `report.html`, `screening.json`, `effects.csv` and `gains.csv`; the folder `study` has every run.
    """

    _page = "screening"
    _json = "screening.json"
    saved = "report.html, screening.json, effects.csv, gains.csv and the folder study"

    screening: Screening
    form: str
    overrides: Sequence[str]
    study: Study
    parts: Sequence[Part]
    """The part that varies all factors, then one part per claim that varies the strongest factors."""

    @property
    def partial(self) -> bool:
        """True if some runs of the screening are missing."""
        return self.study.partial

    def answers(self) -> list[Answer]:
        """Evaluates every claim of the screening."""
        first, *refinements = self.parts
        refined = {part.name: part for part in refinements}
        answers = []
        for claim in self.screening.claims:
            asked = Contrast(claim.figure, claim.against)
            points = first.gains.get(asked, [])
            if not points:
                continue
            figure = self.screening.figure(claim.figure)
            reached = [one for one in points if contrast.percent(figure, one.mean) >= claim.least]
            again = refined[claim.says].gains.get(asked, []) if claim.says in refined else []
            best = max(zip(again, contrast.each(again), strict=True), key=lambda one: one[1].mean, default=None)
            answers.append(
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
        return answers

    def operations(self, answer: Answer) -> list[Operations]:
        """Returns the metrics and the operation counts by cause of every scheduler, at the point of the refinement with
        the largest gain; empty without a refinement.
        """
        if answer.best is None:
            return []
        part = next(one for one in self.parts if one.name == answer.claim.says)
        there = tuple(answer.best.levels.items())
        runs = [results for (point, _), results in part.results.items() if point == there]
        operations = [
            Operations(
                one.name,
                {name: statistics.fmean(one.value.of(run[name]) or 0.0 for run in runs) for name in runs[0]},
            )
            for one in self.screening.figures
        ]
        for path in dict.fromkeys(path for run in runs for one in run.values() for path in _operations(one)):
            means = {name: statistics.fmean(figure(run[name], path) or 0.0 for run in runs) for name in runs[0]}
            operations.append(Operations(path, means))
        return operations

    def to_dict(self) -> dict[str, Any]:
        """Returns the screening with gains, effects and evaluations of claims, ready for JSON."""
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
        factors = [one.name for one in self.screening.forms[self.form].factors]
        gains: list[Sequence[object]] = [("part", *factors, *Contrast._fields, "seeds", "gain_points")]
        for part in self.parts:
            for one, own in part.effects.items():
                effects += [(part.name, *one, *effect) for effect in own]
            for one, points in part.gains.items():
                gains += [(part.name, *point.levels.values(), *one, len(point.values), point.mean) for point in points]
        return {"effects.csv": effects, "gains.csv": gains}

    plot = Plot("screening.effects")

    def __repr__(self) -> str:
        return f"<ssdlab.Screened {self.screening.name}: {self.study.finished} of {self.study.asked} runs>"


def _operations(result: Mapping[str, Any]) -> list[str]:
    """Returns the dotted paths of the counts of programs, erases and merges, for all causes that occurred."""
    paths = []
    for place in CAUSES:
        node: Any = result
        for name in place.split("."):
            node = (node or {}).get(name)
        for cause, value in (node or {}).items():
            if value:
                paths.append(f"{place}.{cause}.count" if isinstance(value, Mapping) else f"{place}.{cause}")
    return paths


def _telling(points: Sequence[PointValues]) -> dict[str, tuple[str, int]]:
    """Returns, for each factor, the level that is significantly overrepresented among the points, if any.

    In the design, each level has half of the points. The significance level is corrected for the number of factors.
    """
    telling: dict[str, tuple[str, int]] = {}
    for name in points[0].levels if points else ():
        labels = [point.levels[name] for point in points]
        label = max(dict.fromkeys(labels), key=labels.count)
        count, total = labels.count(label), len(labels)
        chance = 2 * sum(math.comb(total, one) for one in range(count, total + 1)) / 2**total
        if chance * len(points[0].levels) < 1 - CONFIDENCE:
            telling[name] = label, count
    return telling
