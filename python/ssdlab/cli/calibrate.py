"""`ssdlab calibrate`."""

from pathlib import Path
from typing import Annotated

from ssdlab._ssdlab import ConfigError
from ssdlab._ssdlab import size as bytes_of
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import option
from ssdlab.cli.output import deliver
from ssdlab.cli.progress import watching
from ssdlab.study.calibration import Calibration, calibrate_target
from ssdlab.study.calibration import calibrate as calibrate_simulated
from ssdlab.study.calibration.grid import IN_FLIGHT, ROUNDS
from ssdlab.study.calibration.simulated import REQUESTS
from ssdlab.study.calibration.target import SECONDS, SIZE

app = App()

EXAMPLES = """
ssdlab calibrate --preset sata-mlc --set device.capacity=8GiB --out out/cal
ssdlab calibrate --target /dev/sdx --seconds 2 --json
"""

GRID = "Grid"
REAL = "Real drive"


@app.command(examples=EXAMPLES)
def calibrate(
    preset: options.Preset = None,
    config: options.ConfigFiles = [],
    set: options.Sets = [],
    regions: Annotated[
        str | None,
        option(
            "--regions SIZES",
            "Sizes of a region, with commas; powers of two from 64MiB on, and the whole drive, if left out.",
            GRID,
        ),
    ] = None,
    in_flight: Annotated[
        str | None,
        option(
            "--in-flight INTEGERS",
            "Requests in flight in a region, with commas; powers of two up to 256, or up to what the queue of the "
            "simulated drive holds, if left out.",
            GRID,
        ),
    ] = None,
    size: Annotated[
        str | None,
        option(
            "--size SIZE",
            f"Size of a request (short for --set workload.size=...); {SIZE} on a real drive if left out.",
            GRID,
        ),
    ] = None,
    requests: Annotated[
        int | None,
        option(
            "--requests INTEGER",
            f"Requests measured in each of {ROUNDS} rounds, after as many to warm up; {REQUESTS} if left out.",
            GRID,
            min=1,
        ),
    ] = None,
    target: Annotated[
        Path | None,
        option(
            "--target PATH",
            "Measure this file or unused block device with fio instead; only reads, unless --write.",
            REAL,
        ),
    ] = None,
    write: Annotated[
        bool,
        option("--write", "Measure writes too: DESTROYS WHAT THE TARGET HOLDS.", REAL),
    ] = False,
    seconds: Annotated[
        float | None,
        option("--seconds SECONDS", f"Time of each cell in each of {ROUNDS} rounds; {SECONDS:g} if left out.", REAL),
    ] = None,
    offset: Annotated[
        str | None,
        option("--offset SIZE", "Where every region begins; 0B if left out.", REAL),
    ] = None,
    jobs: options.Jobs = None,
    json: options.Json = False,
    out: Annotated[Path | None, options.out(Calibration)] = None,
    figures: options.Figures = None,
) -> int:
    """Measures throughput of random requests into one region against its size and the requests in flight,
    reads and writes by themselves. The knee of each curve, the fewest in flight that reach 95 % of its
    best, is the batch; the region is the smallest that reaches 95 % of the best of all. A simulated drive
    is filled first, and overwritten only if precondition.overwrite is set. Ctrl-C prints what is there.
    """
    sizes = None if regions is None else regions.split(",")
    depths = None if in_flight is None else options.numbers("--in-flight", in_flight)
    for name, given in [("--regions", sizes or []), ("--offset", [offset] if offset else [])]:
        for one in given:
            with options.blaming(name):
                bytes_of(one)
    with watching("calibrate") as watch:
        if target is None:
            if write or seconds is not None or offset is not None:
                raise ConfigError("--write, --seconds and --offset are for a real drive; name one with --target")
            short = [] if size is None else [("--size", f"workload.size={size}")]
            settings = options.configuration(preset, config, set, short)
            found = calibrate_simulated(
                settings, regions=sizes, in_flight=depths, requests=requests or REQUESTS, jobs=jobs, monitor=watch
            )
        else:
            if preset is not None or config or set or requests is not None or jobs is not None:
                raise ConfigError(
                    "--preset, --config, --set, --requests and --jobs are for a simulated drive; "
                    "leave out these or --target"
                )
            found = calibrate_target(
                target,
                write=write,
                size=size or SIZE,
                regions=sizes,
                in_flight=depths or IN_FLIGHT,
                offset=offset or "0B",
                seconds=SECONDS if seconds is None else seconds,
                monitor=watch,
            )
    return deliver(found, json=json, out=out, figures=figures)
