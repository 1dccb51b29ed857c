"""Options of commands that read a trace: the trace files, and options for reading them."""

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ssdlab._ssdlab import ConfigError
from ssdlab.cli.declare import argument, option
from ssdlab.cli.options import Output, formats
from ssdlab.model.source import identify_meanwhile
from ssdlab.model.trace_file import TraceFile

Function = TypeVar("Function", bound=Callable[..., Any])

PANEL = "Trace"
FILES = "Files of one trace, in order; - is standard input."

FORMAT = option(
    "--format -f NAME",
    "Format of the trace, if it is not recognised; see 'ssdlab trace formats'.",
    PANEL,
    choices=formats,
)
COLUMNS = option(
    "--columns SPEC",
    "Columns of a text file, by number (from 0) or by heading, with units: time=0:us,op=2,offset=3:sectors,size=4.",
    PANEL,
)
ACTION = option(
    "--action EVENT",
    "Event that counts as a request: queue (default for blkparse, blktrace), issue (for ftrace, ETW) or complete.",
    PANEL,
)
DEVICE = option(
    "--device -d NAME",
    "Device to read: a name, 'all' (each in its own address range) or 'overlay' (all at the same addresses); by "
    "default the device of the first request.",
    PANEL,
)
SKIP_BAD = option("--skip-bad", "Skip and count malformed lines instead of stopping.", PANEL)

_READING: dict[str, tuple[Any, Any]] = {
    "format": (str | None, FORMAT),
    "columns": (str | None, COLUMNS),
    "concat": (bool, option("--concat", "Read several files one after the other, in one shared address range.", PANEL)),
    "merge": (bool, option("--merge", "Merge several files by time, each in its own address range.", PANEL)),
    "device": (str | None, DEVICE),
    "action": (str | None, ACTION),
    "skip_bad": (bool, SKIP_BAD),
}
"""Types and declarations of the trace-reading options, by parameter name."""


def reads_none(reading: Mapping[str, Any]) -> None:
    """Refuses options for reading a trace if no trace is given."""
    for name, value in reading.items():
        if value:
            option = name.replace("_", "-")
            raise ConfigError(f"--{option} applies only to a trace; add a trace file, or omit --{option}")


def reads_trace(command: Function) -> Function:
    """Gives a command an argument for trace files, and the options for reading them.

    The parameter `trace` of the command receives the trace. If its default is None, the files are optional. If the
    command has a parameter `reading`, this parameter receives the reading options, so that the command can read further
    trace files; the command must then call `reads_none`.
    """
    signature = inspect.signature(command)
    given = signature.parameters["trace"]
    files = argument("TRACE", FILES)
    if given.default is None:
        files = argument("TRACE", f"{FILES[:-1]}; without files, runs the configured workload.", default=None)
    own = [
        parameter.replace(annotation=list[Path], default=files) if parameter is given else parameter
        for parameter in signature.parameters.values()
        if parameter.name != "reading"
    ]
    # Options for output come last in the help.
    is_output = [parameter.name == "json" or parameter.annotation is Output for parameter in own]
    at = is_output.index(True) if True in is_output else len(own)
    own[at:at] = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=declared, annotation=kind)
        for name, (kind, declared) in _READING.items()
    ]

    @functools.wraps(command)
    def read(*, trace: list[Path], **given: Any) -> Any:
        reading = {name: given.pop(name) for name in _READING}
        if "reading" in signature.parameters:
            given["reading"] = reading
        elif not trace:
            reads_none(reading)
        if not trace:
            return command(trace=None, **given)
        source = TraceFile(*trace, **reading)
        output = given.get("output")
        if given.get("json") or (output and (output.json or output.out)):
            identify_meanwhile(source.about)
        return command(trace=source, **given)

    read.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
    read.__annotations__ = {parameter.name: parameter.annotation for parameter in own}
    return read  # type: ignore[return-value]
