"""`ssdlab study`."""

from pathlib import Path
from typing import Annotated, Any

from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, option
from ssdlab.cli.output import deliver, print_json
from ssdlab.cli.output import show as show_page
from ssdlab.lazy import room
from ssdlab.study.store.shared import place
from ssdlab.study.store.study import Study
from ssdlab.study.survey.curves import Curves
from ssdlab.study.survey.effects import Effects
from ssdlab.study.survey.front import Front
from ssdlab.study.survey.outcome import USUAL

app = App()

Place = Annotated[
    Any,
    argument("PATH", "Folder or address of a study, that --out of 'ssdlab sweep' named.", parser=place),
]
Outcome = Annotated[
    str | None,
    option(
        "--outcome -O FIGURE",
        "A figure of the results, such as write_amplification or time.iops; :min or :max says what is better; the "
        "first of the study if left out.",
    ),
]


def _asked(study: Study, outcome: str | None) -> str:
    """The outcome that is asked for, or the first that 'ssdlab study show' has."""
    return outcome or next((one.figure for one in study.outcomes()), USUAL[0])


@app.command(
    examples="""
ssdlab study show studies/op -O write_amplification
ssdlab study show studies/op --outcomes
ssdlab study show studies/op --out out/study
"""
)
def show(
    path: Place,
    outcome: options.Outcomes = [],
    outcomes: Annotated[
        bool, option("--outcomes", "List the figures that can be outcomes instead.", options.OUTPUT)
    ] = False,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(Study)] = None,
    figures: options.Figures = None,
) -> int:
    """Show every point with its outcomes, mean and 95 % confidence interval over seeds."""
    found = Study.read(path)
    if outcome:
        found = found.asked_for(outcome)
    if outcomes and json:
        print_json("figures", found.figures)
        return 0
    if outcomes:
        show_page(room("view.pages.study").figures(found))
        return 0
    return deliver(found, json=json, out=out, figures=figures, earlier=True)


@app.command(
    examples="""
ssdlab study plot studies/op --x device.op --by ftl.page.gc --out out/curves
"""
)
def plot(
    path: Place,
    outcome: Outcome = None,
    x: Annotated[str | None, option("--x AXIS", "Along curves; the axis with most values if left out.")] = None,
    by: Annotated[str | None, option("--by AXIS", "A curve for each of its values.")] = None,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(Curves)] = None,
    figures: options.Figures = None,
) -> int:
    """Set an outcome against one or two axes: curves with confidence bands over seeds, and a heat map.

    Axes that are not named are averaged over.
    """
    found = Study.read(path)
    return deliver(found.curves(_asked(found, outcome), x, by), json=json, out=out, figures=figures)


@app.command(
    examples="""
ssdlab study effects studies/screening -O latency.all.p99_ns
"""
)
def effects(
    path: Place,
    outcome: Outcome = None,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(Effects)] = None,
    figures: options.Figures = None,
) -> int:
    """Tell what each axis does to an outcome, alone and with another.

    Where every combination was run, also what keeping an axis at a value loses. The design says how: contrasts of a
    factorial, analysis of variance of a grid, Sobol' indices of a Saltelli design, differences of one factor at a time,
    a straight model of other samples.
    """
    found = Study.read(path)
    return deliver(found.effects(_asked(found, outcome)), json=json, out=out, figures=figures)


@app.command(
    examples="""
ssdlab study pareto studies/op -O write_amplification -O device.physical_bytes
"""
)
def pareto(
    path: Place,
    outcome: options.Outcomes = [],
    json: options.Json = False,
    out: Annotated[Path | None, options.out(Front)] = None,
    figures: options.Figures = None,
) -> int:
    """List the points that no other beats in all outcomes."""
    return deliver(Study.read(path).pareto(outcome), json=json, out=out, figures=figures)
