"""`ssdlab fleet`."""

import sys
from pathlib import Path
from typing import Annotated

from ssdlab import text
from ssdlab.cli import options, traces
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, option
from ssdlab.cli.output import deliver, print_json
from ssdlab.cli.progress import watching
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.fleet import running, synthetic
from ssdlab.study.fleet.packing import ALONE, RULES
from ssdlab.study.fleet.result import SERVICE_YEARS, Fleet

app = App()

DRIVES = "Drives"


def _complete_rule(incomplete: str) -> list[tuple[str, str]]:
    return [(name, help) for name, help in RULES.items() if name.startswith(incomplete)]


def _complete_like(incomplete: str) -> list[str]:
    return [name for name in synthetic.PROFILES if name.startswith(incomplete)]


Years = Annotated[float, option("--years YEARS", "How long drives are to serve: worn-out ones are replaced.", min=0.0)]


@app.command(
    examples="""
ssdlab fleet run io_traces.csv.gz --out fleets/alibaba
ssdlab fleet run msr/ -s device.capacity=2TiB --pack write-rate
ssdlab fleet run fleet.csv --pack round-robin --drives 40 -p tlc-nvme
"""
)
def run(
    trace: Annotated[
        list[Path],
        argument("TRACE", "Files of many volumes, or folders of files, read one after the other."),
    ],
    pack: Annotated[
        str,
        option(
            "--pack RULE",
            f"Which volumes share a drive: {', '.join(RULES)}.",
            DRIVES,
            complete=_complete_rule,
        ),
    ] = ALONE,
    drives: Annotated[
        int | None,
        option("--drives INTEGER", "How many there are; as few as have room for all if left out.", DRIVES),
    ] = None,
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    fit: options.Fit = None,
    repeat: options.Repeat = None,
    check: options.Check = False,
    format: traces.Format = None,
    columns: traces.Columns = None,
    action: traces.Action = None,
    skip_bad: traces.SkipBad = False,
    jobs: options.Workers = None,
    cluster: options.Cluster = None,
    retry: options.Retry = False,
    outcome: options.Outcomes = [],
    json: options.Json = False,
    out: Annotated[
        Path | None,
        option(
            "--out -o DIR",
            "Folder of the fleet: what it holds is not done again. Nothing is kept if left out.",
            options.OUTPUT,
            parser=options.writable,
        ),
    ] = None,
) -> int:
    """Run every volume of a trace on a drive of its own, or on drives that volumes share.

    One pass parts the trace into a file for each volume; then drives run side by side. Each takes what a run on it
    takes: a thousand volumes some ten seconds beside those of their requests where the trace sizes the drives, minutes
    on drives of hundreds of GB. The exit status is 1 if every drive fails. Ctrl-C keeps what is finished; the same
    command goes on. 'ssdlab fleet show' shows other figures.
    """
    short = options.shortcuts(fit=fit, repeat=repeat, check=check)
    base = options.configuration(preset, config, set, short)
    files = TraceFile(*trace, format=format, columns=columns, action=action, skip_bad=skip_bad)
    with watching("fleet") as watch:
        found = running.fleet(
            files, base, pack=pack, drives=drives, outcomes=outcome, out=out, jobs=jobs, cluster=cluster, retry=retry,
            monitor=watch,
        )  # fmt: skip
    further = "" if out is None else f"with 'ssdlab fleet show {text.path(out)} --out FOLDER'"
    status = deliver(found, json=json, further=further)
    if out is not None:
        print(f"\nkept in {text.path(out)}; see 'ssdlab fleet show --help'", file=sys.stderr if json else sys.stdout)
    return status or int(found.study.in_vain)


@app.command(
    examples="""
ssdlab fleet show fleets/alibaba --out out/alibaba
ssdlab fleet show fleets/alibaba -O latency.read.p99_9_ns --years 3
"""
)
def show(
    path: Annotated[Path, argument("PATH", "Folder of a fleet, that --out of 'ssdlab fleet run' named.")],
    outcome: options.Outcomes = [],
    years: Years = SERVICE_YEARS,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(Fleet)] = None,
    figures: options.Figures = None,
) -> int:
    """Show how figures are distributed over the drives of a fleet, and how many drives it takes."""
    found = running.open_fleet(path).asked_for(outcome, years)
    return deliver(found, json=json, out=out, figures=figures, earlier=True)


@app.command(
    examples="""
ssdlab fleet generate fleet.csv --requests 10M
ssdlab fleet generate fleet.csv.zst --like tencent --volumes 500
"""
)
def generate(
    path: Annotated[Path, argument("FILE", "Alibaba's format (.csv, .csv.gz, .csv.zst), or .parquet.")],
    like: Annotated[
        str,
        option(
            "--like NAME",
            f"Whose published shares it has: {' or '.join(synthetic.PROFILES)}.",
            complete=_complete_like,
        ),
    ] = "alibaba",
    volumes: Annotated[
        str | None, option("--volumes COUNT", "How many; as many as were published if left out.")
    ] = None,
    requests: Annotated[str, option("--requests COUNT", "Of all volumes, such as 10M.")] = "10M",
    seed: Annotated[int, option("--seed INTEGER", "Another one gives another fleet of the kind.")] = 1,
    json: options.Json = False,
) -> int:
    """Write a synthetic trace of many volumes.

    Volumes differ in rate, share of writes, working set and randomness as was published of Alibaba's and Tencent's.
    """
    with watching("fleet") as watch:
        made = synthetic.generate_fleet(
            path,
            like=like,
            volumes=None if volumes is None else options.count("--volumes", volumes),
            requests=options.count("--requests", requests),
            seed=seed,
            monitor=watch,
        )
    if json:
        print_json("fleet-trace", made._asdict() | {"path": str(made.path)})
    else:
        print(
            f"{text.path(made.path)}: {text.count(made.requests)} requests to {text.count(made.volumes)} volumes in "
            f"{text.duration(1e9 * made.seconds)}"
        )
    return 0
