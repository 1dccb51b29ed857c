"""`ssdlab run`."""

from pathlib import Path
from typing import Annotated

from ssdlab import ConfigError, Result, simulate
from ssdlab.cli import options
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import watching

EXAMPLES = """
[bold]Examples[/bold]

  ssdlab run traces/oltp.csv.zst --fit compact --repeat until-steady --out out/oltp

  ssdlab run trace.csv.gz --preset tlc-nvme --set device.op=12.5%

  ssdlab run --workload zipf --set seed=2 --json | jq .write_amplification
"""


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
    """Replay a trace, or a generated workload, against a simulated SSD.

    Prints what the host asked for, what the flash did, response times, wear and projected lifetime.
    Ctrl-C ends the run and prints the partial result.
    """
    if trace and workload:
        raise ConfigError("a trace and --workload exclude each other; leave one of them out")
    short = options.shortcuts(workload=workload, fit=fit, repeat=repeat, check=check)
    settings = options.configuration(preset, config, set, short)
    file = options.trace_file(trace or [], format, device, action, skip_bad)
    with watching("run") as watch:
        result = simulate(settings, file, monitor=watch)
    return deliver(result, json=json, out=out)
