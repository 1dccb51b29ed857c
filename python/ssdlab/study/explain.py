"""Explains settings in words."""

from typing import Any, NamedTuple

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.study.search import unknown_setting


class Stated(NamedTuple):
    """Value of a setting in a preset, with its source."""

    preset: str
    value: str
    source: str
    """Source of the value, such as a data sheet; may be empty."""


class Explanation(NamedTuple):
    """A setting in words."""

    key: str
    help: str
    range: str
    """Type and range of the setting."""
    units: str
    """Allowed units of the setting; empty for numbers and names."""
    default: str
    needs: tuple[tuple[str, str], ...]
    """Settings on which this setting depends, outermost first, each with the value that it must have."""
    used: tuple[str, ...]
    """Further conditions under which the setting has an effect."""
    example: str
    """Example of a value of the setting, as for `--set`."""
    variants: tuple[tuple[str, str], ...]
    """Names that the setting accepts, each with its meaning."""
    presets: tuple[Stated, ...]
    """Presets that set a value for the setting, each with the value and its source."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the explanation of the setting, ready for JSON."""
        return {
            **self._asdict(),
            "needs": dict(self.needs),
            "variants": dict(self.variants),
            "presets": [one._asdict() for one in self.presets],
        }


def explain(key: str) -> list[Explanation]:
    """Explains a setting, or every setting of a table."""
    options = _ssdlab.options()
    names = [name for name, *_ in options]
    tables = {name[:end] for name in names for end in range(len(name)) if name[end] == "."}
    known = [*names, *sorted(tables)]
    key = _ssdlab.named(key, known) or key
    asked = [key] if key in names else [name for name in names if name.startswith(f"{key}.")]
    if not asked:
        raise ConfigError(unknown_setting(key, known))
    return [_explained(*option) for option in options if option[0] in asked]


def _explained(key: str, help_text: str, example: str, _variants: list[str]) -> Explanation:
    explained = _ssdlab.explain(key)
    assert explained is not None
    extent, units, default, needs, used = explained
    return Explanation(
        key=key,
        help=help_text,
        range=_plain(extent),
        units=units,
        default=_plain(default),
        needs=tuple(needs),
        used=tuple(used),
        example=example,
        variants=tuple(_ssdlab.variants(key)),
        presets=tuple(Stated(preset, value.strip('"'), source) for preset, value, source in _ssdlab.stated(key)),
    )


def _plain(words: str) -> str:
    return words.replace("`", "")
