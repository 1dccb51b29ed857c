"""Generates the requests of a job. They depend only on the job's options, its seed and its clone index."""

import hashlib
from collections.abc import Sequence

from ssdlab import _ssdlab
from ssdlab.lazy import np, npt
from ssdlab.model.fio.job import READ, TRIM, WRITE, Distribution, Job

FLUSH, FUA = 3, 8
BATCH = 4096
TABLE = 1 << 20
"""Number of top ranks of a Zipf distribution with exact probabilities; an integral approximates the others."""


class Permutation:
    """A permutation of 0 to n - 1 in constant memory: a Feistel network over a power of 4, repeated until below n."""

    def __init__(self, n: int, key: int) -> None:
        self.n = n
        self.half = max(1, (max(n - 1, 1).bit_length() + 1) // 2)
        self.keys = np.random.Generator(np.random.PCG64(key)).integers(0, 2**32, 4, np.uint64)

    def of(self, values: "npt.NDArray[np.uint64]") -> "npt.NDArray[np.uint64]":
        """Applies the permutation to values below n."""
        images = self._round(values)
        while (beyond := np.flatnonzero(images >= self.n)).size:
            images[beyond] = self._round(images[beyond])
        return images

    def _round(self, values: "npt.NDArray[np.uint64]") -> "npt.NDArray[np.uint64]":
        half, mask = np.uint64(self.half), np.uint64((1 << self.half) - 1)
        left, right = values >> half, values & mask
        for key in self.keys:
            mixed = (right + key) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            left, right = right, left ^ ((mixed >> np.uint64(32)) & mask)
        return (left << half) | right


class Blocks:
    """Draws random blocks from a distribution over the blocks of a region."""

    def __init__(self, distribution: Distribution, n: int, align: int, rng: "np.random.Generator") -> None:
        self.name, self.parameter, self.n, self.rng = distribution.name, distribution.parameter, n, rng
        self.scatter = Permutation(n, int(rng.integers(2**62)))
        if self.name == "zoned":
            self.zones = distribution.zones
            self.starts = np.array([min(zone.start // align, n - 1) for zone in self.zones], np.float64)
            self.sizes = np.array([max(1, zone.size // align) for zone in self.zones], np.float64)
        if self.name == "zipf":
            head = min(n, TABLE)
            masses = np.arange(1, head + 1, dtype=np.float64) ** -self.parameter
            self.head = np.cumsum(masses)
            self.tail = self._integral(n + 0.5) - self._integral(head + 0.5) if n > head else 0.0

    def _integral(self, x: float) -> float:
        power = 1 - self.parameter
        return float(np.log(x)) if power == 0 else float(x**power) / power

    def draw(self, count: int) -> "npt.NDArray[np.uint64]":
        """Returns the block numbers of `count` random blocks."""
        u = self.rng.random(count)
        if self.name == "random":
            return self._clip(u * self.n)
        if self.name == "zoned":
            at = np.searchsorted(np.cumsum([zone.share for zone in self.zones])[:-1], u, side="right")
            return self._clip(self.starts[at] + np.floor(self.rng.random(count) * self.sizes[at]))
        if self.name == "pareto":
            power = np.log(self.parameter) / np.log(1 - self.parameter)
            return self.scatter.of(self._clip((self.n - 1) * u**power))
        if self.name == "normal":
            deviation = self.n * self.parameter / 100
            draws = np.floor(self.n / 2 + deviation * self.rng.standard_normal(count))
            return self.scatter.of((draws % self.n).astype(np.uint64))
        mass = u * (self.head[-1] + self.tail)
        ranks = np.searchsorted(self.head, mass, side="right").astype(np.float64)
        far = np.flatnonzero(ranks >= len(self.head))
        if far.size and self.tail:
            beyond = self._integral(len(self.head) + 0.5) + mass[far] - self.head[-1]
            power = 1 - self.parameter
            ranks[far] = np.floor((np.exp(beyond) if power == 0 else (beyond * power) ** (1 / power)) - 0.5)
        return self.scatter.of(self._clip(ranks))

    def _clip(self, values: "npt.NDArray[np.float64]") -> "npt.NDArray[np.uint64]":
        return np.minimum(values, self.n - 1).astype(np.uint64)


class JobStream:
    """The requests of one job in order."""

    def __init__(self, job: Job, stream: int) -> None:
        self.job, self.stream = job, stream
        digest = hashlib.sha256(f"{job.seed} {job.section.name} {job.clone}".encode()).digest()
        self.seed = int.from_bytes(digest[:8], "little")
        self.rng = np.random.Generator(np.random.PCG64(self.seed))
        self.is_trimming = job.ops == (TRIM, WRITE)
        self.min_bytes = min(job.different_sizes)
        self.n = max(1, (job.size - self.min_bytes) // job.align + 1)
        self.blocks = Blocks(job.distribution, self.n, job.align, self.rng)
        self.issued = self.count = self.passes = self.run_at = self.since_flush = 0
        self.is_over = False
        self._restart()
        self.paced: dict[int, float] = {}
        self.clock_ns = 0.0

    def read(self, most: int) -> "_ssdlab.Requests":
        """Returns up to `most` further requests; an empty batch at the end of the job. `most` must be at least 2."""
        rows: list[tuple[int, int, int]] = []
        # The batch must have room for two requests, because a flush may precede a write.
        while len(rows) + 2 <= most and not self.is_over:
            rows += self._batch(most - len(rows))
        return self._requests(rows)

    def _batch(self, most: int) -> list[tuple[int, int, int]]:
        """Generates requests until the batch is full, or until the pass or the job ends."""
        job = self.job
        ops = self._ops(most)
        sizes = self._sizes(ops)
        rows: list[tuple[int, int, int]] = []
        for op, wanted in zip(ops, sizes, strict=True):
            if len(rows) + 2 > most:
                break
            if self.issued >= job.total_bytes or self.count >= job.number_ios:
                self.is_over = True
                break
            placed = None if self.in_pass >= job.pass_bytes else self._place(op, wanted)
            if placed is None:
                # As in fio, the job ends after a pass if the bytes left of io_size are too few for the largest request.
                self.passes += 1
                left = job.total_bytes - self.issued
                self.is_over = self.passes >= job.passes or left < max(job.different_sizes) or not self.in_pass
                self._restart()
                break
            offset, size = placed
            if job.flush_every and self.since_flush == job.flush_every:
                rows.append((FLUSH, 0, 0))
                self.since_flush = 0
            rows.append((op, offset, size))
            self.since_flush += op == WRITE
            self.issued += size
            self.in_pass += size
            self.count += 1
        return rows

    def _restart(self) -> None:
        """Returns to the start of the region for the next pass."""
        self.position = dict.fromkeys(self.job.ops, 0)
        self.in_pass = self.mapped = self.run_left = 0
        self.drawn: list[int] = []

    def _ops(self, count: int) -> list[int]:
        job = self.job
        if len(job.ops) == 1:
            return list(job.ops) * count
        if self.is_trimming:
            return [job.ops[(self.count + index) % 2] for index in range(count)]
        ops: list[int] = np.where(self.rng.random(count) < job.read_share, READ, WRITE).tolist()
        return ops

    def _sizes(self, ops: Sequence[int]) -> list[int]:
        """Draws a request size for each of the given operations."""
        job = self.job
        if len(job.different_sizes) == 1:
            return [self.min_bytes] * len(ops)
        kinds = np.array(ops)
        found = np.zeros(len(ops), np.int64)
        for op in job.ops:
            at = np.flatnonzero(kinds == op)
            u = self.rng.random(at.size)
            if op in job.ranges:
                least, most = job.ranges[op]
                # As in fio, all sizes are multiples of the smallest size if that is a power of 2.
                sizes = (least + np.floor(u * most)).astype(np.int64)
                if not job.is_unaligned and least & (least - 1) == 0:
                    sizes &= ~(least - 1)
                found[at] = np.minimum(sizes, most)
            else:
                sizes = np.array([size for size, _ in job.splits[op]])
                cumulated = np.cumsum([share for _, share in job.splits[op]])
                found[at] = sizes[np.searchsorted(cumulated[:-1], u, side="right")]
        result: list[int] = found.tolist()
        return result

    def _place(self, op: int, size: int) -> tuple[int, int] | None:
        """Returns the offset and size of the next request, which may be shortened; None at the end of the pass."""
        job = self.job
        if self.is_trimming and op == WRITE:
            return self.run_at, size
        if job.is_random:
            return self._place_randomly(size)
        at = self.position[op]
        if at and job.add:
            at += job.add
            if at >= job.size:
                at = 0
            elif at < 0:
                at = max(0, job.size + job.add)
        if self.position[op] >= job.size:
            return None
        if at + size > job.size:
            size = (job.size - at) // self.min_bytes * self.min_bytes
            if size == 0:
                return None
        self.position[op] = at + size
        self.run_at = at
        return at, size

    def _place_randomly(self, size: int) -> tuple[int, int] | None:
        job = self.job
        if self.run_left and self.run_at + 2 * size <= job.size:
            self.run_left -= 1
            self.run_at += size
            return self.run_at, size
        if not self.drawn:
            if job.is_mapped:
                n = job.size // self.min_bytes
                blocks = np.arange(self.mapped, min(self.mapped + BATCH, n), dtype=np.uint64)
                if not blocks.size:
                    return None
                self.mapped += blocks.size
                self.drawn = Permutation(n, self.seed ^ self.passes).of(blocks)[::-1].tolist()
            else:
                self.drawn = self.blocks.draw(BATCH).tolist()
        at = self.drawn.pop() * job.align
        self.run_at = min(at, (job.size - size) // job.align * job.align)
        self.run_left = job.run - 1
        return self.run_at, size

    def _requests(self, rows: Sequence[tuple[int, int, int]]) -> "_ssdlab.Requests":
        job = self.job
        columns = np.array(rows, np.uint64).reshape(-1, 3)
        ops = columns[:, 0].astype(np.uint8)
        is_flush = ops == FLUSH
        offsets = np.where(is_flush, np.uint64(0), columns[:, 1] + np.uint64(job.base))
        flags = np.where((ops == WRITE) & job.is_fua, FUA, 0).astype(np.uint8)
        return _ssdlab.Requests.from_columns(
            self._times(ops, columns[:, 2]), ops, np.ascontiguousarray(offsets),
            np.ascontiguousarray(columns[:, 2].astype(np.uint32)), flags,
            np.full(len(ops), self.stream, np.uint16), False,
        )  # fmt: skip

    def _times(self, ops: "npt.NDArray[np.uint8]", sizes: "npt.NDArray[np.uint64]") -> "npt.NDArray[np.uint64]":
        """Returns the earliest start times of requests in ns; a rate limit spaces out the requests of an operation."""
        job = self.job
        times = np.zeros(len(ops), np.float64)
        for op, rate in job.rate.items():
            at = np.flatnonzero(ops == op)
            amounts = np.ones(at.size) if job.rates_requests else sizes[at].astype(np.float64)
            if job.is_poisson:
                amounts = amounts * self.rng.standard_exponential(at.size)
            ends = self.paced.get(op, 0.0) + np.cumsum(amounts)
            times[at] = (ends - amounts) * (1e9 / rate)
            self.paced[op] = float(ends[-1]) if at.size else self.paced.get(op, 0.0)
        if len(times):
            times = np.maximum.accumulate(np.maximum(times, self.clock_ns))
            self.clock_ns = float(times[-1])
        return np.minimum(times, 2.0**62).astype(np.uint64)
