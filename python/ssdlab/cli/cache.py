"""`ssdlab cache`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ssdlab import ConfigError, TraceFile
from ssdlab.cache import CacheSimulation, MissRatioCurves
from ssdlab.cache import mrc as curves_of
from ssdlab.cache import simulate as simulate_caches
from ssdlab.cache.policies import PAGE
from ssdlab.cache.simulation import SAMPLE_REPLICAS
from ssdlab.cli import options
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import Watch, display

app = typer.Typer(
    help="Buffer caches: simulate policies on a trace, measure a real one, plan a compressed one.", no_args_is_help=True
)

CACHES = "Caches"
FILES = "report.html, caches.json, caches.csv and caches.parquet"

Policies = Annotated[
    str,
    typer.Option(
        "--policy",
        "-P",
        metavar="NAMES",
        help="Policies, with commas; parameters as lru-k:k=3. See 'ssdlab list caches'.",
        rich_help_panel=CACHES,
    ),
]
Page = Annotated[
    str | None,
    typer.Option(
        "--page", metavar="SIZE", help=f"Cache pages of this size; {PAGE} if left out.", rich_help_panel=CACHES
    ),
]
Objects = Annotated[
    bool,
    typer.Option("--objects", help="Cache what requests address as objects, and count these.", rich_help_panel=CACHES),
]
SizedObjects = Annotated[
    bool,
    typer.Option("--sized-objects", help="Cache objects with their sizes in bytes.", rich_help_panel=CACHES),
]
IgnoreTrims = Annotated[
    bool, typer.Option("--ignore-trims", help="Items stay cached when they are trimmed.", rich_help_panel=CACHES)
]
Out = Annotated[Path | None, options.out(f"Write {FILES} there.")]
TraceFiles = Annotated[list[Path], typer.Argument(metavar="TRACE", help="Files of one trace, in order.")]


def _granularity(page: str | None, objects: bool, sized_objects: bool) -> dict[str, str]:
    """What is cached, as `simulate` takes it."""
    if (page is not None) + objects + sized_objects > 1:
        raise ConfigError("--page, --objects and --sized-objects exclude one another; give one of them")
    granularity = "objects" if objects else "sized-objects" if sized_objects else "pages"
    return {"granularity": granularity, "page": page or PAGE}


def _deliver(find: Callable[[Watch], CacheSimulation | MissRatioCurves], *, json: bool, out: Path | None) -> None:
    if out is not None:
        options.must_be_writable(out)
    with display() as shown:
        watch = shown.watch("trace")
        found = find(watch)
        watch.finish()
    deliver(found, lambda: _show(found), json=json, out=out, files=FILES)


@app.command(epilog="[bold]Example[/bold]\n\n  ssdlab cache sim traces/oltp.csv.zst --policy lru,arc --size 4MiB,10%")
def sim(
    trace: TraceFiles,
    policy: Policies = "lru",
    size: Annotated[
        str,
        typer.Option(
            "--size",
            metavar="SIZES",
            help="Sizes, with commas: bytes, a number of pages or objects, or a share of what the trace touches.",
            rich_help_panel=CACHES,
        ),
    ] = "1%,10%",
    page: Page = None,
    objects: Objects = False,
    sized_objects: SizedObjects = False,
    ignore_trims: IgnoreTrims = False,
    write_back: Annotated[
        bool,
        typer.Option(
            "--write-back",
            help="Keep writes in the cache until they must go below, and count these pages.",
            rich_help_panel=CACHES,
        ),
    ] = False,
    dirty: Annotated[
        str | None,
        typer.Option(
            "--dirty",
            metavar="SHARE",
            help="Share of a write-back cache that may be dirty, in whole percent; all if left out.",
            rich_help_panel=CACHES,
        ),
    ] = None,
    jobs: options.Jobs = None,
    format: options.Format = None,
    device: options.Device = None,
    action: options.Action = None,
    skip_bad: options.SkipBad = False,
    json: options.Json = False,
    out: Out = None,
) -> None:
    """Simulate a cache of each policy and each size on a trace.

    The trace is read once. Reads and writes are accesses alike, and caches are empty at first.
    """
    what = _granularity(page, objects, sized_objects)
    file = TraceFile(*trace, format=format, device=device, action=action, skip_bad=skip_bad)

    def find(watch: Watch) -> CacheSimulation:
        return simulate_caches(
            file, policy.split(","), size.split(","), **what, ignore_trims=ignore_trims, write_back=write_back,
            dirty=dirty, jobs=jobs, monitor=watch,
        )  # fmt: skip

    _deliver(find, json=json, out=out)


@app.command(
    epilog="[bold]Example[/bold]\n\n  ssdlab cache mrc traces/oltp.csv.zst --policy lru,belady,arc --sample 5%"
)
def mrc(
    trace: TraceFiles,
    policy: Policies = "lru",
    size: Annotated[
        str | None,
        typer.Option(
            "--size",
            metavar="SIZES",
            help="As of 'ssdlab cache sim'; what the trace touches, halved again and again, if left out.",
            rich_help_panel=CACHES,
        ),
    ] = None,
    page: Page = None,
    objects: Objects = False,
    sized_objects: SizedObjects = False,
    ignore_trims: IgnoreTrims = False,
    sample: Annotated[
        str | None,
        typer.Option(
            "--sample",
            metavar="RATE",
            help="Estimate from this share of the items, such as 1%, or this number of them; simulate all if left out.",
            rich_help_panel=CACHES,
        ),
    ] = None,
    replicas: Annotated[
        int,
        typer.Option(
            "--replicas",
            metavar="N",
            help="Samples that it is dealt out to, 2 to 64, whose spread gives the standard error.",
            rich_help_panel=CACHES,
        ),
    ] = SAMPLE_REPLICAS,
    jobs: options.Jobs = None,
    format: options.Format = None,
    device: options.Device = None,
    action: options.Action = None,
    skip_bad: options.SkipBad = False,
    json: options.Json = False,
    out: Out = None,
) -> None:
    """Show miss ratios against the size of the cache.

    Stack algorithms (lru, mru, belady) with their default parameters are followed exactly in one pass, unless items are
    trimmed; other policies are simulated at each size, or estimated from a sample, with their standard error.
    """
    what = _granularity(page, objects, sized_objects)
    file = TraceFile(*trace, format=format, device=device, action=action, skip_bad=skip_bad)

    def find(watch: Watch) -> MissRatioCurves:
        return curves_of(
            file, policy.split(","), None if size is None else size.split(","), **what, ignore_trims=ignore_trims,
            sample=sample, replicas=replicas, jobs=jobs, monitor=watch,
        )  # fmt: skip

    _deliver(find, json=json, out=out)


def _show(found: CacheSimulation | MissRatioCurves) -> None:
    from rich.text import Text

    from ssdlab.cache.tables import headlines, remarks, tables
    from ssdlab.cli.tables import console, plain_table, show

    out = console()
    for remark in remarks(found):
        out.print(Text(f"note: {remark}", style="yellow"))
    print(", ".join(f"{label}: {value}" for label, value in headlines(found)))
    for title, headers, rows in tables(found):
        out.print()
        table = plain_table(title, *headers[1:])
        table.columns[0].min_width = 20
        for name, *cells in rows:
            table.add_row(f"  {name}", *cells)
        show(out, table)
