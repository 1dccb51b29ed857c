"""What a calibration found."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ssdlab import text
from ssdlab.lazy import Numbers
from ssdlab.model.config import Config
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.study.calibration import knee

SCHEDULER = "block.scheduler.pardispatcher"
"""Whose settings the knees are."""

MEBIBYTE = 1 << 20


class Calibration(Finding):
    """Throughput against the size of a region and the requests in flight in it, and the knees of these curves.

    Tables have a row for each region and a column for each number of requests in flight, both ascending. Saved are
    `report.html`, `calibration.json` and `calibration.csv`, which has a line for each cell measured: `op`,
    `region_bytes`, `in_flight`, `iops`.
    """

    _page = "calibration"
    _json = "calibration.json"
    saved = "report.html, calibration.json and calibration.csv"

    def __init__(
        self,
        *,
        source: Mapping[str, Any],
        config: Config | None,
        size: str,
        regions: tuple[int, ...],
        in_flight: tuple[int, ...],
        iops: "Mapping[str, Numbers]",
        partial: bool,
        noise: Mapping[str, float] | None = None,
        write_amplification: "Numbers | None" = None,
        remarks: tuple[str, ...] = (),
    ) -> None:
        self.source = dict(source)
        """What was measured: `kind` is `simulated`, `file` or `block device`, with its particulars."""
        self.config = config
        """The simulated drive; None for a real one."""
        self.size = size
        """Size of a request, as it was set."""
        self.regions = regions
        """Bytes of each region: the rows."""
        self.in_flight = in_flight
        """Requests in flight: the columns."""
        self.iops = dict(iops)
        """Requests per second of `read` and, if they were measured, of `write`; NaN in cells that were not reached."""
        self._partial = partial
        self.noise = dict(noise or {})
        """For each operation the largest difference between rounds of a cell, as a share of the larger throughput;
        empty for a partial result."""
        self.write_amplification = write_amplification
        """Of the writes of each cell, the median of its rounds, on a simulated drive; None on a real one."""
        self.remarks = remarks
        """What a person should know before reading figures."""

    @property
    def partial(self) -> bool:
        """Whether the calibration was stopped before its end; then it advises nothing."""
        return self._partial

    def knee(self, op: str, region: int) -> int | None:
        """Fewest requests in flight that reach 95 % of the best of a region.

        Args:
            op: `read` or `write`.
            region: The row.

        Returns:
            None if not all of the row was measured.
        """
        curve = self.iops[op][region]
        return None if (curve != curve).any() else self.in_flight[knee.first_close(curve)]

    @property
    def region(self) -> int | None:
        """The row of the region to take: the first that reaches 95 % of the best, for reads and for writes.

        Where none reaches both, the one whose worse share is largest. None for a partial result.
        """
        return None if self.partial else knee.region(self.iops)

    @property
    def differences(self) -> dict[str, float]:
        """For each operation the largest difference between regions with equally many requests in flight.

        It is a share of the larger throughput. Empty for a partial result, and for a single region.
        """
        if self.partial or len(self.regions) == 1:
            return {}
        return {op: knee.difference(table) for op, table in self.iops.items()}

    def tolerance(self, op: str) -> float:
        """The difference up to which regions count as equal: 5 %, or what rounds of one cell differ by if more."""
        return max(1 - knee.SHARE, self.noise.get(op, 0.0))

    @property
    def region_matters(self) -> bool:
        """Whether some regions differ by more than is tolerated, in any operation."""
        return any(difference > self.tolerance(op) for op, difference in self.differences.items())

    @property
    def settings(self) -> dict[str, str]:
        """What to set for the scheduler `pardispatcher`; nothing for a partial result.

        The size of regions is left out where it makes no difference.
        """
        region = self.region
        if region is None:
            return {}
        size = -(-self.regions[region] // MEBIBYTE) * MEBIBYTE
        settings = {f"{SCHEDULER}.region_size": text.exact_size(size)} if self.region_matters else {}
        return settings | {f"{SCHEDULER}.{op}_batch": str(self.knee(op, region)) for op in self.iops}

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
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
            "noise": self.noise,
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
        """What was measured, in one line."""
        source = self.source
        if source["kind"] == "simulated":
            return f"simulated drive of {text.size(source['bytes'])}"
        return f"{source['kind']} {text.path(source['path'])} of {text.size(source['bytes'])}"

    def __repr__(self) -> str:
        shape = f"{len(self.regions)} regions, {len(self.in_flight)} numbers of requests in flight"
        return f"<ssdlab.Calibration of {self.title}: {shape}>"
