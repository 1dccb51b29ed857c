"""Compares `ssdlab tune` with random search: both get the same number of trials, repeatedly with other seeds.

Run this file for the table in docs/tuning.md; it takes ten to twenty minutes. Tier `deep` tests the claims.
"""

import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ssdlab import Config, TraceFile, text
from ssdlab.lazy import optuna
from ssdlab.study.store.folder import Store
from ssdlab.study.sweep.axes import Point, axis
from ssdlab.study.tuning.goal import Aims
from ssdlab.study.tuning.runs import Runs
from ssdlab.study.tuning.search import Search
from ssdlab.study.tuning.space import Space
from ssdlab.study.work.local import LocalWorkers
from ssdlab.study.work.run import TraceRef

TRACES = Path(__file__).parent.parent / "traces"

TRIALS, BATCH, REPEATS = 80, 4, 15
SEEDS = range(1)


class Problem(NamedTuple):
    """A search that a user might run."""

    name: str
    trace: str | None
    """None for a generated workload."""
    settings: Mapping[str, object]
    axes: Sequence[str]
    goal: str
    constraints: Sequence[str] = ()


SMALL_BLOCKS = {"time": "count", "nand.pages_per_block": 64}
"""Small steps of spare space, as on a large drive."""

HOT_AND_COLD = {
    "time": "count", "device.capacity": "16MiB", "nand.channels": 1, "nand.ways": 1, "nand.pages_per_block": 32,
    "workload.pattern": "hot_cold", "workload.requests": 20_000,
}  # fmt: skip

PROBLEMS = (
    Problem(
        "cheapest flash and map RAM for pgbench, write amplification within 2", "pgbench", SMALL_BLOCKS,
        ["device.op=5%..60%", "ftl.page.gc", "ftl.page.survivors", "ftl.page.map=ram,dftl",
         "ftl.page.map.dftl.cmt=1024..131072:log", "ftl.page.map.dftl.batch"],
        "cost=device.physical_bytes + 50 * device.mapping_table_bytes", ["write_amplification<=2"],
    ),
    Problem(
        "least flash for oltp, write amplification within 1.8", "oltp", SMALL_BLOCKS,
        ["device.op=5%..60%", "ftl.page.gc", "ftl.page.gc.d_choices.d=2..64:log",
         "ftl.page.gc.windowed_greedy.window=8..512:log", "ftl.page.survivors", "ftl.page.allocation",
         "ftl.page.trigger", "ftl.page.trigger.batch.low=2..8", "ftl.page.trigger.batch.high=4..32:log"],
        "device.physical_bytes", ["write_amplification<=1.8"],
    ),
    Problem(
        "longest life under a hot and cold workload, at most 20 MiB of flash for 16 MiB", None, HOT_AND_COLD,
        ["device.op=5%..60%", "ftl.page.gc", "ftl.page.gc.d_choices.d=2..64:log",
         "ftl.page.gc.windowed_greedy.window=4..64:log", "ftl.page.survivors", "ftl.page.allocation",
         "ftl.page.trigger", "ftl.page.trigger.batch.low=2..6", "ftl.page.trigger.batch.high=4..12"],
        "lifetime.host_tbw_bytes:max", ["device.physical_bytes<=20MiB"],
    ),
)  # fmt: skip


class Bench:
    """A problem, with a folder that all searches share, so that equal runs run once."""

    def __init__(self, problem: Problem, workers: LocalWorkers, store: Store) -> None:
        self.aims = Aims.of([problem.goal], problem.constraints)
        self.space = Space.of([axis(ax) for ax in problem.axes])
        trace = TraceRef.of(TraceFile(TRACES / f"{problem.trace}.csv.zst")) if problem.trace else None
        self.runs = Runs(
            Config(overrides=problem.settings), trace, self.aims, store=store, workers=workers, monitor=None,
        )  # fmt: skip

    def best(self, points: Sequence[Point]) -> float | None:
        """The best outcome that meets the constraints."""
        self.runs.do(points, SEEDS)
        measured = [self.runs.measured(point, SEEDS) for point in points]
        values = [outcome.means()[0] for outcome in measured if outcome.feasible(self.aims.constraints)]
        return (max if self.aims.goals[0].large else min)(values, default=None)

    def tuned(self, seed: int) -> list[Point]:
        """The points that a search tries."""
        search = Search(self.space, self.aims, seed=seed, batch=BATCH)
        for _ in range(TRIALS // BATCH):
            its = search.open()
            self.runs.do([proposal.point for proposal in its], SEEDS)
            for one in its:
                search.tell(one.number, self.runs.measured(one.point, SEEDS))
        return [proposal.point for proposal in search.proposals()]

    def drawn(self, seed: int) -> list[Point]:
        """The same number of random points."""
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
        return [self.space.draw(study.ask()) for _ in range(TRIALS)]


class Row(NamedTuple):
    """Result of a problem: medians over the repeats; None if most searches found no feasible point."""

    name: str
    tuned: float | None
    random: float | None
    ahead: bool
    """True if the search has the better median."""
    wins: int
    losses: int


def compared(problem: Problem, repeats: int = REPEATS) -> Row:
    """Runs both searches repeatedly and compares them."""
    with tempfile.TemporaryDirectory() as folder, LocalWorkers(2) as workers, Store(Path(folder)) as store:
        bench = Bench(problem, workers, store)
        pairs = [(bench.best(bench.tuned(seed)), bench.best(bench.drawn(seed))) for seed in range(repeats)]
    # A search without a result loses against any result.
    worst = float("-inf") if bench.aims.goals[0].large else float("inf")
    sign = 1 if bench.aims.goals[0].large else -1
    both = [(worst if ours is None else ours, worst if theirs is None else theirs) for ours, theirs in pairs]
    tuned, random = (statistics.median(values) for values in zip(*both, strict=True))
    return Row(
        problem.name,
        None if tuned == worst else tuned,
        None if random == worst else random,
        ahead=sign * tuned > sign * random,
        wins=sum(sign * ours > sign * theirs for ours, theirs in both),
        losses=sum(sign * ours < sign * theirs for ours, theirs in both),
    )


def written(value: float | None) -> str:
    """Formats a median for the table."""
    return "none" if value is None else text.size_decimal(value)


def main() -> None:
    """Prints the table."""
    print(f"| medians of the best of {TRIALS} trials, {REPEATS} times | `ssdlab tune` | at random | wins | losses |")
    print("|---|---|---|---|---|")
    for problem in PROBLEMS:
        row = compared(problem)
        print(f"| {row.name} | {written(row.tuned)} | {written(row.random)} | {row.wins} | {row.losses} |", flush=True)


if __name__ == "__main__":
    main()
