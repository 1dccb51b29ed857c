"""Configurations: what is simulated, and where each setting comes from."""

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
from ssdlab.model.files import read_utf8

Overrides = Mapping[str, object] | Iterable[str]

Sets = list[tuple[str, str]]
"""Settings made at once, as `key=value`, each with what was typed to set it, for messages. They may not contradict each
other; those made later lie on top."""

SIZED_BY_TRACE = "default (the trace sizes the default drive)"
"""The origin of `host.fit` where nobody said how large the drive is."""

PRESET_GIVEN = "preset"
"""What messages call the name of a preset: the argument of `Config`, unless something else was typed to name it."""

OF_PRESET = "preset "
"""What the origin of a setting of a preset begins with, before the preset's name."""


def is_made(origin: str) -> bool:
    """Whether a person made a setting of this origin, in a file or otherwise; else it is of a preset or a default."""
    return not origin.startswith(("default", OF_PRESET))


class Setting(NamedTuple):
    """One setting of a resolved configuration."""

    key: str
    """Dotted path, such as `nand.read`."""
    value: str
    """The value as TOML, such as `"25us"` with its quotes."""
    origin: str
    """Where it was set: `default`, `preset tlc-nvme`, `my.toml:12`, `--set`, `overrides`."""


class Preset(NamedTuple):
    """A configuration that ships with ssdlab."""

    name: str
    """What `preset=` takes."""
    title: str
    """What it models, in one line."""
    text: str
    """The TOML document; its comments give the source of every number."""


def _read(path: str | os.PathLike[str]) -> tuple[str, str]:
    try:
        return text.path(path), read_utf8(Path(path), text.path(path))
    except OSError as error:
        raise ConfigError(f"{text.path(path)}: {error.strerror}; give the path of a TOML file") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{text.path(path)}: is not UTF-8 text; give the path of a TOML file") from None
    except ValueError as error:
        raise ConfigError(f"{text.path(path)}: {error}; give the path of a TOML file") from None


def _written(value: object) -> str:
    """A Python value as `--set` takes it."""
    if is_switch(value):
        return "true" if value else "false"
    return str(value)


def as_written(overrides: Overrides) -> list[str]:
    """Settings as `key=value`.

    Raises:
        ConfigError: If it is nothing that holds settings, or a table is empty.
    """
    if isinstance(overrides, str):
        return [overrides]
    if isinstance(overrides, Mapping):
        return [f"{key}={_written(value)}" for key, value in _flat(overrides)]
    listed = [*overrides] if isinstance(overrides, Iterable) and not isinstance(overrides, bytes) else [overrides]
    for one in listed:
        if not isinstance(one, str):
            raise ConfigError(
                f"{shown(one)} is no setting; give settings such as {{'device.op': '7%'}} or ['device.op=7%']"
            )
    return listed


def set_by(origin: str, overrides: Overrides) -> Sets:
    """Settings that a person made with `origin`.

    Raises:
        ConfigError: As `as_written`, with the origin.
    """
    try:
        return [(origin, one) for one in as_written(overrides)]
    except ConfigError as error:
        raise ConfigError(f"{origin}: {error}") from None


