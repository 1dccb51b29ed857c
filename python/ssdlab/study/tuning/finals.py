"""Repeats the best points of a search with fresh seeds, and chooses the best point.

The best of many points owes part of its lead to lucky seeds. Fresh seeds show its true value, whether it satisfies the
constraints, and whether another point is better.
"""

from collections.abc import Callable, Hashable, Sequence

from ssdlab.study.survey.front import on_the_front
from ssdlab.study.sweep.axes import Point
from ssdlab.study.tuning.goal import Aims, Measured
from ssdlab.study.tuning.result import Finalist, Trial

FINALISTS = 3
"""Number of finalists of a search with one outcome."""
FRONT = 12
"""Maximum number of finalists of a search with several outcomes."""


def finalists(trials: Sequence[Trial], aims: Aims, drive: Callable[[Point], Hashable]) -> list[list[Trial]]:
    """Returns the trials to repeat with fresh seeds, in batches. A batch after the first is repeated only if all trials
    of the earlier batches violate the constraints with fresh seeds.

    Points with the same `drive` have the same runs and count only once. With one outcome, the finalists are the best
    points. With several outcomes, they are points on the Pareto front, evenly spaced along the first outcome. If no
    trial satisfies the constraints, the finalists are the trials with the smallest violations.
    """
    by_drive: dict[Hashable, Trial] = {}
    for one in trials:
        if one.measured.error is None:
            by_drive.setdefault(drive(one.point), one)
    different = [*by_drive.values()]
    goals, constraints = aims
    feasible = [one for one in different if one.measured.feasible(constraints)]
    ranked = sorted(feasible or different, key=lambda one: rank(one.measured, aims))
    if len(goals) == 1 or not feasible:
        few = [ranked[at : at + FINALISTS] for at in range(0, len(ranked), FINALISTS)]
        return few if feasible else few[:1]
    on = on_the_front([one.measured.means() for one in ranked], [goal.large for goal in goals])
    front = [one for one, best in zip(ranked, on, strict=True) if best]
    if len(front) > FRONT:
        front = [front[round(at * (len(front) - 1) / (FRONT - 1))] for at in range(FRONT)]
    return [front]


def rank(measured: Measured, aims: Aims) -> tuple[float, float, float]:
    """Returns the sort key of a point: by the first goal, then points that violate constraints, then failed points."""
    if measured.error is not None:
        return (1.0, 0.0, 0.0)
    missed = sum(max(0.0, missed) for missed in measured.violations(aims.constraints))
    return (0.0, missed, measured.means()[0] * (-1 if aims.goals[0].large else 1))


def judged(repeated: Sequence[Finalist], aims: Aims) -> list[Finalist]:
    """Sorts finalists by fresh results, equals by the seeds that satisfy the constraints; marks the best."""
    goals, constraints = aims
    ordered = sorted(repeated, key=lambda one: (rank(one.fresh, aims), -one.fresh.kept(constraints)))
    if len(goals) == 1:
        return [one._replace(best=at == 0) for at, one in enumerate(ordered)]
    feasible = [at for at, one in enumerate(ordered) if one.fresh.feasible(constraints)]
    on = (
        on_the_front([ordered[at].fresh.means() for at in feasible], [goal.large for goal in goals]) if feasible else []
    )
    best = {at for at, is_best in zip(feasible, on, strict=True) if is_best}
    return [one._replace(best=at in best) for at, one in enumerate(ordered)]
