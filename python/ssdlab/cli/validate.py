"""The command `ssdlab validate`."""

from typing import Literal

from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, group, option
from ssdlab.cli.options import Output
from ssdlab.cli.progress import watching
from ssdlab.study.validation import amplification, filebench, fit

app = App()

EXAMPLES = """
ssdlab validate --quick
ssdlab validate --json > validation.json
ssdlab validate filebench
ssdlab validate fit --out out/fits
"""

Subject = Literal["amplification", "filebench", "fit"]


@app.command(examples=EXAMPLES)
def validate(
    subject: Subject = argument("amplification|filebench|fit", "What to validate.", default="amplification"),
    quick: bool = option("--quick", "Run a subset of the validation cases, with the same tolerance."),
    jobs: int | None = options.JOBS,
    output: Output = group(
        out=option(
            "--out -o DIR",
            "Directory for report and JSON. 'validate fit' also saves its simulations there; after an interruption, "
            "the same command resumes.",
            options.OUTPUT,
            parser=options.writable,
        )
    ),
) -> int:
    """amplification: formulas for FIFO, greedy, d-choices and random victim selection. Every row of the reference is
    simulated. Its result must be within 1 % of the formula, or of a reference simulation if no formula exists.

    filebench: statistics of fileserver, webserver, varmail and oltp, each with its own tolerance; ignores --quick
    and --jobs.

    fit: fits of simulated drives, whose known parameters must be found within 10 %, and of real drives, whose capacity
    must be predicted within 5 %. With --quick, one simulated drive is fitted instead of ten.

    The exit status is 1 if a row exceeds its tolerance.
    """
    found: amplification.Amplification | filebench.Filebench | fit.FitValidation
    with watching("validate") as watch:
        if subject == "filebench":
            found = filebench.run()
        elif subject == "fit":
            found = fit.run(1 if quick else fit.BOXES, jobs=jobs, monitor=watch, out=output.out)
        else:
            chosen = amplification.quick_rows() if quick else list(amplification.rows())
            found = amplification.run(chosen, jobs=jobs, monitor=watch)
    return output.deliver(found) or int(not found.passed)
