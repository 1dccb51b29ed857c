"""The command `ssdlab trace`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.intervals import WriteIntervals
from ssdlab.cli import options
from ssdlab.cli.command import App, Later
from ssdlab.cli.declare import argument, group, option
from ssdlab.cli.options import Output, Settings
from ssdlab.cli.output import named, print_json, print_lines, show, status_of
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_trace
from ssdlab.lazy import room
from ssdlab.model.conversion import OBJECTS, Count, all_formats, write
from ssdlab.model.requests import RequestSource, batches
from ssdlab.model.source import INTERVAL_PAGE, LOGS, ingest_dict, ingest_remarks
from ssdlab.model.trace import Workload
from ssdlab.model.trace_file import TraceFile

app = App()
ANALYZE = "Analyse a workload: accesses by address, distance between requests, sizes, working set, sequences, arrivals."
app.add(Later("analyze", ANALYZE))


def _target(written: str) -> Path:
    if written in ("", "-"):
        raise ConfigError(f"OUT {written!r}: must be a file name, such as trace.csv.zst")
    return Path(written)


TARGET = argument("OUT", "File to write; compressed if its name ends in .gz or .zst.", parser=_target)
TO = option(
    "--to -t NAME", "Format to write; by default implied by the file name (.csv, .parquet).", choices=options.formats
)


@app.command(examples="ssdlab trace formats")
def formats(json: bool = options.JSON) -> None:
    """List the trace formats."""
    if json:
        print_json("formats", [format._asdict() for format in all_formats()])
    else:
        print_lines(named(options.formats()))


def _convert(
    source: RequestSource, phase: str, target: Path, to: str | None, ingest: Mapping[str, Any] | None = None
) -> list[Count]:
    """Writes all requests of `source` to a file. If the conversion is interrupted, no file remains."""
    with watching("trace") as watch:
        return write(
            batches(source, watch, phase), target, format=to, streams=source.streams, option="--to", ingest=ingest
        )


def _report(target: Path, counts: list[Count], *, json: bool, notes: Sequence[str] = (), **about: Any) -> None:
    """Prints counts of the requests that were written to a file."""
    if json:
        result = {"path": str(target), "counts": {name: value for name, _, _, value in counts}}
        print_json("conversion", result, notes=notes, **about)
        return
    written = {name: (help_text, value) for name, _, help_text, value in counts}
    print(f"{text.path(target)}: {text.counted(written.pop('requests')[1], 'requests')}")
    written.pop("bytes_out", None)
    for help_text, value in written.values():
        if value:
            print(text.folded(f"note: {value:,} {help_text[0].lower()}{help_text[1:].rstrip('.')}"))
    for note in notes:
        print(text.folded(f"note: {note}"))


@app.command(examples="ssdlab trace convert trace.blktrace.0 trace.parquet --action issue")
@reads_trace
def convert(
    trace: TraceFile,
    target: Path = TARGET,
    to: str | None = TO,
    json: bool = options.JSON,
) -> None:
    """Convert a trace to another format, in bounded memory."""
    for_caches = to is not None and _ssdlab.named(to, OBJECTS) is not None
    source = trace.open_objects("sized-objects") if for_caches else trace.open()
    # Writing to the trace itself would lose details that the output format cannot store.
    if target.exists() and any(path.exists() and target.samefile(path) for path in trace.paths):
        raise ConfigError(f"OUT {text.path(target)}: is the trace itself; choose another file")
    counts = _convert(source, "convert", target, to, source.report())
    _report(target, counts, json=json, notes=ingest_remarks(source.report()), source=trace.about)


@app.command(examples="ssdlab trace generate zipf.csv.zst -w zipf --set workload.requests=5000")
def generate(
    target: Path = TARGET,
    to: str | None = TO,
    settings: Settings = group(),
    workload: str | None = options.WORKLOAD,
    json: bool = options.JSON,
) -> None:
    """Write a generated workload to a file."""
    resolved = settings.resolved(workload=workload)
    source = Workload(resolved)
    counts = _convert(source.open(), "generate", target, to)
    _report(target, counts, json=json, source=source.about, configuration=resolved.to_dict())


@app.command(examples="ssdlab trace info traces/varmail.csv.zst")
@reads_trace
def info(trace: TraceFile, json: bool = options.JSON) -> int:
    """Describe a trace: volumes, sizes, footprint, sequentiality, and irregularities in the file."""
    reader, profile = trace.open(), _ssdlab.Profile()
    partial = False
    with watching("trace") as watch:
        try:
            for batch in batches(reader, watch, ahead=True):
                profile.add(batch)
        except KeyboardInterrupt:
            partial = True
    report = reader.report()
    page = room("view.pages.profile").page(trace.about, profile.figures(), report, partial)
    if json:
        found = {"ingest": ingest_dict(report), "profile": profile.figures()}
        print_json("profile", found, source=trace.about, notes=page.remarks, partial=partial)
    else:
        show(page)
    return status_of(partial)


@app.command(examples="ssdlab trace intervals traces/oltp.csv.zst --log 10%,64MiB --out out/intervals")
@reads_trace
def intervals(
    trace: TraceFile,
    page: str = option("--page SIZE", "Page size.", default=INTERVAL_PAGE, check=_ssdlab.size),
    log: str = option(
        "--log -l SIZES",
        "Log sizes, separated by commas: a share of the written pages (10%), a size (64MiB) or a page count (4096).",
        default=",".join(LOGS),
        check=_ssdlab.check_log_size,
    ),
    output: Output = options.saving(WriteIntervals),
) -> int:
    """Show how soon pages are rewritten, and which rewrites a log of a given size would absorb.

    The write interval of a page write is the number of page writes since the previous write of the same page. A write
    is hot if its interval is at most the log size, and warm if at most twice the log size. All other writes, and first
    writes, are cold. Pages are classified by their mean interval.
    """
    with watching("trace") as watch:
        found = trace.intervals(page=page, logs=log.split(","), monitor=watch)
    return output.deliver(found)
