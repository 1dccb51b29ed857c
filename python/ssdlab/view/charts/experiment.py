"""Charts of one table of an experiment."""

from collections.abc import Sequence

from ssdlab import text
from ssdlab.lazy import Numbers, np
from ssdlab.study.experiments.result import Array, TableResult, Which
from ssdlab.view.chart import Axis, Cells, Chart, Line, Mark, Panel, places, rows
from ssdlab.view.colours import BLUE, GREEN, ORANGE, PURPLE, SKY, blended
from ssdlab.view.pages import experiment as words

PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY)


def heat_map(result: TableResult, which: Which = "ours") -> Chart:
    """Draws a heat map of the published values, our values, or their difference. A star marks each winning (best) cell.

    Raises:
        ValueError: If no cell has a value to draw.
    """
    values: Array = getattr(result, which)
    if np.isnan(values).all():
        raise ValueError(f"{result.table.name} has no values to draw: no cell has a value for {which!r}")
    write = words.signed if which == "difference" else words.number_format(result.document, result.ours)
    stars = result.stars(which)
    texts = [
        [
            text.MISSING if np.isnan(value) else f"{write(float(value))} *" if (row, column) in stars else write(value)
            for column, value in enumerate(cells)
        ]
        for row, cells in enumerate(values.tolist())
    ]
    across = places(result.columns, result.table.columns.name.replace("_", " "))
    down = rows(result.rows, result.table.rows.name.replace("_", " "))
    cells = Cells(_strengths(result, which), texts, BLUE if which != "difference" else ORANGE, BLUE)
    return Chart([Panel([cells], across, down)], max(1.6, 0.36 * len(values) + 1.1))


def _strengths(result: TableResult, which: Which) -> Numbers:
    if which == "difference":
        # The colour scale is symmetric about zero. The scale extends to at least 1 (percent or points), so that tiny
        # differences stay pale.
        limit = max(1.0, float(np.nanmax(np.abs(result.difference))))
        return result.difference / limit
    # The published values and our values share a colour scale, except in tables with reference cells (anchors), where
    # their levels cannot be compared.
    values: Array = getattr(result, which)
    shown = values if result.table.comparison.anchor else np.array([result.document, result.ours])
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    return (values - low) / ((high - low) or 1.0)


def lines(result: TableResult) -> Chart:
    """Draws our values as solid lines and the published values as dashed lines, along the axis with ordered labels.

    Raises:
        ValueError: If neither axis has labels with numbers.
    """
    along = words.ordered(result)
    if along is None:
        raise ValueError(f"{result.table.name} has no ordered axis: neither row nor column labels are numbers")
    table = result.table
    ours, document = (result.ours.T, result.document.T) if along == "rows" else (result.ours, result.document)
    x, names = (table.rows, table.columns) if along == "rows" else (table.columns, table.rows)
    at = np.arange(len(x.labels), dtype=float)
    marks: list[Mark] = []
    for name, colour, here, there in zip(names.labels, _colours(names.labels), ours, document, strict=True):
        marks.append(Line(name, at, here, colour, 1.5, dots=True))
        marks.append(Line(name, at, there, colour, 1.1, dash="dashed"))
    if table.comparison.reference is None:
        marks = marks[::2]
    across, up = places(x.labels, x.name.replace("_", " ")), Axis(table.unit or table.title)
    note = "dashed: document" if table.comparison.reference is not None else ""
    legend = names.name.replace("_", " ")
    return Chart([Panel(marks, across, up, note=note)], 3.6, dashes="document", legend=legend)


def _colours(labels: Sequence[str]) -> list[str]:
    if len(labels) <= len(PALETTE):
        return [*PALETTE[: len(labels)]]
    # Neighbouring labels get similar colours, because the labels are ordered.
    return [blended(at / (len(labels) - 1)) for at in range(len(labels))]
