"""Generates page accesses for cache measurements. An access is twice the page number, plus one for a write."""

from dataclasses import dataclass
from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import Counts, np
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config
from ssdlab.model.numbers import within
from ssdlab.model.trace import Trace, generate

_SLOT = 4096
"""Size in bytes of a page in the workload generator's address space; independent of the cache's page size."""
_LEAST_PAGES, _MOST_PAGES = 8, 1 << 28
_MOST_ACCESSES = 100_000_000


@takes()
@dataclass(frozen=True, kw_only=True)
class Load:
    """Page accesses: drawn from a distribution, or taken from a trace.

    Args:
        access: Distribution: `even`; `80/20`, where 80 % of the accesses go to 20 % of the pages; `pareto`, which
            repeats this rule within each part; or `zipf`, optionally with its exponent, as in `zipf:0.8`.
        trace: Trace whose reads and writes are used; `access`, `pages`, `writes` and `scan` are then ignored. The pages
            of the trace are renumbered.
        pages: Number of different pages.
        accesses: Accesses per run; the first half warms up the cache.
        writes: Share of the accesses that write a page.
        scan: Share of the accesses that read all pages in order.
    """

    access: str = "80/20"
    trace: Trace | None = None
    pages: int = 8192
    accesses: int = 40_000
    writes: float = 0.0
    scan: float = 0.0

    def __post_init__(self) -> None:
        within("accesses", self.accesses, 2, _MOST_ACCESSES)
        within("pages", self.pages, _LEAST_PAGES, _MOST_PAGES)
        for name in ("writes", "scan"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name}: {getattr(self, name):.0%} is not between 0% and 100%")

    def sequence(self, page_bytes: int) -> "Counts":
        """Returns the page accesses of a run."""
        if self.trace is not None:
            return of_trace(self.trace, page_bytes, self.accesses)
        return drawn(self.access, self.pages, self.accesses, self.writes, self.scan)

    @property
    def title(self) -> str:
        """Describes the page accesses in a few words."""
        return f"{self.access} over {text.count(self.pages)} pages" if self.trace is None else "trace"


def drawn(access: str, pages: int, accesses: int, writes: float, scan: float) -> "Counts":
    """Draws random accesses from a distribution, and spreads scan accesses evenly among them; see `Load`."""
    name, _, parameter = access.partition(":")
    patterns: dict[str, dict[str, Any]] = {
        "even": {"workload.pattern": "uniform"},
        "80/20": {
            "workload.pattern": "hot_cold",
            "workload.pattern.hot_cold.hot_requests": "80%",
            "workload.pattern.hot_cold.hot_space": "20%",
            "workload.pattern.hot_cold.placement": "scattered",
        },
        "zipf": {"workload.pattern": "zipf", "workload.pattern.zipf.theta": parameter or "0.99"},
    }
    if name == "pareto" and not parameter:
        sequence = _pareto(pages, accesses, writes)
    elif name not in patterns or (parameter and not (name == "zipf" and _is_exponent(parameter))):
        raise ConfigError(
            f'unknown distribution "{text.path(access)}"; use even, 80/20, pareto, zipf or zipf:0.8, up to zipf:10'
        )
    else:
        overrides = {
            **patterns[name],
            # The capacity must cover all addresses that the generator may use.
            "device.capacity": f"{4 + pages * _SLOT // (1 << 30)}GiB",
            "workload.requests": accesses,
            "workload.reads": f"{100 * (1 - writes):.6f}%",
            "workload.size": f"{_SLOT}B",
            "workload.align": f"{_SLOT}B",
            "workload.span": f"{pages * _SLOT}B",
        }
        made = generate(Config(overrides=overrides))
        sequence = (made.offset // _SLOT << 1 | (made.op == 1)).astype(np.uint64)
    # Spreads scan accesses evenly: the k-th scan access follows as soon as (number of accesses) * (share of scans)
    # reaches k.
    scans = np.diff(np.floor(np.arange(accesses + 1) * scan)).astype(bool)
    sequence[scans] = (np.arange(int(scans.sum()), dtype=np.uint64) % np.uint64(pages)) << np.uint64(1)
    return sequence


def _pareto(pages: int, accesses: int, writes: float) -> "Counts":
    """Draws accesses of which 80 % go to 20 % of the pages; the same rule holds within the most popular pages."""
    rng = np.random.Generator(np.random.PCG64(1))
    # The most popular fraction x of the pages gets x ** a of the accesses, with a = log 0.8 / log 0.2. The next line
    # inverts this function.
    rank = (pages * rng.random(accesses) ** (np.log(0.2) / np.log(0.8))).astype(np.uint64)
    written = rng.random(accesses) < writes
    sequence: Counts = (rng.permutation(pages).astype(np.uint64)[rank] << np.uint64(1)) | written.astype(np.uint64)
    return sequence


def of_trace(trace: Trace, page_bytes: int, accesses: int) -> "Counts":
    """Splits the reads and writes of a trace into page accesses. Pages are numbered in the order of their addresses."""
    moves_data = (trace.op <= 1) & (trace.bytes > 0)
    offset, length, op = trace.offset[moves_data], trace.bytes[moves_data].astype(np.uint64), trace.op[moves_data]
    first = offset // page_bytes
    counts = ((offset + length - 1) // page_bytes - first + 1).astype(np.int64)
    enough = int(np.searchsorted(np.cumsum(counts), accesses)) + 1
    first, counts, op = first[:enough], counts[:enough], op[:enough]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers = (np.repeat(first, counts) + within.astype(np.uint64))[:accesses]
    if len(numbers) < 2:
        raise ConfigError("the trace accesses fewer than two pages; use another trace")
    _, dense = np.unique(numbers, return_inverse=True)
    return (dense.astype(np.uint64) << np.uint64(1)) | np.repeat(op, counts)[:accesses].astype(np.uint64)


def _is_exponent(written: str) -> bool:
    try:
        return 0.01 <= float(written) <= 10
    except ValueError:
        return False