def _flat(settings: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """Settings with dotted keys, as they stand in tables of tables.

    Raises:
        ConfigError: If a table is empty.
    """
    for name, value in settings.items():
        key = f"{above}{name}"
        if not isinstance(value, Mapping):
            yield key, value
        elif value:
            yield from _flat(value, f"{key}.")
        else:
            raise ConfigError(f"{key}: the mapping is empty; give it a setting, or leave it out")


def config_of(given: "Config | Overrides | None") -> "Config":
    """What a user gave as a configuration; None stands for the defaults.

    Raises:
        ConfigError: If it is none, or settings are wrong.
    """
    if isinstance(given, Config):
        return given
    if given is None:
        return Config()
    if isinstance(given, Mapping) or (isinstance(given, Iterable) and not isinstance(given, str | bytes)):
        return layered(None, [], [set_by("config", given)])
    raise ConfigError(
        f"{type(given).__name__} is no configuration; give a Config, or settings such as {{'device.op': '7%'}}; "
        "a preset is Config('tlc-nvme'), and a trace comes second"
    )


class Config(Mapping[str, Any]):
    """A complete, resolved configuration: a mapping of dotted keys to values: str with their units, int, float or bool.
    Those with equal values are equal, wherever these were set.

    Later layers win: defaults, then the preset, then files in order, then overrides. Every setting remembers
    where it came from; misspelt keys, missing units and values out of range raise `ConfigError`, all at once.

    Args:
        preset: Name of a preset (see `presets`), or None.
        file: Path of a TOML file, or several.
        overrides: `{"device.op": "7%"}`, `{"ftl": {"page": {"gc": "fifo"}}}` or `["device.op=7%"]`. Dimensioned values
            are strings with their unit; counts are ints, switches are bools.

    Raises:
        ConfigError: One line for each fault: where it was written, what is wrong, how to mend it.

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
        self._preset = preset
        self._files = [_read(path) for path in paths]
        self._sets = [set_by("overrides", overrides)]
        self._inner = _resolved(preset, self._files, self._sets)

    @property
    def settings(self) -> list[Setting]:
        """Every setting, sorted by key."""
        return [Setting(*leaf) for leaf in self._inner.leaves()]

    @cached_property
    def made(self) -> dict[str, str]:
        """The settings that a person made, in a file or otherwise, each with its origin."""
        return {one.key: one.origin for one in self.settings if is_made(one.origin)}

    @cached_property
    def _values(self) -> dict[str, Any]:
        # A TOML scalar is a JSON scalar.
        return {setting.key: json.loads(setting.value) for setting in self.settings}

    def __getitem__(self, key: str) -> Any:
        """The value of one setting.

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
        """The same configuration with `overrides` on top.

        Raises:
            ConfigError: As the constructor.
        """
        return rebuilt(self._preset, self._files, [*self._sets, set_by("overrides", overrides)])

    def changed(self, changes: Mapping[str, str]) -> "Config":
        """The same drive but for `changes`; what was said of a variant that they replace is said no more.

        Raises:
            ConfigError: As the constructor.
        """
        return rebuilt(None, [("configuration", self.to_toml())], [set_by("change", changes)])

    def what_if(self, name: str) -> dict[str, str]:
        """The settings that make a change of a diagnosis, by its name; none where there is nothing to change."""
        return dict(self._inner.what_if(name))

    def for_trace(self) -> "Config":
        """The configuration for replaying a trace.

        Unless somebody has said how large the drive is, or what is done with addresses, the trace sizes the default
        drive (`host.fit = "compact"`).
        """
        origins = {setting.key: setting.origin for setting in self.settings}
        unsaid = all(origins.get(key, "default").startswith("default") for key in ("host.fit", "device.capacity"))
        if not unsaid:
            return self
        return rebuilt(self._preset, self._files, [*self._sets, [(SIZED_BY_TRACE, "host.fit=compact")]])

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (self._preset, self._files, self._sets)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Every setting with its `value` and `origin`, ready for JSON."""
        # A TOML scalar is a JSON scalar.
        return {key: {"value": json.loads(value), "origin": origin} for key, value, origin in self.settings}

    def to_toml(self, origins: bool = False) -> str:
        """The whole configuration as TOML, which reads back as the same configuration.

        Args:
            origins: Whether each line ends with a comment that says where it was set.
        """
        return self._inner.to_toml(origins)

    def check(self) -> None:
        """Checks everything that only shows when settings are taken together.

        `simulate` does so by itself. With `host.fit` `scale`, `grow` or `compact` the device depends on the trace; an
        empty trace is assumed here, or with `device.fill` one that covers 1 GiB.

        Raises:
            ConfigError: One line for each fault.
        """
        self._inner.check(0 if self._inner.needs_extent() else None)

    def _repr_html_(self) -> str:
        html: str = room("view.html").in_notebook(room("view.pages.configuration").page(self))
        return html

    def __repr__(self) -> str:
        return f"<ssdlab.Config with {len(self.settings)} settings, {sum(map(len, self._sets))} overridden>"


def layered(
    preset: str | None, files: Iterable[str | os.PathLike[str]], sets: list[Sets], where: str = PRESET_GIVEN
) -> Config:
    """The configuration of a preset, files and settings; `where` is what was typed to name the preset, for messages.

    Raises:
        ConfigError: As that of `Config`.
    """
    return rebuilt(preset, [_read(path) for path in files], sets, where)


def rebuilt(preset: str | None, files: list[tuple[str, str]], sets: list[Sets], where: str = PRESET_GIVEN) -> Config:
    """A configuration of layers that have been read; also a pickled or copied one."""
    config = Config.__new__(Config)
    config._preset, config._files, config._sets = preset, files, sets
    config._inner = _resolved(preset, files, sets, where)
    return config


def _resolved(
    preset: str | None, files: list[tuple[str, str]], sets: list[Sets], where: str = PRESET_GIVEN
) -> _ssdlab.Config:
    return _ssdlab.Config(None if preset is None else (where, preset), files, sets)


def recorded(settings: Mapping[str, Mapping[str, Any]]) -> Config | None:
    """The configuration that `Config.to_dict` gave; None if this version has no such defaults, presets or settings."""
    said = [
        (one["origin"], f"{key}={json.dumps(one['value'], ensure_ascii=False)}")
        for key, one in settings.items()
        if one["origin"] == SIZED_BY_TRACE or is_made(one["origin"])
    ]
    # A preset may build on others, whose settings are in it as well.
    names = dict.fromkeys(
        one["origin"].removeprefix(OF_PRESET) for one in settings.values() if one["origin"].startswith(OF_PRESET)
    )
    for preset in names or [None]:
        try:
            config = rebuilt(preset, [], [said])
        except ConfigError:
            continue
        if config.to_dict() == settings:
            return config
    return None


def presets() -> list[Preset]:
    """The presets that ship with ssdlab."""
    return [Preset(*preset) for preset in _ssdlab.presets()]


def config_schema() -> str:
    """The JSON schema (draft 2020-12) of a configuration file, as text."""
    return _ssdlab.json_schema()
