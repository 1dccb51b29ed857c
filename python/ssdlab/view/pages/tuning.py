"""Builds the report page of a search for the best configuration."""

from collections import Counter

from ssdlab import text
from ssdlab.study.survey.outcome import estimate
from ssdlab.study.tuning.finals import rank
from ssdlab.study.tuning.goal import Aims, Measured
from ssdlab.study.tuning.result import Finalist, Trial, Tuned
from ssdlab.view.page import Cell, Figure, Page, Paragraph, Row, Section, Table
from ssdlab.view.pages.figures import INTERVALS, estimated, form


def page(tuned: Tuned) -> Page:
    """Returns the report page of a search."""
    goals = ", ".join(f"{goal.name} ({goal.sense})" for goal in tuned.goals)
    names = ", ".join(constraint.name for constraint in tuned.constraints)
    constraints = f", with {names}" if names else ""
    warm = len(tuned.trials) - len(tuned.tried)
    before = f" and {text.counted(warm, 'points')} of a study" if warm else ""
    lead = [f"{goal.name} = {goal.value.text}" for goal in tuned.goals if goal.name != goal.value.text]
    runs = "one run" if tuned.seeds == 1 else f"{tuned.seeds} runs"
    lead.append(f"{text.counted(len(tuned.tried), 'trials')}{before} over {', '.join(tuned.axes)}, {runs} each")
    if tuned.exhausted:
        lead.append(f"all {text.count(len(tuned.trials))} points of the search space were tried")
    figures = [Figure(tuned.plot.chart), *([Figure(tuned.plot_front.chart)] if len(tuned.goals) > 1 else [])]
    return Page(
        title=f"{goals}{constraints}{tuned.modes}",
        lead=[Paragraph(line, "soft") for line in lead],
        partial=_left(tuned) if tuned.partial else "",
        remarks=_remarks(tuned),
        sections=[
            Section("Trials", figures, terminal=False),
            Section("", [_finalists(tuned)] if tuned.finalists else []),
            Section("", [_importance(tuned)] if tuned.importance else []),
        ],
        legend=INTERVALS if tuned.finalists and tuned.repeats > 1 else "",
        conclusion=[Paragraph(line) for line in _concluded(tuned)],
    )


def _left(tuned: Tuned) -> str:
    left = 0 if tuned.exhausted else tuned.asked - len(tuned.tried)
    if not left:
        return "the best trials were not checked with fresh seeds"
    return f"{text.count(left)} of {text.count(tuned.asked)} trials remain"


def _remarks(tuned: Tuned) -> list[str]:
    remarks = [*tuned.notes]
    errors = Counter(trial.measured.error for trial in tuned.trials if trial.measured.error is not None)
    if errors:
        failed = text.counted(errors.total(), "trials")
        remarks.append(f"{failed} failed, most often: {errors.most_common(1)[0][0]}")
    fresh = [finalist.fresh for finalist in tuned.finalists if finalist.fresh.error is None]
    figures = [values for measured in fresh for values in (*measured.goals, *measured.constraints)]
    if tuned.repeats > 1 and figures and all(len({*values}) == 1 for values in figures):
        remarks.append("the seed has no effect here: one run per configuration suffices")
    return remarks


def _values(tuned: Tuned, measured: Measured | None) -> list[str]:
    names = [aim.figure for aim in Aims(tuned.goals, tuned.constraints).measured]
    if measured is None or measured.error is not None:
        return [text.MISSING] * len(names)
    values = (*measured.goals, *measured.constraints)
    return [estimated(name, estimate(seeds)) for name, seeds in zip(names, values, strict=True)]


def _finalists(tuned: Tuned) -> Table:
    names = [*(goal.name for goal in tuned.goals), *(constraint.value.text for constraint in tuned.constraints)]
    headers = (f"with {_seeds(tuned.repeats)}", *tuned.axes, *names, *(["kept"] if tuned.constraints else []))

    def cells(label: str, point: list[str], measured: Measured | None) -> list[str]:
        kept = 0 if measured is None else measured.kept(tuned.constraints)
        return [
            label, *point, *_values(tuned, measured), *([f"{kept} of {tuned.repeats}"] if tuned.constraints else []),
        ]  # fmt: skip

    rows: list[Row] = []
    for number, finalist in enumerate(tuned.finalists, 1):
        label = str(number) if not finalist.best else "best" if len(tuned.goals) == 1 else "Pareto front"
        point = [finalist.point.get(key, text.MISSING) for key in tuned.axes]
        rows.append([Cell(cell, "best" if finalist.best else "") for cell in cells(label, point, finalist.fresh)])
    given = [str(tuned._configuration().get(key, {}).get("value", text.MISSING)) for key in tuned.axes]
    rows.append(cells("as given", given, tuned.unchanged))
    return Table(headers, rows, left=1 + len(tuned.axes))


