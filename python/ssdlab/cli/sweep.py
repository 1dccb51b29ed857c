"""The command `ssdlab sweep`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import group, option
from ssdlab.cli.options import Printed, RunSettings
from ssdlab.cli.progress import watching
from ssdlab.cli.traces import reads_none, reads_trace
from ssdlab.model.config import layered, set_by
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.store.shared import place
from ssdlab.study.sweep import running
from ssdlab.study.sweep.axes import axis
from ssdlab.study.sweep.design import DEFAULT_SAMPLES, DESIGNS, Design
from ssdlab.study.sweep.file import Written, read
from ssdlab.study.sweep.plan import Question, plan, refuse_many

app = App()

DESIGN = "Design"

EXAMPLES = """
ssdlab sweep -A ftl.page.gc=greedy,fifo -A device.op=7%..28%:4 -o my/study
ssdlab sweep oltp.csv --fit compact -A preset=small-nvme,sata-mlc --seeds 5
ssdlab sweep -A 'device.capacity=1GiB,2GiB workload.requests=100000,200000'
ssdlab sweep -A device.op=3%..30% -A workload.reads=0%..90% --design sobol
ssdlab sweep --file study.toml --out studies/mine --dry-run
"""


def _kept(written: str) -> Path | str:
    """Parses the value of `--out`, which is the folder or the address of a study."""
    where = place(written)
    return where if isinstance(where, str) else options.writable(str(where))


@dataclass
class DesignOptions:
    """Options that determine which points of a sweep to run."""

    axes: list[str] = option(
        "--axis -A KEY=VALUES",
        "Vary a setting, trace or preset: A,B,C, or 3%..30%:10 (ten values), or 1GiB..64GiB:7:log. Settings in one "
        "option vary together. May be repeated.",
        DESIGN,
        complete=options.complete_set,
    )
    file: Path | None = option(
        "--file -F FILE", "Read the sweep from a TOML file; options extend or override the file.", DESIGN
    )
    without: list[str] = option(
        "--without CONDITION",
        "Exclude combinations, such as 'ftl.page.gc=fifo device.op>20%'. May be repeated.",
        DESIGN,
    )
    design: str | None = option(
        "--design NAME", f"Design: {', '.join(DESIGNS)}; grid by default.", DESIGN, choices=DESIGNS.items
    )  # fmt: skip
    samples: int | None = option(
        "--samples INTEGER",
        f"Number of points in a random or space-filling design; {DEFAULT_SAMPLES} by default.",
        DESIGN,
    )
    resolution: int | None = option(
        "--resolution INTEGER",
        "Resolution of a fractional factorial: 3, 4 or 5; all combinations by default.",
        DESIGN,
    )
    design_seed: int | None = option("--design-seed INTEGER", "Seed of a random design; 1 by default.", DESIGN)
    seeds: int | None = option(
        "--seeds INTEGER", "Run each point with this many successive seeds, starting at its own seed.", DESIGN
    )  # fmt: skip

    def question(
        self, settings: RunSettings, trace: TraceFile | None, reading: Mapping[str, Any], outcomes: list[str]
    ) -> Question:
        """Returns the sweep to run. Command-line options override the sweep in the file."""
        file = Written() if self.file is None else read(self.file)
        in_file = f"{text.path(self.file)}: "
        varied = {key for written in self.axes for key in axis(written).keys}
        kept = [keys for keys in file.axes if not varied.intersection(keys)]
        if not self.axes and not kept:
            raise ConfigError("nothing is varied; add an axis, such as -A device.op=7%,28%")
        if trace is None and file.trace:
            trace = TraceFile(*file.trace, **reading)
        options.refuse_both(trace, settings.workload)
        base = layered(
            settings.preset or file.preset,
            [*file.config, *settings.config],
            [set_by(f"{in_file}set", file.sets), [*settings.shortcuts, *set_by("--set", settings.set)]],
            "--preset" if settings.preset else f"{in_file}preset",
        )
        design = Design(
            self.design or file.design or "grid",
            file.samples if self.samples is None else self.samples,
            file.resolution if self.resolution is None else self.resolution,
            (file.seed or 1) if self.design_seed is None else self.design_seed,
        )
        asked = running.question(
            [*kept, *self.axes],
            base,
            trace,
            design=design,
            without=[*file.without, *self.without],
            seeds=(file.seeds or 1) if self.seeds is None else self.seeds,
            outcomes=outcomes or file.outcomes,
            reading=reading,
        )
        if not asked.replays:
            reads_none(reading)
        return replace(asked, written={key: f"{in_file}axes" for keys in kept for key in keys})


@app.command(examples=EXAMPLES)
@reads_trace
def sweep(
    trace: TraceFile | None = None,
    design: DesignOptions = group(),
    settings: RunSettings = group(),
    reading: Mapping[str, Any] = MappingProxyType({}),
    jobs: int | None = options.WORKERS,
    cluster: str | None = options.CLUSTER,
    retry: bool = options.RETRY,
    dry_run: bool = option(
        "--dry-run", "List the runs with estimated memory and time; run only a pilot.", options.RUNS
    ),
    yes: bool = option("--yes", "Allow any number of runs.", options.RUNS),
    outcome: list[str] = options.OUTCOMES,
    printed: Printed = group(),
    out: Any = option(
        "--out -o DIR",
        "Folder for the study, or an address such as s3://bucket/op; existing runs are reused. By default, nothing is "
        "saved.",
        options.OUTPUT,
        parser=_kept,
    ),
) -> int:
    """Simulates in parallel, each run in its own process. Identical runs are simulated once, and a failed run becomes a
    row with its error. The study does not depend on the number of processes or on interruptions. The exit status is 1
    if all runs fail. Ctrl-C saves finished runs; the same command resumes. 'ssdlab study' draws and analyses the study.
    """
    asked = design.question(settings, trace, reading, outcome)
    if not yes:
        refuse_many(asked, "to run them all, add --yes; to sample fewer, add --design sobol --samples 512")
    planned = plan(asked)
    if dry_run:
        return printed.deliver(running.preview(planned, out, jobs=jobs))
    with watching("sweep") as watch:
        found = running.run(planned, out, jobs=jobs, cluster=cluster, retry=retry, monitor=watch)
    status = printed.deliver(found)
    if out is not None:
        print(f"\nsaved in {text.path(out)}; see 'ssdlab study --help'", file=printed.aside)
    return status or int(found.in_vain)
