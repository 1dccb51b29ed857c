"""QEMU's block layer as a client."""

from machine import MIB, Machine, needs, run


def patterns(machine: Machine) -> None:
    needs("qemu-io")
    commands = [
        "write -P 0xab 0 4M",
        "read -P 0xab 0 4M",
        "write -P 0xcd 1000k 3000",
        "read -P 0xcd 1000k 3000",
        "read -P 0xab 1026k 500k",
        "discard 2M 1M",
        "write -z 512k 256k",
        "read -P 0 512k 256k",
        "read -P 0xab 256k 256k",
        "write -z -u 0 512k",
        "read -P 0 0 512k",
        "write -f -P 0x11 3M 64k",
        "flush",
        "read -P 0x11 3M 64k",
        "aio_write -P 0x22 4M 1M",
        "aio_write -P 0x33 5M 1M",
        "aio_flush",
        "read -P 0x22 4M 1M",
        "read -P 0x33 5M 1M",
    ]
    with machine.server(size=16 * MIB) as uri:
        said = run("qemu-io", "-f", "raw", uri, *(word for command in commands for word in ("-c", command)))
        assert "Pattern verification failed" not in said, said
        assert said.count("read ") >= 9, said


def images(machine: Machine) -> None:
    needs("qemu-img")
    image, back = machine.random_file("image", 32 * MIB), machine.folder / "back"
    with machine.server(size=32 * MIB) as uri:
        run("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", image, uri)
        assert "Images are identical" in run("qemu-img", "compare", "-f", "raw", "-F", "raw", image, uri)
        run("qemu-img", "convert", "-f", "raw", "-O", "raw", uri, back)
        assert image.read_bytes() == back.read_bytes()
        run("qemu-img", "bench", "-f", "raw", "-c", "20000", "-d", "32", "-s", "4096", "-w", uri)
