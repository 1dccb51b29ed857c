"""The command `ssdlab experiment`."""

from pathlib import Path

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, option
from ssdlab.cli.options import Output
from ssdlab.cli.output import named, print_json, print_lines
from ssdlab.cli.output import show as show_page
from ssdlab.cli.progress import watching
from ssdlab.lazy import room
from ssdlab.study import experiments, screening
from ssdlab.study.experiments import Experiment, ExperimentResult
from ssdlab.study.screening import Screening

app = App()


def _load(name: str) -> Experiment | Screening:
    return screening.load(name) if screening.holds(name) else experiments.load(name)


def _shipped() -> list[tuple[str, str]]:
    """Returns the name and title of each experiment that ships with ssdlab."""
    return [(name, _load(name).title) for name in sorted([*experiments.names(), *screening.names()])]


NAME = argument(
    "NAME",
    "An experiment: its name, its TOML file, or a folder that contains experiment.toml.",
    choices=_shipped,
)


@app.command("list", examples="ssdlab experiment list")
def list_experiments(json: bool = options.JSON) -> None:
    """List the experiments that ship with ssdlab."""
    shipped = _shipped()
    if json:
        print_json("experiments", [{"name": name, "title": title} for name, title in shipped])
        return
    print_lines(named(shipped))


@app.command(
    examples="""
ssdlab experiment show sbfast
ssdlab experiment show sbfast --toml > mine.toml
"""
)
def show(
    name: str = NAME,
    toml: bool = option("--toml", "Print the TOML file, as a starting point for an experiment of your own."),
    json: bool = options.JSON,
) -> None:
    """Show what an experiment reproduces, and its tables or the factors it screens."""
    experiment = _load(name)
    if toml and json:
        raise ConfigError("use only one of --toml and --json")
    if toml:
        print(experiment.source, end="")
    elif json:
        print_json("definition", experiment.to_dict())
    else:
        show_page(room("view.pages.contents").page_of(experiment))


def _traces(pairs: list[str]) -> dict[str, list[Path]]:
    """Parses values of `--trace`, such as `NAME=FILE`; returns the files of each trace, in order."""
    found: dict[str, list[Path]] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not (name and equals and path):
            raise ConfigError(f"--trace {text.path(pair)}: must be NAME=FILE; 'ssdlab experiment show' lists the names")
        found.setdefault(name, []).append(Path(path))
    return found


@app.command(
    examples="""
ssdlab experiment run sbfast --out out/sbfast
ssdlab experiment run sbfast -t exec_time_sbs_by_slen --set ftl.sbfast.slb=8
ssdlab experiment run sbfast -t exec_time_msr_web0 --trace web_0=web_0.csv.gz
ssdlab experiment run my/experiment --json | jq '.result.tables[0].ours'
ssdlab experiment run pardispatcher-conditions --full --out out/conditions
"""
)
def run(
    name: str = NAME,
    only: list[str] = option("--only -t TABLE", "Run only this table; may be repeated."),
    set: list[str] = options.SET,
    trace: list[str] = option(
        "--trace NAME=FILE",
        "Trace file that the experiment needs; may be repeated, with the same NAME for several files of one trace.",
    ),
    full: bool = option("--full", "Run the full form of a screening experiment instead of its short form."),
    jobs: int | None = options.WORKERS,
    cluster: str | None = options.CLUSTER,
    output: Output = options.saving(ExperimentResult),
) -> int:
    """Simulate every cell of an experiment and compare with the document.

    --set overrides the experiment's settings. Simulations run in parallel, and identical simulations run once; the
    output does not depend on --jobs. A cell stays empty if its trace is missing. The exit status is 0 even if cells
    differ from the document. Ctrl-C prints the finished cells.

    A screening experiment reports effects of factors instead of cells. It can run on a cluster. It saves its runs in
    --out; after an interruption, the same command resumes.
    """
    experiment = _load(name)
    if isinstance(experiment, Screening):
        if only or trace:
            raise ConfigError(f"{experiment.name} has neither tables nor traces; omit --only and --trace")
        with watching(experiment.name) as watch:
            screened = experiment.run(
                form="full" if full else "short",
                overrides=set,
                out=output.out,
                jobs=jobs,
                cluster=cluster,
                monitor=watch,
            )
        return output.deliver(screened)
    if full:
        raise ConfigError(f"{experiment.name} has no short form and always runs in full; omit --full")
    if cluster is not None:
        raise ConfigError(f"{experiment.name} runs only on this machine; omit --cluster")
    with watching(experiment.name) as watch:
        result = experiment.run(tables=only, overrides=set, traces=_traces(trace), jobs=jobs, monitor=watch)
    return output.deliver(result)
