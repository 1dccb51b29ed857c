"""The page of a screening: gains, what they depend on, and whether the document's appear."""

from ssdlab import text
from ssdlab.study.screening import contrast
from ssdlab.study.screening.contrast import Contrast
from ssdlab.study.screening.definition import BASELINES, Screening
from ssdlab.study.screening.result import Answer, Part, Screened
from ssdlab.study.survey.effects import Effect
from ssdlab.study.survey.outcome import Estimate
from ssdlab.study.sweep.axes import Point
from ssdlab.view.page import Cell, Figure, Item, Page, Paragraph, Row, Section, Table


def page(found: Screened) -> Page:
    """The page of a screening."""
    screening, first = found.screening, found.parts[0]
    form = screening.forms[found.form]
    points = form.design.size(form.axes)
    left = found.study.asked - found.study.finished
    answers = found.answers()
    sections = [
        Section("At a glance", [Figure(found.plot)], terminal=False),
        Section("", [_gains(screening, first), _effects(screening, first)]),
    ]
    for answer in answers:
        part = next((one for one in found.parts if one.name == answer.claim.says), None)
        if part is not None and answer.best is not None:
            sections.append(Section("", [*_refined(answer, part), _causes(found, answer)]))
    return Page(
        title=screening.title,
        lead=[
            Paragraph(f"reproduces: {screening.document}"),
            Paragraph(
                f"{found.form} form: {len(form.factors)} factors at two levels in {points} points of resolution "
                f"{form.resolution}, {form.seeds} seeds each; {screening.tested} against "
                f"{', '.join(screening.others)}; {text.count(found.study.finished)} runs",
                "soft",
            ),
        ],
        partial=f"{left} of {found.study.asked} runs are still to be done" if found.partial else "",
        remarks=[f"{text.count(times)} runs failed: {error}" for error, times in found.study.failures.items()],
        sections=sections,
        legend="gains in %, effects in points of gain, ± half the width of the 95 % confidence interval over seeds; "
        "of as many factors as here one or two seem to matter by chance",
        conclusion=[] if found.partial else [Paragraph(_answered(screening, one)) for one in answers],
    )


def _percent(value: float) -> str:
    return f"{value:+.1f}"


def _estimate(found: Estimate) -> str:
    return f"{_percent(found.mean)} ± {found.half_width:.1f}" if found.half_width is not None else _percent(found.mean)


def _asked(screening: Screening) -> list[tuple[str, Contrast]]:
    """Every contrast with what it is called."""
    return [
        (f"{figure.gain} than the {against}", Contrast(figure.name, against))
        for figure in screening.figures
        for against in BASELINES
    ]


def _gains(screening: Screening, first: Part) -> Table:
    rows = []
    for called, asked in _asked(screening):
        points = first.gains.get(asked, ())
        if not points:
            rows.append([called, *[text.MISSING] * 4])
            continue
        means = sorted(point.mean for point in points)
        above = sum(mean > 0 for mean in means)
        rows.append(
            [called, _estimate(contrast.overall(points)), _percent(means[0]), _percent(means[-1]),
             f"{above} of {len(means)}"]
        )  # fmt: skip
    return Table(("gain", "mean", "least", "largest", "above 0"), rows, title="Gains over all conditions")


def _effects(screening: Screening, first: Part) -> Item:
    """Main effects on the gains over the best and the mean of the others, those that are surest first."""
    asked = [(called, one) for called, one in _asked(screening) if one.against != "worst"]
    by_factor: dict[str, dict[Contrast, Effect]] = {}
    for _, one in asked:
        for effect in first.effects.get(one, ()):
            by_factor.setdefault(effect.term, {})[one] = effect
    if not by_factor:
        return Paragraph("Points are missing, without which effects cannot be told apart.")
    ranked = sorted(by_factor.items(), key=lambda pair: -max(map(_sureness, pair[1].values())))
    rows: list[Row] = [
        [name, next(iter(its.values())).level, *(_effect(its.get(one)) for _, one in asked)] for name, its in ranked
    ]
    return Table(("factor", "from → to", *(called for called, _ in asked)), rows, title="Main effects", left=2)


def _sureness(effect: Effect) -> float:
    return abs(effect.size) / effect.half_width if effect.half_width else 0.0


def _effect(effect: Effect | None) -> Cell:
    if effect is None:
        return Cell(text.MISSING)
    half = "" if effect.half_width is None else f" ± {effect.half_width:.1f}"
    return Cell(f"{_percent(effect.size)}{half}", "strong" if _sureness(effect) > 1 else "")


def _refined(answer: Answer, part: Part) -> list[Item]:
    """All combinations of what matters to a claim, with fresh seeds."""
    asked = Contrast(answer.claim.figure, answer.claim.against)
    rows: list[Row] = [
        [*(point.levels[name] for name in part.factors), _estimate(contrast.at(point))] for point in part.gains[asked]
    ]
    headers = (*part.factors, "gain")
    title = f"Refined, with fresh seeds: {answer.claim.says}"
    return [
        Table(headers, rows, title=title, left=len(part.factors)),
        Paragraph(f"There: {_named(part.kept)}.", "soft"),
    ]


def _causes(found: Screened, answer: Answer) -> Table:
    rows = []
    for cause in found.causes(answer):
        if cause.tested or cause.others:
            change = f"{100 * (cause.tested / cause.others - 1):+.1f} %" if cause.others else text.MISSING
            rows.append([cause.name, text.count(cause.tested), text.count(cause.others), change])
    title = "Operations by cause at its largest gain"
    return Table(("cause", found.screening.tested, "mean of the others", "change"), rows, title=title)


def _named(point: Point) -> str:
    return ", ".join(f"{name} {label}" for name, label in point.items())


def _answered(screening: Screening, answer: Answer) -> str:
    """What became of a claim, in a sentence or two."""
    said = answer.claim.says[0].upper() + answer.claim.says[1:]
    found = f"{answer.reached} of {answer.screened} screened points have such a mean gain"
    shared = f", all of them with {_named(answer.shared)}" if answer.shared else ""
    if answer.again is None:
        return f"{said}: {found}{shared}; the largest is {_percent(answer.first)} %, which was not run again."
    again = f"around the largest, {_percent(answer.first)} %, fresh seeds find {_estimate(answer.again)} % at most"
    verdict = "appears" if answer.appears else "does not appear in this space"
    return f"{said}: {verdict}. {found}{shared}; {again}."
