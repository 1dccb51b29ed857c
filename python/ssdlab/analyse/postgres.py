"""Computes the hit ratio of PostgreSQL's buffer pool from a CSV of its statistics, written by `psql --csv`."""

import csv
import io
from pathlib import Path

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.files import read_utf8

VIEWS = "pg_stat_io, pg_stat_database, pg_statio_user_tables or pg_statio_user_indexes"


def hit_ratio(path: Path) -> float:
    """Returns hits / (hits + reads) over all rows, for the present size of the pool, since the last reset."""
    where = f"--stats {text.path(path)}"
    rows = csv.DictReader(io.StringIO(read_utf8(path, where)))
    names = rows.fieldnames or ()
    hits = [name for name in names if name == "hits" or name.endswith("blks_hit")]
    reads = [name for name in names if name == "reads" or name.endswith("blks_read")]
    if not hits or not reads:
        raise ConfigError(f"{where}: has no columns with hits and reads; use a CSV export of {VIEWS}")

    def total(row: dict[str, str | None], columns: list[str], line: int) -> int:
        counted = 0
        for name in columns:
            if row[name] is None:
                raise ConfigError(f"{where}:{line}: {name}: no value; export the CSV with psql --csv")
            # Counters that do not apply to a row are empty.
            written = row[name] or "0"
            if not written.isascii() or not written.isdigit():
                raise ConfigError(f"{where}:{line}: {name}: {written!r} is not a count; export the CSV with psql --csv")
            counted += int(written)
        return counted

    hit = read = 0
    for row in rows:
        hit += total(row, hits, rows.line_num)
        read += total(row, reads, rows.line_num)
    if hit + read == 0:
        raise ConfigError(f"{where}: all counters are 0; run the workload, then export the CSV again")
    return hit / (hit + read)
