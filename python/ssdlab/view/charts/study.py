"""Charts of a study's curves, effects and points."""

from collections.abc import Sequence

from ssdlab import text
from ssdlab.lazy import Numbers, np
from ssdlab.study.store.study import Study
from ssdlab.study.survey.curves import Curves
from ssdlab.study.survey.effects import Effects
from ssdlab.study.survey.front import Front
from ssdlab.study.survey.linked import number
from ssdlab.view.chart import (
    Axis,
    Band,
    Bars,
    Cells,
    Chart,
    Line,
    Mark,
    Panel,
    Points,
    Whiskers,
    is_wide,
    nothing,
    places,
    rows,
)
from ssdlab.view.colours import BLUE, GREY, INK, ORANGE, blended, colour, dash
from ssdlab.view.pages.figures import form, form_name

MOST_CURVES = 12
"""Maximum number of curves in a chart, because readers cannot tell more curves apart."""
MOST_LABELS = 12
MOST_EFFECTS = 24
TINTS = 8
"""Number of line colours in a parallel-coordinates chart."""


def _positions(values: Sequence[str]) -> tuple[list[float], bool]:
    """Returns the positions of axis values, which are even unless all values are numbers, and True for numbers."""
    known = [parsed.value for value in values if (parsed := number(value)) is not None]
    if len(known) == len(values) and len(values) > 1:
        return known, True
    return [float(at) for at in range(len(values))], False


def _along(values: Sequence[str], title: str) -> tuple[list[float], Axis]:
    """Returns the positions of the values along a chart axis, and the axis with the values as labels."""
    at, numeric = _positions(values)
    wide = numeric and is_wide(min(at), max(at))
    ticks = [(at[index], text.path(values[index])) for index in range(0, len(values), -(-len(values) // MOST_LABELS))]
    return at, Axis(title, log=wide, ticks=ticks)


def curves(survey: Curves) -> Chart:
    """Draws at most twelve curves with confidence bands over seeds."""
    along, between = survey.values
    at, across = _along(along, survey.x)
    place = dict(zip(along, at, strict=True))
    marks: list[Mark] = []
    for row, by in enumerate(between[:MOST_CURVES]):
        cells = sorted((cell for cell in survey.cells if cell.by == by), key=lambda cell: place[cell.x])
        x = np.array([place[cell.x] for cell in cells])
        mean = np.array([cell.estimate.mean for cell in cells], float)
        half = np.array([cell.estimate.half_width or 0.0 for cell in cells])
        name = text.path(by)
        if half.any():
            marks.append(Band(name, x, mean - half, mean + half, colour(row)))
        marks.append(Line(name, x, mean, colour(row), 1.4, dash=dash(row), dots=True))
    figure = survey.outcome.figure
    return Chart([Panel(marks, across, Axis(figure, form_name(figure)))], 3.6, legend=survey.by or "")


def heat_map(survey: Curves) -> Chart:
    """Draws a heat map of the outcome over the two axes of the curves."""
    along, between = survey.values
    table = np.full((len(between), len(along)), np.nan)
    for cell in survey.cells:
        table[between.index(cell.by), along.index(cell.x)] = cell.estimate.mean
    low, high = float(np.nanmin(table)), float(np.nanmax(table))
    write = form(survey.outcome.figure)
    texts = [["" if np.isnan(value) else write(value) for value in row] for row in table.tolist()]
    cells = Cells((table - low) / ((high - low) or 1.0), texts, BLUE, BLUE)
    across = places([text.path(value) for value in along], survey.x)
    down = rows([text.path(value) for value in between], survey.by or "")
    return Chart([Panel([cells], across, down)], 1.4 + 0.3 * len(between))


def effects(survey: Effects) -> Chart:
    """Draws each effect as a bar with its confidence interval, largest first."""
    ranked = sorted(survey.effects, key=lambda effect: -abs(effect.size))[:MOST_EFFECTS]
    at = np.arange(len(ranked), dtype=float)
    sizes = np.array([effect.size for effect in ranked], float)
    half = np.array([effect.half_width or 0.0 for effect in ranked])
    marks: list[Mark] = [Bars("", at, sizes, BLUE, 0.7)]
    if half.any():
        marks.append(Whiskers("", at, sizes - half, sizes + half, INK, along=True))
    names = rows([text.path(f"{one.term} {one.level}") for one in ranked])
    figure = survey.outcome.figure
    ends = np.append([sizes - half, sizes + half], 0.0)
    across = Axis(f"change of {figure}", form_name(figure), float(ends.min()) * 1.05, float(ends.max()) * 1.05)
    return Chart([Panel(marks, across, names)], 0.9 + 0.24 * len(ranked))


def front(survey: Front) -> Chart:
    """Draws all points by their first two outcomes, with the Pareto front in colour."""
    marks = []
    for best, tint, size, label in ((False, GREY, 3.0, "others"), (True, ORANGE, 5.0, "on the Pareto front")):
        some = [point.outcomes for point in survey.candidates if point.best == best]
        x, y = (np.array([outcomes[axis].mean for outcomes in some], float) for axis in (0, 1))
        marks.append(Points(label, x, y, tint, size))
    across, up = (Axis(outcome.figure, form_name(outcome.figure)) for outcome in survey.outcomes[:2])
    return Chart([Panel(marks, across, up)], 3.6)


def parallel(survey: Study) -> Chart:
    """Draws a line per point of the study through all axes and outcomes, coloured by the first outcome."""
    outcomes = survey.outcomes()
    by_point = [{tuple(point.levels.items()): point.mean for point in survey.values(outcome)} for outcome in outcomes]
    points = [key for key in by_point[0] if all(key in means for means in by_point)]
    if len(points) < 2:
        return nothing("Fewer than two points have values for all outcomes.", 3.8)
    shares: list[Numbers] = []
    for axis in range(len(survey.columns)):
        values = [point[axis][1] for point in points]
        distinct = [*dict.fromkeys(values)]
        at, _ = _positions(distinct)
        shares.append(_stretched([dict(zip(distinct, at, strict=True))[value] for value in values]))
    shares += [_stretched([means[point] for point in points]) for means in by_point]
    names = [*survey.columns, *(outcome.figure for outcome in outcomes)]
    # All points of the study with the same colour are drawn as one line, with NaN between the points.
    x = np.append(np.arange(len(names), dtype=float), np.nan)
    y = np.column_stack([*shares, np.full(len(points), np.nan)])
    tint = np.minimum((shares[len(survey.columns)] * TINTS).astype(int), TINTS - 1)
    lines = []
    for level in range(TINTS):
        chosen = tint == level
        if chosen.any():
            tiled = np.tile(x, int(chosen.sum()))
            lines.append(Line("", tiled, y[chosen].ravel(), blended(level / (TINTS - 1)), 0.8, 0.7))
    down = Axis(low=-0.03, high=1.03, ticks=[(0, "least"), (1, "most")])
    return Chart([Panel(lines, places([text.path(name) for name in names]), down)], 3.8)


def _stretched(values: Sequence[float]) -> Numbers:
    """Scales values to 0..1; equal values all become 0.5."""
    low, high = min(values), max(values)
    return np.array([(value - low) / (high - low) if high > low else 0.5 for value in values])
