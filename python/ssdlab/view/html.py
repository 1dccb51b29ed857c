"""Pages as HTML: everything in one file, readable offline, in light and in dark, on screen and paper."""

from itertools import count

import jinja2
from markupsafe import Markup

from ssdlab import _ssdlab
from ssdlab.lazy import room
from ssdlab.view import explore, glossary
from ssdlab.view import page as pages
from ssdlab.view.chart import Chart
from ssdlab.view.colours import VARIABLES


def render(page: pages.Page) -> str:
    """The page. Equal pages give equal bytes."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ssdlab.view", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    numbers = count()
    charts: list[Chart] = []

    def inline(figure: pages.Figure, title: str) -> Markup:
        """A chart to explore, or a figure as inline SVG whose colours follow the page and whose ids are its own."""
        drawn = figure.draw()
        if isinstance(drawn, Chart):
            if drawn.is_empty:
                return Markup('<p class="soft">{}</p>').format(drawn.panels[0].empty)
            charts.append(drawn)
            place = Markup('<div class="chart" role="img" aria-label="{}" data-chart="{}"></div>')
            return place.format(title, len(charts) - 1)
        # Whoever has figures of matplotlib has loaded it.
        code: str = room("view.plots.style").svg(drawn)
        name = f"f{next(numbers)}"
        for colour, variable in VARIABLES.items():
            code = code.replace(colour, f"var({variable})")
        for reference in ('id="', 'href="#', "url(#"):
            code = code.replace(reference, f"{reference}{name}-")
        return Markup(code)

    template = environment.get_template("page.html.jinja")
    return template.render(
        page=page,
        version=_ssdlab.__version__,
        inline=inline,
        cell=_cell,
        kind=lambda item: type(item).__name__,
        glossary=glossary.used,
        charts=charts,
        explore=explore,
        code=Markup,
    )


def _cell(cell: "str | pages.Cell") -> pages.Cell:
    return pages.Cell(cell) if isinstance(cell, str) else cell
