"""Lazy loading: help and the start of a run import only modules that they use."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pytest

import ssdlab
from conftest import SMALL_SETS
from ssdlab import api
from ssdlab.cli import COMMANDS, app
from ssdlab.cli.command import Later
from ssdlab.model.arrow import table

SLOW = {
    "numpy",
    "pyarrow",
    "matplotlib",
    "jinja2",
    "pandas",
    "polars",
    "scipy",
    "SALib",
    "distributed",
    "dask",
    "duckdb",
    "optuna",
    "sqlalchemy",
}

LOADED = """
import json, sys
from ssdlab.cli import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""

# The run ends before its simulation.
AT_THE_START = """
import json, sys
from ssdlab.model import simulation
def simulate(*arguments, **options):
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
    sys.exit(0)
simulation.simulate = simulate
from ssdlab.cli import main
main()
"""


def loaded(code: str, *arguments: str) -> set[str]:
    """Modules that `code` reports as loaded, in a process with the given arguments."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_help_loads_no_command(arguments: list[str]) -> None:
    modules = loaded(LOADED, *arguments)
    assert packages(modules) & {*SLOW, "rich"} == set()
    assert {name for name in modules if name.startswith("ssdlab.")} == {
        "ssdlab._ssdlab", "ssdlab.interrupt", "ssdlab.lazy", "ssdlab.leaving", "ssdlab.text",
        "ssdlab.cli", "ssdlab.cli.command", "ssdlab.cli.declare", "ssdlab.cli.output", "ssdlab.cli.values",
        "ssdlab.model", "ssdlab.model.files",
    }  # fmt: skip


def test_a_run_starts_without_optional_modules() -> None:
    modules = loaded(AT_THE_START, "run", "--workload", "zipf")
    assert packages(modules) & SLOW == set()
    rooms = {name.split(".")[1] for name in modules if name.startswith("ssdlab.")}
    assert rooms & {"api", "analyse", "study", "view"} == set()


def test_importing_the_package_loads_names_on_use() -> None:
    code = "import json, sys, ssdlab{}; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    assert "ssdlab.api" not in loaded(code.format(""))
    used = loaded(code.format("; ssdlab.simulate"))
    assert "ssdlab.api" in used and packages(used) & SLOW == set()


def test_figures_of_a_run_need_no_columns() -> None:
    assert packages(loaded(LOADED, "run", *SMALL_SETS)) & SLOW == set()
    assert packages(loaded(LOADED, "run", *SMALL_SETS, "--json")) & {*SLOW, "rich"} == set()


def test_cache_simulation_does_not_load_measurement_and_planning(tmp_path: Path) -> None:
    trace = tmp_path / "one.csv"
    trace.write_text("time_ns,op,offset,bytes\n0,read,0,4096\n", encoding="utf-8")
    modules = loaded(LOADED, "cache", "sim", str(trace), "--json")
    assert "ssdlab.analyse.cache.simulation" in modules
    unused = ("api", "cache", "view", "analyse.cache.benchmark", "analyse.cache.planning")
    assert {f"ssdlab.{name}" for name in unused} & modules == set()


def test_the_package_has_the_names_of_its_api() -> None:
    assert dir(ssdlab) == sorted(api.__all__)
    assert all(hasattr(ssdlab, name) for name in api.__all__)
    assert not hasattr(ssdlab, "simulat")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_has_help(name: str) -> None:
    later = app.commands[name]
    assert isinstance(later, Later)
    command = later.loaded
    assert command.name == name and (command.help or "").startswith(COMMANDS[name])
    assert isinstance(command, click.Group) == (
        name
        not in (
            "run",
            "view",
            "serve",
            "compare",
            "sweep",
            "tune",
            "diagnose",
            "explain",
            "calibrate",
            "validate",
            "list",
            "find",
            "cache-dir",
            "new",
            "build",
        )
    )


SAVED = """
import json, sys
import ssdlab
overrides = {"device.capacity": "16MiB", "nand.pages_per_block": 64, "workload.requests": 2000, "time": "event"}
result = ssdlab.simulate(ssdlab.Config("tlc-chip", overrides={**overrides, "gantt.window.length": "1ms"}))
result.page()
before = sorted(sys.modules)
result.save(sys.argv[1])
small = ssdlab.Config("tlc-chip", overrides=overrides)
requests = ssdlab.generate(small)
others = [
    ssdlab.compare({"a": small, "b": small.with_overrides({"device.op": "30%"})}),
    requests.analyze(),
    requests.intervals(),
    ssdlab.cache.simulate(requests, ["lru"], ["1%", "10%"]),
]
for found in others:
    found.report_html()
print(json.dumps([before, sorted(sys.modules)]), file=sys.stderr)
"""


def test_reports_load_neither_matplotlib_nor_pandas(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", SAVED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, after = (packages(set(modules)) for modules in json.loads(done.stderr))
    assert before & (SLOW - {"numpy"}) == set()
    # The pages draw figures themselves.
    assert after & SLOW == {"numpy", "pyarrow", "jinja2"}
    assert "gantt" in {path.stem.removeprefix("activity_") for path in tmp_path.glob("*.parquet")}


def test_arrow_columns_equal_those_of_pyarrow() -> None:
    columns: dict[str, Any] = {
        "counts": np.arange(9, dtype=np.uint64)[::2],
        "shares": np.array([0.5, np.inf, -1.0, 0.0, 2.0]),
        "small": np.array([[1, 2], [3, 4], [5, 6], [7, 8], [9, 0]], np.uint16)[:, 1],
        "flags": np.array([True, False, False, True, True]),
        "words": ["read", "", "é – µs", "erase", "x"],
    }
    made, plain = table(columns, {"a": "b"}), pa.table(columns, metadata={"a": "b"})
    made.validate(full=True)
    assert made.equals(plain, check_metadata=True)
    assert table({name: values[:0] for name, values in columns.items()}).equals(plain.slice(0, 0))
