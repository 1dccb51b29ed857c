"""What a sweep asked for, and what came of it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import pa
from ssdlab.model.arguments import takes
from ssdlab.model.finding import Finding
from ssdlab.model.several import several
from ssdlab.study.store.folder import points_of
from ssdlab.study.store.table import KEY, SEED, Point, Record, dataset
from ssdlab.study.survey.outcome import USUAL, Outcome, check_distinct, unknown

MEND = "finish the sweep, or mend what failed"
"""What to do about runs without a result."""


class Runs(Finding):
    """Every point of a plan, the records of those whose runs came to their end, and their figures."""

    def __init__(self, plan: Mapping[str, Any], records: Mapping[str, Record]) -> None:
        self.plan = dict(plan)
        """What was asked, as the folder keeps it."""
        self.points: tuple[Point, ...] = tuple(points_of(plan))
        """Every row that was asked for."""
        self._all = records
        self._records = {point.key: records[point.key] for point in self.points if point.key in records}
        self.earlier = len(records) - len(self._records)
        """Runs that the folder keeps of what was asked before, and that are no part of this."""
        self.columns: tuple[str, ...] = tuple(plan["columns"])
        """Keys that are varied."""
        shown = [Outcome.read(one).figure for one in plan["outcomes"] or USUAL]
        self.table = dataset(self.columns, self.points, self._records, shown)
        """A row for each point whose run came to its end, in the order of the points: `run`, the axes, `seed`, `key`,
        `error`, and every figure of the results under its dotted path; of a study without a result its outcomes, or the
        usual ones, empty. Axes with units are in bytes, nanoseconds, shares of 1 or events per second."""

    @property
    def asked(self) -> int:
        """Rows that were asked for."""
        return len(self.points)

    @property
    def finished(self) -> int:
        """Rows whose run came to its end, whether well or not."""
        return int(self.table.num_rows)

    @property
    def partial(self) -> bool:
        """Whether some runs are still to be done."""
        return self.finished < self.asked

    @property
    def failures(self) -> dict[str, int]:
        """Errors of runs, with how many rows have each."""
        found: dict[str, int] = {}
        for error in self.table["error"].to_pylist():
            if error is not None:
                found[error] = found.get(error, 0) + 1
        return found

    @property
    def failed(self) -> list[str]:
        """`failures` in words."""
        return [f"{text.counted(times, 'runs')} failed: {error}" for error, times in self.failures.items()]

    @property
    def in_vain(self) -> bool:
        """Whether every run came to its end, and none has a result."""
        return sum(self.failures.values()) == self.asked

    @property
    def missing(self) -> tuple[str, ...]:
        """Which outcomes of the sweep none of its runs has."""
        known = self.figures
        asked = [Outcome.read(one).figure for one in self.plan["outcomes"]]
        return tuple(unknown(one, known) for one in asked if known and one not in known)

    @property
    def figures(self) -> list[str]:
        """Every figure that is a number, for outcomes; none of a study without a result."""
        if all(record.result is None for record in self._records.values()):
            return []
        beside = {"run", SEED, KEY, "error", *self.columns}
        return [
            field.name
            for field in self.table.schema
            if field.name not in beside and (pa.types.is_integer(field.type) or pa.types.is_floating(field.type))
        ]

    @takes(asked=["write_amplification"])
    def outcomes(self, asked: Sequence[str] = ()) -> list[Outcome]:
        """The outcomes that are asked for; else those of the sweep, or the usual ones, as far as runs have them.

        Raises:
            ConfigError: If no run has a figure that is asked for, or one is asked for twice.
        """
        known, named = self.figures, several(asked)
        if named and not known:
            why = next(iter(self.failed), "none was run yet")
            raise ConfigError(f"the study has no result: {why}; {MEND}")
        if named:
            asked_for = [Outcome.of(one, known) for one in self._as_swept(named)]
            check_distinct(asked_for)
            return asked_for
        found = map(Outcome.read, self.plan["outcomes"] or USUAL)
        return [one for one in found if one.figure in known]

    def _as_swept(self, outcomes: Sequence[str]) -> list[str]:
        """Outcomes, with which way is better as the sweep was told unless they say so themselves."""
        swept = {Outcome.read(one).figure: one for one in self.plan["outcomes"]}
        return [swept.get(one, one) for one in outcomes]

    @takes()
    def result(self, run: int) -> dict[str, Any]:
        """The whole result of a row, as `Result.to_dict` has it.

        Args:
            run: Its number in the column `run`.

        Raises:
            ConfigError: If there is none.
        """
        record = self._records.get(self.points[run].key) if 0 <= run < self.asked else None
        if record is None or record.result is None:
            raise ConfigError(f"run {run}: there is no result of it; the column run has those that there are")
        found: dict[str, Any] = json.loads(record.result)
        return found

    @property
    def axes(self) -> list[str]:
        """Each axis by the first of its keys; linked keys follow it."""
        return [one["keys"][0] for one in self.plan["axes"]]

    def _source(self) -> Mapping[str, Any] | None:
        source: Mapping[str, Any] | None = self.plan["source"]
        return source

    def _configuration(self) -> dict[str, Any]:
        found: dict[str, Any] = self.plan["configuration"]
        return found
