"""Generates traces with the statistics of Alibaba's and Tencent's fleets.

Each volume draws its request rate, write share, working set and randomness. Requests arrive as one Poisson process and
are assigned to volumes by their rates. A random request of a volume goes to a Zipf-distributed page of its working set;
all other requests continue a sequential run. The share of random requests is from the analysis of 2023, which calls a
request random if it is more than 128 KiB away from each of the 32 previous requests. In the small working set of a
short trace, far fewer requests meet this condition. Equal arguments give equal bytes.

Sources:

- Li et al., "An In-Depth Analysis of Cloud Block Storage Workloads in Large-Scale Production", IISWC 2020: rates and
  shares of writes of Alibaba's 1,000 volumes over 31 days, 20.2 billion requests.
- Li et al., "An In-Depth Comparative Analysis of Cloud Block Storage Workloads: Findings and Implications", ACM
  Transactions on Storage 19(2), 2023: sizes and randomness of both; Tencent's 4,995 volumes over 9 days, 33.7 billion
  requests, which Zhang et al., "OSCA", USENIX ATC 2020, made public.
- Wang et al., "Separating Data via Block Invalidation Time Inference", FAST 2022: median and maximum of the working
  sets, from the lists of volumes published with it.
"""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import np, npt, pa, pq
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config
from ssdlab.model.files import naming, refuse_drive, replacing
from ssdlab.model.requests import Monitor

BATCH_REQUESTS = 1 << 20
FIRST_US = 1_577_808_000_000_000
"""Start of Alibaba's trace in microseconds: 1 January 2020 in China Standard Time."""

PAGE_BYTES = 4096
MIN_SHARE = 2.0**-53
MIN_SPAN_BYTES = 1 << 20
DEVICE_BYTES = 1 << 30
"""Minimum device capacity configured for the request generators."""
THETA = 0.9
"""Zipf skew of random requests. At this skew, about 28 % of all requests, including sequential requests, go to a tenth
of the median volume's pages. The analysis of 2020 reports 31.2 % of the writes for the first quartile of volumes.
"""


class Spread(NamedTuple):
    """Normal distribution, defined by two published quantiles."""

    mean: float
    sigma: float

    @classmethod
    def through(cls, first: tuple[float, float], second: tuple[float, float]) -> "Spread":
        """Returns the distribution with two given quantiles, each a pair (cumulative fraction, value)."""
        (share, value), (other, at) = first, second
        low, high = NormalDist().inv_cdf(share), NormalDist().inv_cdf(other)
        sigma = (at - value) / (high - low)
        return cls(value - low * sigma, sigma)

    def draw(self, volumes: int, random: "_Random") -> list[float]:
        """Draws a value for each volume."""
        normal = NormalDist(self.mean, self.sigma)
        return [normal.inv_cdf(max(share, MIN_SHARE)) for share in random.shares(volumes)]


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


class Profile(NamedTuple):
    """Published statistics of a fleet."""

    volumes: int
    requests: float
    """Number of requests in the published trace. Working sets scale with the number of generated requests, so that
    pages are rewritten as often as there.
    """
    rate: Spread
    writes: Spread
    span: Spread
    random: Spread
    """Distributions over the volumes: logarithms of requests per second, of the ratio of writes to reads and of the
    working set in bytes; logit of the share of random requests.
    """
    sizes: str
    """Distribution of request sizes, with the published third quartile."""


_RATE = Spread.through((0.816, math.log(10)), (0.981, math.log(100)))
"""81.6 % of Alibaba's volumes average less than 10 requests per second, and 1.9 % more than 100."""
_WRITES = Spread.through((1 - 0.915, 0.0), (1 - 0.424, math.log(100)))
"""91.5 % of Alibaba's volumes write more than they read, and 42.4 % write a hundred times as much."""
_LARGEST = 1 - 1 / 1000

PROFILES = {
    "alibaba": Profile(
        volumes=1000,
        requests=20.2e9,
        rate=_RATE,
        writes=_WRITES,
        span=Spread.through((0.5, math.log(2.0 * 2**30)), (_LARGEST, math.log(3.3 * 2**40))),
        random=Spread.through((0.5, _logit(0.335)), (1 - 0.204, _logit(0.5))),
        sizes="4KiB:50%,8KiB:12%,16KiB:14%,32KiB:10%,64KiB:14%",
    ),
    "tencent": Profile(
        volumes=4995,
        requests=33.7e9,
        # Tencent's rate per volume is not published, so Alibaba's values are used.
        rate=_RATE,
        writes=_WRITES,
        span=Spread.through((0.5, math.log(23.0 * 2**30)), (1 - 1 / 271, math.log(1.7 * 2**40))),
        random=Spread.through((0.5, _logit(0.421)), (1 - 0.358, _logit(0.5))),
        sizes="4KiB:55%,8KiB:17%,12KiB:4%,32KiB:10%,64KiB:14%",
    ),
}


