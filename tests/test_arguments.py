"""Arguments of a wrong type are named in the error, with a valid type."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdlab
from ssdlab import advise, cache, compress, experiments, screening

SMALL = ssdlab.Config(
    "tlc-chip", overrides={"device.capacity": "32MiB", "nand.pages_per_block": 32, "workload.requests": 300}
)
MADE = ssdlab.Trace.from_columns(op=[1, 0], offset=[0, 4096], bytes=[4096, 4096])
VARIED: dict[str, Any] = {"axes": {"device.op": "20%,40%"}, "config": SMALL}

FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Config": (ssdlab.Config, {}),
    "Config.with_overrides": (ssdlab.Config().with_overrides, {}),
    "Drive": (ssdlab.Drive, {"config": {"device.capacity": "32MiB"}}),
    "DriveServer": (ssdlab.DriveServer, {"socket": "none/of/these"}),
    "Pool": (ssdlab.Pool, {"budget": "4MiB", "page_size": "4KiB", "loader": "none"}),
    "Result.load": (ssdlab.Result.load, {}),
    "Trace.analyze": (MADE.analyze, {}),
    "Trace.intervals": (MADE.intervals, {}),
    "Trace.save": (MADE.save, {"path": "none/of/these.csv"}),
    "TraceFile": (lambda **given: ssdlab.TraceFile("none", **given), {}),
    "advise.map_cache": (advise.map_cache, {"trace": MADE}),
    "advise_drive": (ssdlab.advise_drive, {"trace": None, "config": SMALL}),
    "cache.Load": (cache.Load, {}),
    "cache.Pools": (cache.Pools, {}),
    "cache.Storage": (cache.Storage, {}),
    "cache.bench": (cache.bench, {}),
    "cache.mrc": (cache.mrc, {"trace": MADE}),
    "cache.plan": (cache.plan, {"memory": "15GiB", "data": "200GiB", "paper": True}),
    "cache.simulate": (cache.simulate, {"trace": MADE, "policies": "lru", "sizes": "10%"}),
    "calibrate": (ssdlab.calibrate, {}),
    "calibrate_target": (ssdlab.calibrate_target, {"path": "none"}),
    "compare": (ssdlab.compare, {"cases": {"case": SMALL}}),
    "compress.bench": (compress.bench, {}),
    "diagnose": (ssdlab.diagnose, {"config": SMALL}),
    "experiments.load": (experiments.load, {}),
    "explain": (ssdlab.explain, {"what": {"ftl": "fast"}}),
    "fleet": (ssdlab.fleet, {"trace": "none"}),
    "generate": (ssdlab.generate, {}),
    "generate_fleet": (ssdlab.generate_fleet, {"path": "none.csv"}),
    "open_fleet": (ssdlab.open_fleet, {}),
    "open_study": (ssdlab.open_study, {}),
    "screening.load": (screening.load, {}),
    "simulate": (ssdlab.simulate, {"config": SMALL}),
    "sweep": (ssdlab.sweep, VARIED),
    "tune": (ssdlab.tune, {**VARIED, "outcomes": "write_amplification"}),
}
"""With the other arguments that they need."""

SIGNATURES = {"TraceFile": ssdlab.TraceFile}

UNNAMED = r"is not a (configuration|trace|setting)|cases must be a mapping from names to cases"
"""Arguments to the only parameter that can be meant."""


ANSWERS = {"asked_for": "outcomes", "curves": "outcome", "effects": "outcome", "pareto": "outcomes", "result": "run"}


@pytest.mark.parametrize(("method", "argument"), ANSWERS.items())
def test_a_study_names_its_valid_questions(method: str, argument: str, study: ssdlab.Study) -> None:
    with pytest.raises(ssdlab.ConfigError, match=rf"^{argument}: object is not a .*; pass "):
        getattr(study, method)(object())


@pytest.fixture(scope="module")
def study() -> ssdlab.Study:
    return ssdlab.sweep(**VARIED, jobs=1)


def parameters(name: str) -> list[str]:
    parameters = inspect.signature(SIGNATURES.get(name, FUNCTIONS[name][0])).parameters.values()
    # Options that a command passes on to another function.
    return [
        parameter.name
        for parameter in parameters
        if parameter.kind is not parameter.VAR_POSITIONAL and parameter.name != "reading"
    ]


@pytest.mark.parametrize(
    ("name", "argument"), [(name, parameter) for name in FUNCTIONS for parameter in parameters(name)]
)
def test_wrong_argument_types_are_named(
    name: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, needed = FUNCTIONS[name]
    with pytest.raises(ssdlab.SsdlabError, match=rf"^{argument}: .*; |{UNNAMED}") as error:
        call(**{**needed, argument: object()})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("Config", {"preset": 5}, "preset: 5 is not a string; pass a string, such as 'tlc-nvme', or None"),
        ("Config", {"file": [3]}, "file: 3 is not a path; pass a path or a list of paths, such as 'my.toml'"),
        (
            "Config",
            {"overrides": [1]},
            "overrides: 1 is not a setting; pass settings such as {'device.op': '7%'} or ['device.op=7%']",
        ),
        ("simulate", {"watch": 5}, "watch: 5 is not a function; pass a function, or None"),
        ("simulate", {"keep": "no"}, "keep: 'no' is not a switch; pass True or False"),
        (
            "simulate",
            {"state": "a\0b"},
            r"state: 'a\x00b' contains a zero byte; pass a path, such as 'drive.state', or None",
        ),
        ("cache.simulate", {"page": 4096}, "page: 4096 is not a string; pass a string, such as '4KiB'"),
        (
            "cache.simulate",
            {"policies": ["lru", 2]},
            "policies: 2 is not a string; pass a list of strings, such as ['lru']",
        ),
        ("cache.Load", {"trace": 5}, "trace: 5 is not a Trace; pass a Trace, or None"),
        ("cache.Load", {"writes": "0.5"}, "writes: '0.5' is not a number; pass a number"),
    ],
)
def test_messages_name_a_valid_value(name: str, given: dict[str, Any], message: str) -> None:
    call, needed = FUNCTIONS[name]
    with pytest.raises(ssdlab.ConfigError) as error:
        call(**{**needed, **given})
    assert str(error.value) == message


def test_single_items_and_numpy_values_are_accepted() -> None:
    alike: list[dict[str, Any]] = [
        {"policies": ["lru"], "sizes": [1], "ignore_trims": True},
        {"policies": "lru", "sizes": [np.int64(1)], "ignore_trims": np.True_},
        {"policies": (one for one in ["lru"]), "sizes": (1,), "ignore_trims": True},
    ]
    outputs = {cache.simulate(MADE, **given).to_json() for given in alike}
    assert len(outputs) == 1
