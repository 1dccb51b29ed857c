"""The fio job file that measures a drive for a fit."""

from pathlib import Path

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.drive.target import inspect

DEPTHS = (1, 4, 16, 64, 256)
"""Queue depths of the read-only loads."""

THREADS = 4
"""Number of threads for loads with many outstanding requests: one thread cannot keep up with a fast drive."""

SHARES = (15, 30, 45, 60, 75, 90, 120)
"""Rates of background writes, in percent of the drive's random write rate."""

SECONDS, RAMP_SECONDS = 15, 2

PROBE_IOPS = 10_000
"""Requests per second of the probe (the queue whose latencies are measured); half of them are reads."""

WRITERS = 6
"""Number of background queues."""

DEPTH = 64
"""Queue depth of the probe and of each background queue."""

BACKGROUND_READS = 1
"""Share of reads among the background requests, in percent."""

PREPARING = ("overwrite",)
"""Jobs that only precondition the drive; a fit ignores their measurements."""

PERCENTILES = "1:10:25:50:75:90:95:99:99.9:99.99"


def job(device: Path | None = None, *, write: bool = False, random_write: float | None = None) -> str:
    """Returns the text of the job file.

    The job measures an unused device or file or, if `device` is None, the environment variable `DEVICE`. With `write`,
    it also measures writes, which destroys the contents; `random_write` is their rate per second in the data sheet.
    """
    if device is not None:
        device = inspect(device, write).path
        if ":" in str(device):
            raise ConfigError(
                f"--device {text.path(device)}: fio splits names at colons; create a link without colons and use its "
                "name"
            )
    if write and random_write is None:
        raise ConfigError(
            "--write: the loads depend on the drive's random write rate; add the rate from the data sheet, such as "
            "--sheet random_write=85k/s"
        )
    name = "${DEVICE}" if device is None else str(device)
    sections = [*_reads(), *(_writes(random_write or 0) if write else [])]
    return "\n".join([*_head(device is None, write, len(sections)), *_globals(name), *sections])


def _head(by_name: bool, write: bool, sections: int) -> list[str]:
    before = "DEVICE=/dev/nvme0n1 " if by_name else ""
    minutes = round(sections * (SECONDS + RAMP_SECONDS) / 60 + 0.5)
    if write:
        warning, only = "DESTROYS ALL DATA ON THE DEVICE.", ""
        more = ", plus the time to write the whole drive four times"
    else:
        warning, only, more = "Reads only. Fill the whole device with data first.", "--readonly ", ""
    return [
        f"# {warning}",
        f"# Takes about {minutes} minutes{more}:",
        f"#   {before}fio {only}--output-format=json+ --output=result.json FILE",
        "#   ssdlab fit drive result.json --base client-nvme -o my.toml",
    ]


def _globals(name: str) -> list[str]:
    return [
        "[global]",
        f"filename={name}",
        "direct=1",
        "ioengine=libaio",
        "allow_file_create=0",
        "thread=1",
        "norandommap=1",
        "randrepeat=1",
        "bs=4k",
        f"ramp_time={RAMP_SECONDS}",
        "lat_percentiles=1",
        f"percentile_list={PERCENTILES}",
        "",
    ]


def _section(name: str, *lines: str, wall: bool = True, timed: bool = True) -> str:
    time = ["time_based=1", f"runtime={SECONDS}"] if timed else []
    return "\n".join([f"[{name}]", *(["stonewall"] if wall else []), *lines, *time, ""])


def _reads() -> list[str]:
    loads = []
    for depth in DEPTHS:
        threads = THREADS if depth >= 16 * THREADS else 1
        several = [f"numjobs={threads}", "group_reporting=1"] if threads > 1 else []
        loads.append(_section(f"read-{depth}", "rw=randread", f"iodepth={depth // threads}", *several))
    return [*loads, _section("sequential-read", "rw=read", "bs=128k", "iodepth=32")]


def _writes(random_write: float) -> list[str]:
    loads = [
        _section("sequential-write", "rw=write", "bs=128k", "iodepth=32", "size=100%", timed=False),
        _section("overwrite", "rw=randwrite", f"iodepth={DEPTH}", "size=100%", "loops=3", timed=False),
    ]
    # Limits the probe's write rate to half of the total write rate of the first load, which has the lowest rate.
    half = max(min(PROBE_IOPS // 2, round(random_write * SHARES[0] / 200)), 1)
    for share in SHARES:
        writers = max(random_write * share / 100 - half, 0) / WRITERS
        writes = max(round(writers * (100 - BACKGROUND_READS) / 100), 1)
        reads = max(round(writers * BACKGROUND_READS / 100), 1)
        loads += [
            _section(
                f"probe-{share}", "rw=randrw", "rwmixread=50", f"iodepth={DEPTH}", f"rate_iops={half},{half}",
            ),
            _section(
                f"writers-{share}", "rw=randrw", f"rwmixread={BACKGROUND_READS}", f"iodepth={DEPTH}",
                f"rate_iops={reads},{writes}", "rate_process=poisson", f"numjobs={WRITERS}",
                wall=False,
            ),
        ]  # fmt: skip
    return loads
