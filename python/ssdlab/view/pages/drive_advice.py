"""Builds the report page with advice on the over-provisioning of a drive."""

import math

from ssdlab import text
from ssdlab.model.sizing import NO_LIFETIME, SIZED
from ssdlab.model.source import chosen, source_text
from ssdlab.study.drive_advice import P99, WAF, DriveAdvice, DriveChoice
from ssdlab.study.survey.outcome import Estimate
from ssdlab.view.page import Cell, Figure, Page, Paragraph, Section, Table, known
from ssdlab.view.pages.figures import INTERVALS, estimated, left_to_do

RATES = {
    "trace": "the daily writes of the trace",
    "replay": "the daily writes of the replay, because the requests have no timestamps",
}
"""Descriptions of the write rate used if `--dwpd` is not given, by the origin of the rate."""


def page(advice: DriveAdvice) -> Page:
    """Builds the report page with advice on over-provisioning: the trade-off, and the recommended drive."""
    source, study = advice._source(), advice.study
    # Drives whose capacity was derived from the trace have no total bytes written (TBW), so the column is left out.
    worn = ["write endurance"] if any(choice.tbw_bytes is not None for choice in advice.choices) else []
    headers = (*study.columns, "flash", "write amplification", "p99", *worn, "life")
    rows = [
        [Cell(cell, "best" if choice is advice.best else "") for cell in _cells(advice, choice, bool(worn))]
        for choice in advice.choices
    ]
    caveats = [*study.caveats_by_trace]
    if advice.dwpd is not None:
        # With a requested number of drive writes per day, lifetimes do not depend on the drive capacity, even if it was
        # derived from the trace.
        caveats = [caveat.removesuffix(f". {SIZED}") for caveat in caveats if caveat != NO_LIFETIME]
    seeds = any(choice.write_amplification.half_width is not None for choice in advice.choices)
    return Page(
        title=("a generated workload" if source is None else source_text(source)) + study.modes,
        chosen="" if source is None else chosen(source),
        lead=[Paragraph(line, "soft") for line in (_goal(advice), f"figures are measured over {advice.measured}")],
        partial=left_to_do(study),
        remarks=[*study.failed, *caveats],
        sections=[
            Section("Effect of over-provisioning", [Figure(advice.plot.chart)], terminal=False),
            Section("", [Table(headers, rows, left=len(study.columns))]),
        ],
        legend=INTERVALS if seeds else "",
        conclusion=[Paragraph(line) for line in _advised(advice)],
    )


def _cells(advice: DriveAdvice, choice: DriveChoice, worn: bool) -> list[str]:
    return [
        *(choice.levels[key] for key in advice.study.columns),
        text.size(choice.flash_bytes),
        estimated(WAF, choice.write_amplification),
        estimated(P99, choice.p99_ns),
        *([known(text.size_decimal, choice.tbw_bytes)] if worn else []),
        known(_life, choice.years),
    ]


def _life(years: Estimate) -> str:
    return text.years(years.mean) + (f" ± {text.years(years.half_width)}" if years.half_width else "")


def _goal(advice: DriveAdvice) -> str:
    if advice.dwpd is None:
        rate = " or ".join(RATES[rate] for rate in advice.rates)
    else:
        rate = f"{advice.dwpd:g} drive writes per day"
    tail = "" if advice.p99_ns is None else f" and a p99 of at most {text.duration(advice.p99_ns)}"
    return f"goal: the least flash for {advice.years:g} years of life{f' at {rate}' if rate else ''}{tail}"


def _named(advice: DriveAdvice, choice: DriveChoice) -> str:
    return " ".join(f"{key}={choice.levels[key]}" for key in advice.study.columns)


def _misses(advice: DriveAdvice, choice: DriveChoice) -> str:
    """Describes which requirements a drive does not meet."""
    missed = []
    if choice.years is not None and not advice.lasts(choice):
        missed.append(f"lasts {text.years(choice.years.mean)}")
    if not advice.in_time(choice):
        missed.append("has no p99" if choice.p99_ns is None else f"has a p99 of {text.duration(choice.p99_ns.mean)}")
    return " and ".join(missed)


def _advised(advice: DriveAdvice) -> list[str]:
    """Returns the recommended drive, with reasons."""
    if advice.partial:
        return []
    best = advice.best
    if best is None:
        return [_none(advice)]
    if advice.lasts(best) is None:
        why = "set the write rate with --dwpd" if advice.dwpd is None else "the host wrote too little data"
        in_time = "" if advice.p99_ns is None else " of the drives that meet the p99 goal"
        lines = [
            f"The life of the drives is unknown; {why}.",
            f"Choose {_named(advice, best)} if its life is long enough: it has the least flash{in_time}.",
        ]
    else:
        lines = [f"Choose {_named(advice, best)}: it meets the goal with the least flash."]
    if advice.p99_ns is not None or best.years is not None:
        lines += _certainty(advice, best)
    at = advice.choices.index(best)
    smaller = [choice for choice in advice.choices[:at] if choice.flash_bytes < best.flash_bytes]
    if smaller:
        lines.append(f"The next smaller drive, {_named(advice, smaller[-1])}, {_misses(advice, smaller[-1])}.")
    larger = next((choice for choice in advice.choices[at + 1 :] if choice.flash_bytes > best.flash_bytes), None)
    if larger is not None:
        more = larger.flash_bytes / best.flash_bytes - 1
        lines.append(
            f"The next larger drive, {_named(advice, larger)}, needs {100 * more:.0f} % more flash; its "
            f"write amplification is {_change(best.write_amplification, larger.write_amplification)}."
        )
    return lines


def _none(advice: DriveAdvice) -> str:
    """Returns the advice to give if no drive meets the requirements."""
    lasting = [choice for choice in advice.choices if advice.lasts(choice) is not False]
    if lasting:
        closest = min(lasting, key=lambda choice: choice.p99_ns.mean if choice.p99_ns else float("inf"))
    else:
        closest = max(advice.choices, key=lambda choice: choice.years.mean if choice.years else 0.0)
    remedies = [] if lasting else ["for a longer life, choose more capacity or flash of higher endurance"]
    if not advice.in_time(closest):
        remedies.append("for a lower p99, choose a faster drive")
    words = f"{_named(advice, closest)}, which {_misses(advice, closest)}"
    return f"No drive meets the goal. Closest: {words}; {'; '.join(remedies)}."


def _certainty(advice: DriveAdvice, best: DriveChoice) -> list[str]:
    seeds, met = best.write_amplification.seeds, advice.meeting(best)
    if seeds == 1:
        return ["This result comes from one seed; use --seeds 5 to estimate its error."]
    lines = [f"It meets the goal with {met} of {seeds} seeds."]
    if met < seeds:
        always = [choice for choice in advice.choices if advice.meeting(choice) == choice.write_amplification.seeds]
        which = _named(advice, always[0]) if always else "No drive"
        lines.append(f"{which} meets the goal with every seed.")
    return lines


def _change(base: Estimate, other: Estimate) -> str:
    if abs(other.mean - base.mean) <= math.hypot(base.half_width or 0.0, other.half_width or 0.0):
        return "equal within the confidence intervals"
    less = 1 - other.mean / base.mean
    return f"{100 * abs(less):.0f} % {'lower' if less >= 0 else 'higher'}"
