"""The chart of `ssdlab advise cache` and `ssdlab advise drive`."""

from collections.abc import Mapping, Sequence

from ssdlab.lazy import np
from ssdlab.study.cache_advice import MEMORY, CacheAdvice
from ssdlab.study.drive_advice import OP, DriveAdvice
from ssdlab.view.chart import Axis, Chart, Form, Line, Panel, scale_of
from ssdlab.view.colours import colour, dash


def trade(advice: CacheAdvice | DriveAdvice) -> Chart:
    """Plots figures against host memory or flash capacity, with a curve per combination of the other settings."""
    if isinstance(advice, CacheAdvice):
        sizes: Sequence[float] = [choice.memory_bytes for choice in advice.choices]
        hits = [np.nan if choice.hit_ratio is None else choice.hit_ratio for choice in advice.choices]
        p99_ns = [choice.read_p99_ns or np.nan for choice in advice.choices]
        curves = _curves([choice.levels for choice in advice.choices], MEMORY)
        return _drawn(curves, "memory", sizes, ("read hits", "percent", hits), ("read p99", "duration", p99_ns))
    sizes = [choice.flash_bytes for choice in advice.choices]
    waf = [choice.write_amplification.mean for choice in advice.choices]
    p99_ns = [choice.p99_ns.mean if choice.p99_ns else np.nan for choice in advice.choices]
    curves = _curves([choice.levels for choice in advice.choices], OP)
    return _drawn(curves, "flash", sizes, ("write amplification", "ratio", waf), ("p99", "duration", p99_ns))


def _curves(choices: Sequence[Mapping[str, str]], axis: str) -> dict[str, list[int]]:
    """Returns the choices of each curve, by their settings except `axis`."""
    curves: dict[str, list[int]] = {}
    for at, levels in enumerate(choices):
        curves.setdefault(" ".join(value for key, value in levels.items() if key != axis), []).append(at)
    return curves


def _drawn(
    curves: dict[str, list[int]], name: str, sizes: Sequence[float], *figures: tuple[str, Form, list[float]]
) -> Chart:
    unit, scale = scale_of(sizes)
    x = np.array(sizes) / scale
    panels = []
    for label, form, values in figures:
        lines = [
            Line(curve, x[chosen], np.array(values)[chosen], colour(row), 1.4, dash=dash(row), dots=True)
            for row, (curve, chosen) in enumerate(curves.items())
        ]
        panels.append(Panel(lines, Axis(f"{name} ({unit})"), Axis(label, form)))
    return Chart(panels, 5.2)
