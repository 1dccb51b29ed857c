"""What a page says of a run, or of several: what its times are, and whether drives have the same flash."""

from collections.abc import Mapping

from ssdlab import text
from ssdlab.model.config import Config
from ssdlab.model.result import Result
from ssdlab.view.times import served_alone


def clock_remark(config: Config) -> str | None:
    """What a reader of times must know of the model of time; None where there are no times."""
    cached = config["cache.policy"] != "none"
    if config["time"] == "serial":
        one = (
            "times are service times of one flash chip without a queue, not those of a drive with many"
            if served_alone(config)
            else "times are those of one flash chip that does one operation at a time, not of a drive with many"
        )
        return f"{one}; rates and times are those of requests below the cache" if cached else one
    if config["time"] == "event":
        all = "times include queues, host link, channels and dies, and of the controller a fixed time for each request"
        return f"{all}; rates and response times are those of the host, above the cache" if cached else all
    return None


FLASH = ("device.", "nand.channels", "nand.ways", "nand.dies", "nand.planes", "nand.page_size", "nand.pages_per_block")
"""Beginnings of the settings that say how much flash a drive has."""


def unlike_flash(results: Mapping[str, Result]) -> str | None:
    """That drives have different flash although no setting of it differs; None where they have not, or one does."""
    sizes = {label: text.size(one.summary["device"]["physical_bytes"]) for label, one in results.items()}
    asked = [{key: value for key, value in one.config.items() if key.startswith(FLASH)} for one in results.values()]
    if len({*sizes.values()}) == 1 or any(one != asked[0] for one in asked):
        return None
    drives = ", ".join(f"{label}: {size}" for label, size in sizes.items())
    return (
        f"the drives differ in flash too ({drives}), as each is given the reserve that its FTL needs beside device.op; "
        "with device.reserve=inside, and a device.op that holds the largest reserve, they are the same"
    )
