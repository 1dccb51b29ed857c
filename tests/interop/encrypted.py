"""TLS by certificates, with GnuTLS on the other side."""

import json

from machine import MIB, Machine, MissingError, needs, run


def by_certificates(machine: Machine) -> None:
    needs("nbdinfo", "nbdcopy")
    if machine.certificates is None:
        raise MissingError("needs the option --certificates FOLDER")
    folder = machine.certificates.resolve()
    there, back = machine.random_file("there", 16 * MIB), machine.folder / "back"
    with machine.server(size=16 * MIB, options=f"--tls {folder}") as uri:
        secure = uri.replace("nbd+unix:///", "nbds+unix://localhost/") + f"&tls-certificates={folder}"
        assert json.loads(run("nbdinfo", "--json", secure))["TLS"] is True
        run("nbdcopy", "--flush", there, secure)
        run("nbdcopy", secure, back)
        assert there.read_bytes() == back.read_bytes()
        try:
            run("nbdinfo", uri)
        except RuntimeError as error:
            assert "TLS" in str(error), error
        else:
            raise AssertionError("a server with --tls served an unencrypted client")
