"""The command `ssdlab diagnose`."""

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.diagnose import diagnose as diagnosed
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import group, option
from ssdlab.cli.options import Output, ReplaySettings
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_trace
from ssdlab.model.diagnosis import Diagnosis
from ssdlab.model.result import Result
from ssdlab.model.trace_file import TraceFile

app = App()

EXAMPLES = """
ssdlab diagnose trace.csv.gz --preset tlc-nvme
ssdlab diagnose --workload zipf --set time=event --no-what-ifs
ssdlab diagnose out/result.json
"""


@app.command(examples=EXAMPLES)
@reads_trace
def diagnose(
    trace: TraceFile | None = None,
    settings: ReplaySettings = group(),
    workload: str | None = options.WORKLOAD,
    no_what_ifs: bool = option("--no-what-ifs", "Skip the simulation of suggested changes."),
    output: Output = options.saving(Diagnosis),
) -> int:
    """Prints what limits throughput, what causes slow requests and write amplification, and what looks wrong in the
    input. Then tries changes, one at a time, with the same requests.

    TRACE may also be the --out directory of a run, or its result.json; then no simulation is run.
    """
    options.refuse_both(trace, workload)
    if trace is not None and all(path.suffix == ".json" or (path / "result.json").is_file() for path in trace.paths):
        if len(trace.paths) > 1 or settings.are_given:
            name = text.path(trace.paths[0])
            raise ConfigError(f"{name}: is a finished run, so its settings cannot be changed; omit the settings")
        return output.deliver(Result.load(trace.paths[0]).diagnose(), earlier=True)
    for path in trace.paths if trace else ():
        if path.is_dir():
            raise ConfigError(
                f"{text.path(path)}: has no result.json; use the --out folder of 'ssdlab run', or a trace. "
                "'ssdlab view' shows results of other commands"
            )
    config = settings.resolved(settings.shortcuts, workload=workload)
    with watching("diagnose") as watch:
        found = diagnosed(config, trace, what_ifs=not no_what_ifs, monitor=watch)
    return output.deliver(found)
