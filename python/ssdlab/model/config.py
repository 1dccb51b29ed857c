"""Configurations: settings, each with its origin."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import room
from ssdlab.model.arguments import is_switch, shown, takes
from ssdlab.model.toml_file import read_source

Overrides = Mapping[str, object] | Iterable[str]

Sets = list[tuple[str, str]]
"""A layer of `key=value` settings, each with its origin for messages. Settings within a layer must not contradict each
other; later layers override earlier ones.
"""

SIZED_BY_TRACE = "default drive, sized to fit the trace"
"""Origin of `host.fit` in messages if the user set neither `host.fit` nor the capacity."""

REPLAYED_AT_TIMES = "default for requests with timestamps"
"""Origin of `host.replay` in messages if the user did not set it and requests are replayed at their timestamps."""

PRESET_GIVEN = "preset"
"""Origin that messages give by default for a preset's name: the `preset` argument of `Config`."""

PLUGIN = "python:"
"""Prefix of the names of components that are written in Python."""

PLUGIN_FILES = "SSDLAB_PLUGINS"
"""Environment variable that lists the plug-in files, separated by colons."""

OF_PRESET = "preset "
"""Prefix of the origin of settings that come from a preset, followed by the preset's name."""


def is_made(origin: str) -> bool:
    """True if the user set the value: the origin is neither a preset nor a default."""
    return not origin.startswith(("default", OF_PRESET))


class Setting(NamedTuple):
    """One setting of a resolved configuration."""

    key: str
    """Dotted path of the setting, such as `nand.read`."""
    value: str
    """Value of the setting as TOML, such as `"25us"` including the quotes."""
    origin: str
    """Origin of the setting, such as `default`, `preset tlc-nvme`, `my.toml:12`, `--set` or `overrides`."""


class Preset(NamedTuple):
    """A configuration that ships with ssdlab."""

    name: str
    """Name of the preset, for the argument `preset` of `Config`."""
    title: str
    text: str
    """TOML document of the preset; its comments give the source of every number."""


def _read(path: str | os.PathLike[str]) -> tuple[str, str]:
    return text.path(path), read_source(Path(path), text.path(path))


def _written(value: object) -> str:
    """Formats a Python value in the syntax of `--set`."""
    if is_switch(value):
        return "true" if value else "false"
    return str(value)


def as_written(overrides: Overrides) -> list[str]:
    """Converts settings, given in any accepted form, to strings of the form `key=value`."""
    if isinstance(overrides, str):
        return [overrides]
    if isinstance(overrides, Mapping):
        return [f"{key}={_written(value)}" for key, value in _flat(overrides)]
    listed = [*overrides] if isinstance(overrides, Iterable) and not isinstance(overrides, bytes) else [overrides]
    for setting in listed:
        if not isinstance(setting, str):
            raise ConfigError(
                f"{shown(setting)} is not a setting; pass settings such as {{'device.op': '7%'}} or ['device.op=7%']"
            )
    return listed


def set_by(origin: str, overrides: Overrides) -> Sets:
    """Pairs each setting with the given origin."""
    try:
        return [(origin, setting) for setting in as_written(overrides)]
    except ConfigError as error:
        raise ConfigError(f"{origin}: {error}") from None


