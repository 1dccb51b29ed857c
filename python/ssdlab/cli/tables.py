"""Results as tables on the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ssdlab import Result, text
from ssdlab.figures import (
    CAUSES,
    FIGURES,
    MERGE_COUNTS,
    QUANTILES,
    STREAM_COLUMNS,
    clock_remark,
    merges,
    operations,
    remarks,
    response_times,
    sections,
    source_text,
    stream_times,
    waiting_times,
)


def console() -> Console:
    """Where tables go."""
    return Console(highlight=False, soft_wrap=True)


def show(out: Console, table: Table) -> None:
    """Prints a table as wide as it is: a shortened number would be a wrong one."""
    out.width = max(out.width, out.measure(table, options=out.options.update(width=10_000)).maximum)
    out.print(table)


def plain_table(*headers: str, left: int = 1) -> Table:
    """A table without lines; the first `left` columns are text, the others numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for index, header in enumerate(headers):
        table.add_column(header, justify="left" if index < left else "right", no_wrap=True)
    return table


def show_remarks(out: Console, result: Result) -> None:
    """What a person should know before reading figures."""
    for remark in remarks(result.summary, result.ingest):
        out.print(Text(f"note: {remark}", style="yellow"))
    if result.partial:
        out.print(Text("partial result: the run was stopped before its end", style="bold red"))
    if clock := clock_remark(result.config["time"]):
        out.print(Text(clock, style="dim"))


def show_result(result: Result) -> None:
    """Prints everything a person wants to know of one run."""
    out = console()
    out.print(Text(source_text(result.source), style="bold"))
    show_remarks(out, result)
    for title, rows in sections(result.summary).items():
        out.print()
        table = plain_table(title, "")
        for label, value in rows:
            table.add_row(f"  {label}", value)
        table.columns[0].min_width = 42
        table.columns[1].min_width = 16
        table.columns[0].header_style = "bold"
        show(out, table)

    causes, rows_by_cause = operations(result.summary)
    if causes:
        out.print()
        table = plain_table("Flash operations", *(CAUSES.get(cause, cause) for cause in causes), "total")
        table.columns[0].header_style = "bold"
        for kind, counts in rows_by_cause:
            table.add_row(f"  {kind}", *map(text.count, counts), text.count(sum(counts)))
        show(out, table)

    merged = merges(result.summary)
    if merged:
        out.print()
        table = plain_table("Merges", *MERGE_COUNTS.values())
        table.columns[0].header_style = "bold"
        for kind, counts in merged:
            table.add_row(f"  {kind}", *map(text.count, counts))
        show(out, table)

    for title, names, times in (
        ("Response times", ("requests", *QUANTILES), response_times(result.summary)),
        ("Waiting and service", tuple(QUANTILES), waiting_times(result.summary)),
    ):
        if not times:
            continue
        out.print()
        table = plain_table(title, *(name for name, _ in times))
        table.columns[0].header_style = "bold"
        for index, name in enumerate(names):
            table.add_row(f"  {name}", *(values[index] for _, values in times))
        show(out, table)

    streams, more = stream_times(result.summary)
    if streams:
        out.print()
        table = plain_table("Streams", *STREAM_COLUMNS)
        table.columns[0].header_style = "bold"
        for name, values in streams:
            table.add_row(f"  {name}", *values)
        show(out, table)
        if more:
            out.print(Text(f"  further streams: {text.count(more)}, in result.json", style="dim"))


def comparison(labels: Sequence[str], results: Sequence[Result]) -> Table:
    """One column per result; the best value of a row is marked where one can be said to be better."""
    table = plain_table("", *labels)
    section = ""
    for figure in FIGURES:
        values = [figure.value(result.summary) for result in results]
        known = [value for value in values if value is not None]
        if not known or (figure.quiet and not any(known)):
            continue
        if figure.section != section:
            section = figure.section
            table.add_row(Text(section, style="bold"))
        # Rounded values that look alike are alike to the reader: none of them is marked as better.
        texts = [figure.text(result.summary) for result in results]
        best = None
        if figure.better and len(set(texts)) > 1:
            best = figure.format(min(known) if figure.better == "low" else max(known))
        cells = [
            Text(f"{cell} *" if cell == best else f"{cell}  ", style="green" if cell == best else "") for cell in texts
        ]
        table.add_row(f"  {figure.label}", *cells)
    return table
