"""Parts of a JSON file that say what is wrong with them, by file and key."""

import json
from typing import Any

from ssdlab._ssdlab import ConfigError

REMEDY = "copy the file again, or run it again with --out"
SHOWN = 40
"""Characters of a value that messages show."""


class Part(dict[str, Any]):
    """An object of a file; so are the objects in it. A key that it lacks is a ConfigError when it is asked for."""

    def __init__(self, place: str, node: dict[str, Any]) -> None:
        super().__init__((key, _placed(f"{place}{key}", value)) for key, value in node.items())
        self._place = place

    def __missing__(self, key: str) -> Any:
        raise ConfigError(f"{self._place}{key}: is not there; {REMEDY}")

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def never_saved(place: str, value: Any) -> ConfigError:
    """What is said of a value that no run has there."""
    shown = json.dumps(value)[:SHOWN]
    return ConfigError(f"{place}: is {shown}, which 'ssdlab run' never saves; {REMEDY}")


def _placed(place: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_placed(f"{place}[{at}]", one) for at, one in enumerate(value)]
    return Part(f"{place}.", value) if isinstance(value, dict) else value
