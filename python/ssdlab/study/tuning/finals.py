"""Which points of a search are run again with fresh seeds, and which of these is the best.

The best of many is better than it really is, by luck of its seeds. Fresh seeds tell how good it is, whether it still
keeps the constraints, and whether the next best is not as good.
"""

from collections.abc import Callable, Hashable, Sequence

from ssdlab.study.survey.front import on_the_front
from ssdlab.study.sweep.axes import Point
from ssdlab.study.tuning.goal import Aims, Measured
from ssdlab.study.tuning.result import Finalist, Trial

FINALISTS = 3
"""Of a single outcome."""
FRONT = 12
"""Most finalists of several outcomes."""


def finalists(trials: Sequence[Trial], aims: Aims, drive: Callable[[Point], Hashable]) -> list[list[Trial]]:
    """The trials that are run again. The first few are; those that follow, where fresh seeds show that none of those
    before meets the constraints.

    Of points with equal `drive` one is, as others have the same runs.

    Of a single outcome they are the best; of several those on the front, evenly along the first outcome if there are
    too many. Where no trial meets the constraints, those that miss them by least.
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
    """By the first goal, less is better: what fails comes last, what misses constraints after what meets them."""
    if measured.error is not None:
        return (1.0, 0.0, 0.0)
    missed = sum(max(0.0, missed) for missed in measured.violations(aims.constraints))
    return (0.0, missed, measured.means()[0] * (-1 if aims.goals[0].large else 1))


def judged(found: Sequence[Finalist], aims: Aims) -> list[Finalist]:
    """The finalists by their fresh seeds: best first, and which of them are the best. Of equal ones it is the one that
    meets the constraints with more seeds.
    """
    goals, constraints = aims
    ordered = sorted(found, key=lambda one: (rank(one.fresh, aims), -one.fresh.kept(constraints)))
    if len(goals) == 1:
        return [one._replace(best=at == 0) for at, one in enumerate(ordered)]
    feasible = [at for at, one in enumerate(ordered) if one.fresh.feasible(constraints)]
    on = (
        on_the_front([ordered[at].fresh.means() for at in feasible], [goal.large for goal in goals]) if feasible else []
    )
    best = {at for at, its in zip(feasible, on, strict=True) if its}
    return [one._replace(best=at in best) for at, one in enumerate(ordered)]
