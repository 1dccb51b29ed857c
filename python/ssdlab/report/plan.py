"""The report of a plan."""

from typing import TYPE_CHECKING

from ssdlab.plan import words
from ssdlab.report.page import inline, page

if TYPE_CHECKING:
    from ssdlab.plan import CachePlan


def render(plan: "CachePlan") -> str:
    """The report of a plan. Equal plans give equal pages."""
    return page(
        "plan.html.jinja",
        plan=plan,
        title=words.title(plan),
        how=words.how(plan),
        verdict=words.verdict(plan),
        chart=inline(plan.plot(), "curves"),
        tables=[
            ("Compressors", words.COMPRESSORS, words.compressors(plan)),
            (words.choices_heading(plan), words.CHOICES, words.choices(plan)),
            (words.corrections_heading(plan), words.CORRECTIONS, words.corrections(plan)),
            (words.devices_heading(plan), words.DEVICES, words.devices(plan)),
        ],
    )
