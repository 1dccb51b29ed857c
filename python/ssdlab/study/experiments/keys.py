"""Strict reader for tables of a TOML document, which reports misspelt keys as errors."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from ssdlab._ssdlab import ConfigError
from ssdlab.study.experiments.definition import Scalar, Settings
from ssdlab.text import suggestion

_TYPES: dict[type, tuple[str, str]] = {
    str: ("text", '"..."'),
    float: ("a number", "3"),
    int: ("a whole number", "3"),
    bool: ("true or false", "true"),
    list: ("a list", "[...]"),
    dict: ("a table", "{ ... }"),
}
"""Name and example of each type, for messages."""

T = TypeVar("T")


class Keys:
    """The keys of one TOML table; `place` begins its error messages."""

    def __init__(self, place: str, values: Mapping[str, Any], known: Iterable[str]) -> None:
        self.place = place
        self._values = values
        known = tuple(known)
        for key in values:
            if key not in known:
                remedy = suggestion(key, known) or f"; known keys are {', '.join(known)}"
                raise self.error(key, f"unknown key{remedy}")

    def error(self, key: str, fault: str) -> ConfigError:
        """Returns the error for a key; the message names the table, the key and the fault."""
        return ConfigError(f"{self.place}: {key}: {fault}")

    def has(self, key: str) -> bool:
        """True if the key is present in the table."""
        return key in self._values

    def holds(self, key: str, kind: type) -> bool:
        """True if the key is present and its value has the given type."""
        return isinstance(self._values.get(key), kind)

    def get(self, key: str, kind: type[T], default: T | None = None) -> T:
        """Returns the value of a key, which must have the given type; without a default, the key is required."""
        value = self._values.get(key, default)
        if value is None:
            raise self.error(key, f"is missing; add {key} = {_TYPES[kind][1]}")
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind):
            raise self.error(key, f"{value!r} is not {_TYPES[kind][0]}; write it like {_TYPES[kind][1]}")
        return value

    def optional(self, key: str, kind: type[T]) -> T | None:
        """Returns the value of a key, which must have the given type; None if the key is missing."""
        return self.get(key, kind) if self.has(key) else None

    def text(self, key: str) -> str:
        """Returns the required, non-empty text of a key."""
        value = self.get(key, str).strip()
        if not value:
            raise self.error(key, "is empty; write some text")
        return value

    def optional_text(self, key: str) -> str | None:
        """Returns the non-empty text of a key; None if the key is missing."""
        return self.text(key) if self.has(key) else None

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> Any:
        """Returns the value of a key, which must be one of the given words."""
        value = self.get(key, str, default)
        if value not in choices:
            raise self.error(key, f"{value!r} is not one of {', '.join(choices)}{suggestion(value, choices)}")
        return value

    def optional_choice(self, key: str, choices: tuple[str, ...]) -> Any:
        """Returns the value of a key, which must be one of the given words; None if the key is missing."""
        return self.choice(key, choices, "") if self.has(key) else None

    def seeds(self, default: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the distinct seeds under the key `seeds`."""
        values: list[Any] = self.get("seeds", list, list(default))
        if any(not isinstance(one, int) or isinstance(one, bool) or one < 0 for one in values):
            raise self.error("seeds", f"{values} is not a list of whole numbers; write it like [1, 2, 3]")
        if len({*values}) < len(values) or (self.has("seeds") and not values):
            raise self.error("seeds", f"{values} is empty or repeats a seed; list each seed once, or omit the key")
        return tuple(values)

    def name(self, key: str, value: str) -> str:
        """Checks that a word is valid as a file name and on a command line; returns it."""
        if not value.replace("_", "").replace("-", "").isalnum():
            raise self.error(key, f"{value!r} is not a valid name; use only letters, digits, - and _")
        return value

    def settings(self, key: str) -> Settings:
        """Returns the settings in the table of a key, by dotted path."""
        return settings_of(f"{self.place}: [{key}]", self.get(key, dict, {}))


def settings_of(place: str, values: Mapping[str, Any], prefix: str = "") -> dict[str, Scalar]:
    """Flattens nested tables of settings; the keys of the result are dotted paths."""
    settings: dict[str, Scalar] = {}
    for key, value in values.items():
        if "." in key or not key:
            raise ConfigError(f"{place}: {prefix}{key!r}: is in quotes; write dotted keys without quotes")
        if isinstance(value, dict):
            settings |= settings_of(place, value, f"{prefix}{key}.")
        elif isinstance(value, str | int | float):
            settings[prefix + key] = value
        else:
            raise ConfigError(
                f"{place}: {prefix}{key}: is a {type(value).__name__}; a setting must be text or a number"
            )
    return settings
