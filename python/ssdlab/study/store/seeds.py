"""The runs of a study by point: one for each seed."""

from functools import cached_property

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.study.store.runs import Runs
from ssdlab.study.survey.outcome import Outcome, PointValues
from ssdlab.study.sweep.design import SCREENING


class Seeds(Runs):
    """Which rows are of one point, and the outcomes that they have."""

    @cached_property
    def _rows_by_point(self) -> list[list[int]]:
        """The rows of each point, one for each seed, in the order of the design."""
        if self.plan["design"]["name"] != SCREENING:
            seeds = int(self.plan["seeds"])
            return [[*range(at, at + seeds)] for at in range(0, self.asked, seeds)]
        # Its parts have different seeds, of which each has all schedulers in turn.
        found: dict[tuple[str, ...], list[int]] = {}
        for row, point in enumerate(self.points):
            found.setdefault(tuple(point.values.values()), []).append(row)
        return [*found.values()]

    def _at_each_point(self, outcome: Outcome) -> list[PointValues]:
        """The outcome at each point, by seed, in the order of the design; of some there are no values."""
        numbers = dict(zip(self.table["run"].to_pylist(), self.table[outcome.figure].to_pylist(), strict=True))
        return [
            PointValues(
                self.points[rows[0]].values,
                tuple(None if (value := numbers.get(row)) is None else float(value) for row in rows),
            )
            for rows in self._rows_by_point
        ]

    def values(self, outcome: Outcome) -> list[PointValues]:
        """The outcome at each point that has it, by seed, in the order of the design."""
        found = [point for point in self._at_each_point(outcome) if point.values]
        if not found:
            raise ConfigError(f"outcome {outcome.figure}: no run has a value of it yet")
        return found

    @property
    def seeds(self) -> str:
        """With how many seeds each point is run, such as `3`, or `2 to 5` where that differs."""
        # A search has no point before its first trial.
        counts = sorted({len(rows) for rows in self._rows_by_point}) or [int(self.plan["seeds"])]
        return " to ".join(map(text.count, counts[:1] + counts[1:][-1:]))

    @property
    def count(self) -> int:
        """Points that were asked for, equal ones too."""
        return len(self._rows_by_point)

    @property
    def title(self) -> str:
        """What was asked, in one line."""
        design = self.plan["design"]
        seeds = "" if self.seeds == "1" else f", {self.seeds} seeds each"
        points = text.counted(self.count, "points")
        return f"{design['name']} of {points} over {', '.join(self.columns) or 'nothing'}{seeds}"
