"""The live view of a simulated drive on the terminal."""

import sys
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from ssdlab import text
from ssdlab.cli.bars import obstacle

SAMPLE_SECONDS = 0.5
"""Seconds between two samples of the live view."""
SAMPLES = 40
BARS = "▁▂▃▄▅▆▇█"
LEAST_RATIO = 1.0
"""Write amplification that corresponds to the bottom of the live view's bar graph."""


def facts(requests_per_s: float, write_amplification: float | None, latency: Mapping[str, Any] | None) -> list[str]:
    """Returns the main metrics of a drive as short phrases; `latency` covers all requests."""
    parts = [f"{text.short_count(requests_per_s)} requests/s"]
    if write_amplification is not None:
        parts.append(f"write amplification {text.ratio(write_amplification)}")
    if latency:
        parts.append(f"p99 {text.duration(latency['p99_ns'])}")
    return parts


def course(values: "deque[float]", least: float = 0.0) -> str:
    """Draws values as bars on one line, scaled to the largest value.

    >>> course(deque([0, 1, 2, 4]))
    '▁▃▅█'
    """
    most = max((value - least for value in values), default=0.0)
    heights = (max(value - least, 0.0) / most if most > 0 else 0.0 for value in values)
    return "".join(BARS[round(height * (len(BARS) - 1))] for height in heights)


class View:
    """A table of a drive's metrics, with graphs of the metrics over the last seconds."""

    def __init__(self) -> None:
        self._now: Mapping[str, Any] | None = None
        self._sampled: Mapping[str, Any] | None = None
        self._sampled_at = 0.0
        self._courses: dict[str, deque[float]] = {}

    def update(self, figures: Mapping[str, Any]) -> None:
        """Receives new metrics. `figures` has the same form as the metrics that `simulate` passes to `watch`."""
        self._now = figures
        at = time.monotonic()
        if at - self._sampled_at >= SAMPLE_SECONDS or self._restarted():
            self._sample(figures)
            self._sampled, self._sampled_at = figures, at

    def _restarted(self) -> bool:
        """True before the first sample, and if the measured phase began since the last one and reset the metrics."""
        now, before = self._now, self._sampled
        return now is None or before is None or (now["elapsed_ns"] or 0) < (before["elapsed_ns"] or 0)

    def _sample(self, figures: Mapping[str, Any]) -> None:
        before = self._sampled
        rates: dict[str, float | None] = {"write amplification": figures["write_amplification"]}
        if before and not self._restarted() and figures["elapsed_ns"] is not None:
            passed_ns = figures["elapsed_ns"] - before["elapsed_ns"]
            if passed_ns > 0:
                rates["throughput"] = (figures["requests"] - before["requests"]) / passed_ns * 1e9
                rates["dies"] = (figures["busy_ns"] - before["busy_ns"]) / passed_ns
        for name, value in rates.items():
            if value is not None:
                self._courses.setdefault(name, deque(maxlen=SAMPLES)).append(value)

    def __rich__(self) -> Table | Text:
        """Returns the table of metrics; empty before the first request."""
        figures = self._now
        if figures is None:
            return Text("")
        rows = Table.grid(padding=(0, 2))
        for name, value, line in self._rows(figures):
            rows.add_row(Text(name), Text(value), Text(line, style="cyan"))
        return rows

    def _rows(self, figures: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        def latest(name: str) -> float | None:
            return self._courses[name][-1] if name in self._courses else None

        rows = []
        throughput, dies = latest("throughput"), latest("dies")
        if throughput is not None:
            rows.append(("throughput", f"{text.short_count(throughput)} IOPS", course(self._courses["throughput"])))
        latency = figures["latency"] and figures["latency"]["all"]
        if latency:
            times = ", ".join(f"{name} {text.duration(latency[f'{name}_ns'])}" for name in ("p50", "p99", "max"))
            rows.append(("response time", times, ""))
        if figures["write_amplification"] is not None:
            line = course(self._courses["write amplification"], LEAST_RATIO)
            rows.append(("write amplification", text.ratio(figures["write_amplification"]), line))
        free, blocks = figures["free_blocks"], figures["blocks"]
        rows.append(("free blocks", f"{text.count(free)} of {text.count(blocks)}", ""))
        if dies is not None:
            rows.append(("dies", f"{text.percent(min(dies, 1.0))} busy", course(self._courses["dies"])))
        if figures["elapsed_ns"] is not None:
            rows.append(("simulated time", text.duration(figures["elapsed_ns"]), ""))
        return rows


def view() -> View | None:
    """Returns a live view on standard error; if it cannot be shown, prints the reason and returns None."""
    why = obstacle()
    if not why:
        return View()
    print(f"ssdlab: --live has no effect: {why}", file=sys.stderr)
    return None