def _seeds(count: int) -> str:
    return "a fresh seed" if count == 1 else f"{count} fresh seeds"


def _importance(tuned: Tuned) -> Table:
    axes = [*next(iter(tuned.importance.values()))]
    rows = [[axis, *(f"{100 * shares[axis]:.0f} %" for shares in tuned.importance.values())] for axis in axes]
    note = "influence of each setting on whether a trial is among the best 10 % (PED-ANOVA)"
    return Table(("importance", *tuned.importance), rows, note=note)


def _sets(point: Finalist | Trial) -> str:
    return " ".join(f"--set {key}={value}" for key, value in point.point.items())


def _so_far(tuned: Tuned) -> list[str]:
    """Describes the best trial of a search whose best points have not been repeated with fresh seeds yet."""
    trials = [trial for trial in tuned.trials if trial.measured.error is None]
    if not trials:
        return []
    aims = Aims(tuned.goals, tuned.constraints)
    first = min(trials, key=lambda trial: rank(trial.measured, aims))
    figures = zip((goal.name for goal in tuned.goals), _values(tuned, first.measured), strict=False)
    best = f"{_sets(first)} ({', '.join(f'{name} {value}' for name, value in figures)})"
    if not first.measured.feasible(tuned.constraints):
        return [f"So far no trial meets the constraints; closest: {best}."]
    among = f" in {tuned.goals[0].name}" if len(tuned.goals) > 1 else ""
    return [f"Best so far{among}, not yet checked with fresh seeds: {best}."]


def _concluded(tuned: Tuned) -> list[str]:
    """States which configuration to choose, and how certain the choice is."""
    if tuned.partial:
        return _so_far(tuned)
    if not tuned.finalists:
        lacking = [*dict.fromkeys(trial.measured.lacking for trial in tuned.trials if trial.measured.lacking)]
        if not lacking:
            return ["No trial succeeded."]
        return [
            f"No trials can be compared: no trial has a value of {' and '.join(lacking)} in all its runs. Choose a "
            "figure that is never null and never divides by 0."
        ]
    best = tuned.best
    if best is None or not tuned.feasible:
        closest = _sets(tuned.finalists[0])
        return [f"No trial meets the constraints with {_seeds(tuned.repeats)}; closest: {closest}."]
    if len(tuned.goals) > 1:
        count = sum(finalist.best for finalist in tuned.finalists)
        return [
            f"{count} configurations are on the Pareto front: no other configuration is at least as good in every "
            "outcome and better in one."
        ]
    if best.as_given:
        lines = [f"Keep the current drive; {_sets(best)} gives the same drive."]
    elif best.spare is not None and best.spare.key in best.point:
        # Drives consist of whole blocks, so their over-provisioning may differ from the setting.
        spare = text.percent(best.spare.has)
        lines = [f"Choose {_sets(best)}; rounded to whole blocks, its over-provisioning is {spare}."]
    else:
        lines = [f"Choose {_sets(best)}."]
    kept = best.fresh.kept(tuned.constraints)
    if tuned.constraints:
        lines.append(f"This configuration meets the constraints with {kept} of {_seeds(tuned.repeats)}.")
        always = [finalist for finalist in tuned.finalists if finalist.fresh.kept(tuned.constraints) == tuned.repeats]
        if always and always[0] is not best:
            lines.append(f"To meet the constraints with every seed, choose {_sets(always[0])}.")
    return [*lines, *_lead(tuned, kept)]


def _lead(tuned: Tuned, kept: int) -> list[str]:
    """States by how much the best finalist leads the second-best finalist."""
    lead = tuned.lead()
    if lead is None:
        return []
    write = form(tuned.goals[0].name)
    following = tuned.finalists[1].fresh.kept(tuned.constraints)
    fewer = f"meets the constraints with only {following} of {_seeds(tuned.repeats)}." if following < kept else ""
    if lead.mean == 0 and not lead.half_width:
        return [f"The second-best configuration is equally good{f', but {fewer}' if fewer else '.'}"]
    half = f" ± {write(lead.half_width)}" if lead.half_width else ""
    certain = lead.half_width is not None and lead.mean > lead.half_width
    return [
        f"The best configuration leads the second best by {write(lead.mean)}{half}"
        + ("." if certain else ", which is not significant: either may be the best.")
        + (f" The second best {fewer}" if fewer else "")
    ]
