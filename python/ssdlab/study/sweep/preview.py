"""Preview of a sweep: the runs to execute, and their estimated duration."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ssdlab.model.finding import Contents, Finding
from ssdlab.study.sweep.pilots import Pilots
from ssdlab.study.sweep.plan import Plan


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Preview(Finding):
    """Preview of a sweep: the runs to execute, with estimates of their duration.

    Files: `report.html`, `preview.json`, and `preview.csv` with a line per run.
    """

    _page = "preview"
    _json = "preview.json"
    saved = "report.html, preview.json and preview.csv"

    planned: Plan
    left: int
    """Number of distinct runs that have not finished yet."""
    jobs: int
    pilots: Pilots | None
    """Estimates from pilot runs; None if no run can be executed."""
    memory_bytes: int
    """Estimated memory in bytes of the largest run."""
    most_bytes: int
    too_large: int
    """Number of remaining runs that need too much memory and so fail."""

    @property
    def total_seconds(self) -> float:
        """Estimated duration in seconds of the runs that are not finished."""
        return self._together(1.0)

    @property
    def range_seconds(self) -> tuple[float, float] | None:
        """Shortest and longest plausible duration in seconds, if the estimates are off as much as in the runs that
        check the model; None without such runs.
        """
        if self.pilots is None or self.pilots.off is None:
            return None
        least, most = map(self._together, self.pilots.off)
        return least, most

    def _together(self, factor: float) -> float:
        """Returns the duration in seconds, if unmeasured runs take `factor` times their estimates."""
        if self.pilots is None:
            return 0.0
        known = self.pilots.seconds
        each = [one if key in known else factor * one for key, one in self.pilots.expected.items()]
        return max(math.fsum(each) / self.jobs, *each)

    def to_dict(self) -> dict[str, Any]:
        """Returns runs, estimated duration and memory, ready for JSON."""
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
        return f"<ssdlab.Preview of {len(self.planned.rows)} points: {self.left} runs left>"
