"""Builds the report page of simulated caches."""

from collections.abc import Callable
from typing import Any

from ssdlab import text
from ssdlab.analyse.cache.result import CacheSimulation, MissRatioCurves
from ssdlab.model.source import chosen, ingest_remarks, source_text
from ssdlab.view.page import Facts, Figure, Page, Section, Table

FEW = 100
"""Number of units that a sampled cache must hold for a reliable estimate of its miss ratio."""


def page(simulation: CacheSimulation | MissRatioCurves) -> Page:
    """Builds the report page of simulated caches on one trace."""
    # Curves need several cache sizes; for a single size, a table suffices.
    note = "Misses per access by cache size; caches start empty."
    drawn = Section("Miss ratios", [Figure(simulation.plot.chart)], note=note, terminal=False)
    return Page(
        title=source_text(simulation.source),
        chosen=chosen(simulation.source),
        partial="stopped before all caches were simulated" if simulation.partial else "",
        remarks=_remarks(simulation),
        sections=[
            Section("", [Facts(_headlines(simulation), tiles=True)]),
            *([] if len(simulation.capacities) == 1 else [drawn]),
            Section("In figures", _tables(simulation)),
        ],
        footer="Sizes in binary units (1 KiB = 1,024 B). Figures are exact, except those with a standard error (±).",
    )


def _headlines(simulation: CacheSimulation | MissRatioCurves) -> list[tuple[str, str]]:
    item = "pages" if simulation.granularity == "pages" else "objects"
    touched = text.count(simulation.items)
    if simulation.unit_bytes is not None:
        touched += f" ({text.size(simulation.footprint_units * simulation.unit_bytes)})"
    estimated = isinstance(simulation, MissRatioCurves) and not simulation.footprint_exact
    different = f"different {item}" + (", estimated" if estimated else "")
    rows = [("accesses", text.count(simulation.accesses)), (different, touched)]
    if isinstance(simulation, MissRatioCurves) and simulation.sample_rate is not None:
        rows.append(("sampled", text.percent(simulation.sample_rate)))
    if isinstance(simulation, CacheSimulation) and simulation.ttl_s is not None:
        by_request = f"set by the {simulation.ttl_s}"
        shown = text.duration(simulation.ttl_s * 1_000_000_000) if isinstance(simulation.ttl_s, int) else by_request
        rows.append(("time to live", shown))
    return rows


def _remarks(simulation: CacheSimulation | MissRatioCurves) -> list[str]:
    notes = ingest_remarks(simulation.ingest)
    if simulation.outgrown is not None and simulation.bytes_outgrown is not None:
        hits, lacked = int(simulation.outgrown.max()), int(simulation.bytes_outgrown.max())
        about = "about " if isinstance(simulation, MissRatioCurves) and "sampled" in simulation.methods else ""
        if hits:
            notes.append(
                f"up to {about}{text.counted(hits, 'hits')} per cache requested more bytes than the cached object has; "
                f"the {about}{text.size(lacked)} beyond its end count as misses, and its cached size does not change"
            )
    if isinstance(simulation, MissRatioCurves):
        few = ((simulation.scaled_units > 0) & (simulation.scaled_units < FEW)).any(axis=0)
        if few.any():
            most = simulation.size_text(int(simulation.capacities[few].max()))
            notes.append(
                f"estimates for caches of up to {most} are based on fewer than {FEW} sampled units, so their true "
                "error is larger than shown; use a larger sample"
            )
        if "sampled" in simulation.methods:
            notes.append(
                "the error after ± covers only random sampling; a scaled-down cache may also behave differently, "
                "especially with policies that divide the cache"
            )
    return notes


def _tables(simulation: CacheSimulation | MissRatioCurves) -> list[Table]:
    if isinstance(simulation, MissRatioCurves):
        return [_curves(simulation)]
    through = simulation.pages_written_through
    by_bytes = simulation.byte_miss_ratio if simulation.granularity == "sized-objects" else None
    shown: list[tuple[str, Any, Callable[[Any], str]]] = [
        ("miss ratio", simulation.miss_ratio, text.percent),
        ("byte miss ratio", by_bytes, text.percent),
        ("hits", simulation.hits, text.count),
        ("bytes missed", simulation.bytes_missed, text.size),
        ("misses of expired items", simulation.expired, text.count),
        ("read miss ratio", simulation.read_miss_ratio, text.percent),
        ("write miss ratio", simulation.write_miss_ratio, text.percent),
        ("pages written back", simulation.pages_written_back, text.count),
        ("pages written through (FUA)", through if through is not None and through.any() else None, text.count),
        ("pages left dirty", simulation.pages_dirty, text.count),
    ]
    sizes = [simulation.size_text(units) for units in simulation.capacities.tolist()]
    return [
        Table(
            ["", *sizes],
            [[policy, *map(form, row)] for policy, row in zip(simulation.policies, values.tolist(), strict=True)],
            title,
        )
        for title, values, form in shown
        if values is not None
    ]


def _curves(simulation: MissRatioCurves) -> Table:
    """Returns a table with a row for each cache size and a column for each policy."""
    rows = [["method", *simulation.methods]]
    by_size = zip(simulation.miss_ratio.T.tolist(), simulation.standard_error.T.tolist(), strict=True)
    for units, (ratios, errors) in zip(simulation.capacities.tolist(), by_size, strict=True):
        cells = [
            text.percent(ratio) + (f" ± {100 * error:.2f}" if method == "sampled" else "")
            for ratio, error, method in zip(ratios, errors, simulation.methods, strict=True)
        ]
        rows.append([simulation.size_text(units), *cells])
    return Table(["", *simulation.policies], rows, "miss ratio")
