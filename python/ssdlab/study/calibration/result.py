"""Results of a calibration."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ssdlab import text
from ssdlab.lazy import Numbers
from ssdlab.model.config import Config
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.study.calibration import knee

SCHEDULER = "block.scheduler.pardispatcher"
"""Scheduler whose settings are computed from the knees of the throughput curves."""

MEBIBYTE = 1 << 20


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Calibration(Finding):
    """Throughput by region size and requests in flight, and the knees of the throughput curves.

    Tables have a row per region and a column per number of requests in flight, both ascending. Files: `report.html`,
    `calibration.json` and `calibration.csv` with a line per measured cell: `op`, `region_bytes`, `in_flight`, `iops`.
    """

    _page = "calibration"
    _json = "calibration.json"
    saved = "report.html, calibration.json and calibration.csv"

    source: Mapping[str, Any]
    """The calibrated target: `kind` is `simulated`, `file` or `block device`."""
    config: Config | None
    """The simulated drive; None for a real drive."""
    size: str
    """Request size as the user set it."""
    regions: tuple[int, ...]
    """Sizes of the regions in bytes, one per row."""
    in_flight: tuple[int, ...]
    """Numbers of requests in flight, one per column."""
    iops: "Mapping[str, Numbers]"
    """Requests per second of `read` and, if measured, `write`; NaN in unmeasured cells."""
    is_stopped: bool
    noise: Mapping[str, float] = field(default_factory=dict)
    """Largest throughput difference between rounds, as a fraction, by operation; empty for a partial result."""
    write_amplification: "Numbers | None" = None
    """Median over rounds of the write amplification of each cell; None for a real drive."""
    remarks: tuple[str, ...] = ()

    @property
    def partial(self) -> bool:
        """True if the calibration was stopped early; a partial result gives no advice."""
        return self.is_stopped

    def knee(self, op: str, region: int) -> int | None:
        """Returns the fewest requests in flight with 95 % of a region's best throughput; None for an incomplete row."""
        curve = self.iops[op][region]
        return None if (curve != curve).any() else self.in_flight[knee.first_close(curve)]

    @property
    def region(self) -> int | None:
        """Row of the advised region: the first region that reaches 95 % of the best throughput for both reads and
        writes. If none does, the region with the largest share of the best throughput, using the lower of its read and
        write shares. None for a partial result.
        """
        return None if self.partial else knee.region(self.iops)

    @property
    def differences(self) -> dict[str, float]:
        """For each operation, the largest throughput difference between regions at the same number of requests in
        flight, as a fraction of the higher throughput. Empty for a partial result or a single region.
        """
        if self.partial or len(self.regions) == 1:
            return {}
        return {op: knee.difference(table) for op, table in self.iops.items()}

    def tolerance(self, op: str) -> float:
        """Returns the throughput difference up to which regions count as equal: 5 %, or the noise if that is larger."""
        return max(1 - knee.SHARE, self.noise.get(op, 0.0))

    @property
    def region_matters(self) -> bool:
        """True if throughput differs between regions by more than the tolerance, for reads or for writes."""
        return any(difference > self.tolerance(op) for op, difference in self.differences.items())

    @property
    def settings(self) -> dict[str, str]:
        """Settings for the scheduler `pardispatcher`, without a region size if it has no effect; empty if partial."""
        region = self.region
        if region is None:
            return {}
        size = -(-self.regions[region] // MEBIBYTE) * MEBIBYTE
        settings = {f"{SCHEDULER}.region_size": text.exact_size(size)} if self.region_matters else {}
        return settings | {f"{SCHEDULER}.{op}_batch": str(self.knee(op, region)) for op in self.iops}

    def to_dict(self) -> dict[str, Any]:
        """Returns settings, knees and throughput of all cells, ready for JSON."""
        region = self.region
        return {
            "size": self.size,
            "share": knee.SHARE,
            "regions": list(self.regions),
            "in_flight": list(self.in_flight),
            "iops": {
                op: [[None if math.isnan(cell) else cell for cell in row] for row in table.tolist()]
                for op, table in self.iops.items()
            },
            "knees": {op: [self.knee(op, row) for row in range(len(self.regions))] for op in self.iops},
            "differences": self.differences,
            "noise": dict(self.noise),
            "region_matters": self.region_matters,
            "region_bytes": None if region is None else self.regions[region],
            "settings": self.settings,
        }

    def _source(self) -> Mapping[str, Any]:
        return self.source

    def _configuration(self) -> dict[str, Any] | None:
        return None if self.config is None else self.config.to_dict()

    def _tables(self) -> Contents:
        rows: list[Sequence[object]] = [("op", "region_bytes", "in_flight", "iops")]
        for op, table in self.iops.items():
            for region, row in zip(self.regions, table.tolist(), strict=True):
                cells = zip(self.in_flight, row, strict=True)
                rows += [(op, region, depth, cell) for depth, cell in cells if not math.isnan(cell)]
        return {"calibration.csv": rows}

    plot = Plot("calibration.throughput")

    @property
    def title(self) -> str:
        """Describes the calibrated target in one line."""
        source = self.source
        if source["kind"] == "simulated":
            return f"simulated drive of {text.size(source['bytes'])}"
        return f"{source['kind']} {text.path(source['path'])} of {text.size(source['bytes'])}"

    def __repr__(self) -> str:
        shape = f"{len(self.regions)} regions, {len(self.in_flight)} queue depths"
        return f"<ssdlab.Calibration of {self.title}: {shape}>"
