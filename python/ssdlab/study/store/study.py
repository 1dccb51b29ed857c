"""The public interface of a study."""

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any

from ssdlab.lazy import duckdb, pa, pd, pl
from ssdlab.model.arguments import takes
from ssdlab.model.finding import Contents, Plot
from ssdlab.model.several import several
from ssdlab.study.store.folder import read_plan, records_of
from ssdlab.study.store.questions import Questions
from ssdlab.study.store.shared import reading
from ssdlab.study.store.table import KEY, SEED


class Study(Questions):
    """The points of a sweep with all results so far.

    Files: `report.html`, `study.json`, `study.csv` and `study.parquet`, with a row per run.
    """

    _page = "study"
    _json = "study.json"
    saved = "report.html, study.json, study.csv and study.parquet"

    @classmethod
    def read(cls, where: Path | str) -> "Study":
        """Reads a study from a folder or an address such as `s3://bucket/op`."""
        with reading(where) as folder:
            return cls(read_plan(folder, where), records_of(folder))

    @takes(outcomes=["write_amplification"])
    def asked_for(self, outcomes: Sequence[str]) -> "Study":
        """Returns a copy of the study in which the given outcomes are shown first.

        Raises:
            ConfigError: If one of the outcomes is missing from all runs.
        """
        self.outcomes(outcomes)
        return Study({**self.plan, "outcomes": self._as_swept(several(outcomes))}, self._all)

    def with_figure(self, name: str, values: Sequence[float | None]) -> "Study":
        """Returns the study with an added metric; `values` has one value per row of the table."""
        extended = copy(self)
        extended.table = self.table.append_column(name, pa.array(values, pa.float64()))
        return extended

    def to_dict(self) -> dict[str, Any]:
        """Returns the plan and all rows, ready for JSON; axis values are as the user wrote them. `seeds` is None for a
        screening, whose parts have different numbers of seeds.
        """
        outcomes = [one.figure for one in self.outcomes()]
        rows = self.table.select(["run", "error", *outcomes]).to_pylist()
        return {
            "design": self.plan["design"],
            "seeds": self.plan["seeds"],
            "asked": self.asked,
            "finished": self.finished,
            "rows": [
                {
                    **self.points[row["run"]].values,
                    SEED: self.points[row["run"]].seed,
                    KEY: self.points[row["run"]].key,
                    **row,
                }
                for row in rows
            ],
        }

    def _tables(self) -> Contents:
        return {"study.csv": self.table, "study.parquet": self.table}

    def to_arrow(self) -> "pa.Table":
        """Returns the study's table of runs."""
        return self.table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Exports the study to any Arrow library: `polars.from_arrow(study)`."""
        return self.table.__arrow_c_stream__(requested_schema)

    def to_polars(self) -> Any:
        """Returns the study's table as a Polars data frame."""
        return pl.from_arrow(self.table)

    def to_pandas(self) -> Any:
        """Returns the study's table as a pandas data frame."""
        # pyarrow needs pandas here; if pandas is missing, accessing the lazy module raises an error with a remedy.
        assert pd.DataFrame is not None
        return self.table.to_pandas()

    def to_duckdb(self) -> Any:
        """Returns a DuckDB connection in which the study's table is named `runs`."""
        connection = duckdb.connect()
        connection.register("runs", self.table)
        return connection

    plot = Plot("study.parallel")

    def __repr__(self) -> str:
        return f"<ssdlab.Study: {self.title}; {self.finished} of {self.asked} runs>"
