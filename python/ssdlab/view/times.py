"""Terms for request times in a run: service times if no request can queue, otherwise response times."""

from ssdlab.model.config import Config


def served_alone(config: Config) -> bool:
    """True if requests were served one by one without queueing."""
    return bool(config["time"] == "serial" and config["host.replay"] != "open")


def name_of_times(config: Config) -> str:
    """Returns the term for request times: response time or service time."""
    return "service time" if served_alone(config) else "response time"


def title_of_times(config: Config) -> str:
    """Returns the title of the table of request times."""
    if config["time"] == "event":
        return "Response times"
    title = "Service times of one chip, without queueing" if served_alone(config) else "Response times of one chip"
    return title if config["cache.policy"] == "none" else f"{title}, below the cache"
