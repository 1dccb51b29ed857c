"""Tables for other libraries."""

from typing import Any

from ssdlab.lazy import duckdb, pa, pd, pl


class Frames:
    """Converts a table to data frames and databases."""

    table: "pa.Table"

    def to_arrow(self) -> "pa.Table":
        """The table."""
        return self.table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Exports to any Arrow library: `polars.from_arrow(study)`."""
        return self.table.__arrow_c_stream__(requested_schema)

    def to_polars(self) -> Any:
        """Returns a Polars data frame."""
        return pl.from_arrow(self.table)

    def to_pandas(self) -> Any:
        """Returns a pandas data frame."""
        # Fails with a remedy if pandas is missing, which pyarrow needs.
        assert pd.DataFrame is not None
        return self.table.to_pandas()

    def to_duckdb(self) -> Any:
        """Returns a DuckDB connection with the table `runs`."""
        connection = duckdb.connect()
        connection.register("runs", self.table)
        return connection
