"""`ssdlab trace`."""

import json as json_module
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ssdlab import TraceFile, WriteIntervals, _ssdlab, text
from ssdlab.cli import options
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import Watch, display
from ssdlab.convert import FORMATS, Count, write
from ssdlab.intervals import LOGS, PAGE
from ssdlab.trace import RequestSource, batches

app = typer.Typer(help="Look at, convert and generate traces.", no_args_is_help=True)

Target = Annotated[Path, typer.Argument(metavar="OUT", help="File to write; .gz and .zst at its end compress.")]
To = Annotated[
    str | None,
    typer.Option(
        "--to",
        "-t",
        metavar="NAME",
        help="Format to write; by the name of the file (.csv, .parquet) if left out.",
        autocompletion=options._complete_format,
    ),
]


@app.command(epilog="[bold]Example[/bold]\n\n  ssdlab trace formats")
def formats() -> None:
    """List the trace formats."""
    width = max(len(format.name) for format in FORMATS)
    for format in FORMATS:
        print(f"{format.name:<{width}}  {format.help}")


def _watched(source: RequestSource, watch: Watch, phase: str) -> Iterator[_ssdlab.Requests]:
    """The batches of `source`, until Ctrl-C."""
    requests = 0
    for batch in batches(source):
        requests += len(batch)
        yield batch
        if watch(phase, *source.progress(), requests):
            return


def _convert(source: RequestSource, phase: str, target: Path, to: str | None, streams: Any) -> list[Count]:
    """Writes all of `source`; an interrupted conversion leaves nothing."""
    with display() as shown:
        watch = shown.watch("trace")

        def whole() -> Iterator[_ssdlab.Requests]:
            yield from _watched(source, watch, phase)
            if shown.stopped.is_set():
                raise KeyboardInterrupt

        counts = write(whole(), target, format=to, streams=streams)
        watch.finish()
    return counts


def _show_counts(target: Path, counts: list[Count]) -> None:
    written = {name: (help_text, value) for name, _, help_text, value in counts}
    print(f"{text.path(target)}: {written.pop('requests')[1]:,} requests")
    written.pop("bytes_out", None)
    for help_text, value in written.values():
        if value:
            print(f"note: {value:,}: {help_text}")


@app.command(epilog="[bold]Example[/bold]\n\n  ssdlab trace convert trace.blktrace.0 trace.parquet --action issue")
def convert(
    trace: Annotated[list[Path], typer.Argument(metavar="IN", help="Files of one trace, in order.")],
    target: Target,
    to: To = None,
    format: options.Format = None,
    device: options.Device = None,
    action: options.Action = None,
    skip_bad: options.SkipBad = False,
) -> None:
    """Convert a trace to another format, in bounded memory."""
    from ssdlab.figures import ingest_remarks

    source = TraceFile(*trace, format=format, device=device, action=action, skip_bad=skip_bad).open()
    counts = _convert(source, "convert", target, to, source.streams)
    _show_counts(target, counts)
    for remark in ingest_remarks(source.report()):
        print(f"note: {remark}")


@app.command(
    epilog="[bold]Example[/bold]\n\n  ssdlab trace generate zipf.csv.zst --workload zipf --set workload.requests=5000"
)
def generate(
    target: Target,
    to: To = None,
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    workload: options.Workload = None,
) -> None:
    """Write a generated workload to a file."""
    resolved = options.configuration(preset, config, set, options.shortcuts(workload=workload))
    generator = _ssdlab.Generator(resolved._inner)
    _show_counts(target, _convert(generator, "generate", target, to, generator.streams))


@app.command(epilog="[bold]Example[/bold]\n\n  ssdlab trace info traces/varmail.csv.zst")
def info(
    trace: Annotated[list[Path], typer.Argument(metavar="TRACE", help="Files of one trace, in order.")],
    format: options.Format = None,
    device: options.Device = None,
    action: options.Action = None,
    skip_bad: options.SkipBad = False,
    json: options.Json = False,
) -> int:
    """Describe a trace: volumes, sizes, footprint, sequentiality, and what was met while reading it."""
    source = TraceFile(*trace, format=format, device=device, action=action, skip_bad=skip_bad).open()
    profile = _ssdlab.Profile()
    with display() as shown:
        watch = shown.watch("trace")
        for batch in _watched(source, watch, "scan"):
            profile.add(batch)
        watch.finish()
    partial = shown.stopped.is_set()
    report = source.report()
    if json:
        report["counts"] = {name: value for name, _, _, value in report["counts"]}
        print(json_module.dumps({"partial": partial, "ingest": report, "profile": profile.figures()}, indent=2))
    else:
        _show_info(source.format(), profile.figures(), report, partial)
    return 130 if partial else 0


