"""`ssdlab compress`."""

from pathlib import Path
from typing import Annotated

from ssdlab import _ssdlab
from ssdlab.analyse.compress import CODECS, PAGE_SIZES, RUNS, CompressBench
from ssdlab.analyse.compress import bench as bench_codecs
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, option
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import watching

app = App()

FORMS = ", ".join(form for _, _, form in _ssdlab.codecs())


@app.command(
    examples="ssdlab compress bench\nssdlab compress bench silesia/ --codec lz4,zstd:1 --page 8KiB --out out/codecs"
)
def bench(
    paths: Annotated[
        list[Path] | None,
        argument("PATH", "Files and directories; a corpus of our own if left out."),
    ] = None,
    codec: Annotated[str, option("--codec NAMES", f"Codecs, with commas: {FORMS}.")] = ",".join(CODECS),
    page: Annotated[str, option("--page SIZES", "Sizes of a page, with commas; 'file' for whole files.")] = ",".join(
        PAGE_SIZES
    ),
    threads: Annotated[
        str | None,
        option("--threads INTEGERS", "Numbers of threads, with commas; 1 and all processors if left out."),
    ] = None,
    runs: Annotated[int, option("--runs INTEGER", "Timed runs, after one to warm up.", min=1)] = RUNS,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(CompressBench)] = None,
    figures: options.Figures = None,
) -> int:
    """Measure how far codecs shrink pages of files, and how long that takes.

    Every page restored is compared with what it was before times count. Times are of this machine, and of others'
    work on it: look at their range. A page that does not shrink is kept as it is and counted.
    """
    with watching("compress") as watch:
        found = bench_codecs(
            paths,
            codecs=codec.split(","),
            page_sizes=page.split(","),
            threads=None if threads is None else options.numbers("--threads", threads),
            runs=runs,
            monitor=watch,
        )
    return deliver(found, json=json, out=out, figures=figures)
