"""Metrics of a served drive for Prometheus."""

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import Metric
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from ssdlab.model.service import DriveServer
from ssdlab.view.pages.tables import OPERATIONS

SECOND_NS = 1e9
POWERS = range(10, 37)
"""Exponents of the upper bounds of response-time buckets: powers of two in ns, about 1 µs to 1 minute."""


def _by_op(name: str, help: str, values: Mapping[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, help, labels=["op"])
    for op, value in values.items():
        family.add_metric([op], value)
    return family


class Metrics(Collector):
    """Prometheus collector that reads the metrics of a server at each scrape."""

    def __init__(self, server: DriveServer) -> None:
        self._server = server

    def collect(self) -> Iterator[Metric]:
        """Returns all metrics of the server."""
        report = self._server.service().report
        host, health = report["host"], report["health"]
        ops = ("read", "write", "trim", "flush", "write_zeroes")
        yield _by_op("ssdlab_requests", "Completed client requests.", {op: host[f"{op}_requests"] for op in ops})
        moved = {"read": "read", "write": "written", "trim": "trimmed", "write_zeroes": "zeroed"}
        bytes = {op: host[f"bytes_{verb}"] for op, verb in moved.items()}
        yield _by_op("ssdlab_bytes", "Bytes of completed requests.", bytes)
        pages = {op: host[f"pages_{moved[op]}"] for op in ("read", "write", "trim")}
        yield _by_op("ssdlab_pages", "Pages touched by completed requests.", pages)
        flash = CounterMetricFamily("ssdlab_flash_operations", "Flash operations.", labels=["operation", "cause"])
        for kind in OPERATIONS:
            for cause, count in report["flash"][kind].items():
                flash.add_metric([kind.removesuffix("s"), cause], count)
        yield flash
        if report["write_amplification"] is not None:
            help = "Pages programmed per page written by clients since the drive was opened."
            yield GaugeMetricFamily("ssdlab_write_amplification", help, report["write_amplification"])
        yield GaugeMetricFamily("ssdlab_free_blocks", "Erased blocks.", health["free_blocks"])
        yield GaugeMetricFamily("ssdlab_bad_blocks", "Retired blocks.", health["bad_blocks"])
        yield GaugeMetricFamily("ssdlab_blocks", "All blocks.", health["blocks"])
        for name in ("available_spare", "percentage_used"):
            help = f"{name} from the NVMe health log, in percent."
            yield GaugeMetricFamily(f"ssdlab_{name}_percent", help, health[name])
        for name in ("media_errors", "power_cycles", "unsafe_shutdowns"):
            yield CounterMetricFamily(f"ssdlab_{name}", f"{name} from the NVMe health log.", health[name])
        yield GaugeMetricFamily("ssdlab_buffered_pages", "Pages in the write buffer.", report["buffered_pages"])
        yield GaugeMetricFamily("ssdlab_clients", "Connected clients.", self._server.connections)
        if report["times"] is not None:
            yield from self._times(report["times"])

    def _times(self, times: Mapping[str, Any]) -> Iterator[Metric]:
        help = "Response times of the simulated drive."
        response = HistogramMetricFamily("ssdlab_response_seconds", help, labels=["op"])
        for op, (lower_ns, _, counts) in (self._server.latency() or {}).items():
            # The counts are exact, because every power of two is the bound of a histogram bucket.
            buckets = [
                (repr((bound - 1) / SECOND_NS), float(counts[lower_ns < bound].sum()))
                for bound in (1 << power for power in POWERS)
            ]
            summary = times["latency"][op]
            sum_ns = summary["mean_ns"] * summary["count"] if summary else 0.0
            response.add_metric([op], [*buckets, ("+Inf", float(counts.sum()))], sum_ns / SECOND_NS)
        yield response
        replies, mean_ns = times["replies"], times["lag_mean_ns"]
        lag = SummaryMetricFamily("ssdlab_lag_seconds", "Delay of replies after their due time.")
        lag.add_metric([], replies, replies * mean_ns / SECOND_NS)
        yield lag
        yield GaugeMetricFamily("ssdlab_lag_max_seconds", "Maximum delay of a reply.", times["lag_max_ns"] / SECOND_NS)
