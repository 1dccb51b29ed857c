"""`ssdlab trace analyze`."""

from pathlib import Path
from typing import Annotated

import typer

from ssdlab import TraceAnalysis, TraceFile
from ssdlab.analysis import RANGE
from ssdlab.cli import options
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import display

EXAMPLES = "[bold]Example[/bold]\n\n  ssdlab trace analyze traces/varmail.csv.zst --range 64MiB --out out/varmail"


def analyze(
    trace: Annotated[list[Path], typer.Argument(metavar="TRACE", help="Files of one trace, in order.")],
    range: Annotated[
        str, typer.Option("--range", "-r", metavar="SIZE", help="Size of the ranges in which addresses are counted.")
    ] = RANGE,
    format: options.Format = None,
    device: options.Device = None,
    action: options.Action = None,
    skip_bad: options.SkipBad = False,
    json: options.Json = False,
    out: Annotated[Path | None, options.out("Write analysis.html, analysis.json and Parquet columns there.")] = None,
) -> None:
    """Analyse a workload: accesses by address, distance between requests, sizes, working set, sequences, arrivals.

    One pass in bounded memory; reads, writes and trims are told apart. Distances are between the beginnings of a
    request and the one before, of any kind.
    """
    if out is not None:
        options.must_be_writable(out)
    file = TraceFile(*trace, format=format, device=device, action=action, skip_bad=skip_bad)
    with display() as shown:
        watch = shown.watch("trace")
        found = file.analyze(range=range, monitor=watch)
        watch.finish()
    files = "analysis.html, analysis.json and Parquet columns"
    deliver(found, lambda: _show(found), json=json, out=out, files=files)


def _show(found: TraceAnalysis) -> None:
    from rich.text import Text

    from ssdlab.analysis_tables import headlines, remarks, tables
    from ssdlab.cli.tables import console, plain_table, show
    from ssdlab.figures import ingest_remarks, source_text

    out = console()
    out.print(Text(source_text(found.source), style="bold"))
    for remark in (*ingest_remarks(found.ingest), *remarks(found)):
        out.print(Text(f"note: {remark}", style="yellow"))
    out.print()
    table = plain_table("", "")
    table.show_header = False
    for label, value in headlines(found):
        table.add_row(label, value)
    show(out, table)
    for title, headers, rows in tables(found):
        out.print()
        out.print(Text(title, style="bold"))
        table = plain_table(*headers)
        for row in rows:
            table.add_row(*row)
        show(out, table)
