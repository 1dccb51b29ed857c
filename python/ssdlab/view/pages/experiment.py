"""Builds the report page of an experiment: tables with verdict, heat maps, and lines if an axis is ordered."""

import math
from collections.abc import Callable, Iterator
from functools import partial

from ssdlab import text
from ssdlab.study.experiments.claim import Missed
from ssdlab.study.experiments.models import MEASURED
from ssdlab.study.experiments.result import Array, ExperimentResult, TableResult, Which
from ssdlab.view.page import Beside, Cell, Figure, Item, Page, Paragraph, Row, Section, Table

BEST = "*: best value of its row or column, in the document and in our results"
BEYOND = "!: difference beyond the tolerance of the table"


def page(result: ExperimentResult) -> Page:
    """Returns the report page of an experiment."""
    lead = [Paragraph(f"reproduces: {result.experiment.document}", "soft")]
    for title, names in (("Settings replaced", result.overrides), ("Traces supplied", [*result.traces])):
        if names:
            lead.append(Paragraph(f"{title}: {', '.join(names)}", "strong"))
    unfinished = f"{result.finished} of {result.runs} simulations were run; {text.MISSING} marks a missing value"
    return Page(
        title=result.experiment.title,
        lead=lead,
        partial=unfinished if result.partial else "",
        sections=[_section(table) for table in result.tables],
        legend="; ".join(_marks(result)),
    )


def page_of_table(result: TableResult) -> Page:
    """Builds the report page of one table of an experiment."""
    return Page(title=result.table.title, sections=[_section(result)])


def _marks(result: ExperimentResult) -> Iterator[str]:
    """Yields the meanings of the marks in the tables."""
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
    heats = [Figure(partial(result.plot.chart, which), title) for title, which in maps if _any(getattr(result, which))]
    drawn: list[Item] = [Beside(heats)]
    along = ordered(result)
    if along is not None and len(getattr(result, along)) > 1 and _any(result.ours):
        drawn.append(Figure(result.plot_lines.chart))
    words = [*(Paragraph(f"note: {remark}", "gap") for remark in result.remarks), *map(Paragraph, sentences(result))]
    if table.note:
        words.append(Paragraph(table.note, "soft"))
    headers = (table.rows.name, f"\\ {table.columns.name}", *result.columns)
    return Section(f"{table.name}: {table.title}{unit}", [Table(headers, [*_rows(result)], left=2), *words, *drawn])


def _any(values: Array) -> bool:
    return any(not math.isnan(value) for value in values.flat)


