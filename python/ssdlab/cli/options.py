"""Options shared by several commands."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, get_args

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.cli.declare import group, option
from ssdlab.cli.output import deliver
from ssdlab.model import config as settings
from ssdlab.model.config import Config, layered
from ssdlab.model.conversion import all_formats
from ssdlab.model.files import try_filling
from ssdlab.model.finding import FigureFormat, Finding, TableFormat

if TYPE_CHECKING:
    from ssdlab.model.trace_file import TraceFile

CONFIGURATION = "Configuration"
OUTPUT = "Output"
RUNS = "Runs"

ONE_PRESET = (
    "a configuration starts from one preset; save the other with 'ssdlab presets show NAME --all > other.toml' and "
    "add it with --config other.toml"
)
"""Remedy in the error message for two presets in one configuration."""


def presets() -> list[tuple[str, str]]:
    """Returns each preset with its title."""
    return [(name, title) for name, title, _ in _ssdlab.presets()]


def formats() -> list[tuple[str, str]]:
    """Returns each trace format with its help."""
    return [(format.name, format.help) for format in all_formats()]


def complete_set(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yields settings whose key starts with `incomplete`; after `=`, yields values of the setting."""
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


WORKLOAD = option(
    "--workload -w PATTERN",
    f"Run a generated workload: {', '.join(_variants('workload.pattern'))} (short for --set workload.pattern=...).",
    CONFIGURATION,
    choices=lambda: _variants("workload.pattern"),
)
FIT = option(
    "--fit HOW",
    "Handling of addresses past the end of the device: error, wrap, scale, or grow (enlarge the device); compact "
    "renumbers the used addresses and sizes the device for them (short for --set host.fit=...).",
    CONFIGURATION,
    choices=lambda: _variants("host.fit"),
)
REPEAT = option(
    "--repeat N|until-steady",
    "Replay the trace N times, or until write amplification is steady, and measure the last replay (short for "
    "--set host.repeat.times.count=N and --set host.repeat=until-steady).",
    CONFIGURATION,
    choices=lambda: _variants("host.repeat"),
)
REPLAY = option(
    "--replay MODE",
    "When requests are issued: recorded (at the times of the trace; the default with time=event), closed (as fast as "
    "possible), closed:4 (4 outstanding) or processes (each process waits for its requests); see host.replay.",
    CONFIGURATION,
    choices=lambda: ["recorded", "closed", "processes"],
)
SPEED = option(
    "--speed FACTOR",
    "Replay the trace faster (such as 2x) or slower (0.5x) than recorded (short for --set host.replay.open.speed=...).",
    CONFIGURATION,
)
CHECK = option(
    "--check", "Check every flash operation and all data read; slower (short for --set check=true).", CONFIGURATION
)
PRESET = option(
    "--preset -p NAME", "Start from a preset; see 'ssdlab presets list'.", CONFIGURATION, choices=presets
)  # fmt: skip
SET = option(
    "--set -s KEY=VALUE",
    "Override one setting, such as device.op=7%; may be repeated.",
    CONFIGURATION,
    complete=complete_set,
)
JSON = option("--json", "Print only JSON.", OUTPUT)
JOBS = option("--jobs -j INTEGER", "Parallel simulations; one per processor by default.", min=1)
WORKERS = option("--jobs --workers -j INTEGER", "Local worker processes; one per processor by default.", RUNS, min=1)
CLUSTER = option("--cluster ADDRESS", "Run on the workers of the Dask scheduler at tcp://HOST:PORT.", RUNS)
RETRY = option("--retry", "Repeat failed runs.", RUNS)
OUTCOMES = option(
    "--outcome -O FIGURE",
    "Metric of the results, such as write_amplification or time.iops; append :min if less is better, :max if "
    "more is better. May be repeated.",
    OUTPUT,
)


