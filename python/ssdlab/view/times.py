"""What the times of a run are called: the model of time says whether requests queued."""

from ssdlab.model.config import Config


def served_alone(config: Config) -> bool:
    """Whether requests were served one by one, each as soon as it was asked for: none waited for another."""
    return bool(config["time"] == "serial" and config["host.replay"] != "open")


def name_of_times(config: Config) -> str:
    """What a request took, in two words."""
    return "service time" if served_alone(config) else "response time"


def title_of_times(config: Config) -> str:
    """What a table of such times is headed with."""
    if config["time"] == "event":
        return "Response times"
    title = "Service times of one chip, no queueing" if served_alone(config) else "Response times of one chip"
    return title if config["cache.policy"] == "none" else f"{title}, below the cache"
