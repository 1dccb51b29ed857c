"""Sweeps in a TOML file.

    preset = "small-nvme"
    trace = "oltp.csv.zst"
    seeds = 3
    outcomes = ["write_amplification", "time.iops:max"]
    without = ["ftl.page.gc=fifo device.op>20%"]

    [set]
    "device.capacity" = "1GiB"

    [[axes]]
    "ftl.page.gc" = ["greedy", "fifo"]

    [[axes]]
    "device.op" = "7%..28%:4"

Settings in the same `[[axes]]` table are linked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.several import several
from ssdlab.model.toml_file import read_toml
from ssdlab.study.sweep.axes import of

KINDS: dict[str, tuple[type, ...]] = {
    "preset": (str,),
    "config": (str, list),
    "set": (dict,),
    "trace": (str, list),
    "axes": (list, dict),
    "without": (list,),
    "seeds": (int,),
    "outcomes": (list,),
    "design": (str,),
    "samples": (int,),
    "resolution": (int,),
    "seed": (int,),
}

WORDS = {str: "text", list: "a list", dict: "a table", int: "a whole number"}


@dataclass(frozen=True)
class Written:
    """Contents of a sweep file; missing keys are None or empty."""

    preset: str | None = None
    config: tuple[Path, ...] = ()
    sets: tuple[str, ...] = ()
    trace: tuple[Path, ...] = ()
    axes: tuple[Mapping[str, Any], ...] = ()
    without: tuple[str, ...] = ()
    seeds: int | None = None
    outcomes: tuple[str, ...] = ()
    design: str | None = None
    samples: int | None = None
    resolution: int | None = None
    seed: int | None = None


def read(path: Path) -> Written:
    """Reads a sweep from a file."""
    name = text.path(path)
    _, keys = read_toml(path, name)
    for key, value in keys.items():
        if key not in KINDS:
            raise ConfigError(
                f"{name}: unknown key {text.path(key)}"
                + (text.suggestion(key, KINDS) or f"; known keys are {', '.join(KINDS)}")
            )
        if not isinstance(value, KINDS[key]) or isinstance(value, bool):
            raise ConfigError(f"{name}: {key} must be {' or '.join(WORDS[kind] for kind in KINDS[key])}")
    axes = keys.pop("axes", [])
    tables = [{key: value} for key, value in axes.items()] if isinstance(axes, dict) else axes
    for table in tables:
        if not isinstance(table, dict):
            raise ConfigError(f"{name}: axes must be tables; write [[axes]] above each table")
        for key, value in table.items():
            if not isinstance(value, str | list) or (isinstance(value, list) and not all(map(_scalar, value))):
                raise ConfigError(f"{name}: axes: {key} must be a list of values, or text such as '3%..30%:10'")
        try:
            of(table)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error}") from None
    settings = keys.pop("set", {})
    paths = {key: tuple(map(Path, several(keys.pop(key, [])))) for key in ("config", "trace")}
    lists = {key: tuple(map(str, keys.pop(key, []))) for key in ("without", "outcomes")}
    sets = [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in settings.items()]
    return Written(
        sets=tuple(sets),
        axes=tuple(tables), config=paths["config"], trace=paths["trace"], without=lists["without"],
        outcomes=lists["outcomes"], **keys,
    )  # fmt: skip


def _scalar(value: object) -> bool:
    return isinstance(value, str | int | float)
