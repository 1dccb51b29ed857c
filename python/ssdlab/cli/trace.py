"""`ssdlab trace`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.intervals import WriteIntervals
from ssdlab.cli import options
from ssdlab.cli.command import App, Later
from ssdlab.cli.declare import argument, option
from ssdlab.cli.output import deliver, print_json, show, status_of
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_trace
from ssdlab.lazy import room
from ssdlab.model.conversion import FORMATS, OBJECTS, Count, write
from ssdlab.model.requests import RequestSource, batches
from ssdlab.model.source import INTERVAL_PAGE, LOGS, ingest_dict, ingest_remarks
from ssdlab.model.trace import Workload
from ssdlab.model.trace_file import TraceFile

app = App()
ANALYZE = "Analyse a workload: accesses by address, distance between requests, sizes, working set, sequences, arrivals."
app.add(Later("analyze", ANALYZE))


def _target(written: str) -> Path:
    if written in ("", "-"):
        raise ConfigError(f"OUT {written!r}: a trace is written to a file; name one, such as trace.csv.zst")
    return Path(written)


Target = Annotated[Path, argument("OUT", "File to write; .gz and .zst at its end compress.", parser=_target)]
To = Annotated[
    str | None,
    option(
        "--to -t NAME",
        "Format to write; by the name of the file (.csv, .parquet) if left out.",
        complete=options._complete_format,
    ),
]


@app.command(examples="ssdlab trace formats")
def formats(json: options.Json = False) -> None:
    """List the trace formats."""
    if json:
        print_json("formats", [format._asdict() for format in FORMATS])
        return
    width = max(len(format.name) for format in FORMATS)
    for format in FORMATS:
        print(f"{format.name:<{width}}  {format.help}")


def _convert(
    source: RequestSource, phase: str, target: Path, to: str | None, ingest: Mapping[str, Any] | None = None
) -> list[Count]:
    """Writes all of `source`; an interrupted conversion leaves nothing."""
    with watching("trace") as watch:
        return write(
            batches(source, watch, phase), target, format=to, streams=source.streams, option="--to", ingest=ingest
        )


def _report(target: Path, counts: list[Count], *, json: bool, notes: Sequence[str] = (), **about: Any) -> None:
    """What was written to a file."""
    if json:
        result = {"path": str(target), "counts": {name: value for name, _, _, value in counts}}
        print_json("conversion", result, notes=notes, **about)
        return
    written = {name: (help_text, value) for name, _, help_text, value in counts}
    print(f"{text.path(target)}: {text.counted(written.pop('requests')[1], 'requests')}")
    written.pop("bytes_out", None)
    for help_text, value in written.values():
        if value:
            print(f"note: {value:,}: {help_text}")
    for note in notes:
        print(f"note: {note}")


@app.command(examples="ssdlab trace convert trace.blktrace.0 trace.parquet --action issue")
@reads_trace
def convert(
    trace: TraceFile,
    target: Target,
    to: To = None,
    json: options.Json = False,
) -> None:
    """Convert a trace to another format, in bounded memory."""
    for_caches = to is not None and _ssdlab.named(to, OBJECTS) is not None
    source = trace.open_objects("sized-objects") if for_caches else trace.open()
    # What a format does not hold would be gone from the trace as well.
    if target.exists() and any(path.exists() and target.samefile(path) for path in trace.paths):
        raise ConfigError(f"OUT {text.path(target)}: is the trace that is read; name another file")
    counts = _convert(source, "convert", target, to, source.report())
    _report(target, counts, json=json, notes=ingest_remarks(source.report()), source=trace.about)


@app.command(examples="ssdlab trace generate zipf.csv.zst -w zipf --set workload.requests=5000")
def generate(
    target: Target,
    to: To = None,
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    workload: options.Workload = None,
    json: options.Json = False,
) -> None:
    """Write a generated workload to a file."""
    resolved = options.configuration(preset, config, set, options.shortcuts(workload=workload))
    source = Workload(resolved)
    counts = _convert(source.open(), "generate", target, to)
    _report(target, counts, json=json, source=source.about, configuration=resolved.to_dict())


@app.command(examples="ssdlab trace info traces/varmail.csv.zst")
@reads_trace
def info(
    trace: TraceFile,
    json: options.Json = False,
) -> int:
    """Describe a trace: volumes, sizes, footprint, sequentiality, and what was met while reading it."""
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
    page: Annotated[str, option("--page SIZE", "Size of a page.", check=_ssdlab.size)] = INTERVAL_PAGE,
    log: Annotated[
        str,
        option(
            "--log -l SIZES",
            "Sizes of a log, with commas: shares of the written pages (10%), sizes (64MiB) or pages (4096).",
            check=_ssdlab.check_log_size,
        ),
    ] = ",".join(LOGS),
    json: options.Json = False,
    out: Annotated[Path | None, options.out(WriteIntervals)] = None,
    figures: options.Figures = None,
) -> int:
    """Tell when written pages are written again, and how much of that a log of some size would see.

    The write interval of a page write counts the page writes since the previous write of the same page. Hot is an
    interval of at most the log, warm one of at most twice the log, cold a longer one or a first write. Pages are
    classed by the mean of their intervals.
    """
    with watching("trace") as watch:
        found = trace.intervals(page=page, logs=log.split(","), monitor=watch)
    return deliver(found, json=json, out=out, figures=figures)
