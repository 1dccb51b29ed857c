"""A database on a file system on a simulated drive whose power fails."""

import os
import pwd
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import files
from machine import MIB, Machine, MissingError, background, needs, run, wait_until

ACCOUNTS = 100_000
"""Accounts of pgbench at scale 1."""
USER = "postgres"


def _programs() -> Path:
    """Directory in which Debian installs the database programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not found:
        raise MissingError("postgres is missing; apt-get install postgresql")
    return found[-1].parent


def _as_user(*command: str | Path, seconds: float = 120) -> str:
    return run("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *command, seconds=seconds)


@contextmanager
def _running(programs: Path, data: Path, sockets: Path) -> Iterator[list[str]]:
    """The database, and the arguments that connect a client."""
    options = f"-c listen_addresses= -c unix_socket_directories={sockets} -c shared_buffers=16MB -c fsync=on"
    log = sockets / "log"
    try:
        _as_user(programs / "pg_ctl", "-D", data, "-o", options, "-l", log, "-w", "-t", "60", "start")
    except RuntimeError as error:
        raise RuntimeError(f"{error}\n{log.read_text() if log.exists() else 'no log was written'}") from None
    try:
        yield ["-h", str(sockets)]
    finally:
        # After a power loss the database cannot end cleanly.
        with suppress(RuntimeError, subprocess.TimeoutExpired):
            _as_user(programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "-t", "20", "stop", seconds=30)


@contextmanager
def _powered(machine: Machine, drive: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A server of the drive in the file, and a kernel device over it."""
    socket = machine.folder / "socket"
    words = shlex.split(machine.command.format(socket=socket, size=512 * MIB))
    with background(*words, "--file", drive) as process:
        wait_until(lambda: files.answers(socket) or process.poll() is not None, "the start of the server")
        with files.disk(machine, f"nbd+unix:///?socket={socket}") as device:
            yield process, device


def survives_a_loss_of_power(machine: Machine) -> None:
    """Runs pgbench, kills the server and mounts again: file system and balances are correct."""
    files.needs_mounts()
    needs("mkfs.ext4", "e2fsck", "setpriv")
    if not machine.makes_drives:
        raise MissingError("the command of the server has no option --file")
    programs = _programs()
    try:
        user = pwd.getpwnam(USER)
    except KeyError:
        raise MissingError(f"there is no user {USER}") from None
    machine.folder.chmod(0o755)
    folder, drive, sockets = machine.folder / "mounted", machine.folder / "disk.drive", machine.folder / "sockets"
    sockets.mkdir()
    os.chown(sockets, user.pw_uid, user.pw_gid)
    data = folder / "data"
    with _powered(machine, drive) as (process, device):
        run("mkfs.ext4", "-q", device)
        with suppress(RuntimeError), files.mounted(device, folder):
            data.mkdir(mode=0o700)
            shutil.chown(data, USER, USER)
            _as_user(programs / "initdb", "-D", data, "-A", "trust", "--no-sync")
            run("sync")
            with _running(programs, data, sockets) as where:
                _as_user("pgbench", *where, "-i", "-q", USER)
                pgbench = ["pgbench", *where, "-n", "-c", "4", "-T", "30", USER]
                with background("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *pgbench):
                    time.sleep(5)
                    process.kill()
    with _powered(machine, drive) as (_, device):
        # The file system's journal is replayed first; after that, no repair must be necessary.
        with files.mounted(device, folder):
            pass
        run("e2fsck", "-fn", device)
        with files.mounted(device, folder):
            # The process in the lock file is dead; if it was not reaped, its process number still exists.
            (data / "postmaster.pid").unlink(missing_ok=True)
        with files.mounted(device, folder), _running(programs, data, sockets) as where:
            tables = ("accounts", "tellers", "branches")
            sums = [
                _as_user("psql", *where, "-At", "-c", f"select sum({table[0]}balance) from pgbench_{table}", USER)
                for table in tables
            ]
            history = _as_user("psql", *where, "-At", "-c", "select count(*), sum(delta) from pgbench_history", USER)
            transactions, delta = history.strip().split("|")
            assert {int(total) for total in sums} == {int(delta)}, f"balances {sums} against {history}"
            assert int(transactions) > 0
            count = _as_user("psql", *where, "-At", "-c", "select count(*) from pgbench_accounts", USER)
            assert int(count) == ACCOUNTS
