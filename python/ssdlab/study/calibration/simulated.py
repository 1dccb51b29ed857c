"""Calibrates a simulated drive."""

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
"""Number of requests measured per cell and round, after an equal number of unmeasured requests."""

BUFFER = "the drive's write buffer completes writes early, so a few writes in flight keep the dies busy"

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
    """Measures the throughput of a simulated drive for requests into one region; reads and writes are measured
    separately.

    Each cell is a simulation: uniformly random requests into a region at the start of the drive, in a closed loop. Each
    cell runs three times with consecutive seeds; the median is the result. `workload.size` and `workload.align` apply;
    the host's scheduler does not. Preconditioning fills the drive in order. It overwrites nothing unless
    `precondition.overwrite` is set, because the calibration measures the dies, not garbage collection.

    Args:
        config: Configuration of the drive, with `time = "event"`.
        regions: Region sizes such as `"64MiB"`; by default powers of two from 64 MiB and the whole drive.
        in_flight: Requests in flight; by default powers of two up to 256 or the drive's queue depth.
        requests: Requests measured per cell and round, after an equal number of unmeasured requests that fill the write
            buffer.
        jobs: Number of parallel simulations; one per processor by default.
        monitor: Called with the number of finished cells in the phase `cells`. A true return value stops the
            calibration and sets `Calibration.partial`.

    Raises:
        ConfigError: If the drive serves one request at a time, if requests take no time, or if a region or number does
            not fit the drive.
    """
    config = config_of(config)
    if config["time"] != "event":
        raise ConfigError(
            f"time: a drive with time={config['time']} serves one request at a time, so more requests in flight have "
            f"no effect; set time=event, or use a preset of a parallel drive: {', '.join(parallel_presets())}"
        )
    if requests < 1:
        raise ConfigError("the number of requests per measurement is 0; use at least 1, for example 10000")
    whole = _ssdlab.size(config["device.capacity"])
    size = str(config["workload.size"])
    largest = max(_ssdlab.size(part.partition(":")[0]) for part in size.split(","))
    sizes = regions_of(regions, whole, largest, "the drive")
    protocol = config["drive.protocol"]
    # A generated workload is a single stream, so it uses only one queue.
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
    # Checking the last cell covers all cells, because it has the largest region and the most requests in flight.
    [*cells.values()][-1].check()
    iops = {op: np.full(shape, np.nan) for op in READS}
    amplification = np.full(shape, np.nan)
    executor = Executor("cells", len(cells), jobs=jobs, monitor=monitor)

    def measure(op: str, at: tuple[int, ...]) -> None:
        result = executor.simulate(cells[op, at])
        if result is None:
            return
        rate = result.iops
        if rate is None:
            raise ConfigError(
                f"{op}s complete in zero time, so their throughput is undefined; set drive.command or drive.link, or "
                "measure more requests than fit into the write buffer"
            )
        iops[op][at] = rate
        if op == "write":
            amplification[at] = result.summary["write_amplification"]

    executor.run([partial(measure, *cell) for cell in cells])
    is_stopped = executor.finished < len(cells)
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
        is_stopped=is_stopped,
        noise={} if is_stopped else {op: knee.difference(table) for op, table in iops.items()},
        write_amplification=medians(amplification),
        remarks=() if config["drive.buffer"] == "none" else (BUFFER,),
    )


def parallel_presets() -> list[str]:
    """Returns the names of the presets that can be calibrated."""
    return [one.name for one in presets() if Config(one.name)["time"] == "event"]


def _over(config: Config, overrides: Mapping[str, object]) -> Config:
    """Returns the configuration with overrides, which may select other variants, unlike `Config.with_overrides`."""
    return rebuilt(None, [("configuration", config.to_toml())], [set_by("calibrate", overrides)])
