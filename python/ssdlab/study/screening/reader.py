"""Strict reader for screenings, which reports misspelt keys as errors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.toml_file import read_toml
from ssdlab.study.experiments.expression import Value
from ssdlab.study.experiments.keys import Keys, settings_of
from ssdlab.study.screening.definition import BASELINES, Claim, Factor, Figure, Form, Level, Screening
from ssdlab.study.sweep import factorial
from ssdlab.study.work.below import EVENTS, Taking

KEYS = ("title", "document", "set", "below", "tested", "scheduler", "factor", "figure", "claim", "form")
FORMS = ("short", "full")
FORM_KEYS = ("set", "seeds", "fresh_seeds", "resolution", "refined", "factor")
BELOW, TAKING = "below", "trace"
"""Keys that a factor level's table may contain in addition to sections of the configuration."""


def read(path: Path, file: str) -> Screening:
    """Reads a screening from `path`. Messages show this path as `file`."""
    source, document = read_toml(path, file)
    keys = Keys(file, document, KEYS)
    schedulers = _levels(f"{file}: [scheduler]", keys.get("scheduler", dict))
    tested = keys.choice("tested", tuple(schedulers), "")
    if len(schedulers) < 2:
        raise keys.error("scheduler", "needs at least two schedulers to compare; add another")
    figures = tuple(_figure(keys, name, values) for name, values in keys.get("figure", dict).items())
    return Screening(
        name=path.stem,
        file=file,
        source=source,
        title=keys.text("title"),
        document=keys.text("document"),
        settings=keys.settings("set"),
        below=keys.settings("below"),
        schedulers=schedulers,
        tested=tested,
        figures=figures,
        claims=tuple(_claim(keys, values, [one.name for one in figures]) for values in keys.get("claim", list)),
        forms={name: _form(keys, name) for name in FORMS},
    )


def _levels(place: str, values: Mapping[str, Any]) -> dict[str, Level]:
    return {label: _level(f"{place} {label}", level) for label, level in values.items()}


def _level(place: str, values: Any) -> Level:
    if not isinstance(values, dict):
        raise ConfigError(f"{place}: {values!r} is not a table; write it like {{ SETTING = VALUE }}")
    for key in (BELOW, TAKING):
        if not isinstance(values.get(key, {}), dict):
            raise ConfigError(f"{place}: {key}: is not a table; write it like {key} = {{ NAME = VALUE }}")
    taking = values.get(TAKING, {})
    known = Keys(f"{place}: {TAKING}", taking, Taking._fields)
    for name, kind in Taking.__annotations__.items():
        if known.has(name):
            known.get(name, kind)
    for name in ("partition", "seconds"):
        if taking.get(name, 0) < 0:
            raise known.error(name, f"{taking[name]} is below 0; use 0 or more")
    if known.has("events"):
        known.choice("events", tuple(EVENTS), "")
    return Level(
        settings_of(place, {key: value for key, value in values.items() if key not in (BELOW, TAKING)}),
        settings_of(f"{place}: {BELOW}", values.get(BELOW, {})),
        taking,
    )


def _factor(keys: Keys, name: str, values: Any) -> Factor:
    place = f"[factor.{name}]"
    if not isinstance(values, dict) or len(values) != 2:
        raise keys.error(place, "must have two levels; write each as LABEL = { SETTING = VALUE }")
    return Factor(keys.name(place, name), _levels(f"{keys.place}: {place}", values))


def _table(place: str, values: Any, known: tuple[str, ...]) -> Keys:
    if not isinstance(values, dict):
        raise ConfigError(f"{place}: {values!r} is not a table; write {known[0]} = ... below it")
    return Keys(place, values, known)


def _figure(keys: Keys, name: str, values: Any) -> Figure:
    inner = _table(f"{keys.place}: [figure.{name}]", values, ("value", "better", "gain"))
    try:
        value = Value(inner.text("value"))
    except ValueError as error:
        raise inner.error("value", f"{error}") from None
    return Figure(name, value, inner.choice("better", ("low", "high"), "") == "low", inner.text("gain"))


def _claim(keys: Keys, values: Any, figures: list[str]) -> Claim:
    inner = _table(f"{keys.place}: [[claim]]", values, ("figure", "against", "least", "says"))
    return Claim(
        figure=inner.choice("figure", tuple(figures), ""),
        against=inner.choice("against", BASELINES, ""),
        least=inner.get("least", float),
        says=inner.text("says"),
    )


def _form(keys: Keys, name: str) -> Form:
    forms = Keys(f"{keys.place}: [form]", keys.get("form", dict), FORMS)
    inner = Keys(f"{keys.place}: [form.{name}]", forms.get(name, dict), FORM_KEYS)
    seeds, fresh_seeds = inner.get("seeds", int), inner.get("fresh_seeds", int)
    for key, count in (("seeds", seeds), ("fresh_seeds", fresh_seeds)):
        if count < 2:
            raise inner.error(key, f"{count} is too few for confidence intervals; use 2 or more")
    resolution = inner.get("resolution", int)
    if resolution not in factorial.RESOLUTIONS:
        raise inner.error("resolution", f"{resolution} is not one of {', '.join(map(str, factorial.RESOLUTIONS))}")
    refined = inner.get("refined", int)
    if refined < 0:
        raise inner.error("refined", f"{refined} is below 0; use a maximum of 0 or more factors")
    common, own = keys.get("factor", dict), inner.get("factor", dict, {})
    for factor in own:
        if factor not in common:
            raise inner.error("factor", f"unknown factor {factor}{text.suggestion(factor, common)}")
    factors = tuple(_factor(keys, factor, values) for factor, values in {**common, **own}.items())
    return Form(inner.settings("set"), seeds, fresh_seeds, resolution, refined, factors)
