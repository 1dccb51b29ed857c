"""Notes on the runs of a study, shown before the results."""

from collections.abc import Sequence
from functools import cached_property

from ssdlab import text
from ssdlab.model.config import Config, recorded
from ssdlab.model.replayed import modes_text
from ssdlab.study.store.runs import MEND, Runs
from ssdlab.study.survey import caveats
from ssdlab.study.survey.caveats import Ran
from ssdlab.study.survey.outcome import Outcome
from ssdlab.study.sweep.axes import PRESET
from ssdlab.study.sweep.plan import Builder

NOTHING_LEFT = "all runs have finished, but some have no value; omit these axis values, or choose another metric"
"""Remedy for points that have no value although all runs of the study have finished."""

REMARK_KEYS = ("device.", "host.", "workload.", "time", "nand.channels", "cache.policy", "block.scheduler")
"""Key prefixes of the settings that affect the notes on runs."""


class Remarked(Runs):
    """Runs of a study, with notes on them."""

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
