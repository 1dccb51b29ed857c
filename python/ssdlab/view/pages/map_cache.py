"""Builds the report page with advice on map caches."""

from ssdlab import text
from ssdlab.analyse.map_cache import MapCacheAdvice, MapCacheChoice
from ssdlab.lazy import Numbers
from ssdlab.model.source import chosen, ingest_remarks, source_text
from ssdlab.view.page import Figure, Page, Paragraph, Section, Table

CURVES = (
    "Points show the requested cache sizes. Lines are lower bounds for other cache sizes: they assume "
    "that each dirty segment is written back alone, not together with other dirty segments of its map page."
)


def page(advice: MapCacheAdvice, target: float) -> Page:
    """Returns the report page with advice on map caches; `target` is the share of the whole-map throughput to reach."""
    counted = (
        f"{text.counted(advice.requests, 'requests')}, {text.counted(advice.look_ups, 'look-ups')}; a map entry of "
        f"{text.size(advice.entry_bytes)} per page of {text.size(advice.page_bytes)}"
    )
    whole_map = (
        f"whole map in RAM: {text.size(advice.full_ram_bytes)}, {text.short_count(advice.full_iops)} requests per "
        "second predicted"
    )
    return Page(
        title=source_text(advice.source),
        chosen=chosen(advice.source),
        lead=[Paragraph(counted), Paragraph(whole_map)],
        remarks=ingest_remarks(advice.ingest),
        sections=[
            Section("Requests per second by cache size", [Figure(advice.plot.chart, note=CURVES)], terminal=False),
            Section("", [_shares(advice, "relative throughput", advice.iops_share)]),
            Section("", [_shares(advice, "hit ratio", advice.hit_ratio)]),
        ],
        conclusion=[Paragraph(line) for line in advised(advice, target)],
    )


def _shares(advice: MapCacheAdvice, title: str, shares: "Numbers") -> Table:
    return Table(
        ["", *(f"segment {text.size(segment)}" for segment in advice.segments.tolist())],
        [
            [f"cache {text.size(cache)}", *map(text.percent, row)]
            for cache, row in zip(advice.caches.tolist(), shares.tolist(), strict=True)
        ],
        title,
    )


def advised(advice: MapCacheAdvice, target: float) -> list[str]:
    """Describes, in sentences, the recommended map cache and the next smaller and larger caches."""
    best = advice.best(target)
    if best is None:
        row, column = divmod(int(advice.iops_share.argmax()), len(advice.segments))
        most, limit = advice.choice(row, column), float(advice.limit.max())
        larger = f"a larger cache reaches at most {text.percent(limit)}"
        if limit < target:
            larger = (
                f"no cache reaches more than {text.percent(limit)}, because the first look-up of each segment misses"
            )
        return [
            f"No cache up to {text.size(int(advice.caches.max()))} reaches {100 * target:g} % of the IOPS with the "
            f"whole map in RAM: {_words(most)} reaches {text.percent(most.iops_share)}; {larger}."
        ]
    least = advice.least(best.segment_bytes, target)
    smaller = "" if least in (None, best.cache_bytes) else f"; {text.size(least or 0)} of cache also suffices"
    lines = [
        f"To reach {100 * target:g} % of the IOPS with the whole map in RAM, choose {_words(best)}: "
        f"{text.percent(best.iops_share)} with {text.size(best.ram_bytes)} of RAM, including the table of segment "
        f"locations{smaller}."
    ]
    for name, other in zip(("smaller", "larger"), advice.neighbours(best), strict=True):
        if other is not None:
            lines.append(
                f"The next {name} cache, {text.size(other.cache_bytes)}, reaches {text.percent(other.iops_share)} with "
                f"{text.size(other.ram_bytes)} of RAM."
            )
    return lines


def _words(choice: MapCacheChoice) -> str:
    return f"{text.size(choice.cache_bytes)} with segments of {text.size(choice.segment_bytes)}"
