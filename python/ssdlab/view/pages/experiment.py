"""The page of an experiment: every cell, heat maps, lines and the verdict of each table."""

import math
from collections.abc import Callable, Iterator
from functools import partial

from ssdlab import text
from ssdlab.study.experiments.claim import Missed
from ssdlab.study.experiments.models import MEASURED
from ssdlab.study.experiments.result import Array, ExperimentResult, TableResult, Which
from ssdlab.view.page import Beside, Cell, Figure, Item, Page, Paragraph, Row, Section, Table

BEST = "*: best of its row or column, in the document and here"
BEYOND = "!: differs by more than the tolerance of the table"


def page(result: ExperimentResult) -> Page:
    """The page of an experiment."""
    lead = [Paragraph(f"reproduces: {result.experiment.document}", "soft")]
    for what, names in (("Settings replaced", result.overrides), ("Traces supplied", [*result.traces])):
        if names:
            lead.append(Paragraph(f"{what}: {', '.join(names)}", "strong"))
    unfinished = f"{result.finished} of {result.runs} simulations were run; {text.MISSING} has no value"
    return Page(
        title=result.experiment.title,
        lead=lead,
        partial=unfinished if result.partial else "",
        sections=[_section(table) for table in result.tables],
        legend="; ".join(_marks(result)),
    )


def page_of_table(result: TableResult) -> Page:
    """The page of one of its tables."""
    return Page(title=result.table.title, sections=[_section(result)])


def _marks(result: ExperimentResult) -> Iterator[str]:
    """What the marks mean that there are."""
    if any(table.winners for table in result.tables):
        yield BEST
    if any(table.misses.any() for table in result.tables):
        yield BEYOND


def _section(result: TableResult) -> Section:
    table = result.table
    unit = f" ({table.unit})" if table.unit else ""
    maps: tuple[tuple[str, Which], ...] = (
        ("Document", "document"),
        ("Ours", "ours"),
        (f"Difference, {table.comparison.unit}", "difference"),
    )
    drawn: list[Item] = [
        Beside(
            [Figure(partial(result.plot.chart, which), title) for title, which in maps if _any(getattr(result, which))]
        )
    ]
    if _any(result.ours) and _is_course(result):
        drawn.append(Figure(result.plot_lines.chart))
    words = [*(Paragraph(f"note: {remark}", "gap") for remark in result.remarks), *map(Paragraph, sentences(result))]
    if table.note:
        words.append(Paragraph(table.note, "soft"))
    headers = (table.rows.name, f"\\ {table.columns.name}", *result.columns)
    return Section(f"{table.name}: {table.title}{unit}", [Table(headers, [*_rows(result)], left=2), *words, *drawn])


def _any(values: Array) -> bool:
    return any(not math.isnan(value) for value in values.flat)


def _rows(result: TableResult) -> Iterator[Row]:
    """Of each row of the table the document's values, ours, the difference and the spread, below each other."""
    write = number_format(result.document, result.ours)
    best_there, best_here = result.stars("document"), result.stars("ours")
    anchors, misses, difference = result.anchors, result.misses, result.difference

    def values(of: Array, best: set[tuple[int, int]], cells: list[tuple[int, int]]) -> list[Cell]:
        # Without a star as wide as with it.
        texts = [write(float(of[at])) for at in cells]
        return [
            Cell(f"{one} *", "best") if at in best else Cell(f"{one}  ") for one, at in zip(texts, cells, strict=True)
        ]

    for row, label in enumerate(result.rows):
        cells = [(row, column) for column in range(len(result.columns))]
        lines = [("ours", values(result.ours, best_here, cells))]
        if result.table.comparison.reference is not None:
            differs = [
                Cell("anchor  ", "soft")
                if anchors[at]
                else Cell(f"{signed(float(difference[at]))} !", "gap")
                if misses[at]
                else Cell(f"{signed(float(difference[at]))}  ")
                for at in cells
            ]
            # Alternatives have one row of the document in common.
            if row == 0 or not result.table.alternatives:
                lines.insert(0, ("document", values(result.document, best_there, cells)))
            lines.append((f"differs, {result.table.comparison.unit}", differs))
        if result.seeds > 1:
            lines.append(("spread", [Cell(f"{write(float(result.spread[at]))}  ", "soft") for at in cells]))
        for number, (name, texts) in enumerate(lines):
            yield ["" if number else label, Cell(name, "soft"), *texts]


def ordered(result: TableResult) -> str | None:
    """The axis to draw lines along: as the table says, or one whose labels are numbers of something, the rows first."""
    if result.table.lines is not None:
        return "rows" if result.table.lines == "column" else "columns"
    for name, labels in (("rows", result.rows), ("columns", result.columns)):
        if len(labels) > 1 and all(any(c.isdigit() for c in label) for label in labels):
            return name
    return None


def _is_course(result: TableResult) -> bool:
    """Whether some axis is in an order and long enough for lines."""
    along = ordered(result)
    return along is not None and len(getattr(result, along)) > 1


