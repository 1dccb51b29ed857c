"""The command line: one program, `ssdlab`."""

import errno
import io
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ssdlab import interrupt, text
from ssdlab._ssdlab import InternalError, SsdlabError, __version__
from ssdlab.cli.command import App, Command, Group, load
from ssdlab.cli.output import STDOUT
from ssdlab.model.files import naming


class _Interrupted(BaseException):
    """Ctrl-C ended a command."""


COMMANDS = {
    "run": "Replay a trace, or a generated workload, against a simulated SSD.",
    "serve": "Serve a simulated drive to any program, by the protocol NBD.",
    "compare": "Run the same requests against several configurations and set the figures side by side.",
    "sweep": "Run many configurations: grids, samples of a space, screening designs; survives interruption.",
    "tune": "Find the configuration with the best outcome that meets constraints.",
    "study": "Show, draw and analyse what a sweep found: curves, effects, the Pareto front.",
    "fleet": "Run the many volumes of a trace on drives: distributions over the fleet; make synthetic fleets.",
    "view": "Open the page of a run, or of a study, in a browser.",
    "calibrate": "Find the size of regions and batches for the I/O scheduler pardispatcher by a micro-test.",
    "validate": "Compare write amplification with theory, or generated Filebench workloads with captured ones.",
    "experiment": "Reproduce tables of published documents and set ours beside them, cell by cell.",
    "diagnose": "Say what bounds a run, what slow requests waited for, and what would change it.",
    "explain": "Play an FTL step by step on a small drive, in a page of its own.",
    "trace": "Look at, convert and generate traces.",
    "advise": "Choose the design of a drive by a trace, without simulating every choice.",
    "cache": "Buffer caches: simulate policies on a trace, measure a real one, plan a compressed one.",
    "cache-dir": "Show where preconditioned drives are kept from one run to the next, and how much they take.",
    "compress": "Measure page compressors on this machine.",
    "presets": "Configurations that ship with ssdlab, each number with its source.",
    "list": "List everything that can be named: settings, presets, policies, formats, experiments ...",
    "config": "Look at and check configurations.",
}
"""Modules of commands, and the first sentence of the help of each."""


class Commands(Group):
    """All commands; the module of one is loaded when it is called, not to list it."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands = {name: Command(name, help=summary) for name, summary in COMMANDS.items()}

    def invoke(self, ctx: Any) -> Any:
        """Calls a command, which Ctrl-C interrupts. Typer would end without a word then."""
        try:
            with interrupt.raised():
                return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _Interrupted(*error.args) from None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Name, command and its arguments, of a command line."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, load(name, COMMANDS[name]) if name else command, rest


app = App(
    name="ssdlab",
    cls=Commands,
    help="A laboratory for the flash storage stack: replays block traces against simulated SSDs.",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=False,
    add_completion=True,
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


def _fail(error: BaseException, status: int) -> int:
    for line in str(error).splitlines() or [type(error).__name__]:
        print(f"ssdlab: {line}", file=sys.stderr)
    return status


def _usage_error(error: typer.TyperException) -> str:
    """What is wrong with the command line, in one line, and where to look it up."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "ssdlab"
    return f"{' '.join(error.format_message().split()).rstrip('.')}; see '{command} --help'"


def main() -> int:
    """Runs the command line: 0 done, 1 a check failed, 2 wrong input, 70 defect, 130 interrupted."""
    # A closed output is as good as one that nobody reads.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # Better a question mark than no result where the terminal's encoding lacks a character.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        status = app(standalone_mode=False) or 0
        with interrupt.raised(), naming(STDOUT):
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
        # Typer and rich exit where a pipe is closed; no command does. Whoever read our output has seen enough.
        _write_no_more()
        status = 0
    except OSError as error:
        name = f"{text.path(error.filename)}: " if error.filename else ""
        words = str(error.strerror or error)
        # A message of ours has its remedy, behind a semicolon.
        remedy = "" if "; " in words else f"; {_remedy(error)}"
        status = _fail(OSError(f"{name}{words}{remedy}"), 2)
        if error.filename == STDOUT:
            _write_no_more()
    except (KeyboardInterrupt, _Interrupted) as error:
        status = _fail(_Interrupted(f"interrupted; {error}" if str(error) else "interrupted"), interrupt.STATUS)
    return status


def _write_no_more() -> None:
    """Keeps the interpreter from complaining, as it exits, about an output that takes nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _remedy(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "make room there, or write elsewhere"
    return "check the path and its permissions"
