"""Settings of a cell as arguments of a model."""

from collections.abc import Mapping
from typing import Any

from ssdlab._ssdlab import ConfigError

_KINDS = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}


def arguments(model: str, defaults: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings over the defaults of a model, which tell their kinds.

    Raises:
        ConfigError: If there is no such setting, or it is of another kind.
    """
    for key, value in settings.items():
        if key not in defaults:
            raise ConfigError(f"{key}: the model {model} has no such setting; it has {', '.join(defaults)}")
        kind = type(defaults[key])
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise ConfigError(f"{key}: {value!r} is not {_KINDS[kind]}")
    return {**defaults, **settings}
