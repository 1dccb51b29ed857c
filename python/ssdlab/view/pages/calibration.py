"""The page of a calibration."""

from functools import partial

from ssdlab import text
from ssdlab.study.calibration.knee import SHARE, shares
from ssdlab.study.calibration.result import Calibration
from ssdlab.view.page import Figure, Page, Paragraph, Section, Table

HEADINGS = {"read": "reads per second", "write": "writes per second"}
STATES = {
    "none": "filled, not overwritten",
    "steady": "overwritten until steady",
    "passes": "overwritten for some passes",
}
LEGEND = "*: fewest in flight that reach 95 % of the most in this region"


def page(found: Calibration) -> Page:
    """The page of a calibration."""
    settings = [f"--set {key}={value}" for key, value in found.settings.items()]
    return Page(
        title=found.title,
        lead=[Paragraph(_how(found))],
        partial="the calibration was stopped before its end" if found.partial else "",
        remarks=found.remarks,
        sections=[Section(HEADINGS[op], [*_drawn(found, op), _table(found, op)]) for op in found.iops],
        legend=LEGEND,
        conclusion=[
            *map(Paragraph, sentences(found)),
            *([Paragraph("For the scheduler pardispatcher:")] if settings else []),
            *(Paragraph(one, "code") for one in settings),
        ],
    )


def _drawn(found: Calibration, op: str) -> list[Figure]:
    """The curves; of a single number in flight the table tells all there is."""
    return [Figure(partial(found.plot.chart, op))] if len(found.in_flight) > 1 else []


def _how(found: Calibration) -> str:
    """How a cell was measured, in one line."""
    source = found.source
    if source["kind"] == "simulated":
        requests = text.count(source["requests"])
        state = STATES[source["overwrite"]]
        return (
            f"random requests of {found.size}, {source['rounds']} x {requests} in each cell, each after as many to "
            f"warm up; drive {state}"
        )
    way = "direct" if source["direct"] else "through the page cache"
    return (
        f"random requests of {found.size}, {source['rounds']} x {source['seconds']:g} s in each cell, regions from "
        f"{text.exact_size(source['offset_bytes'])} on, {way}; {source['fio']}, engine {source['engine']}"
    )


def _table(found: Calibration, op: str) -> Table:
    """The regions and their cells, the knee of each marked."""
    first, *others = map(text.count, found.in_flight)
    rows = []
    for row, region in enumerate(found.regions):
        cells = []
        for in_flight, cell in zip(found.in_flight, found.iops[op][row].tolist(), strict=True):
            mark = "*" if in_flight == found.knee(op, row) else " "
            cells.append(f"{text.MISSING if cell != cell else text.count(cell)} {mark}")
        rows.append([text.size(region), *cells])
    return Table(["", f"{first} in flight", *others], rows)


def sentences(found: Calibration) -> list[str]:
    """The outcome, a sentence each."""
    region = found.region
    if region is None:
        return ["Stopped before the end: what is missing may be the best, so nothing is advised."]
    said = []
    for op, difference in found.differences.items():
        depends = "depends" if difference > found.tolerance(op) else "does not depend"
        noise = f", between rounds {100 * found.noise[op]:.1f} %" if found.noise else ""
        largest = f"largest difference {100 * difference:.1f} %{noise}"
        said.append(f"Throughput of {op}s {depends} on the region size ({largest}).")
    chosen = text.size(found.regions[region])
    if not found.differences:
        said.append("Only one region size was measured, so none is advised.")
    elif not found.region_matters:
        said.append("Any region size will do, and region_size is left as it is.")
    else:
        said.append(_region(found, region))
    if found.write_amplification is not None:
        least, most = found.write_amplification.min(), found.write_amplification.max()
        if most > 1.005 or least < 0.995:
            said.append(
                f"Writes were amplified by {text.ratio(least)} to {text.ratio(most)}, so that what they reach, and "
                "what regions differ by, does not depend on the dies alone."
            )
    for op, table in found.iops.items():
        fewest = found.knee(op, region)
        more = ""
        if fewest == found.in_flight[-1]:
            all_held = fewest == found.source.get("queue_depth")
            more = ", all that its queue holds" if all_held else "; more than were measured might give more"
        said.append(
            f"In a region of {chosen}, {fewest} in flight {'reaches' if fewest == 1 else 'reach'} 95 % of its "
            f"{text.count(float(table[region].max()))} {op}s per second{more}."
        )
    return said


def _region(found: Calibration, region: int) -> str:
    """Why this region is advised."""
    chosen = text.size(found.regions[region])
    reached = " and ".join(
        f"{text.percent(table[region].max() / table.max())} of the most {op}s" for op, table in found.iops.items()
    )
    enough = [row for row, share in enumerate(shares(found.iops)) if share >= SHARE]
    if not enough:
        return f"No region reaches 95 % of both; {chosen} comes closest, with {reached}."
    smallest = "smallest region measured" if region == 0 else "smallest region that reaches 95 %"
    largest = (
        ""
        if enough[-1] in (region, len(found.regions) - 1)
        else (f"; the largest that reaches 95 % is {text.size(found.regions[enough[-1]])}")
    )
    return f"The {smallest}, {chosen}, gives {reached}{largest}."
