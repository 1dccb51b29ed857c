"""The two-pool cache from Python."""

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import ssdlab
from forked import PATIENCE_SECONDS
from ssdlab import Pool

PAGE = 4096


class Memory:
    """Storage of pages with a repeated number, which records the writes."""

    def __init__(self) -> None:
        self.pages: dict[int, bytes] = {}
        self.failing: BaseException | None = None

    def load(self, page: int) -> bytes:
        if self.failing:
            raise self.failing
        return self.pages.get(page, page.to_bytes(8, "little") * (PAGE // 8))

    def store(self, page: int, data: bytes) -> None:
        if self.failing:
            raise self.failing
        self.pages[page] = data


def test_reads_return_the_last_write_and_flush_stores_it() -> None:
    below = Memory()
    draw, written = random.Random(1), {}
    with Pool("512KiB", PAGE, below, codec="zstd:1", workers=0) as pool:
        assert repr(pool).startswith("<ssdlab.Pool of 512 KiB in pages of ") and repr(below) in repr(pool)
        for _ in range(5000):
            page = int(draw.random() ** 2 * 400)
            if draw.random() < 0.3:
                written[page] = bytes([draw.randrange(256)]) * PAGE
                pool.write(page, written[page])
            assert pool.read(page) == written.get(page, page.to_bytes(8, "little") * (PAGE // 8))
        pool.flush()
        assert below.pages == written
        statistics = pool.statistics()
        assert statistics.transitions["compressed_hits"] > 0 and statistics.transitions["misses"] > 0
        assert statistics.reads == 5000
        assert statistics.hit_ratio == 1 - statistics.transitions["misses"] / 5000
        assert statistics.memory["total_bytes"] <= statistics.memory["budget_bytes"] == 512 << 10
        assert statistics.memory["dirty_pages"] == 0


def test_equal_runs_without_workers_have_equal_counts() -> None:
    def run() -> dict[str, int]:
        draw = random.Random(2)
        with Pool("512KiB", "4KiB", Memory(), workers=0, policy="sieve", share="25") as pool:
            for _ in range(3000):
                pool.read(int(draw.random() ** 2 * 500))
            return dict(pool.statistics().transitions)

    assert run() == run()


def test_loader_exceptions_reach_the_caller() -> None:
    below = Memory()
    pool = Pool("512KiB", PAGE, below)
    below.failing = LookupError("no such page")
    with pytest.raises(LookupError, match="no such page") as raised:
        pool.read(7)
    assert raised.value.__notes__ == ["while loading page 7 into the cache"]
    pool.write(3, bytes(PAGE))
    with pytest.raises(LookupError):
        pool.flush()
    below.failing = None
    pool.flush()
    assert below.pages == {3: bytes(PAGE)}
    assert pool.read(7)[:1] == b"\x07"
    pool.close()
    with pytest.raises(ValueError, match="closed"):
        pool.read(7)


def test_a_page_of_another_length_is_refused() -> None:
    below = Memory()
    below.pages[1] = b"short"
    with Pool("512KiB", PAGE, below) as pool:
        with pytest.raises(ValueError, match="5 bytes"):
            pool.read(1)
        with pytest.raises(ValueError, match="but a page has 4096"):
            pool.write(1, b"short")


def test_threads_share_a_pool() -> None:
    with Pool("1MiB", PAGE, Memory(), workers=2) as pool:
        wrong: list[int] = []

        def work(seed: int) -> None:
            draw = random.Random(seed)
            for _ in range(1500):
                page = draw.randrange(600)
                if pool.read(page) != page.to_bytes(8, "little") * (PAGE // 8):
                    wrong.append(page)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert pool.statistics().reads == 6000


def test_a_file_below(tmp_path: Path) -> None:
    path = tmp_path / "pages"
    contents = random.Random(3).randbytes(100 * PAGE + 10)
    path.write_bytes(contents)
    with Pool("512KiB", "4KiB", path) as pool:
        assert pool.read(99) == contents[99 * PAGE : 100 * PAGE]
        assert pool.read(100) == contents[-10:] + bytes(PAGE - 10)
        with pytest.raises(ValueError, match="page 101 is past the end"):
            pool.read(101)
        pool.write(2, b"x" * PAGE)
        pool.write(200, b"y" * PAGE)
        assert pool.direct in (False, True)
    now = path.read_bytes()
    assert now[2 * PAGE : 3 * PAGE] == b"x" * PAGE
    assert now[200 * PAGE :] == b"y" * PAGE
    assert now[3 * PAGE : 100 * PAGE + 10] == contents[3 * PAGE :]


@pytest.mark.parametrize(
    "policy", [policy.name for policy in ssdlab.cache.policies() if not policy.needs_future] + ["lru-k:k=3"]
)
def test_any_policy_of_simulated_caches(policy: str) -> None:
    with Pool("512KiB", "4KiB", Memory(), workers=0, policy=policy, compressed_policy=policy) as pool:
        for turn in range(3):
            for page in range(300):
                if turn == 1:
                    pool.write(page, bytes([page % 251]) * PAGE)
                if turn == 2:
                    assert pool.read(page) == bytes([page % 251]) * PAGE
                pool.read(page // 20)
        statistics = pool.statistics()
        assert statistics.raw_hit_ratio > 0 and statistics.memory["total_bytes"] <= statistics.memory["budget_bytes"]


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Pool("1MiB", "4KiB", tmp_path / "nowhere")
    with pytest.raises(OSError):
        Pool("1MiB", "4KiB", tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"codec": "lz5"}, 'did you mean "lz4"'),
        ({"codec": "modelled"}, "only models compression"),
        ({"policy": "lur"}, 'invalid policy "lur".*choose one of clock, fifo, lru, s3-fifo, sieve, .*arc'),
        ({"policy": "belady"}, "choose one of"),
        ({"policy": "lru-k:k=99"}, "must be from 1 to 16"),
        ({"policy": "lru-k:k"}, "lru-k:PARAMETER=NUMBER"),
        ({"compressed_policy": "lur"}, 'invalid policy of compressed pages "lur".*choose one of'),
        ({"share": "half"}, "invalid share"),
        ({"share": "120%"}, "from 0 to 100"),
        ({"share": "adaptive"}, "miss_us"),
        ({"share": "adaptive", "miss_us": 1.0, "restore_us": 20.0}, "longer than the time to restore"),
        ({"page_size": 1000}, "power of two"),
        ({"budget": "8KiB"}, "budget"),
        ({"budget": -1}, "out of range"),
        ({"workers": 1000}, "workers"),
    ],
)
def test_wrong_settings(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ssdlab.ConfigError, match=message):
        Pool(**{"budget": "1MiB", "page_size": "4KiB", "loader": Memory(), **changes})  # type: ignore[arg-type]


def test_a_program_that_never_closes_a_pool_ends_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pages"
    path.write_bytes(bytes(8 * PAGE))
    program = f"import ssdlab\npool = ssdlab.Pool('1MiB', '4KiB', {os.fspath(path)!r})\npool.write(1, b'z' * {PAGE})\n"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE_SECONDS)
    assert path.read_bytes()[PAGE : 2 * PAGE] == b"z" * PAGE


class Storage:
    """Pages of zeros; stored pages are dropped."""

    def load(self, page: int) -> bytes:
        return bytes(4096)

    def store(self, page: int, data: bytes) -> None:
        pass


class Interrupted(Storage):
    def store(self, page: int, data: bytes) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("workers", [0, 1])
def test_interrupts_and_exits_propagate(workers: int) -> None:
    pool = ssdlab.Pool("256KiB", "4KiB", Interrupted(), workers=workers)
    with pytest.raises(KeyboardInterrupt):
        for page in range(1000):
            pool.write(page, bytes(4096))
    with pytest.raises(KeyboardInterrupt):
        pool.close()


def test_many_threads_keep_to_the_budget() -> None:
    over = []
    with ssdlab.Pool("1MiB", "64KiB", Pages64(), share="0%", workers=0) as pool:

        def work(number: int) -> None:
            for step in range(40):
                pool.read(number * 40 + step)
                memory = pool.statistics().memory
                over.append(memory["total_bytes"] - memory["budget_bytes"])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert max(over) <= 0


class Pages64(Storage):
    def load(self, page: int) -> bytes:
        return bytes(65536)


def test_pages_too_large_to_store_are_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "pages"
    file.write_bytes(bytes(8192))
    with ssdlab.Pool("1MiB", "4KiB", file) as pool:
        with pytest.raises(ValueError, match="the highest page number that a file can hold"):
            pool.write(2**64 - 1, bytes(4096))
        pool.flush()
    file.chmod(0o400)
    if os.access(file, os.W_OK):
        pytest.skip("this user may write any file")
    with ssdlab.Pool("1MiB", "4KiB", file) as pool, pytest.raises(PermissionError, match="give write permission"):
        pool.write(0, bytes(4096))


def test_budgets_beyond_memory_are_one_clear_error() -> None:
    for budget, said in (("1000000TiB", "GiB of free memory"), (2**64, "is out of range")):
        with pytest.raises(ssdlab.ConfigError, match=said):
            ssdlab.Pool(budget, "4KiB", Storage())
