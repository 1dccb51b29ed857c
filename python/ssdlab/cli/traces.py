"""The options of commands that read a trace: which files, and how."""

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from ssdlab._ssdlab import ConfigError
from ssdlab.cli import options
from ssdlab.cli.declare import argument, option
from ssdlab.model.source import identify_meanwhile
from ssdlab.model.trace_file import TraceFile

Function = TypeVar("Function", bound=Callable[..., Any])

PANEL = "Trace"
FILES = "Files of one trace, in order; - is standard input."

Format = Annotated[
    str | None,
    option(
        "--format -f NAME",
        "Format of the trace, if it is not recognised; see 'ssdlab trace formats'.",
        PANEL,
        complete=options._complete_format,
    ),
]

Columns = Annotated[
    str | None,
    option(
        "--columns SPEC",
        "What the columns of any text hold, by number from 0 or by heading, with units: "
        "time=0:us,op=2,offset=3:sectors,size=4.",
        PANEL,
    ),
]
Action = Annotated[
    str | None,
    option(
        "--action EVENT",
        "Which event of a request to take: queue (the default of blkparse and blktrace), issue (of ftrace and ETW) or "
        "complete.",
        PANEL,
    ),
]
Device = Annotated[
    str | None,
    option(
        "--device -d NAME",
        "Which device of the trace: a name, 'all' side by side, or 'overlay', all at the same addresses of one drive; "
        "the device of the first request if left out.",
        PANEL,
    ),
]
SkipBad = Annotated[bool, option("--skip-bad", "Count malformed lines instead of stopping.", PANEL)]

_OPTIONS: dict[str, Any] = {
    "format": Format,
    "columns": Columns,
    "concat": Annotated[
        bool, option("--concat", "Read several files one after the other, on the same addresses.", PANEL)
    ],
    "merge": Annotated[bool, option("--merge", "Read several files by their times, as devices side by side.", PANEL)],
    "device": Device,
    "action": Action,
    "skip_bad": SkipBad,
}
_DEFAULTS = {"format": None, "columns": None, "concat": False, "merge": False, "device": None, "action": None,
             "skip_bad": False}  # fmt: skip


def reads_none(reading: Mapping[str, Any]) -> None:
    """That no option says how a trace is read, where there is none.

    Raises:
        ConfigError: If one does, with its name.
    """
    for name, value in reading.items():
        if value != _DEFAULTS[name]:
            option = name.replace("_", "-")
            raise ConfigError(f"--{option} says how a trace is read, and there is none; name one, or leave it out")


def reads_trace(command: Function) -> Function:
    """Gives a command files of a trace and the options to read them. Its parameter `trace` is the trace that they ask
    for; where it may be None, no file need be named. A parameter `reading`, if it has one, is the options, by which it
    can read other files; whether there are any, it finds out, and calls `reads_none`.
    """
    signature = inspect.signature(command)
    given = signature.parameters["trace"]
    maybe = given.default is None
    files: Any = (
        Annotated[list[Path] | None, argument("TRACE", f"{FILES[:-1]}; none runs the configured workload.")]
        if maybe
        else Annotated[list[Path], argument("TRACE", FILES)]
    )
    own = [one.replace(annotation=files) if one is given else one for one in signature.parameters.values()]
    asks = "reading" in signature.parameters
    own = [one for one in own if one.name != "reading"]
    # Before those of the output, which come last in help.
    at = next((place for place, one in enumerate(own) if one.name == "json"), len(own))
    own[at:at] = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=_DEFAULTS[name], annotation=annotation)
        for name, annotation in _OPTIONS.items()
    ]

    @functools.wraps(command)
    def read(*, trace: list[Path] | None = None, **given: Any) -> Any:
        reading = {name: given.pop(name) for name in _OPTIONS}
        if asks:
            given["reading"] = reading
        if not trace:
            if not asks:
                reads_none(reading)
            return command(trace=None, **given)
        source = TraceFile(*trace, **reading)
        if given.get("json") or given.get("out"):
            identify_meanwhile(source.about)
        return command(trace=source, **given)

    read.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
    read.__annotations__ = {one.name: one.annotation for one in own}
    return read  # type: ignore[return-value]
