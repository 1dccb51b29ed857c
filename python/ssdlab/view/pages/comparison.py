"""The page of a comparison: a column for each case."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from ssdlab import text
from ssdlab.model.remarks import remarks_on, sized_by_trace
from ssdlab.model.source import source_text
from ssdlab.study.compare import Comparison, Spread
from ssdlab.view.charts.latency import took_time
from ssdlab.view.page import Cell, Figure, Page, Paragraph, Row, Section, Table
from ssdlab.view.pages.figures import of_seeds
from ssdlab.view.pages.quantities import AT_THAT_RATE, QUANTITIES, Quantity, above, under
from ssdlab.view.pages.remarks import clock_remark, unlike_flash
from ssdlab.view.times import name_of_times, title_of_times

TIMES = "Response time"
"""The section of the times that requests took."""

ALIKE = "all seeds of a case gave the same figures: nothing random decides them here"


class _Line(NamedTuple):
    """A quantity over all cases."""

    quantity: Quantity
    spreads: list[Spread | None]
    texts: list[str]

    @property
    def differs(self) -> bool:
        """Rounded values that look alike are alike to the reader."""
        return len(set(self.texts)) > 1


def page(found: Comparison, *, all: bool = False) -> Page:
    """The page of a comparison; figures that are equal in all cases stand by themselves unless `all`."""
    results = [*found.results.values()]
    lead = _by_case(
        {
            label: [sized_by_trace([(one.config, one.summary)]), clock_remark(one.config)]
            for label, one in found.results.items()
        }
    )
    lines = _lines(found)
    alone = len(results) == 1
    at_rate = any(line.differs and line.quantity.label.endswith(AT_THAT_RATE) for line in lines)
    differing = [line for line in lines if all or alone or line.differs or (at_rate and line.quantity.rate)]
    equal = [line for line in lines if line not in differing]
    notes = _by_case({label: [its.text for its in remarks_on(one)] for label, one in found.results.items()})
    notes.extend(filter(None, [unlike_flash(found.results)]))
    if found.seeds > 1 and not any(one and one.standard_deviation for line in lines for one in line.spreads):
        notes.append(ALIKE)
    headings = _below(found)
    names = _names_of_times(found)
    if len(names) > 1:
        headings[TIMES] = " or ".join(names).capitalize()
    elif names == ["service time"]:
        headings[TIMES] = title_of_times(results[0].config)
    words = "All figures are equal." if not differing else f"{len(equal)} more figures are equal in all cases."
    return Page(
        title=source_text(results[0].source),
        lead=[Paragraph(line, "soft") for line in lead],
        partial=_stopped(found),
        remarks=notes,
        sections=[
            Section("Settings that differ", [_settings(found)], terminal=False),
            *_drawn(found),
            Section(
                "",
                [
                    *([Table(("", *found.runs), _rows(differing, headings, found))] if differing else []),
                    *([Paragraph(words, "soft")] if equal else []),
                ],
            ),
            *(
                [Section("Equal in all cases", [Table(("", "all cases"), _equal(equal, headings))], terminal=False)]
                if equal
                else []
            ),
        ],
        legend=_legend(found),
    )


def _drawn(found: Comparison) -> Iterator[Section]:
    """What the cases did, and how they differ."""
    yield Section("At a glance", [Figure(found.plot.chart)], terminal=False)
    if len(found.runs) > 1:
        note = "Changes of the means from those of the first case."
        yield Section("Differences", [Figure(found.plot_differences.chart)], note=note, terminal=False)
    ops = [op for op in ("read", "write") if any(took_time(one.latency.get(op)) for one in found.results.values())]
    if ops:
        note = "Below the curves: how many times the response time of the first case at the same percentile."
        figures = [Figure(partial(found.plot_latency_percentiles.chart, op), f"{op.capitalize()}s") for op in ops]
        yield Section("Response time by percentile", figures, note=note, terminal=False)
    figure = Figure(found.plot_write_amplification.chart)
    yield Section("Write amplification over the run", [figure], terminal=False)
    if ops:
        yield Section("Over simulated time", [Figure(found.plot_course.chart)], terminal=False)


def _by_case(said: Mapping[str, Iterable[str | None]]) -> list[str]:
    """What is said of cases, once where it is said of all."""
    of: dict[str, list[str]] = {}
    for label, lines in said.items():
        for line in filter(None, lines):
            of.setdefault(line, []).append(label)
    return [line if len(labels) == len(said) else f"{', '.join(labels)}: {line}" for line, labels in of.items()]


def _stopped(found: Comparison) -> str:
    """What is missing of a comparison that was stopped; empty if nothing is."""
    if not found.partial:
        return ""
    whole = {label: sum(not one.partial for one in runs) for label, runs in found.runs.items()}
    counts = [f"{count} of {found.seeds} runs of {label} were finished" for label, count in whole.items()]
    return "; ".join(
        [
            *(counts if found.seeds > 1 else ["it was stopped"]),
            *(f"{label} is of the part that was run" for label in found.cut_short),
            *(f"nothing was measured of {label}" for label in found.missing),
        ]
    )


def _legend(found: Comparison) -> str:
    best = "" if found.cut_short or len(found.runs) == 1 else "*: best of its row"
    if found.seeds == 1:
        return best
    counts = {len(runs) for runs in found.runs.values()}
    seeds = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{max(counts)}"
    mean = f"mean of {seeds} seeds ± standard deviation (of seeds, not of their mean), where they differ"
    return f"{mean}; {best}, and those whose deviations reach it" if best else mean


def _lines(found: Comparison) -> list[_Line]:
    """The quantities that some case has."""
    lines = []
    for quantity in QUANTITIES:
        runs = [[quantity.value(result.summary) for result in results] for results in found.runs.values()]
        known = [[value for value in values if value is not None] for values in runs]
        if not any(known) or (quantity.quiet and not any(map(any, known))):
            continue
        spreads = [Spread.of(values) if values else None for values in known]
        texts = [spread_text(quantity, *one) for one in zip(spreads, map(len, runs), strict=True)]
        lines.append(_Line(quantity, spreads, texts))
    return lines


def spread_text(quantity: Quantity, spread: Spread | None, runs: int) -> str:
    """A mean, how far seeds deviate from it, and how many of the runs have the quantity where that is not all."""
    if spread is None:
        return text.MISSING
    mean, deviation, seeds = spread
    spread_of = f" ± {quantity.format(deviation)}" if deviation else ""
    return f"{quantity.format(mean)}{spread_of}{of_seeds(seeds, runs)}"


def _best(line: _Line) -> list[bool]:
    """Which values are the best: where one can be said to be better, and not all that there are are as good."""
    known = [spread for spread in line.spreads if spread is not None]
    if not line.quantity.better or not line.differs:
        return [False] * len(line.spreads)
    best = (min if line.quantity.better == "low" else max)(known, key=lambda spread: spread.mean)
    rounded = line.quantity.format(best.mean)

    def reaches(spread: Spread | None) -> bool:
        if spread is None:
            return False
        apart = abs(spread.mean - best.mean)
        deviations = (spread.standard_deviation or 0.0) + (best.standard_deviation or 0.0)
        return line.quantity.format(spread.mean) == rounded or apart <= deviations

    return [False] * len(line.spreads) if all(map(reaches, known)) else [*map(reaches, line.spreads)]


def _rows(lines: list[_Line], titles: dict[str, str], found: Comparison) -> list[Row]:
    """Under the heading of each section, or its title, its quantities, the best of each marked. There is none where a
    case was cut short, which others cannot be measured by, nor below a cache: what serves the host best may leave the
    drive its slowest requests; nor of times that include waiting in some cases alone.
    """
    unranked = {*_below(found), *([TIMES] if len(_names_of_times(found)) > 1 else [])}
    rows: list[Row] = []
    section = ""
    for line in lines:
        title = titles.get(line.quantity.section, line.quantity.section)
        if title != section:
            section = title
            rows.append([Cell(title, "strong"), *("" for _ in line.texts)])
        unjudged = found.cut_short or line.quantity.section in unranked
        best = [False] * len(line.texts) if unjudged else _best(line)
        marked = zip(line.texts, best, strict=True)
        cells = [Cell(f"{one} *", "best") if is_best else f"{one}  " for one, is_best in marked]
        rows.append([line.quantity.label, *cells])
    return rows


def _names_of_times(found: Comparison) -> list[str]:
    """What the times of requests are called, of all cases."""
    return [*dict.fromkeys(name_of_times(one.config) for one in found.results.values())]


def _below(found: Comparison) -> dict[str, str]:
    """Titles of sections of requests below a cache or a block layer, in all cases or in those that have one."""
    of_cases = [above(one.summary) for one in found.results.values()]
    headings = {}
    for section in dict.fromkeys(section for of in of_cases for section in of):
        first, *others = layers = [*dict.fromkeys(of.get(section) for of in of_cases)]
        if first and not others:
            headings[section] = under(section, first)
        else:
            where = " or ".join(f"a {layer}" for layer in layers if layer)
            headings[section] = f"{section}, where there is {where} below it"
    return headings


def _equal(lines: list[_Line], titles: dict[str, str]) -> list[Row]:
    return [
        [f"{titles.get(line.quantity.section, line.quantity.section)}: {line.quantity.label}", line.texts[0]]
        for line in lines
    ]


def _settings(found: Comparison) -> Table:
    cases = found.differing_settings
    keys = [*next(iter(cases.values()))]
    rows: list[Row] = [[Cell(key, "code"), *(_written(settings[key]) for settings in cases.values())] for key in keys]
    return Table(("setting", *cases), rows)


def _written(value: object) -> str:
    """As configuration files do."""
    if value is None:
        return text.MISSING
    return str(value).lower() if isinstance(value, bool) else str(value)
