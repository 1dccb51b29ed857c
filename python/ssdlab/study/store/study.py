"""A study as a user holds it."""

import json
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import duckdb, pa, pd, pl
from ssdlab.model.config import Config, recorded
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.model.several import several
from ssdlab.study.store.folder import points_of, read_plan, records_of
from ssdlab.study.store.shared import reading
from ssdlab.study.store.table import KEY, SEED, Point, Record, dataset
from ssdlab.study.survey import caveats, curves, effects, front, indices
from ssdlab.study.survey.caveats import Ran
from ssdlab.study.survey.outcome import USUAL, Outcome, PointValues, estimate, unknown
from ssdlab.study.sweep import factorial
from ssdlab.study.sweep.axes import PRESET, TRACE, Range
from ssdlab.study.sweep.design import MEANINGS, SCREENING
from ssdlab.study.sweep.plan import Builder

MEND = "finish the sweep, or mend what failed"
NOTHING_LEFT = (
    "all runs came to their end, and theirs have no such figure; leave these levels out, or ask for another one"
)
"""What to do about points without a value."""

LOSSES_OF_TRACES = (
    "what would be lost by keeping a value is not told, as the best over several traces is that of the easiest, and no "
    "trace is a choice; sweep each trace by itself"
)

OF_REMARKS = ("device.", "host.", "workload.", "time", "nand.channels", "cache.policy", "block.scheduler")
"""What settings begin with that decide which remarks a run has."""


