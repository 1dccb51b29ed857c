"""The micro-test on a simulated drive."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product

from ssdlab import _ssdlab
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import np
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, config_of, presets, rebuilt, set_by
from ssdlab.model.requests import Monitor
from ssdlab.study.calibration import knee
from ssdlab.study.calibration.grid import IN_FLIGHT, ROUNDS, in_flight_of, medians, regions_of
from ssdlab.study.calibration.result import Calibration
from ssdlab.study.executor import Executor

REQUESTS = 10_000
"""Requests measured in each round of a cell, and as many before them that are not."""

BUFFER = "the drive has a write buffer, in which writes are complete: few in flight keep its dies busy"

READS = {"read": "100%", "write": "0%"}


@takes(regions=["64MiB"])
def calibrate(
    config: Config | Overrides | None = None,
    *,
    regions: Sequence[str] | None = None,
    in_flight: Sequence[int] | None = None,
    requests: int = REQUESTS,
    jobs: int | None = None,
    monitor: Monitor | None = None,
) -> Calibration:
    """Measures what a simulated drive does with requests into one region, reads and writes by themselves.

    Each cell is a simulation of its own, from preconditioning on: requests at uniformly random places of the region,
    which begins at the start of the drive, in a closed loop. All cells are measured in three rounds, with the `seed` of
    the configuration and those that follow; the median counts. `workload.size` and `workload.align` are those of the
    configuration; the scheduler of the host is left out. The drive is filled in order, and not overwritten unless
    `precondition.overwrite` is set: dies are to be measured, not garbage collection. The result depends on the
    arguments but for `jobs` alone.

    Args:
        config: The drive; it must have `time = "event"`.
        regions: Sizes of a region, such as `"64MiB"`. If left out, powers of two from 64 MiB on, and the whole drive.
        in_flight: Requests in flight; powers of two up to 256, as far as the drive's queue holds them, if left out.
        requests: Requests measured in each round of a cell, after as many that are not: a write buffer is full by then
            if it holds no more.
        jobs: Simulations at a time; one per processor if left out.
        monitor: Told how many cells are done, of all rounds, in the phase `cells`. If it returns something true, the
            calibration ends and `Calibration.partial` is set.

    Raises:
        ConfigError: If the configuration serves one request at a time or in no time, or a region or number does not fit
            the drive.
    """
    config = config_of(config)
    if config["time"] != "event":
        raise ConfigError(
            f"time: a drive with time={config['time']} serves one request at a time, so that more in flight change "
            f"nothing; set time=event, or start from a preset of a parallel drive: {', '.join(parallel_presets())}"
        )
    if requests < 1:
        raise ConfigError("no request would be measured in a cell; ask for 1 or more, such as 10000")
    whole = _ssdlab.size(config["device.capacity"])
    size = str(config["workload.size"])
    largest = max(_ssdlab.size(part.partition(":")[0]) for part in size.split(","))
    sizes = regions_of(regions, whole, largest, "the drive")
    protocol = config["drive.protocol"]
    # A generated workload is one stream, and so goes to one queue.
    queue_depth = None if protocol == "direct" else int(config[f"drive.protocol.{protocol}.depth"])
    usual = sorted({min(number, queue_depth or number) for number in IN_FLIGHT})
    depths = in_flight_of(usual if in_flight is None else in_flight)

    overwrite = "precondition.overwrite"
    given = any(one.key == overwrite and one.origin != "default" for one in config.settings)
    state = config[overwrite] if given else "none"
    common: dict[str, object] = {
        overwrite: state,
        "workload.pattern": "uniform",
        "workload.requests": 2 * requests,
        "host.warmup": requests,
        "host.replay": "closed",
        "block.scheduler": "direct",
    }
    shape = ROUNDS, len(sizes), len(depths)
    cells = {
        (op, at): _over(
            config,
            {
                **common,
                "seed": config["seed"] + at[0],
                "workload.reads": READS[op],
                "workload.span": f"{sizes[at[1]]}B",
                "host.replay.closed.queue_depth": depths[at[2]],
            },
        )
        for op, at in product(READS, np.ndindex(shape))
    }
    config.check()
    # The last has the largest region and most in flight.
    [*cells.values()][-1].check()
    iops = {op: np.full(shape, np.nan) for op in READS}
    amplification = np.full(shape, np.nan)
    executor = Executor("cells", len(cells), jobs=jobs, monitor=monitor)

    def one(op: str, at: tuple[int, ...]) -> None:
        result = executor.simulate(cells[op, at])
        if result is None:
            return
        rate = result.iops
        if rate is None:
            raise ConfigError(
                f"{op}s take no time, so that they have no throughput; set drive.command or drive.link, or ask for "
                "more requests than the write buffer holds"
            )
        iops[op][at] = rate
        if op == "write":
            amplification[at] = result.summary["write_amplification"]

    executor.run([partial(one, *cell) for cell in cells])
    is_partial = executor.finished < len(cells)
    return Calibration(
        source={
            "kind": "simulated",
            "bytes": whole,
            "queue_depth": queue_depth,
            "overwrite": state,
            "rounds": ROUNDS,
            "requests": requests,
        },
        config=config,
        size=size,
        regions=sizes,
        in_flight=depths,
        iops={op: medians(table) for op, table in iops.items()},
        partial=is_partial,
        noise=None if is_partial else {op: knee.difference(table) for op, table in iops.items()},
        write_amplification=medians(amplification),
        remarks=() if config["drive.buffer"] == "none" else (BUFFER,),
    )


def parallel_presets() -> list[str]:
    """The presets that can be calibrated as they are."""
    return [one.name for one in presets() if Config(one.name)["time"] == "event"]


def _over(config: Config, overrides: Mapping[str, object]) -> Config:
    """`config` as a layer below `overrides`, which may choose other variants than its own overrides do."""
    return rebuilt(None, [("configuration", config.to_toml())], [set_by("calibrate", overrides)])