def _flat(settings: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """Flattens nested tables of settings to dotted keys."""
    for name, value in settings.items():
        key = f"{above}{name}"
        if not isinstance(value, Mapping):
            yield key, value
        elif value:
            yield from _flat(value, f"{key}.")
        else:
            raise ConfigError(f"{key}: the mapping is empty; add a setting, or omit the mapping")


def config_of(given: "Config | Overrides | None") -> "Config":
    """Converts an argument, such as a mapping of settings, to a configuration. None gives the default configuration."""
    if isinstance(given, Config):
        return given
    if given is None:
        return Config()
    if isinstance(given, Mapping) or (isinstance(given, Iterable) and not isinstance(given, str | bytes)):
        return layered(None, [], [set_by("config", given)])
    raise ConfigError(
        f"{type(given).__name__} is not a configuration; pass a Config, or settings such as {{'device.op': '7%'}}; "
        "pass a preset as Config('tlc-nvme'), and a trace as the second argument"
    )


class Config(Mapping[str, Any]):
    """A complete, resolved configuration: a mapping from dotted keys to values. A value is a str with its unit, an int,
    a float or a bool. Configurations with equal values are equal, even if their values have different origins.

    Later layers win: first defaults, then the preset, then files in order, then overrides. Every setting remembers its
    origin. Misspelt keys, missing units and values out of range raise one `ConfigError` that lists all of them.

    Args:
        preset: Name of a preset (see `presets`), or None.
        file: Path of a TOML file, or several paths.
        overrides: `{"device.op": "7%"}`, `{"ftl": {"page": {"gc": "fifo"}}}` or `["device.op=7%"]`. Values with a
            dimension are strings with their unit; counts are ints, switches are bools.

    Raises:
        ConfigError: One line per fault: its location, what is wrong, and how to fix it.

    Example:
        >>> config = Config(preset="tlc-nvme", overrides={"device.capacity": "1GiB"})
        >>> config["device.capacity"]
        '1GiB'
    """

    @takes(preset="tlc-nvme", file="my.toml")
    def __init__(
        self,
        preset: str | None = None,
        file: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
        overrides: Overrides = (),
    ) -> None:
        paths = [file] if isinstance(file, str | os.PathLike) else list(file)
        self._resolve(preset, [_read(path) for path in paths], [set_by("overrides", overrides)])

    def _resolve(
        self, preset: str | None, files: list[tuple[str, str]], sets: list[Sets], where: str = PRESET_GIVEN
    ) -> None:
        self._preset, self._files, self._sets = preset, files, sets
        texts = [*files, *(setting for layer in sets for setting in layer)]
        if any(PLUGIN in written for _, written in texts):
            room("model.plugins").register_named(texts)
        self._inner = _ssdlab.Config(None if preset is None else (where, preset), files, sets)

    @property
    def settings(self) -> list[Setting]:
        """All settings, sorted by key."""
        return [Setting(*leaf) for leaf in self._inner.leaves()]

    @cached_property
    def made(self) -> dict[str, str]:
        """Origins of all settings that the user set, by key."""
        return {setting.key: setting.origin for setting in self.settings if is_made(setting.origin)}

    @cached_property
    def _values(self) -> dict[str, Any]:
        # The TOML scalars that settings use are also valid JSON, so the JSON parser can read them.
        return {setting.key: json.loads(setting.value) for setting in self.settings}

    @property
    def plugins(self) -> dict[str, str]:
        """Names of the chosen components that are written in Python (see `ssdlab.plugin`), keyed by setting."""
        return {key: value for key, value in self.items() if str(value).startswith(PLUGIN)}

    def __getitem__(self, key: str) -> Any:
        """Returns the value of a setting.

        Raises:
            KeyError: If the key does not apply to this configuration.
        """
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def with_overrides(self, overrides: Overrides) -> "Config":
        """Returns the configuration with `overrides` on top.

        Raises:
            ConfigError: See the constructor.
        """
        return rebuilt(self._preset, self._files, [*self._sets, set_by("overrides", overrides)])

    def changed(self, changes: Mapping[str, str]) -> "Config":
        """Returns the same drive with `changes`; a change of variant, such as another FTL, drops the old parameters."""
        return rebuilt(None, [("configuration", self.to_toml())], [set_by("change", changes)])

    def what_if(self, name: str) -> dict[str, str]:
        """Returns the settings that a what-if change alters, with their new values; empty if it does not apply."""
        return dict(self._inner.what_if(name))

    def for_trace(self) -> "Config":
        """Returns the configuration for replaying a trace, which sizes the drive (`host.fit = "compact"`) if neither
        `device.capacity` nor `host.fit` is set.
        """
        if not self._has_defaults("host.fit", "device.capacity"):
            return self
        return rebuilt(self._preset, self._files, [*self._sets, [(SIZED_BY_TRACE, "host.fit=compact")]])

    def at_times(self) -> "Config":
        """Returns the configuration for requests that have timestamps. If `time` is `event`, `host.replay` becomes
        `open`, unless the user or a preset set it. For other values of `time`, nothing changes, because requests do not
        queue.
        """
        if self["time"] != "event" or not self._has_defaults("host.replay"):
            return self
        return rebuilt(self._preset, self._files, [*self._sets, [(REPLAYED_AT_TIMES, "host.replay=open")]])

    def _has_defaults(self, *keys: str) -> bool:
        """True if none of the given settings was set by the user or by a preset that the user chose."""
        return all(setting.origin.startswith("default") for setting in self.settings if setting.key in keys)

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (self._preset, self._files, self._sets)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Returns every setting with its `value` and `origin`, in a form ready for JSON."""
        return {key: {"value": self[key], "origin": origin} for key, _, origin in self.settings}

    def to_toml(self, origins: bool = False) -> str:
        """Returns the whole configuration as TOML; reading it gives the same configuration.

        Args:
            origins: True to end each line with a comment that gives the origin.
        """
        return self._inner.to_toml(origins)

    def check(self) -> None:
        """Checks settings against each other, like `simulate`.

        With `host.fit` `scale`, `grow` or `compact`, the device depends on the trace. The check then assumes an empty
        trace, or with `device.fill` a trace that covers 1 GiB.

        Raises:
            ConfigError: One line for each fault.
        """
        self._inner.check(self._extent)

    @property
    def pages_per_block(self) -> int:
        """Number of mapping units per erase block of the drive; blocks of a scale model have fewer than
        `nand.pages_per_block`.

        Raises:
            ConfigError: As for `check`, with the same assumptions about the trace.
        """
        return self._inner.pages_per_block(self._extent)

    @property
    def _extent(self) -> int | None:
        """Assumed extent of a trace in bytes, for checks; None if the drive does not depend on it."""
        return 0 if self._inner.needs_extent() else None

    def _repr_html_(self) -> str:
        return str(room("view.html").in_notebook(room("view.pages.configuration").page(self)))

    def __repr__(self) -> str:
        return f"<ssdlab.Config with {len(self.settings)} settings, {sum(map(len, self._sets))} overridden>"


def layered(
    preset: str | None, files: Iterable[str | os.PathLike[str]], sets: list[Sets], where: str = PRESET_GIVEN
) -> Config:
    """Builds a configuration. `where` is the origin that messages give for the preset's name."""
    return rebuilt(preset, [_read(path) for path in files], sets, where)


def rebuilt(preset: str | None, files: list[tuple[str, str]], sets: list[Sets], where: str = PRESET_GIVEN) -> Config:
    """Builds a configuration from layers that were already read; also used by pickle and copy."""
    config = Config.__new__(Config)
    config._resolve(preset, files, sets, where)
    return config


def recorded(settings: Mapping[str, Mapping[str, Any]]) -> Config | None:
    """Converts the result of `Config.to_dict` back; None if defaults, presets or settings of this version differ."""
    made = [
        (setting["origin"], f"{key}={json.dumps(setting['value'], ensure_ascii=False)}")
        for key, setting in settings.items()
        if setting["origin"] in (SIZED_BY_TRACE, REPLAYED_AT_TIMES) or is_made(setting["origin"])
    ]
    # A preset may extend other presets, so the origins of its settings may name several presets.
    origins = [setting["origin"] for setting in settings.values()]
    names = dict.fromkeys(origin.removeprefix(OF_PRESET) for origin in origins if origin.startswith(OF_PRESET))
    for preset in names or [None]:
        try:
            config = rebuilt(preset, [], [made])
        except ConfigError:
            continue
        if config.to_dict() == settings:
            return config
    return None


def presets() -> list[Preset]:
    """Returns the presets that ship with ssdlab."""
    return [Preset(*preset) for preset in _ssdlab.presets()]


def config_schema() -> str:
    """Returns the JSON schema (draft 2020-12) of a configuration file, as text."""
    return _ssdlab.json_schema()
