"""What a sweep would run, and how long that takes, about."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ssdlab.model.finding import Contents, Finding
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
        pilots_s: Sequence[float],
        memory_bytes: int,
        most_bytes: int,
        too_large: int,
    ) -> None:
        self.planned = planned
        self.left = left
        """Runs that are not done yet; equal ones count once."""
        self.jobs = jobs
        """At a time."""
        self.pilots_s = tuple(pilots_s)
        """What each pilot run took."""
        self.memory_bytes = memory_bytes
        """What the largest run takes, about."""
        self.most_bytes = most_bytes
        """What a run may take here."""
        self.too_large = too_large
        """Runs, of those left, that take more, and so fail at once."""

    @property
    def seconds(self) -> float | None:
        """Of a pilot run: their mean; None if there was none."""
        return statistics.fmean(self.pilots_s) if self.pilots_s else None

    @property
    def total_seconds(self) -> float:
        """What those left take, about: no less than the longest alone."""
        if self.seconds is None:
            return 0.0
        return max(self.seconds * (self.left - self.too_large) / self.jobs, *self.pilots_s)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "points": len(self.planned.rows),
            "runs": len(self.planned.runs),
            "left": self.left,
            "jobs": self.jobs,
            "pilot_s": self.seconds,
            "estimate_s": self.total_seconds,
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
