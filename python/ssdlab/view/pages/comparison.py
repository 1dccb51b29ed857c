"""Builds the page of a comparison, with a column for each case."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from ssdlab import text
from ssdlab.model.metrics import PER_DAY, SHOWN, SUMMARY, Metric
from ssdlab.model.remarks import remarks_on
from ssdlab.model.replayed import OVERLOADED, modes_text, overload
from ssdlab.model.sizing import LIFETIMES, lifetime_title, sizing
from ssdlab.model.source import source_text
from ssdlab.study.compare import Comparison, Spread
from ssdlab.view.charts.latency import took_time
from ssdlab.view.page import Cell, Figure, Page, Paragraph, Row, Section, Table
from ssdlab.view.pages.figures import of_seeds
from ssdlab.view.pages.remarks import clock_remark, unlike
from ssdlab.view.pages.tables import above, under
from ssdlab.view.times import name_of_times, title_of_times

TIMES = "Response time"
"""Name of the section that contains response-time metrics."""

ALIKE = "all seeds of a case gave equal results: the results do not depend on random numbers"


class _Line(NamedTuple):
    """A metric with its values in all cases."""

    metric: Metric
    spreads: list[Spread | None]
    texts: list[str]

    @property
    def differs(self) -> bool:
        """True if the metric's rounded values differ between cases."""
        return len(set(self.texts)) > 1


def page(comparison: Comparison) -> Page:
    """Builds the page of a comparison: the metrics of `SUMMARY`, then other metrics that differ, then equal metrics."""
    results = comparison.results
    lines = _lines(comparison)
    at_rate = any(line.differs and line.metric.label.endswith(PER_DAY) for line in lines)
    first = [line for line in lines if line.metric.name in SUMMARY]
    differing = [
        line
        for line in lines
        if line not in first
        and (len(results) == 1 or line.differs or (at_rate and line.metric.name.startswith("lifetime.host_bytes")))
    ]
    equal = [line for line in lines if line not in first and line not in differing]
    # The remarks above the table include remarks on response times, even if only some rows are shown.
    remarks = {
        label: [note.text for note in remarks_on(run) if note.summed != OVERLOADED] for label, run in results.items()
    }
    notes = _by_case(remarks)
    spreads = [spread for line in lines for spread in line.spreads if spread is not None]
    if comparison.seeds > 1 and not any(spread.standard_deviation for spread in spreads):
        notes.append(ALIKE)
    titles = _titles(comparison)
    sections = [
        Section("Summary", [Table(("", *comparison.runs), _rows(first, titles, comparison))]),
        Section("Settings that differ", [_settings(comparison)], terminal=False),
        *_drawn(comparison),
    ]
    if differing:
        table = Table(("", *comparison.runs), _rows(differing, titles, comparison))
        sections.append(Section("Further metrics that differ", [table], detail=True))
    if equal:
        once = [line._replace(spreads=line.spreads[:1], texts=line.texts[:1]) for line in equal]
        table = Table(("", "all cases"), _rows(once, titles, comparison))
        sections.append(Section("Equal in all cases", [table], detail=True))
    count = text.counted(len(differing), "further metrics")
    differ = "differs" if len(differing) == 1 else "differ"
    lead = {
        label: [
            *sizing([(run.config, run.summary)]),
            clock_remark(run.config),
            OVERLOADED if overload(run.summary) else None,
        ]
        for label, run in results.items()
    }
    return Page(
        title=source_text(next(iter(results.values())).source) + modes_text(run.summary for run in results.values()),
        lead=[Paragraph(line, "soft") for line in _by_case(lead)],
        partial=_stopped(comparison),
        remarks=notes,
        sections=sections,
        legend=_legend(comparison),
        more=f"{count} {differ}, {len(equal)} are equal (--all shows them); --out DIR draws charts in report.html",
    )


def _drawn(comparison: Comparison) -> Iterator[Section]:
    yield Section("At a glance", [Figure(comparison.plot.chart)], terminal=False)
    if len(comparison.runs) > 1:
        note = "Change of each mean relative to the first case."
        yield Section("Differences", [Figure(comparison.plot_differences.chart)], note=note, terminal=False)
    runs = comparison.results.values()
    ops = [op for op in ("read", "write") if any(took_time(run.latency.get(op)) for run in runs)]
    if ops:
        note = "Below the curves: response time relative to the first case at the same percentile."
        figures = [Figure(partial(comparison.plot_latency_percentiles.chart, op), f"{op.capitalize()}s") for op in ops]
        yield Section("Response time by percentile", figures, note=note, terminal=False)
    figure = Figure(comparison.plot_write_amplification.chart)
    yield Section("Write amplification over the run", [figure], terminal=False)
    if ops:
        yield Section("Over simulated time", [Figure(comparison.plot_course.chart)], terminal=False)


def _by_case(remarks: Mapping[str, Iterable[str | None]]) -> list[str]:
    """Returns the remarks. A remark that does not apply to all cases is preceded by the names of its cases."""
    cases: dict[str, list[str]] = {}
    for label, lines in remarks.items():
        for line in filter(None, lines):
            cases.setdefault(line, []).append(label)
    return [line if len(labels) == len(remarks) else f"{', '.join(labels)}: {line}" for line, labels in cases.items()]


def _stopped(comparison: Comparison) -> str:
    if not comparison.partial:
        return ""
    whole = {label: sum(not run.partial for run in runs) for label, runs in comparison.runs.items()}
    counts = [f"{label}: {count} of {comparison.seeds} runs were finished" for label, count in whole.items()]
    return "; ".join(
        [
            *(counts if comparison.seeds > 1 else ["the comparison was stopped"]),
            *(f"{label}: a run was stopped before its end" for label in comparison.cut_short),
            *(f"{label}: not measured" for label in comparison.missing),
        ]
    )


