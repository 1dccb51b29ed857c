"""The page of a setting, and of a table of settings."""

from collections.abc import Sequence

from ssdlab import text
from ssdlab.study.explain import Explanation
from ssdlab.view.page import Page, Paragraph, Section, Table


def page(key: str, found: Sequence[Explanation]) -> Page:
    """One setting at length, several at a glance."""
    if len(found) == 1:
        return _setting(found[0])
    rows = [(one.key, one.range, one.default, one.help) for one in found]
    headers = ("setting", "range", "default", "meaning")
    return Page(title=f"{len(found)} settings of {key}", sections=[Section("", [Table(headers, rows, left=4)])])


def _setting(found: Explanation) -> Page:
    facts = [
        ("range", found.range),
        ("unit", found.units or text.MISSING),
        ("default", found.default),
        ("used where", ", ".join([*found.used, *(f"{key} = {value}" for key, value in found.needs)]) or "always"),
        ("example", f"--set {found.key}={found.example}"),
    ]
    tables = []
    if found.variants:
        tables.append(Section("", [Table(("value", "meaning"), found.variants, left=2)]))
    if found.presets:
        rows = [(one.preset, one.value, one.source) for one in found.presets]
        tables.append(Section("", [Table(("preset", "value", "source"), rows, left=3)]))
    return Page(
        title=found.key,
        lead=[Paragraph(found.help)],
        sections=[Section("", [Table(("setting", found.key), facts, left=2)]), *tables],
    )
