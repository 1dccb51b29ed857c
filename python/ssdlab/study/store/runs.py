"""Requested runs of a sweep, their metrics, and notes on them."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import pa
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, recorded
from ssdlab.model.finding import Finding
from ssdlab.model.replayed import modes_text
from ssdlab.model.several import several
from ssdlab.study.store.folder import points_of
from ssdlab.study.store.table import KEY, SEED, Point, Record, dataset
from ssdlab.study.survey import caveats
from ssdlab.study.survey.caveats import Ran
from ssdlab.study.survey.outcome import USUAL, Outcome, PointValues, check_distinct, unknown
from ssdlab.study.sweep.axes import PRESET
from ssdlab.study.sweep.design import SCREENING
from ssdlab.study.sweep.plan import Builder

MEND = "finish the sweep, or fix the failed runs"
"""Remedy for runs without a result."""

NOTHING_LEFT = "all runs have finished, but some have no value; omit these axis values, or choose another metric"
"""Remedy for points that have no value although all runs of the study have finished."""

REMARK_KEYS = ("device.", "host.", "workload.", "time", "nand.channels", "cache.policy", "block.scheduler")
"""Key prefixes of the settings that affect the notes on runs."""


class Runs(Finding):
    """Requested points of a plan, with the records and metrics of their finished runs."""

    def __init__(self, plan: Mapping[str, Any], records: Mapping[str, Record]) -> None:
        self.plan = dict(plan)
        self.points: tuple[Point, ...] = tuple(points_of(plan))
        """Every requested row; each point has one row per seed."""
        self._all = records
        self._records = {point.key: records[point.key] for point in self.points if point.key in records}
        self.earlier = len(records) - len(self._records)
        """Number of runs in the folder that belong only to earlier plans."""
        self.columns: tuple[str, ...] = tuple(plan["columns"])
        """Keys of the settings that the axes vary."""
        shown = [Outcome.read(one).figure for one in plan["outcomes"] or USUAL]
        self.table = dataset(self.columns, self.points, self._records, shown)
        """Table with a row per finished run, in the order of the points. Its columns are `run`, the axes, `seed`,
        `key`, `error`, and metrics by dotted path. Before the first result, the columns of outcomes are empty. Values
        of axes with units are in bytes, nanoseconds, fractions or events per second.
        """

    @property
    def asked(self) -> int:
        """Number of requested rows, one per point and seed."""
        return len(self.points)

    @property
    def finished(self) -> int:
        """Number of rows with a finished run, including failed runs."""
        return int(self.table.num_rows)

    @property
    def partial(self) -> bool:
        """True if some requested runs are missing."""
        return self.finished < self.asked

    @property
    def failures(self) -> dict[str, int]:
        """Messages of failed runs, each with its number of rows."""
        return dict(Counter(error for error in self.table["error"].to_pylist() if error is not None))

    @property
    def failed(self) -> list[str]:
        """Lines that state how many runs failed with each error message."""
        return [f"{text.counted(times, 'runs')} failed: {error}" for error, times in self.failures.items()]

    @property
    def in_vain(self) -> bool:
        """True if every run of the study failed."""
        return sum(self.failures.values()) == self.asked

    @property
    def missing(self) -> tuple[str, ...]:
        """Messages about requested outcomes that are missing from every run."""
        known = self.figures
        asked = [Outcome.read(one).figure for one in self.plan["outcomes"]]
        return tuple(unknown(one, known) for one in asked if known and one not in known)

    @property
    def figures(self) -> list[str]:
        """Names of numeric metrics, which can be outcomes; empty without results."""
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
        """Returns the requested outcomes. If none are requested, returns the outcomes of the sweep. If the sweep has
        none, returns the default outcomes for which the runs have values.

        Raises:
            ConfigError: If no run has a requested metric, or a metric is requested twice.
        """
        known, named = self.figures, several(asked)
        if named and not known:
            why = next(iter(self.failed), "no run has finished yet")
            raise ConfigError(f"the study has no result: {why}; {MEND}")
        if named:
            outcomes = [Outcome.of(one, known) for one in self._as_swept(named)]
            check_distinct(outcomes)
            return outcomes
        usual = map(Outcome.read, self.plan["outcomes"] or USUAL)
        return [one for one in usual if one.figure in known]

    def _as_swept(self, outcomes: Sequence[str]) -> list[str]:
        """Returns the outcomes; those without a direction get the direction that the sweep uses for them, if any."""
        swept = {Outcome.read(one).figure: one for one in self.plan["outcomes"]}
        return [swept.get(one, one) for one in outcomes]

    @takes()
    def result(self, run: int) -> dict[str, Any]:
        """Returns the complete result of a row, in the form of `Result.to_dict`.

        Args:
            run: Number of the row, as in the column `run`.

        Raises:
            ConfigError: If the row has no result.
        """
        record = self._records.get(self.points[run].key) if 0 <= run < self.asked else None
        if record is None or record.result is None:
            raise ConfigError(f"run {run}: no result; the column 'run' lists the runs with a result")
        result: dict[str, Any] = json.loads(record.result)
        return result

    @property
    def axes(self) -> list[str]:
        """For each axis, the key of its first setting."""
        return [one["keys"][0] for one in self.plan["axes"]]

    def _source(self) -> Mapping[str, Any] | None:
        source: Mapping[str, Any] | None = self.plan["source"]
        return source

    def _configuration(self) -> dict[str, Any]:
        configuration: dict[str, Any] = self.plan["configuration"]
        return configuration

    @cached_property
    def _rows_by_point(self) -> list[list[int]]:
        """Row numbers of each point, one per seed, in the order of the design."""
        if self.plan["design"]["name"] != SCREENING:
            seeds = int(self.plan["seeds"])
            return [[*range(at, at + seeds)] for at in range(0, self.asked, seeds)]
        # The parts of a screening have different numbers of seeds, so all rows with equal axis values form a point.
        by_point: dict[tuple[str, ...], list[int]] = {}
        for row, point in enumerate(self.points):
            by_point.setdefault(tuple(point.values.values()), []).append(row)
        return [*by_point.values()]

    def _at_each_point(self, outcome: Outcome) -> list[PointValues]:
        """Returns the outcome's values at each point by seed, in the order of the design; values may be missing."""
        numbers = dict(zip(self.table["run"].to_pylist(), self.table[outcome.figure].to_pylist(), strict=True))
        return [
            PointValues(
                self.points[rows[0]].values,
                tuple(None if (value := numbers.get(row)) is None else float(value) for row in rows),
            )
            for rows in self._rows_by_point
        ]

    def values(self, outcome: Outcome) -> list[PointValues]:
        """Returns the outcome's values by seed at each point that has a value, in the order of the design."""
        points = [point for point in self._at_each_point(outcome) if point.values]
        if not points:
            raise ConfigError(f"outcome {outcome.figure}: no finished run has a value; {MEND}")
        return points

    @property
    def seeds(self) -> str:
        """Number of seeds per point as text, such as `3`, or `2 to 5` if the number varies."""
        # A search has no points before its first trial.
        counts = sorted({len(rows) for rows in self._rows_by_point}) or [int(self.plan["seeds"])]
        return " to ".join(map(text.count, counts[:1] + counts[1:][-1:]))

    @property
    def count(self) -> int:
        """Number of requested points; points with equal settings count separately."""
        return len(self._rows_by_point)

    @property
    def title(self) -> str:
        """Describes the study in one line."""
        design = self.plan["design"]
        seeds = "" if self.seeds == "1" else f", {self.seeds} seeds each"
        points = text.counted(self.count, "points")
        return f"{design['name']} of {points} over {', '.join(self.columns) or 'no axis'}{seeds}"

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """Notes on points that have the same drive, on runs whose spare space differs from the requested spare space,
        and on runs before steady state. Empty if the study was written by a version of ssdlab with different defaults.
        """
        return tuple(caveats.caveats(self._ran()))

    @cached_property
    def caveats_by_trace(self) -> tuple[str, ...]:
        """Notes on the runs, like `caveats`, for pages that show lifetimes at the trace's write rate."""
        return tuple(caveats.caveats(self._ran(), by_trace=True))

    @cached_property
    def modes(self) -> str:
        """Title suffix that names the replay modes of runs with timestamps."""
        keys = dict.fromkeys(point.key for point in self.points)
        records = (self._records[key] for key in keys if key in self._records)
        return modes_text(record.summary for record in records if record.result is not None)

    def _ran(self) -> list[Ran]:
        base = recorded(self.plan["configuration"])
        if base is None:
            return []
        builder, configs, ran = Builder(base), dict[tuple[object, ...], Config](), []
        for point in self.points:
            record = self._records.get(point.key)
            if record is None or record.result is None:
                continue
            summary = record.summary
            replays = summary["ingest"] is not None
            # Points with equal values of these settings share a configuration. Even large studies have few distinct
            # combinations of these values.
            asked = {key: value for key, value in point.values.items() if key == PRESET or key.startswith(REMARK_KEYS)}
            named = (replays, *asked.items())
            if named not in configs:
                configs[named] = builder.laid(asked, replays=replays)
            ran.append(Ran(point.values, configs[named], summary))
        return ran

    def _lacking(self, outcomes: Sequence[Outcome], having: int) -> str:
        """Returns a note on the points that lack an outcome, if any; `having` points have all outcomes."""
        points = len(self._rows_by_point)
        if having == points:
            return ""
        names = " or ".join(
            one.figure for one in outcomes if not all(point.values for point in self._at_each_point(one))
        )
        return f"{text.count(points - having)} of {text.counted(points, 'points')} lack {names}"

    def _mend(self) -> str:
        results = sum(record.result is not None for record in self._records.values())
        return NOTHING_LEFT if results == self.asked else MEND

    def _remarks(self, lacking: str) -> list[str]:
        left = [f"{lacking} and are omitted; {self._mend()}"] if lacking else []
        return [*self.failed, *left, *self.caveats]
