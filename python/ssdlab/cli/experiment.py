"""`ssdlab experiment`."""

from pathlib import Path
from typing import Annotated

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, option
from ssdlab.cli.output import deliver, print_json
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
    """Names with titles."""
    return [(name, _load(name).title) for name in sorted([*experiments.names(), *screening.names()])]


def _complete_name(incomplete: str) -> list[tuple[str, str]]:
    return [(name, title) for name, title in _shipped() if name.startswith(incomplete)]


Name = Annotated[
    str,
    argument(
        "NAME",
        "Name of an experiment, or the path of a folder with experiment.toml or of a TOML file.",
        complete=_complete_name,
    ),
]


@app.command("list", examples="ssdlab experiment list")
def list_experiments(json: options.Json = False) -> None:
    """List the experiments that ship with ssdlab."""
    shipped = _shipped()
    if json:
        print_json("experiments", [{"name": name, "title": title} for name, title in shipped])
        return
    width = max(len(name) for name, _ in shipped)
    for name, title in shipped:
        print(f"{name:<{width}}  {title}")


@app.command(
    examples="""
ssdlab experiment show sbfast
ssdlab experiment show sbfast --toml > mine.toml
"""
)
def show(
    name: Name,
    toml: Annotated[bool, option("--toml", "Print the TOML file: a starting point for your own.")] = False,
    json: options.Json = False,
) -> None:
    """Tell what an experiment reproduces, and which tables it has or which factors it screens."""
    experiment = _load(name)
    if toml and json:
        raise ConfigError("--toml and --json exclude each other; give one of them")
    if toml:
        print(experiment.source, end="")
    elif json:
        print_json("definition", experiment.to_dict())
    else:
        show_page(room("view.pages.contents").page_of(experiment))


def _traces(pairs: list[str]) -> dict[str, list[Path]]:
    """The files of each trace, in order."""
    found: dict[str, list[Path]] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not (name and equals and path):
            raise ConfigError(f"--trace {text.path(pair)}: write NAME=FILE; 'ssdlab experiment show' lists the names")
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
    name: Name,
    table: Annotated[list[str], option("--table -t NAME", "Only this table; may be repeated.")] = [],
    set: options.Sets = [],
    trace: Annotated[
        list[str],
        option(
            "--trace NAME=FILE",
            "A trace that the experiment asks for; may be repeated, also for several files of one trace.",
        ),
    ] = [],
    full: Annotated[bool, option("--full", "The long form of an experiment that screens conditions.")] = False,
    jobs: options.Workers = None,
    cluster: options.Cluster = None,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(ExperimentResult)] = None,
    figures: options.Figures = None,
) -> int:
    """Simulate every cell of an experiment and compare with the document.

    --set beats every setting of the experiment. Simulations run in parallel, equal ones once; the output does not
    depend on how many at a time. Cells that need a trace stay empty without it. Differences are shown, not judged:
    the exit status is 0. Ctrl-C prints the cells that are finished.

    An experiment that screens conditions has effects of factors instead of cells. Its runs are kept below --out, where
    the same command goes on after an interruption; they may be those of a cluster.
    """
    experiment = _load(name)
    if isinstance(experiment, Screening):
        if table or trace:
            raise ConfigError(f"{experiment.name} has neither tables nor traces; leave --table and --trace out")
        with watching(experiment.name) as watch:
            screened = experiment.run(
                form="full" if full else "short", overrides=set, out=out, jobs=jobs, cluster=cluster, monitor=watch
            )
        return deliver(screened, json=json, out=out, figures=figures)
    if full:
        raise ConfigError(f"{experiment.name} has one form only; leave --full out")
    if cluster is not None:
        raise ConfigError(f"{experiment.name} runs on this machine only; leave --cluster out")
    with watching(experiment.name) as watch:
        result = experiment.run(tables=table, overrides=set, traces=_traces(trace), jobs=jobs, monitor=watch)
    return deliver(result, json=json, out=out, figures=figures)