def number_format(*values: Array) -> Callable[[float], str]:
    """How the numbers of a table are written: as many decimals for all as give its largest five digits, at most 3;
    none where all are whole.
    """
    known = [float(value) for array in values for value in array.flat if not math.isnan(value)]
    whole = len(f"{max(map(abs, known), default=0.0):.0f}")
    decimals = 0 if all(value.is_integer() for value in known) else max(0, min(3, 5 - whole))

    def write(value: float) -> str:
        return text.MISSING if math.isnan(value) else f"{value:,.{decimals}f}"

    return write


def signed(value: float) -> str:
    """A difference with its sign."""
    return text.MISSING if math.isnan(value) else f"{value:+.2f}"


_COMPARISONS = {
    "value": "in % of the document's value",
    "points": "ours less the document's",
    "offset": "of the distances from the anchor cell, in % of the document's value",
    "ratio": "of the ratios to the anchor cell, in %",
}


def sentences(result: TableResult) -> list[str]:
    """How close the table is and who wins, a sentence a line."""
    table, unit = result.table, result.table.comparison.unit
    found = [f"ours need a trace: supply {replay.help} with --trace {replay.name}=FILE" for replay in result.missing]
    if table.source.files:
        found.append(
            f"ours: worked out from {', '.join(one.file for one in table.source.files.values())}, not simulated"
        )
    if table.source.tables:
        found.append(f"ours: worked out from the tables {', '.join(table.source.tables)}")
    if table.source.model is not None:
        how = "measured on this machine by" if table.source.model in MEASURED else "worked out by the model"
        found.append(f"ours: {how} {table.source.model}, not simulated")
    largest, rms = result.largest, result.rms
    compared = f"difference ({_COMPARISONS[table.comparison.kind]})"
    if table.alternatives:
        found.append(f"{compared}: rms of each row, in {unit}, of which the document's is the same")
        found += [f"  {label}: {value:.2f}" for label, value in result.row_rms.items()]
    elif largest is not None and rms is not None:
        row, column, value = largest
        found.append(
            f"{compared}: rms {rms:.2f} {unit}, "
            f"largest {signed(value)} {unit} ({table.rows.name} {row}, {table.columns.name} {column})"
        )
        if table.comparison.tolerance is not None:
            misses = int(result.misses.sum())
            found[-1] += f"; {misses} beyond {table.comparison.tolerance:g} {unit}"
    elif table.comparison.reference is None and not table.note:
        found.append("no values of the document: ours stand alone")
    found += _changes(result)
    found += _winners(result)
    found += _claim(result)
    spreads = [float(value) for value in result.spread.flat if not math.isnan(value)]
    if result.seeds > 1 and spreads:
        spread = max(spreads)
        found.append(
            f"ours: mean over {result.seeds} seeds; they differ by at most {number_format(result.ours)(spread)} "
            f"{table.unit}".rstrip()
        )
    return found


def _changes(result: TableResult) -> list[str]:
    """For a table of changes, mean and range of each row, where it has more than one."""
    anchor = result.table.change_to
    if anchor is None:
        return []
    to = " ".join(f"{axis} {label}" for axis, label in (("row", anchor.row), ("column", anchor.column)) if label)
    found = [f"change of each value to that of {to}, in %"]
    for label, values in zip(result.rows, result.ours, strict=True):
        known = [float(value) for value in values if not math.isnan(value)]
        if len(known) > 1:
            mean = sum(known) / len(known)
            found.append(f"  {label}: {signed(mean)} on average, {signed(min(known))} to {signed(max(known))}")
    return found


def _winners(result: TableResult) -> list[str]:
    """How many winners agree, and those that do not."""
    winners = result.winners
    compared = [winner for winner in winners if winner.agrees is not None]
    if not compared:
        return []
    lines = result.table.ranking.by + ("s" if len(compared) > 1 else "")
    among = " among the document's cells" if any(winner.ours != winner.best for winner in compared) else ""
    found = [f"winners{among}: {sum(bool(winner.agrees) for winner in compared)} of {len(compared)} {lines} agree"]
    unit = result.table.comparison.unit
    for winner in compared:
        if not winner.agrees:
            excess = "" if winner.excess is None else f", where {winner.document[0]} is {winner.excess:.2f} {unit} off"
            found.append(
                f"  {winner.of}: document {' and '.join(winner.document)}, ours {' and '.join(winner.ours)}{excess}"
            )
    return found


def _claim(result: TableResult) -> list[str]:
    """In how much of the table the document's claim holds, in its own values and in ours."""
    claim = result.table.claim
    if claim is None:
        return []
    found = [f"claim: {claim.says}"]
    for name, verdict in (("document", result.verdict("document")), ("ours", result.verdict("ours"))):
        if verdict is not None:
            found.append(f"  {name}: holds in {verdict.held} of {verdict.of} {verdict.what}")
            found += [f"    not in {one.place}: {_missed(result, one)}" for one in verdict.missed]
    return found


def _missed(result: TableResult, missed: Missed) -> str:
    """What is there instead of what is claimed."""
    if missed.value is not None:
        return f"{number_format(result.document, result.ours)(missed.value)} {result.table.unit}".rstrip()
    off = "" if missed.excess is None else f", where {missed.claimed} is {missed.excess:.2f} % off"
    return f"{missed.best}{off}"
