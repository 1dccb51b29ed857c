"""The command `ssdlab study`."""

from typing import Any

from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, option
from ssdlab.cli.options import Output
from ssdlab.cli.output import print_json
from ssdlab.cli.output import show as show_page
from ssdlab.lazy import room
from ssdlab.study.store.shared import place
from ssdlab.study.store.study import Study
from ssdlab.study.survey.curves import Curves
from ssdlab.study.survey.effects import Effects
from ssdlab.study.survey.front import Front
from ssdlab.study.survey.outcome import USUAL

app = App()

PATH = argument("PATH", "Folder or address of a study, written by 'ssdlab sweep --out'.", parser=place)
OUTCOME = option(
    "--outcome -O FIGURE",
    "Metric of the results, such as write_amplification or time.iops; append :min if less is better, :max if "
    "more is better. The study's first outcome by default.",
)


def _asked(study: Study, outcome: str | None) -> str:
    """Returns the requested outcome or, by default, the outcome that 'ssdlab study show' lists first."""
    return outcome or next((outcome.figure for outcome in study.outcomes()), USUAL[0])


@app.command(
    examples="""
ssdlab study show studies/op -O write_amplification
ssdlab study show studies/op --outcomes
ssdlab study show studies/op --out out/study
"""
)
def show(
    path: Any = PATH,
    outcome: list[str] = options.OUTCOMES,
    outcomes: bool = option("--outcomes", "List the metrics available for --outcome instead.", options.OUTPUT),
    output: Output = options.saving(Study),
) -> int:
    """Show every point with its outcomes: mean and 95 % confidence interval over seeds."""
    found = Study.read(path)
    if outcome:
        found = found.asked_for(outcome)
    if outcomes and output.json:
        print_json("figures", found.figures)
        return 0
    if outcomes:
        show_page(room("view.pages.study").figures(found))
        return 0
    return output.deliver(found, earlier=True)


@app.command(examples="ssdlab study plot studies/op --x device.op --by ftl.page.gc --out out/curves")
def plot(
    path: Any = PATH,
    outcome: str | None = OUTCOME,
    x: str | None = option("--x AXIS", "Sweep axis to plot on the x-axis; by default, the one with the most values."),
    by: str | None = option("--by AXIS", "Axis that is split into curves, one per value."),
    output: Output = options.saving(Curves),
) -> int:
    """Plot an outcome against one or two axes: curves with confidence bands over seeds, and a heat map.

    Results are averaged over all other axes.
    """
    found = Study.read(path)
    return output.deliver(found.curves(_asked(found, outcome), x, by))


@app.command(examples="ssdlab study effects studies/screening -O latency.all.p99_ns")
def effects(
    path: Any = PATH,
    outcome: str | None = OUTCOME,
    output: Output = options.saving(Effects),
) -> int:
    """Show how each axis, and each pair of axes, affects an outcome.

    If every combination was run, also shows the loss from fixing one axis at a value. The method depends on the design:
    contrasts for a factorial, analysis of variance for a grid, Sobol' indices for a Saltelli design, differences for
    one factor at a time, and a linear model for other samples.
    """
    found = Study.read(path)
    return output.deliver(found.effects(_asked(found, outcome)))


@app.command(examples="ssdlab study pareto studies/op -O write_amplification -O device.physical_bytes")
def pareto(
    path: Any = PATH,
    outcome: list[str] = options.OUTCOMES,
    output: Output = options.saving(Front),
) -> int:
    """List the Pareto-optimal points. No other point is at least as good in every outcome and better in one."""
    return output.deliver(Study.read(path).pareto(outcome))