@dataclass
class Settings:
    """Options for a configuration."""

    preset: str | None = PRESET
    config: list[Path] = option(
        "--config -c FILE", "TOML file applied after the preset; may be repeated.", CONFIGURATION
    )  # fmt: skip
    set: list[str] = SET

    @property
    def are_given(self) -> bool:
        """True if any of the configuration options was given."""
        return bool(self.preset or self.config or self.set)

    def resolved(self, also: settings.Sets = [], *, origin: str = "--preset", **shortcuts: Any) -> Config:
        """Returns the configuration. Settings given with --set override the settings in `also` and the shortcuts (see
        `shortcut_sets`). `origin` is the option that messages name as the source of the preset.
        """
        sets = [*also, *shortcut_sets(**shortcuts), *settings.set_by("--set", self.set)]
        return layered(self.preset, self.config, [sets], origin)


@dataclass
class ReplaySettings(Settings):
    """Options for a configuration, with shortcuts for the replay of requests."""

    fit: str | None = FIT
    repeat: str | None = REPEAT
    replay: str | None = REPLAY
    speed: str | None = SPEED

    @property
    def shortcuts(self) -> settings.Sets:
        """Settings made by the shortcut options."""
        return [*shortcut_sets(fit=self.fit, repeat=self.repeat), *replay_sets(self.replay, self.speed)]

    @property
    def are_given(self) -> bool:
        """True if any of the configuration options was given."""
        return super().are_given or bool(self.shortcuts)


@dataclass
class RunSettings(ReplaySettings):
    """Options for a configuration, with shortcuts for the settings of a run."""

    workload: str | None = WORKLOAD
    check: bool = CHECK

    @property
    def shortcuts(self) -> settings.Sets:
        """Settings made by the shortcut options."""
        return [*super().shortcuts, *shortcut_sets(workload=self.workload, check=self.check)]

    def for_requests(self, trace: "TraceFile | None") -> Config:
        """Returns the configuration for replaying `trace`, or for the generated workload if there is no trace."""
        refuse_both(trace, self.workload)
        return self.resolved(self.shortcuts)


def refuse_both(trace: object, workload: str | None) -> None:
    """Rejects the combination of a trace and --workload."""
    if trace and workload:
        raise ConfigError("use either a trace or --workload, not both")


def shortcut_sets(
    *, workload: str | None = None, fit: str | None = None, repeat: str | None = None, check: bool = False
) -> settings.Sets:
    """Returns the settings that the shortcut options set. The origin of each setting is the name of its option."""
    counted = repeat is not None and repeat.lstrip("+-")[:1].isdigit()
    typed = (
        ("--workload", "workload.pattern", workload),
        ("--fit", "host.fit", fit),
        ("--repeat", "host.repeat.times.count" if counted else "host.repeat", repeat),
        ("--check", "check", "true" if check else None),
    )
    return [(option, f"{key}={value}") for option, key, value in typed if value is not None]


def replay_sets(replay: str | None, speed: str | None) -> settings.Sets:
    """Returns the settings that --replay and --speed set."""
    mode, colon, depth = (replay or "recorded").partition(":")
    modes = {"recorded": "open", "closed": "closed", "processes": "processes"}
    if mode not in modes or (colon and mode != "closed"):
        raise ConfigError(f"--replay {text.path(replay)}: must be recorded, closed, closed:4 or processes")
    if speed is not None and mode != "recorded":
        raise ConfigError(f"--speed {text.path(speed)}: needs the recorded times; omit --replay {replay}")
    sets = []
    if replay is not None:
        key = "host.replay.closed.queue_depth" if colon else "host.replay"
        sets.append(("--replay", f"{key}={depth if colon else modes[mode]}"))
    if speed is not None:
        sets.append(("--speed", f"host.replay.open.speed={speed.removesuffix('x')}"))
    return sets


def writable(written: str) -> Path:
    """Returns the directory given with --out. Before a long run starts, rejects a directory that cannot be written."""
    if not written:
        raise ConfigError("--out '': the directory name is empty; use --out DIR, or omit --out")
    if "://" in written:
        raise ConfigError(f"--out {text.path(written)}: only 'ssdlab sweep' writes to an address; choose a directory")
    directory = Path(written)
    existing = next(path for path in (directory, *directory.absolute().parents) if os.path.lexists(path))
    if not existing.exists():
        raise ConfigError(
            f"--out {text.path(directory)}: {text.path(existing)} is a dangling link; choose another directory"
        )
    if not existing.is_dir():
        raise ConfigError(f"--out {text.path(directory)}: {text.path(existing)} is a file; choose another directory")
    try:
        try_filling(directory)
    except OSError as error:
        raise ConfigError(
            f"--out {text.path(directory)}: {text.path(existing)} cannot be written: {error.strerror}; choose "
            "another directory"
        ) from None
    return directory


