"""What a sweep would run, and how long that takes, about."""

import math
from collections.abc import Mapping
from typing import Any

from ssdlab.model.finding import Contents, Finding
from ssdlab.study.sweep.pilots import Pilots
from ssdlab.study.sweep.plan import Plan


class Preview(Finding):
    """The runs of a sweep before it begins.

    Saved are `report.html`, `preview.json` and `preview.csv`, a line for each run.
    """

    _page = "preview"
    _json = "preview.json"
    saved = "report.html, preview.json and preview.csv"

    def __init__(
        self,
        *,
        planned: Plan,
        left: int,
        jobs: int,
        pilots: Pilots | None,
        memory_bytes: int,
        most_bytes: int,
        too_large: int,
    ) -> None:
        self.planned = planned
        self.left = left
        """Runs that are not done yet; equal ones count once."""
        self.jobs = jobs
        """At a time."""
        self.pilots = pilots
        """What some of them took, and what that says of the others; None if there is none that can be done."""
        self.memory_bytes = memory_bytes
        """What the largest run takes, about."""
        self.most_bytes = most_bytes
        """What a run may take here."""
        self.too_large = too_large
        """Runs, of those left, that take more, and so fail at once."""

    @property
    def total_seconds(self) -> float:
        """What those left take, about."""
        return self._together(1.0)

    @property
    def range_seconds(self) -> tuple[float, float] | None:
        """From and to what those left take, if other runs are off as those that were tried are; None if none was."""
        if self.pilots is None or self.pilots.off is None:
            return None
        least, most = map(self._together, self.pilots.off)
        return least, most

    def _together(self, factor: float) -> float:
        """What those left take if the ones that were not tried take as many times what is expected: no less than the
        longest alone.
        """
        if self.pilots is None:
            return 0.0
        known = self.pilots.seconds
        each = [one if key in known else factor * one for key, one in self.pilots.expected.items()]
        return max(math.fsum(each) / self.jobs, *each)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "points": len(self.planned.rows),
            "runs": len(self.planned.runs),
            "left": self.left,
            "jobs": self.jobs,
            "pilots_s": [] if self.pilots is None else [*self.pilots.seconds.values()],
            "pilots_complete": self.pilots is None or self.pilots.complete,
            "estimate_s": self.total_seconds,
            "estimate_range_s": self.range_seconds,
            "memory_bytes": self.memory_bytes,
            "most_bytes": self.most_bytes,
            "too_large": self.too_large,
            "rows": [{**row.values, "seed": row.seed, "key": row.key} for row in self.planned.rows],
        }

    def _configuration(self) -> dict[str, Any]:
        return self.planned.question.base.to_dict()

    def _source(self) -> Mapping[str, Any] | None:
        trace = self.planned.question.trace
        return None if trace is None else trace.about

    def _tables(self) -> Contents:
        columns = (*self.planned.columns, "seed", "key")
        rows = [[*row.values.values(), row.seed, row.key] for row in self.planned.rows]
        return {"preview.csv": [columns, *rows]}

    def __repr__(self) -> str:
        return f"<ssdlab.Preview of {len(self.planned.rows)} points: {self.left} runs to do>"
