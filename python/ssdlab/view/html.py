"""Renders each page as one HTML file, readable offline, in light and dark mode, on screen and on paper."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import jinja2
from markupsafe import Markup, escape

from ssdlab import _ssdlab
from ssdlab.view import explore, glossary
from ssdlab.view import page as pages
from ssdlab.view.chart import Chart

OPEN_SECTIONS = 2
"""Number of sections that are open when a notebook shows a page; all others are folded."""
FRAME_INCHES = 0.6
"""Height in inches that an iframe needs beyond the height of its chart."""


def _breakable(key: str) -> Markup:
    """Allows line breaks after the dots in the name of a setting."""
    return Markup(re.sub(r"\.(?=[a-z])", ".<wbr>", escape(key)))


def template(name: str) -> jinja2.Template:
    """Returns the template of a page, given its path in this folder."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ssdlab.view", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["breakable"] = _breakable
    environment.globals |= {"cell": _cell, "kind": lambda item: type(item).__name__, "explore": explore, "code": Markup}
    return environment.get_template(name)


def render(page: pages.Page, of: str) -> str:
    """Renders the page as HTML; `of` is the kind of the result. Identical pages give byte-identical HTML."""
    charts: list[Chart] = []

    def inline(figure: pages.Figure, title: str) -> Markup:
        """Returns an interactive chart as HTML, or the reason why there is nothing to draw."""
        chart = figure.draw()
        if chart.is_empty:
            return Markup('<p class="soft">{}</p>').format(chart.panels[0].empty)
        charts.append(chart)
        place = Markup('<div class="chart" role="img" aria-label="{}" data-chart="{}"></div>')
        return place.format(title, len(charts) - 1)

    sections = []
    for section in page.sections:
        items = [item for item in section.items if not isinstance(item, pages.Figure) or item.is_useful()]
        if items:
            sections.append(replace(section, items=items))
    return template("page.html.jinja").render(
        page=replace(page, sections=sections),
        of=of,
        version=_ssdlab.__version__,
        inline=inline,
        glossary=glossary.used,
        charts=charts,
    )


def _cell(cell: "str | pages.Cell") -> pages.Cell:
    return pages.Cell(cell) if isinstance(cell, str) else cell


def in_notebook(page: pages.Page) -> str:
    """Returns a page as HTML for a notebook: without figures, and with all but the first sections folded."""
    sections = [replace(section, items=[*_without_figures(section.items)]) for section in page.sections]
    shown = replace(page, sections=[section for section in sections if section.items])
    return template("notebook.html.jinja").render(page=shown, open=OPEN_SECTIONS)


def _without_figures(items: Sequence[pages.Item]) -> Iterator[pages.Item]:
    for item in items:
        if isinstance(item, pages.Beside):
            yield pages.Beside([inner for inner in item.items if not isinstance(inner, pages.Figure)])
        elif not isinstance(item, pages.Figure):
            yield item


def frame(chart: Chart, title: str) -> str:
    """Returns an interactive chart in an iframe, for a notebook."""
    page = template("frame.html.jinja").render(title=title, charts=[chart])
    style = f"width: 100%; height: {chart.height + FRAME_INCHES:g}in; border: 0"
    return f'<iframe title="{escape(title)}" srcdoc="{escape(page)}" style="{style}"></iframe>'
