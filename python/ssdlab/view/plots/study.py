"""Figures of studies."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ssdlab import text
from ssdlab.study.store.study import Study
from ssdlab.study.survey.curves import Curves
from ssdlab.study.survey.effects import Effects
from ssdlab.study.survey.front import Front
from ssdlab.study.sweep.quantity import quantity
from ssdlab.view.colours import BLUE, GREY, INK, ORANGE
from ssdlab.view.pages.figures import form
from ssdlab.view.plots.style import Canvas, canvas, colour, dash, nothing, on_the_right, styled, written

MOST_CURVES = 12
"""More cannot be told apart."""
MOST_LABELS = 12


def _positions(values: Sequence[str]) -> tuple[list[float], bool]:
    """Where values lie on an axis: at their numbers, or evenly where some are names; and whether at numbers."""
    numbers = [quantity(value) for value in values]
    known = [one.value for one in numbers if one is not None]
    if len(known) == len(values) and len(values) > 1:
        return known, True
    return [float(at) for at in range(len(values))], False


def _along(axes: Axes, values: Sequence[str]) -> list[float]:
    """Puts values on the horizontal axis; their places."""
    at, numeric = _positions(values)
    if numeric and min(at) > 0 and max(at) / min(at) > 30:
        axes.set_xscale("log")
        axes.minorticks_off()
    shown = range(0, len(values), -(-len(values) // MOST_LABELS))
    axes.set_xticks([at[one] for one in shown], [text.path(values[one])[:16] for one in shown], fontsize=8)
    return at


@styled
def curves(found: Curves) -> Figure:
    """Curves with their confidence bands over seeds; at most twelve of them."""
    figure, axes = canvas(3.6)
    along, between = found.values
    places = dict(zip(along, _along(axes, along), strict=True))
    for row, by in enumerate(between[:MOST_CURVES]):
        cells = sorted((one for one in found.cells if one.by == by), key=lambda one: places[one.x])
        x = [places[one.x] for one in cells]
        mean = np.array([one.estimate.mean for one in cells])
        half = np.array([one.estimate.half_width or 0.0 for one in cells])
        axes.plot(
            x, mean, color=colour(row), linestyle=dash(row), marker="o", markersize=3, linewidth=1.4, label=by[:32]
        )
        if half.any():
            axes.fill_between(x, mean - half, mean + half, color=colour(row), alpha=0.2, linewidth=0)
    axes.set_xlabel(found.x)
    axes.set_ylabel(found.outcome.figure)
    written(axes.yaxis, form(found.outcome.figure))
    if found.by:
        axes.legend(title=found.by, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


@styled
def heat_map(found: Curves) -> Figure:
    """The outcome as colour over both axes."""
    along, between = found.values
    figure = Canvas(figsize=(7.6, 1.4 + 0.3 * len(between)), layout="constrained")
    axes = figure.add_subplot()
    table = np.full((len(between), len(along)), np.nan)
    for one in found.cells:
        table[between.index(one.by), along.index(one.x)] = one.estimate.mean
    image = axes.imshow(table, aspect="auto", origin="lower", cmap="cividis")
    every = -(-len(along) // MOST_LABELS)
    axes.set_xticks(range(0, len(along), every), [text.path(one)[:16] for one in along[::every]], fontsize=8)
    axes.set_yticks(range(len(between)), [text.path(one)[:24] for one in between], fontsize=8)
    axes.set_xlabel(found.x)
    axes.set_ylabel(found.by or "")
    axes.grid(visible=False)
    bar = figure.colorbar(image, ax=axes)
    bar.set_label(found.outcome.figure)
    written(bar.ax.yaxis, form(found.outcome.figure))
    return figure


@styled
def effects(found: Effects) -> Figure:
    """Each effect as a bar with its confidence interval, largest first."""
    ranked = sorted(found.effects, key=lambda one: -abs(one.size))[:24]
    figure = Canvas(figsize=(7.6, 0.9 + 0.24 * len(ranked)), layout="constrained")
    axes = figure.add_subplot()
    axes.barh(range(len(ranked)), [one.size for one in ranked], 0.7, color=BLUE)
    if any(one.half_width for one in ranked):
        axes.errorbar(
            [one.size for one in ranked], range(len(ranked)), xerr=[one.half_width or 0.0 for one in ranked],
            fmt="none", ecolor=INK, elinewidth=0.8, capsize=2,
        )  # fmt: skip
    axes.set_yticks(range(len(ranked)), [text.path(f"{one.term} {one.level}")[:48] for one in ranked], fontsize=8)
    axes.set_ylim(len(ranked) - 0.5, -0.5)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(f"change of {found.outcome.figure}")
    write = form(found.outcome.figure)
    written(axes.xaxis, lambda value: f"-{write(-value)}" if value < 0 else write(value))
    return figure


@styled
def front(found: Front) -> Figure:
    """All points by their first two outcomes; the front in colour."""
    figure, axes = canvas(3.6)
    first, second = found.outcomes[:2]
    for best, its, size, label in ((False, GREY, 3.0, "others"), (True, ORANGE, 5.0, "on the front")):
        some = [one.outcomes for one in found.candidates if one.best == best]
        axes.plot(
            [one[0].mean for one in some], [one[1].mean for one in some], "o", color=its, markersize=size, label=label
        )
    axes.set_xlabel(first.figure)
    axes.set_ylabel(second.figure)
    written(axes.xaxis, form(first.figure))
    written(axes.yaxis, form(second.figure))
    on_the_right(axes)
    return figure


@styled
def parallel(found: Study) -> Figure:
    """Parallel coordinates: a line for each point through its values of all axes and outcomes, coloured by the first
    outcome.
    """
    figure, axes = canvas(3.8)
    outcomes = found.outcomes()
    by_point = [{tuple(point.levels.items()): point.mean for point in found.values(one)} for one in outcomes]
    points = [key for key in by_point[0] if all(key in its for its in by_point)]
    if len(points) < 2:
        nothing(axes, "There are fewer than two points with all outcomes.")
        return figure
    shares: list[list[float]] = []
    for axis in range(len(found.columns)):
        values = [point[axis][1] for point in points]
        distinct = [*dict.fromkeys(values)]
        at, _ = _positions(distinct)
        shares.append(_stretched([dict(zip(distinct, at, strict=True))[value] for value in values]))
    shares += [_stretched([its[point] for point in points]) for its in by_point]
    names = [*found.columns, *(one.figure for one in outcomes)]
    colours = shares[len(found.columns)]
    palette = _palette(colours)
    for row, tint in enumerate(palette):
        axes.plot(range(len(names)), [share[row] for share in shares], color=tint, linewidth=0.8, alpha=0.7)
    axes.set_xticks(range(len(names)), [text.path(name)[-26:] for name in names], fontsize=8, rotation=20, ha="right")
    axes.set_yticks([0, 1], ["least", "most"], fontsize=8)
    axes.margins(x=0.03)
    axes.grid(axis="y", visible=False)
    return figure


def _palette(shares: Sequence[float]) -> list[str]:
    """Colours from blue to orange."""
    low, high = (np.array([int(its[at : at + 2], 16) for at in (1, 3, 5)]) for its in (BLUE, ORANGE))
    return ["#" + "".join(f"{round(part):02x}" for part in low + (high - low) * share) for share in shares]


def _stretched(values: Sequence[float]) -> list[float]:
    """Values between 0 and 1; in the middle where all are equal."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]
