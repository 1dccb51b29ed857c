"""The command `ssdlab validate`."""

from typing import Literal

from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, option
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import watching
from ssdlab.study.validation import amplification, filebench

app = App()

EXAMPLES = """
ssdlab validate --quick
ssdlab validate --json > validation.json
ssdlab validate filebench
"""

Subject = Literal["amplification", "filebench"]


@app.command(examples=EXAMPLES)
def validate(
    subject: Subject = argument("amplification|filebench", "What to validate.", default="amplification"),
    quick: bool = option("--quick", "Run a subset of the rows, with the same tolerance."),
    jobs: int | None = options.JOBS,
    json: bool = options.JSON,
) -> int:
    """amplification: formulas for FIFO, greedy, d-choices and random collection. Every row of the reference is
    simulated and must come within 1 % of the formula, or of the reference simulation where there is no formula.

    filebench: statistics of fileserver, webserver, varmail and oltp, each with its own tolerance; ignores --quick
    and --jobs.

    The exit status is 1 if a row exceeds its tolerance.
    """
    found: amplification.Amplification | filebench.Filebench
    with watching("validate") as watch:
        if subject == "filebench":
            found = filebench.run()
        else:
            chosen = amplification.quick_rows() if quick else list(amplification.rows())
            found = amplification.run(chosen, jobs=jobs, monitor=watch)
    return deliver(found, json=json) or int(not found.passed)
