"""Compares several configurations on the same requests."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ssdlab import _ssdlab, text
from ssdlab._ssdlab import ConfigError
from ssdlab.lazy import pa
from ssdlab.model.arguments import takes
from ssdlab.model.config import Config, Overrides, config_of
from ssdlab.model.finding import Contents, Finding, Plot
from ssdlab.model.numbers import whole
from ssdlab.model.requests import Monitor
from ssdlab.model.result import Result
from ssdlab.model.shape import complete
from ssdlab.model.simulation import simulate
from ssdlab.model.trace_file import Given, source_of
from ssdlab.study.executor import Executor
from ssdlab.study.spare import OP, refusal, smallest_op


class Spread(NamedTuple):
    """Mean and standard deviation of a metric over the seeds of a case."""

    mean: float
    standard_deviation: float | None
    """Sample standard deviation (n - 1); None for a single run."""
    seeds: int
    """Number of runs that have the metric."""

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Returns mean and standard deviation of the given values."""
        deviation = statistics.stdev(values) if len(values) > 1 else None
        return cls(statistics.fmean(values), deviation, len(values))


class Comparison(Finding):
    """Results of named configurations (cases); each case runs with the same number of seeds.

    A comparison that was stopped contains the completed runs; for a case without any, it contains one partial run.

    Files: `report.html`, `comparison.json`, `comparison.csv` with a row per metric (mean, standard deviation and number
    of seeds of each case), and `comparison.parquet` with a row per metric, case and seed.
    """

    _page = "comparison"
    _json = "comparison.json"
    saved = "report.html, comparison.json, comparison.csv and comparison.parquet"

    def __init__(self, runs: Mapping[str, Sequence[Result | None]], seeds: int) -> None:
        measured = {label: _measured(results) for label, results in runs.items()}
        self.runs = {label: results for label, results in measured.items() if results}
        """Results of each case that has measurements, one per seed."""
        self.missing = [label for label, results in measured.items() if not results]
        """Names of cases without measurements."""
        self.seeds = seeds
        """Number of runs per case."""

    @property
    def results(self) -> dict[str, Result]:
        """First result of each case."""
        return {label: results[0] for label, results in self.runs.items()}

    @property
    def cut_short(self) -> list[str]:
        """Names of cases without a completed run."""
        return [label for label, results in self.runs.items() if any(one.partial for one in results)]

    @property
    def partial(self) -> bool:
        """True if the comparison was stopped early."""
        return bool(self.missing or self.cut_short) or any(len(one) < self.seeds for one in self.runs.values())

    def figures(self, case: str) -> dict[str, Spread]:
        """Returns mean and deviation over a case's seeds for every number, such as `latency.read.p99_ns`."""
        runs = [dict(_numbers(complete(one.summary))) for one in self.runs[case]]
        # A run has no metrics for operations that did not occur.
        names = dict.fromkeys(name for run in runs for name in run)
        return {name: Spread.of([run[name] for run in runs if name in run]) for name in names}

    def _settings(self) -> dict[str, dict[str, Any]]:
        return {label: result.config.to_dict() for label, result in self.results.items()}

    @property
    def differing_settings(self) -> dict[str, dict[str, Any]]:
        """Values of the settings that differ between cases, by case; None if a setting does not apply to a case."""
        cases = self._settings()
        keys = sorted({key for settings in cases.values() for key in settings})
        values = {key: [settings.get(key, {}).get("value") for settings in cases.values()] for key in keys}
        differ = [key for key in keys if any(value != values[key][0] for value in values[key])]
        return {label: {key: settings.get(key, {}).get("value") for key in differ} for label, settings in cases.items()}

    def to_dict(self) -> dict[str, Any]:
        """Returns settings, metrics and results of every case, ready for JSON."""
        settings = self.differing_settings
        return {
            "seeds": self.seeds,
            "spread": "sample standard deviation",
            "cases": {
                label: {
                    "settings": settings[label],
                    "figures": {name: spread._asdict() for name, spread in self.figures(label).items()},
                    "runs": [{"seed": one.config["seed"], **one.to_dict()} for one in results],
                }
                for label, results in self.runs.items()
            },
        }

    def _source(self) -> Mapping[str, Any]:
        return next(iter(self.results.values())).source

    def _configuration(self) -> dict[str, Any]:
        first = next(iter(self._settings().values()))
        differ = next(iter(self.differing_settings.values()))
        return {key: setting for key, setting in first.items() if key not in differ}

    def to_arrow(self) -> "pa.Table":
        """Returns an Arrow table with a row per metric, case and seed: `figure`, `case`, `seed`, `value`."""
        rows = [
            (name, label, one.config["seed"], value)
            for label, results in self.runs.items()
            for one in results
            for name, value in _numbers(complete(one.summary))
        ]
        columns = [*zip(*rows, strict=True)]
        types = (pa.string(), pa.string(), pa.uint64(), pa.float64())
        names = ("figure", "case", "seed", "value")
        return pa.table(
            {name: pa.array(column, kind) for name, column, kind in zip(names, columns, types, strict=True)}
        )

    def _tables(self) -> Contents:
        by_case = {label: self.figures(label) for label in self.runs}
        parts = Spread._fields if self.seeds > 1 else Spread._fields[:1]
        heads = [label if part == "mean" else f"{label} {part}" for label in by_case for part in parts]
        rows: list[Sequence[object]] = [("figure", *heads)]
        for name in dict.fromkeys(name for figures in by_case.values() for name in figures):
            spreads = [figures.get(name) for figures in by_case.values()]
            rows.append((name, *("" if one is None else getattr(one, part) for one in spreads for part in parts)))
        return {"comparison.csv": rows, "comparison.parquet": self.to_arrow()}

    plot = Plot("comparison.headlines")
    plot_differences = Plot("comparison.differences")
    plot_latency_percentiles = Plot("comparison.percentiles")
    plot_write_amplification = Plot("comparison.write_amplification")
    plot_course = Plot("comparison.course")

    def __repr__(self) -> str:
        return f"<ssdlab.Comparison of {', '.join(self.runs)}: {text.counted(self.seeds, 'seeds')} each>"


