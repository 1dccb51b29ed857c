"""Files that appear whole or not at all."""

import csv
import errno
import math
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssdlab.experiments.result import ExperimentResult
    from ssdlab.result import Result

_OPTIONAL = (
    *(f"log_{name}" for name in ("reclaims", "associativity", "utilisation")),
    *(f"activity_{name}" for name in ("dies", "channels", "internal", "queue", "waiting", "gantt")),
    "dispatched",
)
"""Parquet files that not every result has."""

_COLUMNS = ("document", "ours", "difference", "spread")
"""Of the CSV file of an experiment's table, beside the labels."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a path beside `path`, with the same name in a hidden directory; moves it to `path` on success.

    Keeping the name keeps what writers derive from it. On an error nothing is left behind. A link keeps
    pointing where it points: the file there is replaced, but never a device or a directory.

    Raises:
        OSError: If that is what `path` names, or its directory cannot be written.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EEXIST, "exists and is no ordinary file", str(path))
    hidden = Path(tempfile.mkdtemp(prefix=".ssdlab-", dir=path.parent))
    try:
        yield hidden / path.name
        (hidden / path.name).replace(path)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


@contextmanager
def filling(directory: Path) -> Iterator[Path]:
    """Yields a hidden directory inside `directory`, which is made if need be; moves its files there on success.

    Raises:
        OSError: If `directory` cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    hidden = Path(tempfile.mkdtemp(prefix=".ssdlab-", dir=directory))
    try:
        yield hidden
        files = sorted(hidden.iterdir())
        # All or none: what cannot be replaced is found before anything is.
        for file in files:
            if (directory / file.name).is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a directory", str(directory / file.name))
        for file in files:
            file.replace(directory / file.name)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def save(result: "Result", directory: Path) -> None:
    """Writes every file of a result into `directory`; see `Result.save`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = {f"log_{name}": table for name, table in result.log_arrow().items()}
    parts |= {f"activity_{name}": table for name, table in result.activity_arrow().items()}
    if result.dispatched is not None:
        parts["dispatched"] = result.dispatched.to_arrow()
    with filling(directory) as hidden:
        (hidden / "result.json").write_text(result.to_json(), encoding="utf-8")
        (hidden / "config.toml").write_text(result.config.to_toml(), encoding="utf-8")
        (hidden / "report.html").write_text(result.report_html(), encoding="utf-8")
        pq.write_table(result.to_arrow(), hidden / "series.parquet")
        pq.write_table(result.latency_arrow(), hidden / "latency.parquet")
        pq.write_table(pa.table({"erases": result.erase_counts}), hidden / "erase_counts.parquet")
        for name, table in parts.items():
            pq.write_table(table, hidden / f"{name}.parquet")
    for name in _OPTIONAL:
        # What an earlier result left would pass for part of this one.
        if name not in parts:
            (directory / f"{name}.parquet").unlink(missing_ok=True)


def save_experiment(result: "ExperimentResult", directory: Path) -> None:
    """Writes every file of an experiment into `directory`; see `ExperimentResult.save`."""
    with filling(directory) as hidden:
        # Tables of an earlier run would pass for part of this one.
        for earlier in directory.glob("*.csv"):
            if (directory / "experiment.json").exists():
                earlier.unlink()
        (hidden / "experiment.json").write_text(result.to_json(), encoding="utf-8")
        (hidden / "report.html").write_text(result.report_html(), encoding="utf-8")
        for table in result.tables:
            with (hidden / f"{table.table.name}.csv").open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(["row", "column", *_COLUMNS])
                columns = [getattr(table, name) for name in _COLUMNS]
                for row, column in product(range(len(table.rows)), range(len(table.columns))):
                    values = [float(array[row, column]) for array in columns]
                    cells = ["" if math.isnan(value) else value for value in values]
                    writer.writerow([table.rows[row], table.columns[column], *cells])
