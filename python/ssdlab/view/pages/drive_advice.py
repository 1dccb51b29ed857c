"""The page of advice on the spare space of a drive."""

import math

from ssdlab import text
from ssdlab.model.source import chosen, source_text
from ssdlab.study.drive_advice import P99, WAF, DriveAdvice, DriveChoice
from ssdlab.study.survey.outcome import Estimate
from ssdlab.view.page import Cell, Figure, Page, Paragraph, Section, Table
from ssdlab.view.pages.figures import estimated


def page(found: DriveAdvice) -> Page:
    """The page of advice: the trade, and which drive to take."""
    source = found._source()
    seeds = any(one.write_amplification.half_width is not None for one in found.choices)
    headers = (*found.study.columns, "flash", "write amplification", "p99", "data until worn out", "life")
    best = found.best
    rows = [[Cell(cell, "best" if one is best else "") for cell in _cells(found, one)] for one in found.choices]
    left = found.study.asked - found.study.finished
    return Page(
        title="a generated workload" if source is None else source_text(source),
        chosen="" if source is None else chosen(source),
        lead=[
            Paragraph(_wanted(found), "soft"),
            Paragraph(f"measured, all figures of a line: {found.measured}", "soft"),
        ],
        partial=f"{left} of {found.study.asked} runs are still to be done" if found.partial else "",
        remarks=[
            *found.study.failed,
            *found.study.caveats_by_trace,
        ],
        sections=[
            Section("What spare space buys", [Figure(found.plot.chart)], terminal=False),
            Section("", [Table(headers, rows, left=len(found.study.columns))]),
        ],
        legend="mean ± half the width of its 95 % confidence interval over seeds" if seeds else "",
        conclusion=[Paragraph(line) for line in _advised(found)],
    )


def _cells(found: DriveAdvice, one: DriveChoice) -> list[str]:
    return [
        *(one.levels[key] for key in found.study.columns),
        text.size(one.flash_bytes),
        estimated(WAF, one.write_amplification),
        estimated(P99, one.p99_ns),
        text.MISSING if one.tbw_bytes is None else text.size_decimal(one.tbw_bytes),
        _life(one.years),
    ]


def _life(years: Estimate | None) -> str:
    if years is None:
        return text.MISSING
    return text.years(years.mean) + (f" ± {text.years(years.half_width)}" if years.half_width else "")


RATES = {
    "trace": "what the requests write in a day by their times",
    "replay": "what the replay writes in a day, as the requests have no times",
}
"""At which the host writes unless it is said."""


def _rate(found: DriveAdvice) -> str:
    if found.dwpd is not None:
        return f" at {found.dwpd:g} drive writes per day"
    rates = " or ".join(RATES[rate] for rate in found.rates)
    return f" at {rates}" if rates else ""


def _wanted(found: DriveAdvice) -> str:
    """What a drive is to do."""
    tail = "" if found.p99_ns is None else f", p99 within {text.duration(found.p99_ns)}"
    return f"wanted: {found.years:g} years of life{_rate(found)}{tail}, with the least flash"


def _named(found: DriveAdvice, one: DriveChoice) -> str:
    return " ".join(f"{key}={one.levels[key]}" for key in found.study.columns)


def _misses(found: DriveAdvice, one: DriveChoice) -> str:
    """What a drive lacks."""
    said = []
    if one.years is not None and not found.lasts(one):
        said.append(f"lives {text.years(one.years.mean)}")
    if not found.in_time(one):
        said.append("has no p99" if one.p99_ns is None else f"has a p99 of {text.duration(one.p99_ns.mean)}")
    return " and ".join(said)


def _in_time(found: DriveAdvice) -> str:
    return "" if found.p99_ns is None else " that answers in time"


def _advised(found: DriveAdvice) -> list[str]:
    """Which drive to take, and why."""
    if found.partial:
        return []
    best = found.best
    if best is None:
        lasting = [one for one in found.choices if found.lasts(one) is not False]
        if lasting:
            nearest = min(lasting, key=lambda one: one.p99_ns.mean if one.p99_ns else float("inf"))
        else:
            nearest = max(found.choices, key=lambda one: one.years.mean if one.years else 0.0)
        remedies = [
            *([] if lasting else ["to last, take more capacity for the same writes, or flash that endures more"]),
            *([] if found.in_time(nearest) else ["to answer in time, take a faster drive, or a later bound"]),
        ]
        return [
            f"None of them will do: the nearest, {_named(found, nearest)}, {_misses(found, nearest)}; "
            f"{'; '.join(remedies)}."
        ]
    if found.lasts(best) is None:
        why = "say how much is written with --dwpd" if found.dwpd is None else "too little was written to tell"
        lines = [
            f"How long drives last is not known here; {why}.",
            f"If it lasts long enough, take {_named(found, best)}: the least flash{_in_time(found)}.",
        ]
    else:
        lines = [f"Take {_named(found, best)}: the least flash that does what is wanted."]
    if found.p99_ns is not None or best.years is not None:
        lines += _sure(found, best)
    at = found.choices.index(best)
    smaller = [one for one in found.choices[:at] if one.flash_bytes < best.flash_bytes]
    if smaller:
        lines.append(f"The next smaller, {_named(found, smaller[-1])}, {_misses(found, smaller[-1])}.")
    larger = [one for one in found.choices[at + 1 :] if one.flash_bytes > best.flash_bytes]
    if larger:
        next_one = larger[0]
        more = next_one.flash_bytes / best.flash_bytes - 1
        lines.append(
            f"The next larger, {_named(found, next_one)}, takes {100 * more:.0f} % more flash and amplifies writes "
            f"{_change(best.write_amplification, next_one.write_amplification)}."
        )
    return lines


def _sure(found: DriveAdvice, best: DriveChoice) -> list[str]:
    """How sure it is that a drive does what is wanted."""
    seeds = best.write_amplification.seeds
    if seeds == 1:
        return ["That is the answer of one seed, and another may differ: --seeds 5 tells how sure it is."]
    lines = [f"It does with {found.meeting(best)} of {seeds} seeds."]
    if found.meeting(best) < seeds:
        always = next((one for one in found.choices if found.meeting(one) == one.write_amplification.seeds), None)
        lines.append(
            "None does with each of them." if always is None else f"To do so with each, take {_named(found, always)}."
        )
    return lines


def _change(of: Estimate, to: Estimate) -> str:
    """By how much less or more a drive amplifies writes than another."""
    if abs(to.mean - of.mean) <= math.hypot(of.half_width or 0.0, to.half_width or 0.0):
        return "as much, as far as these seeds tell"
    less = 1 - to.mean / of.mean
    return f"{100 * abs(less):.0f} % {'less' if less >= 0 else 'more'}"
