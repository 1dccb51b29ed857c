"""The chart of advice on drives."""

from ssdlab.lazy import np
from ssdlab.study.drive_advice import OP, DriveAdvice
from ssdlab.view.chart import Axis, Chart, Form, Line, Panel, scale_of
from ssdlab.view.colours import colour, dash


def trade(advice: DriveAdvice) -> Chart:
    """Write amplification and p99 over the flash of a drive, with a curve for each choice of other settings."""
    curves: dict[str, list[int]] = {}
    for at, one in enumerate(advice.choices):
        curves.setdefault(" ".join(value for key, value in one.levels.items() if key != OP), []).append(at)
    unit, scale = scale_of([one.flash_bytes for one in advice.choices])
    flash = np.array([one.flash_bytes for one in advice.choices]) / scale
    figures: tuple[tuple[str, Form, list[float]], ...] = (
        ("write amplification", "ratio", [one.write_amplification.mean for one in advice.choices]),
        ("p99", "duration", [one.p99_ns.mean if one.p99_ns else float("nan") for one in advice.choices]),
    )
    panels = []
    for label, form, values in figures:
        lines = [
            Line(name, flash[its], np.array(values)[its], colour(row), 1.4, dash=dash(row), dots=True)
            for row, (name, its) in enumerate(curves.items())
        ]
        panels.append(Panel(lines, Axis(f"flash ({unit})"), Axis(label, form)))
    return Chart(panels, 5.2)
