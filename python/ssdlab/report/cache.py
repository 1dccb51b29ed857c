"""The page about simulated caches."""

from ssdlab.cache.result import CacheSimulation, MissRatioCurves
from ssdlab.cache.tables import headlines, remarks, tables
from ssdlab.report.page import about_requests


def render(found: CacheSimulation | MissRatioCurves) -> str:
    """The page about caches on one trace. Equal figures give equal pages."""
    return about_requests(
        "cache.html.jinja",
        source=found.source,
        charts={"miss_ratios": found.plot()},
        tiles=headlines(found),
        remarks=remarks(found),
        tables=tables(found),
    )
