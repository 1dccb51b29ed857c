"""Compares write amplification with published theory, row by row of `waf_reference.csv`.

Protocol: closed blocks hold exactly `alpha` times the logical pages. Open blocks and the spare block are added
(`device.reserve = "extra"`), and garbage collection writes to the host's open block. The device is filled once,
overwritten 6 times (uniform) or 14 times (skewed) as a warm-up, and measured over 3 more overwrites.

A row with separated pools is simulated as two independent devices with uniform writes. Pool i has the share f_i of the
logical pages, s_i of the spare pages and r_i of the writes. The write amplification A of the row is the sum of r_i A_i.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ssdlab.model.config import Config
from ssdlab.model.finding import Finding
from ssdlab.model.requests import Monitor
from ssdlab.study.executor import Executor

REFERENCE = "waf_reference.csv"
TOLERANCE = 0.01

PAGE_BYTES = 4096
BLOCKS = {64: 10_000, 128: 6_000, 256: 4_000}
"""Number of closed blocks to simulate for each number of pages per block, as in the reference simulations."""

QUICK_EVERY = 13
"""Step between rows of the quick subset, which covers all policies, block sizes and types of workloads."""

ROUND_SPARES = (0.03, 0.07, 0.1, 0.15, 0.2, 0.28)
"""Spare factors that are exact in the table; in all other rows, the over-provisioning is exact."""


@dataclass(frozen=True)
class Pool:
    """A simulated device for a reference row: the whole device, or its hot or cold part."""

    writes: float
    """Share r of all writes that go to this pool."""
    blocks: int
    alpha: float
    """Numbers of closed blocks, and of physical pages per logical page."""


@dataclass(frozen=True)
class Row:
    """A row of the reference table."""

    number: int
    workload: str
    hot_requests: float | None
    """Share r of the requests that go to hot pages; None for uniform writes."""
    hot_space: float | None
    """Share f of the logical pages that are hot."""
    alpha: float
    policy: str
    pages_per_block: int
    analytic: float | None
    """Write amplification of a closed formula, if there is one."""
    simulated: float
    """Write amplification of the reference simulation."""
    hot_spare: float | None
    """The hot pool's share of the spare pages; None without separated pools."""

    @property
    def reference(self) -> float:
        """Write amplification of the closed formula or, without one, of the reference simulation."""
        return self.simulated if self.analytic is None else self.analytic

    @property
    def pools(self) -> list[Pool]:
        """Independent devices to simulate, whose write amplifications, weighted by their shares of writes, add up."""
        blocks = BLOCKS[self.pages_per_block]
        if self.hot_spare is None:
            return [Pool(1.0, blocks, self.alpha)]
        assert self.hot_requests is not None and self.hot_space is not None
        pools = []
        for writes, space, spare in (
            (self.hot_requests, self.hot_space, self.hot_spare),
            (1 - self.hot_requests, 1 - self.hot_space, 1 - self.hot_spare),
        ):
            alpha = 1 + spare * (self.alpha - 1) / space
            pools.append(Pool(writes, round(blocks * space * alpha / self.alpha), alpha))
        return pools

    def config(self, pool: Pool) -> Config:
        """Returns the configuration that simulates a pool."""
        skewed = self.hot_requests is not None
        mixed = skewed and self.hot_spare is None
        logical_pages = int(pool.blocks * self.pages_per_block / pool.alpha)
        overrides: dict[str, object] = {
            "time": "count",
            "device.capacity": f"{logical_pages * PAGE_BYTES}B",
            "device.op": f"{100 * (pool.alpha - 1):.10f}%",
            "device.reserve": "extra",
            "nand.page_size": f"{PAGE_BYTES}B",
            "nand.pages_per_block": self.pages_per_block,
            "ftl.page.gc": _gc(self.policy),
            "ftl.page.survivors": "shared",
            "ftl.page.trigger": "victim",
            "ftl.page.allocation": "fifo",
            "precondition.fill": "100%",
            "precondition.overwrite": "none",
            "host.warmup": (14 if mixed else 6) * logical_pages,
            "workload.requests": (17 if mixed else 9) * logical_pages,
            "workload.reads": "0%",
            "workload.size": f"{PAGE_BYTES}B",
            "workload.align": f"{PAGE_BYTES}B",
            "workload.pattern": "hot_cold" if mixed else "uniform",
        }
        if match := re.search(r"d=(\d+)", self.policy):
            overrides["ftl.page.gc.d_choices.d"] = match[1]
        if mixed:
            overrides["workload.pattern.hot_cold.hot_requests"] = f"{100 * (self.hot_requests or 0):g}%"
            overrides["workload.pattern.hot_cold.hot_space"] = f"{100 * (self.hot_space or 0):g}%"
        return Config("tlc-chip", overrides=overrides)


