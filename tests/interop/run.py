"""Runs an NBD server with common clients, and checks every byte.

    python tests/interop/run.py --server 'COMMAND --socket {socket} --size {size}'

The command starts a server of `{size}` bytes at `{socket}` that ends when its standard input closes or on SIGTERM.
Missing programs are installed from Debian where allowed; skipped checks are listed. The exit status is an error if a
check failed or none ran.
"""

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

import copying
import database
import encrypted
import files
import filters
import fio
import info
import qemu
import shell
from machine import Machine, MissingError, install

CHECKS = [
    info.describes_itself,
    info.maps_its_holes,
    copying.both_ways,
    copying.over_several_connections,
    qemu.patterns,
    qemu.images,
    shell.flags_and_errors,
    fio.verifies_writes,
    fio.verifies_trims,
    filters.in_front,
    encrypted.by_certificates,
    files.ext4,
    files.xfs,
    database.survives_a_loss_of_power,
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, metavar="COMMAND", help="server command with {socket} and {size}")
    parser.add_argument("--certificates", metavar="FOLDER", type=Path, help="certificates for the server's --tls")
    parser.add_argument("--drives", action="store_true", help="the server keeps a drive in --file FILE")
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="only this check, such as qemu.patterns; repeatable",
    )
    options = parser.parse_args()
    install()
    done: dict[str, list[str]] = {"ok": [], "FAILED": [], "skipped": []}
    for check in CHECKS:
        name = f"{check.__module__}.{check.__name__}"
        if options.only and name not in options.only:
            continue
        began = time.monotonic()
        why = ""
        with tempfile.TemporaryDirectory(prefix="ssdlab-interop-") as folder:
            try:
                check(Machine(options.server, Path(folder), options.certificates, options.drives))
                outcome = "ok"
            except MissingError as missing:
                outcome, why = "skipped", f": {missing}"
            except Exception:
                outcome, why = "FAILED", "\n" + traceback.format_exc()
        done[outcome].append(name)
        print(f"{outcome:8} {name} ({time.monotonic() - began:.1f} s){why}", flush=True)
    print(", ".join(f"{len(names)} {outcome}" for outcome, names in done.items()))
    if not done["ok"]:
        print("no check ran", file=sys.stderr)
    return 0 if done["ok"] and not done["FAILED"] else 1


if __name__ == "__main__":
    sys.exit(main())
