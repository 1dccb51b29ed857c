"""The page of a search for the best configuration."""

from collections import Counter

from ssdlab import text
from ssdlab.study.survey.outcome import estimate
from ssdlab.study.tuning.finals import rank
from ssdlab.study.tuning.goal import Aims, Measured
from ssdlab.study.tuning.result import Finalist, Trial, Tuned
from ssdlab.view.page import Cell, Figure, Page, Paragraph, Row, Section, Table
from ssdlab.view.pages.figures import estimated, form


def page(found: Tuned) -> Page:
    """The page of a search."""
    goals = ", ".join(f"{goal.name} ({goal.sense})" for goal in found.goals)
    constraints = f", with {', '.join(one.name for one in found.constraints)}" if found.constraints else ""
    defined = [f"{goal.name} = {goal.value.text}" for goal in found.goals if goal.name != goal.value.text]
    figures = [Figure(found.plot.chart), *([Figure(found.plot_front.chart)] if len(found.goals) > 1 else [])]
    warm = len(found.trials) - len(found.tried)
    before = f" and {text.counted(warm, 'points')} of a study" if warm else ""
    counted = f"{text.counted(len(found.tried), 'trials')}{before}"
    means = found.finalists and found.repeats > 1
    return Page(
        title=f"{goals}{constraints}",
        lead=[
            *(Paragraph(one, "soft") for one in defined),
            Paragraph(f"{counted} over {', '.join(found.axes)}, {_runs(found.seeds)} each", "soft"),
            *([Paragraph(_exhausted(found), "soft")] if found.exhausted else []),
        ],
        partial=_left(found) if found.partial else "",
        remarks=_remarks(found),
        sections=[
            Section("Trials", figures, terminal=False),
            *([Section("", [_finalists(found)])] if found.finalists else []),
            *([Section("", [_importance(found)])] if found.importance else []),
        ],
        legend="mean ± half the width of its 95 % confidence interval over seeds" if means else "",
        conclusion=[Paragraph(line) for line in _concluded(found)],
    )


def _runs(count: int) -> str:
    return "one run" if count == 1 else f"{count} runs"


def _exhausted(found: Tuned) -> str:
    return f"every point of this space was tried, {text.count(len(found.trials))} in all; the search has ended"


def _left(found: Tuned) -> str:
    left = 0 if found.exhausted else found.asked - len(found.tried)
    return (
        f"{text.count(left)} of {text.count(found.asked)} trials are still to be done" if left else "not repeated yet"
    )


def _remarks(found: Tuned) -> list[str]:
    errors = Counter(one.measured.error for one in found.trials if one.measured.error is not None)
    told = [*found.notes]
    if errors:
        failed = text.counted(errors.total(), "trials")
        told.append(f"{failed} failed, most often: {errors.most_common(1)[0][0]}")
    seen = [one for one in found.finalists if one.fresh.error is None]
    figures = [values for one in seen for values in (*one.fresh.goals, *one.fresh.constraints)]
    if found.repeats > 1 and figures and all(len({*values}) == 1 for values in figures):
        told.append("the seed changes nothing here, so that one run tells all")
    return told


def _values(found: Tuned, measured: Measured | None) -> list[str]:
    names = [one.figure for one in Aims(found.goals, found.constraints).measured]
    if measured is None or measured.error is not None:
        return [text.MISSING] * len(names)
    return [
        estimated(name, estimate(values))
        for name, values in zip(names, (*measured.goals, *measured.constraints), strict=True)
    ]


def _finalists(found: Tuned) -> Table:
    names = [*(goal.name for goal in found.goals), *(one.value.text for one in found.constraints)]
    headers = (f"with {_seeds(found.repeats)}", *found.axes, *names, *(["kept"] if found.constraints else []))
    rows: list[Row] = []
    for at, one in enumerate(found.finalists, 1):
        its: list[str] = [
            "best" if one.best and len(found.goals) == 1 else "front" if one.best else str(at),
            *(one.point.get(key, text.MISSING) for key in found.axes),
            *_values(found, one.fresh),
            *([f"{one.fresh.kept(found.constraints)} of {found.repeats}"] if found.constraints else []),
        ]
        rows.append([Cell(cell, "best" if one.best else "") for cell in its])
    given = [str(found._configuration().get(key, {}).get("value", text.MISSING)) for key in found.axes]
    kept = 0 if found.unchanged is None else found.unchanged.kept(found.constraints)
    its_kept = [f"{kept} of {found.repeats}"] if found.constraints else []
    rows.append(["as given", *given, *_values(found, found.unchanged), *its_kept])
    return Table(headers, rows, left=1 + len(found.axes))


