"""The page of a fleet: how figures are distributed over its drives."""

from ssdlab import text
from ssdlab.study.fleet.packing import ALONE, RULES
from ssdlab.study.fleet.result import BUSIEST, OWN_TIMES, SHARES, Fleet
from ssdlab.view.page import Facts, Figure, Page, Paragraph, Row, Section, Table
from ssdlab.view.pages.figures import form

MOST_ROWS = 20
"""Drives that a terminal shows."""

HEADERS = {0.0: "least", 0.5: "median", 1.0: "most"}


def page(found: Fleet) -> Page:
    """The page of a fleet."""
    outcomes = found.outcomes()
    volumes, drives = text.counted(len(found.volumes), "volumes"), text.counted(len(found.drives), "drives")
    left = text.count(found.study.asked - found.study.finished)
    remarks = [f"{text.counted(times, 'drives')} failed: {error}" for error, times in found.study.failures.items()]
    remarks += [*found.study.missing, *found.study.caveats_by_trace]
    if found.late:
        remarks.append(
            f"{text.count(found.late)} requests lie so far out of order that they got another time; give files in the "
            "order of their times"
        )
    sections = [Section("", [Facts(_facts(found), tiles=True)])]
    if outcomes:
        sections += [
            Section("Distributions over drives", [_distributions(found)]),
            Section("Cumulative distributions", [Figure(found.plot.chart)], terminal=False),
        ]
    return Page(
        title=f"{volumes} on {drives}",
        lead=[Paragraph(f"{found.rule}: {RULES[found.rule]}", "soft"), Paragraph(_reckoned(found), "soft")],
        partial=f"{left} of {drives} are still to be run" if found.partial else "",
        remarks=remarks,
        sections=[
            *sections,
            Section("Drives that do worst", [_drives(found)]),
            *([] if found.rule == ALONE else [Section("Volumes, busiest first", [_volumes(found)])]),
        ],
    )


def _facts(found: Fleet) -> list[tuple[str, str]]:
    requests = sum(one.requests for one in found.volumes)
    needed = found.needed()
    rows = [
        ("requests", text.count(requests)),
        ("written", text.size(sum(one.written_bytes for one in found.volumes))),
        ("read", text.size(sum(one.read_bytes for one in found.volumes))),
        ("time", text.duration(1e9 * found.dataset.seconds)),
    ]
    # Shares of few volumes may be as many.
    busiest = {found.count_of(share): found.busiest(share) for share in BUSIEST}
    total = text.count(len(found.volumes))
    rows += [
        (f"requests to the busiest {text.count(count)} of {total} volumes", text.percent(of_all))
        for count, of_all in busiest.items()
    ]
    if found.write_amplification is not None:
        rows.append(("write amplification of the fleet", text.ratio(found.write_amplification)))
    span, least = text.years(needed.years), " or more" if needed.unknown else ""
    rows += [
        (f"drives worn out within {span}", f"{text.count(needed.worn_out)}{least}"),
        (f"drives needed for {span}", f"{text.count(needed.bought)}{least}"),
    ]
    if needed.unknown:
        rows.append(("drives whose life is not known", text.count(needed.unknown)))
    return rows


def _reckoned(found: Fleet) -> str:
    """At which rate lives are reckoned."""
    if found.rate == "trace":
        return f"life: at the rate of the trace, as if its {text.duration(1e9 * found.seconds)} came again and again"
    return "life: at the rate of the replay, as the trace has no times"


def _distributions(found: Fleet) -> Table:
    rows: list[Row] = []
    for one in found.outcomes():
        cdf, write = found.cdf(one.figure), form(one.figure)
        told = [write(cdf.at(share)) for share in SHARES]
        rows.append([one.figure, text.count(len(cdf.values)), *told, write(cdf.mean)])
    heads = [HEADERS.get(share, f"{100 * share:g} %") for share in SHARES]
    note = "A column of a share has the least value that so many drives do not exceed."
    return Table(("figure", "drives", *heads, "mean"), rows, note=note)


def _drives(found: Fleet) -> Table:
    """The drives, worst first by the first figure; those that failed last."""
    outcomes = found.outcomes()
    names = [one.figure for one in outcomes]
    table = found.table.select(["run", *names, "volumes", "trace.requests", "trace.written_bytes"]).to_pylist()
    if outcomes:
        sense = 1 if outcomes[0].large else -1
        table.sort(key=lambda row: (row[names[0]] is None, sense * (row[names[0]] or 0.0)))
    rows: list[Row] = [
        [
            text.path(found.drives[row["run"]].name),
            text.count(row["volumes"]),
            text.count(row["trace.requests"]),
            text.size(row["trace.written_bytes"]),
            *(text.MISSING if row[name] is None else form(name)(row[name]) for name in names),
        ]
        for row in table
    ]
    return Table(("drive", "volumes", "requests", "written", *names), rows, most=MOST_ROWS)


def _volumes(found: Fleet) -> Table:
    """The volumes, some of which share drives: their own requests, and figures of the drive, which are called so."""
    own = [name for name in OWN_TIMES if name.endswith("p99_ns")]
    of_drive = [f"drive.{one.figure}" for one in found.outcomes()]
    names = {name: form(name.removeprefix("drive.")) for name in (*own, *of_drive)}
    volumes = sorted(found.by_volume(), key=lambda row: -row["requests"])
    rows: list[Row] = [
        [
            text.path(row["name"]),
            text.path(row["drive"]),
            text.count(row["requests"]),
            text.size(row["written_bytes"]),
            text.size(row["read_bytes"]),
            *(text.MISSING if row[name] is None else write(row[name]) for name, write in names.items()),
        ]
        for row in volumes
    ]
    note = "Requests, bytes and response times are the volume's own; figures of the drive are of all volumes on it."
    # A volume of a drive that was run, and that takes time.
    if any(
        row["read_bytes"] + row["written_bytes"]
        and any(row[name] is not None for name in of_drive)
        and all(row[name] is None for name in own)
        for row in volumes
    ):
        note += (
            " Of a volume that shares a drive response times are known where time is event, nothing caches above the "
            "drive, it has at most 256 volumes, and the trace names no streams."
        )
    heads = ("volume", "on drive", "requests", "written", "read", *names)
    return Table(heads, rows, left=2, most=MOST_ROWS, note=note)
