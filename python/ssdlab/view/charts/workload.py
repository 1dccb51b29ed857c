"""Charts of a workload analysis."""

from ssdlab import text
from ssdlab.analyse.workload import PAGE, SECTOR, TraceAnalysis
from ssdlab.lazy import Numbers, np
from ssdlab.view.chart import Area, Axis, Chart, Line, Mark, Panel, nothing, scale_of
from ssdlab.view.colours import BLUE, OF_OPERATION, ORANGE, SKY

BARS = 256
"""Maximum number of bars; if there are more, neighbouring bars are merged."""
SHARE = "share of the operation's requests (%)"


def _counts(columns: object, *ops: str) -> dict[str, Numbers]:
    """Returns the counts of each operation that occurs in the trace."""
    names = {op: f"{op}es" if op == "flush" else f"{op}s" for op in ops or ("read", "write", "trim")}
    counts = {op: getattr(columns, name).astype(float) for op, name in names.items()}
    return {op: numbers for op, numbers in counts.items() if numbers.any()}


def _areas(edges: Numbers, counts: dict[str, Numbers], values: Numbers, *, stacked: bool) -> list[Mark]:
    """Returns a filled area for each operation: its number of requests in each bin of the horizontal axis."""
    heights = {op: np.histogram(values, edges, weights=numbers)[0] for op, numbers in counts.items()}
    opacity = 0.9 if stacked else 0.25
    return [
        Area(op, edges, of, OF_OPERATION[op], opacity=opacity, outlined=not stacked, stacked=stacked)
        for op, of in heights.items()
    ]


def _shares(edges: Numbers, counts: dict[str, Numbers], values: Numbers) -> list[Mark]:
    """Returns an area for each operation: the share of its requests at each value along the horizontal axis."""
    shares = {op: numbers * 100 / numbers.sum() for op, numbers in counts.items()}
    return _areas(edges, shares, values, stacked=False)


def ranges(result: TraceAnalysis) -> Chart:
    """Draws requests by address, stacked by operation."""
    width = float(result.counted_range_bytes)
    first = result.ranges.first_byte.astype(float)
    low, high = first.min(), first.max() + width
    per_bar = max(1, int(np.ceil((high - low) / width / BARS)))
    unit, scale = scale_of([high])
    edges = np.arange(low, high + width * per_bar, width * per_bar) / scale
    marks = _areas(edges, _counts(result.ranges), (first + width / 2) / scale, stacked=True)
    title = f"address ({unit}; {text.size(width * per_bar)} per bar)"
    across = Axis(title, low=float(edges[0]), high=float(edges[-1]))
    return Chart([Panel(marks, across, Axis("requests", "short count", low=0, whole=True))], 3.6)


