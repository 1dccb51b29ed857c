"""`ssdlab compare`."""

from pathlib import Path
from typing import Annotated

from ssdlab._ssdlab import ConfigError
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import option
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import display
from ssdlab.cli.traces import reads_trace
from ssdlab.model.config import Config, Sets, layered, set_by
from ssdlab.model.trace_file import TraceFile
from ssdlab.study.compare import Comparison
from ssdlab.study.compare import compare as run_cases

app = App()

EXAMPLES = """
ssdlab compare trace.csv --case ftl.page.gc=greedy --case ftl.page.gc=fifo
ssdlab compare t.csv --case 'a: device.op=7%' --case 'b: device.op=28% seed=2'
ssdlab compare --workload zipf --case preset=faster --case mine.toml
ssdlab compare --case device.op=7% --case device.op=28% --seeds 5 --out out/op
"""

Cases = Annotated[
    list[str],
    option(
        "--case '[LABEL:] SETTING...'",
        "One configuration: settings KEY=VALUE, preset=NAME or FILE.toml, on top of the other options.",
    ),
]


def _case(text: str, preset: str | None, files: list[Path], sets: list[str], short: Sets) -> tuple[str, Config]:
    """Label and configuration of a case as it was written."""
    label, colon, rest = text.partition(":")
    # A colon may also be part of a value (a mix of request sizes); a label holds no '='.
    if not colon or "=" in label:
        label, rest = text, text
    label, where = label.strip(), "--preset"
    own_files: list[Path] = []
    own_sets: list[str] = []
    named = [word.removeprefix("preset=") for word in rest.split() if word.startswith("preset=")]
    if len(named) > 1:
        raise ConfigError(f"--case {text!r}: names the presets {' and '.join(named)}; {options.ONE_PRESET}")
    for word in rest.split():
        if word.startswith("preset="):
            preset, where = named[0], f"--case {label}: preset"
        elif "=" in word:
            own_sets.append(word)
        elif word.endswith(".toml"):
            own_files.append(Path(word))
        else:
            raise ConfigError(f"--case {text!r}: {word!r} is not KEY=VALUE, preset=NAME or FILE.toml; write it as one")
    typed = [[*short, *set_by("--set", sets)], set_by(f"--case {label}", own_sets)]
    return label, layered(preset, [*files, *own_files], typed, where)


@app.command(examples=EXAMPLES)
@reads_trace
def compare(
    trace: TraceFile | None = None,
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    case: Cases = [],
    workload: options.Workload = None,
    fit: options.Fit = None,
    repeat: options.Repeat = None,
    check: options.Check = False,
    seeds: Annotated[
        int,
        option(
            "--seeds INTEGER",
            "Run each case with so many seeds, its own and those that follow; show mean ± standard deviation.",
            min=1,
            max=1_000,
        ),
    ] = 1,
    all: Annotated[bool, option("--all", "Show also the figures that are equal in all cases.", options.OUTPUT)] = False,
    jobs: options.Jobs = None,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(Comparison)] = None,
    figures: options.Figures = None,
) -> int:
    """Shown are the figures in which cases differ; the best value of each row is marked with *. Simulations run in
    parallel; the output does not depend on how many at a time.
    """
    if len(case) < 2:
        raise ConfigError("nothing to compare; give --case at least twice, such as --case ftl.page.gc=greedy")
    if trace and workload:
        raise ConfigError("a trace and --workload exclude each other; leave one of them out")
    short = options.shortcuts(workload=workload, fit=fit, repeat=repeat, check=check)
    cases = [_case(text, preset, config, set, short) for text in case]
    if len({label for label, _ in cases}) < len(cases):
        raise ConfigError("two cases have the same label; name them, as in --case 'mine: device.op=7%'")
    with display() as shown:
        found = run_cases(dict(cases), trace, seeds=seeds, jobs=jobs, monitor=shown.watch)
    return deliver(found, json=json, out=out, figures=figures, page=found.page(all=all))
