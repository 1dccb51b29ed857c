"""Figures of what dies and channels did."""

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Patch

from ssdlab import text
from ssdlab.lazy import Counts
from ssdlab.model.columns import ActivityColumns
from ssdlab.model.result import Result
from ssdlab.view.plots.style import BLUE, GREEN, GRID, INK, ORANGE, PURPLE, Canvas, canvas, nothing, styled, written
from ssdlab.view.plots.time import bin_edges, time_unit

# Opacity rather than colour, so that it reads on any page.
BUSY = LinearSegmentedColormap.from_list("busy", [(*to_rgb(BLUE), 0.0), (*to_rgb(BLUE), 1.0)])
KIND_COLOURS = {"read": BLUE, "program": ORANGE, "erase": PURPLE, "copyback": GREEN}
HOST_CAUSES = ("host", "rmw", "map_load")
"""Causes of what a request of the host asks for; all other work is internal."""
INTERNAL = "/////"
"""Hatching of internal work."""
OPERATIONS = 600
"""Most operations and transfers in a Gantt chart; more would be lines."""
LANES = 48
"""Most lanes of a Gantt chart."""
LABELS = 16
"""Most labels beside the rows of a heat map."""
NOTHING = "No time passed."


def _activity(result: Result) -> ActivityColumns:
    if result.activity is None:
        raise ValueError('what dies and channels did is known only with time = "event"')
    return result.activity


def _time_axis(result: Result, axes: Axes) -> float:
    """An x axis of the whole run in simulated time; returns the length of its unit in nanoseconds."""
    elapsed_ns = float(result.summary["time"]["elapsed_ns"])
    unit, scale = time_unit(elapsed_ns)
    axes.set_xlabel(f"simulated time ({unit})")
    axes.set_xlim(0, elapsed_ns / scale)
    return scale


