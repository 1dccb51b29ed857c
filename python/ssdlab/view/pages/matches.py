"""Builds the page that lists the names that match a query."""

from collections.abc import Sequence

from ssdlab import text
from ssdlab.study.search import Named
from ssdlab.view.page import Page, Section, Table


def page(query: str, found: Sequence[Named]) -> Page:
    """Builds a page with a row for each matching name: the name and the first sentence of its description."""
    rows = [(named.name, named.kind, named.help.partition(". ")[0]) for named in found]
    return Page(
        title=f"{text.counted(len(found), 'results')} for {query!r}",
        sections=[Section("", [Table(("name", "type", "meaning"), rows, left=3)])],
        legend="'ssdlab config explain KEY' explains a setting, 'ssdlab COMMAND --help' a command.",
    )
