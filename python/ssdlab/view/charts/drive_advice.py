"""The chart of `ssdlab advise drive`."""

from ssdlab.lazy import np
from ssdlab.study.drive_advice import OP, DriveAdvice
from ssdlab.view.chart import Axis, Chart, Form, Line, Panel, scale_of
from ssdlab.view.colours import colour, dash


def trade(advice: DriveAdvice) -> Chart:
    """Plots write amplification and p99 latency against the flash capacity of a drive, with a curve for each
    combination of the other settings that vary.
    """
    curves: dict[str, list[int]] = {}
    for at, choice in enumerate(advice.choices):
        curves.setdefault(" ".join(value for key, value in choice.levels.items() if key != OP), []).append(at)
    unit, scale = scale_of([choice.flash_bytes for choice in advice.choices])
    flash = np.array([choice.flash_bytes for choice in advice.choices]) / scale
    figures: tuple[tuple[str, Form, list[float]], ...] = (
        ("write amplification", "ratio", [choice.write_amplification.mean for choice in advice.choices]),
        ("p99", "duration", [choice.p99_ns.mean if choice.p99_ns else float("nan") for choice in advice.choices]),
    )
    panels = []
    for label, form, values in figures:
        lines = [
            Line(name, flash[chosen], np.array(values)[chosen], colour(row), 1.4, dash=dash(row), dots=True)
            for row, (name, chosen) in enumerate(curves.items())
        ]
        panels.append(Panel(lines, Axis(f"flash ({unit})"), Axis(label, form)))
    return Chart(panels, 5.2)
