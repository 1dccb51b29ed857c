"""`ssdlab sweep`."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import option
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_none, reads_trace
from ssdlab.model.config import set_by
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.store.shared import place
from ssdlab.study.sweep import running
from ssdlab.study.sweep.axes import axis
from ssdlab.study.sweep.design import DEFAULT_SAMPLES, DESIGNS, Design
from ssdlab.study.sweep.file import Written, read
from ssdlab.study.sweep.plan import plan, refuse_many

app = App()

NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})

DESIGN = "Design"

EXAMPLES = """
ssdlab sweep -A ftl.page.gc=greedy,fifo -A device.op=7%..28%:4 -o my/study
ssdlab sweep oltp.csv --fit compact -A preset=small-nvme,sata-mlc --seeds 5
ssdlab sweep -A 'device.capacity=1GiB,2GiB workload.requests=100000,200000'
ssdlab sweep -A device.op=3%..30% -A workload.reads=0%..90% --design sobol
ssdlab sweep --file study.toml --out studies/mine --dry-run
"""


def _complete_design(incomplete: str) -> list[tuple[str, str]]:
    return [(name, help) for name, help in DESIGNS.items() if name.startswith(incomplete)]


def _kept(written: str) -> Path | str:
    """Where the study is kept."""
    where = place(written)
    return where if isinstance(where, str) else options.writable(str(where))


@app.command(examples=EXAMPLES)
@reads_trace
def sweep(
    trace: TraceFile | None = None,
    axes: Annotated[
        list[str],
        option(
            "--axis -A KEY=VALUES",
            "Vary a setting, trace or preset: A,B,C, or 3%..30%:10 (ten values), or 1GiB..64GiB:7:log. Several in one "
            "option are linked. May be repeated.",
            DESIGN,
            complete=options.complete_set,
        ),
    ] = [],
    file: Annotated[
        Path | None,
        option("--file -F FILE", "Take the sweep from a TOML file; options add to it, and beat it.", DESIGN),
    ] = None,
    without: Annotated[
        list[str],
        option(
            "--without CONDITION",
            "Leave out combinations, such as 'ftl.page.gc=fifo device.op>20%'. May be repeated.",
            DESIGN,
        ),
    ] = [],
    design: Annotated[
        str | None,
        option("--design NAME", f"{', '.join(DESIGNS)}; grid if left out.", DESIGN, complete=_complete_design),
    ] = None,
    samples: Annotated[
        int | None,
        option("--samples INTEGER", f"Points of a design that draws or fills; {DEFAULT_SAMPLES} if left out.", DESIGN),
    ] = None,
    resolution: Annotated[
        int | None,
        option("--resolution INTEGER", "3, 4 or 5, of a fractional factorial; all combinations if left out.", DESIGN),
    ] = None,
    design_seed: Annotated[
        int | None, option("--design-seed INTEGER", "Of a design that draws; 1 if left out.", DESIGN)
    ] = None,
    seeds: Annotated[
        int | None,
        option("--seeds INTEGER", "Run each point with so many seeds, its own and those that follow.", DESIGN),
    ] = None,
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    workload: options.Workload = None,
    fit: options.Fit = None,
    repeat: options.Repeat = None,
    check: options.Check = False,
    reading: Mapping[str, Any] = NO_OPTIONS,
    jobs: options.Workers = None,
    cluster: options.Cluster = None,
    retry: options.Retry = False,
    dry_run: Annotated[
        bool, option("--dry-run", "List the runs, their memory and time, and run only a pilot.", options.RUNS)
    ] = False,
    yes: Annotated[bool, option("--yes", "Run, however many runs there are.", options.RUNS)] = False,
    outcome: options.Outcomes = [],
    json: options.Json = False,
    out: Annotated[
        Any,
        option(
            "--out -o DIR",
            "Folder of the study, or an address such as s3://bucket/op: what it holds is not run again. Nothing is "
            "kept if left out.",
            options.OUTPUT,
            parser=_kept,
        ),
    ] = None,
) -> int:
    """Runs side by side in processes of their own; equal runs run once, a run that fails is a row with its error, and
    the study does not depend on how many run at a time, or on interruptions. The exit status is 1 if all fail. Ctrl-C
    keeps what is finished; the same command goes on. 'ssdlab study' draws and analyses it.
    """
    written = Written() if file is None else read(file)
    varied = {key for one in axes for key in axis(one).keys}
    kept = [one for one in written.axes if not varied.intersection(one)]
    if not axes and not kept:
        raise ConfigError("nothing is varied; give an axis, such as -A device.op=7%,28%")
    if trace is None and written.trace:
        trace = TraceFile(*written.trace, **reading)
    if trace and workload:
        raise ConfigError("a trace and --workload exclude each other; leave one of them out")
    short = options.shortcuts(workload=workload, fit=fit, repeat=repeat, check=check)
    of_file = set_by(f"{text.path(file)}: set", written.sets)
    base = options.configuration(
        preset or written.preset, [*written.config, *config], set, short,
        where="--preset" if preset else f"{text.path(file)}: preset", below=of_file,
    )  # fmt: skip
    asked = running.question(
        [*kept, *axes],
        base,
        trace,
        design=Design(
            design or written.design or "grid",
            written.samples if samples is None else samples,
            written.resolution if resolution is None else resolution,
            (written.seed or 1) if design_seed is None else design_seed,
        ),
        without=[*written.without, *without],
        seeds=(written.seeds or 1) if seeds is None else seeds,
        outcomes=outcome or written.outcomes,
        reading=reading,
    )
    if not asked.replays:
        reads_none(reading)
    in_file = {key: f"{text.path(file)}: axes" for one in kept for key in one}
    if not yes:
        refuse_many(asked, "if you mean that, add --yes, or fill the space with fewer: --design sobol --samples 512")
    planned = plan(replace(asked, written=in_file))
    if dry_run:
        return deliver(running.preview(planned, out, jobs=jobs), json=json, further="with --json")
    with watching("sweep") as watch:
        found = running.run(planned, out, jobs=jobs, cluster=cluster, retry=retry, monitor=watch)
    further = "" if out is None else f"with 'ssdlab study show {text.path(out)} --out FOLDER'"
    status = deliver(found, json=json, further=further)
    if out is not None:
        print(f"\nkept in {text.path(out)}; see 'ssdlab study --help'", file=sys.stderr if json else sys.stdout)
    return status or int(found.in_vain)
