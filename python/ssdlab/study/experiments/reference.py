"""Reads published tables from CSV files: labels, and numbers as printed in the document."""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.files import read_utf8
from ssdlab.text import suggestion

Cells = tuple[tuple[float | None, ...], ...]


def read_reference(
    path: Path, place: str, rows: Sequence[str], columns: Sequence[str], where: Mapping[str, str]
) -> Cells:
    """Reads the cells of a reference table in the order of the experiment's labels; None for empty cells.

    The header contains the column labels. The first column that is not in `where` contains the row labels. A file
    without such a column has a single row of values, which is used for all `rows`. `where` has column values, which
    select lines of a file with several tables.
    """
    place = f"{place}: reference {text.path(path.name)}"
    try:
        lines = list(csv.reader(read_utf8(path, place).splitlines()))
    except OSError as error:
        raise ConfigError(f"{place}: {error.strerror}; use a CSV file in the folder of the TOML file") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{place}: is not UTF-8 text; use a CSV file") from None
    if not lines:
        raise ConfigError(f"{place}: is empty; write the column labels in the first line")
    header = lines[0]
    if twice := next((name for name in header if header.count(name) > 1), None):
        raise ConfigError(f"{place}: column {twice!r} appears twice; remove one of the two")
    for label in (*where, *columns):
        if label not in header:
            raise ConfigError(
                f"{place}: has no column {label!r}; its columns: {_listed(header)}{suggestion(label, header)}"
            )
    first = next((name for name in header if name not in where), None)
    names = None if first in columns else first
    by_label: dict[str, tuple[float | None, ...]] = {}
    for number, cells in enumerate(lines[1:], 2):
        if len(cells) != len(header):
            raise ConfigError(
                f"{place}:{number}: has {len(cells)} cells, but the header has {len(header)}; add or remove cells"
            )
        line = dict(zip(header, cells, strict=True))
        if any(line[column] != value for column, value in where.items()):
            continue
        label = "" if names is None else line[names]
        if label in by_label:
            row = "a row without label" if names is None else f"row {label!r}"
            raise ConfigError(f"{place}:{number}: {row} appears twice; select one with where = {{ COLUMN = VALUE }}")
        if names is None or label in rows:
            by_label[label] = tuple(_number(line[column], f"{place}:{number}") for column in columns)
    if names is None:
        if not by_label:
            raise ConfigError(f"{place}: has no rows; write at least one row below the column labels")
        return tuple(by_label[""] for _ in rows)
    for label in rows:
        if label not in by_label:
            known = list(dict.fromkeys(line[header.index(names)] for line in lines[1:]))
            column = f" in column {names}"
            raise ConfigError(
                f"{place}: has no row {label!r}{column}; its rows: {_listed(known)}{suggestion(label, known)}"
            )
    return tuple(by_label[label] for label in rows)


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(labels) or "none"


def _number(cell: str, place: str) -> float | None:
    if not cell.strip():
        return None
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"{place}: {cell!r} is not a number; leave the cell empty if it has no value")
    return value
