"""`ssdlab run`."""

from pathlib import Path
from typing import Annotated

from ssdlab._ssdlab import ConfigError
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import watching
from ssdlab.model.result import Result
from ssdlab.model.simulation import simulate

app = App()

EXAMPLES = """
ssdlab run traces/oltp.csv.zst --fit compact --repeat until-steady --out out/oltp
ssdlab run trace.csv.gz --preset tlc-nvme --set device.op=12.5%
ssdlab run --workload zipf --set seed=2 --json | jq .write_amplification
"""

BEFORE_MEASURING = {
    "fill": "preconditioning (filling the drive)",
    "overwrite": "preconditioning (overwriting the drive)",
    "warm-up": "warming up",
}
"""What a run was at in the phases that have no result."""


@app.command(examples=EXAMPLES)
def run(
    trace: options.MaybeTrace = None,
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    workload: options.Workload = None,
    fit: options.Fit = None,
    repeat: options.Repeat = None,
    check: options.Check = False,
    format: options.Format = None,
    device: options.Device = None,
    action: options.Action = None,
    skip_bad: options.SkipBad = False,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(Result)] = None,
) -> int:
    """Prints what the host asked for, what the flash did, response times, wear and projected lifetime.
    Ctrl-C ends the run and prints the partial result.
    """
    if trace and workload:
        raise ConfigError("a trace and --workload exclude each other; leave one of them out")
    short = options.shortcuts(workload=workload, fit=fit, repeat=repeat, check=check)
    settings = options.configuration(preset, config, set, short)
    file = options.trace_file(trace or [], format, device, action, skip_bad)
    with watching("run") as watch:
        result = simulate(settings, file, monitor=watch)
    if result.partial and watch.phase in BEFORE_MEASURING:
        raise KeyboardInterrupt(f"the run was {BEFORE_MEASURING[watch.phase]}, and nothing was measured yet")
    return deliver(result, json=json, out=out)