def deviations(result: TraceAnalysis, *, log: bool = True) -> Chart:
    """Draws requests by distance from the previous request.

    Args:
        result: The analysis.
        log: True for a logarithmic axis of counts; operations are then not stacked.
    """
    columns = result.deviations
    if not columns.lower.size:
        return nothing("There is only one request.", 3.6)
    middle = (columns.lower + (columns.upper - 1 - columns.lower) // 2).astype(float)
    reach = max(float(np.abs(middle).max()), 1.0)
    per_bar = max(1, int(np.ceil((2 * reach + 1) / BARS)))
    bars = int(np.ceil((reach + 0.5 - per_bar / 2) / per_bar))
    edges: Numbers = (np.arange(-bars - 1.0, bars + 1.0) + 0.5) * per_bar
    marks = _areas(edges, _counts(columns), middle, stacked=not log)
    bars_text = f", {per_bar} per bar" if per_bar > 1 else ""
    title = f"distance from the previous request (in ranges of {text.size(result.range_bytes)}{bars_text})"
    across = Axis(title, "count", float(edges[0]), float(edges[-1]))
    return Chart([Panel(marks, across, Axis("requests", "short count", 0.6 if log else 0, log=log, whole=True))], 3.6)


def sizes(result: TraceAnalysis) -> Chart:
    """Draws the distribution of request sizes for each operation, on a logarithmic axis."""
    columns = result.sizes
    sectors = columns.lower.astype(float)
    # The bins of the histogram are sixteenths of an octave wide, and powers of two lie at the middle of a bin.
    last = int(np.ceil(np.log2(sectors.max()) * 16)) + 1
    edges = 2.0 ** ((np.arange(last + 1) - 0.5) / 16)
    marks = _shares(edges * SECTOR, _counts(columns), sectors * SECTOR)
    across = Axis("size", "size", 0.7 * SECTOR, max(float(edges[-1]), 16.0) * 1.4 * SECTOR, log=True)
    return Chart([Panel(marks, across, Axis(SHARE, low=0))])


def _requests_axis(result: TraceAnalysis) -> tuple[Numbers, Axis]:
    """Returns the edges of the windows as request numbers, and an axis for them."""
    edges = np.append(result.windows.first_request, sum(result.requests.values())).astype(float)
    title = f"requests (windows of {text.count(result.window_requests)})"
    return edges, Axis(title, "short count", float(edges[0]), float(edges[-1]), whole=True)


def working_set(result: TraceAnalysis) -> Chart:
    """Draws the cumulative footprint, and the working set of each window."""
    edges, across = _requests_axis(result)
    windows = result.windows
    so_far = np.append(0, windows.pages_so_far).astype(float) * PAGE
    own, new = (pages.astype(float) * PAGE for pages in (windows.pages, windows.new_pages))
    (above_unit, above), (below_unit, below) = (scale_of([float(of.max())]) for of in (so_far, own))
    cumulative = Line("touched so far", edges, so_far / above, ORANGE, 1.8)
    in_window = [
        Area("working set", edges, own / below, BLUE, opacity=0.1),
        Area("touched for the first time", edges, new / below, SKY, opacity=0.5, outlined=False),
    ]
    panels = [
        Panel([cumulative], across, Axis(f"touched so far ({above_unit})", low=0)),
        Panel(in_window, across, Axis(f"in a window ({below_unit})", low=0)),
    ]
    return Chart(panels, 4.4)


def mix(result: TraceAnalysis) -> Chart:
    """Draws, for each window, the share of its requests by operation."""
    edges, across = _requests_axis(result)
    windows = result.windows
    total = (windows.reads + windows.writes + windows.trims + windows.flushes).astype(float)
    marks = [
        Area(op, edges, counts / total * 100, OF_OPERATION[op], opacity=0.9, outlined=False, stacked=True)
        for op, counts in _counts(windows, "read", "write", "trim", "flush").items()
    ]
    return Chart([Panel(marks, across, Axis("share of the window's requests (%)", low=0, high=100))])


def runs(result: TraceAnalysis) -> Chart:
    """Draws, for each operation, the share of its requests in sequential runs of at least a given length."""
    columns = result.runs
    lengths = columns.lower.astype(float)
    right = float(columns.upper.max())
    lines = []
    for op, counts in _counts(columns).items():
        requests = counts * lengths
        share = requests[::-1].cumsum()[::-1] / requests.sum() * 100
        # A run of exactly the given length also counts towards the share.
        lines.append(Line(op, np.append(1.0, lengths), np.append(share, 0.0), OF_OPERATION[op], step=True))
    across = Axis("length of the sequential run (requests)", "short count", 1, max(right, 10), log=True, whole=True)
    return Chart([Panel(lines, across, Axis("requests in runs of at least this length (%)", low=0, high=100))])


def gaps(result: TraceAnalysis) -> Chart:
    """Draws the distribution of the times since the previous request of the same operation."""
    columns = result.gaps
    if not columns.upper_ns.size or columns.upper_ns.max() <= 1:
        return nothing("All requests arrive at once.")
    # A gap of zero is drawn at the left end of the logarithmic axis.
    middle = np.sqrt(np.maximum(columns.lower_ns, 1) * columns.upper_ns.astype(float))
    edges = np.logspace(np.log10(middle.min() * 0.8), np.log10(middle.max() * 1.25), 90)
    marks = _shares(edges, _counts(columns, "read", "write", "trim", "flush"), middle)
    title = "time since the previous request of the same operation"
    across = Axis(title, "duration", float(edges[0]), float(edges[-1]), log=True)
    return Chart([Panel(marks, across, Axis(SHARE, low=0))])


def alignments(result: TraceAnalysis) -> Chart:
    """Draws the share of requests of each operation whose address and size are multiples of a power of two."""
    powers = 512 << np.arange(12)
    lines = []
    for op in ("read", "write", "trim"):
        shares = [result.alignment_shares(int(bytes))[op] for bytes in powers]
        if shares[0] is not None:
            lines.append(Line(op, powers.astype(float), np.array(shares, float) * 100, OF_OPERATION[op], dots=True))
    across = Axis("alignment of address and size", "size", log=True)
    return Chart([Panel(lines, across, Axis(SHARE, low=0, high=105))])