@styled
def utilisation(result: Result) -> Figure:
    """Share of the time in which each die and each channel worked, over simulated time: the stronger, the busier."""
    activity = _activity(result)
    dies, channels = len(activity.dies_busy_ns), len(activity.channels_busy_ns)
    if not result.summary["time"]["elapsed_ns"]:
        figure, axes = canvas()
        nothing(axes, NOTHING)
        return figure
    heights = [float(np.clip(rows * 0.16, 0.6, most)) for rows, most in ((dies, 4.5), (channels, 2.0))]
    figure = Canvas(figsize=(7.6, sum(heights) + 1.2), layout="constrained")
    above, below = figure.subplots(2, sharex=True, height_ratios=heights)
    scale = _time_axis(result, below)
    _heat_map(result, above, activity.die_bin_ns, activity.dies_busy_ns, scale)
    image = _heat_map(result, below, activity.channel_bin_ns, activity.channels_busy_ns, scale)
    for axes, title in ((above, "dies, by channel"), (below, "channels")):
        axes.set_title(title, fontsize=10, loc="left")
        axes.tick_params(axis="y", labelsize=8)
    # Channels are named at the middle of their dies, and kept apart by lines where these are not all there is.
    named = np.arange(0, channels, -(-channels // LABELS))
    per_channel = dies // channels
    above.set_yticks((named + 0.5) * per_channel - 0.5, [str(channel) for channel in named])
    below.set_yticks(named, [str(channel) for channel in named])
    if per_channel > 1:
        for first in range(per_channel, dies, per_channel):
            above.axhline(first - 0.5, color=INK, linewidth=0.6)
    bar = figure.colorbar(image, ax=[above, below], pad=0.02, aspect=30)
    bar.set_label("busy (%)")
    return figure


def _heat_map(result: Result, axes: Axes, bin_ns: int, busy_ns: Counts, scale: float) -> AxesImage:
    """One row for each row of `busy_ns`, the first on top, over time."""
    if not busy_ns.size:
        # Not one of them ever worked: no bin was begun.
        busy_ns = np.zeros((len(busy_ns), 1), np.uint64)
    rows, bins = busy_ns.shape
    busy = busy_ns / np.diff(bin_edges(result, bin_ns, bins)) * 100
    axes.grid(visible=False)
    axes.tick_params(axis="y", length=0)
    limits = axes.get_xlim()
    extent = (0, bins * bin_ns / scale, rows - 0.5, -0.5)
    image = axes.imshow(busy, BUSY, vmin=0, vmax=100, aspect="auto", interpolation="none", extent=extent)
    axes.set_xlim(limits)
    return image


@styled
def queue_depth(result: Result) -> Figure:
    """Requests outstanding over simulated time, with their mean and their most."""
    activity = _activity(result)
    figure, axes = canvas(2.6)
    if not activity.outstanding_ns.size:
        nothing(axes, NOTHING)
        return figure
    edges = bin_edges(result, activity.queue_bin_ns, len(activity.outstanding_ns))
    depth = activity.outstanding_ns / np.diff(edges)
    edges /= _time_axis(result, axes)
    axes.stairs(depth, edges, color=BLUE, alpha=0.25, fill=True)
    axes.stairs(depth, edges, color=BLUE, linewidth=1.0)
    drive = result.summary["drive"]
    mean, most = drive["queue_depth_mean"], drive["queue_depth_max"]
    axes.axhline(mean, color=ORANGE, linewidth=1.2, linestyle="--", label=f"mean {text.decimal(mean)}")
    axes.axhline(most, color=INK, linewidth=0.8, linestyle=":", label=f"most {text.count(most)}")
    axes.set_ylim(0, max(most, 1) * 1.05)
    written(axes.yaxis, text.short_count, whole=True)
    axes.set_ylabel("requests outstanding")
    figure.legend(loc="outside upper center", ncols=2)
    return figure


@styled
def gantt(result: Result) -> Figure:
    """The recorded window, operation by operation: a lane for each channel and below it one for each plane of its dies.

    Says what it leaves out: lanes beyond `LANES`, operations and transfers beyond `OPERATIONS`.
    """
    activity = _activity(result)
    bars, drive = activity.gantt, result.summary["drive"]
    dies_per_channel, planes = drive["dies"] // drive["channels"], drive["planes_per_die"]
    if not bars.die.size:
        figure, axes = canvas(1.6)
        nothing(axes, "No flash operation was recorded: gantt.window says when to.")
        return figure
    die, plane = bars.die.astype(int), bars.plane.astype(int)
    channel, of_channel = np.divmod(die, dies_per_channel)
    lanes_of_channel = 1 + dies_per_channel * planes
    lane = channel * lanes_of_channel + np.where(bars.bus, 0, 1 + of_channel * planes + plane)
    # Idle lanes tell something, too, but not where there are too many of them.
    lanes = np.arange(drive["channels"] * lanes_of_channel)
    if len(lanes) > LANES:
        lanes = np.unique(lane)
    in_lanes = np.flatnonzero(np.isin(lane, lanes[:LANES]))
    drawn = in_lanes[np.argsort(bars.begin_ns[in_lanes], kind="stable")][:OPERATIONS]

    row, bus = np.searchsorted(lanes, lane[drawn]), bars.bus[drawn]
    begin, end = bars.begin_ns[drawn].astype(float), bars.end_ns[drawn].astype(float)
    origin = float(begin.min())
    unit, scale = time_unit(float(end.max()) - origin)
    kind = np.array(bars.kind)[drawn]
    internal = ~np.isin(np.array(bars.cause)[drawn], HOST_CAUSES)
    figure, axes = canvas(1.3 + 0.17 * min(len(lanes), LANES))
    legend = []
    for name, colour in KIND_COLOURS.items():
        if (kind == name).any():
            legend.append(Patch(facecolor=colour, label=name))
        for of_cause, edge, hatch in ((~internal, GRID, ""), (internal, INK, INTERNAL)):
            chosen = (kind == name) & of_cause
            axes.barh(
                row[chosen],
                (end - begin)[chosen] / scale,
                left=(begin[chosen] - origin) / scale,
                height=np.where(bus[chosen], 0.5, 0.8),
                color=colour,
                edgecolor=edge,
                linewidth=0.3,
                hatch=hatch,
            )
    if internal.any():
        legend.append(Patch(facecolor="none", edgecolor=INK, hatch=INTERNAL, label="internal"))
    _lane_names(axes, lanes[:LANES], dies_per_channel, planes)
    axes.set_xlim(0, (float(end.max()) - origin) / scale)
    since = f" since {text.count(origin)} ns" if origin else ""
    axes.set_xlabel(f"simulated time{since} ({unit})")
    figure.legend(handles=legend, loc="outside upper center", ncols=len(legend))
    omitted = []
    if len(lanes) > LANES:
        omitted.append(f"{LANES} of {text.count(len(lanes))} lanes")
    if len(drawn) < len(in_lanes):
        omitted.append(f"the first {OPERATIONS} of {text.count(len(in_lanes))} bars")
    if activity.gantt_truncated:
        omitted.append("what the record had room for")
    if omitted:
        axes.set_title(f"Shown: {', '.join(omitted)}", fontsize=9, loc="left")
    return figure


def _lane_names(axes: Axes, lanes: "npt.NDArray[np.int64]", dies_per_channel: int, planes: int) -> None:
    """Names the lanes, the first on top; a line above each channel."""
    names = []
    for row, lane in enumerate(lanes.tolist()):
        channel, rest = divmod(lane, 1 + dies_per_channel * planes)
        if rest == 0:
            names.append(f"channel {channel}")
            axes.axhline(row - 0.5, color=GRID, linewidth=0.8)
        else:
            die, plane = divmod(rest - 1, planes)
            of_plane = f", plane {plane}" if planes > 1 else ""
            names.append(f"die {channel * dies_per_channel + die}{of_plane}")
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
