"""Builds the page that explains a setting or a table of settings."""

from collections.abc import Sequence

from ssdlab import text
from ssdlab.study.explain import Explanation
from ssdlab.view.page import Page, Paragraph, Section, Table


def page(key: str, settings: Sequence[Explanation]) -> Page:
    """Builds a page with the details of one setting, or a table of several with the first sentence of their help."""
    if len(settings) == 1:
        return _setting(settings[0])
    rows = [(setting.key, setting.default, setting.help.partition(". ")[0]) for setting in settings]
    table = Table(("setting", "default", "meaning"), rows, left=3)
    return Page(title=f"{len(settings)} settings of {key}", sections=[Section("", [table])])


def _setting(settings: Explanation) -> Page:
    facts = [
        ("range", settings.range),
        ("unit", settings.units or text.MISSING),
        ("default", settings.default),
        ("used where", ", ".join([*settings.used, *(f"{key} = {value}" for key, value in settings.needs)]) or "always"),
        ("example", f"--set {settings.key}={settings.example}"),
    ]
    tables = []
    if settings.variants:
        tables.append(Section("", [Table(("value", "meaning"), settings.variants, left=2)]))
    if settings.presets:
        rows = [(preset.preset, preset.value, preset.source) for preset in settings.presets]
        tables.append(Section("", [Table(("preset", "value", "source"), rows, left=3)]))
    return Page(
        title=settings.key,
        lead=[Paragraph(settings.help)],
        sections=[Section("", [Table(("setting", settings.key), facts, left=2)]), *tables],
    )
