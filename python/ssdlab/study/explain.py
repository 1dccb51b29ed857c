"""What settings mean, in words."""

from typing import Any, NamedTuple

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.text import key_suggestion


class Stated(NamedTuple):
    """What a preset says of a setting."""

    preset: str
    value: str
    source: str
    """Where the number comes from; empty where the preset does not say."""


class Explanation(NamedTuple):
    """A setting in words."""

    key: str
    help: str
    range: str
    """Type and range."""
    units: str
    """The units there are; empty for numbers and names."""
    default: str
    needs: tuple[tuple[str, str], ...]
    """The choices that it belongs to, outermost first, each with its value; without these nothing uses it."""
    used: tuple[str, ...]
    """Where else it must be for anything to use it, in words."""
    example: str
    """As `--set` takes it."""
    variants: tuple[tuple[str, str], ...]
    """The names to choose from, each with what it means."""
    presets: tuple[Stated, ...]
    """What the presets that set it say."""

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            **self._asdict(),
            "needs": dict(self.needs),
            "variants": dict(self.variants),
            "presets": [one._asdict() for one in self.presets],
        }


def explain(key: str) -> list[Explanation]:
    """What the setting `key` means, or every setting of the table `key`.

    Raises:
        ConfigError: If there is neither.
    """
    options = _ssdlab.options()
    names = [name for name, *_ in options]
    tables = {name[:end] for name in names for end in range(len(name)) if name[end] == "."}
    known = [*names, *sorted(tables)]
    key = _ssdlab.named(key, known) or key
    asked = [key] if key in names else [name for name in names if name.startswith(f"{key}.")]
    if not asked:
        raise ConfigError(
            f"no setting is called {key!r}{key_suggestion(key, known)}; 'ssdlab list settings' shows the tables"
        )
    return [_explained(*option) for option in options if option[0] in asked]


def _explained(key: str, help_text: str, example: str, _variants: list[str]) -> Explanation:
    found = _ssdlab.explain(key)
    assert found is not None
    extent, units, default, needs, used = found
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
    """Words of the reference page without its marks."""
    return words.replace("`", "")
