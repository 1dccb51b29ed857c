"""Draws charts with matplotlib."""

import io
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as Drawn
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, StepPatch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from ssdlab import text
from ssdlab.lazy import room
from ssdlab.model.finding import FigureFormat
from ssdlab.view.chart import (
    FORMS,
    LONGEST_NAME,
    Area,
    Axis,
    Band,
    Bars,
    Cells,
    Chart,
    Columns,
    Dash,
    Form,
    Heat,
    Level,
    Line,
    Mark,
    Panel,
    Points,
    Share,
    Spans,
    Whiskers,
)
from ssdlab.view.colours import GRID, INK

HATCH = "/////"
LEGEND_COLUMNS = 4
"""Number of legend columns in a full-width figure."""
ROWS_IN_SMALL = 8
"""If an axis has more names than this, the names get a small font."""
LETTERS_ACROSS, FEWEST_LETTERS = 100, 16
"""Total number of characters available for the names along a horizontal axis, and the minimum for each name."""
STRONGEST = 0.55
"""Maximum colour strength of cells that contain text, so that the text stays readable."""
DASHES: dict[Dash, str] = {"solid": "-", "dashed": "--", "dotted": ":"}

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    # Without a fixed salt, the ids in the SVG would be random.
    "svg.hashsalt": "ssdlab",
    # matplotlib's default is type 3 fonts, which publishers reject.
    "pdf.fonttype": 42,
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.linewidth": 0.8,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}

WIDTH = 7.6
"""Default width of figures in inches."""
SMALLEST_TEXT = 0.75
"""Minimum font size of narrow figures, as a fraction of the font size of wide figures."""

