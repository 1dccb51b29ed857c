"""Checks components written in Python on small random drives with random requests.

A world is a small drive together with its requests. If a component fails in a world, the world is reduced to a few
operations that still make the component fail.
"""

import random
from collections.abc import Callable
from typing import NamedTuple

from ssdlab._ssdlab import ConfigError, SimulationError
from ssdlab.model.config import Config
from ssdlab.model.plugin_run import TIMED_OUT, Plugin
from ssdlab.model.simulation import simulate
from ssdlab.model.trace import Trace

PRESET = "tlc-chip"
PAGE_KIB = 4
MOST_OPERATIONS = 60
MOST_PAGES = 6
"""Maximum number of pages of a request."""

_FIXED = {
    "nand.page_size": f"{PAGE_KIB}KiB", "nand.channels": 1, "nand.ways": 1, "nand.dies": 1, "time": "count",
    "host.replay": "closed", "device.reserve": "extra", "precondition.fill": "0%", "precondition.overwrite": "none",
    "check": True,
}  # fmt: skip
_CHECKED = ("cache", "ftl", "placement", "victim")
_READ, _WRITE, _TRIM = 0, 1, 2
_VERBS = {_READ: "read", _WRITE: "write", _TRIM: "trim"}


class Operation(NamedTuple):
    """A host request for consecutive pages of a drive."""

    op: int
    first: int
    pages: int

    def __str__(self) -> str:
        """Returns the request in words, such as `write 0-3`."""
        last = self.first + self.pages - 1
        return f"{_VERBS[self.op]} {self.first}" + (f"-{last}" if self.pages > 1 else "")


class World(NamedTuple):
    """Settings of a small drive, and the host requests to it."""

    settings: dict[str, object]
    operations: list[Operation]


class Counterexample(AssertionError):  # noqa: N818 - test runners show it as a failed assertion
    """Smallest world found in which a component breaks a rule."""

    def __init__(self, problem: str, world: World, seed: int) -> None:
        self.problem, self.settings, self.operations = problem, world.settings, world.operations
        drive = ", ".join(f"{key}={value}" for key, value in world.settings.items())
        listed = "".join(f"\n{number:4}  {operation}" for number, operation in enumerate(world.operations, 1))
        super().__init__(f"{problem}\n{drive}{listed}\nto reproduce: call check with seed={seed}")


def check(component: Plugin | type[Plugin], *, worlds: int = 60, seed: int = 1) -> None:
    """Checks an FTL, or a victim, placement or cache policy, in small random worlds: drives with random requests.

    Every flash operation and every page read is checked, as with `check=true`. Two runs of the same world must have
    identical results. The same seed always gives the same worlds. If a call exceeds the time limit that the class sets,
    the world is not reduced, because every attempt would take that long again.

    Args:
        component: Class to check, or an object if its constructor needs arguments; runs use copies of the object.
        worlds: Number of random worlds.
        seed: Seed of the random worlds.

    Raises:
        ConfigError: If the component is of a kind that cannot be checked.
        Counterexample: If the component breaks a rule. It has the attributes `problem`, `settings` and `operations`.
    """
    if component.kind not in _CHECKED:
        raise ConfigError(
            f"check: cannot check a {component.kind}; pass an FTL, or a victim, placement or cache policy"
        )
    rng = random.Random(seed)
    for number in range(worlds):
        # Small drives come first, because they show a bug after fewer operations.
        world = _drawn(component.kind, rng, most_blocks=1 + 4 * number // worlds)
        problem = _problem(component, world)
        if problem and TIMED_OUT not in problem:
            world = _reduced(world, lambda smaller: bool(_problem(component, smaller)))
            # A nondeterministic component may pass this time; then the earlier problem is reported.
            problem = _problem(component, world) or problem
        if problem:
            raise Counterexample(problem, world, seed)


def _drawn(kind: str, rng: random.Random, most_blocks: int) -> World:
    per_block, blocks = rng.randint(2, 2 + most_blocks), rng.randint(1, most_blocks)
    planes = rng.choice([1, 1, 2]) if kind in {"placement", "victim"} else 1
    pages = per_block * blocks
    settings: dict[str, object] = {
        "device.capacity": f"{pages * PAGE_KIB}KiB",
        # 1 to 3 spare blocks per plane, in addition to the FTL's own reserve.
        "device.op": f"{100 * planes * rng.randint(1, 3) / blocks:.2f}%",
        "nand.pages_per_block": per_block,
        "nand.planes": planes,
    }
    if kind == "cache":
        settings["cache.size"] = f"{rng.randint(1, 8) * PAGE_KIB}KiB"

    def operation() -> Operation:
        first = rng.randrange(pages)
        count = rng.choice([1, 1, 1, rng.randint(1, MOST_PAGES)])
        return Operation(rng.choice([_WRITE] * 6 + [_READ] * 3 + [_TRIM]), first, min(count, pages - first))

    operations = [operation() for _ in range(rng.randint(1, MOST_OPERATIONS))]
    # The last operation reads all pages, so that every page is checked.
    return World(settings, [*operations, Operation(_READ, 0, pages)])


def _problem(component: Plugin | type[Plugin], world: World) -> str:
    """Returns a description of the rule that the component breaks; empty if it breaks none."""
    operations = world.operations
    config = Config(PRESET, overrides={**_FIXED, **world.settings})
    trace = Trace.from_columns(
        op=[operation.op for operation in operations],
        offset=[operation.first * PAGE_KIB * 1024 for operation in operations],
        bytes=[operation.pages * PAGE_KIB * 1024 for operation in operations],
    )
    try:
        one, two = (
            simulate(config, trace, plugins=[component], keep=False, diagnose=False).to_json() for _ in range(2)
        )
    except SimulationError as error:
        return str(error)
    return "" if one == two else "two identical runs gave different results"


def _reduced(world: World, fails: Callable[[World], bool]) -> World:
    """Reduces a failing world: removes operations, at first many at once, and shortens the remaining ones."""
    step = len(world.operations) // 2
    while step:
        at, before = 0, len(world.operations)
        while at < len(world.operations):
            fewer = world._replace(operations=world.operations[:at] + world.operations[at + step :])
            if fewer.operations and fails(fewer):
                world = fewer
            else:
                at += step
        if step > 1 or len(world.operations) == before:
            step //= 2
    for at, operation in enumerate(world.operations):
        short = world._replace(operations=list(world.operations))
        short.operations[at] = operation._replace(pages=1)
        if operation.pages > 1 and fails(short):
            world = short
    return world
