"""`ssdlab compress`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssdlab import ConfigError, _ssdlab, text
from ssdlab.cli import options
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import display
from ssdlab.compress import CODECS, PAGE_SIZES, RUNS
from ssdlab.compress import bench as bench_codecs

if TYPE_CHECKING:
    from ssdlab.compress import CompressBench

app = typer.Typer(help="Measure page compressors on this machine.", no_args_is_help=True)

FORMS = ", ".join(form for _, _, form in _ssdlab.codecs())
FILES = 24
"""Files with a row on the terminal."""


@app.callback()
def _group() -> None:
    """Keeps `bench` a command of its own while it is the only one."""


@app.command(
    epilog="[bold]Examples[/bold]\n\n  ssdlab compress bench\n\n"
    "  ssdlab compress bench silesia/ --codec lz4,zstd:1 --page 8KiB --out out/codecs"
)
def bench(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH]...", help="Files and directories; a corpus of our own if left out."),
    ] = None,
    codec: Annotated[str, typer.Option("--codec", metavar="NAMES", help=f"Codecs, with commas: {FORMS}.")] = ",".join(
        CODECS
    ),
    page: Annotated[
        str, typer.Option("--page", metavar="SIZES", help="Sizes of a page, with commas; 'file' for whole files.")
    ] = ",".join(PAGE_SIZES),
    threads: Annotated[
        str | None,
        typer.Option(
            "--threads", metavar="NUMBERS", help="Numbers of threads, with commas; 1 and all processors if left out."
        ),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, metavar="N", help="Timed runs, after one to warm up.")] = RUNS,
    json: options.Json = False,
    out: Annotated[Path | None, options.out("Write report.html, compress.json and compress.csv there.")] = None,
) -> None:
    """Measure how far codecs shrink pages of files, and how long that takes.

    Every page restored is compared with what it was before times count. Times are of this machine, and of others'
    work on it: look at their range. A page that does not shrink is kept as it is and counted.
    """
    if out is not None:
        options.must_be_writable(out)
    with display() as shown:
        watch = shown.watch("compress")
        found = bench_codecs(
            paths,
            codecs=codec.split(","),
            page_sizes=page.split(","),
            threads=None if threads is None else numbers("--threads", threads),
            runs=runs,
            monitor=watch,
        )
        watch.finish()
    deliver(found, lambda: _show(found), json=json, out=out, files="report.html, compress.json and compress.csv")


def numbers(option: str, written: str) -> list[int]:
    """Whole numbers with commas."""
    try:
        return [int(number) for number in written.split(",")]
    except ValueError:
        raise ConfigError(f"{option} {text.path(written)}: not whole numbers with commas; write 1,2,4") from None


def _show(found: "CompressBench") -> None:
    from rich.text import Text

    from ssdlab import compress_tables
    from ssdlab.cli.tables import console, plain_table, show
    from ssdlab.plot_compress import size_text

    out = console()
    out.print(Text(found.corpus.title, style="bold"))
    print(
        f"{text.count(len(found.corpus.members))} files, {text.size(found.corpus.bytes)}, "
        f"{found.runs} runs after one to warm up"
    )
    for remark in found.corpus.remarks():
        out.print(Text(f"note: {remark}", style="yellow"))
    out.print()
    table = plain_table(f"ratio, {size_text(found.page_sizes[0])}", "size", *found.codecs)
    for row in compress_tables.files(found, FILES):
        table.add_row(f"  {row[0]}", *row[1:])
    show(out, table)
    if len(found.corpus.members) > FILES:
        out.print(Text(f"  further files: {text.count(len(found.corpus.members) - FILES)}, with --out", style="dim"))
    for title, rows in compress_tables.tables(found):
        out.print()
        table = plain_table(title, *compress_tables.HEADERS[1:])
        table.columns[0].min_width = 28
        for row in rows:
            table.add_row(f"  {row[0]}", *row[1:])
        show(out, table)
    print(f"\n{compress_tables.LEGEND}")
