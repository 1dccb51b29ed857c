"""The command line: one program, `ssdlab`."""

import errno
import io
import os
import sys
from pathlib import Path
from typing import Any

import click

from ssdlab import interrupt, text
from ssdlab._ssdlab import InternalError, SsdlabError, __version__
from ssdlab.cli.command import Group, Later
from ssdlab.cli.declare import Option
from ssdlab.cli.output import STDOUT
from ssdlab.lazy import room
from ssdlab.leaving import STATUS
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
    "view": "Open the page of what --out saved, or of a study, in a browser.",
    "calibrate": "Find the size of regions and batches for the I/O scheduler pardispatcher by a micro-test.",
    "validate": "Compare write amplification with theory, or generated Filebench workloads with captured ones.",
    "experiment": "Reproduce tables of published documents and set ours beside them, cell by cell.",
    "diagnose": "Say what bounds a run, what slow requests waited for, and what would change it.",
    "explain": "Play an FTL step by step on a small drive, in a page of its own.",
    "trace": "Look at, convert and generate traces.",
    "advise": "Choose the map cache, or the spare space, of a drive by a trace.",
    "cache": "Buffer caches: simulate policies on a trace, measure a real one, plan a compressed one.",
    "cache-dir": "Show where preconditioned drives are kept from one run to the next, and how much they take.",
    "compress": "Measure page compressors on this machine.",
    "presets": "Configurations that ship with ssdlab, each number with its source.",
    "list": "List everything that can be named: settings, presets, policies, formats, experiments ...",
    "config": "Look at and check configurations.",
}
"""Modules of commands, and the first sentence of the help of each."""


class Commands(Group):
    """All commands, which Ctrl-C interrupts."""

    def invoke(self, ctx: click.Context) -> Any:
        """Calls a command. Click would end without a word when it is interrupted."""
        try:
            with interrupt.raised():
                return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _Interrupted(*error.args) from None


@click.pass_context
def _help_without_command(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def _show_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        print(f"ssdlab {__version__}")
        context.exit()


def _show_completion(context: click.Context, _parameter: click.Parameter, shell: str | None) -> None:
    if shell:
        print(room("cli.completion").script(app, PROGRAM, COMPLETE, shell))
        context.exit()


PROGRAM = "ssdlab"
COMPLETE = "_SSDLAB_COMPLETE"
"""The variable by which a shell asks for completions."""

app = Commands(
    PROGRAM,
    commands=[Later(name, summary) for name, summary in COMMANDS.items()],
    help="A laboratory for the flash storage stack: replays block traces against simulated SSDs.",
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    callback=_help_without_command,
    params=[
        Option(
            ["--version"], None, is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
            help="Show the version and exit.",
        ),
        Option(
            ["--show-completion"], None, type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL", is_eager=True,
            expose_value=False, callback=_show_completion,
            help="Show what bash, zsh or fish runs to complete commands, options and settings.",
        ),
    ],
)  # fmt: skip


def _fail(error: BaseException, status: int) -> int:
    for line in str(error).splitlines() or [type(error).__name__]:
        print(f"ssdlab: {line}", file=sys.stderr)
    return status


def _usage_error(error: click.ClickException) -> str:
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
        if COMPLETE in os.environ:
            room("cli.completion")
        status = app(prog_name=PROGRAM, complete_var=COMPLETE, standalone_mode=False) or 0
        with interrupt.raised(), naming(STDOUT):
            sys.stdout.flush()
    except InternalError as error:
        status = _fail(error, 70)
        print(f"ssdlab: it happened with this configuration:\n{error.config}", file=sys.stderr)
    except SsdlabError as error:
        status = _fail(error, 2)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        status = 2
    except click.ClickException as error:
        status = _fail(ValueError(_usage_error(error)), 2)
    except (BrokenPipeError, SystemExit):
        # Click and rich exit where a pipe is closed; no command does. Whoever read our output has seen enough.
        _write_no_more()
        status = 0
    except OSError as error:
        # Of what is written, only standard output may have no name.
        filename = error.filename or (STDOUT if error.errno in FULL else None)
        name = f"{text.path(filename)}: " if filename else ""
        words = str(error.strerror or error)
        # A message of ours has its remedy, behind a semicolon.
        remedy = "" if "; " in words else f"; {_remedy(error)}"
        status = _fail(OSError(f"{name}{words}{remedy}"), 2)
        if filename == STDOUT:
            _write_no_more()
    except RuntimeError as error:
        if str(error) != NO_THREAD:
            raise
        status = _fail(OSError("the system gives no more threads; raise its limit of processes, or end some"), 2)
    except (KeyboardInterrupt, _Interrupted) as error:
        status = _fail(_Interrupted(f"interrupted; {error}" if str(error) else "interrupted"), STATUS)
    except BaseException:
        # Compiled code that calls Python may make a panic of it.
        if not interrupt.was_raised():
            raise
        status = _fail(_Interrupted("interrupted"), STATUS)
    return status


def _write_no_more() -> None:
    """Keeps the interpreter from complaining, as it exits, about an output that takes nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


NO_THREAD = "can't start new thread"
"""What Python says where the system gives no more threads."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _remedy(error: OSError) -> str:
    if error.errno in FULL:
        return "make room there, or write elsewhere"
    return "check the path and its permissions"
