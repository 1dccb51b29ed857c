"""Charts of the activity of dies and channels."""

from typing import NamedTuple

from ssdlab import text
from ssdlab.lazy import Counts, Numbers, np, npt
from ssdlab.model.columns import ActivityColumns, GanttColumns
from ssdlab.model.result import Result
from ssdlab.view.chart import Area, Axis, Chart, Heat, Level, Mark, Panel, Spans, nothing
from ssdlab.view.charts.time import bin_edges, time_axis, time_unit
from ssdlab.view.colours import BLUE, GREEN, INK, ORANGE, PURPLE
from ssdlab.view.pages.tables import CAUSES

KIND_COLOURS = {"read": BLUE, "program": ORANGE, "erase": PURPLE, "copyback": GREEN}
HOST_CAUSES = ("host", "rmw", "map_load")
"""Causes of flash operations that directly serve the host; all other causes count as internal work."""
OPERATIONS = 2_000
"""Maximum number of operations in a Gantt chart."""
LANES = 48
"""Maximum number of lanes of a Gantt chart."""
LABELS = 16
"""Maximum number of row labels next to a heat map."""
NOTHING = "No time passed."


def _activity(result: Result) -> ActivityColumns:
    if result.activity is None:
        raise ValueError('the activity of dies and channels was not recorded; set time = "event"')
    return result.activity