class Study(Finding):
    """What is known of every point that a sweep asked for.

    Saved are `report.html`, `study.json`, `study.csv` and `study.parquet`, which have a row for each run.
    """

    _page = "study"
    _json = "study.json"
    saved = "report.html, study.json, study.csv and study.parquet"

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

    @classmethod
    def read(cls, where: Path | str) -> "Study":
        """The study in a folder, or at an address such as `s3://bucket/op`.

        Raises:
            ConfigError: If there is none that this version reads.
        """
        with reading(where) as folder:
            return cls(read_plan(folder, where), records_of(folder))

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

    @cached_property
    def caveats(self) -> tuple[str, ...]:
        """What a person should know of its runs, summed up: which points are the same drive, how many runs have another
        spare space than was asked for, or have not settled. Empty of a study of a version with other defaults.
        """
        return tuple(caveats.caveats(self._ran()))

    @cached_property
    def caveats_by_trace(self) -> tuple[str, ...]:
        """The same beside lives at the rate of the trace."""
        return tuple(caveats.caveats(self._ran(), by_trace=True))

    def _ran(self) -> list[Ran]:
        """The runs that have a result."""
        base = recorded(self.plan["configuration"])
        if base is None:
            return []
        builder, configs, found = Builder(base), dict[tuple[object, ...], Config](), []
        for point in self.points:
            record = self._records.get(point.key)
            if record is None or record.result is None:
                continue
            summary = record.summary
            replays = summary["ingest"] is not None
            # Remarks ask for no other settings, and large studies have few of these.
            asked = {key: its for key, its in point.values.items() if key == PRESET or key.startswith(OF_REMARKS)}
            named = (replays, *asked.items())
            if named not in configs:
                configs[named] = builder.laid(asked, replays=replays)
            found.append(Ran(point.values, configs[named], summary))
        return found

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

    def outcomes(self, asked: Sequence[str] = ()) -> list[Outcome]:
        """The outcomes that are asked for; else those of the sweep, or the usual ones, as far as runs have them.

        Raises:
            ConfigError: If no run has a figure that is asked for.
        """
        known, named = self.figures, several(asked)
        if named and not known:
            why = next(iter(self.failed), "none was run yet")
            raise ConfigError(f"the study has no result: {why}; {MEND}")
        if named:
            return [Outcome.of(one, known) for one in self._as_swept(named)]
        found = map(Outcome.read, self.plan["outcomes"] or USUAL)
        return [one for one in found if one.figure in known]

    def asked_for(self, outcomes: Sequence[str]) -> "Study":
        """The same study with other outcomes to show first.

        Raises:
            ConfigError: If no run has one.
        """
        self.outcomes(outcomes)
        return Study({**self.plan, "outcomes": self._as_swept(several(outcomes))}, self._all)

    def with_figure(self, name: str, values: Sequence[float | None]) -> "Study":
        """The same study with one more figure, of each row of the table."""
        found = copy(self)
        found.table = self.table.append_column(name, pa.array(values, pa.float64()))
        return found

    def _as_swept(self, outcomes: Sequence[str]) -> list[str]:
        """Outcomes, with which way is better as the sweep was told unless they say so themselves."""
        swept = {Outcome.read(one).figure: one for one in self.plan["outcomes"]}
        return [swept.get(one, one) for one in outcomes]

    def to_arrow(self) -> "pa.Table":
        """`table`."""
        return self.table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table for any Arrow library: `polars.from_arrow(study)`."""
        return self.table.__arrow_c_stream__(requested_schema)

    def to_polars(self) -> Any:
        """The table as a Polars data frame."""
        return pl.from_arrow(self.table)

    def to_pandas(self) -> Any:
        """The table as a pandas data frame."""
        # It is what pyarrow converts to.
        assert pd.DataFrame is not None
        return self.table.to_pandas()

    def to_duckdb(self) -> Any:
        """A connection of DuckDB in which the table is called `runs`."""
        connection = duckdb.connect()
        connection.register("runs", self.table)
        return connection

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
    def axes(self) -> list[str]:
        """Each axis by the first of its keys; linked keys follow it."""
        return [one["keys"][0] for one in self.plan["axes"]]

    @property
    def title(self) -> str:
        """What was asked, in one line."""
        design = self.plan["design"]
        seeds = "" if self.seeds == "1" else f", {self.seeds} seeds each"
        points = text.count(len(self._rows_by_point))
        return f"{design['name']} of {points} points over {', '.join(self.columns) or 'nothing'}{seeds}"

    def effects(self, outcome: str) -> effects.Effects:
        """What each axis does to an outcome, alone and with another.

        A two-level factorial gives contrasts; a grid without gaps an analysis of variance; a Saltelli design Sobol'
        indices; one factor at a time differences from the first point; all others a straight model by least squares.

        Raises:
            ConfigError: If there is no such outcome, or points are missing that the design needs.
        """
        its = self.outcomes([outcome])[0]
        points, axes, name = self.values(its), self.axes, self.plan["design"]["name"]
        if not axes:
            raise ConfigError("the study varies nothing, so there are no effects; give an axis")
        notes: list[str] = []
        shares: list[effects.Share] = []
        lacking = self._lacking([its], len(points))
        if name in ("factorial", "saltelli", "one-at-a-time") and lacking:
            raise ConfigError(f"{lacking}, and a {name} design needs all; {self._mend()}")
        crossed = False
        if name == "factorial":
            crossed = len(points) == 1 << len(axes)
            resolution = self.plan["design"]["resolution"]
            columns = factorial.columns(len(axes), resolution) if resolution else [1 << at for at in range(len(axes))]
            found, shares, notes = effects.two_level(axes, columns, points)
        elif name == "saltelli":
            found, _, notes = effects.sampled(axes, points)
            shares = indices.indices(axes, points, self.plan["design"]["seed"])
        elif name == "one-at-a-time":
            found = effects.one_at_a_time(axes, points)
        elif name == "grid" and not lacking and not self._gaps():
            crossed = True
            found, shares = effects.complete(axes, points)
        else:
            found, shares, notes = effects.sampled(
                axes, points, f"{lacking}: {self._mend()}" if lacking else effects.SAMPLE_MORE
            )
            if name == "grid":
                notes.insert(0, "a grid with gaps has no analysis of variance, so a straight model stands in")
        if crossed and TRACE in self.columns:
            crossed = False
            notes.append(LOSSES_OF_TRACES)
        if self.seeds == "1" and name in ("factorial", "grid", "one-at-a-time"):
            notes.append("a single seed does not tell how sure an effect is; sweep with 5 seeds, for example")
        return effects.Effects(
            about=self.title,
            source=self._source(),
            outcome=its,
            method=MEANINGS[name],
            mean=sum(point.mean for point in points) / len(points),
            effects=found,
            shares=shares,
            losses=effects.losses(axes, points, its) if crossed else [],
            notes=[*self._remarks(lacking), *notes],
        )

    def _lacking(self, outcomes: Sequence[Outcome], having: int) -> str:
        """That points have no value of an outcome, of which so many have one; empty if all have."""
        points = len(self._rows_by_point)
        names = " and ".join(one.figure for one in outcomes)
        return (
            f"{text.count(points - having)} of {text.counted(points, 'points')} lack {names}" if having < points else ""
        )

    def _mend(self) -> str:
        """What to do about points without an outcome."""
        results = sum(record.result is not None for record in self._records.values())
        return NOTHING_LEFT if results == self.asked else MEND

    def _remarks(self, lacking: str) -> list[str]:
        """What a person should know of the runs before reading what they come to."""
        left = [f"{lacking} and are left out; {self._mend()}"] if lacking else []
        return [*self.failed, *left, *self.caveats]

    def _gaps(self) -> bool:
        """Whether combinations of a grid were left out."""
        total = 1
        for one in self.plan["axes"]:
            total *= len(one["levels"])
        return total * int(self.plan["seeds"]) != self.asked

    def _ranges(self) -> dict[str, Range]:
        """The axes of which samples were taken between two ends."""
        return {
            one["keys"][0]: Range.of(*(level[0] for level in one["levels"]), log=one["log"])
            for one in self.plan["axes"]
            if one["range"]
        }

    def curves(self, outcome: str, x: str | None = None, by: str | None = None) -> curves.Curves:
        """An outcome against an axis, averaged over the axes that are not named.

        Args:
            outcome: Its name.
            x: The axis; the one with most values if left out.
            by: The axis with a curve for each value; of those left the one with most values if x is left out too, but
                none of which samples were taken.

        Raises:
            ConfigError: If there is no such outcome or axis.
        """
        its = self.outcomes([outcome])[0]
        found = self.values(its)
        points, parts = curves.grouped(found, self._ranges())
        levels = {axis: len({point.levels[axis] for point in points}) for axis in self.axes}
        order = sorted(levels, key=lambda axis: -levels[axis])
        if not order:
            raise ConfigError("the study varies nothing, so there is no curve; give an axis")
        linked = {key: one["keys"][0] for one in self.plan["axes"] for key in one["keys"]}
        if x is None:
            x = next((axis for axis in order if axis != linked.get(by or "")), order[0])
            # Samples are too few for all pairs of their values.
            by = by or next((axis for axis in order if axis != x and axis not in parts), None)
        for axis in (x, by):
            if axis is not None and axis not in self.columns:
                raise ConfigError(f"no axis is called {text.path(axis)}; there are {', '.join(self.columns)}")
        if x == by:
            raise ConfigError(f"{x} cannot be both along and between curves; name another axis")
        return curves.Curves(
            about=self.title,
            source=self._source(),
            outcome=its,
            x=x,
            by=by,
            cells=curves.cells(points, x, by, self.axes),
            others=[axis for axis in self.axes if axis not in (linked[x], linked.get(by or ""))],
            parts=parts,
            notes=[
                *self._remarks(self._lacking([its], len(found))),
                *(
                    f"samples of {axis} are taken together in {text.count(len(parts[axis]))} parts of its range"
                    for axis in (x, by)
                    if axis in parts
                ),
            ],
        )

    def pareto(self, outcomes: Sequence[str] = ()) -> front.Front:
        """The points that no other beats in all outcomes, by their means over seeds.

        Args:
            outcomes: Two or more, such as `["write_amplification", "time.iops:max"]`; those of the study if left out.

        Raises:
            ConfigError: If there are fewer than two, no run has one, or no point has all.
        """
        its = self.outcomes(outcomes)
        if len(its) < 2:
            raise ConfigError(
                "a front takes two outcomes or more; name them, as in -O write_amplification -O time.iops:max"
            )
        rows = zip(*(self._at_each_point(one) for one in its), strict=True)
        having = [row for row in rows if all(point.values for point in row)]
        if not having:
            names = " and ".join(one.figure for one in its)
            raise ConfigError(f"no point has {names} together; name outcomes that the same runs have")
        # Samples may be alike.
        kept = [*{tuple(row[0].levels.values()): row for row in having}.values()]
        estimates = [tuple(estimate(point.values) for point in row) for row in kept]
        best = front.on_the_front([[one.mean for one in row] for row in estimates], [one.large for one in its])
        return front.Front(
            about=self.title,
            source=self._source(),
            axes=self.columns,
            outcomes=its,
            candidates=[
                front.Candidate(row[0].levels, its_estimates, its_best)
                for row, its_estimates, its_best in zip(kept, estimates, best, strict=True)
            ],
            notes=self._remarks(self._lacking(its, len(having))),
        )

    def to_dict(self) -> dict[str, Any]:
        """What was asked, and every row with its axes as they were written, ready for JSON. `seeds` is None of a
        screening, whose parts have different numbers of them.
        """
        outcomes = [one.figure for one in self.outcomes()]
        rows = self.table.select(["run", "error", *outcomes]).to_pylist()
        return {
            "design": self.plan["design"],
            "seeds": self.plan["seeds"],
            "asked": self.asked,
            "finished": self.finished,
            "rows": [
                {
                    **self.points[row["run"]].values,
                    SEED: self.points[row["run"]].seed,
                    KEY: self.points[row["run"]].key,
                    **row,
                }
                for row in rows
            ],
        }

    def _source(self) -> Mapping[str, Any] | None:
        source: Mapping[str, Any] | None = self.plan["source"]
        return source

    def _configuration(self) -> dict[str, Any]:
        found: dict[str, Any] = self.plan["configuration"]
        return found

    def _tables(self) -> Contents:
        return {"study.csv": self.table, "study.parquet": self.table}

    plot = Plot("study.parallel")

    def __repr__(self) -> str:
        return f"<ssdlab.Study: {self.title}; {self.finished} of {self.asked} runs>"
