"""Experiments on the terminal: under each other the document's value, ours and the difference of every cell."""

import textwrap

from rich.console import Console
from rich.text import Text

from ssdlab.cli.tables import console, plain_table, show
from ssdlab.experiments import ExperimentResult, TableResult, words


def show_experiment(result: ExperimentResult) -> None:
    """Prints every table of an experiment."""
    out = console()
    out.print(Text(result.experiment.title, style="bold"))
    out.print(Text(f"reproduces: {result.experiment.document}", style="dim"))
    if result.overrides:
        out.print(Text(f"settings replaced: {', '.join(result.overrides)}", style="bold"))
    for table in result.tables:
        out.print()
        _show_table(out, table)
    if any(table.winners for table in result.tables):
        out.print(Text("\n*: best of its row or column, in the document and here", style="dim"))
    if result.partial:
        out.print(Text(f"partial: {result.finished} of {result.runs} simulations were run; – has no value", "bold red"))


def _show_table(out: Console, result: TableResult) -> None:
    table = result.table
    out.print(Text(f"{table.name}: {words.heading(result)}", style="bold"))
    grid = plain_table(table.rows.name, f"\\ {table.columns.name}", *result.columns, left=2)
    # Narrow, as the star or its place keeps numbers apart.
    grid.padding = (0, 1, 0, 0)
    best_there, best_here = result.stars("document"), result.stars("ours")
    write = words.number_format(result.document, result.ours)
    anchors, misses, difference = result.anchors, result.misses, result.difference
    for row, label in enumerate(result.rows):
        cells = [(row, column) for column in range(len(result.columns))]
        lines = [("ours", [_best(write(float(result.ours[at])), at in best_here) for at in cells])]
        if table.reference is not None:
            lines.insert(0, ("document", [_best(write(float(result.document[at])), at in best_there) for at in cells]))
            texts = [
                Text("anchor  ", style="dim")
                if anchors[at]
                else Text(f"{words.signed(float(difference[at]))} MISS", style="red")
                if misses[at]
                else Text(f"{words.signed(float(difference[at]))}  ")
                for at in cells
            ]
            lines.append((words.difference_word(result), texts))
        if result.seeds > 1:
            lines.append(("spread", [Text(f"{write(float(result.spread[at]))}  ", style="dim") for at in cells]))
        for number, (name, texts) in enumerate(lines):
            grid.add_row(Text("" if number else label), Text(name, style="dim"), *texts)
    show(out, grid)
    for remark in result.remarks:
        out.print(Text(f"note: {remark}", style="yellow"))
    for sentence in words.sentences(result):
        out.print(Text(sentence))
    if table.note:
        # A number and its unit stay together.
        note = textwrap.fill(table.note.replace(" %", "\u00a0%"), min(out.width, 110)).replace("\u00a0", " ")
        out.print(Text(note, style="dim"))


def _best(value: str, best: bool) -> Text:
    """A value, with a star if it is the best; without one as wide as with it."""
    return Text(f"{value} *" if best else f"{value}  ", style="green" if best else "")
