"""Checks the export information that nbdinfo reads."""

import json

from machine import MIB, Machine, needs, run


def describes_itself(machine: Machine) -> None:
    needs("nbdinfo")
    with machine.server(size=64 * MIB) as uri:
        described = json.loads(run("nbdinfo", "--json", uri))
        assert described["protocol"] == "newstyle-fixed", described
        assert described["structured"] is True, described
        [export] = described["exports"]
        assert export["export-size"] == 64 * MIB, export
        assert "base:allocation" in export["contexts"], export
        can = {name for name, value in export.items() if value is True}
        offered = {"can_cache", "can_df", "can_fast_zero", "can_flush", "can_fua", "can_multi_conn", "can_trim"}
        assert offered | {"can_zero"} <= can, f"not offered: {offered - can}"
        assert export["is_rotational"] is False
        assert export["is_read_only"] is False
        assert run("nbdinfo", "--size", uri).strip() == str(64 * MIB)
        [listed] = json.loads(run("nbdinfo", "--list", "--json", uri))["exports"]
        assert listed["export-size"] == 64 * MIB, listed


def maps_its_holes(machine: Machine) -> None:
    needs("nbdinfo", "qemu-io")
    with machine.server(size=8 * MIB) as uri:
        run("qemu-io", "-f", "raw", uri, "-c", "write -P 1 1M 1M")
        extents = json.loads(run("nbdinfo", "--map", "--json", uri))
        holes = [(extent["offset"], extent["length"]) for extent in extents if extent["type"] == 3]
        assert sum(extent["length"] for extent in extents) == 8 * MIB, extents
        assert not any(offset < 2 * MIB and offset + length > MIB for offset, length in holes), extents
        assert (0, MIB) in holes, extents
