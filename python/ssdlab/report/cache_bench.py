"""The report of measured caches."""

from typing import TYPE_CHECKING

from ssdlab import plot_cache_bench
from ssdlab.cache import benchmark_tables
from ssdlab.report.page import inline, page

if TYPE_CHECKING:
    from ssdlab.cache.benchmark import CacheBench


def render(found: "CacheBench") -> str:
    """The report. Equal results give equal pages."""
    return page(
        "cache_bench.html.jinja",
        title=found.title,
        contents=benchmark_tables.contents(found),
        remarks=benchmark_tables.remarks(found),
        charts=[
            ("Pages a second", inline(plot_cache_bench.shares(found), "shares")),
            ("Hits", inline(plot_cache_bench.hits(found), "hits")),
        ],
        headers=benchmark_tables.HEADERS,
        rows=benchmark_tables.rows(found),
        legend=benchmark_tables.LEGEND,
    )
