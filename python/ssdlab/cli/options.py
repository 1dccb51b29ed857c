"""Options that several commands share."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ssdlab import Config, ConfigError, TraceFile, _ssdlab, text
from ssdlab.convert import FORMATS


def _complete_preset(incomplete: str) -> list[tuple[str, str]]:
    return [(name, title) for name, title, _ in _ssdlab.presets() if name.startswith(incomplete)]


def _complete_set(incomplete: str) -> Iterator[tuple[str, str]]:
    key, equals, _ = incomplete.partition("=")
    for option, help_text, example, variants in _ssdlab.options():
        if equals and option == key:
            for value in variants or [example]:
                yield f"{key}={value}", help_text
        elif not equals and option.startswith(key):
            yield f"{option}=", help_text


def _variants(key: str) -> list[str]:
    return next(variants for option, _, _, variants in _ssdlab.options() if option == key)


def _complete_variant(key: str, incomplete: str) -> list[str]:
    return [variant for variant in _variants(key) if variant.startswith(incomplete)]


def _complete_fit(incomplete: str) -> list[str]:
    return _complete_variant("host.fit", incomplete)


def _complete_workload(incomplete: str) -> list[str]:
    return _complete_variant("workload.pattern", incomplete)


def _complete_format(incomplete: str) -> list[tuple[str, str]]:
    return [(format.name, format.help) for format in FORMATS if format.name.startswith(incomplete)]


CONFIGURATION = "Configuration"
TRACE = "Trace"
OUTPUT = "Output"

Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        "-p",
        metavar="NAME",
        help="Start from a preset; see 'ssdlab presets list'.",
        autocompletion=_complete_preset,
        rich_help_panel=CONFIGURATION,
    ),
]
ConfigFiles = Annotated[
    list[Path],
    typer.Option(
        "--config", "-c", metavar="FILE", help="TOML file on top of it; may be repeated.", rich_help_panel=CONFIGURATION
    ),
]
Sets = Annotated[
    list[str],
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="Override one setting, such as device.op=7%; may be repeated.",
        autocompletion=_complete_set,
        rich_help_panel=CONFIGURATION,
    ),
]
Workload = Annotated[
    str | None,
    typer.Option(
        "--workload",
        "-w",
        metavar="PATTERN",
        help=f"Run a generated workload: {', '.join(_variants('workload.pattern'))} "
        "(short for --set workload.pattern=...).",
        autocompletion=_complete_workload,
        rich_help_panel=CONFIGURATION,
    ),
]
Fit = Annotated[
    str | None,
    typer.Option(
        "--fit",
        metavar="HOW",
        help="Addresses beyond the device: error, wrap, scale, or grow the device (short for --set host.fit=...).",
        autocompletion=_complete_fit,
        rich_help_panel=CONFIGURATION,
    ),
]
Check = Annotated[
    bool,
    typer.Option(
        "--check",
        help="Check every flash operation and all data read; slower (short for --set check=true).",
        rich_help_panel=CONFIGURATION,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="NAME",
        help="Format of the trace, if it is not recognised; see 'ssdlab trace formats'.",
        autocompletion=_complete_format,
        rich_help_panel=TRACE,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        "-d",
        metavar="NAME",
        help="Which device of the trace: a name, or 'all' side by side; the device of the first request if left out.",
        rich_help_panel=TRACE,
    ),
]
Action = Annotated[
    str | None,
    typer.Option(
        "--action",
        metavar="EVENT",
        help="Which event of blkparse and blktrace requests: queue, issue or complete.",
        rich_help_panel=TRACE,
    ),
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Count malformed lines instead of stopping.", rich_help_panel=TRACE)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.", rich_help_panel=OUTPUT)]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, metavar="N", help="Simulations at a time; one per processor if left out."),
]


def out(help: str) -> Any:
    """The option that names a directory to write to; `help` says what is written."""
    return typer.Option("--out", "-o", metavar="DIR", help=help, rich_help_panel=OUTPUT)


def shortcuts(*, workload: str | None = None, fit: str | None = None, check: bool = False) -> list[str]:
    """Options of their own as the overrides they are short for."""
    pairs = (("workload.pattern", workload), ("host.fit", fit), ("check", "true" if check else None))
    return [f"{key}={value}" for key, value in pairs if value is not None]


def configuration(preset: str | None, files: list[Path], sets: list[str], short: list[str]) -> Config:
    """The configuration that the options ask for; --set beats the shortcuts."""
    return Config(preset=preset, file=files, overrides=[*short, *sets])


def trace_file(
    paths: list[Path], format: str | None, device: str | None, action: str | None, skip_bad: bool
) -> TraceFile | None:
    """The trace that the options ask for; None if no file is named."""
    if not paths:
        return None
    return TraceFile(*paths, format=format, device=device, action=action, skip_bad=skip_bad)


def microseconds(option: str, written: str) -> float:
    """A time such as `110us`, `110` or `1ms` in microseconds.

    Raises:
        ConfigError: If it is none.
    """
    number = written.strip()
    for unit, scale in (("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("", 1.0)):
        if number.endswith(unit):
            try:
                return scale * float(number.removesuffix(unit))
            except ValueError:
                break
    raise ConfigError(f"{option} {text.path(written)}: no microseconds; write 110us, for example")


def must_be_writable(directory: Path) -> None:
    """Fails now rather than after a long run; makes nothing, as the run may fail as well."""
    existing = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise ConfigError(f"--out {text.path(directory)}: {text.path(existing)} is a file; name a directory")
    if not os.access(existing, os.W_OK):
        raise ConfigError(
            f"--out {text.path(directory)}: {text.path(existing)} cannot be written; name another directory"
        )
