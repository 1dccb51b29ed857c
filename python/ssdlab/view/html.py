"""Pages as HTML: everything in one file, readable offline, in light and in dark, on screen and paper."""

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
"""Of a page in a notebook, from the first on; the others are folded."""
FRAME_INCHES = 0.6
"""What a frame has beyond its chart."""


def _breakable(key: str) -> Markup:
    """The name of a setting, which a narrow column breaks behind a dot."""
    return Markup(re.sub(r"\.(?=[a-z])", ".<wbr>", escape(key)))


def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ssdlab.view", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["breakable"] = _breakable
    return environment.get_template(name)


def _kind(item: object) -> str:
    return type(item).__name__


def render(page: pages.Page, of: str) -> str:
    """The page. Equal pages give equal bytes.

    Args:
        page: What it shows.
        of: Kind of the finding, by which a page tells of which JSON file beside it it is.
    """
    charts: list[Chart] = []

    def inline(figure: pages.Figure, title: str) -> Markup:
        """A chart to explore, or why there is none."""
        chart = figure.draw()
        if chart.is_empty:
            return Markup('<p class="soft">{}</p>').format(chart.panels[0].empty)
        charts.append(chart)
        place = Markup('<div class="chart" role="img" aria-label="{}" data-chart="{}"></div>')
        return place.format(title, len(charts) - 1)

    telling = [replace(one, items=[item for item in one.items if _tells(item)]) for one in page.sections]
    sections = [one for one in telling if one.items]
    return _template("page.html.jinja").render(
        page=replace(page, sections=sections),
        of=of,
        version=_ssdlab.__version__,
        inline=inline,
        cell=_cell,
        kind=_kind,
        glossary=glossary.used,
        charts=charts,
        explore=explore,
        code=Markup,
    )


def _tells(item: pages.Item) -> bool:
    return not isinstance(item, pages.Figure) or item.tells()


def _cell(cell: "str | pages.Cell") -> pages.Cell:
    return pages.Cell(cell) if isinstance(cell, str) else cell


def in_notebook(page: pages.Page) -> str:
    """What a notebook shows of a page: its first section and, folded, the others; figures are drawn by themselves."""
    sections = [replace(one, items=[*_without_figures(one.items)]) for one in page.sections]
    shown = replace(page, sections=[one for one in sections if one.items])
    return _template("notebook.html.jinja").render(page=shown, cell=_cell, kind=_kind, open=OPEN_SECTIONS)


def _without_figures(items: Sequence[pages.Item]) -> Iterator[pages.Item]:
    for item in items:
        if isinstance(item, pages.Beside):
            yield pages.Beside([one for one in item.items if not isinstance(one, pages.Figure)])
        elif not isinstance(item, pages.Figure):
            yield item


def frame(chart: Chart, title: str) -> str:
    """A chart to explore in a frame of its own, for a notebook."""
    page = _template("frame.html.jinja").render(title=title, charts=[chart], explore=explore, code=Markup)
    height = f"{chart.height + FRAME_INCHES:g}in"
    style = f"width: 100%; height: {height}; border: 0"
    return f'<iframe title="{escape(title)}" srcdoc="{escape(page)}" style="{style}"></iframe>'
