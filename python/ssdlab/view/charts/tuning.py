"""Charts of the result of a search."""

from ssdlab.lazy import np
from ssdlab.study.tuning.result import Tuned
from ssdlab.view.chart import Axis, Chart, Line, Mark, Panel, Points, nothing
from ssdlab.view.colours import BLUE, GREY, ORANGE
from ssdlab.view.pages.figures import form_name


def history(tuned: Tuned) -> Chart:
    """Draws the first outcome of each trial, and the best value so far among the trials that meet the constraints."""
    goal = tuned.goals[0]
    choose = np.fmax if goal.large else np.fmin
    tried = [(at, trial) for at, trial in enumerate(tuned.trials, 1) if trial.measured.error is None]
    if not tried:
        return nothing("No trial succeeded.")
    at = np.array([number for number, _ in tried], float)
    values = np.array([trial.measured.means()[0] for _, trial in tried], float)
    feasible = np.array([trial.measured.feasible(tuned.constraints) for _, trial in tried])
    groups = ((~feasible, GREY, "misses a constraint"), (feasible, BLUE, "meets the constraints"))
    marks: list[Mark] = [
        Points(label, at[chosen], values[chosen], tint) for chosen, tint, label in groups if chosen.any()
    ]
    if feasible.any():
        best = choose.accumulate(values[feasible])
        marks.append(Line("best so far", at[feasible], best, ORANGE, 1.4, step=True))
    return Chart([Panel(marks, Axis("trial", "count", whole=True), Axis(goal.name, form_name(goal.name)))])


def front(tuned: Tuned) -> Chart:
    """Draws the feasible trials by their first two outcomes, and the Pareto front as measured with fresh seeds."""
    first, second = tuned.goals[:2]
    kept = [trial.measured.means() for trial in tuned.trials if trial.measured.feasible(tuned.constraints)]
    best = [finalist.fresh.means() for finalist in tuned.finalists if finalist.best]
    marks = []
    for points, tint, size, label in ((kept, GREY, 3.0, "trials"), (best, ORANGE, 5.0, "on the Pareto front")):
        x, y = (np.array([means[axis] for means in points], float) for axis in (0, 1))
        marks.append(Points(label, x, y, tint, size))
    across, up = (Axis(goal.name, form_name(goal.name)) for goal in (first, second))
    return Chart([Panel(marks, across, up)], 3.6)