def _measured(runs: Sequence[Result | None]) -> tuple[Result, ...]:
    """Returns the completed runs of a case; if there are none, one partial run with measurements."""
    whole = tuple(one for one in runs if one and not one.partial)
    return whole or tuple(one for one in runs if one and any(one.series["requests"]))[:1]


def _numbers(summary: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    for name, value in summary.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{above}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{above}{name}", float(value)


def refuse_small(configs: Mapping[str, Config], trace: Given | None) -> None:
    """Raises ConfigError if some drives have too few blocks; suggests an over-provisioning that suffices for all."""

    def check(config: Config) -> None:
        if trace is None:
            config.check()
            return
        config = config.for_trace()
        unit = config["device.unit"]
        if unit not in spaces:
            spaces[unit] = source_of(trace, config).address_space(config)
        _ssdlab.kept_key(config._inner, spaces[unit])

    spaces: dict[str, _ssdlab.AddressSpace | None] = {}
    refused = []
    for label, config in configs.items():
        try:
            check(config)
        except ConfigError:
            refused.append(label)
    enough = smallest_op([*configs.values()], check) if refused else None
    if enough is not None:
        raise ConfigError(refusal(refused, configs[refused[0]][OP], enough)) from None


@takes()
def compare(
    cases: "Mapping[str, Config | Overrides]",
    trace: Given | None = None,
    *,
    seeds: int = 1,
    jobs: int | None = None,
    monitor: Callable[[str], Monitor] | None = None,
) -> Comparison:
    """Runs every case on the same requests. The result does not depend on `jobs`.

    Args:
        cases: Configurations by name, or settings on top of the defaults.
        trace: Trace to replay; each case's own workload if None.
        seeds: Number of runs per case, with consecutive seeds from the case's `seed`.
        jobs: Number of parallel simulations; one per processor if None.
        monitor: Creates the monitor of a run from its name.

    Raises:
        ConfigError: If there are no cases or seeds, or a configuration is invalid.
        TraceError: If the trace cannot be read.
        SimulationError: As for `simulate`.
        KeyboardInterrupt: If a monitor stops the comparison before any measurement.
    """
    if isinstance(cases, Config) or not isinstance(cases, Mapping):
        raise ConfigError(
            f"cases must be a mapping from names to cases, not {type(cases).__name__}; use, for example, "
            "{'7%': {'device.op': '7%'}, '28%': ...}"
        )
    seeds = whole("seeds", seeds)
    if not cases or seeds < 1:
        raise ConfigError("nothing to compare; use at least one case and at least one seed")
    configs = {str(label): config_of(given) for label, given in cases.items()}
    if len(configs) < len(cases):
        raise ConfigError("two cases have the same name; use a different name for each case")
    runs = [
        (label, config if number == 0 else config.with_overrides({"seed": config["seed"] + number}))
        for label, config in configs.items()
        for number in range(seeds)
    ]
    executor = Executor("cases", len(runs), jobs=jobs)

    def simulate_case(label: str, config: Config) -> Result | None:
        if executor.stopped.is_set():
            return None
        watch = None if monitor is None else monitor(label if seeds == 1 else f"{label}, seed {config['seed']}")

        def watching(phase: str, done: int, total: int | None, requests: int) -> bool:
            # If any run is stopped or fails, the whole comparison ends.
            if watch and watch(phase, done, total, requests):
                executor.stop()
            return executor.stopped.is_set()

        return simulate(config, trace, monitor=watching)

    try:
        for config in configs.values():
            (config if trace is None else config.for_trace()).check()
        results = executor.run([partial(simulate_case, label, config) for label, config in runs])
    except ConfigError:
        refuse_small(configs, trace)
        raise
    comparison = Comparison({label: results[at * seeds : (at + 1) * seeds] for at, label in enumerate(configs)}, seeds)
    if not comparison.runs:
        raise KeyboardInterrupt("nothing has been measured yet")
    return comparison
