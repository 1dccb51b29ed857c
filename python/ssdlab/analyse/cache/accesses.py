"""Which pages a measured cache is asked for. An access is twice the number of its page, and one more if it writes."""

from typing import Any

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import Counts, np
from ssdlab.model.config import Config
from ssdlab.model.trace import Trace, generate

_SLOT = 4096
"""Bytes of the generator's addresses for a page, whatever its size."""


def drawn(access: str, pages: int, accesses: int, writes: float, scan: float) -> "Counts":
    """Accesses of a distribution, scans spread evenly among them; see `bench`.

    Raises:
        ConfigError: If there is no such distribution.
    """
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
            f'"{text.path(access)}" is no distribution; write even, 80/20, pareto, zipf or zipf:0.8, up to zipf:10'
        )
    else:
        made = generate(
            Config(
                overrides={
                    **patterns[name],
                    # The generator wants addresses within a device.
                    "device.capacity": f"{4 + pages * _SLOT // (1 << 30)}GiB",
                    "workload.requests": accesses,
                    "workload.reads": f"{100 * (1 - writes):.6f}%",
                    "workload.size": f"{_SLOT}B",
                    "workload.align": f"{_SLOT}B",
                    "workload.span": f"{pages * _SLOT}B",
                }
            )
        )
        sequence = (made.offset // _SLOT << 1 | (made.op == 1)).astype(np.uint64)
    # The k-th scan comes where the share has added up to k.
    scans = np.diff(np.floor(np.arange(accesses + 1) * scan)).astype(bool)
    sequence[scans] = (np.arange(int(scans.sum()), dtype=np.uint64) % np.uint64(pages)) << np.uint64(1)
    return sequence


def _pareto(pages: int, accesses: int, writes: float) -> "Counts":
    """A fifth of the pages, and of any most popular share of them, takes four fifths of the accesses of the whole."""
    rng = np.random.Generator(np.random.PCG64(1))
    # A share x of the pages has x ** a of the accesses with a = log 0.8 / log 0.2; this is its inverse.
    rank = (pages * rng.random(accesses) ** (np.log(0.2) / np.log(0.8))).astype(np.uint64)
    written = rng.random(accesses) < writes
    sequence: Counts = (rng.permutation(pages).astype(np.uint64)[rank] << np.uint64(1)) | written.astype(np.uint64)
    return sequence


def of_trace(trace: Trace, page_bytes: int, accesses: int) -> "Counts":
    """Reads and writes of a trace page by page; pages are numbered in the order of their addresses.

    Raises:
        ConfigError: If there are fewer than two.
    """
    moves = (trace.op <= 1) & (trace.bytes > 0)
    offset, length, op = trace.offset[moves], trace.bytes[moves].astype(np.uint64), trace.op[moves]
    first = offset // page_bytes
    counts = ((offset + length - 1) // page_bytes - first + 1).astype(np.int64)
    enough = int(np.searchsorted(np.cumsum(counts), accesses)) + 1
    first, counts, op = first[:enough], counts[:enough], op[:enough]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers = (np.repeat(first, counts) + within.astype(np.uint64))[:accesses]
    if len(numbers) < 2:
        raise ConfigError("the trace reads and writes fewer than two pages; give another one")
    _, dense = np.unique(numbers, return_inverse=True)
    return (dense.astype(np.uint64) << np.uint64(1)) | np.repeat(op, counts)[:accesses].astype(np.uint64)


def _is_exponent(written: str) -> bool:
    try:
        return 0.01 <= float(written) <= 10
    except ValueError:
        return False
