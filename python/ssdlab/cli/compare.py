"""`ssdlab compare`."""

import json as json_module
import os
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ssdlab import Config, ConfigError, Result, TraceFile, simulate
from ssdlab.cli import options
from ssdlab.cli.progress import Display, display

EXAMPLES = """
[bold]Examples[/bold]

  ssdlab compare trace.csv --case ftl.page.gc=greedy --case ftl.page.gc=fifo

  ssdlab compare trace.csv --case 'a: device.op=7%' --case 'b: device.op=28% seed=2'

  ssdlab compare --workload zipf --case preset=faster --case mine.toml
"""

Cases = Annotated[
    list[str],
    typer.Option(
        "--case",
        metavar="'[LABEL:] SETTING...'",
        help="One configuration: settings KEY=VALUE, preset=NAME or FILE.toml, on top of the options above.",
    ),
]


@dataclass(frozen=True)
class Case:
    """One column of the comparison."""

    label: str
    config: Config


def _case(text: str, preset: str | None, files: list[Path], sets: list[str], short: list[str]) -> Case:
    label, colon, rest = text.partition(":")
    # A colon may also be part of a value (a mix of request sizes); a label holds no '='.
    if not colon or "=" in label:
        label, rest = text, text
    own_files: list[Path] = []
    own_sets: list[str] = []
    for word in rest.split():
        if word.startswith("preset="):
            preset = word.removeprefix("preset=")
        elif "=" in word:
            own_sets.append(word)
        elif word.endswith(".toml"):
            own_files.append(Path(word))
        else:
            raise ConfigError(f"--case {text!r}: {word!r} is not KEY=VALUE, preset=NAME or FILE.toml; write it as one")
    return Case(label.strip(), options.configuration(preset, [*files, *own_files], [*sets, *own_sets], short))


def compare(
    trace: Annotated[
        list[Path] | None,
        typer.Argument(metavar="TRACE", help="Files of one trace, in order; none runs the configured workload."),
    ] = None,
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    case: Cases = [],
    workload: options.Workload = None,
    fit: options.Fit = None,
    check: options.Check = False,
    format: options.Format = None,
    device: options.Device = None,
    action: options.Action = None,
    skip_bad: options.SkipBad = False,
    jobs: options.Jobs = None,
    json: options.Json = False,
) -> int:
    """Run the same requests against several configurations and set the figures side by side.

    The best value of each row is marked with *. Simulations run in parallel; the output does not depend on
    how many at a time.
    """
    if len(case) < 2:
        raise ConfigError("nothing to compare; give --case at least twice, such as --case ftl.page.gc=greedy")
    if trace and workload:
        raise ConfigError("a trace and --workload exclude each other; leave one of them out")
    short = options.shortcuts(workload=workload, fit=fit, check=check)
    cases = [_case(text, preset, config, set, short) for text in case]
    labels = [one.label for one in cases]
    if len({*labels}) < len(labels):
        raise ConfigError("two cases have the same label; name them, as in --case 'mine: device.op=7%'")
    file = options.trace_file(trace or [], format, device, action, skip_bad)
    with display() as shown:
        results = _run_all(cases, file, jobs or os.cpu_count() or 1, shown)
    if json:
        print(json_module.dumps({label: one.to_dict() for label, one in zip(labels, results, strict=True)}, indent=2))
    else:
        from rich.text import Text

        from ssdlab.cli.tables import comparison, console, show, show_remarks
        from ssdlab.figures import source_text

        out = console()
        out.print(Text(source_text(results[0].source), style="bold"))
        # All read the same trace: one set of remarks speaks for all, but the one that was cut short speaks first.
        show_remarks(out, next((one for one in results if one.partial), results[0]))
        show(out, comparison(labels, results))
    return 130 if any(one.partial for one in results) else 0


def _run_all(cases: list[Case], file: TraceFile | None, jobs: int, shown: Display) -> list[Result]:
    def one(case: Case) -> Result:
        watch = shown.watch(case.label)
        try:
            return simulate(case.config, file, monitor=watch)
        except BaseException:
            # One failure fails the comparison: the others need not go on.
            shown.stopped.set()
            raise
        finally:
            watch.finish()

    with ThreadPoolExecutor(min(jobs, len(cases))) as pool:
        futures: list[Future[Result]] = [pool.submit(one, case) for case in cases]
        # In short waits, as signals reach the main thread only between them.
        while wait(futures, timeout=0.1).not_done:
            pass
    # The first in order that failed, so that the message does not depend on timing.
    return [future.result() for future in futures]
