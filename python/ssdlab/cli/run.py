"""The command `ssdlab run`."""

import sys
from pathlib import Path

from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import group, option
from ssdlab.cli.options import Output, RunSettings
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_trace
from ssdlab.lazy import room
from ssdlab.model.result import Result
from ssdlab.model.simulation import savable, simulate
from ssdlab.model.trace_file import TraceFile

app = App()

DRIVE = "Drive"

EXAMPLES = """
ssdlab run trace.csv.gz
zstdcat trace.csv.zst | ssdlab run - --repeat 3
ssdlab run log.txt --columns time=0:us,op=2,offset=3:sectors,size=4
ssdlab run oltp.csv --repeat until-steady --out out/oltp
ssdlab run oltp.csv --live
ssdlab run trace.csv.gz --preset tlc-nvme --set device.op=12.5%
ssdlab run aging.csv --preset small-nvme --fit wrap --save-state aged.drive
ssdlab run trace.csv --preset small-nvme --fit wrap --state aged.drive
ssdlab run job.fio --preset small-nvme --json fio
ssdlab run --workload zipf --json | jq .result.write_amplification
"""

BEFORE_MEASURING = {
    "fill": "preconditioning (filling the drive)",
    "overwrite": "preconditioning (overwriting the drive)",
    "prepare": "preparing the workload",
    "warm-up": "warming up",
}
"""Phases of a run before measurement starts, with their descriptions."""


@app.command(examples=EXAMPLES)
@reads_trace
def run(
    trace: TraceFile | None = None,
    settings: RunSettings = group(),
    live: bool = option(
        "--live",
        "Show throughput, response times, write amplification, free blocks and busy dies during the run.",
        options.OUTPUT,
    ),
    json_fio: bool = option(
        "--json-fio", "For a fio job: print only JSON in fio's format; --json fio does the same.", options.OUTPUT
    ),
    output: Output = options.saving(Result),
    state: Path | None = option("--state FILE", "Start from a saved drive, instead of preconditioning one.", DRIVE),
    save_state: Path | None = option(
        "--save-state FILE", "Save the drive after the run; an interrupted run saves nothing.", DRIVE
    ),
    no_cache: bool = option("--no-cache", "Do not use the cache of preconditioned drives.", DRIVE),
) -> int:
    """Prints host requests, flash operations, response times, wear and projected lifetime. Ctrl-C ends the run and
    prints the partial result.
    """
    config = settings.for_requests(trace)
    if save_state is not None:
        savable(save_state, "--save-state")
    view = room("cli.live").view() if live else None
    with watching("run", view) as watch:
        result = simulate(
            config, trace, monitor=watch, watch=view and view.update, state=state, save_state=save_state,
            keep=not no_cache,
        )  # fmt: skip
    if result.partial and watch.phase in BEFORE_MEASURING:
        raise KeyboardInterrupt(f"nothing was measured, because the run was still {BEFORE_MEASURING[watch.phase]}")
    for use in result.plugins:
        print(f"ssdlab: {use}", file=sys.stderr)
    if result.partial and save_state:
        print("ssdlab: the drive is not saved, because the run was interrupted", file=sys.stderr)
    return output.deliver(result, written=room("model.fio.report").written(result) if json_fio else None)
