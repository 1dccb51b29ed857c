"""Builds the report page of a calibration."""

from functools import partial

from ssdlab import text
from ssdlab._ssdlab import variants
from ssdlab.study.calibration.knee import SHARE, shares
from ssdlab.study.calibration.result import Calibration
from ssdlab.view.page import Figure, Page, Paragraph, Section, Table

HEADINGS = {"read": "reads per second", "write": "writes per second"}
LEGEND = "*: fewest requests in flight that reach 95 % of the region's maximum throughput"


def page(calibration: Calibration) -> Page:
    """Returns the report page of a calibration."""
    settings = [f"--set {key}={value}" for key, value in calibration.settings.items()]
    # For a single number of requests in flight, the table suffices.
    ops = calibration.iops if len(calibration.in_flight) > 1 else ()
    figures = {op: [Figure(partial(calibration.plot.chart, op))] for op in ops}
    return Page(
        title=calibration.title,
        lead=[Paragraph(_how(calibration))],
        partial="the calibration was stopped before its end" if calibration.partial else "",
        remarks=calibration.remarks,
        sections=[Section(HEADINGS[op], [*figures.get(op, ()), _table(calibration, op)]) for op in calibration.iops],
        legend=LEGEND,
        conclusion=[
            *map(Paragraph, sentences(calibration)),
            *([Paragraph("Settings for the pardispatcher scheduler:")] if settings else []),
            *(Paragraph(setting, "code") for setting in settings),
        ],
    )


def _how(calibration: Calibration) -> str:
    source = calibration.source
    if source["kind"] == "simulated":
        requests = text.count(source["requests"])
        state = dict(variants("precondition.overwrite"))[source["overwrite"]]
        return (
            f"random requests of {calibration.size}; {source['rounds']} rounds of {requests} requests per cell, each "
            f"after a warm-up of the same length; preconditioning: {state}"
        )
    way = "direct I/O" if source["direct"] else "through the page cache"
    return (
        f"random requests of {calibration.size}; {source['rounds']} rounds of {source['seconds']:g} s per cell; "
        f"regions start at {text.exact_size(source['offset_bytes'])}; {way}; {source['fio']}, "
        f"engine {source['engine']}"
    )


def _table(calibration: Calibration, op: str) -> Table:
    """Returns a throughput table with a row for each region; each row marks the region's knee."""
    first, *others = map(text.count, calibration.in_flight)
    rows = []
    for row, region in enumerate(calibration.regions):
        cells = []
        for in_flight, cell in zip(calibration.in_flight, calibration.iops[op][row].tolist(), strict=True):
            mark = "*" if in_flight == calibration.knee(op, row) else " "
            cells.append(f"{text.MISSING if cell != cell else text.count(cell)} {mark}")
        rows.append([text.size(region), *cells])
    return Table(["", f"{first} in flight", *others], rows)


def sentences(calibration: Calibration) -> list[str]:
    """States the outcome of the calibration in sentences."""
    region = calibration.region
    if region is None:
        return ["Stopped before the end: an unmeasured cell may be the best, so no settings are recommended."]
    lines = []
    for op, difference in calibration.differences.items():
        depends = "depends" if difference > calibration.tolerance(op) else "does not depend"
        noise = f", difference between rounds {100 * calibration.noise[op]:.1f} %" if calibration.noise else ""
        largest = f"largest difference {100 * difference:.1f} %{noise}"
        lines.append(f"Throughput of {op}s {depends} on the region size ({largest}).")
    chosen = text.size(calibration.regions[region])
    if not calibration.differences:
        lines.append("Only one region size was measured, so no region size is recommended.")
    elif not calibration.region_matters:
        lines.append("Any region size is fine; region_size stays unchanged.")
    else:
        lines.append(_region(calibration, region))
    if calibration.write_amplification is not None:
        least, most = calibration.write_amplification.min(), calibration.write_amplification.max()
        if most > 1.005 or least < 0.995:
            lines.append(
                f"Write amplification was {text.ratio(least)} to {text.ratio(most)}, so the throughput of writes does "
                "not depend only on the dies."
            )
    for op, table in calibration.iops.items():
        fewest = calibration.knee(op, region)
        if fewest is None:
            continue
        more = ""
        if fewest == calibration.in_flight[-1]:
            all_held = fewest == calibration.source.get("queue_depth")
            more = ", the full queue depth" if all_held else "; more requests in flight might raise throughput"
        lines.append(
            f"In a region of {chosen}, {text.counted(fewest, 'requests')} in flight "
            f"{'reaches' if fewest == 1 else 'reach'} 95 % of the maximum of "
            f"{text.count(float(table[region].max()))} {op}s per second{more}."
        )
    return lines


def _region(calibration: Calibration, region: int) -> str:
    chosen = text.size(calibration.regions[region])
    reached = " and ".join(
        f"{text.percent(table[region].max() / table.max())} of the maximum {op}s per second"
        for op, table in calibration.iops.items()
    )
    enough = [row for row, share in enumerate(shares(calibration.iops)) if share >= SHARE]
    if not enough:
        return f"No region reaches 95 % of the maximum throughput; {chosen} is closest, with {reached}."
    smallest = "smallest region measured" if region == 0 else "smallest sufficient region"
    largest = ""
    if enough[-1] not in (region, len(calibration.regions) - 1):
        largest = f"; the largest region that reaches 95 % is {text.size(calibration.regions[enough[-1]])}"
    return f"The {smallest}, {chosen}, reaches {reached}{largest}."
