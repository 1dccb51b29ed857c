"""What every page shares: the frame with its style, and charts set into it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from ssdlab import __version__, plot
from ssdlab.figures import source_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The page sets these by colour scheme; figures elsewhere keep matplotlib's.
VARIABLES = {
    plot.INK: "var(--ink)",
    plot.GRID: "var(--grid)",
    plot.BLUE: "var(--blue)",
    plot.ORANGE: "var(--orange)",
    plot.GREEN: "var(--green)",
    plot.PURPLE: "var(--purple)",
    plot.SKY: "var(--sky)",
    plot.AMBER: "var(--amber)",
    plot.YELLOW: "var(--yellow)",
    plot.GREY: "var(--grey)",
}


def inline(figure: "Figure", name: str) -> Markup:
    """The figure as inline SVG whose colours follow the page and whose ids are its own."""
    code = plot.svg(figure)
    for colour, variable in VARIABLES.items():
        code = code.replace(colour, variable)
    for reference in ('id="', 'href="#', "url(#"):
        code = code.replace(reference, f"{reference}{name}-")
    return Markup(code)


def page(template: str, **contents: object) -> str:
    """A page made of one of the templates beside this file. Equal contents give equal pages."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ssdlab.report", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(template).render(version=__version__, **contents)


def about_requests(
    template: str, *, source: Mapping[str, Any], charts: Mapping[str, "Figure"], **contents: object
) -> str:
    """A page about requests from `source`, with its charts."""
    return page(
        template,
        source=source_text(source),
        source_options={key: value for key, value in source.items() if key not in ("kind", "paths")},
        charts={name: inline(figure, name) for name, figure in charts.items()},
        **contents,
    )
