"""`ssdlab run`."""

from pathlib import Path
from typing import Annotated

import typer

from ssdlab import ConfigError, simulate
from ssdlab.cli import options
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import display

EXAMPLES = """
[bold]Examples[/bold]

  ssdlab run traces/oltp.csv.zst --fit grow --out out/oltp

  ssdlab run trace.csv.gz --preset tlc-nvme --set device.op=12.5%

  ssdlab run --workload zipf --set seed=2 --json | jq .write_amplification
"""

Out = Annotated[Path | None, options.out("Write result.json, Parquet columns, config.toml and report.html there.")]


def run(
    trace: Annotated[
        list[Path] | None,
        typer.Argument(metavar="TRACE", help="Files of one trace, in order; none runs the configured workload."),
    ] = None,
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    workload: options.Workload = None,
    fit: options.Fit = None,
    check: options.Check = False,
    format: options.Format = None,
    device: options.Device = None,
    action: options.Action = None,
    skip_bad: options.SkipBad = False,
    json: options.Json = False,
    out: Out = None,
) -> int:
    """Replay a trace, or a generated workload, against a simulated SSD.

    Prints what the host asked for, what the flash did, response times, wear and projected lifetime.
    Ctrl-C ends the run and prints the partial result.
    """
    if trace and workload:
        raise ConfigError("a trace and --workload exclude each other; leave one of them out")
    if out is not None:
        options.must_be_writable(out)
    short = options.shortcuts(workload=workload, fit=fit, check=check)
    settings = options.configuration(preset, config, set, short)
    file = options.trace_file(trace or [], format, device, action, skip_bad)
    with display() as shown:
        watch = shown.watch("run")
        result = simulate(settings, file, monitor=watch)
        watch.finish()

    def show() -> None:
        from ssdlab.cli.tables import show_result

        show_result(result)

    files = "report.html, result.json, config.toml and Parquet columns"
    deliver(result, show, json=json, out=out, files=files)
    return 130 if result.partial else 0