@app.command(
    epilog="[bold]Example[/bold]\n\n  ssdlab trace intervals traces/oltp.csv.zst --log 5%,10%,64MiB --out out/oltp"
)
def intervals(
    trace: Annotated[list[Path], typer.Argument(metavar="TRACE", help="Files of one trace, in order.")],
    page: Annotated[str, typer.Option("--page", metavar="SIZE", help="Size of a page.")] = PAGE,
    log: Annotated[
        str,
        typer.Option(
            "--log",
            "-l",
            metavar="SIZES",
            help="Sizes of a log, with commas: shares of the written pages (10%), sizes (64MiB) or pages (4096).",
        ),
    ] = ",".join(LOGS),
    format: options.Format = None,
    device: options.Device = None,
    action: options.Action = None,
    skip_bad: options.SkipBad = False,
    json: options.Json = False,
    out: Annotated[Path | None, options.out("Write intervals.html, intervals.json and Parquet columns there.")] = None,
) -> None:
    """Tell when written pages are written again, and how much of that a log of some size would see.

    The write interval of a page write counts the page writes since the previous write of the same page. Hot is an
    interval of at most the log, warm one of at most twice the log, cold a longer one or a first write. Pages are
    classed by the mean of their intervals.
    """
    if out is not None:
        options.must_be_writable(out)
    file = TraceFile(*trace, format=format, device=device, action=action, skip_bad=skip_bad)
    with display() as shown:
        watch = shown.watch("trace")
        found = file.intervals(page=page, logs=log.split(","), monitor=watch)
        watch.finish()
    files = "intervals.html, intervals.json and Parquet columns"
    deliver(found, lambda: _show_intervals(found), json=json, out=out, files=files)


def _show_intervals(found: WriteIntervals) -> None:
    from rich.text import Text

    from ssdlab.cli.tables import console, plain_table, show
    from ssdlab.figures import ingest_remarks, window_rows

    out = console()
    for remark in ingest_remarks(found.ingest):
        out.print(Text(f"note: {remark}", style="yellow"))
    footprint = text.size(found.written_pages * found.page_bytes)
    print(
        f"{text.count(found.page_writes)} writes of {text.count(found.written_pages)} pages "
        f"of {text.size(found.page_bytes)} ({footprint})\n"
    )
    headers, rows = window_rows(found.to_dict())
    table = plain_table(*headers)
    for row in rows:
        table.add_row(*row)
    show(out, table)


def _show_info(format: str, profile: dict[str, Any], report: dict[str, Any], partial: bool) -> None:
    from rich.text import Text

    from ssdlab.cli.tables import console, plain_table, show
    from ssdlab.figures import ingest_remarks

    out = console()
    for remark in ingest_remarks(report):
        out.print(Text(f"note: {remark}", style="yellow"))
    if partial:
        out.print(Text("partial: only the beginning of the trace was read", style="bold red"))
    at_least = "" if profile["footprint_exact"] else "at least "
    requests, volumes = profile["requests"], profile["bytes"]
    table = plain_table("", "")
    table.show_header = False
    for label, value in (
        ("format", format),
        ("device", report["device"] or text.MISSING),
        ("duration", text.duration(profile["duration_ns"])),
        ("requests", text.count(sum(requests.values()))),
        ("requests per second", text.short_count(profile["requests_per_s"])),
        ("lowest address", text.size(profile["min_offset"])),
        ("end of the highest request", text.size(profile["extent_bytes"])),
        ("footprint", at_least + text.size(profile["footprint_bytes"])),
        ("footprint of reads", at_least + text.size(profile["read_footprint_bytes"])),
        ("footprint of writes", at_least + text.size(profile["write_footprint_bytes"])),
        ("sequential", text.percent(profile["sequential_share"])),
        ("aligned to 4 KiB", text.percent(profile["aligned_4k_share"])),
        ("streams", text.count(profile["streams"])),
    ):
        table.add_row(label, value)
    show(out, table)
    out.print()
    table = plain_table("operation", "requests", "volume", "mean size")
    for op, count in requests.items():
        if count:
            mean = text.size(volumes[op] / count) if volumes[op] else text.MISSING
            table.add_row(op, text.count(count), text.size(volumes[op]), mean)
    show(out, table)
    out.print()
    table = plain_table("most frequent size", "requests", "share")
    for size, count in profile["top_sizes"]:
        table.add_row(text.size(size), text.count(count), text.percent(count / sum(requests.values())))
    show(out, table)
