"""Pages as HTML: everything in one file, readable offline, in light and in dark, on screen and paper."""

from itertools import count

import jinja2
from markupsafe import Markup

from ssdlab import _ssdlab
from ssdlab.view import glossary
from ssdlab.view import page as pages
from ssdlab.view.plots import style

# The page sets these by colour scheme; figures elsewhere keep matplotlib's.
VARIABLES = {
    style.INK: "var(--ink)",
    style.GRID: "var(--grid)",
    style.BLUE: "var(--blue)",
    style.ORANGE: "var(--orange)",
    style.GREEN: "var(--green)",
    style.PURPLE: "var(--purple)",
    style.SKY: "var(--sky)",
    style.AMBER: "var(--amber)",
    style.YELLOW: "var(--yellow)",
    style.GREY: "var(--grey)",
}


def render(page: pages.Page) -> str:
    """The page. Equal pages give equal bytes."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ssdlab.view", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    numbers = count()

    def inline(figure: pages.Figure) -> Markup:
        """The figure as inline SVG whose colours follow the page and whose ids are its own."""
        code, name = style.svg(figure.draw()), f"f{next(numbers)}"
        for colour, variable in VARIABLES.items():
            code = code.replace(colour, variable)
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
    )


def _cell(cell: "str | pages.Cell") -> pages.Cell:
    return pages.Cell(cell) if isinstance(cell, str) else cell
