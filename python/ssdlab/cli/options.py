"""Options that several commands share."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, get_args

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.cli.declare import option
from ssdlab.model import config as settings
from ssdlab.model.config import Config, layered
from ssdlab.model.conversion import FORMATS
from ssdlab.model.files import try_filling
from ssdlab.model.finding import FigureFormat, Finding


def _complete_preset(incomplete: str) -> list[tuple[str, str]]:
    return [(name, title) for name, title, _ in _ssdlab.presets() if name.startswith(incomplete)]


def complete_set(incomplete: str) -> Iterator[tuple[str, str]]:
    """Settings, and after `=` values of one."""
    key, equals, begun = incomplete.partition("=")
    for setting, help_text, example, variants in _ssdlab.options():
        if equals and setting == key:
            for value in variants or [example]:
                if value.startswith(begun):
                    yield f"{key}={value}", help_text
        elif not equals and setting.startswith(key):
            yield f"{setting}=", help_text


def _variants(key: str) -> list[str]:
    return next(variants for setting, _, _, variants in _ssdlab.options() if setting == key)


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


ONE_PRESET = (
    "a configuration starts from one; save the other with 'ssdlab presets show NAME > other.toml' and lay it on top "
    "with --config other.toml"
)
"""What to do about two presets."""

CONFIGURATION = "Configuration"
TRACE = "Trace"
OUTPUT = "Output"
RUNS = "Runs"

Preset = Annotated[
    str | None,
    option(
        "--preset -p NAME",
        "Start from a preset; see 'ssdlab presets list'.",
        CONFIGURATION,
        complete=_complete_preset,
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
        complete=complete_set,
    ),
]
Workload = Annotated[
    str | None,
    option(
        "--workload -w PATTERN",
        f"Run a generated workload: {', '.join(_variants('workload.pattern'))} (short for --set workload.pattern=...).",
        CONFIGURATION,
        complete=_complete_workload,
    ),
]
Fit = Annotated[
    str | None,
    option(
        "--fit HOW",
        "Addresses beyond the device: error, wrap, scale, or grow the device; compact leaves out what the trace does "
        "not use, and sizes the device by it (short for --set host.fit=...).",
        CONFIGURATION,
        complete=_complete_fit,
    ),
]
Repeat = Annotated[
    str | None,
    option(
        "--repeat N|until-steady",
        "Replay the trace N times, or until write amplification is steady, and measure the last replay (short for "
        "--set host.repeat.times.count=N and --set host.repeat=until-steady).",
        CONFIGURATION,
        complete=_complete_repeat,
    ),
]
Check = Annotated[
    bool,
    option(
        "--check", "Check every flash operation and all data read; slower (short for --set check=true).", CONFIGURATION
    ),
]
Json = Annotated[bool, option("--json", "Print JSON and nothing else.", OUTPUT)]
Figures = Annotated[
    FigureFormat | None,
    option(
        "--figures FORMAT",
        "With --out: each figure for papers too, one and two columns wide, as one of "
        f"{', '.join(get_args(FigureFormat))}.",
        OUTPUT,
    ),
]
Jobs = Annotated[
    int | None,
    option("--jobs -j INTEGER", "Simulations at a time; one per processor if left out.", min=1),
]
Workers = Annotated[
    int | None,
    option("--jobs --workers -j INTEGER", "Worker processes here; one per processor if left out.", RUNS, min=1),
]
Cluster = Annotated[
    str | None, option("--cluster ADDRESS", "Run on the workers of this Dask scheduler, tcp://HOST:PORT.", RUNS)
]
Retry = Annotated[bool, option("--retry", "Run again what failed before.", RUNS)]
Outcomes = Annotated[
    list[str],
    option(
        "--outcome -O FIGURE",
        "A figure of the results, such as write_amplification or time.iops; :min or :max says what is better; may be "
        "repeated.",
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
    if "://" in written:
        raise ConfigError(f"--out {text.path(written)}: only 'ssdlab sweep' writes to an address; name a directory")
    directory = Path(written)
    existing = next(path for path in (directory, *directory.absolute().parents) if os.path.lexists(path))
    if not existing.exists():
        raise ConfigError(f"--out {text.path(directory)}: {text.path(existing)} is a link to nothing; name a directory")
    if not existing.is_dir():
        raise ConfigError(f"--out {text.path(directory)}: {text.path(existing)} is a file; name a directory")
    try:
        try_filling(directory)
    except OSError as error:
        raise ConfigError(
            f"--out {text.path(directory)}: {text.path(existing)} cannot be written: {error.strerror}; name another "
            "directory"
        ) from None
    return directory


def shortcuts(
    *, workload: str | None = None, fit: str | None = None, repeat: str | None = None, check: bool = False
) -> settings.Sets:
    """Options of their own as the settings they are short for, each with its name."""
    counted = repeat is not None and repeat.lstrip("+-")[:1].isdigit()
    typed = (
        ("--workload", "workload.pattern", workload),
        ("--fit", "host.fit", fit),
        ("--repeat", "host.repeat.times.count" if counted else "host.repeat", repeat),
        ("--check", "check", "true" if check else None),
    )
    return [(option, f"{key}={value}") for option, key, value in typed if value is not None]


def configuration(
    preset: str | None,
    files: list[Path],
    sets: list[str],
    short: settings.Sets,
    where: str = "--preset",
    below: settings.Sets = [],
) -> Config:
    """The configuration that the options ask for, on top of `below`; --set beats the shortcuts, and `where` names the
    preset.
    """
    return layered(preset, files, [below, [*short, *settings.set_by("--set", sets)]], where)


def microseconds(option: str, written: str) -> float:
    """A time such as `110us`, `1ms` or, in microseconds, `110`.

    Raises:
        ConfigError: If it is none.
    """
    try:
        return float(written)
    except ValueError:
        with blaming(option):
            return _ssdlab.nanos(written) / 1000


def count(option: str, written: str, least: int = 1) -> int:
    """A number such as `5000`, `1M` or `1e6`.

    Raises:
        ConfigError: If it is none, or too small.
    """
    with blaming(option):
        number = _ssdlab.count(written)
    if number < least:
        raise ConfigError(f"{option} {text.path(written)}: is below {least}; raise it")
    return number


@contextmanager
def blaming(option: str) -> Iterator[None]:
    """Names the option in an error about what was given with it."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{option}: {error}") from None


@contextmanager
def given_as(keyword: str) -> Iterator[None]:
    """Names the option in an error that is told of the keyword of a function which it is given as."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(re.sub(f"^{keyword}: ", f"--{keyword}: ", str(error), flags=re.MULTILINE)) from None


def numbers(option: str, written: str) -> list[int]:
    """Whole numbers with commas.

    Raises:
        ConfigError: If they are none.
    """
    try:
        return [int(number) for number in written.split(",")]
    except ValueError:
        raise ConfigError(f"{option} {text.path(written)}: not whole numbers with commas; write 1,2,4,8") from None
