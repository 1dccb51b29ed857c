"""Builds the report page with advice on host memory."""

from collections.abc import Iterator

from ssdlab import text
from ssdlab.model.source import chosen, source_text
from ssdlab.study.cache_advice import COMPRESSED, MEMORY, CacheAdvice, CacheChoice
from ssdlab.view.page import Cell, Figure, Page, Paragraph, Section, Table, known
from ssdlab.view.pages.figures import left_to_do

MISSES_ONLY = (
    "the trace contains only misses of existing caches, so the advice is for an additional cache below these caches; "
    "if the trace contains all accesses, use --accesses"
)


def page(advice: CacheAdvice) -> Page:
    """Builds the report page with advice on host memory: all combinations, and the recommended one."""
    source, study = advice._source(), advice.study
    rows = [
        [Cell(cell, "best" if choice is advice.best else "") for cell in _cells(advice, choice)]
        for choice in advice.choices
    ]
    return Page(
        title=("" if source is None else source_text(source)) + study.modes,
        chosen="" if source is None else chosen(source),
        lead=[Paragraph(line, "soft") for line in (_goal(advice), f"figures are measured over {advice.measured}")],
        partial=left_to_do(study),
        remarks=[*study.failed, *([] if advice.accesses else [MISSES_ONLY]), *study.caveats_by_trace],
        sections=[
            Section("Effect of memory", [Figure(advice.plot.chart)], terminal=False),
            Section("", [Table([*_columns(advice)], rows, left=len(advice.columns))]),
        ],
        legend="read, written: bytes between host and drive; saved/GiB: fewer bytes read per GiB of memory added",
        conclusion=[Paragraph(line) for line in _advised(advice)],
    )


def _columns(advice: CacheAdvice) -> Iterator[str]:
    short = {MEMORY: "memory", COMPRESSED: "compressed"}
    yield from (short.get(key, key) for key in advice.columns)
    yield "read hits"
    if advice.above is not None:
        yield "with above"
    yield from ("read", "written", "saved/GiB", "WAF", "read p99", "life")
    if advice.prices is not None:
        yield "cost"


def _cells(advice: CacheAdvice, choice: CacheChoice) -> Iterator[str]:
    yield from (choice.levels[key] for key in advice.columns)
    yield known(text.percent, choice.hit_ratio)
    if advice.above is not None:
        yield known(text.percent, advice.overall(choice))
    yield text.size(choice.read_bytes)
    yield text.size(choice.written_bytes)
    saved = advice.saved_per_gib(choice)
    yield text.MISSING if saved is None else ("-" if saved < 0 else "") + text.size(abs(saved))
    yield known(text.ratio, choice.write_amplification)
    yield known(text.duration, choice.read_p99_ns)
    yield known(text.years, choice.years)
    if choice.cost is not None:
        yield text.significant(choice.cost)


def _goal(advice: CacheAdvice) -> str:
    goals = []
    if advice.read_p99_ns is not None:
        goals.append(f"read p99 of at most {text.duration(advice.read_p99_ns)}")
    if advice.hit_ratio is not None:
        goals.append(f"read hit ratio of at least {text.percent(advice.hit_ratio)}")
    if not goals:
        return "no goal is set; set a goal with --read-p99 or --hit-ratio"
    return f"goal: the least {'memory' if advice.prices is None else 'cost'} with a {' and a '.join(goals)}"


def _named(choice: CacheChoice) -> str:
    return " ".join(f"{key}={value}" for key, value in choice.levels.items())


def _advised(advice: CacheAdvice) -> list[str]:
    """Returns sentences that state the recommended combination and the benefit of more memory."""
    if advice.partial or not advice.has_goal:
        return []
    best = advice.best
    if best is None:
        closest = min(advice.choices, key=lambda choice: (choice.read_p99_ns or 0.0, -(choice.hit_ratio or 0.0)))
        return [
            f"No combination meets the goal. Closest: {_named(closest)}, with {_reached(advice, closest)}; "
            "choose a faster drive with --preset, or a larger --memory."
        ]
    least = "the least memory" if advice.prices is None else "the cheapest combination"
    lines = [f"Choose {_named(best)}: {least} that meets the goal, with {_reached(advice, best)}."]
    larger = advice.larger(best)
    if larger is not None:
        more = text.size(larger.memory_bytes - best.memory_bytes)
        cost = "" if larger.cost is None or best.cost is None else f" for {text.significant(larger.cost - best.cost)}"
        lines.append(f"With {more} more memory{cost}: {_reached(advice, larger)}.")
    return lines


def _reached(advice: CacheAdvice, choice: CacheChoice) -> str:
    reached = [
        f"a read hit ratio of {known(text.percent, advice.overall(choice))}",
        f"{text.size(choice.read_bytes)} read from the drive",
    ]
    if choice.read_p99_ns is not None:
        reached.append(f"a read p99 of {text.duration(choice.read_p99_ns)}")
    return ", ".join(reached)