def _seeds(count: int) -> str:
    return "a fresh seed" if count == 1 else f"{count} fresh seeds"


def _importance(found: Tuned) -> Table:
    headers = ("importance", *found.importance)
    axes = [*next(iter(found.importance.values()))]
    rows = [[axis, *(f"{100 * shares[axis]:.0f} %" for shares in found.importance.values())] for axis in axes]
    return Table(
        headers, rows,
        note="how much a setting decides whether a trial is among the best tenth (PED-ANOVA), of those tried",
    )  # fmt: skip


def _sets(one: Finalist | Trial) -> str:
    return " ".join(f"--set {key}={value}" for key, value in one.point.items())


def _so_far(found: Tuned) -> list[str]:
    """The best trial of a search that is not done; fresh seeds have not said yet how good it is."""
    seen = [one for one in found.trials if one.measured.error is None]
    if not seen:
        return []
    aims = Aims(found.goals, found.constraints)
    first = min(seen, key=lambda one: rank(one.measured, aims))
    figures = zip((one.name for one in found.goals), _values(found, first.measured), strict=False)
    came = f"{_sets(first)} ({', '.join(f'{name} {value}' for name, value in figures)})"
    if not first.measured.feasible(found.constraints):
        return [f"So far no trial meets the constraints; the nearest is {came}."]
    among = f" in {found.goals[0].name}" if len(found.goals) > 1 else ""
    return [f"The best so far{among}, before fresh seeds: {came}."]


def _concluded(found: Tuned) -> list[str]:
    """What to take, and how sure that is."""
    if found.partial:
        return _so_far(found)
    if not found.finalists:
        lacking = [*dict.fromkeys(one.measured.lacking for one in found.trials if one.measured.lacking)]
        if not lacking:
            return ["Nothing could be run."]
        return [
            f"Nothing could be compared: no trial has a value of {' and '.join(lacking)} in all its runs, where a "
            "figure is null or 0 divides; name another."
        ]
    best = found.best
    if best is None or not found.feasible:
        nearest = found.finalists[0]
        return [f"No trial meets the constraints with {_seeds(found.repeats)}; the nearest is {_sets(nearest)}."]
    if len(found.goals) > 1:
        count = sum(one.best for one in found.finalists)
        return [f"{count} configurations are on the front: no other is as good in every outcome and better in one."]
    lines = [f"Take {_sets(best)}."]
    if best.spare is not None and best.spare.key in best.point:
        has = text.percent(best.spare.has)
        lines = [f"Take {_sets(best)}: its drive has {has} to spare, as blocks are whole."]
    if best.as_given:
        lines = [f"Keep the drive as it was given, which {_sets(best)} gives as well."]
    kept = best.fresh.kept(found.constraints)
    if found.constraints:
        lines.append(f"It meets the constraints with {kept} of {_seeds(found.repeats)}.")
        always = next((one for one in found.finalists if one.fresh.kept(found.constraints) == found.repeats), None)
        if always is not None and always is not best:
            lines.append(f"To meet them with each of these seeds, take {_sets(always)}.")
    lead = found.lead()
    if lead is not None:
        write = form(found.goals[0].name)
        sure = lead.half_width is not None and lead.mean > lead.half_width
        half = f" ± {write(lead.half_width)}" if lead.half_width else ""
        following = found.finalists[1].fresh.kept(found.constraints)
        fewer = f" meets the constraints with only {following} of {_seeds(found.repeats)}." if following < kept else ""
        if lead.mean == 0 and not lead.half_width:
            lines.append(f"The next best is as good{f', but{fewer}' if fewer else '.'}")
        else:
            lines.append(
                f"It is better than the next best by {write(lead.mean)}{half}"
                + ("." if sure else ", which is not sure: either may be the best.")
                + (f" The next best{fewer}" if fewer else "")
            )
    return lines
