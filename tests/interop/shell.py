"""Runs a script in nbdsh, libnbd's Python shell; its types are unknown to mypy."""

from pathlib import Path

from machine import MIB, Machine, needs, run


def flags_and_errors(machine: Machine) -> None:
    needs("nbdsh", "/usr/bin/python3")
    script = Path(__file__).with_name("flags_and_errors.nbdsh")
    with machine.server(size=8 * MIB) as uri:
        # Another Python on the path would not find the system's libnbd.
        said = run("/usr/bin/python3", "-m", "nbd", "--base-allocation", "--uri", uri, "-c", script.read_text())
        assert "all as expected" in said, said
