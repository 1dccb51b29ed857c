"""nbdkit as a client, with its filters in front of the server."""

from machine import MIB, Machine, background, needs, run, wait_until


def in_front(machine: Machine) -> None:
    needs("nbdkit", "nbdcopy")
    there, back = machine.random_file("there", 16 * MIB), machine.folder / "back"
    log = machine.folder / "log"
    with machine.server(size=16 * MIB) as uri:
        socket = machine.folder / "front"
        # Outermost first: client requests are logged, delayed, cut into small aligned pieces, and forwarded.
        filters = ["--filter=log", "--filter=delay", "--filter=blocksize"]
        settings = [f"logfile={log}", "rdelay=1ms", "wdelay=1ms", "minblock=4096", "maxdata=65536"]
        with background("nbdkit", "-f", "-U", socket, *filters, "nbd", f"uri={uri}", "shared=true", *settings):
            wait_until(socket.exists, "the start of nbdkit")
            front = f"nbd+unix:///?socket={socket}"
            run("nbdcopy", "--flush", there, front)
            run("nbdcopy", front, back)
        assert there.read_bytes() == back.read_bytes()
        assert "Write" in log.read_text(), "the log has the requests"
