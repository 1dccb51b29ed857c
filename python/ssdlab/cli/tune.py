"""The command `ssdlab tune`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ssdlab import text
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import group, option
from ssdlab.cli.options import Printed, RunSettings
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_none, reads_trace
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.sweep.design import SEARCH, Design
from ssdlab.study.sweep.running import question
from ssdlab.study.tuning import running
from ssdlab.study.tuning.goal import Aims
from ssdlab.study.tuning.result import Tuned

app = App()

SEARCHED = "Search"

EXAMPLES = """
ssdlab tune -A device.op=3%..40% -A ftl.page.gc -O time.iops:max -o my/best
ssdlab tune oltp.csv -A device.op=3%..40% -O device.physical_bytes \\
    -C 'latency.all.p99_ns<=20ms' --trials 60
ssdlab tune -A ftl.page.map -A ftl.page.map.dftl.cmt=1024..65536:log \\
    -O 'cost=device.physical_bytes + 40 * device.mapping_table_bytes'
ssdlab run --config my/best/best.toml
"""


@dataclass
class Search:
    """Options for the search."""

    axes: list[str] = option(
        "--axis -A KEY=VALUES",
        "Setting to vary: A,B,C, or 3%..30%, or 1GiB..64GiB:log; KEY alone tries all values. Settings in one option "
        "vary together. May be repeated.",
        SEARCHED,
        complete=options.complete_set,
    )
    outcome: list[str] = option(
        "--outcome -O FIGURE",
        "Objective: a metric of the results, or NAME=arithmetic on metrics; append :min or :max to set the direction. "
        "Several objectives give a Pareto front.",
        SEARCHED,
    )
    constraint: list[str] = option(
        "--constraint -C FIGURE<=BOUND",
        "Constraint to meet, such as write_amplification<=2 or time.iops>=5000. May be repeated.",
        SEARCHED,
    )
    trials: int = option(
        "--trials INTEGER",
        "Maximum number of points to try, rounded up to a multiple of --batch.",
        SEARCHED,
        default=running.TRIALS,
        min=1,
    )
    seeds: int = option("--seeds INTEGER", "Runs per point; the search uses their mean.", SEARCHED, default=1, min=1)
    repeats: int = option(
        "--repeats INTEGER",
        "Number of times to rerun the best points, each with a fresh seed.",
        SEARCHED,
        default=running.REPEATS,
        min=1,
    )
    batch: int = option(
        "--batch INTEGER",
        "Number of points proposed together; larger batches keep more workers busy.",
        SEARCHED,
        default=running.BATCH,
        min=1,
    )
    search_seed: int = option("--search-seed INTEGER", "Random seed of the search.", SEARCHED, default=1)
    warm_start: Path | None = option(
        "--warm-start DIR", "Folder of an earlier study; its results replace identical runs.", SEARCHED
    )


@app.command(examples=EXAMPLES)
@reads_trace
def tune(
    trace: TraceFile | None = None,
    search: Search = group(),
    settings: RunSettings = group(),
    reading: Mapping[str, Any] = MappingProxyType({}),
    jobs: int | None = options.WORKERS,
    cluster: str | None = options.CLUSTER,
    printed: Printed = group(),
    out: Path | None = option(
        "--out -o DIR",
        f"Folder for the study and {Tuned.saved}; an existing search in the folder is resumed.",
        options.OUTPUT,
        parser=options.writable,
    ),
) -> int:
    """Proposes points from the results so far (the tree-structured Parzen estimator of Optuna), runs them like 'ssdlab
    sweep', and repeats the best points with fresh seeds. The trials do not depend on the number of workers or on
    interruptions. Ctrl-C saves finished trials; the same command resumes.
    """
    base = settings.for_requests(trace)
    asked = question(
        search.axes, base, trace, design=Design(SEARCH), without=(), seeds=search.seeds, outcomes=(), reading=reading
    )  # fmt: skip
    if not asked.replays:
        reads_none(reading)
    aims = Aims.of(search.outcome, search.constraint)
    with watching("tune") as watch:
        found = running.run(
            asked, aims, running.Budget(search.trials, search.repeats, search.batch, search.search_seed), out,
            warm_start=search.warm_start, jobs=jobs, cluster=cluster, monitor=watch,
        )  # fmt: skip
    status = printed.deliver(found, out=out)
    if out is not None and found.best is not None and not found.best.as_given and not printed.is_data:
        best = "best.toml" if len(aims.goals) == 1 else "best-1.toml"
        names = "" if trace is None else "".join(f" {text.path(path)}" for path in trace.paths)
        print(f"run the best configuration with: ssdlab run --config {text.path(out / best)}{names}")
    return status or int(found.best is None and not found.partial)
