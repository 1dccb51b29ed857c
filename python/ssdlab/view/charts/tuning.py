"""Charts of searches."""

from ssdlab.lazy import np
from ssdlab.study.tuning.result import Tuned
from ssdlab.view.chart import Axis, Chart, Line, Mark, Panel, Points, nothing
from ssdlab.view.colours import BLUE, GREY, ORANGE
from ssdlab.view.pages.figures import form_name


def history(tuned: Tuned) -> Chart:
    """First outcome of each trial, and the best so far that meets the constraints."""
    goal = tuned.goals[0]
    choose = np.fmax if goal.large else np.fmin
    tried = [(at, one) for at, one in enumerate(tuned.trials, 1) if one.measured.error is None]
    if not tried:
        return nothing("No trial has a value.")
    at = np.array([number for number, _ in tried], float)
    values = np.array([one.measured.means()[0] for _, one in tried], float)
    feasible = np.array([one.measured.feasible(tuned.constraints) for _, one in tried])
    marks: list[Mark] = [
        Points(label, at[chosen], values[chosen], tint)
        for chosen, tint, label in (
            (~feasible, GREY, "misses a constraint"),
            (feasible, BLUE, "meets the constraints"),
        )
        if chosen.any()
    ]
    if feasible.any():
        best = choose.accumulate(values[feasible])
        marks.append(Line("best so far", at[feasible], best, ORANGE, 1.4, step=True))
    return Chart([Panel(marks, Axis("trial", "count", whole=True), Axis(goal.name, form_name(goal.name)))])


def front(tuned: Tuned) -> Chart:
    """Trials that meet the constraints by their first two outcomes, and the front with fresh seeds."""
    first, second = tuned.goals[:2]
    kept = [one.measured.means() for one in tuned.trials if one.measured.feasible(tuned.constraints)]
    best = [one.fresh.means() for one in tuned.finalists if one.best]
    marks = [
        Points(label, np.array([one[0] for one in its], float), np.array([one[1] for one in its], float), tint, size)
        for its, tint, size, label in ((kept, GREY, 3.0, "trials"), (best, ORANGE, 5.0, "on the front"))
    ]
    across, up = (Axis(one.name, form_name(one.name)) for one in (first, second))
    return Chart([Panel(marks, across, up)], 3.6)
