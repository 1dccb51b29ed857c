"""The report of a plan."""

from typing import TYPE_CHECKING

from ssdlab.cache.planning import words
from ssdlab.report.page import inline, page

if TYPE_CHECKING:
    from ssdlab.cache.planning import CachePlan


def render(plan: "CachePlan") -> str:
    """The report of a plan. Equal plans give equal pages."""
    return page(
        "plan.html.jinja",
        plan=plan,
        title=words.title(plan),
        how=words.how(plan),
        verdict=words.verdict(plan),
        chart=inline(plan.plot(), "curves"),
        tables=words.tables(plan),
    )
