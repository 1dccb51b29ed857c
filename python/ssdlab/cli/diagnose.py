"""`ssdlab diagnose`."""

from pathlib import Path
from typing import Annotated

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.diagnose import diagnose as diagnosed
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import option
from ssdlab.cli.output import deliver
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
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    workload: options.Workload = None,
    fit: options.Fit = None,
    repeat: options.Repeat = None,
    no_what_ifs: Annotated[bool, option("--no-what-ifs", "Do not try what findings say would change them.")] = False,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(Diagnosis)] = None,
    figures: options.Figures = None,
) -> int:
    """Prints what bounds throughput, what slow requests waited for, why write amplification is what it is, and what of
    the input is suspicious; then it runs the same requests against drives with one thing changed.

    TRACE may also be what --out named, or its result.json; then nothing is run.
    """
    if trace and workload:
        raise ConfigError("a trace and --workload exclude each other; leave one of them out")
    saved = trace is not None and all(path.suffix == ".json" or _is_run(path) for path in trace.paths)
    short = options.shortcuts(workload=workload, fit=fit, repeat=repeat)
    if saved and trace:
        if len(trace.paths) > 1 or preset or config or set or short:
            name = text.path(trace.paths[0])
            raise ConfigError(f"{name}: is a run that is over; leave out the settings, or give the trace of the run")
        found = Result.load(trace.paths[0]).diagnose()
        return deliver(found, json=json, out=out, figures=figures, earlier=True)
    for path in trace.paths if trace else ():
        if path.is_dir():
            raise ConfigError(
                f"{text.path(path)}: holds no result.json; give the folder that 'ssdlab run --out' named, or a trace. "
                "What other commands saved, 'ssdlab view' shows"
            )
    settings = options.configuration(preset, config, set, short)
    with watching("diagnose") as watch:
        found = diagnosed(settings, trace, what_ifs=not no_what_ifs, monitor=watch)
    return deliver(found, json=json, out=out, figures=figures)


def _is_run(path: Path) -> bool:
    return (path / "result.json").is_file()
