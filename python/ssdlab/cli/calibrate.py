"""`ssdlab calibrate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssdlab import ConfigError, calibrate_target, text
from ssdlab import calibrate as calibrate_simulated
from ssdlab.calibration.grid import IN_FLIGHT
from ssdlab.calibration.simulated import REQUESTS
from ssdlab.calibration.target import ROUNDS, SECONDS, SIZE
from ssdlab.cli import options
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import display

if TYPE_CHECKING:
    from ssdlab.calibration import Calibration

EXAMPLES = """
[bold]Examples[/bold]

  ssdlab calibrate --preset sata-mlc --set device.capacity=8GiB --out out/calibration

  ssdlab calibrate --target /dev/sdx --seconds 2 --json
"""

GRID = "Grid"
REAL = "Real drive"


def calibrate(
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    regions: Annotated[
        str | None,
        typer.Option(
            "--regions",
            metavar="SIZES",
            help="Sizes of a region, with commas; powers of two from 64MiB on, and the whole drive, if left out.",
            rich_help_panel=GRID,
        ),
    ] = None,
    in_flight: Annotated[
        str | None,
        typer.Option(
            "--in-flight",
            metavar="NUMBERS",
            help="Requests in flight in a region, with commas; powers of two up to 256, or up to what the queue of the "
            "simulated drive holds, if left out.",
            rich_help_panel=GRID,
        ),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "--size",
            metavar="SIZE",
            help=f"Size of a request (short for --set workload.size=...); {SIZE} on a real drive if left out.",
            rich_help_panel=GRID,
        ),
    ] = None,
    requests: Annotated[
        int | None,
        typer.Option(
            "--requests",
            min=1,
            metavar="N",
            help=f"Requests measured in each cell, after as many to warm up; {REQUESTS} if left out.",
            rich_help_panel=GRID,
        ),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option(
            "--target",
            metavar="PATH",
            help="Measure this file or unused block device with fio instead; only reads, unless --write.",
            rich_help_panel=REAL,
        ),
    ] = None,
    write: Annotated[
        bool,
        typer.Option("--write", help="Measure writes too: DESTROYS WHAT THE TARGET HOLDS.", rich_help_panel=REAL),
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="S",
            help=f"Time of each cell in each of {ROUNDS} rounds; {SECONDS:g} if left out.",
            rich_help_panel=REAL,
        ),
    ] = None,
    offset: Annotated[
        str | None,
        typer.Option(
            "--offset", metavar="SIZE", help="Where every region begins; 0B if left out.", rich_help_panel=REAL
        ),
    ] = None,
    jobs: options.Jobs = None,
    json: options.Json = False,
    out: Annotated[Path | None, options.out("Write report.html, calibration.json and calibration.csv there.")] = None,
) -> int:
    """Find the size of regions and batches for the I/O scheduler pardispatcher by a micro-test.

    Measures throughput of random requests into one region against its size and the requests in flight,
    reads and writes by themselves. The knee of each curve, the fewest in flight that reach 95 % of its
    best, is the batch; the region is the smallest that reaches 95 % of the best of all. A simulated drive
    is filled first, and overwritten only if precondition.overwrite is set. Ctrl-C prints what is there.
    """
    if out is not None:
        options.must_be_writable(out)
    sizes = None if regions is None else regions.split(",")
    depths = None if in_flight is None else _numbers(in_flight)
    with display() as shown:
        if target is None:
            if write or seconds is not None or offset is not None:
                raise ConfigError("--write, --seconds and --offset are for a real drive; name one with --target")
            short = [] if size is None else [f"workload.size={size}"]
            settings = options.configuration(preset, config, set, short)
            watch = shown.watch("calibrate")
            found = calibrate_simulated(
                settings, regions=sizes, in_flight=depths, requests=requests or REQUESTS, jobs=jobs, monitor=watch
            )
        else:
            if preset is not None or config or set or requests is not None or jobs is not None:
                raise ConfigError(
                    "--preset, --config, --set, --requests and --jobs are for a simulated drive; "
                    "leave out these or --target"
                )
            watch = shown.watch("calibrate")
            found = calibrate_target(
                target,
                write=write,
                size=size or SIZE,
                regions=sizes,
                in_flight=depths or IN_FLIGHT,
                offset=offset or "0B",
                seconds=SECONDS if seconds is None else seconds,
                monitor=watch,
            )
        watch.finish()
    deliver(found, lambda: _show(found), json=json, out=out, files="report.html, calibration.json and calibration.csv")
    return 130 if found.partial else 0


def _numbers(written: str) -> list[int]:
    try:
        return [int(number) for number in written.split(",")]
    except ValueError:
        raise ConfigError(f"--in-flight {text.path(written)}: not whole numbers with commas; write 1,2,4,8") from None


def _show(found: "Calibration") -> None:
    from rich.text import Text

    from ssdlab.calibration import words
    from ssdlab.cli.tables import console, plain_table, show

    out = console()
    out.print(Text(words.title(found), style="bold"))
    out.print(words.how(found))
    for remark in found.remarks:
        out.print(Text(f"note: {remark}", style="yellow"))
    if found.partial:
        out.print(Text("partial result: the calibration was stopped before its end", style="bold red"))
    for op in found.iops:
        out.print()
        table = plain_table(words.HEADINGS[op], *words.headers(found))
        table.columns[0].min_width = 17
        for region, cells in words.rows(found, op):
            table.add_row(f"  {region}", *cells)
        show(out, table)
    print(f"\n{words.LEGEND}\n")
    for sentence in words.sentences(found):
        print(sentence)
    settings = words.settings(found)
    if settings:
        print("\nFor the scheduler pardispatcher:")
    for setting in settings:
        print(f"  {setting}")
