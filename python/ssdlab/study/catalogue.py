"""Lists the names of presets, policies, schedulers, formats and so on, from their registries."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse import steps
from ssdlab.analyse.cache.policies import CacheAdmission, CachePolicy, admissions, policies
from ssdlab.model.config import config_schema, presets
from ssdlab.model.conversion import all_formats
from ssdlab.study import experiments, screening
from ssdlab.study.explain import explain
from ssdlab.text import counted, suggestion

KNOWN_AS = {
    "ftls": "ftl",
    "victims": "ftl.page.gc",
    "placement": "ftl.page.survivors",
    "maps": "ftl.page.map",
    "map-caches": "ftl.page.map.segments.policy",
    "schedulers": "block.scheduler",
    "die-schedulers": "drive.scheduler",
    "workloads": "workload.pattern",
    "personalities": "workload.pattern.filebench.personality",
}
"""Keys of settings by catalogue name, such as `victims`; all other settings are listed under their key."""

NO_LIMIT = 2**64 - 1
"""Parameter default that means "no limit"."""


class Parameter(NamedTuple):
    """A parameter of an entry in the catalogue."""

    name: str
    default: str
    help: str


class Entry(NamedTuple):
    """A named entry of the catalogue, such as a preset or a policy."""

    name: str
    help: str
    parameters: tuple[Parameter, ...] = ()


class Group(NamedTuple):
    """Catalogue entries of one type, such as policies, with their heading."""

    name: str
    help: str
    entries: tuple[Entry, ...]


def catalogue() -> list[Group]:
    """Returns all groups of the catalogue."""
    keys = [key for key, _, _, variants in _ssdlab.options() if variants]
    return [
        Group("settings", "tables of the configuration; see 'ssdlab config explain NAME'", _sections()),
        Group("presets", "drive presets, for --preset", tuple(Entry(one.name, one.title) for one in presets())),
        *(_choice(name, key) for name, key in KNOWN_AS.items()),
        Group("caches", "replacement policies of 'ssdlab cache'", _caches(policies())),
        Group("admissions", "admission filters of 'ssdlab cache', as in lru:admission=bloom", _caches(admissions())),
        Group("codecs", "page compressors of 'ssdlab compress' and 'ssdlab cache'", _codecs()),
        Group("formats", "trace formats, for --format", tuple(Entry(one.name, one.help) for one in all_formats())),
        Group("scenes", "example scenes that 'ssdlab explain' can show", _scenes()),
        Group("experiments", "published tables that 'ssdlab experiment run' reproduces", _experiments()),
        *(_choice(key, key) for key in keys if key not in KNOWN_AS.values()),
    ]


def group(name: str) -> Group:
    """Returns the catalogue group with the given name, or the group of the setting with the given key."""
    groups = {one.name: one for one in catalogue()}
    asked = _ssdlab.named(name, [*groups, *KNOWN_AS.values()]) or name
    asked = next((short for short, key in KNOWN_AS.items() if key == asked), asked)
    if asked not in groups:
        raise ConfigError(_not_listed(name, groups))
    return groups[asked]


def _not_listed(name: str, groups: Iterable[str]) -> str:
    """Returns the error for a name without entries, such as a table of settings or a setting without named values."""
    try:
        explained = explain(name)
    except ConfigError:
        renamed = _ssdlab.renamed(name)
        if renamed:
            return f"{name}: {renamed}"
        return f"unknown name {name!r}{suggestion(name, groups)}; 'ssdlab list' shows all names"
    key = _ssdlab.named(name, [one.key for one in explained])
    if key is None:
        return f"{name} is a table of settings; 'ssdlab config explain {name}' shows these settings"
    [one] = explained
    details = f"({one.range}; default {one.default})"
    return f"{key} has no named values {details}; 'ssdlab config explain {key}' describes the setting"


def _sections() -> tuple[Entry, ...]:
    counts = Counter(key.partition(".")[0] for key, *_ in _ssdlab.options())
    described = json.loads(config_schema())["properties"]
    return tuple(
        Entry(name, f"{described[name]['description']} {counted(count, 'settings')}.") for name, count in counts.items()
    )


def _choice(name: str, key: str) -> Group:
    """Returns the named values of a setting as a catalogue group."""
    meaning = next(help_text for option, help_text, _, _ in _ssdlab.options() if option == key)
    entries = (Entry(one, help_text, _below(f"{key}.{one}.")) for one, help_text in _ssdlab.variants(key))
    return Group(name, f"values of {key}. {meaning}", tuple(entries))


def _below(prefix: str) -> tuple[Parameter, ...]:
    """Returns the settings of a variant, such as an FTL, as parameters."""
    parameters = []
    for key, help_text, _, _ in _ssdlab.options():
        explained = _ssdlab.explain(key) if key.startswith(prefix) else None
        if explained is not None:
            default = explained[2].replace("`", "").replace('"', "")
            parameters.append(Parameter(key.removeprefix(prefix), default, help_text))
    return tuple(parameters)


def _caches(known: Sequence[CachePolicy] | Sequence[CacheAdmission]) -> tuple[Entry, ...]:
    return tuple(
        Entry(
            one.name,
            one.help,
            tuple(
                Parameter(
                    each.name,
                    "no limit" if each.default == NO_LIMIT else f"{each.default} {each.unit}".rstrip(),
                    each.help,
                )
                for each in one.parameters
            ),
        )
        for one in known
    )


def _codecs() -> tuple[Entry, ...]:
    return tuple(Entry(name, f"{help_text} Written as {form}.") for name, help_text, form in _ssdlab.codecs())


def _experiments() -> tuple[Entry, ...]:
    found = [Entry(name, experiments.load(name).title) for name in experiments.names()]
    found += [Entry(name, screening.load(name).title) for name in screening.names()]
    return tuple(sorted(found))


def _scenes() -> tuple[Entry, ...]:
    return tuple(Entry(name, steps.scene(name).title) for name in steps.scenes())
