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
"""Exponents of the upper bounds of response-time buckets. The bounds are powers of two in nanoseconds, from about one
microsecond to about one minute.
"""


class Metrics(Collector):
    """Prometheus collector that reads the metrics of a server at each scrape."""

    def __init__(self, server: DriveServer) -> None:
        self._server = server

    def collect(self) -> Iterator[Metric]:
        """Returns all metrics of the server."""
        report = self._server.service().report
        host, health = report["host"], report["health"]
        requests = CounterMetricFamily("ssdlab_requests", "Completed client requests.", labels=["op"])
        for op in ("read", "write", "trim", "flush"):
            requests.add_metric([op], host[f"{op}_requests"])
        requests.add_metric(["write_zeroes"], host["write_zeroes_requests"])
        yield requests
        moved = CounterMetricFamily("ssdlab_bytes", "Bytes of completed requests.", labels=["op"])
        for op, key in (
            ("read", "bytes_read"),
            ("write", "bytes_written"),
            ("trim", "bytes_trimmed"),
            ("write_zeroes", "bytes_zeroed"),
        ):
            moved.add_metric([op], host[key])
        yield moved
        pages = CounterMetricFamily("ssdlab_pages", "Pages touched by completed requests.", labels=["op"])
        for op, key in (("read", "pages_read"), ("write", "pages_written"), ("trim", "pages_trimmed")):
            pages.add_metric([op], host[key])
        yield pages
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
        response = HistogramMetricFamily(
            "ssdlab_response_seconds", "Response times of the simulated drive.", labels=["op"]
        )
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
