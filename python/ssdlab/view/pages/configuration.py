"""Builds the report page of a configuration: settings that the user gave, and defaults."""

from collections.abc import Iterable

from ssdlab.model.config import Config, Setting
from ssdlab.view.page import Cell, Page, Section, Style, Table


def page(config: Config) -> Page:
    """Returns the report page of a configuration."""
    made = [setting for setting in config.settings if not setting.origin.startswith("default")]
    left = [setting for setting in config.settings if setting.origin.startswith("default")]
    sections = [("Set", made), ("Defaults", left)]
    return Page(
        "Configuration", sections=[Section(title, [table(settings)]) for title, settings in sections if settings]
    )


def table(settings: Iterable[Setting]) -> Table:
    """Returns a table of settings with their origins."""
    styles: tuple[Style, ...] = ("code", "code", "soft")
    rows = [
        [Cell(cell, style) for cell, style in zip((key, value.strip('"'), origin), styles, strict=True)]
        for key, value, origin in settings
    ]
    return Table(("setting", "value", "set by"), rows, left=3)
