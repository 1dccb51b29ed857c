"""Rust half of ssdlab; use the package `ssdlab`."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeAlias, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "AddressSpace",
    "Analysis",
    "CacheTrace",
    "Config",
    "ConfigError",
    "Generator",
    "InternalError",
    "Intervals",
    "MapAdvisor",
    "Outcome",
    "PagePool",
    "Plan",
    "Profile",
    "Reader",
    "Requests",
    "SimulatedDrive",
    "SimulationError",
    "SsdlabError",
    "TraceError",
    "Writer",
    "WrittenPages",
    "__version__",
    "_panic",
    "bench_cache",
    "bench_codecs",
    "cache_policies",
    "check_cache",
    "check_log_size",
    "codecs",
    "corrections",
    "count",
    "explain",
    "formats",
    "json_schema",
    "kept_key",
    "modelled_codec",
    "named",
    "nanos",
    "nearest",
    "operation",
    "options",
    "presets",
    "record_steps",
    "share",
    "simulate",
    "size",
    "stated",
    "steps_drive",
    "variants",
]

__version__: str

class SsdlabError(Exception):
    """Base of every error that ssdlab raises on purpose."""

class ConfigError(SsdlabError):
    """A configuration is wrong; one line for each fault, with its remedy."""

class TraceError(SsdlabError):
    """A trace is wrong: file, place, fault and remedy in one line."""

class SimulationError(SsdlabError):
    """A simulation cannot start or go on."""

class InternalError(SsdlabError):
    """A defect of ssdlab itself. `config` holds the resolved configuration as TOML (or None) to report with it."""

    config: str | None

@final
class Config:
    """A resolved configuration: one value for every option that applies."""
    def __new__(
        cls, preset: str | None, files: Sequence[tuple[str, str]], overrides: Sequence[tuple[str, str]]
    ) -> Config: ...
    def leaves(self) -> list[tuple[str, str, str]]: ...
    def to_toml(self, origins: bool) -> str: ...
    def needs_extent(self) -> bool: ...
    def check(self, extent: int | None) -> None: ...

@final
class Requests:
    """Requests in replay order, 24 bytes each."""
    @staticmethod
    def from_columns(
        time_ns: npt.NDArray[np.uint64],
        op: npt.NDArray[np.uint8],
        offset: npt.NDArray[np.uint64],
        bytes: npt.NDArray[np.uint32],
        flags: npt.NDArray[np.uint8],
        stream: npt.NDArray[np.uint16],
    ) -> Requests: ...
    @staticmethod
    def concatenate(batches: Sequence[Requests]) -> Requests: ...
    def __len__(self) -> int: ...
    def column(self, name: str) -> npt.NDArray[Any]: ...
    def columns(self) -> dict[str, npt.NDArray[Any]]: ...

class _Source(Protocol):
    def read(self, max: int) -> Requests: ...
    def progress(self) -> tuple[int, int | None]: ...
    def rewind(self) -> None: ...

@final
class Reader:
    """A trace file being read from front to back."""
    def __new__(
        cls,
        paths: Sequence[tuple[PathLike[str], PathLike[str]]],
        format: str | None = None,
        columns: str | None = None,
        files: str | None = None,
        device: str | None = None,
        action: str | None = None,
        skip_bad: bool = False,
    ) -> Reader: ...
    def read(self, max: int) -> Requests: ...
    def progress(self) -> tuple[int, int | None]: ...
    def format(self) -> str: ...
    def holds_objects(self) -> bool: ...
    def streams(self) -> list[str]: ...
    def report(self) -> dict[str, Any]: ...

@final
class Generator:
    """The configured workload as requests."""
    def __new__(cls, config: Config) -> Generator: ...
    def streams(self) -> list[str]: ...
    def read(self, max: int) -> Requests: ...
    def progress(self) -> tuple[int, int | None]: ...

@final
class Profile:
    """What a trace is like, from one pass in bounded memory."""
    def __new__(cls) -> Profile: ...
    def add(self, requests: Requests) -> None: ...
    def requests(self) -> int: ...
    def figures(self) -> dict[str, Any]: ...

@final
class AddressSpace:
    """Where a trace lies, from one pass: where it ends, or its pages if it is to be packed."""
    def __new__(cls, config: Config) -> AddressSpace: ...
    def add(self, requests: Requests) -> None: ...

@final
class Analysis:
    """What a workload is like, from one pass in bounded memory."""
    def __new__(cls, range: str) -> Analysis: ...
    def add(self, requests: Requests) -> None: ...
    def figures(self) -> dict[str, Any]: ...
    def ranges(self) -> dict[str, npt.NDArray[np.uint64]]: ...
    def deviations(self) -> dict[str, npt.NDArray[Any]]: ...
    def sizes(self) -> dict[str, npt.NDArray[np.uint64]]: ...
    def alignments(self) -> dict[str, npt.NDArray[np.uint64]]: ...
    def runs(self) -> dict[str, npt.NDArray[np.uint64]]: ...
    def gaps(self) -> dict[str, npt.NDArray[np.uint64]]: ...
    def windows(self) -> dict[str, npt.NDArray[np.uint64]]: ...

@final
class WrittenPages:
    """The pages that a trace writes: a first pass, before `Intervals`."""
    def __new__(cls, page: str) -> WrittenPages: ...
    def add(self, requests: Requests) -> None: ...
    def page_bytes(self) -> int: ...
    def page_writes(self) -> int: ...
    def pages(self) -> int: ...
    def extent(self) -> tuple[int, int]: ...

def check_log_size(text: str) -> None:
    """Refuses what is not the size of a log."""

@final
class Intervals:
    """Write intervals of a trace, counted against logs of some sizes: the second pass."""
    def __new__(cls, written: WrittenPages, logs: Sequence[str]) -> Intervals: ...
    def add(self, requests: Requests) -> None: ...
    def windows(self) -> dict[str, npt.NDArray[np.uint64]]: ...
    def histogram(self) -> dict[str, npt.NDArray[np.uint64]]: ...
    def frequencies(self) -> dict[str, npt.NDArray[np.uint64]]: ...
    def time_address(self) -> tuple[npt.NDArray[np.uint64], tuple[int, int]]: ...

@final
class MapAdvisor:
    """Follows one trace for map caches of all sizes asked for."""
    def __new__(
        cls,
        config: Config,
        entry: str,
        caches: Sequence[str] | None = None,
        segments: Sequence[str] | None = None,
        space: AddressSpace | None = None,
    ) -> MapAdvisor: ...
    def add(self, requests: Requests) -> None: ...
    def device(self) -> tuple[int, int, int]: ...
    def caches(self) -> list[int]: ...
    def advice(self) -> dict[str, Any]: ...

def cache_policies() -> list[tuple[str, str, list[tuple[str, str, int, int, int, str]], bool, bool, bool]]:
    """Every replacement policy as `(name, help, parameters, sizes, needs_future, one_pass)`."""

def check_cache(name: str, changes: Sequence[tuple[str, int]], one_size: bool) -> None:
    """Fails if there is no such policy, or not with these parameters or for items of different sizes."""

_Asked: TypeAlias = Sequence[tuple[str, Sequence[tuple[str, int]], int]]
_Watch: TypeAlias = Callable[[str, int, int | None, int], object] | None

@final
class CacheTrace:
    """A trace as accesses to items, gathered batch by batch, and caches simulated on it."""
    def __new__(
        cls,
        granularity: str,
        page: str,
        drop_trimmed: bool,
        accesses: bool,
        future: bool,
        requests: bool,
        sample: tuple[float | None, int, int] | None,
    ) -> CacheTrace: ...
    def add(self, requests: Requests) -> None: ...
    def finish(self) -> None: ...
    def footprint(self) -> tuple[int, int, int]: ...
    def is_stack(self) -> bool: ...
    def sample_rate(self) -> float | None: ...
    def simulate(self, caches: _Asked, jobs: int, monitor: _Watch) -> dict[str, Any]: ...
    def simulate_write_back(self, caches: _Asked, dirty_percent: int, jobs: int, monitor: _Watch) -> dict[str, Any]: ...
    def exact(self, caches: _Asked, jobs: int, monitor: _Watch) -> dict[str, Any]: ...
    def sampled(self, caches: _Asked, jobs: int, monitor: _Watch) -> dict[str, Any]: ...
    def one_pass(
        self, policies: Sequence[str], capacities: Sequence[int], jobs: int, monitor: _Watch
    ) -> dict[str, Any]: ...

@final
class Plan:
    """A cache and a compressor for it."""
    def __new__(
        cls,
        memory: tuple[float, float, float],
        device_us: float,
        distribution: str | Sequence[tuple[float, float]],
        compressor: tuple[float, float, float, float],
    ) -> Plan: ...
    def raw_hit_ratio(self) -> float: ...
    def raw_us(self) -> float: ...
    def point(self, share: float, corrections: Sequence[str]) -> dict[str, float]: ...
    def best(self, corrections: Sequence[str]) -> dict[str, float]: ...
    def break_even(self, corrections: Sequence[str]) -> float | None: ...
    def passes(self, other: Plan, corrections: Sequence[str]) -> float | None: ...
    def device_break_even_us(self, corrections: Sequence[str]) -> float | None: ...

def corrections() -> list[str]:
    """Names of the corrections of the model of `Plan`."""

@final
class PagePool:
    """A page cache with a raw and a compressed pool."""
    def __new__(cls, settings: object, loader: object | None, path: PathLike[str] | None) -> PagePool: ...
    def read(self, page: int) -> bytes: ...
    def write(self, page: int, bytes: bytes) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
    def statistics(self) -> tuple[dict[str, int], dict[str, int]]: ...
    def direct(self) -> bool: ...

@final
class SimulatedDrive:
    """A simulated drive below measured caches."""
    def __new__(cls, config: Config, bytes: int, busy: bool, monitor: object | None) -> SimulatedDrive: ...

def bench_cache(
    settings: object,
    below: object,
    contents: bytes,
    accesses: npt.NDArray[np.uint64],
    warm_up: int,
    threads: int,
    stop: Callable[[int], bool],
) -> dict[str, Any]:
    """Sends accesses through a new cache."""

def bench_codecs(
    files: Sequence[bytes],
    codecs: Sequence[str],
    page_bytes: int | None,
    threads: int,
    keep: float,
    fresh: bool,
    runs: int,
    stop: Callable[[int], bool],
) -> list[dict[str, Any]]:
    """Measures codecs on the contents of files."""

def modelled_codec(text: str) -> tuple[float, float, float] | None:
    """Ratio and microseconds to compress and restore of a codec that only says so; fails unless `text` names one."""

def codecs() -> list[tuple[str, str, str]]:
    """Name, help and form of every codec."""

def share(text: str) -> float:
    """A share such as `"95%"` as a fraction of 1."""

def count(text: str) -> int:
    """A number such as `"1M"` or `"1e6"`."""

def nanos(text: str) -> int:
    """A duration such as `"25us"` in nanoseconds."""

def operation(text: str) -> int | None:
    """The number of an operation such as `"R"`, `"write"` or `"1"`; None if it is none."""

def size(text: str) -> int:
    """A size such as `"64KiB"` in bytes."""

@final
class Writer:
    """A trace file being written."""
    def __new__(cls, path: PathLike[str], format: str) -> Writer: ...
    def write(self, requests: Requests, streams: Sequence[str]) -> None: ...
    def finish(self) -> list[tuple[str, str, str, int]]: ...

@final
class Outcome:
    """Figures and columns of one run."""
    @property
    def summary(self) -> str: ...
    @property
    def series(self) -> dict[str, npt.NDArray[np.uint64]]: ...
    @property
    def erase_counts(self) -> npt.NDArray[np.uint32]: ...
    @property
    def latency(self) -> dict[str, tuple[npt.NDArray[np.uint64], ...]]: ...
    @property
    def log(self) -> dict[str, npt.NDArray[np.uint64]] | None: ...
    @property
    def activity(self) -> dict[str, Any] | None: ...
    @property
    def dispatched(self) -> Requests | None: ...
    @property
    def notes(self) -> list[str]: ...

def kept_key(config: Config, space: AddressSpace | None = None) -> str | None: ...
def simulate(
    config: Config,
    source: Requests | Reader | Generator | _Source | None,
    space: AddressSpace | None = None,
    monitor: Callable[[str, int, int | None, int], object] | None = None,
    *,
    state: Path | None = None,
    kept: Path | None = None,
    save_state: Path | None = None,
) -> Outcome: ...
def presets() -> list[tuple[str, str, str]]: ...
def json_schema() -> str: ...
def options() -> list[tuple[str, str, str, list[str]]]: ...
def record_steps(question: str) -> str: ...
def steps_drive(config: Config) -> str: ...
def explain(key: str) -> tuple[str, str, str, list[tuple[str, str]]] | None: ...
def stated(key: str) -> list[tuple[str, str, str]]: ...
def variants(key: str) -> list[tuple[str, str]]: ...
def nearest(word: str, known: Sequence[str]) -> str | None: ...
def named(word: str, known: Sequence[str]) -> str | None: ...
def formats() -> list[tuple[str, str, bool]]: ...
def _panic(config: Config) -> None: ...
