"""The command `ssdlab trace analyze`."""

from ssdlab import _ssdlab
from ssdlab.analyse.workload import TraceAnalysis
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import option
from ssdlab.cli.options import Output
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_trace
from ssdlab.model.source import RANGE
from ssdlab.model.trace_file import TraceFile

app = App()


@app.command(examples="ssdlab trace analyze traces/varmail.csv.zst --range 64MiB --out out/varmail")
@reads_trace
def analyze(
    trace: TraceFile,
    range: str = option("--range -r SIZE", "Size of an address range.", default=RANGE, check=_ssdlab.size),
    output: Output = options.saving(TraceAnalysis),
) -> int:
    """Reads the trace once, in bounded memory, and reports reads, writes and trims separately. A distance is the
    difference between the start addresses of a request and of the previous request, of any kind.
    """
    with watching("trace") as watch:
        found = trace.analyze(range=range, monitor=watch)
    return output.deliver(found)
