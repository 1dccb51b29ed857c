"""Remarks that several pages share: the model of time, and drives with different amounts of flash."""

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


FLASH = ("device.", "nand.channels", "nand.ways", "nand.dies", "nand.planes", "nand.page_size", "nand.pages_per_block")
"""Prefixes of the settings that determine a drive's flash."""


def unlike_flash(results: Mapping[str, Result]) -> str | None:
    """Returns a remark if drives with equal settings have different flash capacities; otherwise None."""
    sizes = {label: text.size(run.summary["device"]["physical_bytes"]) for label, run in results.items()}
    settings = [{key: value for key, value in run.config.items() if key.startswith(FLASH)} for run in results.values()]
    if len({*sizes.values()}) == 1 or any(of_case != settings[0] for of_case in settings):
        return None
    drives = ", ".join(f"{label}: {size}" for label, size in sizes.items())
    return (
        f"the drives also differ in flash ({drives}), because each FTL adds its reserve to device.op; for equal flash "
        "set device.reserve=inside and a device.op that covers the largest reserve"
    )
