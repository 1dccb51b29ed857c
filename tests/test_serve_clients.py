"""Addresses and commands that `ssdlab serve` prints for clients, and the clients that may connect."""

import shlex
import shutil
import socket
import ssl
import struct
import subprocess
import time
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from urllib.parse import quote

import pytest

import ssdlab
from conftest import Cli
from forked import PATIENCE_SECONDS
from nbd_client import connected
from serving import CERTIFICATES, MIB, served, sets, small


def test_the_address_of_an_encrypted_drive_says_so(tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    with ssdlab.DriveServer(small(), socket=path, listen="127.0.0.1:0", tls=CERTIFICATES) as server:
        assert server.uris[0] == f"nbds+unix://localhost/?socket={path}"
        assert server.uris[1].startswith("nbds://127.0.0.1:")


ODD = "a b'c%&#?+,ä"


def test_a_path_in_an_address_is_encoded(tmp_path: Path) -> None:
    with ssdlab.DriveServer(small(), socket=tmp_path / ODD) as server:
        assert server.uris == [f"nbd+unix:///?socket={quote(str(tmp_path / ODD))}"]


def run_or_skip(line: str) -> None:
    program = shlex.split(line)[0]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 0, (line, done.stderr)


@pytest.mark.parametrize("program", ["nbdinfo", "qemu-io", "fio"])
@pytest.mark.parametrize("security", ["plain", "encrypted", "verified"])
def test_the_printed_client_commands_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, security: str
) -> None:
    folder, certificates = tmp_path / ODD, tmp_path / "of, clients"
    folder.mkdir()
    certificates.symlink_to(CERTIFICATES)
    monkeypatch.chdir(folder)
    given = {"plain": [], "encrypted": ["--tls", str(certificates)]}
    given["verified"] = [*given["encrypted"], "--tls-verify"]
    with served(folder, *sets(), *given[security]) as (process, _):
        assert process.stdout is not None
        printed = "".join(takewhile(lambda line: not line.startswith("to stop"), process.stdout))
        commands = printed.replace("\\\n", "").splitlines()
        lines = {line.split()[0]: line.strip() for line in commands if line.startswith("  ")}
        if program == "fio" and security == "verified":
            assert program not in lines, "it shows no certificate"
        else:
            run_or_skip(lines[program].replace("--size=64M", "--size=1M"))


def exports(path: Path, certificate: str | None) -> int:
    """Type of the first reply to a list of exports, requested over TLS."""
    context = ssl.create_default_context(cafile=str(CERTIFICATES / "ca-cert.pem"))
    if certificate is not None:
        context.load_cert_chain(CERTIFICATES / f"{certificate}-cert.pem", CERTIFICATES / f"{certificate}-key.pem")
    with socket.socket(socket.AF_UNIX) as plain:
        plain.settimeout(PATIENCE_SECONDS)
        plain.connect(str(path))
        plain.recv(18, socket.MSG_WAITALL)
        plain.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", 5, 0))
        plain.recv(20, socket.MSG_WAITALL)
        with context.wrap_socket(plain, server_hostname="localhost") as client:
            client.sendall(b"IHAVEOPT" + struct.pack(">II", 3, 0))
            return int(struct.unpack(">QIII", client.recv(20))[2])


def test_clients_without_a_certificate_are_refused_on_demand(tmp_path: Path, cli: Cli) -> None:
    for verify in (False, True):
        path = tmp_path / f"{verify}.sock"
        with ssdlab.DriveServer(small(), socket=path, tls=CERTIFICATES, verify_clients=verify):
            assert exports(path, "client") == 2, "an export follows"
            if verify:
                with pytest.raises((ssl.SSLError, ConnectionError)):
                    exports(path, None)
            else:
                assert exports(path, None) == 2
    done = cli("serve", "--tls-verify", "--socket", "s.sock", *sets(), check=False)
    remedy = "--tls-verify: client certificates need TLS; add --tls DIR"
    assert (done.returncode, done.stderr) == (2, f"ssdlab: {remedy}\n")
    with pytest.raises(ssdlab.ConfigError, match="pass the folder of certificates as tls"):
        ssdlab.DriveServer(small(), socket=tmp_path / "s.sock", verify_clients=True)


def resident(process: subprocess.Popen[str]) -> int:
    """Memory of a process in bytes."""
    lines = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


@pytest.mark.parametrize("timed", [[], ["--time", "real", "--set", "time=event"]])
def test_clients_that_take_no_replies_hold_little_more_memory_than_their_replies(
    tmp_path: Path, timed: list[str]
) -> None:
    clients, longest = 4, 32 * MIB
    # With times, three replies of a client may exist before the client has read the first, which is in transit.
    replies = 4 if timed else 1
    with served(tmp_path, *sets(), "--set", "device.capacity=32MiB", *timed) as (process, path), ExitStack() as held:
        before = resident(process)
        for _ in range(clients):
            held.enter_context(connected(path)).ask_and_leave(0, longest, times=8)
        grown, seen = 0, -1
        until = time.monotonic() + PATIENCE_SECONDS
        while grown < clients * longest or grown != seen:
            assert time.monotonic() < until, f"{grown} bytes"
            time.sleep(0.5)
            grown, seen = resident(process) - before, grown
        assert grown < clients * (replies * longest + 8 * MIB)
