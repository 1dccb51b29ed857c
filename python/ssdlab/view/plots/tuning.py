"""Figures of searches."""

from matplotlib.figure import Figure

from ssdlab.study.tuning.result import Tuned
from ssdlab.view.colours import BLUE, GREY, ORANGE
from ssdlab.view.pages.figures import form
from ssdlab.view.plots.style import canvas, nothing, on_the_right, styled, written


@styled
def history(found: Tuned) -> Figure:
    """The first outcome of each trial in the order of trials, and the best so far that meets the constraints."""
    figure, axes = canvas(3.2)
    goal = found.goals[0]
    choose = max if goal.large else min
    points = [
        (at, one.measured.means()[0], one.measured.feasible(found.constraints))
        for at, one in enumerate(found.trials, 1)
        if one.measured.error is None
    ]
    if not points:
        nothing(axes, "No trial has a value.")
        return figure
    for kept, tint, label in ((False, GREY, "misses a constraint"), (True, BLUE, "meets the constraints")):
        its = [(at, value) for at, value, feasible in points if feasible == kept]
        if its:
            axes.plot(*zip(*its, strict=True), "o", color=tint, markersize=3, label=label)
    best: list[tuple[int, float]] = []
    for at, value, feasible in points:
        if feasible:
            best.append((at, choose(value, best[-1][1]) if best else value))
    if best:
        axes.step(*zip(*best, strict=True), where="post", color=ORANGE, linewidth=1.4, label="best so far")
    axes.set_xlabel("trial")
    axes.set_ylabel(goal.name)
    written(axes.yaxis, form(goal.name))
    on_the_right(axes)
    return figure


@styled
def front(found: Tuned) -> Figure:
    """The trials that meet the constraints by their first two outcomes; the front, with fresh seeds, in colour."""
    figure, axes = canvas(3.6)
    first, second = found.goals[:2]
    kept = [one.measured.means() for one in found.trials if one.measured.feasible(found.constraints)]
    best = [one.fresh.means() for one in found.finalists if one.best]
    for its, tint, size, label in ((kept, GREY, 3.0, "trials"), (best, ORANGE, 5.0, "on the front")):
        axes.plot([one[0] for one in its], [one[1] for one in its], "o", color=tint, markersize=size, label=label)
    axes.set_xlabel(first.name)
    axes.set_ylabel(second.name)
    written(axes.xaxis, form(first.name))
    written(axes.yaxis, form(second.name))
    on_the_right(axes)
    return figure
