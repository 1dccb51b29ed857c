"""Figures of a table of an experiment."""

import math
from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure

from ssdlab import text
from ssdlab.study.experiments.result import Array, TableResult, Which
from ssdlab.view.colours import BLUE, GREEN, INK, ORANGE, PURPLE, SKY
from ssdlab.view.pages import experiment as words
from ssdlab.view.plots import style

DARK, LIGHT = "#111418", "#ffffff"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY)


@style.styled
def heat_map(result: TableResult, which: Which = "ours") -> Figure:
    """Heat map of the document's values, of ours, or of the difference; winners carry a star.

    Raises:
        ValueError: If there is no such value in any cell.
    """
    values: Array = getattr(result, which)
    known = values[~np.isnan(values)]
    if not known.size:
        raise ValueError(f"{result.table.name} has no values to draw: {which} is empty in every cell")
    rows, columns = values.shape
    figure, axes = style.canvas(height=max(1.6, 0.36 * rows + 1.1))
    colours, scale = _scale(result, which)
    write = words.signed if which == "difference" else words.number_format(result.document, result.ours)
    axes.pcolormesh(np.ma.masked_invalid(values), cmap=colours, norm=scale, edgecolor="face", linewidth=0.1)
    stars = result.stars(which)
    for row in range(rows):
        for column in range(columns):
            value = float(values[row, column])
            if math.isnan(value):
                axes.text(column + 0.5, row + 0.5, text.MISSING, ha="center", va="center")
                continue
            best = (row, column) in stars
            axes.text(
                column + 0.5,
                row + 0.5,
                f"{write(value)} *" if best else write(value),
                ha="center",
                va="center",
                fontsize=10 if columns <= 7 else 8.5,
                weight="bold" if best else "normal",
                color=_readable(colours(scale(value))),
            )
    axes.set_xticks(np.arange(columns) + 0.5, result.columns)
    axes.set_yticks(np.arange(rows) + 0.5, result.rows)
    axes.set_xlabel(result.table.columns.name.replace("_", " "))
    axes.set_ylabel(result.table.rows.name.replace("_", " "))
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.invert_yaxis()
    return figure


def _scale(result: TableResult, which: Which) -> tuple[Colormap, Normalize]:
    if which == "difference":
        # Same colour for the same distance either way; a table that is right to 0.1 % stays pale.
        limit = max(1.0, float(np.nanmax(np.abs(result.difference))))
        return matplotlib.colormaps["RdBu_r"], Normalize(-limit, limit)
    # One scale for both tables, unless their levels are not comparable.
    shown = getattr(result, which) if result.table.anchor else np.array([result.document, result.ours])
    return matplotlib.colormaps["cividis"], Normalize(float(np.nanmin(shown)), float(np.nanmax(shown)))


def _readable(colour: tuple[float, float, float, float]) -> str:
    """Dark or light, whichever stands out from the colour."""
    red, green, blue, _ = colour
    return DARK if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else LIGHT


@style.styled
def lines(result: TableResult) -> Figure:
    """Ours as lines and the document's as dashed ones, along the axis whose labels are in an order.

    Raises:
        ValueError: If neither axis is, as its labels hold no numbers.
    """
    along = words.ordered(result)
    if along is None:
        raise ValueError(f"{result.table.name} has no axis in an order: neither rows nor columns are numbers")
    table = result.table
    ours, document = (result.ours.T, result.document.T) if along == "rows" else (result.ours, result.document)
    x, names = (table.rows, table.columns) if along == "rows" else (table.columns, table.rows)
    figure, axes = style.canvas(height=3.6)
    places = range(len(x.labels))
    for name, colour, here, there in zip(names.labels, _colours(names.labels), ours, document, strict=True):
        axes.plot(places, here, color=colour, marker="o", markersize=3.5, linewidth=1.5, label=name)
        axes.plot(places, there, color=colour, linestyle=(0, (3, 2)), linewidth=1.1)
    if table.reference is not None:
        axes.plot([], [], color=INK, linestyle=(0, (3, 2)), linewidth=1.1, label="document")
    axes.set_xticks(places, x.labels)
    axes.set_xlabel(x.name.replace("_", " "))
    axes.set_ylabel(table.unit or table.title)
    figure.legend(loc="outside right upper", title=names.name.replace("_", " "))
    return figure


def _colours(labels: Sequence[str]) -> list[object]:
    if len(labels) <= len(PALETTE):
        return [*PALETTE[: len(labels)]]
    # Neighbours alike, as the labels are in an order; without the yellow end, which is hard to see on white.
    return list(matplotlib.colormaps["viridis"](np.linspace(0, 0.88, len(labels))))
