"""The command `ssdlab calibrate`."""

from pathlib import Path

from ssdlab._ssdlab import ConfigError
from ssdlab._ssdlab import size as bytes_of
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import group, option
from ssdlab.cli.options import Output, Settings
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
    settings: Settings = group(),
    regions: str | None = option(
        "--regions SIZES",
        "Region sizes, separated by commas; by default powers of two from 64MiB, and the whole drive.",
        GRID,
    ),
    in_flight: str | None = option(
        "--in-flight INTEGERS",
        "Numbers of requests in flight, separated by commas; by default powers of two up to 256, or up to the "
        "queue depth of a simulated drive.",
        GRID,
    ),
    size: str | None = option(
        "--size SIZE",
        f"Request size (short for --set workload.size=...); on a real drive {SIZE} by default.",
        GRID,
    ),
    requests: int | None = option(
        "--requests INTEGER",
        f"Requests measured in each of {ROUNDS} rounds, after an equally long warm-up; {REQUESTS} by default.",
        GRID,
        min=1,
    ),
    target: Path | None = option(
        "--target PATH",
        "Measure this file or unused block device with fio instead; reads only, unless --write is given.",
        REAL,
    ),
    write: bool = option("--write", "Also measure writes: DESTROYS ALL DATA ON THE TARGET.", REAL),
    seconds: float | None = option(
        "--seconds SECONDS",
        f"Measuring time for each region size and number of requests in flight, in each of {ROUNDS} rounds; "
        f"{SECONDS:g} by default.",
        REAL,
    ),
    offset: str | None = option("--offset SIZE", "Start of every region; 0B by default.", REAL),
    jobs: int | None = options.JOBS,
    output: Output = options.saving(Calibration),
) -> int:
    """Measures the throughput of random reads and random writes in one region, for each region size and number of
    requests in flight. The advised batch is the fewest requests in flight that reach 95 % of the region's maximum; the
    advised region is the smallest that reaches 95 % of the overall maximum. A simulated drive is filled first, and
    overwritten only if precondition.overwrite is set. Ctrl-C prints the finished measurements.
    """
    sizes = None if regions is None else regions.split(",")
    depths = None if in_flight is None else options.numbers("--in-flight", in_flight)
    for name, given in [("--regions", sizes or []), ("--offset", [offset] if offset else [])]:
        for written in given:
            with options.blaming(name):
                bytes_of(written)
    with watching("calibrate") as watch:
        if target is None:
            if write or seconds is not None or offset is not None:
                raise ConfigError("--write, --seconds and --offset need a real drive; choose one with --target PATH")
            short = [] if size is None else [("--size", f"workload.size={size}")]
            found = calibrate_simulated(
                settings.resolved(short),
                regions=sizes,
                in_flight=depths,
                requests=requests or REQUESTS,
                jobs=jobs,
                monitor=watch,
            )
        else:
            if settings.are_given or requests is not None or jobs is not None:
                raise ConfigError(
                    "--preset, --config, --set, --requests and --jobs apply only to a simulated drive; "
                    "omit them or --target"
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
    return output.deliver(found)
