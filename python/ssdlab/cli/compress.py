"""The command `ssdlab compress`."""

from pathlib import Path

from ssdlab import _ssdlab
from ssdlab.analyse.compress import CODECS, PAGE_SIZES, RUNS, CompressBench
from ssdlab.analyse.compress import bench as bench_codecs
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, option
from ssdlab.cli.options import Output
from ssdlab.cli.progress import watching

app = App()

FORMS = ", ".join(form for _, _, form in _ssdlab.codecs())


@app.command(
    examples="ssdlab compress bench\nssdlab compress bench silesia/ --codec lz4,zstd:1 --page 8KiB --out out/codecs"
)
def bench(
    paths: list[Path] = argument("PATH", "Files and directories; a built-in corpus by default.", default=None),
    codec: str = option("--codec NAMES", f"Codecs, separated by commas: {FORMS}.", default=",".join(CODECS)),
    page: str = option(
        "--page SIZES", "Page sizes, separated by commas; 'file' for whole files.", default=",".join(PAGE_SIZES)
    ),
    threads: str | None = option(
        "--threads INTEGERS", "Numbers of threads, separated by commas; by default 1 and the number of processors."
    ),
    runs: int = option("--runs INTEGER", "Number of timed runs, after one warm-up run.", default=RUNS, min=1),
    output: Output = options.saving(CompressBench),
) -> int:
    """Measure how much codecs shrink pages of files, and how long they take.

    Every decompressed page is compared with the original. Times are measured on this machine and include interference
    from other programs, so check their range. Pages that do not shrink are stored raw and counted.
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
    return output.deliver(found)
