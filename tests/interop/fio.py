"""fio with verification over several connections."""

import json

from machine import MIB, Machine, needs, run

VERIFY = ["--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0"]


def _jobs(machine: Machine, *options: str) -> list[dict[str, int]]:
    """Requests by kind and job; fio fails if a request fails or data is wrong."""
    needs("fio")
    with machine.server(size=64 * MIB) as uri:
        # fio reports its connection on standard output, so its result goes to a file.
        result = machine.folder / "result.json"
        shared = ["--ioengine=nbd", f"--uri={uri}", "--iodepth=16", "--output-format=json", f"--output={result}"]
        run("fio", *shared, *options)
        jobs = json.loads(result.read_text())["jobs"]
        return [{kind: job[kind]["total_ios"] for kind in ("read", "write", "trim")} for job in jobs]


def verifies_writes(machine: Machine) -> None:
    places = ["--numjobs=4", "--size=16M", "--offset_increment=16M"]
    jobs = _jobs(
        machine, "--name=write", "--rw=randwrite", "--bsrange=512-64k", "--verify_backlog=128", *VERIFY, *places
    )
    assert len(jobs) == 4, jobs
    assert all(job["read"] > 0 and job["write"] > 0 for job in jobs), jobs


def verifies_trims(machine: Machine) -> None:
    """One job trims each block before writing it; other jobs write and trim at the same time."""
    trimwrite = ["--name=trimwrite", "--rw=randtrimwrite", "--bs=4k", "--size=16M", *VERIFY]
    write = ["--name=write", "--rw=randwrite", "--bs=4k", "--offset=16M", "--size=32M", *VERIFY]
    trim = ["--name=trim", "--rw=randtrim", "--bs=4k", "--offset=48M", "--size=16M"]
    jobs = _jobs(machine, *trimwrite, *write, *trim)
    pages = 16 * MIB // 4096
    assert jobs[0] == {"read": pages, "write": pages, "trim": pages}, jobs
    assert jobs[1] == {"read": 2 * pages, "write": 2 * pages, "trim": 0}, jobs
    assert jobs[2] == {"read": 0, "write": 0, "trim": pages}, jobs