@dataclass(frozen=True)
class Outcome:
    """A simulated row of the reference table."""

    row: Row
    ours: float

    @property
    def difference(self) -> float:
        """Relative deviation of the simulated write amplification from the reference."""
        return self.ours / self.row.reference - 1

    @property
    def passed(self) -> bool:
        """True if the deviation is within the tolerance."""
        return abs(self.difference) <= TOLERANCE


def _gc(policy: str) -> str:
    for start, name in (("FIFO", "fifo"), ("greedy", "greedy"), ("d-choices", "d_choices"), ("random", "random")):
        if policy.startswith(start):
            return name
    raise ValueError(f"ssdlab has no counterpart of the reference's policy {policy!r}")


def rows() -> Iterator[Row]:
    """Yields the rows of the reference table in order."""
    text = Path(__file__).with_name(REFERENCE).read_text(encoding="utf-8")
    hot_spare = None
    for number, line in enumerate(csv.DictReader(text.splitlines()), 1):
        workload = line["workload"]
        if match := re.search(r"hot share of spare ([0-9.]+)", workload):
            hot_spare = float(match[1])
        elif "same split" not in workload:
            hot_spare = None
        spare = float(line["spare_frac_of_physical_Sf"])
        # The ratios in the table are rounded, but either the spare factor or the over-provisioning is exact.
        exact = 1 / (1 - spare) if spare in ROUND_SPARES else 1 + float(line["OP_over_logical"])
        hot = re.match(r"r=([0-9.]+) f=([0-9.]+)", line["hot_params"])
        yield Row(
            number=number,
            workload=workload,
            hot_requests=float(hot[1]) if hot else None,
            hot_space=float(hot[2]) if hot else None,
            alpha=exact,
            policy=line["gc_policy"],
            pages_per_block=int(line["pages_per_block"]),
            analytic=float(line["analytic_WA"]) if line["analytic_WA"] else None,
            simulated=float(line["sim_WA"]),
            hot_spare=hot_spare,
        )


def quick_rows() -> list[Row]:
    """Returns a subset of the rows, small enough to be simulated within seconds."""
    return [row for row in rows() if row.number % QUICK_EVERY == 1]


class Amplification(Finding):
    """The simulated rows, out of `asked` rows of the reference table."""

    _page = "amplification"
    _json = "amplification.json"
    saved = "report.html and amplification.json"

    def __init__(self, outcomes: Sequence[Outcome], asked: int) -> None:
        self.outcomes = tuple(outcomes)
        self.asked = asked

    @property
    def partial(self) -> bool:
        """True if the validation was stopped early."""
        return len(self.outcomes) < self.asked

    @property
    def passed(self) -> bool:
        """True if the deviation of every row is within the tolerance."""
        return all(one.passed for one in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """Returns all rows of the reference table with the simulated results, ready for JSON."""
        rows = [
            {**asdict(one.row), "ours": one.ours, "difference": one.difference, "passed": one.passed}
            for one in self.outcomes
        ]
        return {"passed": self.passed, "asked": self.asked, "rows": rows}

    def _source(self) -> dict[str, Any]:
        return {"kind": "reference", "name": REFERENCE}


def run(chosen: Sequence[Row], *, jobs: int | None = None, monitor: Monitor | None = None) -> Amplification:
    """Simulates the chosen rows in parallel; omits unfinished rows if the monitor stops the simulations."""
    executor = Executor("simulate", sum(len(row.pools) for row in chosen), jobs=jobs, monitor=monitor)

    def simulate(row: Row) -> Outcome | None:
        total = 0.0
        for pool in row.pools:
            result = executor.simulate(row.config(pool))
            if result is None or result.write_amplification is None:
                return None
            total += pool.writes * result.write_amplification
        return Outcome(row, total)

    outcomes = executor.run([partial(simulate, row) for row in chosen])
    return Amplification([one for one in outcomes if one is not None], len(chosen))
