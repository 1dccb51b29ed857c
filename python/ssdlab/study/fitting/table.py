"""Reads loads and their metrics from a CSV file."""

import csv
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.study.fitting.job import BACKGROUND_READS, DEPTH, PROBE_IOPS, WRITERS
from ssdlab.study.fitting.load import Figure, Load, Measured, Queue

FIGURE = re.compile(r"(read|write)_(iops|mean|p\d+(?:\.\d+)?)(?:_us)?")

SSD_IQ = "offered_iops_50r50w"
"""Column of the SSD-iq data with the total offered rate, 5,000 requests per second above the background rate."""

LOADS = ("background_iops", SSD_IQ, "depth", "reads", "size", "pattern", "device")

EXAMPLE = "columns such as background_iops or depth, and read_p50_us"


def read(path: Path, written: str, device: str | None) -> list[Measured]:
    """Returns the loads in a CSV table, with their metrics; only the rows for `device` unless it is None."""
    where = text.path(path)
    lines = csv.DictReader(written.splitlines())
    columns = [*(lines.fieldnames or [])]
    unknown = [name for name in columns if name not in LOADS and not FIGURE.fullmatch(name)]
    if unknown:
        raise ConfigError(f"{where}:1: unknown column {text.path(unknown[0])}; use {EXAMPLE}")
    twice = next((name for at, name in enumerate(columns) if name in columns[:at]), None)
    if twice is not None:
        raise ConfigError(f"{where}:1: column {twice} appears twice; rename or remove one")
    for name in columns:
        percentile = Figure("read", _percentile(name.partition("_")[2].removesuffix("_us"))).percentile
        if FIGURE.fullmatch(name) and percentile is not None and not 0 < percentile < 100:
            raise ConfigError(f"{where}:1: column {name}: a percentile must be above 0 and below 100")
    if not {"background_iops", SSD_IQ, "depth"} & {*columns}:
        raise ConfigError(f"{where}:1: no column describes the load; add a column background_iops or depth")
    rows = [(lines.line_num, row) for row in lines]
    devices = dict.fromkeys(row["device"] for _, row in rows) if "device" in columns else {}
    if device is not None and device not in devices:
        known = f"has {', '.join(map(text.path, devices))}" if devices else "has no column named device"
        raise ConfigError(f"--device {text.path(device)}: {where} {known}")
    if device is None and len(devices) > 1:
        raise ConfigError(
            f"{where}: has {len(devices)} devices; choose a device, such as --device '{text.path(next(iter(devices)))}'"
        )
    chosen = [(number, row) for number, row in rows if device is None or row["device"] == device]
    loads = [_Row(f"{where}:{number}", row).measured() for number, row in chosen]
    if not loads:
        raise ConfigError(f"{where}: has no rows; add a row with values in {EXAMPLE}")
    return loads


class _Row:
    def __init__(self, where: str, row: Mapping[str, str | None]) -> None:
        self.where = where
        if None in row:
            raise ConfigError(f"{where}: has more cells than the header; remove the extra cells")
        self.row = {name: (value or "").strip() for name, value in row.items() if name is not None}

    def number(self, name: str) -> float | None:
        """Returns the number in a cell, which must be above 0; None if the cell is empty or the column is missing."""
        written = self.row.get(name, "")
        if not written:
            return None
        try:
            value = float(written)
        except ValueError:
            value = -1.0
        if not 0 < value < float("inf"):
            raise ConfigError(f"{self.where}: {name}: {text.path(written)} is not a number above 0")
        return value

    def parsed(self, name: str, default: str, parse: Callable[[str], float]) -> float:
        try:
            return parse(self.row.get(name) or default)
        except ConfigError as error:
            raise ConfigError(f"{self.where}: {name}: {error}") from None

    def load(self) -> Load:
        background = self.number("background_iops")
        offered = self.number(SSD_IQ)
        if background is None and offered is not None:
            background = offered - PROBE_IOPS / 2
        if background is not None:
            if background <= 0:
                raise ConfigError(f"{self.where}: {SSD_IQ}: must be above {PROBE_IOPS // 2}")
            probe = Queue(1, 0.5, DEPTH, "fixed", PROBE_IOPS)
            writers = Queue(WRITERS, BACKGROUND_READS / 100, DEPTH, "poisson", background / WRITERS)
            return Load(f"probe with {text.count(background)}/s background", (probe, writers))
        depth = self.number("depth")
        if depth is None or depth != int(depth):
            raise ConfigError(f"{self.where}: set depth to a whole number, or set background_iops")
        pattern = self.row.get("pattern") or "random"
        if pattern not in ("random", "sequential"):
            raise ConfigError(f"{self.where}: pattern: {text.path(pattern)} is neither random nor sequential")
        kind: Literal["random", "sequential"] = "random" if pattern == "random" else "sequential"
        reads = self.parsed("reads", "100%", _ssdlab.share)
        size = int(self.parsed("size", "4KiB", _ssdlab.size))
        name = {1.0: "reads", 0.0: "writes"}.get(reads, f"{100 * reads:g} % reads")
        return Load(f"{name}, depth {depth:g}", (Queue(1, reads, int(depth)),), kind, size)

    def measured(self) -> Measured:
        load = self.load()
        if (fault := load.fault()) is not None:
            raise ConfigError(f"{self.where}: {fault}")
        figures: dict[Figure, float] = {}
        for name in self.row:
            match = FIGURE.fullmatch(name)
            value = self.number(name) if match else None
            if match and value is not None:
                figure = Figure("read" if match[1] == "read" else "write", _percentile(match[2]))
                figures[figure] = value if figure.is_rate else 1000 * value
        if not figures:
            raise ConfigError(f"{self.where}: has no measured value; fill in {EXAMPLE}")
        return Measured(load, figures)


def _percentile(name: str) -> str:
    """Returns a percentile's usual name: `p99.9` for `p999`."""
    digits = name.removeprefix("p")
    is_short = name != "mean" and len(digits) > 2 and digits.startswith("99") and "." not in digits
    return f"p99.{digits[2:]}" if is_short else name
