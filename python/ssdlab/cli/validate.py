"""`ssdlab validate`."""

import json as json_module
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ssdlab.cli import options
from ssdlab.cli.progress import display

if TYPE_CHECKING:
    from ssdlab.validation import Outcome
    from ssdlab.validation.filebench import Outcome as FilebenchOutcome

EXAMPLES = """
[bold]Examples[/bold]

  ssdlab validate --quick

  ssdlab validate --json > validation.json

  ssdlab validate filebench
"""


class Subject(StrEnum):
    """What is compared."""

    AMPLIFICATION = "amplification"
    FILEBENCH = "filebench"


def validate(
    subject: Annotated[
        Subject, typer.Argument(metavar="[amplification|filebench]", help="What is compared with its reference.")
    ] = Subject.AMPLIFICATION,
    quick: Annotated[bool, typer.Option("--quick", help="A subset of the rows; the tolerance is the same.")] = False,
    jobs: options.Jobs = None,
    json: options.Json = False,
) -> int:
    """Compare write amplification with theory, or generated Filebench workloads with captured ones.

    amplification: formulas for FIFO, greedy, d-choices and random collection. Every row of the reference is
    simulated and must come within 1 % of the formula, or of the reference simulation where there is no formula.

    filebench: statistics of fileserver, webserver, varmail and oltp, each with its own tolerance; --quick and
    --jobs do not matter.

    Exit status 1 if a row misses.
    """
    if subject is Subject.FILEBENCH:
        return _filebench(json)
    from ssdlab.validation import Row, quick_rows, rows, run

    chosen = quick_rows() if quick else list(rows())
    with display() as shown:
        watch = shown.watch("validate")
        finished: list[Outcome] = []

        def one(row: Row) -> "Outcome | None":
            if shown.stopped.is_set():
                return None
            outcome = run(row, monitor=lambda *_: shown.stopped.is_set())
            if outcome is not None:
                finished.append(outcome)
            return outcome

        with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
            futures = [pool.submit(one, row) for row in chosen]
            while wait(futures, timeout=0.1).not_done:
                watch("simulate", len(finished), len(chosen), len(finished))
        watch.finish()
    outcomes = [outcome for future in futures if (outcome := future.result()) is not None]
    if json:
        records = [
            {**asdict(one.row), "ours": one.ours, "difference": one.difference, "passed": one.passed}
            for one in outcomes
        ]
        print(json_module.dumps(records, indent=2))
    else:
        _show(outcomes, len(chosen))
    if len(outcomes) < len(chosen):
        return 130
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def _show(outcomes: "list[Outcome]", rows: int) -> None:
    from ssdlab.cli.tables import console, plain_table, show
    from ssdlab.text import MISSING
    from ssdlab.validation import TOLERANCE

    out = console()
    table = plain_table(
        "row", "workload", "policy", "B", "spare", "theory", "reference", "ours", "difference", "", left=3
    )
    for outcome in outcomes:
        row = outcome.row
        workload = row.workload.split(" (")[0]
        if row.hot_requests is not None:
            workload += f" {row.hot_requests:g}/{row.hot_space:g}"
        table.add_row(
            str(row.number),
            workload,
            row.policy,
            str(row.pages_per_block),
            f"{100 * (1 - 1 / row.alpha):.2f} %",
            MISSING if row.analytic is None else f"{row.analytic:.4f}",
            f"{row.simulated:.4f}",
            f"{outcome.ours:.4f}",
            f"{100 * outcome.difference:+.2f} %",
            "pass" if outcome.passed else "[red]MISS[/red]",
        )
    show(out, table)
    out.print(
        "\nspare: of physical; reference: an independent simulation; difference: from theory, or from the reference\n"
        "where there is no formula. separated: two independent devices under uniform writes, A = sum of r_i A_i."
    )
    passed = sum(outcome.passed for outcome in outcomes)
    if len(outcomes) < rows:
        out.print(f"[bold red]partial: {len(outcomes)} of {rows} rows were run[/bold red]")
    worst = max((abs(outcome.difference) for outcome in outcomes), default=0.0)
    out.print(f"{passed} of {rows} rows within {100 * TOLERANCE:g} %; largest difference {100 * worst:.2f} %")


def _filebench(json: bool) -> int:
    from ssdlab.validation.filebench import SETS, run

    outcomes = [outcome for workload in SETS for outcome in run(workload)]
    if json:
        records = [
            {**asdict(one.row), "generated": one.generated, "difference": one.difference, "passed": one.passed}
            for one in outcomes
        ]
        print(json_module.dumps(records, indent=2))
    else:
        _show_filebench(outcomes)
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def _show_filebench(outcomes: "Sequence[FilebenchOutcome]") -> None:
    from ssdlab.cli.tables import console, plain_table, show
    from ssdlab.validation.filebench import RELATIVE, SHARE_POINTS, STATISTICS

    out = console()
    table = plain_table(
        "workload", "statistic", "unit", "captured", "generated", "difference", "tolerance", "", "", left=3
    )
    reasons: list[str] = []
    for outcome in outcomes:
        row = outcome.row
        what, unit = STATISTICS[row.statistic]
        if row.reason and row.reason not in reasons:
            reasons.append(row.reason)
        table.add_row(
            row.workload,
            what,
            unit,
            f"{row.captured:.2f}",
            f"{outcome.generated:.2f}",
            f"{outcome.difference:+.2f}",
            f"{row.tolerance:g}",
            f"({reasons.index(row.reason) + 1})" if row.reason else "",
            "[red]MISS[/red]" if not outcome.passed else "pass" if outcome.alike else "[yellow]gap[/yellow]",
        )
    show(out, table)
    out.print()
    for number, reason in enumerate(reasons, 1):
        out.print(f"({number}) {reason}")
    alike = sum(outcome.alike for outcome in outcomes)
    gaps = sum(outcome.passed and not outcome.alike for outcome in outcomes)
    missed = sum(not outcome.passed for outcome in outcomes)
    general = f"{SHARE_POINTS:g} points or {100 * RELATIVE:g} %"
    out.print(
        f"{alike} of {len(outcomes)} statistics within {general}; {gaps} known gaps with their reasons; "
        f"{missed} beyond their tolerances"
    )
