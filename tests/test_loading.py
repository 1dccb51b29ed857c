"""What is loaded when: help and the start of a run wait for nothing that they do not use."""

import json
import subprocess
import sys

import pytest
from typer.core import TyperGroup

import ssdlab
from ssdlab import api
from ssdlab.cli import COMMANDS
from ssdlab.cli.command import load

SLOW = {"numpy", "pyarrow", "matplotlib", "jinja2", "pandas", "polars"}

LOADED = """
import json, sys
from ssdlab.cli import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""

# The run ends where it would begin.
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
    """The modules that `code` says are loaded, as a process with these arguments."""
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
        "ssdlab._ssdlab", "ssdlab.lazy", "ssdlab.text", "ssdlab.cli", "ssdlab.cli.command", "ssdlab.cli.output",
    }  # fmt: skip


def test_a_run_starts_without_what_it_may_never_use() -> None:
    modules = loaded(AT_THE_START, "run", "--workload", "zipf")
    assert packages(modules) & SLOW == set()
    rooms = {name.split(".")[1] for name in modules if name.startswith("ssdlab.")}
    assert rooms & {"api", "analyse", "study", "view"} == set()


def test_importing_the_package_loads_names_when_they_are_used() -> None:
    code = "import json, sys, ssdlab{}; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    assert "ssdlab.api" not in loaded(code.format(""))
    used = loaded(code.format("; ssdlab.simulate"))
    assert "ssdlab.api" in used and packages(used) & SLOW == set()


def test_the_package_has_the_names_of_its_api() -> None:
    assert dir(ssdlab) == sorted(api.__all__)
    assert all(hasattr(ssdlab, name) for name in api.__all__)
    assert not hasattr(ssdlab, "simulat")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_has_help(name: str) -> None:
    command = load(name, COMMANDS[name])
    assert command.name == name and command.help.startswith(COMMANDS[name])
    assert isinstance(command, TyperGroup) == (name not in ("run", "compare", "calibrate", "validate"))
