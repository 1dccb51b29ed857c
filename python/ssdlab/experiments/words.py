"""Tables of experiments in words and digits; the same on the terminal and in reports."""

import math
from collections.abc import Callable

from ssdlab import text
from ssdlab.experiments.models import MEASURED
from ssdlab.experiments.result import Array, TableResult


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


def heading(result: TableResult) -> str:
    """Title and unit."""
    unit = f" ({result.table.unit})" if result.table.unit else ""
    return f"{result.table.title}{unit}"


def difference_word(result: TableResult) -> str:
    """What the line of differences in a table is called."""
    return f"differs, {result.table.difference_unit}"


_COMPARISONS = {
    "value": "in % of the document's value",
    "points": "ours less the document's",
    "offset": "of the distances from the anchor cell, in % of the document's value",
    "ratio": "of the ratios to the anchor cell, in %",
}


def sentences(result: TableResult) -> list[str]:
    """How close the table is and who wins, a sentence a line."""
    table, unit = result.table, result.table.difference_unit
    found = [f"ours need a trace: supply {replay.help} with --trace {replay.name}=FILE" for replay in result.missing]
    if table.given:
        found.append(f"ours: worked out from {', '.join(one.file for one in table.given.values())}, not simulated")
    if table.model is not None:
        how = "measured on this machine by" if table.model in MEASURED else "worked out by the model"
        found.append(f"ours: {how} {table.model}, not simulated")
    largest, rms = result.largest, result.rms
    if largest is not None and rms is not None:
        row, column, value = largest
        found.append(
            f"difference ({_COMPARISONS[table.compare]}): rms {rms:.2f} {unit}, "
            f"largest {signed(value)} {unit} ({table.rows.name} {row}, {table.columns.name} {column})"
        )
        if table.tolerance is not None:
            misses = int(result.misses.sum())
            found[-1] += f"; {misses} beyond {table.tolerance:g} {unit}"
    elif table.reference is None and not table.note:
        found.append("no values of the document: ours stand alone")
    found += _changes(result)
    found += _winners(result)
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
    lines = result.table.by + ("s" if len(compared) > 1 else "")
    found = [f"winners: {sum(bool(winner.agrees) for winner in compared)} of {len(compared)} {lines} agree"]
    unit = result.table.difference_unit
    for winner in compared:
        if not winner.agrees:
            excess = "" if winner.excess is None else f", where {winner.document[0]} is {winner.excess:.2f} {unit} off"
            found.append(
                f"  {winner.of}: document {' and '.join(winner.document)}, ours {' and '.join(winner.ours)}{excess}"
            )
    return found
