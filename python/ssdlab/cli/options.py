"""Options that several commands share."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.config import Config
from ssdlab.model.conversion import FORMATS
from ssdlab.model.finding import Finding
from ssdlab.model.trace_file import TraceFile


def _complete_preset(incomplete: str) -> list[tuple[str, str]]:
    return [(name, title) for name, title, _ in _ssdlab.presets() if name.startswith(incomplete)]


def complete_set(incomplete: str) -> Iterator[tuple[str, str]]:
    """Settings, and after `=` values of one."""
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


def _complete_repeat(incomplete: str) -> list[str]:
    return _complete_variant("host.repeat", incomplete)


def _complete_workload(incomplete: str) -> list[str]:
    return _complete_variant("workload.pattern", incomplete)


def _complete_format(incomplete: str) -> list[tuple[str, str]]:
    return [(format.name, format.help) for format in FORMATS if format.name.startswith(incomplete)]


def option(written: str, help: str, panel: str | None = None, **more: Any) -> Any:
    """An option as help shows it, such as `--config -c FILE`."""
    words = written.split()
    names = [word for word in words if word.startswith("-")]
    metavar = " ".join(word for word in words if word not in names)
    return typer.Option(*names, metavar=metavar or None, help=help, rich_help_panel=panel, **more)


ONE_PRESET = (
    "a configuration starts from one; save the other with 'ssdlab presets show NAME > other.toml' and lay it on top "
    "with --config other.toml"
)
"""What to do about two presets."""

CONFIGURATION = "Configuration"
TRACE = "Trace"
OUTPUT = "Output"

TraceFiles = Annotated[list[Path], typer.Argument(metavar="TRACE", help="Files of one trace, in order.")]
MaybeTrace = Annotated[
    list[Path] | None,
    typer.Argument(metavar="TRACE", help="Files of one trace, in order; none runs the configured workload."),
]
Preset = Annotated[
    str | None,
    option(
        "--preset -p NAME",
        "Start from a preset; see 'ssdlab presets list'.",
        CONFIGURATION,
        autocompletion=_complete_preset,
    ),
]
ConfigFiles = Annotated[
    list[Path],
    option("--config -c FILE", "TOML file on top of it; may be repeated.", CONFIGURATION),
]
Sets = Annotated[
    list[str],
    option(
        "--set -s KEY=VALUE",
        "Override one setting, such as device.op=7%; may be repeated.",
        CONFIGURATION,
        autocompletion=complete_set,
    ),
]
Workload = Annotated[
    str | None,
    option(
        "--workload -w PATTERN",
        f"Run a generated workload: {', '.join(_variants('workload.pattern'))} (short for --set workload.pattern=...).",
        CONFIGURATION,
        autocompletion=_complete_workload,
    ),
]
Fit = Annotated[
    str | None,
    option(
        "--fit HOW",
        "Addresses beyond the device: error, wrap, scale, or grow the device; compact leaves out what the trace does "
        "not use, and sizes the device by it (short for --set host.fit=...).",
        CONFIGURATION,
        autocompletion=_complete_fit,
    ),
]
Repeat = Annotated[
    str | None,
    option(
        "--repeat N|until-steady",
        "Replay the trace N times, or until write amplification is steady, and measure the last replay (short for "
        "--set host.repeat.times.count=N and --set host.repeat=until-steady).",
        CONFIGURATION,
        autocompletion=_complete_repeat,
    ),
]
Check = Annotated[
    bool,
    option(
        "--check", "Check every flash operation and all data read; slower (short for --set check=true).", CONFIGURATION
    ),
]
Format = Annotated[
    str | None,
    option(
        "--format -f NAME",
        "Format of the trace, if it is not recognised; see 'ssdlab trace formats'.",
        TRACE,
        autocompletion=_complete_format,
    ),
]
Device = Annotated[
    str | None,
    option(
        "--device -d NAME",
        "Which device of the trace: a name, or 'all' side by side; the device of the first request if left out.",
        TRACE,
    ),
]
Action = Annotated[
    str | None,
    option("--action EVENT", "Which event of blkparse and blktrace requests: queue, issue or complete.", TRACE),
]
SkipBad = Annotated[bool, option("--skip-bad", "Count malformed lines instead of stopping.", TRACE)]
Json = Annotated[bool, option("--json", "Print JSON and nothing else.", OUTPUT)]
Jobs = Annotated[
    int | None,
    option("--jobs -j INTEGER", "Simulations at a time; one per processor if left out.", min=1),
]
Outcomes = Annotated[
    list[str],
    option(
        "--outcome -O FIGURE",
        "A figure of the results, such as write_amplification or time.iops:max (more is better); may be repeated.",
        OUTPUT,
    ),
]


def out(kind: type[Finding]) -> Any:
    """The option that names a directory to write a kind of finding to."""
    return option("--out -o DIR", f"Write {kind.saved} there.", OUTPUT, parser=writable)


def writable(written: str) -> Path:
    """Fails now rather than after a long run; makes nothing, as the run may fail as well."""
    if not written:
        raise ConfigError("--out '': names no directory; name one, or leave --out out")
    directory = Path(written)
    existing = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise ConfigError(f"--out {text.path(directory)}: {text.path(existing)} is a file; name a directory")
    if not os.access(existing, os.W_OK):
        raise ConfigError(
            f"--out {text.path(directory)}: {text.path(existing)} cannot be written; name another directory"
        )
    return directory


def shortcuts(
    *, workload: str | None = None, fit: str | None = None, repeat: str | None = None, check: bool = False
) -> list[str]:
    """Options of their own as the overrides they are short for."""
    counted = repeat is not None and repeat.lstrip("+-").isdigit()
    pairs = (
        ("workload.pattern", workload),
        ("host.fit", fit),
        ("host.repeat.times.count" if counted else "host.repeat", repeat),
        ("check", "true" if check else None),
    )
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


def numbers(option: str, written: str) -> list[int]:
    """Whole numbers with commas.

    Raises:
        ConfigError: If they are none.
    """
    try:
        return [int(number) for number in written.split(",")]
    except ValueError:
        raise ConfigError(f"{option} {text.path(written)}: not whole numbers with commas; write 1,2,4,8") from None
