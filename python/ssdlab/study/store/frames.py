"""A table for other libraries."""

from typing import Any

from ssdlab.lazy import duckdb, pa, pd, pl


class Frames:
    """What has a table, as data frames and in a database."""

    table: "pa.Table"

    def to_arrow(self) -> "pa.Table":
        """`table`."""
        return self.table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table for any Arrow library: `polars.from_arrow(study)`."""
        return self.table.__arrow_c_stream__(requested_schema)

    def to_polars(self) -> Any:
        """The table as a Polars data frame."""
        return pl.from_arrow(self.table)

    def to_pandas(self) -> Any:
        """The table as a pandas data frame."""
        # It is what pyarrow converts to.
        assert pd.DataFrame is not None
        return self.table.to_pandas()

    def to_duckdb(self) -> Any:
        """A connection of DuckDB in which the table is called `runs`."""
        connection = duckdb.connect()
        connection.register("runs", self.table)
        return connection
