"""The page of a screening: gains, what they depend on, and whether the document's appear."""

import statistics

from ssdlab import text
from ssdlab.study.screening import contrast
from ssdlab.study.screening.contrast import Contrast
from ssdlab.study.screening.definition import BASELINES, Screening
from ssdlab.study.screening.definition import Figure as Quantity
from ssdlab.study.screening.result import Answer, Part, Screened
from ssdlab.study.survey.effects import Effect
from ssdlab.study.survey.outcome import CONFIDENCE, Estimate
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
        Section("At a glance", [Figure(found.plot.chart)], terminal=False),
        Section("", [_gains(screening, first), _effects(screening, first)]),
    ]
    for answer in answers:
        part = next((one for one in found.parts if one.name == answer.claim.says), None)
        if part is not None and answer.best is not None:
            sections.append(Section("", [*_refined(screening, answer, part), _operations(found, answer)]))
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
        remarks=[f"{text.counted(times, 'runs')} failed: {error}" for error, times in found.study.failures.items()]
        + [
            f"figure {one.name}: no point has a value of {one.value.text!r}; 'ssdlab study show --outcomes' lists them"
            for one in screening.figures
            if Contrast(one.name, "mean") not in first.gains and found.study.finished
        ],
        sections=sections,
        legend="gains with 95 % confidence intervals over seeds, effects ± that of seeds, or of the effects among "
        "themselves if that is larger; a point is 100 times the logarithm of a ratio, about 1 %; "
        f"of {len(form.factors)} factors {(1 - CONFIDENCE) * len(form.factors):.1f} leave out 0 by chance",
        conclusion=[] if found.partial else [Paragraph(_answered(screening, one)) for one in answers],
    )


def _signed(value: float) -> str:
    return f"{value:+.1f}"


def _gain(figure: Quantity, found: Estimate) -> str:
    """A gain in % with its interval."""
    mean = _signed(contrast.percent(figure, found.mean))
    if found.half_width is None:
        return mean
    low, high = (contrast.percent(figure, found.mean + sign * found.half_width) for sign in (-1, 1))
    return f"{mean} ({_signed(low)} to {_signed(high)})"


def _gains(screening: Screening, first: Part) -> Table:
    rows = []
    for figure in screening.figures:
        for against in BASELINES:
            called = f"{figure.gain} than the {against}"
            points = first.gains.get(Contrast(figure.name, against), ())
            if not points:
                rows.append([called, *[text.MISSING] * 4])
                continue
            means = sorted(point.mean for point in points)
            least, largest = (_signed(contrast.percent(figure, one)) for one in (means[0], means[-1]))
            above = f"{sum(mean > 0 for mean in means)} of {len(means)}"
            rows.append([called, _gain(figure, contrast.overall(points)), least, largest, above])
    return Table(("gain, %", "mean", "least", "largest", "above 0"), rows, title="Gains over all conditions")


def _effects(screening: Screening, first: Part) -> Item:
    """Main effects on what claims are about, those that are surest first."""
    asked = [Contrast(one.figure, one.against) for one in screening.claims]
    by_factor: dict[str, dict[Contrast, Effect]] = {}
    for one in asked:
        for effect in first.effects.get(one, ()):
            by_factor.setdefault(effect.term, {})[one] = effect
    if not by_factor:
        return Paragraph("Points are missing, without which effects cannot be told apart.")
    ranked = sorted(by_factor.items(), key=lambda pair: -max(map(_sureness, pair[1].values())))
    rows: list[Row] = [
        [name, next(iter(its.values())).level, *(_effect(its.get(one)) for one in asked)] for name, its in ranked
    ]
    headers = ("factor", "from → to", *(f"{one.figure}, {one.against}" for one in asked))
    return Table(headers, rows, title="Main effects, in points", left=2)


def _sureness(effect: Effect) -> float:
    return abs(effect.size) / effect.half_width if effect.half_width else 0.0


def _effect(effect: Effect | None) -> Cell:
    if effect is None:
        return Cell(text.MISSING)
    half = "" if effect.half_width is None else f" ± {effect.half_width:.1f}"
    return Cell(f"{_signed(effect.size)}{half}", "strong" if _sureness(effect) > 1 else "")


def _refined(screening: Screening, answer: Answer, part: Part) -> list[Item]:
    """All combinations of what is strongest for a claim, with fresh seeds."""
    points = part.gains[Contrast(answer.claim.figure, answer.claim.against)]
    figure = screening.figure(answer.claim.figure)
    rows: list[Row] = [
        [*(point.levels[name] for name in part.factors), _gain(figure, gain)]
        for point, gain in zip(points, contrast.each(points), strict=True)
    ]
    title = f"Refined, with fresh seeds: {answer.claim.says}"
    return [
        Table((*part.factors, "gain, %"), rows, title=title, left=len(part.factors)),
        Paragraph(f"There: {_named(part.kept)}.", "soft"),
    ]


def _operations(found: Screened, answer: Answer) -> Table:
    tested, others = found.screening.tested, found.screening.others
    rows = []
    for one in found.operations(answer):
        its = one.by_scheduler
        if not any(its.values()):
            continue
        mean = statistics.fmean(its[name] for name in others)
        change = f"{100 * (its[tested] / mean - 1):+.1f}" if mean else text.MISSING
        name = one.name.removeprefix("below.")
        rows.append([name, *(_plain(its[scheduler]) for scheduler in (*others, tested)), change])
    headers = ("mean over seeds", *others, tested, "to their mean, %")
    return Table(headers, rows, title="Figures, and operations on the second drive by cause, at its largest gain")


def _plain(value: float) -> str:
    return text.count(value) if value >= 1 or value == 0 else f"{value:.3g}"


def _named(point: Point) -> str:
    return ", ".join(f"{name} {label}" for name, label in point.items())


def _answered(screening: Screening, answer: Answer) -> str:
    """What became of a claim, in a sentence or two."""
    figure = screening.figure(answer.claim.figure)
    said = answer.claim.says[0].upper() + answer.claim.says[1:]
    reached = f"{answer.reached} of {answer.screened} screened points have such a mean gain"
    if answer.telling:
        levels = ", ".join(f"{count} of them with {name} {label}" for name, (label, count) in answer.telling.items())
        reached = f"{reached}, {levels}"
    first = _signed(contrast.percent(figure, answer.first))
    if answer.again is None:
        return f"{said}: {reached}; the largest is {first} %, which was not run again."
    verdict = "appears" if answer.appears else "does not appear"
    again = f"around the largest, {first} %, fresh seeds find {_gain(figure, answer.again)} % at most"
    return f"{said}: {verdict}. {reached}; {again}."
