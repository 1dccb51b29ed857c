"""What a person should know of the runs of a study before reading what they come to."""

from collections.abc import Sequence
from functools import cached_property

from ssdlab import text
from ssdlab.model.config import Config, recorded
from ssdlab.study.store.runs import MEND
from ssdlab.study.store.seeds import Seeds
from ssdlab.study.survey import caveats
from ssdlab.study.survey.caveats import Ran
from ssdlab.study.survey.outcome import Outcome
from ssdlab.study.sweep.axes import PRESET
from ssdlab.study.sweep.plan import Builder

NOTHING_LEFT = (
    "all runs came to their end, and theirs have no such figure; leave these levels out, or ask for another one"
)
"""What to do about points without a value."""

OF_REMARKS = ("device.", "host.", "workload.", "time", "nand.channels", "cache.policy", "block.scheduler")
"""What settings begin with that decide which remarks a run has."""


class Remarked(Seeds):
    """Runs with what is to be told of them."""

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

    def _lacking(self, outcomes: Sequence[Outcome], having: int) -> str:
        """Which of the outcomes points have no value of, where so many have all; empty if all points have."""
        points = len(self._rows_by_point)
        if having == points:
            return ""
        names = " or ".join(
            one.figure for one in outcomes if not all(point.values for point in self._at_each_point(one))
        )
        return f"{text.count(points - having)} of {text.counted(points, 'points')} lack {names}"

    def _mend(self) -> str:
        """What to do about points without an outcome."""
        results = sum(record.result is not None for record in self._records.values())
        return NOTHING_LEFT if results == self.asked else MEND

    def _remarks(self, lacking: str) -> list[str]:
        """What a person should know of the runs before reading what they come to."""
        left = [f"{lacking} and are left out; {self._mend()}"] if lacking else []
        return [*self.failed, *left, *self.caveats]
