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
    """Raised when Ctrl-C ends a command."""


COMMANDS = {
    "run": "Replay a trace, or a generated workload, against a simulated SSD.",
    "serve": "Serve a simulated drive to any program over NBD.",
    "compare": "Run the same requests against several configurations and compare the results.",
    "sweep": "Run many configurations: a grid, a sample or a screening design; interrupted sweeps resume.",
    "tune": "Find the best configuration that meets given constraints.",
    "study": "Show, draw and analyse the results of a sweep: curves, effects, the Pareto front.",
    "fleet": "Run a trace of many volumes on a fleet of drives and show distributions; generate synthetic fleets.",
    "view": "Open a saved result or study in a browser.",
    "fit": "Fit the parameters of a drive to fio results, measured loads or a data sheet.",
    "calibrate": "Run a microbenchmark to find region and batch sizes for the pardispatcher I/O scheduler.",
    "validate": "Check write amplification against theory, Filebench workloads against captures, fits against drives.",
    "experiment": "Reproduce published tables and compare them with the originals cell by cell.",
    "diagnose": "Find the bottleneck of a run, the causes of slow requests, and changes that help.",
    "explain": "Animate an FTL step by step on a small drive, in a web page.",
    "trace": "Inspect, convert and generate traces.",
    "advise": "Choose over-provisioning, host memory or map cache for a trace.",
    "cache": "Buffer caches: simulate policies on a trace, measure a real cache, plan a compressed cache.",
    "cache-dir": "Show the directory of cached preconditioned drives, and its size.",
    "compress": "Measure page compressors on this machine.",
    "presets": "Show the configurations that ship with ssdlab, with the source of every number.",
    "list": "List all names: settings, presets, policies, formats, experiments ...",
    "find": "Search settings, presets, policies, commands, metrics and terms for words.",
    "config": "Show, check and explain configurations.",
    "new": "Create a Rust crate for your own component: a policy, an FTL, a scheduler, a format ...",
    "build": "Build an ssdlab command that includes your components written in Rust.",
}
"""All commands by name, each with the first sentence of its help."""


class Commands(Group):
    """The group of all commands of `ssdlab`; Ctrl-C interrupts them."""

    def invoke(self, ctx: click.Context) -> Any:
        """Calls a command and handles interrupts, because Click would end the program without a message."""
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
"""Environment variable through which a shell requests completions."""

PLUGINS = "SSDLAB_PLUGINS"
"""Environment variable that lists the Python files with additional components."""

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
            help="Print a bash, zsh or fish script for tab completion of commands, options and settings.",
        ),
    ],
)  # fmt: skip


def _fail(error: BaseException, status: int) -> int:
    for line in str(error).splitlines() or [type(error).__name__]:
        print(f"ssdlab: {line}", file=sys.stderr)
    return status


def _usage_error(error: click.ClickException) -> str:
    """Returns one line that describes a command-line error and names the help command."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "ssdlab"
    return f"{' '.join(error.format_message().split()).rstrip('.')}; see '{command} --help'"


def main() -> int:
    """Runs the command line; returns 0 for success, 1 if a check failed, 2 for wrong input, 70 for a bug, 130 for
    Ctrl-C.
    """
    # Ignores output to standard streams that do not exist.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # Characters outside the terminal's encoding are printed as question marks.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        if os.environ.get(PLUGINS):
            room("model.plugins").register_files()
        if COMPLETE in os.environ:
            room("cli.completion")
        status = app(prog_name=PROGRAM, complete_var=COMPLETE, standalone_mode=False) or 0
        with interrupt.raised(), naming(STDOUT):
            sys.stdout.flush()
    except InternalError as error:
        status = _fail(error, 70)
        print(f"ssdlab: the configuration was:\n{error.config}", file=sys.stderr)
    except SsdlabError as error:
        status = _fail(error, 2)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        status = 2
    except click.ClickException as error:
        status = _fail(ValueError(_usage_error(error)), 2)
    except (BrokenPipeError, SystemExit):
        # SystemExit comes only from Click and rich, if standard output is a closed pipe. Nothing more is written then,
        # because no process would read it.
        _write_no_more()
        status = 0
    except OSError as error:
        # A "no space left" error without a file name concerns standard output.
        filename = error.filename or (STDOUT if error.errno in FULL else None)
        name = f"{text.path(filename)}: " if filename else ""
        words = str(error.strerror or error)
        # Messages of ssdlab already end with a remedy after a semicolon.
        remedy = "" if "; " in words else f"; {_remedy(error)}"
        status = _fail(OSError(f"{name}{words}{remedy}"), 2)
        if filename == STDOUT:
            _write_no_more()
    except RuntimeError as error:
        if str(error) != NO_THREAD:
            raise
        status = _fail(
            OSError("the system cannot create more threads; end other processes, or raise the limit of 'ulimit -u'"), 2
        )
    except (KeyboardInterrupt, _Interrupted) as error:
        status = _fail(_Interrupted(f"interrupted; {error}" if str(error) else "interrupted"), STATUS)
    except BaseException:
        # Compiled code that calls Python may have turned the interrupt into a panic.
        if not interrupt.was_raised():
            raise
        status = _fail(_Interrupted("interrupted"), STATUS)
    return status


def _write_no_more() -> None:
    """Redirects standard output to the null device, because Python reports an error at exit if it is closed or full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


NO_THREAD = "can't start new thread"
"""Message of the error that Python raises if the system cannot create a thread."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _remedy(error: OSError) -> str:
    if error.errno in FULL:
        return "delete files on that disk, or write to another disk"
    return "check the path and its permissions"
