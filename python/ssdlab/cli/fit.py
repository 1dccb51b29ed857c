"""The command `ssdlab fit`."""

from pathlib import Path

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.cli import options
from ssdlab.cli.command import App
from ssdlab.cli.declare import argument, group, option
from ssdlab.cli.options import Output, Settings
from ssdlab.cli.output import print_json
from ssdlab.cli.progress import watching
from ssdlab.model.files import naming
from ssdlab.study.fitting import sheet
from ssdlab.study.fitting.fit import fit_drive
from ssdlab.study.fitting.job import job as job_of
from ssdlab.study.fitting.read import read
from ssdlab.study.fitting.result import DriveFit

app = App()

EXAMPLES = """
ssdlab fit drive --job --device /dev/nvme0n1 > drive.fio
ssdlab fit drive result.json --base small-nvme -o my.toml
ssdlab fit drive --sheet read_latency=80us --json
"""

MEASURING = "Measuring"
TOML = ".toml"


def _target(written: str) -> Path:
    """Returns the path in --out: a directory, or a file ending in .toml. Rejects a path that cannot be written."""
    if not written.endswith(TOML):
        return options.writable(written)
    path = Path(written)
    if path.is_dir():
        raise ConfigError(f"--out {text.path(path)}: is a directory; choose a file name that does not exist")
    folder = path.parent
    if not folder.is_dir():
        raise ConfigError(f"--out {text.path(path)}: directory {text.path(folder)} does not exist; create it first")
    return path


@app.command(examples=EXAMPLES)
def drive(
    data: list[Path] = argument(
        "RESULT.json|LOADS.csv", "fio results (JSON), or CSV tables of loads with latency percentiles.", default=None
    ),
    sheet_values: list[str] = option(
        "--sheet KEY=VALUE",
        f"A value from the data sheet: {sheet.CAPACITY}, {', '.join(sheet.ENTRIES)}. May be repeated.",
        choices=lambda: [f"{key}=" for key in (sheet.CAPACITY, *sheet.ENTRIES)],
    ),
    settings: Settings = group(
        preset=option(
            "--base --preset -p NAME",
            "Preset of a similar drive; see 'ssdlab presets list'.",
            options.CONFIGURATION,
            choices=options.presets,
        )
    ),
    job: bool = option("--job", "Print the fio job that measures a drive instead; reads only.", MEASURING),
    device: str | None = option(
        "--device NAME",
        "With --job, the unused block device to measure; otherwise, the device to select in a table of several "
        "devices.",
        MEASURING,
    ),
    write: bool = option("--write", "With --job, also measure writes: DESTROYS ALL DATA ON THE DEVICE.", MEASURING),
    jobs: int | None = options.JOBS,
    output: Output = group(
        out=option(
            "--out -o FILE.toml|DIR",
            f"File for the fitted preset, or directory for {DriveFit.saved}.",
            options.OUTPUT,
            parser=_target,
        )
    ),
) -> int:
    """Fits the parameters of a drive to measurements, and writes them as a preset with the uncertainty of each.

    Input can be any combination of fio results, tables of loads with percentiles, and data-sheet numbers. All other
    settings come from --base: dies, planes, program units and mechanisms. Parameters that the input cannot separate are
    listed with a measurement that would separate them.
    """  # fmt: skip
    loads, numbers = sheet.read(sheet_values)
    if job:
        if data or settings.are_given or output.out:
            raise ConfigError("--job only prints a job for fio; omit files, --base, --config, --set and --out")
        return _print_job(device, write, numbers.get("random_write"), output.json)
    if write:
        raise ConfigError("--write needs --job")
    loads = [*(one for path in data for one in read(path, device)), *loads]
    if not loads:
        raise ConfigError("nothing to fit; add a fio result, a table or --sheet numbers; see 'ssdlab fit drive -h'")
    base = settings.resolved(origin="--base")
    capacity = numbers.get(sheet.CAPACITY)
    with watching("fit") as watch:
        found = fit_drive(
            loads,
            base,
            capacity=None if capacity is None else int(capacity),
            source=[*(path.name for path in data), *(["a data sheet"] if sheet_values else [])],
            jobs=jobs,
            monitor=watch,
        )
    target = output.out
    if target is not None and target.suffix == TOML:
        output.out = None
        with naming(target):
            target.write_text(found.to_toml(), encoding="utf-8")
    status = output.deliver(found)
    if target is not None and output.out is None and not output.json:
        print(f"\nwritten to {text.path(target)}; use it with --config {text.path(target)}")
    return status


def _print_job(device: str | None, write: bool, random_write: float | None, json: bool) -> int:
    written = job_of(None if device is None else Path(device), write=write, random_write=random_write)
    if json:
        print_json("fio-job", {"job": written})
    else:
        print(written, end="")
    return 0
