"""The figure of advice on drives."""

from matplotlib.figure import Figure

from ssdlab import text
from ssdlab.study.drive_advice import OP, DriveAdvice
from ssdlab.view.plots.style import Canvas, colour, dash, styled, written


@styled
def trade(found: DriveAdvice) -> Figure:
    """Write amplification and the tail over the flash of a drive, a curve for each of its other settings."""
    figure = Canvas(figsize=(7.6, 3.2), layout="constrained")
    curves: dict[str, list[int]] = {}
    for at, one in enumerate(found.choices):
        curves.setdefault(" ".join(value for key, value in one.levels.items() if key != OP), []).append(at)
    panels = (
        ("write amplification", text.ratio, [one.write_amplification.mean for one in found.choices]),
        ("p99", text.duration, [one.p99_ns.mean if one.p99_ns else float("nan") for one in found.choices]),
    )
    for place, (label, form, values) in enumerate(panels, 1):
        axes = figure.add_subplot(1, len(panels), place)
        for row, (name, its) in enumerate(curves.items()):
            axes.plot(
                [found.choices[at].flash_bytes for at in its], [values[at] for at in its],
                marker="o", markersize=3, linewidth=1.4, color=colour(row), linestyle=dash(row), label=name,
            )  # fmt: skip
        axes.set_xlabel("flash")
        axes.set_ylabel(label)
        written(axes.xaxis, text.size)
        written(axes.yaxis, form)
        if len(curves) > 1:
            axes.legend()
    return figure
