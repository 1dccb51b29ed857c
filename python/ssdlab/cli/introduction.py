"""Prints the messages of `ssdlab serve` at its start: address, warnings, and commands for clients."""

import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING
from urllib.parse import quote as percent_encoded

from ssdlab import text
from ssdlab.lazy import room
from ssdlab.model.service import NAME, DriveServer

if TYPE_CHECKING:
    from ssdlab.view.scrape import Endpoint

STOP = (
    "losetup --detach /dev/loopN    # the device that losetup printed",
    f"fusermount -u /tmp/{NAME}",
    "Ctrl-C                         # flushes the drive and shuts it down",
)
"""Commands that disconnect the clients and then stop the drive."""


def introduce(
    server: DriveServer, listen: str | None, scraped: "Endpoint | None", file: Path | None, start: str | None
) -> None:
    """Prints the drive's addresses and warnings. `start` is the option, if any, for the contents of a new drive."""
    uri = server.uris[0]
    page, report = room("view.pages.service"), server.service().report
    print(f"serving {text.size(report['capacity_bytes'])} at {uri}")
    if file is not None:
        mount = report["mount"]
        print(f"{text.path(file)}: {'created' if mount is None else page.mounted(mount)}")
        _compare_with_disk(file, server.is_volatile)
    if report["precondition"] is not None:
        print(text.folded(page.started(report["precondition"])))
    elif start is not None:
        print(f"{start} applies only to new drives; this drive keeps its state")
    if listen is not None:
        print(f"also at {server.uris[-1]}: anyone who can connect can read and write the drive")
    if scraped is not None:
        print(f"metrics at {scraped.address}")
    for unused in room("model.unused").unused_when_served(server.config, preconditioned=server.preconditioned):
        print(text.folded(f"note: {unused}"))


def show_clients(uri: str, socket: Path, tls: Path | None, verifies: bool) -> None:
    """Prints commands that connect clients. The commands also work if the folder `tls` contains client certificates."""
    fio = f"fio --name=try --ioengine=nbd --uri={quote(uri)} \\\n    --rw=randwrite --bs=4k --iodepth=32 --size=64M"
    qemu = f"qemu-io -f raw -c 'write -P 7 0 1M' {quote(uri)}"
    if tls is not None:
        # QEMU 7.2 does not accept a URI for a TLS connection, and fio has no option for certificates.
        credentials = f"tls-creds-x509,id=tls0,dir={_in_list(tls)},endpoint=client,verify-peer=on"
        place = f"driver=nbd,server.type=unix,server.path={_in_list(socket)},tls-creds=tls0,tls-hostname=localhost"
        qemu = f"qemu-io --object {quote(credentials)} -c 'write -P 7 0 1M' --image-opts {quote(place)}"
        uri += f"&tls-certificates={percent_encoded(os.fsencode(tls))}"
    lines = [f"nbdinfo {quote(uri)}", f"nbdcopy image.raw {quote(uri)}", qemu, *([] if verifies else [fio])]
    lines.append(f"mkdir -p /tmp/{NAME} && nbdfuse /tmp/{NAME} {quote(uri)} &")
    lines.append(f"losetup --find --show --direct-io=on /tmp/{NAME}/nbd")
    print("\nto connect, for example:", *lines, sep="\n  ")
    if tls is not None:
        needs = "ca-cert.pem, client-cert.pem and client-key.pem" if verifies else "ca-cert.pem"
        print(f"the folder {text.path(tls)} must contain {needs}")
    print("\nto stop, unmount file systems on the drive, then:", *STOP, sep="\n  ")
    print(flush=True)


def _in_list(path: Path) -> str:
    """Escapes a path for use in QEMU's comma-separated lists."""
    return str(path).replace(",", ",,")


def _compare_with_disk(file: Path, is_volatile: bool) -> None:
    """Warns if the disk is too small for the file, which is sparse and grows with writes."""
    try:
        kept, disk = file.stat(), os.statvfs(file)
    except FileNotFoundError:
        # The drive's file was deleted after the start; the server reports this when it ends.
        return
    growth, free = kept.st_size - kept.st_blocks * 512, disk.f_bavail * disk.f_frsize
    if growth > free:
        lost = (
            "the drive fails and unflushed writes may be lost; free space, lower device.capacity, or set "
            "drive.buffer=none"
            if is_volatile
            else "requests fail until space is freed, but no acknowledged data is lost; free space, or lower "
            "device.capacity"
        )
        print(
            f"{text.path(file)} may grow by {text.size(growth)}, but its disk has only {text.size(free)} free: "
            f"when the disk is full, {lost}"
        )
