"""What a page says of all the figures of a run: where the size of the drive came from, and what its times are."""

from ssdlab import text
from ssdlab.model.config import SIZED_BY_TRACE, Config
from ssdlab.view.pages.quantities import Summary
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


def sized_by_trace(config: Config, summary: Summary) -> str | None:
    """That the drive is as large as the trace needs because nobody said how large it is; None if somebody did."""
    fit = next(setting for setting in config.settings if setting.key == "host.fit")
    if fit.origin != SIZED_BY_TRACE:
        return None
    capacity = text.size(summary["device"]["capacity_bytes"])
    return (
        f"no capacity is given, so the trace sizes the drive: {capacity} (--fit compact); for one of your own size: "
        "--set device.capacity=64GiB"
    )
