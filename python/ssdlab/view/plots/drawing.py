"""Charts as matplotlib draws them."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as Drawn
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ssdlab import text
from ssdlab.lazy import room
from ssdlab.view.chart import Area, Axis, Chart, Columns, Form, Heat, Level, Line, Mark, Panel, Share, Spans
from ssdlab.view.colours import GRID, INK
from ssdlab.view.plots.style import WIDTH, Canvas, at_values, nothing, styled, written

HATCH = "/////"
LEGEND_COLUMNS = 4


def _power_of_ten(nanoseconds: float) -> str:
    """A power of ten of nanoseconds, as an axis names it."""
    number, unit = text.duration(nanoseconds).split()
    return f"{float(number.replace(',', '')):g} {unit}"


FORMS: dict[Form, Callable[[float], str]] = {
    "count": text.count, "short count": text.short_count, "duration": _power_of_ten,
}  # fmt: skip


class Drawing(Canvas):
    """A chart as a matplotlib figure; a notebook shows it to explore."""

    def __init__(self, chart: Chart, title: str) -> None:
        super().__init__(figsize=(WIDTH, chart.height), layout="constrained")
        self._chart, self._title = chart, title

    def _repr_html_(self) -> str:
        html: str = room("view.html").frame(self._chart, self._title)
        return html


@styled
def drawn(chart: Chart, title: str = "chart") -> Figure:
    """The chart, in the style of all figures; `title` is for those who cannot see it."""
    figure = Drawing(chart, title)
    if len(chart.panels) == 1:
        panels = [figure.add_subplot()]
    else:
        ratios = [panel.height for panel in chart.panels]
        panels = list(figure.subplots(len(chart.panels), sharex=True, height_ratios=ratios))
    for axes, panel in zip(panels, chart.panels, strict=True):
        _draw(figure, axes, panel, last=axes is panels[-1])
    _legend(figure, chart)
    return figure


def _draw(figure: Figure, axes: Axes, panel: Panel, *, last: bool) -> None:
    if not panel.marks:
        nothing(axes, panel.empty)
        return
    right = axes.twinx() if panel.right else axes
    for mark in panel.marks:
        _mark(mark, right if isinstance(mark, Area) and mark.right else axes)
    if panel.right:
        right.spines["right"].set_visible(True)
        right.grid(visible=False)
        _scale(right, "y", panel.right)
        # Behind the lines.
        axes.set_zorder(right.get_zorder() + 1)
        axes.patch.set_visible(False)
    for height in panel.dividers:
        axes.axhline(height, color=GRID, linewidth=0.8)
    _scale(axes, "x", panel.x if last else Axis(low=panel.x.low, high=panel.x.high))
    _scale(axes, "y", panel.y)
    if panel.title or panel.note:
        axes.set_title(panel.title or panel.note, fontsize=10 if panel.title else 9, loc="left")


def _scale(axes: Axes, side: Literal["x", "y"], of: Axis) -> None:
    axis: Drawn = axes.xaxis if side == "x" else axes.yaxis
    limit = axes.set_xlim if side == "x" else axes.set_ylim
    if of.log:
        axes.set(**{f"{side}scale": "log"})
    if of.form in FORMS:
        written(axis, FORMS[of.form], whole=of.whole)
    if of.ticks:
        names = dict(of.ticks)
        at_values(axis, list(names), lambda value: names[value])
        axis.set_tick_params(labelsize=8 if len(names) > 8 else 10)
    if of.low is not None or of.high is not None:
        limit(of.low, of.high)
    elif side == "x":
        axes.margins(x=0.01)
    axis.set_label_text(of.title)
    if of.is_backwards:
        # Rows, not heights.
        axis.set_tick_params(length=0)
        axes.grid(axis=side, visible=False)


def _mark(mark: Mark, axes: Axes) -> None:
    _MARKS[type(mark)](mark, axes)


def _line(line: Line, axes: Axes) -> None:
    # Beside other lines a single point is a dot.
    marker = "." if np.isfinite(line.y).sum() == 1 else ""
    dash = "--" if line.dashed else "-"
    style = "steps-post" if line.step else "default"
    axes.plot(
        line.x, line.y, marker=marker, color=line.colour, alpha=line.opacity, linewidth=line.width, linestyle=dash,
        drawstyle=style, label=line.name or None,
    )  # fmt: skip


def _area(area: Area, axes: Axes) -> None:
    axes.stairs(area.heights, area.edges, color=area.colour, alpha=area.opacity, fill=True, label=area.name or None)
    if area.outlined:
        axes.stairs(area.heights, area.edges, color=area.colour, linewidth=1.2)


def _columns(columns: Columns, axes: Axes) -> None:
    centres, widths = (columns.edges[:-1] + columns.edges[1:]) / 2, np.diff(columns.edges)
    axes.bar(centres, columns.heights, width=widths * 0.9, color=columns.colour)
    axes.grid(axis="x", visible=False)


def _level(level: Level, axes: Axes) -> None:
    dash = "--" if level.dashed else "-"
    axes.axhline(level.height, color=level.colour, linewidth=1.2, linestyle=dash, label=level.name)


def _share(share: Share, axes: Axes) -> None:
    begun = np.zeros(len(share.lengths))
    for patches in axes.containers:
        begun += [patch.get_width() for patch in patches]
    axes.barh(range(len(begun)), share.lengths, left=begun, height=0.6, color=share.colour, label=share.name)


def _heat(heat: Heat, axes: Axes) -> None:
    # Opacity rather than colour, so that it reads on any page.
    ramp = [(*to_rgb(heat.colour), opacity) for opacity in (0.0, 1.0)]
    rows = len(heat.percent)
    width = heat.edges[1] - heat.edges[0]
    extent = (0, len(heat.edges[1:]) * width, rows - 0.5, -0.5)
    colours = LinearSegmentedColormap.from_list("heat", ramp)
    axes.imshow(heat.percent, colours, vmin=0, vmax=100, aspect="auto", interpolation="none", extent=extent)
    axes.grid(visible=False)


def _spans(spans: Spans, axes: Axes) -> None:
    axes.barh(
        spans.rows, spans.end - spans.begin, left=spans.begin, height=spans.heights, color=spans.colour,
        edgecolor=INK if spans.hatched else GRID, linewidth=0.3, hatch=HATCH if spans.hatched else "",
    )  # fmt: skip


_MARKS: dict[type[Mark], Callable[..., None]] = {
    Line: _line, Area: _area, Columns: _columns, Level: _level, Share: _share, Heat: _heat, Spans: _spans,
}  # fmt: skip


def _legend(figure: Figure, chart: Chart) -> None:
    """Above the axes: marks may be anywhere in them."""
    handles = [handle for axes in figure.axes for handle in axes.get_legend_handles_labels()[0]]
    spans = [mark for panel in chart.panels for mark in panel.marks if isinstance(mark, Spans)]
    handles += [Patch(facecolor=colour, label=name) for name, colour in {one.name: one.colour for one in spans}.items()]
    if any(one.hatched for one in spans):
        handles.append(Patch(facecolor="none", edgecolor=INK, hatch=HATCH, label=chart.hatching))
    if handles:
        figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), LEGEND_COLUMNS))
