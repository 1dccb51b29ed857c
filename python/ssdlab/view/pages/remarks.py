"""Remarks on the model of time, and on drives that cannot be compared."""

from collections.abc import Mapping

from ssdlab import text
from ssdlab.model.config import Config
from ssdlab.model.result import Result
from ssdlab.view.times import served_alone


def clock_remark(config: Config) -> str | None:
    """Returns the remark that explains how time is modelled; None if time is not modelled."""
    cached = config["cache.policy"] != "none"
    if config["time"] == "serial":
        times = "without queueing" if served_alone(config) else "one operation at a time"
        remark = f"Times are for one flash chip ({times}), not for a drive with many chips"
        return f"{remark}; rates and times are for requests below the cache" if cached else remark
    if config["time"] == "event":
        remark = "Latencies include queueing, host link, channels and dies, plus a fixed controller cost per request"
        return f"{remark}; rates and response times are for host requests, above the cache" if cached else remark
    return None


def unlike(results: Mapping[str, Result]) -> str | None:
    """Returns why the cases cannot be ranked: their capacity, flash or model of time differ; None if they can be."""
    devices = {label: run.summary["device"] for label, run in results.items()}
    compared = {
        "flash": {label: text.size(device["physical_bytes"]) for label, device in devices.items()},
        "capacity": {label: text.size(device["capacity_bytes"]) for label, device in devices.items()},
    }
    for what, sizes in compared.items():
        if len({*sizes.values()}) > 1:
            reason = f"the drives differ in {what} ({_each(sizes)})"
            if any(run.config["device.reserve"] == "extra" for run in results.values()):
                reason += "; for drives with equal flash: --set device.reserve=inside"
            return reason
    times = {label: run.config["time"] for label, run in results.items()}
    return f"the cases use different time models ({_each(times)})" if len({*times.values()}) > 1 else None


def _each(values: Mapping[str, str]) -> str:
    return ", ".join(f"{label}: {value}" for label, value in values.items())
