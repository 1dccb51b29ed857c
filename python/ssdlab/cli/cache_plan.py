"""The command `ssdlab cache plan`."""

import csv
import io
import math
import sys
from pathlib import Path

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.cache import planning
from ssdlab.analyse.cache.planning import COMPRESSORS, DISTRIBUTION, PAGE, CachePlan, Distribution
from ssdlab.analyse.drive.reads import SECONDS
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, option
from ssdlab.cli.options import Output
from ssdlab.cli.progress import watching
from ssdlab.model.files import read_utf8

app = App()

EXAMPLES = """
ssdlab cache plan --memory 15GiB --data 200GiB --paper --out out/plan
ssdlab cache plan --memory 4GiB --data 80GiB --curve caches.csv --device-us 80
ssdlab cache plan --memory 4GiB --data 100GiB --device-us 80 --bench
ssdlab cache plan --memory 4GiB --data 100GiB --device /dev/sdx table.ibd
"""

COSTS = "Costs"


@app.command(examples=EXAMPLES)
def plan(
    paths: list[Path] = argument(
        "PATH",
        "Files and directories with typical data for measuring compressors; a built-in corpus by default.",
        default=None,
    ),
    memory: str = option("--memory SIZE", "Cache memory.", default=..., check=_ssdlab.size),
    data: str = option("--data SIZE", "Total size of the data.", default=..., check=_ssdlab.size),
    page: str = option("--page SIZE", "Page size.", default=PAGE, check=_ssdlab.size),
    distribution: str = option(
        "--distribution NAME",
        "Distribution of requests over pages: even, 80/20, pareto, zipf:THETA.",
        default=DISTRIBUTION,
    ),
    curve: Path | None = option(
        "--curve FILE",
        "Miss-ratio curve, instead of a distribution: caches.csv from 'ssdlab cache mrc', or a CSV with columns "
        "cache_bytes,miss_ratio.",
    ),
    curve_policy: str | None = option(
        "--curve-policy NAME", "Policy to read from the --curve file; required if the file has several."
    ),
    share: str | None = option(
        "--share PERCENT", "Share of the memory for compressed pages, such as 40%; by default, the best share."
    ),
    compressor: str = option("--compressor NAMES", "Compressors to compare.", COSTS, default=",".join(COMPRESSORS)),
    paper: bool = option("--paper", "Use all costs and compression ratios from Harper 2018.", COSTS),
    device: Path | None = option(
        "--device PATH", "Measure read times of this file or unused block device; nothing is written.", COSTS
    ),
    device_us: str | None = option(
        "--device-us MICROSECONDS", "Time to read a page in microseconds, such as 80.", COSTS
    ),
    seconds: float = option("--seconds SECONDS", "Measuring time for each read size.", COSTS, default=SECONDS),
    bench: bool = option(
        "--bench", "Also measure a small cache with the same proportions, and compare it with the model.", COSTS
    ),
    output: Output = options.saving(CachePlan),
) -> int:
    """Uses the model of Harper 2018, as published and as corrected; the advice follows the corrected model.
    Compressors are measured with the given files on one processor of this machine. The device is measured with fio, or
    with threads of ssdlab if fio is not installed: four concurrent reads, 90 % of them sequential, as in Harper 2018.
    """
    if sum((paper, device is not None, device_us is not None)) != 1:
        raise ConfigError("use exactly one of --paper, --device PATH and --device-us MICROSECONDS")
    spread: Distribution = distribution if curve is None else _points(curve, curve_policy, data, page)
    with watching("cache") as watch:
        found = planning.plan(
            memory,
            data,
            page=page,
            distribution=spread,
            compressors=[name.strip() for name in compressor.split(",") if name.strip()],
            paths=paths,
            paper=paper,
            device=device,
            device_us=None if device_us is None else options.microseconds("--device-us", device_us),
            seconds=seconds,
            share=None if share is None else options.share("--share", share),
            measure_cache=bench,
            monitor=watch,
        )
    return output.deliver(found)


def _points(path: Path, policy: str | None, data: str, page: str) -> list[tuple[float, float]]:
    """Reads a miss-ratio curve: pairs of the cache size, as a share of the data, and the hit ratio."""
    whole = max(1, _ssdlab.size(data))
    try:
        reader = csv.DictReader(io.StringIO(read_utf8(path, f"--curve {text.path(path)}")))
        # Stores with each row the number of its last line in the file, for error messages.
        rows = [(reader.line_num, row) for row in reader]
        known = list(dict.fromkeys(row["policy"] for _, row in rows if "policy" in row))
        if len(known) > 1 or policy is not None:
            if policy not in known:
                has = ", ".join(known) or "none"
                raise ConfigError(
                    f"--curve {text.path(path)}: policies in the file: {has}; choose one with --curve-policy"
                )
            rows = [(line, row) for line, row in rows if row["policy"] == policy]
        if not rows:
            raise ValueError("no point")
        size = "capacity_bytes" if "capacity_bytes" in rows[0][1] else "cache_bytes"
        if not {size, "miss_ratio"} <= rows[0][1].keys():
            raise ValueError("no such column")
    except (ValueError, csv.Error):
        raise ConfigError(
            f"--curve {text.path(path)}: must be a CSV with numbers in columns cache_bytes (or capacity_bytes) and "
            "miss_ratio, such as caches.csv from 'ssdlab cache mrc'"
        ) from None

    def number(line: int, row: dict[str, str], field: str, least: float, most: float, wanted: str) -> float:
        try:
            value = float(row[field])
        except (TypeError, ValueError):
            value = math.nan
        if not least <= value <= most:
            raise ConfigError(f"--curve {text.path(path)}:{line}: {field}: {row[field] or ''!r} is not {wanted}")
        return value

    if "capacity_units" in rows[0][1]:
        units = number(*rows[0], "capacity_units", 1, sys.float_info.max, "a number of items, 1 or more")
        _same_pages(path, number(*rows[0], size, 0, sys.float_info.max, "a number of bytes") / units, page)
    points: list[tuple[float, float]] = []
    cached, misses = 0.0, 1.0
    for line, row in rows:
        cached = number(
            line,
            row,
            size,
            cached,
            sys.float_info.max,
            f"a size of at least {cached:.0f} bytes; sizes must not decrease from line to line",
        )
        wanted = f"a miss ratio from 0 to {misses:g}; miss ratios must not rise with cache size"
        misses = number(line, row, "miss_ratio", 0, misses, wanted)
        points.append((min(1.0, cached / whole), 1 - misses))
    return points


def _same_pages(path: Path, unit_bytes: float, page: str) -> None:
    """Rejects a miss-ratio curve that was computed for another page size, because its miss ratios do not apply."""
    wanted = _ssdlab.size(page)
    if unit_bytes == wanted:
        return
    given = f"pages of {text.exact_size(round(unit_bytes))}" if unit_bytes > 1 else "objects of any size"
    plan_of = text.exact_size(wanted)
    again = f"recreate the curve with 'ssdlab cache mrc --page {plan_of}'"
    other = f", or plan with --page {text.exact_size(round(unit_bytes))}" if unit_bytes > 1 else ""
    raise ConfigError(
        f"--curve {text.path(path)}: is for {given}, but the plan uses pages of {plan_of}; {again}{other}"
    )
