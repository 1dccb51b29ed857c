"""The page of simulated caches."""

from collections.abc import Callable
from typing import Any

from ssdlab import text
from ssdlab.analyse.cache.result import CacheSimulation, MissRatioCurves
from ssdlab.model.source import chosen, ingest_remarks, source_text
from ssdlab.view.page import Facts, Figure, Page, Section, Table

FEW = 100
"""Sampled units below which a cache is another kind of cache."""


def page(found: CacheSimulation | MissRatioCurves) -> Page:
    """The page of caches on one trace."""
    return Page(
        title=source_text(found.source),
        chosen=chosen(found.source),
        partial="stopped before all that was asked for was simulated" if found.partial else "",
        remarks=_remarks(found),
        sections=[
            Section("", [Facts(_headlines(found), tiles=True)]),
            *_drawn(found),
            Section("In figures", _tables(found)),
        ],
        footer="Sizes in binary units (1 KiB = 1,024 B). Figures are exact but for those with a standard error (±).",
    )


def _drawn(found: CacheSimulation | MissRatioCurves) -> list[Section]:
    """The curves; of a single size the table tells all there is."""
    if len(found.capacities) == 1:
        return []
    note = "Misses of all accesses, against the size of the cache. Caches are empty at first."
    return [Section("Miss ratios", [Figure(found.plot.chart)], note=note, terminal=False)]


def _headlines(found: CacheSimulation | MissRatioCurves) -> list[tuple[str, str]]:
    """What the caches were given: what each figure is, and its text."""
    item = "pages" if found.granularity == "pages" else "objects"
    touched = text.count(found.items)
    if found.unit_bytes is not None:
        touched += f" ({text.size(found.footprint_units * found.unit_bytes)})"
    estimated = isinstance(found, MissRatioCurves) and not found.footprint_exact
    different = f"different {item}" + (", estimated" if estimated else "")
    rows = [("accesses", text.count(found.accesses)), (different, touched)]
    if isinstance(found, MissRatioCurves) and found.sample_rate is not None:
        rows.append(("sampled", text.percent(found.sample_rate)))
    if isinstance(found, CacheSimulation) and found.ttl_s is not None:
        told = f"as their {found.ttl_s} says"
        lives = text.duration(found.ttl_s * 1_000_000_000) if isinstance(found.ttl_s, int) else told
        rows.append(("items live for", lives))
    return rows


def _remarks(found: CacheSimulation | MissRatioCurves) -> list[str]:
    """What a person should know before reading figures."""
    notes = ingest_remarks(found.ingest)
    if found.outgrown is not None and found.bytes_outgrown is not None:
        hits, lacked = int(found.outgrown.max()), int(found.bytes_outgrown.max())
        about = "about " if isinstance(found, MissRatioCurves) and "sampled" in found.methods else ""
        if hits:
            notes.append(
                f"up to {about}{text.counted(hits, 'hits')} of a cache asked for more than their object had when it "
                f"came in; up to {about}{text.size(lacked)} that they lacked are missed, and the object keeps its size"
            )
    if isinstance(found, MissRatioCurves):
        few = ((found.scaled_units > 0) & (found.scaled_units < FEW)).any(axis=0)
        if few.any():
            most = found.size_text(int(found.capacities[few].max()))
            notes.append(
                f"up to {most}, estimates are from caches of fewer than {FEW} sampled units, and rough beyond their "
                "error; sample more"
            )
        if "sampled" in found.methods:
            notes.append(
                "the error behind ± is that of chance alone; small samples of a cache behave otherwise than the whole, "
                "most of all with policies that divide it"
            )
    return notes


def _tables(found: CacheSimulation | MissRatioCurves) -> list[Table]:
    """Every table, in the order of reading."""
    if isinstance(found, MissRatioCurves):
        return [_curves(found)]
    through = found.pages_written_through
    shown: list[tuple[str, Any, Callable[[Any], str]]] = [
        ("miss ratio", found.miss_ratio, text.percent),
        ("byte miss ratio", found.byte_miss_ratio if found.granularity == "sized-objects" else None, text.percent),
        ("hits", found.hits, text.count),
        ("bytes missed", found.bytes_missed, text.size),
        ("misses of what had expired", found.expired, text.count),
        ("read miss ratio", found.read_miss_ratio, text.percent),
        ("write miss ratio", found.write_miss_ratio, text.percent),
        ("pages written back", found.pages_written_back, text.count),
        ("pages written through (FUA)", through if through is not None and through.any() else None, text.count),
        ("pages left dirty", found.pages_dirty, text.count),
    ]
    sizes = [found.size_text(units) for units in found.capacities.tolist()]
    return [
        Table(
            ["", *sizes],
            [[policy, *map(form, row)] for policy, row in zip(found.policies, values.tolist(), strict=True)],
            title,
        )
        for title, values, form in shown
        if values is not None
    ]


def _curves(found: MissRatioCurves) -> Table:
    """A row for each size and a column for each policy, as curves are many sizes of few policies."""
    rows = [["found by", *found.methods]]
    for column, units in enumerate(found.capacities.tolist()):
        cells = []
        for ratio, error, method in zip(
            found.miss_ratio[:, column].tolist(), found.standard_error[:, column].tolist(), found.methods, strict=True
        ):
            about = f" ± {100 * error:.2f}" if method == "sampled" else ""
            cells.append(f"{text.percent(ratio)}{about}")
        rows.append([found.size_text(units), *cells])
    return Table(["", *found.policies], rows, "miss ratio")
