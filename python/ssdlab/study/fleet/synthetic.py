"""Synthetic fleets, with the shares that were published of Alibaba's and Tencent's.

Each volume draws its rate, its share of writes, its working set and how random it is; from then on requests arrive by a
Poisson process for each volume, which together are one process whose requests fall to volumes by their rates. A
random request of a volume goes to a Zipf-distributed page of its working set, the others go on with a sequential run in
it. How many are random is what the analysis of 2023 measured of requests more than 128 KiB from each of the 32 before;
in the small working set of a short trace far fewer are so far away. The same arguments give the same bytes.

Sources:

- Li et al., "An In-Depth Analysis of Cloud Block Storage Workloads in Large-Scale Production", IISWC 2020: rates and
  shares of writes of Alibaba's 1,000 volumes over 31 days, 20.2 billion requests.
- Li et al., "An In-Depth Comparative Analysis of Cloud Block Storage Workloads: Findings and Implications", ACM
  Transactions on Storage 19(2), 2023: sizes and randomness of both; Tencent's 4,995 volumes over 9 days, 33.7 billion
  requests, which Zhang et al., "OSCA", USENIX ATC 2020, made public.
- Wang et al., "Separating Data via Block Invalidation Time Inference", FAST 2022: medians and largest of working sets,
  in the lists of volumes that come with it.
"""

import math
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from statistics import NormalDist
from types import TracebackType
from typing import Any, NamedTuple, Self

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import np, npt, pa, pq
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config
from ssdlab.model.files import naming, refuse_drive, replacing
from ssdlab.model.requests import Monitor

BATCH_REQUESTS = 1 << 20
FIRST_US = 1_577_808_000_000_000
"""The first of January 2020 in China, when Alibaba's trace begins."""

PAGE_BYTES = 4096
LEAST_SHARE = 2.0**-53
LEAST_SPAN_BYTES = 1 << 20
DEVICE_BYTES = 1 << 30
"""Of a device that a generator of requests takes for granted."""
THETA = 0.9
"""Skew of random requests. Beside the sequential requests of the median volume, which favour no page, a tenth of its
pages then takes some 28 % of all; the analysis of 2020 has 31.2 % of the writes at the first quartile of volumes."""


class Spread(NamedTuple):
    """A normal distribution through two published quantiles."""

    mean: float
    sigma: float

    @classmethod
    def through(cls, first: tuple[float, float], second: tuple[float, float]) -> "Spread":
        """Of which so large a share is below so much, twice."""
        (share, value), (other, at) = first, second
        low, high = NormalDist().inv_cdf(share), NormalDist().inv_cdf(other)
        sigma = (at - value) / (high - low)
        return cls(value - low * sigma, sigma)

    def draw(self, volumes: int, random: "_Random") -> list[float]:
        """A value for each volume."""
        its = NormalDist(self.mean, self.sigma)
        return [its.inv_cdf(max(share, LEAST_SHARE)) for share in random.shares(volumes)]


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


class Profile(NamedTuple):
    """What was published of a fleet."""

    volumes: int
    requests: float
    """Of the whole trace: working sets are made smaller by how much fewer are asked for, so that pages are written
    again as often."""
    rate: Spread
    """Logarithm of requests per second of a volume."""
    writes: Spread
    """Logarithm of its writes for each read."""
    span: Spread
    """Logarithm of the bytes of its working set."""
    random: Spread
    """Logit of the share of its requests that are random."""
    sizes: str
    """Of requests; three quarters are as large at most as was published for writes."""


_RATE = Spread.through((0.816, math.log(10)), (0.981, math.log(100)))
"""81.6 % of Alibaba's volumes have less than 10 requests a second on average, and 1.9 % more than 100."""
_WRITES = Spread.through((1 - 0.915, 0.0), (1 - 0.424, math.log(100)))
"""91.5 % of them write more than they read, and 42.4 % a hundred times as much."""
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
        # Not published by volume: those of Alibaba.
        rate=_RATE,
        writes=_WRITES,
        span=Spread.through((0.5, math.log(23.0 * 2**30)), (1 - 1 / 271, math.log(1.7 * 2**40))),
        random=Spread.through((0.5, _logit(0.421)), (1 - 0.358, _logit(0.5))),
        sizes="4KiB:55%,8KiB:17%,12KiB:4%,32KiB:10%,64KiB:14%",
    ),
}
"""Name and figures of each."""


