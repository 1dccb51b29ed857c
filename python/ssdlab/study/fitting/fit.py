"""Fits a drive to measurements, stage by stage."""

import json
import math
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import Numbers, np
from ssdlab.model.config import Config
from ssdlab.model.requests import Monitor
from ssdlab.study.executor import Executor
from ssdlab.study.fitting.load import Figure, Load, Measured, simulated, usable
from ssdlab.study.fitting.parameters import CATALOGUE, Parameter, Values, settings_of
from ssdlab.study.fitting.result import DriveFit, Fitted, Residual
from ssdlab.study.fitting.scale import Geometry, exact, scaled
from ssdlab.study.fitting.solve import Solution, solve
from ssdlab.study.fitting.stages import STAGES, Change, Stage
from ssdlab.study.store.folder import Store
from ssdlab.study.work.run import Outcome, Run

MOST_FIGURES = 4
"""Maximum number of metrics that the result lists for a parameter."""

SEEDS = 4
"""Number of simulations with different random seeds from which the variation of metrics is computed."""

USED = 0.05
"""Minimum influence (0 to 1) of a metric on a fitted parameter; the result omits metrics with less influence."""


class Drive:
    """Simulates a small drive with different parameter values. Caches the results, also for later runs in `store`."""

    def __init__(
        self, base: Config, jobs: int | None = None, monitor: Monitor | None = None, store: Store | None = None
    ) -> None:
        self.base, self.small = base, scaled(base)
        self._jobs, self._monitor, self._store = jobs, monitor, store
        self._done: dict[Config, dict[Figure, float]] = {}

    def config(self, values: Values, changes: Change) -> Config:
        """Returns the small drive with the given parameter values, and with `changes` to the base drive's settings."""
        changed = self.small.changed(changes) if changes else self.small
        return exact(self.small, {**changes, **settings_of(changed, values)})

    def least_spare(self, values: Values, changes: Change) -> float:
        """Returns the smallest over-provisioning with which the small drive has enough blocks for its FTL."""
        blocks: int = Geometry(self.small).blocks

        def has_enough(spare: int) -> bool:
            try:
                self.config({**values, "spare": spare / (blocks - spare)}, changes).check()
            except ConfigError:
                return False
            return True

        spare = bisect_left(range(blocks // 2), True, lo=1, key=has_enough)
        return spare / (blocks - spare)

    def figures(
        self, phase: str, drives: Sequence[Config], wanted: Sequence[Measured]
    ) -> list[dict[Load, Mapping[Figure, float]]]:
        """Returns the wanted metrics of each drive, simulated under each load. Raises KeyboardInterrupt if stopped."""
        runs = {(drive, one.load): self._run(drive, one) for drive in drives for one in wanted}
        missing: dict[Config, Measured] = {}
        for (_, load), run in runs.items():
            # Loads that differ only in their names are simulated only once.
            figures = [figure for one in wanted if one.load == load for figure in one.figures]
            known = [*self._known(run), *(missing[run].figures if run in missing else ())]
            if not {*figures} <= {*known}:
                missing[run] = Measured(load, dict.fromkeys([*known, *figures], 0.0))
        executor = Executor(f"simulate, {phase}", len(missing), jobs=self._jobs, monitor=self._monitor)

        def simulate(run: Config, one: Measured) -> None:
            result = executor.simulate(run)
            if result is not None:
                self._done[run] = found = simulated(result, one.load, one.figures)
                if self._store is not None:
                    self._store.keep(Run.of(run, None).key, Outcome(json.dumps([*found.items()]), None))

        try:
            executor.run([partial(simulate, run, one) for run, one in missing.items()])
        except ConfigError as error:
            reason = str(error).splitlines()[0].partition(": ")[2]
            raise ConfigError(
                f"no valid settings fit the measurements ({reason}); check the units of the measurements"
            ) from None
        if executor.finished < len(missing):
            raise KeyboardInterrupt
        return [{one.load: self._done[runs[drive, one.load]] for one in wanted} for drive in drives]

    def _known(self, run: Config) -> Mapping[Figure, float]:
        """Returns the metrics of a simulation that was run before, in this process or an earlier one."""
        if run not in self._done and self._store is not None:
            kept = self._store.records.get(Run.of(run, None).key)
            if kept is not None and kept.result is not None:
                self._done[run] = {Figure(*figure): value for figure, value in json.loads(kept.result)}
        return self._done.get(run, {})

    @staticmethod
    def _run(drive: Config, one: Measured) -> Config:
        settings = one.load.settings(drive.get("drive.protocol.nvme.queues"), one.figures)
        return drive.changed({key: str(value) for key, value in settings.items()})


def fit_drive(
    loads: Sequence[Measured],
    base: Config | None = None,
    *,
    capacity: int | None = None,
    source: Sequence[str] = (),
    jobs: int | None = None,
    monitor: Monitor | None = None,
) -> DriveFit:
    """Fits the parameters of a drive to metrics measured under several loads.

    Args:
        loads: Metrics by load.
        base: Configuration of the full-size drive; sets everything that is not fitted.
        capacity: Capacity of the measured drive in bytes; if None, the capacity of the base.
        source: Names of the files or data sheets that contain the metrics.
        jobs: Number of parallel simulations; one per processor by default.
        monitor: Called with the progress; a true return value raises KeyboardInterrupt.
    """
    base = base or Config()
    if capacity is not None:
        base = base.with_overrides({"device.capacity": f"{capacity}B"})
        if base["device.scale"] == "blocks":
            # This setting is the capacity of the nominal (full-size) drive that the scale model represents, which is
            # the measured drive.
            base = base.with_overrides({"device.scale.blocks.capacity": f"{capacity}B"})
    return fitted(Drive(base, jobs, monitor), loads, source)


def fitted(drive: Drive, loads: Sequence[Measured], source: Sequence[str]) -> DriveFit:
    """Fits the parameters of a drive to metrics; see `fit_drive`."""
    base = drive.base
    loads = [_usable(one) for one in merged(loads)]
    values: dict[str, float] = {}
    changes: Change = {}
    outcomes: list[Fitted] = []
    for stage in STAGES:
        names = [name for name in stage.parameters if CATALOGUE[name].applies(base)]
        chosen = stage.choose(loads)
        if not chosen or stage.parameters[0] not in names:
            outcomes += [
                Fitted(name, CATALOGUE[name].base(base), None, wanted=stage.measure)
                for name in names
                if stage.measure and name not in {one.name for one in outcomes}
            ]
            continue
        change, solution = _best(drive, stage, names, chosen, values, changes)
        changes |= change
        values = _others(values, names)
        outcomes = [one for one in outcomes if one.name not in names]
        outcomes += _outcomes(drive, names, chosen, values, changes, solution)
        values |= {one.name: one.value for one in outcomes if one.name in names and one.is_changed}
    if not values:
        raise ConfigError(
            f"{' and '.join(source) or 'the measurements'}: no parameter of the drive can be determined; "
            "measure reads at depths 1 to 256 with the job that 'ssdlab fit drive --job' prints"
        )
    final = drive.config(values, changes)
    (model,) = drive.figures("residuals", [final], loads)
    return DriveFit(
        base=base,
        small=final,
        sources=tuple(source),
        changes=changes,
        fitted=tuple(outcomes),
        residuals=tuple(
            Residual(one.load, figure, value, model[one.load][figure])
            for one in loads
            for figure, value in one.figures.items()
        ),
    )


def _others(values: Values, names: Collection[str]) -> dict[str, float]:
    return {name: value for name, value in values.items() if name not in names}


def merged(loads: Sequence[Measured]) -> list[Measured]:
    """Merges the measurements of identical loads. If a metric was measured several times, the last value is used."""
    figures: dict[Load, dict[Figure, float]] = {}
    for one in loads:
        figures.setdefault(one.load, {}).update(one.figures)
    return [Measured(load, own) for load, own in figures.items()]


def _usable(measured: Measured) -> Measured:
    kept = {figure: value for figure, value in measured.figures.items() if usable(measured.load, figure)}
    if not kept:
        raise ConfigError(
            f"{measured.load.name}: a simulation cannot report these percentiles; measure p50, p90 and p99"
        )
    return Measured(measured.load, kept)


def _best(
    drive: Drive,
    stage: Stage,
    names: Sequence[str],
    chosen: Sequence[Measured],
    values: Values,
    changes: Change,
) -> tuple[Change, Solution]:
    """Fits a stage with each variant of the base drive; returns the variant that fits best, and its solution."""
    best: tuple[Change, Solution] | None = None
    variants = stage.variants(drive.small, chosen)
    if all({*variant} <= {*changes} for variant in variants):
        # An earlier stage has already chosen one of these variants.
        variants = [{}]
    for variant in variants:
        solution = _solved(drive, stage.name, names, chosen, values, {**changes, **variant})
        if best is None or solution.misfit < best[1].misfit:
            best = variant, solution
    assert best is not None
    return best


def _solved(
    drive: Drive, phase: str, names: Sequence[str], chosen: Sequence[Measured], values: Values, changes: Change
) -> Solution:
    parameters = [CATALOGUE[name] for name in names]
    others = _others(values, names)
    config = drive.config(others, changes)
    flat = [(one.load, figure, value) for one in chosen for figure, value in one.figures.items()]

    def figures_of(drives: "Sequence[Config]") -> "list[Numbers]":
        found = drive.figures(phase, drives, chosen)
        return [np.log(np.array([figures[load][figure] for load, figure, _ in flat])) for figures in found]

    def configured(point: "Numbers") -> Config:
        return drive.config({**others, **_values(parameters, point)}, changes)

    def noise(point: "Numbers") -> "Numbers":
        """Returns the relative standard deviation of each metric in simulations with different random numbers."""
        one = configured(point)
        drives = [one.changed({"seed": str(int(one["seed"]) + more)}) for more in range(1, SEEDS + 1)]
        spread: Numbers = np.nan_to_num(np.std(figures_of(drives), axis=0, ddof=1))
        return spread

    base = [parameter.base(config) for parameter in parameters]
    start = [
        values[one.name] if one.name in values else value if (guess := one.guess(config, chosen)) is None else guess
        for one, value in zip(parameters, base, strict=True)
    ]
    lows = [max(one.low, drive.least_spare(others, changes)) if one.name == "spare" else one.low for one in parameters]

    def logs(numbers: Sequence[float]) -> "Numbers":
        pairs = zip(parameters, numbers, strict=True)
        return np.array([math.log(max(number + one.shift, 1e-9)) for one, number in pairs])

    low, high = logs(lows), logs([one.high for one in parameters])
    first = np.clip(logs(start), low, high)
    spreads = np.array([figure.spread(value) for _, figure, value in flat])
    if any(one.load.has_writes for one in chosen):
        # Garbage collection makes latencies vary. The measurement is assumed to vary as much as a simulation.
        spreads = np.hypot(spreads, math.sqrt(2) * noise(first))
    return solve(
        lambda points: figures_of([configured(point) for point in points]),
        np.log(np.array([value for _, _, value in flat])),
        spreads,
        start=first,
        base=logs(base),
        bounds=(low, high),
    )


def _values(parameters: "Sequence[Parameter]", point: "Numbers") -> dict[str, float]:
    return {one.name: max(math.exp(log) - one.shift, 0.0) for one, log in zip(parameters, point.tolist(), strict=True)}


def _outcomes(
    drive: Drive,
    names: Sequence[str],
    chosen: Sequence[Measured],
    values: Values,
    changes: Change,
    solution: Solution,
) -> list[Fitted]:
    parameters = [CATALOGUE[name] for name in names]
    config = drive.config(values, changes)
    found = _values(parameters, solution.point)
    flat = [(one.load, figure) for one in chosen for figure in one.figures]
    outcomes = []
    for at, parameter in enumerate(parameters):
        deviation = solution.deviations[at]
        value = found[parameter.name]
        weights = solution.shares[:, at]
        first = sorted(range(len(flat)), key=lambda row: -weights[row])[:MOST_FIGURES]
        by = tuple((flat[row][0].name, flat[row][1]) for row in first if weights[row] >= USED)
        if deviation is None:
            tie = solution.ties[at]
            tied = tuple(names[other] for other in tie.others)
            shares = {names[other]: share for other, share in tie.shares.items()}
            bounded = at in solution.bounded
            kept = value if bounded else parameter.base(config)
            outcomes.append(
                Fitted(parameter.name, kept, None, by if bounded else (), tied, shares, bounded, wanted=parameter.tell)
            )
            continue
        relative = deviation * (value + parameter.shift) / value if value else math.inf
        outcomes.append(Fitted(parameter.name, value, relative, figures=by))
    return outcomes