def utilisation(result: Result) -> Chart:
    """Draws the utilisation of each die and channel over simulated time; stronger colours mean a higher utilisation."""
    activity = _activity(result)
    dies, channels = len(activity.dies_busy_ns), len(activity.channels_busy_ns)
    if not result.summary["time"]["elapsed_ns"]:
        return nothing(NOTHING)
    heights = [float(np.clip(rows * 0.16, 0.6, most)) for rows, most in ((dies, 4.5), (channels, 2.0))]
    # The name of a channel is placed at the middle of its dies, and lines separate the channels.
    named = range(0, channels, -(-channels // LABELS))
    per_channel = dies // channels
    of_dies = Axis(low=dies - 0.5, high=-0.5, ticks=[((at + 0.5) * per_channel - 0.5, str(at)) for at in named])
    of_channels = Axis(low=channels - 0.5, high=-0.5, ticks=[(at, str(at)) for at in named])
    lines = [first - 0.5 for first in range(per_channel, dies, per_channel)] if per_channel > 1 else []
    x, _ = time_axis(result)
    heat = _heat(result, activity.die_bin_ns, activity.dies_busy_ns, "die")
    title = "busy time of dies, by channel (%)"
    above = Panel([heat], x, of_dies, title=title, dividers=lines, height=heights[0])
    heat = _heat(result, activity.channel_bin_ns, activity.channels_busy_ns, "channel")
    below = Panel([heat], x, of_channels, title="busy time of channels (%)", height=heights[1])
    return Chart([above, below], sum(heights) + 1.2)


def _heat(result: Result, bin_ns: int, busy_ns: Counts, row: str) -> Heat:
    if not busy_ns.size:
        # If nothing was busy, there are no bins. The heat map then shows one empty bin for the whole run.
        busy_ns, bin_ns = np.zeros((len(busy_ns), 1), np.uint64), result.summary["time"]["elapsed_ns"]
    edges = bin_edges(result, bin_ns, busy_ns.shape[1])
    names = [f"{row} {number}" for number in range(len(busy_ns))]
    return Heat(edges / time_axis(result)[1], busy_ns / np.diff(edges) * 100, BLUE, names)


def queue_depth(result: Result) -> Chart:
    """Draws outstanding requests over simulated time, with mean and maximum."""
    activity = _activity(result)
    if not activity.outstanding_ns.size:
        return nothing(NOTHING, 2.6)
    edges = bin_edges(result, activity.queue_bin_ns, len(activity.outstanding_ns))
    depth = activity.outstanding_ns / np.diff(edges)
    x, scale = time_axis(result)
    drive = result.summary["drive"]
    mean, most = drive["queue_depth_mean"], drive["queue_depth_max"]
    marks: list[Mark] = [
        Area("", edges / scale, depth, BLUE),
        Level(f"mean {text.decimal(mean)}", mean, ORANGE),
        Level(f"max {text.count(most)}", most, INK),
    ]
    y = Axis("requests outstanding", "short count", low=0, high=max(most, 1) * 1.05, whole=True)
    return Chart([Panel(marks, x, y)], 2.6)


def gantt(result: Result) -> Chart:
    """Draws a Gantt chart of the recorded operations. Below the lane of each channel are the lanes of the planes of its
    dies.

    The chart shows at most `LANES` lanes and `OPERATIONS` operations, and states what it leaves out.
    """
    return operations(recorded(result))


class Recorded(NamedTuple):
    """Recorded flash operations and the lanes of their Gantt chart."""

    bars: GanttColumns
    truncated: bool
    dies_per_channel: int
    planes: int
    lanes: "npt.NDArray[np.int64]"
    lane: "npt.NDArray[np.int64]"
    """Lane of each bar of the Gantt chart."""
    order: "npt.NDArray[np.int64]"
    """Indices of the bars in the shown lanes, sorted by the start of the bar."""


def recorded(result: Result) -> Recorded:
    """Returns the recorded operations of a drive with event timing."""
    activity, drive = _activity(result), result.summary["drive"]
    bars, dies_per_channel, planes = activity.gantt, drive["dies"] // drive["channels"], drive["planes_per_die"]
    channel, of_channel = np.divmod(bars.die.astype(int), dies_per_channel)
    lanes_of_channel = 1 + dies_per_channel * planes
    lane = channel * lanes_of_channel + np.where(bars.bus, 0, 1 + of_channel * planes + bars.plane.astype(int))
    # If a chart would have too many lanes, idle lanes are omitted.
    lanes = np.arange(drive["channels"] * lanes_of_channel)
    if len(lanes) > LANES:
        lanes = np.unique(lane)
    in_lanes = np.flatnonzero(np.isin(lane, lanes[:LANES]))
    order = in_lanes[np.argsort(bars.begin_ns[in_lanes], kind="stable")]
    return Recorded(bars, activity.gantt_truncated, dies_per_channel, planes, lanes, lane, order)


def operations(recorded: Recorded, first: int = 0) -> Chart:
    """Draws a Gantt chart of the operations from index `first` on, and of all others of the same requests."""
    bars, truncated, dies_per_channel, planes, lanes, lane, in_lanes = recorded
    if not in_lanes.size:
        return nothing("No flash operation was recorded; set gantt.window.", 1.6)
    last = min(first + OPERATIONS, len(in_lanes)) - 1
    outside = _outside(bars.request[in_lanes], first, last)
    drawn = in_lanes[np.sort(np.concatenate([np.arange(first, last + 1), outside]))]
    row, bus = np.searchsorted(lanes, lane[drawn]).astype(float), bars.bus[drawn]
    begin, end = bars.begin_ns[drawn].astype(float), bars.end_ns[drawn].astype(float)
    origin = float(begin.min())
    unit, scale = time_unit(float(end.max()) - origin)
    kind, cause = (np.array([column[at] for at in drawn]) for column in (bars.kind, bars.cause))
    heights = np.where(bus, 0.5, 0.8)
    ready = _ready(bars, drawn)
    internal = ~np.isin(cause, HOST_CAUSES)
    marks = []
    for name, colour in KIND_COLOURS.items():
        for hatched in (False, True):
            chosen = (kind == name) & (internal == hatched)
            if chosen.any():
                begun, ended, earliest = ((times[chosen] - origin) / scale for times in (begin, end, ready))
                labels = [CAUSES[name].label for name in cause[chosen].tolist()]
                requests = bars.request[drawn][chosen]
                marks.append(
                    Spans(name, row[chosen], begun, ended, heights[chosen], colour, hatched, requests, labels, earliest)
                )
    after = f" since {text.count(origin)} ns" if origin else ""
    names, dividers = _lane_names(lanes[:LANES], dies_per_channel, planes)
    omitted = []
    if len(lanes) > LANES:
        omitted.append(f"{LANES} of {text.count(len(lanes))} lanes")
    if last - first + 1 < len(in_lanes):
        upto = text.count(last + 1)
        which = f"{text.count(first + 1)} to {upto}" if first else f"the first {upto}"
        more = f" and {text.count(len(outside))} more bars that belong to the same requests" if outside.size else ""
        omitted.append(f"{which} of {text.count(len(in_lanes))} bars{more}")
    if truncated:
        omitted.append("only the part of the run that was recorded")
    panel = Panel(
        marks,
        Axis(f"simulated time{after} ({unit})", low=0, high=(float(end.max()) - origin) / scale),
        Axis(low=len(names) - 0.4, high=-0.6, ticks=list(enumerate(names))),
        note=f"Shown: {', '.join(omitted)}" if omitted else "",
        dividers=dividers,
    )
    following = last + 1 if last + 1 < len(in_lanes) else 0
    since, until = ((float(bars.begin_ns[in_lanes[at]]) - origin) / scale for at in (first, last))
    return Chart([panel], 1.3 + 0.17 * len(names), "internal", following=following, complete=(since, until))


def _outside(request: Counts, first: int, last: int) -> "npt.NDArray[np.int64]":
    """Returns the indices of operations outside the range `first` to `last` whose requests also have operations inside
    the range, but at most `OPERATIONS`, the nearest. In `request`, 0 means no request.
    """
    named = np.isin(request, np.unique(request[first : last + 1])) & (request > 0)
    named[first : last + 1] = False
    others = np.flatnonzero(named)
    away = np.maximum(first - others, others - last)
    return others[np.argsort(away, kind="stable")[:OPERATIONS]]


def _ready(bars: GanttColumns, drawn: "npt.NDArray[np.int64]") -> Numbers:
    """Returns `Spans.ready` of the drawn operations."""
    request, die, begin, end, arrived = (
        column[drawn] for column in (bars.request, bars.die, bars.begin_ns, bars.end_ns, bars.arrived_ns)
    )
    ready = np.full(len(drawn), np.nan)
    for at in np.flatnonzero(request):
        before = end[(request == request[at]) & (die == die[at]) & (end <= begin[at])]
        ready[at] = before.max() if before.size else arrived[at]
    return ready


def _lane_names(lanes: "npt.NDArray[np.int64]", dies_per_channel: int, planes: int) -> tuple[list[str], list[float]]:
    """Returns a Gantt chart's lane names, from top to bottom, and the heights of the lines between channels."""
    names, dividers = [], []
    for row, lane in enumerate(lanes.tolist()):
        channel, rest = divmod(lane, 1 + dies_per_channel * planes)
        if rest == 0:
            names.append(f"channel {channel}")
            dividers.append(row - 0.5)
        else:
            die, plane = divmod(rest - 1, planes)
            of_plane = f", plane {plane}" if planes > 1 else ""
            names.append(f"die {channel * dies_per_channel + die}{of_plane}")
    return names, dividers
