"""`ssdlab tune`."""

from collections.abc import Mapping
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
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.sweep.design import SEARCH, Design
from ssdlab.study.sweep.running import question
from ssdlab.study.tuning import running
from ssdlab.study.tuning.goal import Aims
from ssdlab.study.tuning.result import Tuned

app = App()

NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})

SEARCHED = "Search"

EXAMPLES = """
ssdlab tune -A device.op=3%..40% -A ftl.page.gc -O time.iops:max -o my/best
ssdlab tune oltp.csv -A device.op=3%..40% -O device.physical_bytes \\
    -C 'latency.all.p99_ns<=20ms' --trials 60
ssdlab tune -A ftl.page.map -A ftl.page.map.dftl.cmt=1024..65536:log \\
    -O 'cost=device.physical_bytes + 40 * device.mapping_table_bytes'
ssdlab run --config my/best/best.toml
"""


@app.command(examples=EXAMPLES)
@reads_trace
def tune(
    trace: TraceFile | None = None,
    axes: Annotated[
        list[str],
        option(
            "--axis -A KEY=VALUES",
            "What may be varied: A,B,C, or 3%..30%, or 1GiB..64GiB:log; KEY alone takes all values that it names. "
            "Several in one option are linked. May be repeated.",
            SEARCHED,
            complete=options.complete_set,
        ),
    ] = [],
    outcome: Annotated[
        list[str],
        option(
            "--outcome -O FIGURE",
            "What is made small, or large where more is better, as of time.iops; :min or :max says which. A figure of "
            "the results, or NAME=arithmetic on figures. Several give a front.",
            SEARCHED,
        ),
    ] = [],
    constraint: Annotated[
        list[str],
        option(
            "--constraint -C FIGURE<=BOUND",
            "What has to hold, such as write_amplification<=2 or time.iops>=5000. May be repeated.",
            SEARCHED,
        ),
    ] = [],
    trials: Annotated[
        int,
        option(
            "--trials INTEGER",
            "Points to try, rounded up to a multiple of --batch; all, where fewer.",
            SEARCHED,
            min=1,
        ),
    ] = running.TRIALS,
    seeds: Annotated[int, option("--seeds INTEGER", "Runs of each point, whose mean counts.", SEARCHED, min=1)] = 1,
    repeats: Annotated[
        int, option("--repeats INTEGER", "Fresh seeds with which the best are run again.", SEARCHED, min=1)
    ] = running.REPEATS,
    batch: Annotated[
        int,
        option("--batch INTEGER", "Points proposed at a time: more keep more workers busy.", SEARCHED, min=1),
    ] = running.BATCH,
    search_seed: Annotated[int, option("--search-seed INTEGER", "Of the proposals.", SEARCHED)] = 1,
    warm_start: Annotated[
        Path | None,
        option("--warm-start DIR", "Begin with what a study knows, where its runs are the same.", SEARCHED),
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
    json: options.Json = False,
    out: Annotated[
        Path | None,
        option(
            "--out -o DIR",
            f"Folder of the study, with {Tuned.saved}; a search that it holds goes on.",
            options.OUTPUT,
            parser=options.writable,
        ),
    ] = None,
) -> int:
    """Proposes points by what is known of those before (the tree-structured Parzen estimator of Optuna), runs them as
    'ssdlab sweep' does, and runs the best again with fresh seeds. The trials do not depend on how many runs go on at a
    time, or on interruptions. Ctrl-C keeps what is finished; the same command goes on.
    """
    short = options.shortcuts(workload=workload, fit=fit, repeat=repeat, check=check)
    if trace and workload:
        raise ConfigError("a trace and --workload exclude each other; leave one of them out")
    base = options.configuration(preset, config, set, short)
    asked = question(axes, base, trace, design=Design(SEARCH), without=(), seeds=seeds, outcomes=(), reading=reading)
    if not asked.replays:
        reads_none(reading)
    aims = Aims.of(outcome, constraint)
    with watching("tune") as watch:
        found = running.run(
            asked, aims, running.Budget(trials, repeats, batch, search_seed), out,
            warm_start=warm_start, jobs=jobs, cluster=cluster, monitor=watch,
        )  # fmt: skip
    status = deliver(found, json=json, out=out)
    if out is not None and found.best is not None and not found.best.as_given and not json:
        best = "best.toml" if len(aims.goals) == 1 else "best-1.toml"
        names = "" if trace is None else "".join(f" {text.path(path)}" for path in trace.paths)
        print(f"run it with: ssdlab run --config {text.path(out / best)}{names}")
    return status or int(found.best is None and not found.partial)
