"""The command line: one program, `ssdlab`."""

import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ssdlab import InternalError, SsdlabError, __version__, text
from ssdlab.cli import (
    advise,
    analyze,
    cache,
    cache_bench,
    cache_plan,
    calibrate,
    compare,
    compress,
    config,
    experiment,
    presets,
    run,
    trace,
    validate,
)
from ssdlab.cli import list as listing
from ssdlab.cli.once import Once, every_command
from ssdlab.cli.output import PARTIAL

app = typer.Typer(
    name="ssdlab",
    help="A laboratory for the flash storage stack: replays block traces against simulated SSDs.",
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"ssdlab {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command("run", epilog=run.EXAMPLES)(run.run)
app.command("compare", epilog=compare.EXAMPLES)(compare.compare)
app.command("calibrate", epilog=calibrate.EXAMPLES)(calibrate.calibrate)
app.command("validate", epilog=validate.EXAMPLES)(validate.validate)
app.command("list", epilog=listing.EXAMPLES)(listing.listing)
trace.app.command("analyze", epilog=analyze.EXAMPLES)(analyze.analyze)
cache.app.command("bench", epilog=cache_bench.EXAMPLES)(cache_bench.bench)
cache.app.command("plan", epilog=cache_plan.EXAMPLES)(cache_plan.plan)
app.add_typer(experiment.app, name="experiment")
app.add_typer(trace.app, name="trace")
app.add_typer(advise.app, name="advise")
app.add_typer(cache.app, name="cache")
app.add_typer(compress.app, name="compress")
app.add_typer(presets.app, name="presets")
app.add_typer(config.app, name="config")
for command in every_command(app):
    command.cls = Once


def _fail(error: BaseException, status: int) -> int:
    for line in str(error).splitlines() or [type(error).__name__]:
        print(f"ssdlab: {line}", file=sys.stderr)
    return status


def _usage_error(error: typer.TyperException) -> str:
    """What is wrong with the command line, in one line, and where to look it up."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "ssdlab"
    return f"{' '.join(error.format_message().split()).rstrip('.')}; see '{command} --help'"


def main() -> None:
    """Runs the command line and exits: 0 done, 1 a check failed, 2 wrong input, 70 defect, 130 interrupted."""
    # A closed output is as good as one that nobody reads.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # Better a question mark than no result where the terminal's encoding lacks a character.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        status = app(standalone_mode=False) or 0
        sys.stdout.flush()
    except InternalError as error:
        status = _fail(error, 70)
        print(f"ssdlab: it happened with this configuration:\n{error.config}", file=sys.stderr)
    except SsdlabError as error:
        status = _fail(error, 2)
    except typer.TyperException as error:
        # A group without a command has shown its help and has nothing to add.
        status = _fail(ValueError(_usage_error(error)), 2) if error.format_message() else 2
    except (BrokenPipeError, SystemExit):
        # Typer and rich exit where a pipe is closed; no command does.
        # Whoever read our output has seen enough; keep the interpreter from complaining about it on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    except OSError as error:
        name = f"{text.path(error.filename)}: " if error.filename else ""
        status = _fail(OSError(f"{name}{error.strerror or error}; check the path and its permissions"), 2)
    except KeyboardInterrupt:
        status = _fail(KeyboardInterrupt("interrupted; nothing was written"), PARTIAL)
    sys.exit(status)