class _Random:
    """Random numbers by the raw bits of a generator, which no version of NumPy changes."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def integers(self, count: int) -> "npt.NDArray[np.uint64]":
        """Of 53 bits."""
        return np.asarray(self._bits.random_raw(count), np.uint64) >> np.uint64(11)

    def shares(self, count: int) -> "npt.NDArray[np.float64]":
        """From 0 to below 1."""
        return self.integers(count).astype(np.float64) * 2.0**-53


class Made(NamedTuple):
    """A synthetic fleet that was written."""

    path: Path
    volumes: int
    requests: int
    seconds: float
    """Between its first request and its last."""


class _Volume:
    """The addresses, sizes and operations of a volume, one after the other."""

    def __init__(self, zipf: _ssdlab.Generator, runs: _ssdlab.Generator, random: float) -> None:
        self._parts = zipf, runs
        self._random = random

    def read(self, random: "npt.NDArray[np.float64]") -> "dict[str, npt.NDArray[Any]]":
        """The next requests.

        Args:
            random: A share of 1 for each, that decides whether it is a random one.
        """
        zipf = random < self._random
        found: dict[str, Any] = {
            "op": np.empty(len(zipf), np.uint8),
            "offset": np.empty(len(zipf), np.uint64),
            "bytes": np.empty(len(zipf), np.uint32),
        }
        for part, where in zip(self._parts, (zipf, ~zipf), strict=True):
            if where.any():
                taken = part.read(int(where.sum()))
                for name, column in found.items():
                    column[where] = taken.column(name)
        return found


def _generator(settings: dict[str, object]) -> _ssdlab.Generator:
    return _ssdlab.Generator(Config(overrides=settings)._inner)


def _volumes(profile: Profile, volumes: int, requests: int, random: _Random) -> list[_Volume]:
    writes = profile.writes.draw(volumes, random)
    spans = profile.span.draw(volumes, random)
    randomness = profile.random.draw(volumes, random)
    seeds = random.integers(2 * volumes)
    found = []
    for number in range(volumes):
        span_bytes = math.exp(spans[number]) * requests / profile.requests
        span = max(int(span_bytes) // LEAST_SPAN_BYTES, 1) * LEAST_SPAN_BYTES
        reads = 100 / (1 + math.exp(writes[number]))
        # Digits that no library of mathematics rounds differently.
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
        found.append(_Volume(_generator({**common, **zipf}), _generator({**common, **runs}), share))
    return found


def _batches(profile: Profile, volumes: int, requests: int, seed: int) -> "Iterator[dict[str, npt.NDArray[Any]]]":
    """Columns of requests in order of time; `volume` has the numbers of volumes, `time_ns` times since the first."""
    random = _Random(seed)
    rates = np.array([round(math.exp(one), 6) for one in profile.rate.draw(volumes, random)])
    sources = _volumes(profile, volumes, requests, random)
    clock = _generator({
        "workload.arrival": "poisson", "workload.arrival.poisson.rate": f"{max(round(rates.sum()), 1)}/s",
        "workload.pattern": "uniform", "workload.requests": requests, "seed": seed,
    })  # fmt: skip
    upto = np.cumsum(rates) / rates.sum()
    # Every volume is there: the first requests are of one each.
    first = np.argsort(random.integers(volumes), kind="stable")
    while len(times := clock.read(BATCH_REQUESTS)):
        count = len(times)
        its = np.minimum(np.searchsorted(upto, random.shares(count), side="right"), volumes - 1)
        its[: len(first)] = first[:count]
        first = first[count:]
        order = np.argsort(its.astype(np.uint16), kind="stable")
        counts = np.bincount(its, minlength=volumes)
        shares = np.split(random.shares(count), np.cumsum(counts)[:-1])
        parts = [source.read(its_own) for source, its_own in zip(sources, shares, strict=True) if len(its_own)]
        columns: dict[str, Any] = {"volume": its.astype(np.uint32), "time_ns": times.column("time_ns")}
        for name in ("op", "offset", "bytes"):
            by_volume = np.concatenate([part[name] for part in parts])
            columns[name] = np.empty_like(by_volume)
            columns[name][order] = by_volume
        yield columns


def _alibaba(columns: "dict[str, npt.NDArray[Any]]") -> "pa.Table":
    """Rows of Alibaba's format."""
    letters = pa.DictionaryArray.from_arrays(columns["op"].astype(np.int8), pa.array(["R", "W"]))
    return pa.table({
        "device_id": columns["volume"],
        "opcode": letters.cast(pa.string()),
        "offset": columns["offset"],
        "length": columns["bytes"],
        "timestamp": FIRST_US + columns["time_ns"] // 1000,
    })  # fmt: skip


