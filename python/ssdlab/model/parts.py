"""Accesses the keys of a JSON file; errors name the file and the key."""

import json
from typing import Any

from ssdlab._ssdlab import ConfigError

REMEDY = "copy the file again, or repeat the run with --out"
SHOWN = 40
"""Maximum number of characters that a message shows of a value."""


class Part(dict[str, Any]):
    """A JSON object read from a file, with the objects in it; a missing key raises ConfigError."""

    def __init__(self, place: str, node: dict[str, Any]) -> None:
        super().__init__((key, _placed(f"{place}{key}", value)) for key, value in node.items())
        self._place = place

    def __missing__(self, key: str) -> Any:
        raise ConfigError(f"{self._place}{key}: is missing; {REMEDY}")

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


def never_saved(place: str, value: Any) -> ConfigError:
    """Returns the error for a value that ssdlab never saves under the given key."""
    shown = json.dumps(value)[:SHOWN]
    return ConfigError(f"{place}: 'ssdlab run' never saves the value {shown}; {REMEDY}")


def _placed(place: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_placed(f"{place}[{at}]", item) for at, item in enumerate(value)]
    return Part(f"{place}.", value) if isinstance(value, dict) else value
