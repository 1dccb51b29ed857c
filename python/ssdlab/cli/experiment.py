"""`ssdlab experiment`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssdlab import ConfigError, experiments, text
from ssdlab.cli import options
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import display

if TYPE_CHECKING:
    from ssdlab.experiments import Experiment, Table

app = typer.Typer(
    help="Reproduce tables of published documents and set ours beside them, cell by cell.", no_args_is_help=True
)


def _complete_name(incomplete: str) -> list[tuple[str, str]]:
    return [(name, experiments.load(name).title) for name in experiments.names() if name.startswith(incomplete)]


Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Name of an experiment, or the path of a folder with experiment.toml or of a TOML file.",
        autocompletion=_complete_name,
    ),
]


@app.command("list", epilog="[bold]Example[/bold]\n\n  ssdlab experiment list")
def list_experiments() -> None:
    """List the experiments that ship with ssdlab."""
    names = experiments.names()
    width = max(map(len, names))
    for name in names:
        print(f"{name:<{width}}  {experiments.load(name).title}")


@app.command(
    epilog="""
[bold]Examples[/bold]

  ssdlab experiment show sbfast

  ssdlab experiment show sbfast --toml > mine.toml
"""
)
def show(
    name: Name,
    toml: Annotated[bool, typer.Option("--toml", help="Print the TOML file: a starting point for your own.")] = False,
) -> None:
    """Tell what an experiment reproduces and which tables it has."""
    experiment = experiments.load(name)
    if toml:
        print(experiment.source, end="")
    else:
        _describe(experiment)


def _describe(experiment: "Experiment") -> None:
    from rich.text import Text

    from ssdlab.cli.tables import console, plain_table
    from ssdlab.cli.tables import show as show_table

    out = console()
    out.print(Text(experiment.title, style="bold"))
    out.print(Text(f"reproduces: {experiment.document}"))
    out.print()
    tables = plain_table("table", "title", "unit", "cells", "seeds", "document", left=3)
    for table in experiment.tables:
        tables.add_row(*map(Text, _row(table)))
    show_table(out, tables)
    supplied = [replay for replay in experiment.traces.values() if replay.supplied]
    if supplied:
        out.print(Text("\ntraces to supply with --trace NAME=FILE"))
        traces = plain_table("trace", "what", "tables", left=3)
        for replay in supplied:
            users = (table.name for table in experiment.tables if replay in experiment.replayed(table))
            traces.add_row(Text(replay.name), Text(replay.help), Text(", ".join(users)))
        show_table(out, traces)


def _row(table: "Table") -> tuple[str, ...]:
    size = f"{len(table.rows.labels)} x {len(table.columns.labels)}"
    has_reference = text.MISSING if table.reference is None else "compared"
    seeds = text.MISSING if not table.simulated else str(len(table.seeds) or 1)
    return table.name, table.title, table.unit, size, seeds, has_reference


def _traces(pairs: list[str]) -> dict[str, list[Path]]:
    """The files of each trace, in order."""
    found: dict[str, list[Path]] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not (name and equals and path):
            raise ConfigError(f"--trace {text.path(pair)}: write NAME=FILE; 'ssdlab experiment show' lists the names")
        found.setdefault(name, []).append(Path(path))
    return found


@app.command(
    epilog="""
[bold]Examples[/bold]

  ssdlab experiment run sbfast --out out/sbfast

  ssdlab experiment run sbfast --table exec_time_sbs_by_slen --set ftl.sbfast.slb=8

  ssdlab experiment run sbfast --table exec_time_msr_web0 --trace web_0=web_0.csv.gz

  ssdlab experiment run my/experiment --json | jq '.tables[0].ours'
"""
)
def run(
    name: Name,
    table: Annotated[
        list[str], typer.Option("--table", "-t", metavar="NAME", help="Only this table; may be repeated.")
    ] = [],
    set: options.Sets = [],
    trace: Annotated[
        list[str],
        typer.Option(
            "--trace",
            metavar="NAME=FILE",
            help="A trace that the experiment asks for; may be repeated, also for several files of one trace.",
        ),
    ] = [],
    jobs: options.Jobs = None,
    json: options.Json = False,
    out: Annotated[
        Path | None, options.out("Write experiment.json, report.html and a CSV file for each table there.")
    ] = None,
) -> int:
    """Simulate every cell of an experiment and compare with the document.

    --set beats every setting of the experiment. Simulations run in parallel, equal ones once; the output does not
    depend on how many at a time. Cells that need a trace stay empty without it. Differences are shown, not judged:
    the exit status is 0. Ctrl-C prints the cells that are finished.
    """
    experiment = experiments.load(name)
    if out is not None:
        options.must_be_writable(out)
    with display() as shown:
        watch = shown.watch(experiment.name)
        result = experiment.run(tables=table, overrides=set, traces=_traces(trace), jobs=jobs, monitor=watch)
        watch.finish()

    def show() -> None:
        from ssdlab.cli.experiment_tables import show_experiment

        show_experiment(result)

    files = "report.html, experiment.json and a CSV file for each table"
    deliver(result, show, json=json, out=out, files=files)
    return 130 if result.partial else 0
