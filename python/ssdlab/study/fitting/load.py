"""Loads on a drive, and the metrics measured under each load, on a real or a simulated drive."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ssdlab import text
from ssdlab.lazy import np
from ssdlab.model.columns import LatencyColumns
from ssdlab.model.result import Result

PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")

RATE = "iops"

LESS_READ = " - read "
"""Separator in the names of metrics that are a difference of two latencies, such as `mean - read mean` of writes."""

ROUNDING_NS = 300.0
"""Standard deviation of the error that rounding a latency to whole microseconds causes."""

REQUESTS = 4_000, 8_000
"""Minimum and maximum number of measured requests of each operation in the first queue of a simulation."""

BEYOND = 8
"""Minimum number of measured requests beyond the highest percentile."""

LARGE = 16 << 10
"""Size in bytes above which requests count as large; their rate is shown as a bandwidth."""

PAGE = 4096
"""Size of a page in bytes; requests start and end at page boundaries."""

FEWEST_WRITES = 100_000
"""Minimum number of random writes in a closed loop: fewer writes would collect garbage from only a few blocks."""

MOST_OUTSTANDING = 1_000_000

SIZES = 512, 1 << 30
"""Smallest and largest request in bytes."""

FEWEST_LARGE, MOST = 1_500, 200_000
"""Number of requests in a simulation of large requests, and maximum number in any simulation."""


class Figure(NamedTuple):
    """A metric of a load: its operation and its name."""

    op: Literal["read", "write"]
    name: str
    """`iops` for requests per second; `mean` or a percentile such as `p99.9` for a latency in nanoseconds; for writes
    also a difference of latencies such as `mean - read mean`.
    """

    @property
    def percentile(self) -> float | None:
        """Percentile of the metric, such as 99.9; None for a mean or a rate."""
        match = PERCENTILE.fullmatch(self.name)
        return float(match[1]) if match else None

    @property
    def is_rate(self) -> bool:
        """True for a rate in requests per second."""
        return self.name == RATE

    def __str__(self) -> str:
        return f"{self.op}s per second" if self.is_rate else f"{self.op} {self.name}"

    def spread(self, value: float) -> float:
        """Returns the expected relative standard deviation of the metric.

        This allows for the noise of a measurement over several minutes and of the simulation; tail latencies vary most.
        """
        if self.is_rate:
            return 0.02
        percentile = self.percentile or 50.0
        own = next(spread for least, spread in ((99.95, 0.25), (99.5, 0.15), (97, 0.08), (75, 0.05), (0, 0.03))
                   if percentile >= least)  # fmt: skip
        return float(np.hypot(own, ROUNDING_NS / value))


@dataclass(frozen=True)
class Queue:
    """A group of identical submission queues of a load."""

    count: int
    reads: float
    """Share of reads, from 0 to 1."""
    depth: int
    arrival: Literal["closed", "fixed", "poisson"] = "closed"
    """`closed` keeps `depth` requests outstanding; others arrive at `rate`, with at most `depth` outstanding."""
    rate: float = 0.0
    """Requests per second of each queue; 0 in a closed loop."""

    def __str__(self) -> str:
        return f"{self.count}:{self.arrival}:{max(round(self.rate), 1)}/s:{100 * self.reads:g}%"


@dataclass(frozen=True)
class Load:
    """A load on a drive during a measurement: the submission queues, and the pattern and size of their requests.

    Latencies are measured in the first queue; rates are summed over all queues.
    """

    name: str
    queues: tuple[Queue, ...]
    pattern: Literal["random", "sequential"] = "random"
    size: int = 4096

    @property
    def probe(self) -> Queue:
        """The first queue, whose latencies are measured."""
        return self.queues[0]

    @property
    def is_closed(self) -> bool:
        """True for a closed loop, in which each queue keeps `depth` requests outstanding."""
        return self.probe.arrival == "closed"

    @property
    def outstanding(self) -> int:
        """Maximum number of outstanding requests, summed over all queues."""
        return sum(queue.count * queue.depth for queue in self.queues)

    @property
    def offered(self) -> float:
        """Requests per second offered by all queues; 0 in a closed loop."""
        return sum(queue.count * queue.rate for queue in self.queues)

    @property
    def offered_writes(self) -> float:
        """Writes per second offered by all queues; 0 in a closed loop."""
        return sum(queue.count * queue.rate * (1 - queue.reads) for queue in self.queues)

    @property
    def has_writes(self) -> bool:
        """True if any queue of the load writes."""
        return any(queue.reads < 1 for queue in self.queues)

    def fault(self) -> str | None:
        """Returns the reason why the load cannot be simulated; None if it can."""
        if not 1 <= self.outstanding <= MOST_OUTSTANDING:
            return (
                f"{text.count(self.outstanding)} outstanding requests are not supported; use 1 to "
                f"{text.count(MOST_OUTSTANDING)}"
            )
        if not SIZES[0] <= self.size <= SIZES[1] or (self.size % PAGE and PAGE % self.size):
            return (
                f"requests of {text.exact_size(self.size)} are not supported; use a multiple of "
                f"{text.exact_size(PAGE)} up to 1GiB"
            )
        if not all(0 <= queue.reads <= 1 for queue in self.queues):
            return f"a share of {100 * self.probe.reads:g} % reads is impossible; use 0 to 100 %"
        return None

    def settings(self, queues: int | None, wanted: Iterable[Figure]) -> dict[str, object]:
        """Returns the settings that simulate the load: with `queues` NVMe queues (None for another protocol), and with
        enough requests to measure the percentiles in `wanted`.
        """
        share = self.probe.count * self.probe.rate / self.offered if self.offered else 1.0
        least = min(part for part in (self.probe.reads, 1 - self.probe.reads) if part > 0)
        above = 1 - max(figure.percentile or 0.0 for figure in wanted) / 100
        measured = min(max(REQUESTS[0], BEYOND / above), REQUESTS[1])
        if self.is_closed and self.has_writes and self.pattern == "random":
            measured = max(measured, FEWEST_WRITES)
        requests = FEWEST_LARGE if self.size > LARGE else min(MOST, round(measured / least / share))
        settings: dict[str, object] = {
            "workload.pattern": "uniform" if self.pattern == "random" else "sequential",
            "workload.size": f"{self.size}B",
            "workload.align": f"{self.size}B",
            "workload.span": "device",
            "workload.requests": requests + requests // 2,
            "host.warmup": requests // 2,
            "host.repeat": "times",
            "precondition.fill": "100%",
            # Only random writes cause garbage collection; sequential loads run on a drive that was filled sequentially.
            "precondition.overwrite": "steady" if self.pattern == "random" and self.has_writes else "none",
            "block.scheduler": "direct",
        }
        if self.is_closed:
            return settings | {
                "workload.arrival": "closed",
                "workload.queues": "none",
                "workload.reads": f"{100 * self.probe.reads:g}%",
                "host.replay": "closed",
                "host.replay.closed.queue_depth": self.outstanding,
            }
        several = sum(queue.count for queue in self.queues)
        return (
            settings
            | {
                "workload.queues": ",".join(map(str, self.queues)),
                "host.replay": "open",
                "host.replay.open.depth": ",".join(
                    str(queue.depth) for queue in self.queues for _ in range(queue.count)
                ),
            }
            | ({} if queues is None else {"drive.protocol.nvme.queues": max(queues, several)})
        )


@dataclass(frozen=True)
class Measured:
    """A load, and the metrics measured under it."""

    load: Load
    figures: Mapping[Figure, float]

    def chosen(self, op: str, *names: str) -> "dict[Figure, float]":
        """Returns the named metrics of an operation; without names, all of its latency metrics."""
        return {
            figure: value
            for figure, value in self.figures.items()
            if figure.op == op and (figure.name in names if names else not figure.is_rate)
        }


def simulated(result: Result, load: Load, wanted: Mapping[Figure, float]) -> dict[Figure, float]:
    """Returns the requested metrics of a simulated load; infinity if no request of their operation was completed."""
    return {figure: _value(result, load, figure) for figure in wanted}


def _value(result: Result, load: Load, figure: Figure) -> float:
    if figure.is_rate:
        moved = result.summary["time"]["bytes_read_per_s" if figure.op == "read" else "bytes_written_per_s"]
        return float(moved) / load.size if moved else float("inf")
    name, less, read = figure.name.partition(LESS_READ)
    if less:
        longer = _value(result, load, Figure("write", name)) - _value(result, load, Figure("read", read))
        # The fit takes logarithms of metrics, so metrics must be positive.
        return max(longer, 1.0)
    streams = result.summary["drive"]["streams"]
    if load.is_closed or not streams:
        if figure.name == "mean":
            summary = result.summary["latency"][figure.op]
            return float(summary["mean_ns"]) if summary else float("inf")
        return _quantile(result.latency[figure.op], figure)
    # In a generated workload with several queues, the streams are named queue1, queue2 and so on.
    rows = sorted(streams, key=lambda row: int(row["stream"].removeprefix("queue")))[: load.probe.count]
    column = f"{figure.name.replace('.', '_')}_ns"
    values = [(row[figure.op]["count"], float(row[figure.op][column])) for row in rows if row[figure.op]]
    total = sum(count for count, _ in values)
    return float(sum(count * value for count, value in values) / total) if total else float("inf")


def _quantile(columns: LatencyColumns, figure: Figure) -> float:
    """Returns a percentile of a histogram, assuming that requests are spread evenly within each bucket."""
    percentile = figure.percentile
    assert percentile is not None
    if not len(columns.requests):
        return float("inf")
    after = np.cumsum(columns.requests.astype(float))
    wanted = percentile / 100 * after[-1]
    bucket = min(int(np.searchsorted(after, wanted)), len(after) - 1)
    before = float(after[bucket - 1]) if bucket else 0.0
    share = (wanted - before) / float(columns.requests[bucket])
    lower, upper = float(columns.lower_ns[bucket]), float(columns.upper_ns[bucket])
    return float(lower + share * (upper - lower))


STREAM_PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
"""Percentiles that a simulation reports for each queue."""


def usable(load: Load, figure: Figure) -> bool:
    """True if a simulation of the load reports the metric."""
    return load.is_closed or figure.percentile is None or figure.percentile in STREAM_PERCENTILES


def label(figure: Figure, load: Load) -> str:
    """Returns the name of a metric in tables."""
    return f"{figure.op} bandwidth" if figure.is_rate and load.size > LARGE else str(figure)


def shown(figure: Figure, value: float, load: Load) -> str:
    """Formats the value of a metric for tables."""
    if not figure.is_rate:
        return text.duration(value)
    return text.bandwidth(value * load.size) if load.size > LARGE else f"{text.count(value)}/s"