@dataclass
class Printed:
    """Options for printing a finding."""

    json: bool = JSON
    table: TableFormat | None = option(
        "--table FORMAT", f"Print only the tables, as {', '.join(get_args(TableFormat))}.", OUTPUT
    )
    rows: str | None = option("--rows NAMES", "Print only these rows of all tables, such as waf,read.p99.", OUTPUT)

    @property
    def is_data(self) -> bool:
        """True if standard output is meant for other programs, so it must contain only the result."""
        return self.json or self.table is not None

    @property
    def aside(self) -> TextIO:
        """Stream for messages that are not part of the result."""
        return sys.stderr if self.is_data else sys.stdout

    def deliver(self, found: Finding, **more: Any) -> int:
        """Prints a finding, and saves it if `more` gives an output directory; see `output.deliver`."""
        return deliver(found, json=self.json, table=self.table, rows=_listed(self.rows), **more)


@dataclass
class Output(Printed):
    """Options for the output of a finding."""

    out: Path | None = option("--out -o DIR", "Directory to write the result to.", OUTPUT, parser=writable)
    figures: FigureFormat | None = option(
        "--figures FORMAT",
        f"With --out, also save each figure for papers, 1 and 2 columns wide: {', '.join(get_args(FigureFormat))}.",
        OUTPUT,
    )
    figure: str | None = option(
        "--figure NAMES",
        "With --out, save only these figures for papers, such as latency,waf; as PDF unless --figures is given.",
        OUTPUT,
    )

    def deliver(self, found: Finding, **more: Any) -> int:
        """Prints a finding and saves it in the --out directory; see `output.deliver`."""
        format = self.figures or ("pdf" if self.figure else None)
        return super().deliver(found, out=self.out, figures=format, only=_listed(self.figure), **more)


def _listed(names: str | None) -> list[str]:
    return [] if names is None else [name.strip() for name in names.split(",")]


def saving(kind: type[Finding]) -> Any:
    """Declares the `Output` options for a class of findings; the help for --out lists the files."""
    return group(out=option("--out -o DIR", f"Directory for {kind.saved}.", OUTPUT, parser=writable))


def microseconds(option: str, written: str) -> float:
    """Converts a time to microseconds: `110us`, `1ms`, or `110` without a unit."""
    try:
        return float(written)
    except ValueError:
        with blaming(option):
            return _ssdlab.nanos(written) / 1000


def count(option: str, written: str, least: int = 1) -> int:
    """Parses a count such as `5000`, `1M` or `1e6`."""
    with blaming(option):
        number = _ssdlab.count(written)
    if number < least:
        raise ConfigError(f"{option} {text.path(written)}: must be at least {least}")
    return number


def share(option: str, written: str) -> float:
    """Converts a share such as `40%` to a fraction, such as 0.4."""
    with blaming(option):
        return _ssdlab.share(written)


@contextmanager
def blaming(option: str) -> Iterator[None]:
    """Prefixes the messages of errors raised inside the block with the option's name."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{option}: {error}") from None


@contextmanager
def given_as(keyword: str) -> Iterator[None]:
    """Replaces the argument name `keyword` by the option `--keyword` in the messages of errors raised in the block."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(re.sub(f"^{keyword}: ", f"--{keyword}: ", str(error), flags=re.MULTILINE)) from None


def numbers(option: str, written: str) -> list[int]:
    """Parses comma-separated integers."""
    try:
        return [int(number) for number in written.split(",")]
    except ValueError:
        raise ConfigError(
            f"{option} {text.path(written)}: must be whole numbers separated by commas, for example 1,2,4,8"
        ) from None