def _named(columns: "dict[str, npt.NDArray[Any]]") -> "pa.Table":
    """Rows of Parquet."""
    operations = pa.DictionaryArray.from_arrays(columns["op"].astype(np.int8), pa.array(["read", "write"]))
    return pa.table({**columns, "op": operations})


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
        path: The file: Alibaba's format if its name ends in `.csv`, or `.csv.gz` or `.csv.zst`, which compress; Parquet
            with a column `volume` if it ends in `.parquet`.
        like: Whose published shares it has, `alibaba` or `tencent`.
        volumes: How many; as many as were published if left out.
        requests: Of all volumes; at least one of each.
        seed: Another one gives another fleet of the kind.
        monitor: Told how far it is, in the phase `generate`. If it returns something true, KeyboardInterrupt is raised,
            and no file is left.

    Raises:
        ConfigError: If there is no such fleet, or fewer requests than volumes.
        OSError: If the file cannot be written.
    """
    if like not in PROFILES:
        raise ConfigError(
            f"like {text.path(like)}: no fleet of that name was published{text.suggestion(like, PROFILES)}; take "
            f"{' or '.join(PROFILES)}"
        )
    profile, path = PROFILES[like], Path(path)
    many = profile.volumes if volumes is None else volumes
    if not 1 <= many <= 65_536:
        raise ConfigError(f"volumes {many}: give a number from 1 to 65536")
    if requests < many:
        raise ConfigError(f"requests {requests}: there are {many} volumes; ask for as many requests or more")
    if not 0 <= seed < 1 << 63:
        raise ConfigError(f"seed {seed}: give a number from 0 to 2^63 - 1")
    parquet = path.suffix == ".parquet"
    if not parquet and ".csv" not in path.suffixes[-2:]:
        raise ConfigError(
            f"{text.path(path)}: the name does not tell a format; end it in .csv, .csv.gz, .csv.zst or .parquet"
        )
    refuse_drive(path, text.path(path))
    done, last_ns = 0, 0
    with naming(path), replacing(path) as hidden, _Parquet(hidden) if parquet else _Csv(hidden) as file:
        for columns in _batches(profile, many, requests, seed):
            file.write(columns)
            done += len(columns["op"])
            last_ns = int(columns["time_ns"][-1])
            if monitor is not None and monitor("generate", done, requests, done):
                raise KeyboardInterrupt("stopped while generating; no file is left")
    return Made(path, many, requests, last_ns / 1e9)


class _Csv:
    """A CSV file being written."""

    def __init__(self, path: Path) -> None:
        self._csv = import_module("pyarrow.csv")
        self._file = pa.output_stream(str(path), compression="detect")

    def write(self, columns: "dict[str, npt.NDArray[Any]]") -> None:
        """Appends requests."""
        options = self._csv.WriteOptions(include_header=False, quoting_style="none")
        self._csv.write_csv(_alibaba(columns), self._file, options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._file.close()


class _Parquet:
    """A Parquet file being written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: pq.ParquetWriter | None = None

    def write(self, columns: "dict[str, npt.NDArray[Any]]") -> None:
        """Appends requests."""
        table = _named(columns)
        if self._file is None:
            self._file = pq.ParquetWriter(self._path, table.schema, compression="zstd")
        self._file.write_table(table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self._file is not None:
            self._file.close()