def _legend(comparison: Comparison) -> str:
    best = "" if comparison.cut_short or len(comparison.runs) == 1 else "*: best of its row"
    if best and (why := unlike(comparison.results)):
        best = f"no best values: {why}"
    if comparison.seeds == 1:
        return best
    counts = sorted({len(runs) for runs in comparison.runs.values()})
    seeds = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    mean = f"mean of {seeds} seeds ± standard deviation (omitted if 0)"
    if best.startswith("*"):
        best += " or no farther from the best than the sum of both standard deviations"
    return f"{mean}; {best}" if best else mean


def _lines(comparison: Comparison) -> list[_Line]:
    """Returns the metrics for which at least one case has a value."""
    lines = []
    for metric in SHOWN:
        runs = [[metric.value(result.summary) for result in results] for results in comparison.runs.values()]
        known = [[value for value in values if value is not None] for values in runs]
        if not any(known) or (metric.quiet and not any(map(any, known))):
            continue
        spreads = [Spread.of(values) if values else None for values in known]
        texts = [spread_text(metric, spread, len(values)) for spread, values in zip(spreads, runs, strict=True)]
        lines.append(_Line(metric, spreads, texts))
    return lines


def spread_text(metric: Metric, spread: Spread | None, runs: int) -> str:
    """Formats mean and standard deviation, and the number of seeds if fewer than `runs` have a value."""
    if spread is None:
        return text.MISSING
    mean, deviation, seeds = spread
    spread_of = f" ± {metric.format(deviation)}" if deviation else ""
    return f"{metric.format(mean)}{spread_of}{of_seeds(seeds, runs)}"


def _best(line: _Line) -> set[int]:
    """Returns the indices of the best values; none if all are equal, or if neither high nor low values are better."""
    if not line.metric.better or not line.differs:
        return set()
    known = {at: spread for at, spread in enumerate(line.spreads) if spread is not None}
    best = (min if line.metric.better == "less" else max)(known.values(), key=lambda spread: spread.mean)

    def reaches(spread: Spread) -> bool:
        deviations = (spread.standard_deviation or 0.0) + (best.standard_deviation or 0.0)
        equal = line.metric.format(spread.mean) == line.metric.format(best.mean)
        return equal or abs(spread.mean - best.mean) <= deviations

    reached = {at for at, spread in known.items() if reaches(spread)}
    return reached if len(reached) < len(known) else set()


def _rows(lines: list[_Line], titles: dict[str, str], comparison: Comparison) -> list[Row]:
    """Returns table rows of metrics under the titles of their sections, with the best values marked.

    Nothing is marked if a case was cut short, or if the cases differ in flash or in their model of time. Metrics of
    requests below a cache or block layer are not marked either, because the case that is best for the host may send
    only slow requests to the drive. Time metrics are not marked if the times include waiting in only some cases.
    """
    unranked = {*_below(comparison), *([TIMES] if len(_names_of_times(comparison)) > 1 else [])}
    alike = not comparison.cut_short and unlike(comparison.results) is None
    rows: list[Row] = []
    section = ""
    for line in lines:
        title = titles.get(line.metric.section, line.metric.section)
        if title != section:
            section = title
            rows.append([Cell(title, "strong"), *("" for _ in line.texts)])
        best = _best(line) if alike and line.metric.section not in unranked else ()
        cells = [Cell(f"{value} *", "best") if at in best else f"{value}  " for at, value in enumerate(line.texts)]
        rows.append([line.metric.label, *cells])
    return rows


def _names_of_times(comparison: Comparison) -> list[str]:
    return [*dict.fromkeys(name_of_times(run.config) for run in comparison.results.values())]


def _titles(comparison: Comparison) -> dict[str, str]:
    """Returns the titles of sections whose title differs from their name, by section name."""
    titles, names = _below(comparison), _names_of_times(comparison)
    if len(names) > 1:
        titles[TIMES] = " or ".join(names).capitalize()
    elif names == ["service time"]:
        titles[TIMES] = title_of_times(next(iter(comparison.results.values())).config)
    lives = {lifetime_title(run.summary) for run in comparison.results.values()}
    titles.setdefault(LIFETIMES, " or ".join(sorted(lives)))
    return titles


def _below(comparison: Comparison) -> dict[str, str]:
    """Returns titles of sections on requests below a cache or block layer, which say if only some cases have it."""
    of_cases = [above(run.summary) for run in comparison.results.values()]
    titles = {}
    for section in dict.fromkeys(section for layers in of_cases for section in layers):
        first, *others = layers = [*dict.fromkeys(of_case.get(section) for of_case in of_cases)]
        if first and not others:
            titles[section] = under(section, first)
        else:
            where = " or ".join(f"a {layer}" for layer in layers if layer)
            titles[section] = f"{section} (below {where}, if the case has one)"
    return titles


def _settings(comparison: Comparison) -> Table:
    cases = comparison.differing_settings
    keys = [*next(iter(cases.values()))]
    rows: list[Row] = [[Cell(key, "code"), *(_written(settings[key]) for settings in cases.values())] for key in keys]
    return Table(("setting", *cases), rows)


def _written(value: object) -> str:
    """Formats a setting's value as in configuration files."""
    if value is None:
        return text.MISSING
    return str(value).lower() if isinstance(value, bool) else str(value)