class _Random:
    """Random numbers from a NumPy generator's raw bits, which are the same in all NumPy versions."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def integers(self, count: int) -> "npt.NDArray[np.uint64]":
        return np.asarray(self._bits.random_raw(count), np.uint64) >> np.uint64(11)

    def shares(self, count: int) -> "npt.NDArray[np.float64]":
        return self.integers(count).astype(np.float64) * 2.0**-53


class Made(NamedTuple):
    """A generated trace that was written to a file."""

    path: Path
    volumes: int
    requests: int
    seconds: float
    """Time in seconds between the first and the last request."""


class _Volume:
    """Generator of the addresses, sizes and operations of one volume."""

    def __init__(self, zipf: _ssdlab.Generator, runs: _ssdlab.Generator, random: float) -> None:
        self._parts = zipf, runs
        self._random = random

    def read(self, random: "npt.NDArray[np.float64]") -> "dict[str, npt.NDArray[Any]]":
        """Returns a request for each number in `random`, a random one if the number is below the volume's share."""
        zipf = random < self._random
        columns: dict[str, Any] = {
            "op": np.empty(len(zipf), np.uint8),
            "offset": np.empty(len(zipf), np.uint64),
            "bytes": np.empty(len(zipf), np.uint32),
        }
        for part, where in zip(self._parts, (zipf, ~zipf), strict=True):
            if where.any():
                requests = part.read(int(where.sum()))
                for name, column in columns.items():
                    column[where] = requests.column(name)
        return columns


def _generator(settings: dict[str, object]) -> _ssdlab.Generator:
    return _ssdlab.Generator(Config(overrides=settings)._inner)


