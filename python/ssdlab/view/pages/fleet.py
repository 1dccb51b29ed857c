"""Builds the report page of a fleet: distributions of metrics over its drives."""

from ssdlab import text
from ssdlab.study.fleet.packing import ALONE, RULES
from ssdlab.study.fleet.result import BUSIEST, OWN_TIMES, SHARES, TBW, Fleet
from ssdlab.view.page import Facts, Figure, Page, Paragraph, Row, Section, Table, known
from ssdlab.view.pages.figures import form

MOST_ROWS = 20
"""Maximum number of drives, and of volumes, shown on a terminal."""

HEADERS = {0.0: "min", 0.5: "median", 1.0: "max"}


def page(fleet: Fleet) -> Page:
    """Returns the report page of a fleet of drives."""
    volumes, drives = text.counted(len(fleet.volumes), "volumes"), text.counted(len(fleet.drives), "drives")
    remarks = [f"{text.counted(times, 'drives')} failed: {error}" for error, times in fleet.study.failures.items()]
    remarks += [*fleet.study.missing, *fleet.study.caveats_by_trace]
    if fleet.late:
        remarks.append(
            f"{text.count(fleet.late)} requests were too far out of order, so their timestamps were set to a later "
            "time; pass the files in chronological order"
        )
    sections = [Section("", [Facts(_facts(fleet), tiles=True)])]
    if fleet.outcomes():
        sections.append(Section("Distributions over drives", [_distributions(fleet)]))
        sections.append(Section("Cumulative distributions", [Figure(fleet.plot.chart)], terminal=False))
    sections.append(Section("Worst drives", [_drives(fleet)]))
    if fleet.rule != ALONE:
        sections.append(Section("Volumes, busiest first", [_volumes(fleet)]))
    return Page(
        title=f"{volumes} on {drives}{fleet.study.modes}",
        lead=[Paragraph(f"{fleet.rule}: {RULES[fleet.rule]}", "soft"), *_reckoned(fleet)],
        partial=f"{text.count(fleet.study.asked - fleet.study.finished)} of {drives} remain" if fleet.partial else "",
        remarks=remarks,
        sections=sections,
    )


def _facts(fleet: Fleet) -> list[tuple[str, str]]:
    needed = fleet.needed()
    rows = [
        ("requests", text.count(sum(volume.requests for volume in fleet.volumes))),
        ("written", text.size(sum(volume.written_bytes for volume in fleet.volumes))),
        ("read", text.size(sum(volume.read_bytes for volume in fleet.volumes))),
        ("time", text.duration(1e9 * fleet.dataset.seconds)),
    ]
    # In a small fleet, several shares may round to the same number of volumes, which gets a single row.
    busiest = {fleet.count_of(share): fleet.busiest(share) for share in BUSIEST}
    total = text.count(len(fleet.volumes))
    rows += [
        (f"share of requests to the busiest {text.count(count)} of {total} volumes", text.percent(of_all))
        for count, of_all in busiest.items()
    ]
    if fleet.write_amplification is not None:
        rows.append(("write amplification of the fleet", text.ratio(fleet.write_amplification)))
    span, least = text.years(needed.years), " or more" if needed.unknown else ""
    rows += [
        (f"drives worn out within {span}", f"{text.count(needed.worn_out)}{least}"),
        (f"drives needed for {span}", f"{text.count(needed.bought)}{least}"),
    ]
    if needed.unknown:
        rows.append(("drives with unknown lifetime", text.count(needed.unknown)))
    return rows


def _reckoned(fleet: Fleet) -> list[Paragraph]:
    """States the write rate that is used to compute lifetimes; empty if no lifetime was computed."""
    if TBW not in fleet.study.table.column_names:
        return []
    rate = "replay, because the trace has no timestamps"
    if fleet.rate == "trace":
        rate = f"trace, which repeats every {text.duration(1e9 * fleet.seconds)}"
    return [Paragraph(f"lifetimes assume the write rate of the {rate}", "soft")]


def _distributions(fleet: Fleet) -> Table:
    rows: list[Row] = []
    for outcome in fleet.outcomes():
        cdf, write = fleet.cdf(outcome.figure), form(outcome.figure)
        told = [write(cdf.at(share)) for share in SHARES]
        rows.append([outcome.figure, text.count(len(cdf.values)), *told, write(cdf.mean)])
    heads = [HEADERS.get(share, f"p{100 * share:g}") for share in SHARES]
    note = "p90 is the smallest value that 90 % of the drives do not exceed."
    return Table(("figure", "drives", *heads, "mean"), rows, note=note, wide=True)


def _drives(fleet: Fleet) -> Table:
    """Returns a table of the drives, sorted by the first metric, worst first; failed drives come last."""
    outcomes = fleet.outcomes()
    names = [outcome.figure for outcome in outcomes]
    table = fleet.table.select(["run", *names, "volumes", "trace.requests", "trace.written_bytes"]).to_pylist()
    if outcomes:
        sense = 1 if outcomes[0].large else -1
        table.sort(key=lambda row: (row[names[0]] is None, sense * (row[names[0]] or 0.0)))
    rows: list[Row] = [
        [
            text.path(fleet.drives[row["run"]].name),
            text.count(row["volumes"]),
            text.count(row["trace.requests"]),
            text.size(row["trace.written_bytes"]),
            *(known(form(name), row[name]) for name in names),
        ]
        for row in table
    ]
    return Table(("drive", "volumes", "requests", "written", *names), rows, most=MOST_ROWS)


def _volumes(fleet: Fleet) -> Table:
    own = [name for name in OWN_TIMES if name.endswith("p99_ns")]
    of_drive = [f"drive.{one.figure}" for one in fleet.outcomes()]
    names = {name: form(name.removeprefix("drive.")) for name in (*own, *of_drive)}
    volumes = sorted(fleet.by_volume(), key=lambda row: -row["requests"])
    rows: list[Row] = [
        [
            text.path(row["name"]),
            text.path(row["drive"]),
            text.count(row["requests"]),
            text.size(row["written_bytes"]),
            text.size(row["read_bytes"]),
            *(known(write, row[name]) for name, write in names.items()),
        ]
        for row in volumes
    ]
    note = "Requests, bytes and response times are per volume; figures named drive.* cover all volumes of the drive."
    # Response times of a volume may be missing even if drives were simulated.
    if any(
        row["read_bytes"] + row["written_bytes"]
        and any(row[name] is not None for name in of_drive)
        and all(row[name] is None for name in own)
        for row in volumes
    ):
        note += (
            " On a shared drive, response times by volume require time=event, no cache above the drive, at most 256 "
            "volumes and a trace without streams."
        )
    heads = ("volume", "on drive", "requests", "written", "read", *names)
    return Table(heads, rows, left=2, most=MOST_ROWS, note=note)
