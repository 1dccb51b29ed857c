"""Traces for tests of fleets: the same requests to five volumes in every format that names volumes."""

import random
from pathlib import Path


def rows(seed: int, requests: int = 400, volumes: int = 5) -> list[tuple[int, int, int, int, bool]]:
    """Volume, time in microseconds, sector, sectors, and true for a write; times are distinct."""
    draw = random.Random(seed)
    times = sorted(draw.sample(range(40_000_000), requests))
    of = [min(int(draw.expovariate(0.7)), volumes - 1) for _ in times]
    return [
        (volume, time, draw.randrange(4000) * 8, draw.choice([1, 8, 16, 40]), draw.random() < 0.7)
        for volume, time in zip(of, times, strict=True)
    ]


def alibaba(folder: Path, seed: int) -> list[Path]:
    """A file with all volumes."""
    lines = [f"{v},{'RW'[w]},{s * 512},{n * 512},{1_577_808_000_000_000 + t}" for v, t, s, n, w in rows(seed)]
    return [written(folder / "io_traces.csv", lines)]


def tencent(folder: Path, seed: int) -> list[Path]:
    """One file per hour, with times in whole seconds."""
    all = rows(seed)
    lines = [f"{1_538_323_200 + t // 1_000_000},{s},{n},{int(w)},{v}" for v, t, s, n, w in all]
    return [written(folder / f"201810010{at}.csv", lines[at * 200 : at * 200 + 200]) for at in range(2)]


def msr(folder: Path, seed: int) -> list[Path]:
    """One file per volume."""
    paths = []
    for volume in range(5):
        lines = [
            f"{128_166_372_000_000_000 + 10 * t},hm,{v},{'Write' if w else 'Read'},{s * 512},{n * 512},1"
            for v, t, s, n, w in rows(seed)
            if v == volume
        ]
        paths.append(written(folder / f"hm_{volume}.csv", lines))
    return paths


def systor(folder: Path, seed: int) -> list[Path]:
    """Two files per volume."""
    paths = []
    for volume in range(5):
        own_rows = [row for row in rows(seed) if row[0] == volume]
        for hour, part in enumerate((own_rows[: len(own_rows) // 2], own_rows[len(own_rows) // 2 :])):
            lines = [f"{1_455_592_800 + t / 1e6:.9f},0.1,{'RW'[w]},{v},{s * 512},{n * 512}" for v, t, s, n, w in part]
            header = "Timestamp,Response,IOType,LUN,Offset,Size"
            paths.append(written(folder / f"201602160{hour}-LUN{volume}.csv", [header, *lines]))
    return sorted(paths)


def written(path: Path, lines: list[str]) -> Path:
    """Writes a file of lines."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return path


FORMATS = {"alibaba": alibaba, "tencent": tencent, "msr": msr, "systor17": systor}