def _rows(result: TableResult) -> Iterator[Row]:
    """Yields table rows with the published values, our values, the differences and the spread."""
    write = number_format(result.document, result.ours)
    best_there, best_here = result.stars("document"), result.stars("ours")
    anchors, misses, difference = result.anchors, result.misses, result.difference

    def values(of: Array, best: set[tuple[int, int]], cells: list[tuple[int, int]]) -> list[Cell]:
        # A value without a star gets trailing blanks, so that it aligns with values that have a star.
        texts = [write(float(of[at])) for at in cells]
        return [
            Cell(f"{cell} *", "best") if at in best else Cell(f"{cell}  ")
            for cell, at in zip(texts, cells, strict=True)
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
            # All alternative rows are compared with the same published row, which is shown only once.
            if row == 0 or not result.table.alternatives:
                lines.insert(0, ("document", values(result.document, best_there, cells)))
            lines.append((f"differs, {result.table.comparison.unit}", differs))
        if result.seeds > 1:
            lines.append(("spread", [Cell(f"{write(float(result.spread[at]))}  ", "soft") for at in cells]))
        for number, (name, texts) in enumerate(lines):
            yield ["" if number else label, Cell(name, "soft"), *texts]


def ordered(result: TableResult) -> str | None:
    """Returns the axis along which lines are drawn: the axis chosen in the table's definition or, by default, the first
    whose labels contain numbers; None if there is no such axis.
    """
    if result.table.lines is not None:
        return "rows" if result.table.lines == "column" else "columns"
    for name, labels in (("rows", result.rows), ("columns", result.columns)):
        if len(labels) > 1 and all(any(c.isdigit() for c in label) for label in labels):
            return name
    return None


def number_format(*values: Array) -> Callable[[float], str]:
    """Returns a formatter of numbers with five digits for the largest and 0 to 3 decimals, none if all are whole."""
    known = [float(value) for array in values for value in array.flat if not math.isnan(value)]
    whole = len(f"{max(map(abs, known), default=0.0):.0f}")
    decimals = 0 if all(value.is_integer() for value in known) else max(0, min(3, 5 - whole))

    def write(value: float) -> str:
        return text.MISSING if math.isnan(value) else f"{value:,.{decimals}f}"

    return write


def signed(value: float) -> str:
    """Formats the difference between our value and the published value, always with a sign."""
    return text.MISSING if math.isnan(value) else f"{value:+.2f}"


_COMPARISONS = {
    "value": "in % of the document's value",
    "points": "ours - document's",
    "offset": "offset from the reference cell: ours minus the document's, in % of the document's value",
    "ratio": "ratio to the reference cell: ours relative to the document's, in %",
}


def sentences(result: TableResult) -> list[str]:
    """Describes how well our values and their winners (best cells) agree with the published table."""
    table, unit = result.table, result.table.comparison.unit
    lines = [
        f"our values need a trace: supply {replay.help} with --trace {replay.name}=FILE" for replay in result.missing
    ]
    if table.source.files:
        files = ", ".join(given.file for given in table.source.files.values())
        lines.append(f"our values are computed from {files}, not simulated")
    if table.source.tables:
        lines.append(f"our values are computed from the tables {', '.join(table.source.tables)}")
    if table.source.model is not None:
        how = "measured on this machine by" if table.source.model in MEASURED else "computed by the model"
        lines.append(f"our values are {how} {table.source.model}, not simulated")
    largest, rms = result.largest, result.rms
    compared = f"difference ({_COMPARISONS[table.comparison.kind]})"
    if table.alternatives:
        lines.append(f"{compared}: rms between each of our rows and the document's row, in {unit}")
        lines += [f"  {label}: {value:.2f}" for label, value in result.row_rms.items()]
    elif largest is not None and rms is not None:
        row, column, value = largest
        lines.append(
            f"{compared}: rms {rms:.2f} {unit}, "
            f"largest {signed(value)} {unit} ({table.rows.name} {row}, {table.columns.name} {column})"
        )
        if table.comparison.tolerance is not None:
            misses = int(result.misses.sum())
            lines[-1] += f"; {misses} beyond {table.comparison.tolerance:g} {unit}"
    elif table.comparison.reference is None and not table.note:
        lines.append("the document has no values to compare with")
    lines += [*_changes(result), *_winners(result), *_claim(result)]
    spread = max((float(value) for value in result.spread.flat if not math.isnan(value)), default=None)
    if result.seeds > 1 and spread is not None:
        lines.append(
            f"our values are means over {result.seeds} seeds; results of the seeds differ by at most "
            f"{number_format(result.ours)(spread)} {table.unit}".rstrip()
        )
    return lines


def _changes(result: TableResult) -> list[str]:
    """Returns mean and range of each row in a table of changes; empty for other tables."""
    anchor = result.table.change_to
    if anchor is None:
        return []
    to = " ".join(f"{axis} {label}" for axis, label in (("row", anchor.row), ("column", anchor.column)) if label)
    lines = [f"percent change from each value to {to}"]
    for label, values in zip(result.rows, result.ours, strict=True):
        known = [float(value) for value in values if not math.isnan(value)]
        if len(known) > 1:
            mean = sum(known) / len(known)
            lines.append(f"  {label}: {signed(mean)} on average, {signed(min(known))} to {signed(max(known))}")
    return lines


def _winners(result: TableResult) -> list[str]:
    """Describes how often our winners (best cells) of rows or columns agree with the published ones, and where not."""
    winners = result.winners
    compared = [winner for winner in winners if winner.agrees is not None]
    if not compared:
        return []
    counted = result.table.ranking.by + ("s" if len(compared) > 1 else "")
    among = " among cells with values in the document" if any(winner.ours != winner.best for winner in compared) else ""
    lines = [f"winners{among}: {sum(bool(winner.agrees) for winner in compared)} of {len(compared)} {counted} agree"]
    unit = result.table.comparison.unit
    for winner in compared:
        if not winner.agrees:
            excess = "" if winner.excess is None else f": {winner.document[0]} is {winner.excess:.2f} {unit} off"
            lines.append(
                f"  {winner.of}: document {' and '.join(winner.document)}, ours {' and '.join(winner.ours)}{excess}"
            )
    return lines


def _claim(result: TableResult) -> list[str]:
    """Returns two verdicts on the published claim: one based on the published values, one based on ours."""
    claim = result.table.claim
    if claim is None:
        return []
    lines = [f"claim: {claim.says}"]
    for name, verdict in (("document", result.verdict("document")), ("ours", result.verdict("ours"))):
        if verdict is not None:
            lines.append(f"  {name}: holds in {verdict.held} of {verdict.of} {verdict.what}")
            lines += [f"    fails in {missed.place}: {_missed(result, missed)}" for missed in verdict.missed]
    return lines


def _missed(result: TableResult, missed: Missed) -> str:
    """Returns the value of the cell, or the best label of the row or column, for which a claim fails."""
    if missed.value is not None:
        return f"{number_format(result.document, result.ours)(missed.value)} {result.table.unit}".rstrip()
    off = "" if missed.excess is None else f": {missed.claimed} is {missed.excess:.2f} % off"
    return f"{missed.best}{off}"
