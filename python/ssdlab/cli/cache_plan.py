"""`ssdlab cache plan`."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ssdlab import ConfigError, cache, text
from ssdlab.cache.planning import COMPRESSORS, DISTRIBUTION, PAGE, Distribution
from ssdlab.cache.planning.device import SECONDS
from ssdlab.cli import options
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import display

if TYPE_CHECKING:
    from ssdlab.cache import CachePlan

EXAMPLES = """
[bold]Examples[/bold]

  ssdlab cache plan --memory 15GiB --data 200GiB --paper --out out/plan

  ssdlab cache plan --memory 4GiB --data 100GiB --distribution zipf:0.9 --device-us 80 table.ibd

  ssdlab cache plan --memory 4GiB --data 100GiB --device-us 80 --bench

  ssdlab cache plan --memory 4GiB --data 100GiB --device /dev/sdx --compressor lz4,zstd:1 table.ibd
"""

COSTS = "Costs"


def plan(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="[PATH]...",
            help="Files and directories with typical data, to measure compressors on; a corpus of our own if left out.",
            show_default=False,
        ),
    ] = [],
    memory: Annotated[str, typer.Option("--memory", metavar="SIZE", help="Memory of the cache.")] = ...,  # type: ignore[assignment]
    data: Annotated[str, typer.Option("--data", metavar="SIZE", help="Size of the data.")] = ...,  # type: ignore[assignment]
    page: Annotated[str, typer.Option("--page", metavar="SIZE", help="Size of a page.")] = PAGE,
    distribution: Annotated[
        str,
        typer.Option(
            "--distribution", metavar="NAME", help="How requests spread over pages: even, 80/20, pareto, zipf:THETA."
        ),
    ] = DISTRIBUTION,
    curve: Annotated[
        Path | None,
        typer.Option(
            "--curve",
            metavar="FILE",
            help="Instead of a distribution: caches.csv of 'ssdlab cache mrc', or a CSV of cache_bytes,miss_ratio.",
        ),
    ] = None,
    curve_policy: Annotated[
        str | None,
        typer.Option("--curve-policy", metavar="NAME", help="Which policy of that curve; needed if it has several."),
    ] = None,
    share: Annotated[
        str | None,
        typer.Option("--share", metavar="PERCENT", help="Memory to compress, such as 40%; the best if left out."),
    ] = None,
    compressor: Annotated[
        str, typer.Option("--compressor", metavar="NAMES", help="Compressors to compare.", rich_help_panel=COSTS)
    ] = ",".join(COMPRESSORS),
    paper: Annotated[
        bool, typer.Option("--paper", help="Take all costs and ratios from Harper 2018.", rich_help_panel=COSTS)
    ] = False,
    device: Annotated[
        Path | None,
        typer.Option(
            "--device",
            metavar="PATH",
            help="Measure reads of this file or unused block device; only reads.",
            rich_help_panel=COSTS,
        ),
    ] = None,
    device_us: Annotated[
        str | None,
        typer.Option("--device-us", metavar="US", help="Microseconds to read a page, as 80.", rich_help_panel=COSTS),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option("--seconds", metavar="S", help="Time to measure each size of a read.", rich_help_panel=COSTS),
    ] = SECONDS,
    bench: Annotated[
        bool,
        typer.Option(
            "--bench",
            help="Measure a small cache of these proportions at work, and set the model beside it.",
            rich_help_panel=COSTS,
        ),
    ] = False,
    json: options.Json = False,
    out: Annotated[Path | None, options.out("Write report.html, plan.json and plan.csv there.")] = None,
) -> None:
    """Tell whether to compress part of a page cache, with which compressor and how much of it.

    The model is that of Harper 2018, as in the document and corrected where it errs; the advice follows the
    corrected one. Compressors are measured on this machine and the files named, with one processor; the device
    is measured with fio, or with threads of ssdlab if fio is not installed: four reads at a time, nine in ten of
    them sequential, as in the document.
    """
    if out is not None:
        options.must_be_writable(out)
    spread: Distribution = distribution if curve is None else _points(curve, curve_policy, data)
    with display() as shown:
        watch = shown.watch("cache")
        found = cache.plan(
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
            share=None if share is None else _share(share),
            measure_cache=bench,
            monitor=watch,
        )
        watch.finish()
    deliver(found, lambda: _show(found), json=json, out=out, files="report.html, plan.json and plan.csv")


def _share(written: str) -> float:
    try:
        return float(written.removesuffix("%")) / 100
    except ValueError:
        raise ConfigError(f"--share {text.path(written)}: is no percentage; write 40%, for example") from None


def _points(path: Path, policy: str | None, data: str) -> list[tuple[float, float]]:
    """The points of a miss-ratio curve as shares of the data and hit ratios."""
    from ssdlab import _ssdlab

    whole = max(1, _ssdlab.size(data))
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        known = list(dict.fromkeys(row["policy"] for row in rows if "policy" in row))
        if len(known) > 1 or policy is not None:
            if policy not in known:
                has = ", ".join(known) or "none"
                raise ConfigError(f"--curve {text.path(path)}: has the policies {has}; choose one with --curve-policy")
            rows = [row for row in rows if row["policy"] == policy]
        size = "capacity_bytes" if rows and "capacity_bytes" in rows[0] else "cache_bytes"
        if not rows:
            raise ValueError("no point")
        return [(min(1.0, float(row[size]) / whole), 1 - float(row["miss_ratio"])) for row in rows]
    except (KeyError, TypeError, ValueError):
        raise ConfigError(
            f"--curve {text.path(path)}: is no CSV with numbers in columns cache_bytes (or capacity_bytes) and "
            "miss_ratio; write one, or take caches.csv of 'ssdlab cache mrc'"
        ) from None


def _show(found: "CachePlan") -> None:
    from rich.text import Text

    from ssdlab.cache.planning import words
    from ssdlab.cli.tables import console, plain_table, show

    out = console()
    out.print(Text(words.title(found), style="bold"))
    out.print(Text(words.how(found), style="dim"))
    for remark in found.remarks:
        out.print(Text(f"note: {remark}", style="yellow"))
    out.print(f"\n{words.verdict(found)}")
    for heading, headers, rows, left in words.tables(found):
        out.print(Text(f"\n{heading}", style="bold"))
        table = plain_table(*headers, left=left)
        for row in rows:
            table.add_row(*row)
        show(out, table)
