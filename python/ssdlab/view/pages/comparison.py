"""The page of a comparison: a column for each case."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from ssdlab import text
from ssdlab.model.source import source_text
from ssdlab.study.compare import Comparison, Spread
from ssdlab.view.charts.latency import took_time
from ssdlab.view.page import Cell, Figure, Page, Paragraph, Row, Section, Table
from ssdlab.view.pages.quantities import QUANTITIES, Quantity
from ssdlab.view.pages.remarks import clock_remark, remarks, sized_by_trace
from ssdlab.view.pages.result import stopped
from ssdlab.view.times import served_alone, title_of_times

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
    # All read the same trace: one set of remarks speaks for all, but the one that was cut short speaks first.
    spokesman = next((one for runs in found.runs.values() for one in runs if one.partial), results[0])
    lead = [sized_by_trace(spokesman.config, spokesman.summary), clock_remark(spokesman.config)]
    lines = _lines(found)
    differing = [line for line in lines if all or line.differs]
    equal = [line for line in lines if line not in differing]
    notes = remarks(spokesman.config, spokesman.summary, spokesman.ingest)
    if found.seeds > 1 and not any(one and one.standard_deviation for line in lines for one in line.spreads):
        notes.append(ALIKE)
    alone = {served_alone(result.config) for result in results} == {True}
    titles = {"Response time": title_of_times(results[0].config)} if alone else {}
    words = "All figures are equal." if not differing else f"{len(equal)} more figures are equal in all cases."
    return Page(
        title=source_text(results[0].source),
        lead=[Paragraph(line, "soft") for line in lead if line],
        partial=stopped(spokesman),
        remarks=notes,
        sections=[
            Section("Settings that differ", [_settings(found)], terminal=False),
            *_drawn(found),
            Section(
                "",
                [
                    *([Table(("", *found.runs), _rows(differing, titles))] if differing else []),
                    *([Paragraph(words, "soft")] if equal else []),
                ],
            ),
            *(
                [Section("Equal in all cases", [Table(("", "all cases"), _equal(equal))], terminal=False)]
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


def _legend(found: Comparison) -> str:
    if found.seeds == 1:
        return "*: best of its row"
    return (
        f"mean of {found.seeds} seeds ± standard deviation, where they differ; *: best of its row, and those whose "
        "deviations reach it"
    )


def _lines(found: Comparison) -> list[_Line]:
    """The quantities that some case has."""
    lines = []
    for quantity in QUANTITIES:
        runs = [[quantity.value(result.summary) for result in results] for results in found.runs.values()]
        known = [[value for value in values if value is not None] for values in runs]
        if not any(known) or (quantity.quiet and not any(map(any, known))):
            continue
        spreads = [Spread.of(values) if values else None for values in known]
        lines.append(_Line(quantity, spreads, [spread_text(quantity, spread) for spread in spreads]))
    return lines


def spread_text(quantity: Quantity, spread: Spread | None) -> str:
    """A mean, and how far seeds deviate from it."""
    if spread is None:
        return text.MISSING
    mean, deviation = spread
    return f"{quantity.format(mean)} ± {quantity.format(deviation)}" if deviation else quantity.format(mean)


def _best(line: _Line) -> list[bool]:
    """Which values are the best: where one can be said to be better, and not all are as good."""
    known = [spread for spread in line.spreads if spread is not None]
    if not line.quantity.better or not line.differs:
        return [False] * len(line.spreads)
    best = min(known) if line.quantity.better == "low" else max(known)
    rounded = line.quantity.format(best.mean)

    def reaches(spread: Spread | None) -> bool:
        if spread is None:
            return False
        apart = abs(spread.mean - best.mean)
        return (
            line.quantity.format(spread.mean) == rounded or apart <= spread.standard_deviation + best.standard_deviation
        )

    found = [reaches(spread) for spread in line.spreads]
    return [False] * len(found) if all(found) else found


def _rows(lines: list[_Line], titles: dict[str, str]) -> list[Row]:
    """Under the heading of each section, or its title, its quantities, the best of each marked."""
    rows: list[Row] = []
    section = ""
    for line in lines:
        if line.quantity.section != section:
            section = line.quantity.section
            rows.append([Cell(titles.get(section, section), "strong"), *("" for _ in line.texts)])
        marked = zip(line.texts, _best(line), strict=True)
        cells = [Cell(f"{one} *", "best") if best else f"{one}  " for one, best in marked]
        rows.append([line.quantity.label, *cells])
    return rows


def _equal(lines: list[_Line]) -> list[Row]:
    return [[f"{line.quantity.section}: {line.quantity.label}", line.texts[0]] for line in lines]


def _settings(found: Comparison) -> Table:
    cases = found.differing_settings
    keys = [*next(iter(cases.values()))]
    rows: list[Row] = [[Cell(key, "code"), *(_written(settings[key]) for settings in cases.values())] for key in keys]
    return Table(("setting", *cases), rows)


def _written(value: object) -> str:
    return text.MISSING if value is None else str(value)
