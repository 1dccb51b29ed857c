"""Charts of a calibration."""

from ssdlab import text
from ssdlab.lazy import np
from ssdlab.study.calibration import knee
from ssdlab.study.calibration.result import Calibration
from ssdlab.view.chart import Axis, Chart, Line, Mark, Panel, Points, nothing
from ssdlab.view.colours import colour, dash


def throughput(calibration: Calibration, op: str = "read") -> Chart:
    """Draws requests per second by requests in flight and region; larger dots mark the knees."""
    in_flight = np.array(calibration.in_flight, float)
    marks: list[Mark] = []
    for row, region in enumerate(calibration.regions):
        curve, name = calibration.iops[op][row], text.size(region)
        if np.isnan(curve).all():
            continue
        marks.append(Line(name, in_flight, curve, colour(row), 1.2, dash=dash(row), dots=True))
        if not np.isnan(curve).any():
            at = knee.first_close(curve)
            marks.append(Points(name, in_flight[[at]], curve[[at]], colour(row), 8))
    if not marks:
        return nothing("No region was measured.", 3.8)
    ticks = [(depth, text.count(depth)) for depth in calibration.in_flight]
    across = Axis("requests in flight", "count", log=True, ticks=ticks)
    panel = Panel(marks, across, Axis(f"{op}s per second", "short count", low=0))
    return Chart([panel], 3.8, legend="region")
