"""Builds the report page of a screening: gains, their causes, and the verdicts on claims."""

import statistics

from ssdlab import text
from ssdlab.study.screening import contrast
from ssdlab.study.screening.contrast import Contrast
from ssdlab.study.screening.definition import BASELINES, Screening
from ssdlab.study.screening.definition import Figure as Quantity
from ssdlab.study.screening.result import Answer, Part, Screened
from ssdlab.study.survey.effects import Effect
from ssdlab.study.survey.outcome import CONFIDENCE, Estimate
from ssdlab.view.page import Cell, Figure, Item, Page, Paragraph, Row, Section, Table
from ssdlab.view.pages.figures import left_to_do


def page(screened: Screened) -> Page:
    """Returns the report page of a screening."""
    screening, first = screened.screening, screened.parts[0]
    form = screening.forms[screened.form]
    points = form.design.size(form.axes)
    answers = screened.answers()
    sections = [
        Section("At a glance", [Figure(screened.plot.chart)], terminal=False),
        Section("", [_gains(screening, first), _effects(screening, first)]),
    ]
    for answer in answers:
        part = next((part for part in screened.parts if part.name == answer.claim.says), None)
        if part is not None and answer.best is not None:
            sections.append(Section("", [*_refined(screening, answer, part), _operations(screened, answer)]))
    remarks = [f"{text.counted(times, 'runs')} failed: {error}" for error, times in screened.study.failures.items()]
    remarks += [
        f"figure {figure.name}: no point has a value of {figure.value.text!r}; see 'ssdlab study show --outcomes'"
        for figure in screening.figures
        if Contrast(figure.name, "mean") not in first.gains and screened.study.finished
    ]
    return Page(
        title=screening.title,
        lead=[
            Paragraph(f"reproduces: {screening.document}"),
            Paragraph(
                f"{screened.form} form: {len(form.factors)} factors with two levels each, {points} points "
                f"(resolution {form.resolution}), {form.seeds} seeds per point; {screening.tested} compared with "
                f"{', '.join(screening.others)}; {text.count(screened.study.finished)} finished runs",
                "soft",
            ),
        ],
        partial=left_to_do(screened.study),
        remarks=remarks,
        sections=sections,
        legend="gains: 95 % confidence intervals over seeds; effects: ± the larger of the intervals from seeds and "
        "from all effects; log point: 100 times the natural logarithm of a ratio, about 1 %; by chance alone, the "
        f"intervals of {(1 - CONFIDENCE) * len(form.factors):.1f} of {len(form.factors)} factors exclude 0",
        conclusion=[] if screened.partial else [Paragraph(_answered(screening, answer)) for answer in answers],
    )


def _signed(value: float) -> str:
    return f"{value:+.1f}"


def _gain(figure: Quantity, screened: Estimate) -> str:
    """Formats a gain in percent with its confidence interval."""
    mean = _signed(contrast.percent(figure, screened.mean))
    if screened.half_width is None:
        return mean
    low, high = (contrast.percent(figure, screened.mean + sign * screened.half_width) for sign in (-1, 1))
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
            least, largest = (_signed(contrast.percent(figure, mean)) for mean in (means[0], means[-1]))
            above = f"{sum(mean > 0 for mean in means)} of {len(means)}"
            rows.append([called, _gain(figure, contrast.overall(points)), least, largest, above])
    return Table(("gain, %", "mean", "least", "largest", "above 0"), rows, title="Gains over all conditions")


def _effects(screening: Screening, first: Part) -> Item:
    """Returns the main effects of factors on the metrics of the claims, the most significant first."""
    asked = [Contrast(claim.figure, claim.against) for claim in screening.claims]
    by_factor: dict[str, dict[Contrast, Effect]] = {}
    for gain in asked:
        for effect in first.effects.get(gain, ()):
            by_factor.setdefault(effect.term, {})[gain] = effect
    if not by_factor:
        return Paragraph("Effects cannot be computed: results of some points are missing.")
    ranked = sorted(by_factor.items(), key=lambda pair: -max(map(_sureness, pair[1].values())))
    rows: list[Row] = [
        [name, next(iter(effects.values())).level, *(_effect(effects.get(gain)) for gain in asked)]
        for name, effects in ranked
    ]
    headers = ("factor", "from → to", *(f"{gain.figure}, {gain.against}" for gain in asked))
    return Table(headers, rows, title="Main effects, in log points", left=2)


def _sureness(effect: Effect) -> float:
    return abs(effect.size) / effect.half_width if effect.half_width else 0.0


def _effect(effect: Effect | None) -> Cell:
    if effect is None:
        return Cell(text.MISSING)
    half = "" if effect.half_width is None else f" ± {effect.half_width:.1f}"
    return Cell(f"{_signed(effect.size)}{half}", "strong" if _sureness(effect) > 1 else "")


def _refined(screening: Screening, answer: Answer, part: Part) -> list[Item]:
    """Builds the section on the refinement of a claim: all combinations of the strongest factors, with fresh seeds."""
    points = part.gains[Contrast(answer.claim.figure, answer.claim.against)]
    figure = screening.figure(answer.claim.figure)
    rows: list[Row] = [
        [*(point.levels[name] for name in part.factors), _gain(figure, gain)]
        for point, gain in zip(points, contrast.each(points), strict=True)
    ]
    title = f"Refinement with fresh seeds: {answer.claim.says}"
    kept = ", ".join(f"{name} {label}" for name, label in part.kept.items())
    return [
        Table((*part.factors, "gain, %"), rows, title=title, left=len(part.factors)),
        Paragraph(f"Other factors: {kept}.", "soft"),
    ]


def _operations(screened: Screened, answer: Answer) -> Table:
    tested, others = screened.screening.tested, screened.screening.others
    rows = []
    for figure in screened.operations(answer):
        values = figure.by_scheduler
        if not any(values.values()):
            continue
        mean = statistics.fmean(values[name] for name in others)
        change = f"{100 * (values[tested] / mean - 1):+.1f}" if mean else text.MISSING
        name = figure.name.removeprefix("below.")
        rows.append([name, *(_plain(values[scheduler]) for scheduler in (*others, tested)), change])
    headers = ("mean over seeds", *others, tested, "change from mean of the others, %")
    return Table(headers, rows, title="Metrics where the gain is largest; operations of the second drive by cause")


def _plain(value: float) -> str:
    return text.count(value) if value >= 1 or value == 0 else f"{value:.3g}"


def _answered(screening: Screening, answer: Answer) -> str:
    figure = screening.figure(answer.claim.figure)
    said = answer.claim.says[0].upper() + answer.claim.says[1:]
    reached = f"{answer.reached} of {answer.screened} screened points reach this mean gain"
    for name, (label, count) in answer.telling.items():
        reached += f", {count} of them with {name} {label}"
    first = _signed(contrast.percent(figure, answer.first))
    if answer.again is None:
        return f"{said}: {reached}; the largest gain, {first} %, was not checked with fresh seeds."
    verdict = "appears" if answer.appears else "does not appear"
    again = f"near the largest gain ({first} %), runs with fresh seeds reach up to {_gain(figure, answer.again)} %"
    return f"{said}: {verdict}. {reached}; {again}."
