"""nbdcopy in both directions."""

from machine import MIB, Machine, needs, run


def both_ways(machine: Machine) -> None:
    needs("nbdcopy")
    there, back = machine.random_file("there", 64 * MIB), machine.folder / "back"
    with machine.server(size=64 * MIB) as uri:
        run("nbdcopy", "--flush", there, uri)
        run("nbdcopy", uri, back)
    assert there.read_bytes() == back.read_bytes()


def over_several_connections(machine: Machine) -> None:
    """Copies data with holes, so that zeroes are written and read with their own commands."""
    needs("nbdcopy")
    there, back = machine.random_file("there", 48 * MIB), machine.folder / "back"
    with there.open("r+b") as file:
        for at in range(0, 48 * MIB, 3 * MIB):
            file.seek(at)
            file.write(bytes(MIB))
    with machine.server(size=48 * MIB) as uri:
        sizes = ["--connections=4", "--requests=64"]
        run("nbdcopy", *sizes, "--flush", there, uri)
        run("nbdcopy", *sizes, uri, back)
    assert there.read_bytes() == back.read_bytes()
