"""The command `ssdlab fleet`."""

from pathlib import Path

from ssdlab import text
from ssdlab.cli import options, traces
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, group, option
from ssdlab.cli.options import Output, Printed, ReplaySettings
from ssdlab.cli.output import print_json
from ssdlab.cli.progress import watching
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.fleet import running, synthetic
from ssdlab.study.fleet.packing import ALONE, RULES
from ssdlab.study.fleet.result import SERVICE_YEARS, Fleet

app = App()

DRIVES = "Drives"


@app.command(
    examples="""
ssdlab fleet run io_traces.csv.gz --out fleets/alibaba
ssdlab fleet run msr/ -s device.capacity=2TiB --pack write-rate
ssdlab fleet run fleet.csv --pack round-robin --drives 40 -p tlc-nvme
"""
)
def run(
    trace: list[Path] = argument("TRACE", "Trace files of many volumes, or folders with such files; read in order."),
    pack: str = option(
        "--pack RULE",
        f"Rule for placing volumes on drives: {', '.join(RULES)}.",
        DRIVES,
        default=ALONE,
        choices=RULES.items,
    ),
    drives: int | None = option(
        "--drives INTEGER", "Number of drives; by default the fewest that hold all volumes.", DRIVES
    ),
    settings: ReplaySettings = group(),
    check: bool = options.CHECK,
    format: str | None = traces.FORMAT,
    columns: str | None = traces.COLUMNS,
    action: str | None = traces.ACTION,
    skip_bad: bool = traces.SKIP_BAD,
    jobs: int | None = options.WORKERS,
    cluster: str | None = options.CLUSTER,
    retry: bool = options.RETRY,
    outcome: list[str] = options.OUTCOMES,
    printed: Printed = group(),
    out: Path | None = option(
        "--out -o DIR",
        "Folder for the results of the fleet; existing results are reused. By default, nothing is saved.",
        options.OUTPUT,
        parser=options.writable,
    ),
) -> int:
    """Run each volume of a trace on its own drive, or on shared drives.

    One pass splits the trace into a file for each volume; then drives run in parallel. Preparing a thousand
    drives sized for their volumes takes about ten seconds; drives of hundreds of GB take minutes. The exit status is 1
    if every drive fails. Ctrl-C saves finished drives; the same command resumes. 'ssdlab fleet show' shows other
    figures.
    """
    base = settings.resolved(settings.shortcuts, check=check)
    files = TraceFile(*trace, format=format, columns=columns, action=action, skip_bad=skip_bad)
    with watching("fleet") as watch:
        found = running.fleet(
            files, base, pack=pack, drives=drives, outcomes=outcome, out=out, jobs=jobs, cluster=cluster, retry=retry,
            monitor=watch,
        )  # fmt: skip
    status = printed.deliver(found)
    if out is not None:
        print(f"\nsaved in {text.path(out)}; see 'ssdlab fleet show --help'", file=printed.aside)
    return status or int(found.study.in_vain)


@app.command(
    examples="""
ssdlab fleet show fleets/alibaba --out out/alibaba
ssdlab fleet show fleets/alibaba -O latency.read.p99_9_ns --years 3
"""
)
def show(
    path: Path = argument("PATH", "Folder of a fleet, written by 'ssdlab fleet run --out'."),
    outcome: list[str] = options.OUTCOMES,
    years: float = option(
        "--years YEARS", "Years of service; drives that wear out are replaced.", default=SERVICE_YEARS, min=0.0
    ),
    output: Output = options.saving(Fleet),
) -> int:
    """Show the distribution of figures over the drives of a fleet, and the number of drives needed."""
    found = running.open_fleet(path).asked_for(outcome, years)
    return output.deliver(found, earlier=True)


@app.command(
    examples="""
ssdlab fleet generate fleet.csv --requests 10M
ssdlab fleet generate fleet.csv.zst --like tencent --volumes 500
"""
)
def generate(
    path: Path = argument("FILE", "File to write, in Alibaba's format (.csv, .csv.gz, .csv.zst) or as .parquet."),
    like: str = option(
        "--like NAME",
        f"Fleet whose published distributions the volumes follow: {' or '.join(synthetic.PROFILES)}.",
        default="alibaba",
        choices=synthetic.PROFILES.keys,
    ),
    volumes: str | None = option("--volumes COUNT", "Number of volumes; by default, the published number."),
    requests: str = option("--requests COUNT", "Total number of requests, such as 10M.", default="10M"),
    seed: int = option("--seed INTEGER", "Random seed of the fleet.", default=1),
    json: bool = options.JSON,
) -> int:
    """Write a synthetic trace of many volumes.

    Volumes differ in rate, share of writes, working set and randomness as published for Alibaba and Tencent.
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
