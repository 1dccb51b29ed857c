"""Hit ratio of PostgreSQL's buffer pool, from its statistics as CSV, which `psql --csv` writes."""

import csv
import io
from pathlib import Path

from ssdlab import text
from ssdlab._ssdlab import ConfigError
from ssdlab.model.files import read_utf8

VIEWS = "pg_stat_io, pg_stat_database, pg_statio_user_tables or pg_statio_user_indexes"


def hit_ratio(path: Path) -> float:
    """Returns hits / (hits + reads) over all rows. The counters are sums since their reset, at the present size of the
    pool.

    Raises:
        ConfigError: If the file is not a CSV of one of these views, or counts no access.
    """
    where = f"--stats {text.path(path)}"
    rows = csv.DictReader(io.StringIO(read_utf8(path, where)))
    names = rows.fieldnames or ()
    hits = [name for name in names if name == "hits" or name.endswith("blks_hit")]
    reads = [name for name in names if name == "reads" or name.endswith("blks_read")]
    if not hits or not reads:
        raise ConfigError(f"{where}: no columns with hits and reads; give the CSV of {VIEWS}")

    def total(row: dict[str, str | None], columns: list[str], line: int) -> int:
        counted = 0
        for name in columns:
            if row[name] is None:
                raise ConfigError(f"{where}:{line}: {name}: no value; write the CSV with psql --csv")
            # A view leaves counters empty that do not apply to a row.
            written = row[name] or "0"
            if not written.isascii() or not written.isdigit():
                raise ConfigError(f"{where}:{line}: {name}: {written!r} is not a count; write the CSV with psql --csv")
            counted += int(written)
        return counted

    hit = read = 0
    for row in rows:
        hit += total(row, hits, rows.line_num)
        read += total(row, reads, rows.line_num)
    if hit + read == 0:
        raise ConfigError(f"{where}: counts no access; capture it after the load has run")
    return hit / (hit + read)
