"""The chart of `ssdlab advise cache`."""

from ssdlab.lazy import np
from ssdlab.study.cache_advice import MEMORY, CacheAdvice
from ssdlab.view.chart import Axis, Chart, Form, Line, Panel, scale_of
from ssdlab.view.colours import colour, dash


def trade(advice: CacheAdvice) -> Chart:
    """Plots read hits and read p99 latency against host memory, with a curve for each combination of the other settings
    that vary.
    """
    curves: dict[str, list[int]] = {}
    for at, choice in enumerate(advice.choices):
        curves.setdefault(" ".join(value for key, value in choice.levels.items() if key != MEMORY), []).append(at)
    unit, scale = scale_of([choice.memory_bytes for choice in advice.choices])
    memory = np.array([choice.memory_bytes for choice in advice.choices]) / scale
    unknown = float("nan")
    hits = [unknown if choice.hit_ratio is None else choice.hit_ratio for choice in advice.choices]
    figures: tuple[tuple[str, Form, list[float]], ...] = (
        ("read hits", "percent", hits),
        ("read p99", "duration", [choice.read_p99_ns or unknown for choice in advice.choices]),
    )
    panels = []
    for label, form, values in figures:
        lines = [
            Line(name, memory[chosen], np.array(values)[chosen], colour(row), 1.4, dash=dash(row), dots=True)
            for row, (name, chosen) in enumerate(curves.items())
        ]
        panels.append(Panel(lines, Axis(f"memory ({unit})"), Axis(label, form)))
    return Chart(panels, 5.2)