STATELESS: dict[FigureFormat, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
"""File metadata without dates and versions, so that identical charts give identical files."""


def shrunk(width: float) -> float:
    """Returns the height of a narrow figure, as a fraction of the full height; rows need some height at any width."""
    return math.sqrt(width / WIDTH)


class Drawing(Figure):
    """A chart as a matplotlib figure; notebooks show it interactively."""

    def __init__(self, chart: Chart, title: str, width: float) -> None:
        super().__init__(figsize=(width, chart.height * shrunk(width)), layout="constrained")
        self._chart, self._title = chart, title
        self.look = {**STYLE, "font.size": STYLE["font.size"] * max(shrunk(width), SMALLEST_TEXT)}
        """Matplotlib settings, also needed when the figure is saved, because saving creates the ticks."""

    def _repr_html_(self) -> str:
        html: str = room("view.html").frame(self._chart, self._title)
        return html

    def _repr_svg_(self) -> str:
        whole = self.saved("svg", transparent=True).decode()
        return whole[whole.index("<svg") :]

    def saved(self, format: FigureFormat, **options: Any) -> bytes:
        """Returns the contents of a figure file. Identical figures give byte-identical files."""
        buffer = io.BytesIO()
        layout = self.get_layout_engine()
        with matplotlib.rc_context(self.look):
            # Fixes the layout; otherwise saving would draw the figure a second time to compute the layout.
            if layout is not None:
                layout.execute(self)
                self.set_layout_engine(None)
            self.savefig(buffer, format=format, metadata=STATELESS[format], **options)
        self.set_layout_engine(layout)
        return buffer.getvalue()


def _on_axis(form: Form) -> Callable[[float], str]:
    """Returns a function that formats axis values without trailing zeros, including negative values."""

    def write(value: float) -> str:
        number, *unit = FORMS[form](abs(value)).split()
        if unit and "." in number:
            number = number.rstrip("0").rstrip(".")
        return " ".join([f"{'-' if value < 0 else ''}{number}", *unit])

    return write


def drawn(chart: Chart, title: str = "chart", width: float = WIDTH) -> Drawing:
    """Draws a chart, `width` inches wide; `title` is for screen readers."""
    figure = Drawing(chart, title, width)
    with matplotlib.rc_context(figure.look):
        ratios = [panel.height for panel in chart.panels]
        panels = figure.subplots(len(ratios), sharex=chart.shared, height_ratios=ratios, squeeze=False)[:, 0]
        for axes, panel in zip(panels, chart.panels, strict=True):
            _draw(axes, panel, named=axes is panels[-1] or not chart.shared)
        _legend(figure, chart)
    return figure


def _draw(axes: Axes, panel: Panel, *, named: bool) -> None:
    if not panel.marks:
        axes.set_axis_off()
        axes.text(0.5, 0.5, panel.empty, ha="center", va="center", transform=axes.transAxes)
        return
    right = axes.twinx() if panel.right else axes
    for mark in panel.marks:
        _mark(mark, right if isinstance(mark, Area) and mark.right else axes)
    if panel.right:
        right.spines["right"].set_visible(True)
        right.grid(visible=False)
        _scale(right, "y", panel.right)
        # Draws the left axis and its contents on top of the right axis.
        axes.set_zorder(right.get_zorder() + 1)
        axes.patch.set_visible(False)
    for height in panel.dividers:
        axes.axhline(height, color=GRID, linewidth=0.8)
    _scale(axes, "x", panel.x if named else replace(panel.x, title=""))
    _scale(axes, "y", panel.y)
    if panel.title or panel.note:
        axes.set_title(panel.title or panel.note, fontsize="medium" if panel.title else "small", loc="left")


def _scale(axes: Axes, side: Literal["x", "y"], of: Axis) -> None:
    axis: Drawn = axes.xaxis if side == "x" else axes.yaxis
    limit = axes.set_xlim if side == "x" else axes.set_ylim
    if of.log:
        scaled = axes.set_xscale if side == "x" else axes.set_yscale
        scaled("log", base=2 if of.form == "size" else 10)
    if of.form != "number":
        if of.whole and not of.log:
            axis.set_major_locator(MaxNLocator(integer=True))
        _label(axis, _on_axis(of.form))
    if of.ticks:
        names = dict(of.ticks)
        longest = LONGEST_NAME if side == "y" else max(FEWEST_LETTERS, LETTERS_ACROSS // len(names))
        short = text.shortened(names.values(), longest)
        axis.set_major_locator(FixedLocator(list(names)))
        _label(axis, lambda value: short[names[value]])
        axis.set_tick_params(labelsize="small" if len(names) > ROWS_IN_SMALL else "medium")
    if of.low is not None or of.high is not None:
        limit(of.low, of.high)
    elif side == "x":
        axes.margins(x=0.01)
    axis.set_label_text(of.title)
    if of.is_backwards:
        # The vertical axis shows rows, which need no ticks.
        axis.set_tick_params(length=0)
        axes.grid(axis=side, visible=False)


def _label(axis: Drawn, form: Callable[[float], str]) -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
    # Minor ticks are left out, because on logarithmic axes they would take a quarter of the time to write a report.
    axis.set_minor_locator(NullLocator())


def _mark(mark: Mark, axes: Axes) -> None:
    match mark:
        case Line():
            # A single point is drawn as a dot.
            marker = "o" if mark.dots else "." if np.isfinite(mark.y).sum() == 1 else ""
            style = "steps-post" if mark.step else "default"
            axes.plot(
                mark.x, mark.y, marker=marker, markersize=3 if mark.dots else None, color=mark.colour,
                alpha=mark.opacity, linewidth=mark.width, linestyle=DASHES[mark.dash], drawstyle=style,
                label=mark.name or None,
            )  # fmt: skip
        case Points():
            axes.plot(mark.x, mark.y, "o", color=mark.colour, markersize=mark.size, label=mark.name or None)
        case Band():
            axes.fill_between(mark.x, mark.low, mark.high, color=mark.colour, alpha=0.2, linewidth=0)
        case Whiskers():
            middle, half = (mark.low + mark.high) / 2, (mark.high - mark.low) / 2
            x, y, across, up = (middle, mark.at, half, None) if mark.along else (mark.at, middle, None, half)
            axes.errorbar(x, y, up, across, fmt="none", ecolor=mark.colour, elinewidth=0.8, capsize=2)
        case Area():
            _area(mark, axes)
        case Columns():
            centres, widths = (mark.edges[:-1] + mark.edges[1:]) / 2, np.diff(mark.edges)
            axes.bar(centres, mark.heights, width=widths * 0.9, color=mark.colour)
            axes.grid(axis="x", visible=False)
        case Level():
            draw = axes.axvline if mark.upright else axes.axhline
            draw(mark.height, color=mark.colour, linewidth=1.2, linestyle=DASHES[mark.dash], label=mark.name)
        case Bars():
            axes.barh(mark.rows, mark.lengths, mark.thickness, color=mark.colour, label=mark.name or None)
        case Share():
            begun = np.zeros(len(mark.lengths))
            for patches in axes.containers:
                begun += [patch.get_width() for patch in patches]
            axes.barh(range(len(begun)), mark.lengths, left=begun, height=0.6, color=mark.colour, label=mark.name)
        case Heat():
            _heat(mark, axes)
        case Cells():
            _cells(mark, axes)
        case Spans():
            axes.barh(
                mark.rows, mark.end - mark.begin, left=mark.begin, height=mark.heights, color=mark.colour,
                edgecolor=INK if mark.hatched else GRID, linewidth=0.3, hatch=HATCH if mark.hatched else "",
            )  # fmt: skip


def _area(area: Area, axes: Axes) -> None:
    below = np.zeros(len(area.heights))
    for step in axes.patches:
        if area.stacked and isinstance(step, StepPatch):
            below = np.asarray(step.get_data()[0])
    top = below + area.heights
    axes.stairs(
        top, area.edges, baseline=below, color=area.colour, alpha=area.opacity, fill=True, label=area.name or None
    )
    if area.outlined:
        axes.stairs(top, area.edges, color=area.colour, linewidth=1.2)


def _ramp(colour: str, strongest: float = 1.0) -> LinearSegmentedColormap:
    # Cells differ in the opacity of their colour, which works on any background.
    return LinearSegmentedColormap.from_list("heat", [(*to_rgb(colour), opacity) for opacity in (0.0, strongest)])


def _heat(heat: Heat, axes: Axes) -> None:
    width = heat.edges[1] - heat.edges[0]
    extent = (0, len(heat.edges[1:]) * width, len(heat.values) - 0.5, -0.5)
    values, most = (np.log1p(heat.values), np.log1p(heat.most)) if heat.log else (heat.values, heat.most)
    axes.imshow(values, _ramp(heat.colour), vmin=0, vmax=most, aspect="auto", interpolation="none", extent=extent)
    axes.grid(visible=False)


def _cells(cells: Cells, axes: Axes) -> None:
    for sign, colour in ((1, cells.colour), (-1, cells.below)):
        strengths = np.clip(np.nan_to_num(sign * cells.strengths), 0, 1)
        axes.imshow(strengths, _ramp(colour, STRONGEST), vmin=0, vmax=1, aspect="auto", interpolation="none")
    for row, texts in enumerate(cells.texts):
        for column, written in enumerate(texts):
            axes.text(column, row, written, ha="center", va="center", fontsize="small")
    axes.grid(visible=False)


def _legend(figure: Figure, chart: Chart) -> None:
    """Draws the legend above the axes."""
    named: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(str(name), handle)
    handles = [*named.values()]
    spans = [mark for panel in chart.panels for mark in panel.marks if isinstance(mark, Spans)]
    handles += [
        Patch(facecolor=colour, label=name) for name, colour in {bars.name: bars.colour for bars in spans}.items()
    ]
    if any(bars.hatched for bars in spans):
        handles.append(Patch(facecolor="none", edgecolor=INK, hatch=HATCH, label=chart.hatching))
    if handles:
        short = text.shortened([str(handle.get_label()) for handle in handles], LONGEST_NAME)
        columns = min(len(handles), max(round(LEGEND_COLUMNS * figure.get_figwidth() / WIDTH), 1))
        figure.legend(
            handles, [short[str(handle.get_label())] for handle in handles],
            loc="outside upper center", ncols=columns, title=chart.legend or None,
        )  # fmt: skip
