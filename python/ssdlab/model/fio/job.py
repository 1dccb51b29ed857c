"""Jobs of a fio job file, converted from the options of its sections."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ssdlab import text
from ssdlab.model.fio.parse import Option, Section

MOST_JOBS = 255
FOREVER = 2**63 - 1
"""Stands for "no limit" on bytes, requests or nanoseconds; no job reaches this value."""
MOST_BYTES = 2**31
"""Maximum size of a request in bytes."""
MOST_END = 2**62
"""Maximum end address of any job's region, in bytes."""

READ, WRITE, TRIM = 0, 1, 2
RW = {
    "read": (READ,), "write": (WRITE,), "trim": (TRIM,), "randread": (READ,), "randwrite": (WRITE,),
    "randtrim": (TRIM,), "rw": (READ, WRITE), "readwrite": (READ, WRITE), "randrw": (READ, WRITE),
    "trimwrite": (TRIM, WRITE), "randtrimwrite": (TRIM, WRITE),
}  # fmt: skip
"""Operations for each value of the option rw."""

SYNC_ENGINES = {"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "libpmem", "dev-dax", "pmemblk"}
"""I/O engines that issue one request at a time, so iodepth has no effect."""
ASYNC_ENGINES = {
    "libaio", "io_uring", "io_uring_cmd", "posixaio", "solarisaio", "windowsaio", "null", "sg", "spdk", "xnvme",
    "libblkio", "guasi", "syslet-rw", "nvme",
}  # fmt: skip
"""I/O engines that keep iodepth requests outstanding."""
SYNC_MODES = ("", "0", "1", "none", "sync", "dsync")

USED = frozenset({
    "blockalign", "blocksize_unaligned", "bs", "bsrange", "bssplit", "fdatasync", "filename", "filesize", "fsync",
    "group_reporting", "io_size", "iodepth", "ioengine", "loops", "new_group", "norandommap", "number_ios", "numjobs",
    "offset", "offset_increment", "random_distribution", "randseed", "rate", "rate_iops", "rate_process", "runtime",
    "rw", "rwmixread", "rwmixwrite", "size", "startdelay", "stonewall", "sync", "thinktime", "thinktime_blocks",
    "time_based",
})  # fmt: skip
"""fio options that determine the generated requests or their replay."""

UNCHANGING = frozenset({
    "allrandrepeat", "buffered", "clat_percentiles", "create_on_open", "create_serialize", "cpus_allowed",
    "cpus_allowed_policy", "description", "direct", "directory", "disable_clat", "disable_lat", "disable_slat",
    "end_fsync", "exitall_on_error", "fallocate", "file_service_type", "fixedbufs", "gtod_reduce", "hipri",
    "invalidate", "iodepth_batch", "iodepth_batch_complete", "iodepth_batch_submit", "iodepth_low", "iomem",
    "lat_percentiles", "log_avg_msec", "mem", "name", "nice", "openfiles", "overwrite", "percentile_list", "prio",
    "random_generator", "randrepeat", "refill_buffers", "registerfiles", "scramble_buffers", "slat_percentiles",
    "softrandommap", "sqthread_poll", "thread", "unlink", "userspace_reap", "write_bw_log", "write_hist_log",
    "write_iops_log", "write_lat_log",
})  # fmt: skip
"""Options that affect only fio's own process or report. They are ignored without a note."""

NONE = ("0", "1", "none")
"""Option values that have no effect: they switch the option off, or are its default."""
SWITCHES = ("exitall", "experimental_verify")
"""Options that the value 1 enables."""
UNMODELLED: Mapping[str, str] = {
    "exitall": "ending all jobs when one job ends is not modelled; set runtime in each job",
    "flow": "balancing I/O between jobs is not modelled; use rate_iops",
    "experimental_verify": "verification is not modelled; remove this option",
    "latency_target": "searching for a queue depth is not modelled; run several values of iodepth",
    "nrfiles": "several files per job are not modelled; use numjobs",
    "percentage_random": "mixing random and sequential I/O in one job is not modelled; use two jobs",
    "read_iolog": "a job cannot replay a log; use 'ssdlab run LOG'",
    "rw_sequencer": "sequencing of offsets is not modelled; remove this option",
    "sg_write_mode": "SCSI commands other than READ and WRITE are not modelled; remove this option",
    "steadystate": "ending a job at steady state is not modelled; use runtime, or --set host.repeat=until-steady",
    "ss": "ending a job at steady state is not modelled; use runtime, or --set host.repeat=until-steady",
    "thinktime_iotime": "pauses after a given I/O time are not modelled; use thinktime_blocks",
    "trim_percentage": "trims of verified data are not modelled; use rw=trimwrite",
    "verify": "verification is not modelled; remove this option, and check the simulation with --check",
    "wait_for": "waiting for a named job is not modelled; use stonewall",
    "zonemode": "zones are not modelled; set zonemode=none",
    "zonesize": "zones are not modelled; use random_distribution=zoned",
    "zoneskip": "zones are not modelled; use rw=read:SKIP",
}  # fmt: skip
"""Unsupported options that would change the requests or their order, with remedies."""


class Zone(NamedTuple):
    """A part of a job's region (start and size in bytes), and its share of the requests."""

    share: float
    start: int
    size: int


class Distribution(NamedTuple):
    """Distribution of random offsets: `random`, `zipf`, `pareto`, `normal` or `zoned`."""

    name: str = "random"
    parameter: float = 0.0
    zones: Sequence[Zone] = ()


@dataclass(frozen=True)
class Job:
    """One clone of a job section, with all its options resolved."""

    section: Section
    name: str
    group: int
    """Index of the job's group; all jobs of a group run concurrently."""
    report: int
    """Index of the reporting group, whose jobs `group_reporting` combines in one report."""
    is_summed: bool
    """True if `group_reporting` is set."""
    clone: int
    """Index of this clone among the clones of its section; each clone draws different random numbers."""
    seed: int
    ops: tuple[int, ...]
    is_random: bool
    add: int
    """Bytes to skip after each sequential request; negative to read backwards."""
    run: int
    """Number of successive sequential requests from each random offset."""
    read_share: float
    splits: Mapping[int, Sequence[tuple[int, float]]]
    """Request sizes of each operation, with their probabilities."""
    ranges: Mapping[int, tuple[int, int]]
    """Smallest and largest request size of each operation, if bsrange is set."""
    is_unaligned: bool
    align: int
    depth: int
    base: int
    """First byte of the job's region on the drive."""
    size: int
    """Size in bytes of the job's region on the drive."""
    is_mapped: bool
    """True if random requests visit each block once per pass."""
    distribution: Distribution
    pass_bytes: int
    total_bytes: int
    passes: int
    number_ios: int
    flush_every: int
    is_fua: bool
    rate: Mapping[int, float]
    """Maximum rate of each operation, in bytes per second or in requests per second."""
    rates_requests: bool
    is_poisson: bool
    think_ns: int
    think_requests: int
    delay_ns: int
    runtime_ns: int

    @property
    def different_sizes(self) -> set[int]:
        """All request sizes of the job. A range of sizes contributes only its smallest and largest size."""
        return {size for op in self.ops for size in self.ranges.get(op) or [size for size, _ in self.splits[op]]}


def jobs_of(sections: Sequence[Section], capacity: int | None) -> tuple[list[Job], list[str]]:
    """Returns the jobs, and notes on options not replayed as written. `capacity` is None if it is unknown."""
    unknown: dict[str, None] = {}
    by_file: dict[str, list[int]] = {}
    jobs: list[Job] = []
    drawn: list[str] = []
    group = report = 0
    for index, section in enumerate(sections):
        options = _Options(section)
        unknown |= dict.fromkeys(options.unknown())
        starts = options.flag("stonewall") and index > 0
        group += starts
        report += starts or (options.flag("new_group") and index > 0)
        clones = options.whole("numjobs", 1, least=1)
        if len(jobs) + clones > MOST_JOBS:
            section.refuse(f"the file has more than {MOST_JOBS} jobs; lower numjobs to {max(1, MOST_JOBS - len(jobs))}")
        for clone in range(clones):
            job = options.job(clone, capacity, group, report, f"{section.name}.{clone}" if clones > 1 else section.name)
            name = options.given("filename")
            by_file.setdefault(name.value if name else f"{index}.{clone}", []).append(len(jobs))
            jobs.append(job)
        if job.is_random and not job.is_mapped and not options.flag("norandommap") and len(job.different_sizes) > 1:
            drawn.append(section.name)
    # Files are laid end to end on the drive, in the order of their first jobs.
    base = 0
    for users in by_file.values():
        end = max(jobs[number].base + jobs[number].size for number in users)
        for number in users:
            jobs[number] = replace(jobs[number], base=base + jobs[number].base)
        base += -(-end // 4096) * 4096
    if base >= MOST_END:
        sections[-1].refuse("the total file size of all jobs exceeds 4 EiB; lower size")
    notes = []
    if unknown:
        notes.append(f"fio options that have no effect here: {', '.join(text.path(name) for name in unknown)}")
    if drawn:
        named = ", ".join(text.path(name) for name in drawn)
        notes.append(f"random offsets may repeat, as with norandommap, in jobs with several block sizes: {named}")
    return jobs, notes


class _Options:
    """Options of a job section; converts them to the fields of a `Job`."""

    def __init__(self, section: Section) -> None:
        self.section = section
        for name, option in section.options.items():
            if name in UNMODELLED and option.value not in (NONE if name not in SWITCHES else NONE[:1]):
                option.refuse(UNMODELLED[name])

    def unknown(self) -> list[str]:
        """Returns the names of the options that have no effect on a simulation."""
        known = USED | UNCHANGING | UNMODELLED.keys()
        return [option.name for name, option in self.section.options.items() if name not in known]

    def given(self, name: str) -> Option | None:
        return self.section.options.get(name)

    def flag(self, name: str) -> bool:
        option = self.given(name)
        return option is not None and option.flag()

    def whole(self, name: str, default: int, least: int = 0, most: int = 2**32 - 1) -> int:
        option = self.given(name)
        return default if option is None else option.whole(least=least, most=most)

    def choice(self, name: str, allowed: Collection[str], default: str, why: str) -> str:
        """Returns the value of an option, which must be one of the allowed values."""
        option = self.given(name)
        if option is not None and option.value not in allowed:
            option.refuse(why)
        return default if option is None else option.value

    def time_ns(self, name: str, unit: str) -> int:
        option = self.given(name)
        return 0 if option is None else option.time_ns(unit)

    def by_op(self, name: str) -> dict[int, str]:
        """Returns an option's value for each operation; the last value applies to the remaining operations."""
        option = self.given(name)
        if option is None:
            return {}
        parts = option.parts()
        if len(parts) > 3:
            option.refuse("has more than three values; write one value each for reads, writes and trims")
        values = {op: parts[min(op, len(parts) - 1)] for op in (READ, WRITE, TRIM)}
        return {op: value for op, value in values.items() if value}

    def job(self, clone: int, capacity: int | None, group: int, report: int, name: str) -> Job:
        """Returns the job of a clone. Its `base` is relative to the start of its file."""
        depth = self._depth()
        ops, is_random, add, run = self._rw()
        splits, ranges = self._sizes()
        align = self.whole("blockalign", 0, most=2**31)
        base, size = self._region(clone, capacity)
        io_size = self.given("io_size")
        limit = io_size.size_of(size) if io_size is not None else 0
        runtime_ns, loops = self.time_ns("runtime", "s"), self.whole("loops", 1, least=1)
        is_endless = self.flag("time_based")
        if is_endless and not runtime_ns:
            self.section.options["time_based"].refuse("needs a runtime; add runtime=10s")
        distribution = self._distribution(size)
        rate, rates_requests = self._rate()
        sync = self.choice("sync", SYNC_MODES, "none", "is not a sync mode; use none, sync or dsync")
        process = "is not an arrival process; use linear or poisson"
        number_ios = self.whole("number_ios", 0, most=2**62)
        job = Job(
            section=self.section, name=name, group=group, report=report, is_summed=self.flag("group_reporting"),
            clone=clone, seed=self.whole("randseed", 1, most=2**62), ops=ops, is_random=is_random, add=add, run=run,
            read_share=self._read_share(), splits=splits, ranges=ranges, is_unaligned=self.flag("blocksize_unaligned"),
            align=align, depth=depth, base=base, size=size, is_mapped=False, distribution=distribution,
            pass_bytes=FOREVER if is_endless or limit else size * (2 if ops == (TRIM, WRITE) else 1),
            total_bytes=FOREVER if is_endless or not limit else limit * loops,
            passes=FOREVER if is_endless or limit else loops,
            number_ios=FOREVER if is_endless or not number_ios else number_ios,
            flush_every=min(filter(None, (self.whole("fsync", 0), self.whole("fdatasync", 0))), default=0),
            is_fua=sync not in ("0", "none"), rate=rate, rates_requests=rates_requests,
            is_poisson=self.choice("rate_process", ("linear", "poisson"), "linear", process) == "poisson",
            think_ns=self.time_ns("thinktime", "us"), think_requests=self.whole("thinktime_blocks", 1, least=1),
            delay_ns=self.time_ns("startdelay", "s"), runtime_ns=runtime_ns or FOREVER,
        )  # fmt: skip
        sizes = job.different_sizes
        if max(sizes) > size:
            self.section.refuse(f"the job's size of {size} bytes is smaller than a request; raise size to {max(sizes)}")
        mapped = is_random and not self.flag("norandommap") and not align and len(sizes) == 1
        return replace(job, align=align or min(sizes), is_mapped=mapped and distribution.name == "random")

    def _rw(self) -> tuple[tuple[int, ...], bool, int, int]:
        """Parses `rw`. Returns the operations, whether they are random, the number of bytes to skip after each
        sequential request, and the number of successive requests from each random offset.
        """
        option = self.given("rw")
        if option is None:
            return (READ,), False, 0, 1
        kind, _, more = option.value.lower().partition(":")
        if kind not in RW:
            option.refuse(f"is not a supported I/O type; use {', '.join(RW)}")
        is_random = kind.startswith("rand")
        if not more:
            return RW[kind], is_random, 0, 1
        if is_random:
            return RW[kind], True, 0, option.whole(more, least=1, most=2**32 - 1)
        return RW[kind], False, option.size(more.lstrip("-")) * (-1 if more.startswith("-") else 1), 1

    def _sizes(self) -> tuple[dict[int, Sequence[tuple[int, float]]], dict[int, tuple[int, int]]]:
        """Returns the sizes of each operation with their probabilities, and the ranges of bsrange."""
        plain, split, range_ = self.given("bs"), self.given("bssplit"), self.given("bsrange")
        splits: dict[int, Sequence[tuple[int, float]]] = dict.fromkeys((READ, WRITE, TRIM), ((4096, 1.0),))
        ranges: dict[int, tuple[int, int]] = {}
        if plain is not None:
            splits |= {op: ((_bytes(plain, part), 1.0),) for op, part in self.by_op("bs").items()}
        if split is not None:
            return splits | {op: _split(split, part) for op, part in self.by_op("bssplit").items()}, {}
        if range_ is not None:
            for op, part in self.by_op("bsrange").items():
                ends = [_bytes(range_, end.strip()) for end in part.replace(":", "-").split("-")]
                if len(ends) != 2 or ends[0] > ends[1]:
                    range_.refuse("is not a range of sizes; write it like 4k-64k")
                ranges[op] = (ends[0], ends[1])
        return splits, ranges

    def _region(self, clone: int, capacity: int | None) -> tuple[int, int]:
        """Returns the offset of the job in its file, and the size of its region."""
        filesize, size, offset = self.given("filesize"), self.given("size"), self.given("offset")
        is_device = self.given("filename") is not None
        whole = filesize.size() if filesize is not None else capacity
        step = self.given("offset_increment")
        base = (offset.size_of(whole) if offset is not None else 0) + (
            step.size_of(whole) * clone if step is not None else 0
        )
        if size is not None:
            region = size.size_of(whole)
            if size.value.endswith("%") or filesize is not None:
                assert whole is not None
                region = min(region, whole - base)
        elif filesize is not None or (is_device and capacity is not None):
            assert whole is not None
            region = whole - base
        else:
            self.section.refuse("has no size; add size=1g" + (", or --set device.capacity=64GiB" if is_device else ""))
        if region <= 0:
            self.section.refuse(f"starts at byte {base}, at or past the end of the file; lower offset to 0")
        return base, region

    def _distribution(self, size: int) -> Distribution:
        option = self.given("random_distribution")
        if option is None:
            return Distribution()
        name, _, more = option.value.lower().partition(":")
        if name == "random" and not more:
            return Distribution()
        if name in ("zoned", "zoned_abs"):
            if "," in more:
                option.refuse("different zones for reads and writes are not modelled; use two jobs")
            return Distribution("zoned", zones=_zones(option, more, is_bytes=name == "zoned_abs", region=size))
        bounds = {"zipf": (1.1, 0.0, 10.0), "pareto": (0.2, 0.0, 1.0), "normal": (None, 0.0, 100.0)}
        if name not in bounds:
            option.refuse("is not a distribution; use random, zipf:1.2, pareto:0.2, normal:10, zoned:50/10:50/90")
        default, least, most = bounds[name]
        parameter = option.number(more, least, most) if more or default is None else default
        if not least < parameter < most:
            option.refuse(f"the parameter must be above {least:g} and below {most:g}")
        return Distribution(name, parameter)

    def _rate(self) -> tuple[dict[int, float], bool]:
        rates, requests = self.by_op("rate"), self.by_op("rate_iops")
        if rates and requests:
            self.section.options["rate_iops"].refuse("contradicts rate; remove one of them")
        option = self.given("rate_iops" if requests else "rate")
        found = {op: float(option.size(part)) for op, part in (rates or requests).items()} if option is not None else {}
        return {op: rate for op, rate in found.items() if rate > 0}, bool(requests)

    def _depth(self) -> int:
        engines = SYNC_ENGINES | ASYNC_ENGINES
        engine = self.choice("ioengine", engines, "psync", "is not a supported I/O engine; use libaio or psync")
        depth = self.whole("iodepth", 1, least=1, most=65_536)
        return 1 if engine in SYNC_ENGINES else depth

    def _read_share(self) -> float:
        reads, writes = self.given("rwmixread"), self.given("rwmixwrite")
        if writes is not None:
            return 1 - writes.whole(most=100) / 100
        return 0.5 if reads is None else reads.whole(most=100) / 100


def _bytes(option: Option, part: str) -> int:
    """Returns the size of a request."""
    size = option.size(part)
    if not 1 <= size <= MOST_BYTES:
        option.refuse("the size of a request must be 1 byte to 2 GiB; use bs=4k")
    return size


def _split(option: Option, written: str) -> Sequence[tuple[int, float]]:
    """Returns the sizes of bssplit with their probabilities; sizes without a percentage share the rest."""
    sizes, shares = [], []
    for part in written.split(":"):
        size, _, share = (word.strip() for word in part.partition("/"))
        sizes.append(_bytes(option, size))
        shares.append(option.number(share, 0, 100) if share else None)
    given = sum(filter(None, shares))
    open_ends = shares.count(None)
    if given > 100 or (not open_ends and given != 100):
        option.refuse(f"the percentages add up to {given:g}; make the sum 100")
    return [
        (size, ((100 - given) / open_ends if share is None else share) / 100)
        for size, share in zip(sizes, shares, strict=True)
    ]


def _zones(option: Option, written: str, *, is_bytes: bool, region: int) -> Sequence[Zone]:
    """Returns the zones of zoned (sizes in percent) or zoned_abs (sizes in bytes)."""
    words = [[word.strip() for word in part.split("/")] for part in written.split(":")]
    if any(len(pair) != 2 for pair in words):
        option.refuse("is not a list of zones; write it like zoned:50/10:50/90")
    shares = [option.number(share, 0, 100) / 100 for share, _ in words]
    if is_bytes:
        given = [option.size(size) if size else None for _, size in words]
    else:
        given = [int(region * option.number(size, 0, 100) / 100) if size else None for _, size in words]
    rest = region - sum(filter(None, given))
    sizes = [rest // given.count(None) if size is None else size for size in given]
    if abs(sum(shares) - 1) > 1e-9:
        option.refuse(f"the shares of requests add up to {100 * sum(shares):g} %; make the sum 100 %")
    if rest < 0 or any(size <= 0 for share, size in zip(shares, sizes, strict=True) if share):
        option.refuse("the zones do not fit into the job's region; make their sizes add up to the job's size")
    ends = [sum(sizes[: index + 1]) for index in range(len(sizes))]
    return [Zone(share, end - size, size) for share, size, end in zip(shares, sizes, ends, strict=True) if share > 0]
