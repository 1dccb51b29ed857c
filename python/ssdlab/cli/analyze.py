"""`ssdlab trace analyze`."""

from pathlib import Path
from typing import Annotated

from ssdlab import _ssdlab
from ssdlab.analyse.workload import TraceAnalysis
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import option
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_trace
from ssdlab.model.source import RANGE
from ssdlab.model.trace_file import TraceFile

app = App()


@app.command(examples="ssdlab trace analyze traces/varmail.csv.zst --range 64MiB --out out/varmail")
@reads_trace
def analyze(
    trace: TraceFile,
    range: Annotated[
        str, option("--range -r SIZE", "Size of the ranges in which addresses are counted.", check=_ssdlab.size)
    ] = RANGE,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(TraceAnalysis)] = None,
    figures: options.Figures = None,
) -> int:
    """One pass in bounded memory; reads, writes and trims are told apart. Distances are between the beginnings of a
    request and the one before, of any kind.
    """
    with watching("trace") as watch:
        found = trace.analyze(range=range, monitor=watch)
    return deliver(found, json=json, out=out, figures=figures)
