"""Measures reads of a real file or block device. As in Harper 2018, nine of ten reads are sequential and four reads are
in flight at a time (appendix C: `rw=randread:9`, `iodepth=4`).

`measure` uses fio if it is installed, otherwise threads, and writes nothing.
"""

import mmap
import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.analyse.drive import fio
from ssdlab.analyse.drive.errors import CalibrationError
from ssdlab.analyse.drive.target import Target, engine_of, inspect

IN_FLIGHT = 4
RUN = 9
"""Number of sequential reads after each random jump."""
SECONDS = 1.0
"""Default measuring time per read size, in seconds."""
SIZES = tuple(4096 << step for step in range(6))
"""Read sizes measured in appendix C of Harper 2018, 4 to 128 KiB."""


@dataclass(frozen=True)
class Device:
    """Read rates of a file or block device."""

    path: str
    how: str
    """Program or method that measured the read rates."""
    iops: dict[int, float]
    """Reads per second, by read size in bytes."""
    remarks: tuple[str, ...]


def measure(path: Path, page_bytes: int, seconds: float, stop: Callable[[], bool] = lambda: False) -> Device:
    """Measures read rates for sizes of 4 to 128 KiB, and for the page size. Raises KeyboardInterrupt once `stop`
    returns a true value.
    """
    if not 0 < seconds <= 3600:
        raise ConfigError(
            f"the measuring time must be above 0 s and at most an hour, not {seconds:g} s; use 1, for example"
        )
    if page_bytes % 4096:
        page = text.exact_size(page_bytes)
        raise ConfigError(f"pages of {page} cannot be read with direct I/O; use a multiple of 4KiB")
    target = inspect(path, write=False)
    sizes = [size for size in sorted({*SIZES, page_bytes}) if size * (RUN + 1) <= target.bytes]
    if page_bytes not in sizes:
        raise ConfigError(f"{text.path(path)} is too small to measure; use a file of 1 GiB or more")
    try:
        found = fio.find()
    except CalibrationError:
        how, iops = "threads of ssdlab", {size: probe(target, size, seconds, stop) for size in sizes}
    else:
        how = found.version
        trial = fio.Job(target.path, "read", page_bytes, 0, target.bytes, IN_FLIGHT, "", target.direct, 0.2, RUN)
        engine = engine_of(found, trial)
        iops = {}
        for size in sizes:
            region = target.bytes // size * size
            job = fio.Job(target.path, "read", size, 0, region, IN_FLIGHT, engine, target.direct, seconds, RUN)
            figures = fio.run(found, job, stop)
            if figures is None:
                raise KeyboardInterrupt("stopped while measuring")
            iops[size] = figures[1]
    return Device(str(target.path), how, iops, target.remarks)


def probe(
    target: Target,
    size: int,
    seconds: float,
    stop: Callable[[], bool] = lambda: False,
    *,
    run: int = RUN,
    write: bool = False,
) -> float:
    """Returns the measured reads or writes per second: sequential runs of `run` requests after random jumps, with a
    thread for each request in flight.
    """
    file = os.open(target.path, (os.O_RDWR if write else os.O_RDONLY) | (os.O_DIRECT if target.direct else 0))
    transfer = os.pwritev if write else os.preadv
    counts = [0] * IN_FLIGHT
    faults: list[OSError] = []
    stopped = False
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        rng = random.Random(number)
        with mmap.mmap(-1, size) as buffer:
            # Each thread completes at least one sequential run, even if it starts late because the machine is busy.
            while counts[number] == 0 or time.monotonic() < end:
                first = rng.randrange(target.bytes // size - run + 1)
                for page in range(first, first + run):
                    transfer(file, [buffer], page * size)
                    counts[number] += 1

    def guarded(number: int) -> None:
        try:
            work(number)
        except OSError as error:
            faults.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(IN_FLIGHT)]
    began = time.monotonic()
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.05)
                if stop():
                    stopped = True
                    end = 0.0
    finally:
        os.close(file)
    if stopped:
        raise KeyboardInterrupt("stopped while measuring")
    if faults:
        raise faults[0]
    return sum(counts) / (time.monotonic() - began)