def _volumes(profile: Profile, volumes: int, requests: int, random: _Random) -> list[_Volume]:
    writes = profile.writes.draw(volumes, random)
    spans = profile.span.draw(volumes, random)
    randomness = profile.random.draw(volumes, random)
    seeds = random.integers(2 * volumes)
    generators = []
    for number in range(volumes):
        span_bytes = math.exp(spans[number]) * requests / profile.requests
        span = max(int(span_bytes) // MIN_SPAN_BYTES, 1) * MIN_SPAN_BYTES
        reads = 100 / (1 + math.exp(writes[number]))
        # Percentages are rounded, because results of mathematical libraries differ in the last digits.
        common: dict[str, object] = {
            "device.capacity": f"{max(span, DEVICE_BYTES)}B",
            "workload.span": f"{span}B",
            "workload.requests": requests,
            "workload.reads": f"{reads:.6f}%",
            "workload.size": profile.sizes,
            "workload.align": f"{PAGE_BYTES}B",
        }
        zipf = {"workload.pattern": "zipf", "workload.pattern.zipf.theta": THETA, "seed": int(seeds[2 * number])}
        runs = {
            "workload.pattern": "sequential",
            "workload.pattern.sequential.streams": 1,
            "seed": int(seeds[2 * number + 1]),
        }
        share = round(1 / (1 + math.exp(-randomness[number])), 6)
        generators.append(_Volume(_generator({**common, **zipf}), _generator({**common, **runs}), share))
    return generators


def _batches(profile: Profile, volumes: int, requests: int, seed: int) -> "Iterator[dict[str, npt.NDArray[Any]]]":
    """Yields columns of requests in time order, with volume numbers and times since the first request."""
    random = _Random(seed)
    rates = np.array([round(math.exp(one), 6) for one in profile.rate.draw(volumes, random)])
    sources = _volumes(profile, volumes, requests, random)
    clock = _generator({
        "workload.arrival": "poisson", "workload.arrival.poisson.rate": f"{max(round(rates.sum()), 1)}/s",
        "workload.pattern": "uniform", "workload.requests": requests, "seed": seed,
    })  # fmt: skip
    upto = np.cumsum(rates) / rates.sum()
    # The trace starts with one request to each volume.
    first = np.argsort(random.integers(volumes), kind="stable")
    while len(times := clock.read(BATCH_REQUESTS)):
        count = len(times)
        volume = np.minimum(np.searchsorted(upto, random.shares(count), side="right"), volumes - 1)
        volume[: len(first)] = first[:count]
        first = first[count:]
        order = np.argsort(volume.astype(np.uint16), kind="stable")
        counts = np.bincount(volume, minlength=volumes)
        shares = np.split(random.shares(count), np.cumsum(counts)[:-1])
        parts = [source.read(own) for source, own in zip(sources, shares, strict=True) if len(own)]
        columns: dict[str, Any] = {"volume": volume.astype(np.uint32), "time_ns": times.column("time_ns")}
        for name in ("op", "offset", "bytes"):
            by_volume = np.concatenate([part[name] for part in parts])
            columns[name] = np.empty_like(by_volume)
            columns[name][order] = by_volume
        yield columns


def _alibaba(columns: "dict[str, npt.NDArray[Any]]") -> "pa.Table":
    letters = pa.DictionaryArray.from_arrays(columns["op"].astype(np.int8), pa.array(["R", "W"]))
    return pa.table({
        "device_id": columns["volume"],
        "opcode": letters.cast(pa.string()),
        "offset": columns["offset"],
        "length": columns["bytes"],
        "timestamp": FIRST_US + columns["time_ns"] // 1000,
    })  # fmt: skip


def _named(columns: "dict[str, npt.NDArray[Any]]") -> "pa.Table":
    operations = pa.DictionaryArray.from_arrays(columns["op"].astype(np.int8), pa.array(["read", "write"]))
    return pa.table({**columns, "op": operations})


def _writer(path: Path, schema: "pa.Schema", files: ExitStack, *, parquet: bool) -> "Callable[[pa.Table], None]":
    """Returns a function that appends tables to the output file; the exit stack `files` closes the file at the end."""
    if parquet:
        file = files.enter_context(pq.ParquetWriter(path, schema, compression="zstd"))
        return lambda table: file.write_table(table)
    csv = import_module("pyarrow.csv")
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    stream = files.enter_context(pa.output_stream(str(path), compression="detect"))
    return lambda table: csv.write_csv(table, stream, options)


@takes(path="fleet.parquet")
def generate_fleet(
    path: str | os.PathLike[str],
    *,
    like: str = "alibaba",
    volumes: int | None = None,
    requests: int = 10_000_000,
    seed: int = 1,
    monitor: Monitor | None = None,
) -> Made:
    """Writes a synthetic trace of many volumes.

    Args:
        path: Output file: Alibaba's format for `.csv`, `.csv.gz` and `.csv.zst`; Parquet with a column `volume` for
            `.parquet`.
        like: Fleet to imitate, `alibaba` or `tencent`.
        volumes: Number of volumes; the published number by default.
        requests: Total number of requests, at least one per volume.
        seed: Random seed of the fleet.
        monitor: Called with the progress in the phase `generate`. A true return value raises KeyboardInterrupt and
            leaves no file.

    Raises:
        ConfigError: If the fleet is unknown, or there are fewer requests than volumes.
        OSError: If the file cannot be written.
    """
    if like not in PROFILES:
        raise ConfigError(
            f"like {text.path(like)}: unknown fleet profile; use {' or '.join(PROFILES)}"
            f"{text.suggestion(like, PROFILES)}"
        )
    profile, path = PROFILES[like], Path(path)
    many = profile.volumes if volumes is None else volumes
    if not 1 <= many <= 65_536:
        raise ConfigError(f"volumes {many}: must be from 1 to 65536")
    if requests < many:
        raise ConfigError(f"requests {requests}: must be at least {many}, the number of volumes")
    if not 0 <= seed < 1 << 63:
        raise ConfigError(f"seed {seed}: must be from 0 to 2^63 - 1")
    parquet = path.suffix == ".parquet"
    if not parquet and ".csv" not in path.suffixes[-2:]:
        raise ConfigError(f"{text.path(path)}: unknown format; end the name in .csv, .csv.gz, .csv.zst or .parquet")
    refuse_drive(path, text.path(path))
    done, last_ns = 0, 0
    with naming(path), replacing(path) as hidden, ExitStack() as files:
        write: Callable[[pa.Table], None] | None = None
        for columns in _batches(profile, many, requests, seed):
            table = _named(columns) if parquet else _alibaba(columns)
            write = write or _writer(hidden, table.schema, files, parquet=parquet)
            write(table)
            done += len(columns["op"])
            last_ns = int(columns["time_ns"][-1])
            if monitor is not None and monitor("generate", done, requests, done):
                raise KeyboardInterrupt("stopped while generating; no file was written")
    return Made(path, many, requests, last_ns / 1e9)
